"""Pictures of small automata as SVG: states on a circle, transitions as arcs, no other program needed."""

from __future__ import annotations

import math
from html import escape

from gramian.automata.export import Edge, edges
from gramian.automata.pdfa import PDFA
from gramian.automata.wfa import WFA
from gramian.errors import OptionError

__all__ = ["to_svg"]

_RADIUS = 26.0
_MOST = 40
_STYLE = (
    "text{font:11px sans-serif;text-anchor:middle}"
    ".state{fill:#fff;stroke:#345;stroke-width:1.5}"
    ".edge{fill:none;stroke:#678;marker-end:url(#head)}"
    ".label{fill:#234;paint-order:stroke;stroke:#fff;stroke-width:3px}"
    ".stop{fill:#a33;font-size:10px}"
)
_HEAD = (
    '<defs><marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerUnits="userSpaceOnUse" markerWidth="9" markerHeight="9" '
    'orient="auto"><path d="M0,0 L10,5 L0,10 z" fill="#678"/></marker></defs>'
)

Point = tuple[float, float]


def to_svg(model: WFA | PDFA, threshold: float = 0.03, *, labels: int = 3) -> str:
    """Return a picture: circles with the STOP weight in red, arcs with their heaviest symbols.

    Parameters
    ----------
    threshold : float
        Transitions up to this absolute weight are left out.
    labels : int
        Symbols written on an arc; "+2" says that two more go the same way.

    Examples
    --------
    >>> to_svg(WFA([1.0], [0.5], [[[0.5]]], ("a",))).startswith("<svg")
    True
    """
    wfa = model.to_wfa()
    n = wfa.n_states
    if n > _MOST:
        raise OptionError(f"picture: {n} states are too many to see; try: a DFA approximation, or DOT")
    ring = max(110.0, n * 3.4 * _RADIUS / math.pi) if n > 1 else 0.0
    middle = ring + 110.0
    places = [
        (middle - ring * math.cos(2 * math.pi * i / n), middle - ring * math.sin(2 * math.pi * i / n))
        for i in range(n)
    ]
    drawn = [_arc(edge, places, (middle, middle), labels) for edge in edges(wfa, threshold)]
    for state, weight in enumerate(wfa.initial.tolist()):
        if abs(weight) > threshold:
            drawn.append(_entry(places[state], (middle, middle), weight))
    for state, (x, y) in enumerate(places):
        drawn.append(f'<circle class="state" cx="{x:.1f}" cy="{y:.1f}" r="{_RADIUS}"/>')
        drawn.append(f'<text x="{x:.1f}" y="{y:.1f}">{state}</text>')
        drawn.append(f'<text class="stop" x="{x:.1f}" y="{y + 13:.1f}">{wfa.final[state]:.2f}</text>')
    size = 2 * middle
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size:.0f} {size:.0f}" width="{size:.0f}" '
        f'height="{size:.0f}"><style>{_STYLE}</style>{_HEAD}{"".join(drawn)}</svg>'
    )


def _arc(edge: Edge, places: list[Point], middle: Point, labels: int) -> str:
    weight = sum(abs(weight) for _, weight in edge.labels)
    text = ", ".join(f"{escape(symbol)} {weight:.2g}" for symbol, weight in edge.labels[:labels])
    if len(edge.labels) > labels:
        text += f" +{len(edge.labels) - labels}"
    start, end = places[edge.source], places[edge.target]
    if edge.source == edge.target:
        out = _direction(middle, start) if middle != start else (0.0, -1.0)
        side = (-out[1], out[0])
        begin, finish = (_moved(start, out, 0.8 * _RADIUS, side, sign * 0.6 * _RADIUS) for sign in (1, -1))
        first, second = (_moved(start, out, 2.6 * _RADIUS, side, sign * 1.1 * _RADIUS) for sign in (1, -1))
        path = f"M{_at(begin)} C{_at(first)} {_at(second)} {_at(finish)}"
        return _labelled(path, _moved(start, out, 2.5 * _RADIUS, side, 0.0), text, weight)
    along = _direction(start, end)
    side = (-along[1], along[0])
    bend = 0.18 * math.dist(start, end)
    centre = ((start[0] + end[0]) / 2, (start[1] + end[1]) / 2)
    control = _moved(centre, side, bend, along, 0.0)
    begin = _moved(start, _direction(start, control), _RADIUS, side, 0.0)
    finish = _moved(end, _direction(end, control), _RADIUS + 1.0, side, 0.0)
    path = f"M{_at(begin)} Q{_at(control)} {_at(finish)}"
    # Nearer to where the arc begins: in the middle of the picture labels would lie over each other.
    place = _on_curve(begin, control, finish, 0.3)
    return _labelled(path, place, text, weight)


def _on_curve(begin: Point, control: Point, finish: Point, share: float) -> Point:
    """Return the point of a quadratic Bézier curve after a share of its way."""
    rest = 1.0 - share
    first, second, third = rest * rest, 2.0 * rest * share, share * share
    return (
        first * begin[0] + second * control[0] + third * finish[0],
        first * begin[1] + second * control[1] + third * finish[1],
    )


def _entry(place: Point, middle: Point, weight: float) -> str:
    out = _direction(middle, place) if middle != place else (-1.0, 0.0)
    side = (-out[1], out[0])
    # Beside the loop, which leaves straight outwards.
    begin = _moved(place, out, 1.6 * _RADIUS, side, 2.0 * _RADIUS)
    finish = _moved(place, _direction(place, begin), _RADIUS + 1.0, side, 0.0)
    text = "start" if weight > 0.995 else f"{weight:.2g}"
    return _labelled(f"M{_at(begin)} L{_at(finish)}", begin, text, weight)


def _labelled(path: str, place: Point, text: str, weight: float) -> str:
    x, y = place
    width = 0.6 + 1.6 * min(abs(weight), 1.0)
    return (
        f'<path class="edge" stroke-width="{width:.1f}" d="{path}"/>'
        f'<text class="label" x="{x:.1f}" y="{y:.1f}">{text}</text>'
    )


def _direction(start: Point, end: Point) -> Point:
    length = math.dist(start, end) or 1.0
    return (end[0] - start[0]) / length, (end[1] - start[1]) / length


def _moved(point: Point, first: Point, by: float, second: Point, also: float) -> Point:
    return point[0] + by * first[0] + also * second[0], point[1] + by * first[1] + also * second[1]


def _at(point: Point) -> str:
    return f"{point[0]:.1f},{point[1]:.1f}"
