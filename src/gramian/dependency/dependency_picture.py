"""Pictures as SVG: an automaton of modifiers from left to right, and a tree as arcs above its words."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from gramian.automata.export import Edge, edges
from gramian.automata.pdfa import PDFA

if TYPE_CHECKING:
    from gramian.dependency.dependency_parser import DependencyParse

__all__ = ["draw_automaton", "draw_parse"]

_RADIUS, _COLUMN, _ROW, _MARGIN = 24.0, 170.0, 96.0, 84.0
_TOP = 112.0  # room for the labels of a loop
_STYLE = (
    "text{font:12px sans-serif;text-anchor:middle}.edge{fill:none;stroke:#678;stroke-width:1.3;marker-end:url(#head)}"
    ".label{font-size:11px;fill:#234;paint-order:stroke;stroke:#fff;stroke-width:4px}"
    ".stop{fill:#a33;font-size:11px}.tag{fill:#789;font-size:10px}"
)
_HEAD = (
    '<defs><marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto">'
    '<path d="M0,0 L10,5 L0,10 z" fill="#678"/></marker></defs>'
)

Point = tuple[float, float]


def draw_automaton(machine: PDFA, threshold: float = 0.03, *, labels: int = 3) -> str:
    """Draw the states that can be reached, by the number of modifiers it takes, with the probability of a stop in red.

    Parameters
    ----------
    machine : PDFA
    threshold : float
        Transitions up to this probability are left out.
    labels : int
        Modifiers written on an arrow; "+2" says that two more go the same way.

    Examples
    --------
    >>> from gramian.automata import Sequences
    >>> from gramian.automata.baselines import NGram
    >>> bigrams = NGram(2).fit(Sequences.from_strings(["ab", "b"])).model_
    >>> draw_automaton(bigrams).startswith("<svg")
    True
    """
    wfa = machine.to_wfa()
    arrows = list(edges(wfa, threshold))
    layers = _layers(int(wfa.initial.argmax()), arrows)
    height = _ROW * max(len(layer) - 1 for layer in layers)
    places: dict[int, Point] = {}
    left = _MARGIN
    for layer in layers:
        for row, state in enumerate(layer):  # every other state steps aside, for the arrows within a layer
            places[state] = (
                left + row % 2 * _COLUMN,
                _TOP + height / 2 + _ROW * (row - (len(layer) - 1) / 2),
            )
        left += _COLUMN * min(2, len(layer))
    first = places[layers[0][0]]
    drawn = [_curve((first[0] - 2.2 * _RADIUS, first[1]), first, 0.0, ["start"], 0.0)]
    seen: dict[int, int] = {}
    for arrow in arrows:
        if arrow.source in places:
            turn = seen[arrow.source] = seen.get(arrow.source, -1) + 1
            drawn.append(_arrow(arrow, places, labels, turn))
    for number, (state, (x, y)) in enumerate(places.items()):
        drawn.append(
            f'<circle cx="{x:.0f}" cy="{y:.0f}" r="{_RADIUS}" fill="#fff" stroke="#345" stroke-width="1.5"/>'
            f'<text x="{x:.0f}" y="{y:.0f}">{number}</text>'
            f'<text class="stop" x="{x:.0f}" y="{y + 14:.0f}">{wfa.final[state]:.2f}</text>'
        )
    return _svg(left - _COLUMN + 1.5 * _MARGIN, _TOP + height + _MARGIN, drawn)


def _layers(start: int, arrows: Sequence[Edge]) -> list[list[int]]:
    """Return the states by their distance from `start`, each layer in the order of what leads to it."""
    layers, found = [[start]], {start}
    while layers[-1]:
        reached = [
            arrow.target
            for state in layers[-1]
            for arrow in sorted(arrows, key=lambda arrow: -arrow.labels[0][1])
            if arrow.source == state
        ]
        layers.append([state for state in dict.fromkeys(reached) if state not in found])
        found.update(layers[-1])
    return layers[:-1]


def _arrow(arrow: Edge, places: dict[int, Point], labels: int, turn: int) -> str:
    lines = [f"{symbol} {weight:.2f}" for symbol, weight in arrow.labels[:labels]]
    if len(arrow.labels) > labels:
        lines.append(f"+{len(arrow.labels) - labels}")
    start, end = places[arrow.source], places[arrow.target]
    if start == end:
        x, y = start
        left, right, top = x - 0.6 * _RADIUS, x + 0.6 * _RADIUS, y - 0.8 * _RADIUS
        path = f"M{left:.1f},{top:.1f} C{x - 30:.1f},{top - 44:.1f} {x + 30:.1f},{top - 44:.1f} {right:.1f},{top:.1f}"
        return f'<path class="edge" d="{path}"/>' + _lines(x, top - 40.0 - 12.0 * (len(lines) - 1), lines)
    backwards = end[0] <= start[0]
    return _curve(
        start, end, 60.0 if backwards else 14.0, lines, 0.5 if backwards else 0.38 + 0.14 * (turn % 2)
    )


def _curve(start: Point, end: Point, bend: float, lines: Sequence[str], where: float) -> str:
    """Return an arrow that bends to its left, with text beside the point `where` on its way."""
    along, down = end[0] - start[0], end[1] - start[1]
    length = max(1.0, (along**2 + down**2) ** 0.5)
    middle = ((start[0] + end[0]) / 2 + bend * down / length, (start[1] + end[1]) / 2 - bend * along / length)
    begin = start if where == 0.0 else _towards(start, middle, _RADIUS)
    finish = _towards(end, middle, _RADIUS + 1.0)
    x, y = (
        (1 - where) ** 2 * a + 2 * where * (1 - where) * b + where**2 * c
        for a, b, c in zip(begin, middle, finish, strict=True)
    )
    path = f"M{begin[0]:.1f},{begin[1]:.1f} Q{middle[0]:.1f},{middle[1]:.1f} {finish[0]:.1f},{finish[1]:.1f}"
    return f'<path class="edge" d="{path}"/>' + _lines(x, y + 4.0 - 6.0 * (len(lines) - 1), lines)


def _towards(start: Point, end: Point, length: float) -> Point:
    distance = max(1.0, ((end[0] - start[0]) ** 2 + (end[1] - start[1]) ** 2) ** 0.5)
    return (
        start[0] + (end[0] - start[0]) * length / distance,
        start[1] + (end[1] - start[1]) * length / distance,
    )


def _lines(x: float, y: float, lines: Sequence[str]) -> str:
    return "".join(
        f'<text class="label" x="{x:.1f}" y="{y + 12.0 * number:.1f}">{escape(line)}</text>'
        for number, line in enumerate(lines)
    )


def draw_parse(parse: DependencyParse) -> str:
    """Draw the arcs of a sentence above its words; the paler an arc, the less sure the parser is.

    An arc's colour goes from blue, certain, to red, where its marginal is small; the number stands beside its relation
    unless it rounds to 1.
    """
    words = [token.form for token in parse.words.tokens]
    tags = [token.upos if token.xpos == "_" else token.xpos for token in parse.words.tokens]
    widths = [max(44.0, 9.0 * max(len(word), len(tag)) + 14.0) for word, tag in zip(words, tags, strict=True)]
    middles = [20.0 + sum(widths[:number]) + width / 2 for number, width in enumerate(widths)]
    levels = _levels(parse.heads)
    base = 46.0 + 30.0 * max(levels, default=1)
    drawn = []
    for number, (head, relation, sure) in enumerate(
        zip(parse.heads, parse.relations, parse.confidences, strict=True)
    ):
        colour = f"hsl({round(220 * sure**2)},60%,45%)"
        text = escape(relation) + ("" if sure >= 0.995 else f" {sure:.2f}")
        x, top = middles[number], base - 30.0 * levels[number]
        begin = x if head == 0 else middles[head - 1] + (7.0 if number + 1 > head else -7.0)
        high = 14.0 if head == 0 else top
        path = f"M{begin:.1f},{base if head else high:.1f} C{begin:.1f},{high:.1f} {x:.1f},{high:.1f} {x:.1f},{base - 2:.1f}"
        drawn.append(f'<path class="edge" d="{path}" style="stroke:{colour}"/>')
        y = high + 12.0 if head == 0 else base - 0.75 * (base - top) - 3.0
        drawn.append(
            f'<text class="label" x="{(begin + x) / 2:.1f}" y="{y:.1f}" style="fill:{colour}">{text}</text>'
        )
    for x, word, tag in zip(middles, words, tags, strict=True):
        drawn.append(f'<text x="{x:.1f}" y="{base + 16:.0f}">{escape(word)}</text>')
        drawn.append(f'<text class="tag" x="{x:.1f}" y="{base + 31:.0f}">{escape(tag)}</text>')
    return _svg(sum(widths) + 40.0, base + 44.0, drawn)


def _levels(heads: Sequence[int]) -> list[int]:
    """Return how high each arc must rise to pass over those below it."""
    spans = [
        (min(word, head), max(word, head)) if head else (word, word) for word, head in enumerate(heads, 1)
    ]
    levels = [0] * len(spans)
    for number in sorted(range(len(spans)), key=lambda number: spans[number][1] - spans[number][0]):
        first, last = spans[number]
        below = [
            levels[other]
            for other, (start, end) in enumerate(spans)
            if other != number and first <= start and end <= last and start < end
        ]
        levels[number] = 0 if first == last else 1 + max(below, default=0)
    return levels


def _svg(width: float, height: float, drawn: Sequence[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}"><style>{_STYLE}</style>{_HEAD}{"".join(drawn)}</svg>'
    )
