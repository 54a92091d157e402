"""Drawings: well-formed, complete, nothing overlaps, colours follow the numbers."""

import re
import xml.etree.ElementTree as ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gramian.errors import OptionError
from gramian.trees import Tree

SVG = "{http://www.w3.org/2000/svg}"
TREE = Tree.parse("(S (NP (DT the) (NN dog)) (VP (VBZ barks)))")
names = st.text("ABCé語<&", min_size=1, max_size=6)
trees = st.recursive(
    st.builds(lambda label, word: Tree(label, word=word), names, names),
    lambda parts: st.builds(Tree, names, st.lists(parts, min_size=1, max_size=4)),
    max_leaves=20,
)


def texts(drawing: str) -> list[tuple[str, float, float]]:
    root = ElementTree.fromstring(drawing)
    return [
        (element.text or "", float(element.get("x")), float(element.get("y")))
        for element in root.iter(f"{SVG}text")
    ]


@given(trees, st.sampled_from(["down", "right"]))
@settings(max_examples=50)
def test_everything_is_drawn_inside_and_apart(tree, layout):
    drawing = tree.svg(layout=layout)
    root = ElementTree.fromstring(drawing)
    width, height = float(root.get("width")), float(root.get("height"))
    drawn = texts(drawing)
    expected = [node.label for node in tree.subtrees()] + list(tree.words)
    assert sorted(text for text, _, _ in drawn) == sorted(expected)
    assert all(0 <= x <= width and 0 <= y <= height for _, x, y in drawn)
    assert len({(round(x), round(y)) for _, x, y in drawn}) == len(drawn)


def test_words_stand_in_order():
    for layout, axis in (("down", 1), ("right", 2)):
        places = {text[0]: text[axis] for text in texts(TREE.svg(layout=layout))}
        assert places["the"] < places["dog"] < places["barks"]


def test_long_sentences_stand_in_a_column():
    long = Tree("S", [Tree("NN", word=f"word{number}") for number in range(40)])
    assert long.svg() == long.svg(layout="right")
    assert TREE.svg() == TREE.svg(layout="down")
    assert TREE._repr_svg_() == TREE.svg()


def colours(drawing: str) -> dict[str, str]:
    root = ElementTree.fromstring(drawing)
    return {
        group.find(f"{SVG}text").text: group.find(f"{SVG}rect").get("fill")
        for group in root.iter(f"{SVG}g")
        if group.find(f"{SVG}title") is not None and group.find(f"{SVG}rect") is not None
    }


def test_colours_follow_numbers():
    drawn = colours(TREE.svg(values={("NP", 0, 2): 0.0, ("VP", 2, 3): 1.0, (0, 3): 0.5}))
    assert drawn == {"NP": "rgb(213,94,0)", "VP": "rgb(0,114,178)", "S": "rgb(238,238,238)"}
    assert colours(TREE.svg(values={("NP", 0, 2): -3, ("VP", 2, 3): 5}))["NP"] == "rgb(213,94,0)"
    assert colours(TREE.svg(values={(0, 3): 7.0}))["S"] == "rgb(238,238,238)"
    assert colours(TREE.svg()) == {}


def test_the_legend_names_what_is_shown():
    drawing = TREE.svg(values={(0, 3): 0.25}, name="posterior")
    assert "posterior" in drawing
    assert re.search(r"S 0–3: 0\.25", drawing)


def test_odd_trees_are_drawn():
    for tree in (Tree(""), Tree("A", word="a"), Tree.parse("( (S (A a)))")):
        ElementTree.fromstring(tree.svg())
    ElementTree.fromstring(Tree.parse("(X " * 3_000 + "(A a)" + ")" * 3_000).svg())


def test_wrong_options_are_named():
    with pytest.raises(OptionError, match="layout is"):
        TREE.svg(layout="up")
