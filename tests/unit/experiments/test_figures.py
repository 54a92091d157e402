"""What figures show: marks where points stand, legends beside the lines, baselines unlike published figures."""

import re
from xml.etree import ElementTree

import pytest

from gramian.experiments.figures import draw
from gramian.experiments.results import Figure, Line, Spread


def line(label, *points, **kind):
    return Line(label, [(x, Spread(y)) for x, y in points], **kind)


STATES = [(1, 70.0), (2, 66.0), (5, 60.0), (10, 58.0), (40, 57.0)]


def texts(svg):
    return [node.text for node in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]


@pytest.mark.parametrize("log_x", [False, True])
def test_marks_stand_at_the_numbers_of_the_data(tmp_path, log_x):
    figure = Figure("one", "", "states", "error", [line("a", *STATES)], log_x=log_x)
    shown = [text for text in texts(draw(figure, tmp_path)) if re.fullmatch(r"[0-9,]+", text or "")]
    marks = [text for text in shown if text in {"1", "2", "5", "10", "20", "30", "40", "0"}]
    assert {"1", "40"} <= set(marks) <= {"1", "2", "5", "10", "40"}
    assert "0" not in marks


def test_a_baseline_that_was_computed_looks_unlike_a_published_one(tmp_path):
    lines = [
        line("ours", *STATES),
        Line.level("bigram", (1, 40), 66.6),
        Line.printed("theirs", [(1, 69.0), (40, 61.0)]),
    ]
    svg = draw(Figure("two", "", "states", "error", lines), tmp_path)
    dashes = re.findall(r"stroke-dasharray: ([0-9., ]+)", svg)
    assert len(set(dashes)) == 2  # dotted for the level, dashed for what was published
    assert {"ours", "bigram", "theirs"} <= set(texts(svg))


def test_a_legend_never_lies_in_the_axes(tmp_path):
    svg = draw(Figure("few", "", "states", "error", [line("a", *STATES), line("b", *STATES)]), tmp_path)
    place = re.compile(r'translate\([-0-9.]+ ([-0-9.]+)\)|y="([-0-9.]+)"')
    heights = {}
    for node in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text"):
        found = place.search(ElementTree.tostring(node).decode())
        heights[node.text] = float(found[1] or found[2])
    assert heights["a"] > heights["states"]
    assert heights["b"] > heights["states"]
