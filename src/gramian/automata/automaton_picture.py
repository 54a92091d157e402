"""Pictures of small automata as SVG, no other program needed: states in layers from left to right.

Points of a picture are complex numbers, x + y i with y downwards; times i is a quarter turn.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import unescape
from typing import NamedTuple

from gramian.automata.exchange import Edge, edges
from gramian.automata.pdfa import PDFA
from gramian.automata.weighted_automaton import WFA
from gramian.errors import OptionError
from gramian.escaping import xml_text

_RADIUS = 26.0
_MOST = 40
_COLUMN, _ROW, _MARGIN = 170.0, 96.0, 84.0
_TOP = 112.0  # room for the labels of a loop
_TEXT = re.compile(r'<text [^>]*?x="([-0-9.]+)" y="([-0-9.]+)"[^>]*>([^<]*)</text>')
_LETTER = 6.6  # width of a letter of a label, at most about
_EDGE = 4.0
_TEX_SPECIAL = re.compile(r"[\\~^&%$#_{}]")
_STYLE = (
    "text{font:11px sans-serif;text-anchor:middle}"
    ".state{fill:#fff;stroke:#345;stroke-width:1.5}"
    ".edge{fill:none;stroke:#678;marker-end:url(#head)}"
    ".label{fill:#234;paint-order:stroke;stroke:#fff;stroke-width:3px}"
    ".stop{fill:#a33;font-size:10px}.word{font-size:12px}.tag{fill:#789;font-size:10px}"
)
_HEAD = (
    '<defs><marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerUnits="userSpaceOnUse" markerWidth="9" markerHeight="9" '
    'orient="auto"><path d="M0,0 L10,5 L0,10 z" fill="#678"/></marker></defs>'
)


def svg(width: float, height: float, elements: Iterable[str]) -> str:
    """Return a picture of what was drawn, with the styles and the arrow head that all pictures share.

    It is so wide and high as asked, and more where a text would be cut at the edge.
    """
    content = "".join(elements)
    left, top, right, bottom = 0.0, 0.0, width, height
    for x, y, text in _TEXT.findall(content):
        half = _LETTER * len(unescape(text)) / 2 + _EDGE
        left, right = min(left, float(x) - half), max(right, float(x) + half)
        top, bottom = min(top, float(y) - 11.0 - _EDGE), max(bottom, float(y) + 3.0 + _EDGE)
    frame = f"{left:.0f} {top:.0f} {right - left:.0f} {bottom - top:.0f}"
    size = f'width="{right - left:.0f}" height="{bottom - top:.0f}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{frame}" {size}>'
        f"<style>{_STYLE}</style>{_HEAD}{content}</svg>"
    )


def svg_text(kind: str, point: complex, text: str, style: str = "") -> str:
    """Return a text in the middle above a point."""
    style_attribute = f' style="{style}"' if style else ""
    return f'<text class="{kind}" x="{point.real:.1f}" y="{point.imag:.1f}"{style_attribute}>{xml_text(text)}</text>'


def to_svg(model: WFA | PDFA, threshold: float = 0.03, *, labels: int = 3) -> str:
    """Return a picture: circles with the STOP weight in red, by the number of symbols to reach them, and arcs with their heaviest symbols.

    Transitions up to `threshold` are left out; an arc shows so many `labels`, and "+2" says that two more go the same way.
    """
    plan = _Layout.of(model, threshold)
    elements = []
    for state, weight in plan.initial.items():
        begin = plan.centres[state] - 2.2 * _RADIUS
        elements.append(_edge(f"M{_at(begin)} L{_at(plan.centres[state] - _RADIUS - 1.0)}", weight))
        elements.append(svg_text("label", begin + 4j, "start" if weight > 0.995 else f"{weight:.2g}"))
    arrows_from: dict[int, int] = {}
    for arrow in plan.arrows:
        turn = arrows_from[arrow.source] = arrows_from.get(arrow.source, -1) + 1
        elements.append(_arrow(arrow, plan.centres, labels, turn))
    elements += [_state(plan.centres[state], state, stop) for state, stop in enumerate(plan.final)]
    return svg(plan.width, plan.height, elements)


def to_tikz(model: WFA | PDFA, threshold: float = 0.03, *, labels: int = 3) -> str:
    """Return the same picture for LaTeX, which needs the package tikz and its library automata."""
    plan = _Layout.of(model, threshold)
    lines = [
        r"\begin{tikzpicture}[->, >=stealth, auto, x=1pt, y=1pt, every state/.style={minimum size=32pt, align=center}]"
    ]
    for state, stop in enumerate(plan.final):
        style = "state, initial, initial text=" if plan.initial.get(state, 0.0) > 0.995 else "state"
        weight = plan.initial.get(state, 0.0)
        name = (
            f"${state}$"
            if "initial" in style or not weight
            else f"${state}$\\\\[-3pt]{{\\tiny start {weight:.2g}}}"
        )
        centre = plan.centres[state] * 0.7
        stop_text = f"{name}\\\\[-3pt]{{\\tiny stop {stop:.2f}}}"
        lines.append(
            f"  \\node[{style}] (q{state}) at ({centre.real:.1f},{-centre.imag:.1f}) {{{stop_text}}};"
        )
    for arrow in plan.arrows:
        text = r"\\".join(_TEX_SPECIAL.sub(_tex, line) for line in _label_lines(arrow, labels))
        way = "loop above" if arrow.source == arrow.target else "bend left=12"
        label = f"node[font=\\scriptsize, align=center] {{{text}}}"
        lines.append(f"  \\path (q{arrow.source}) edge[{way}] {label} (q{arrow.target});")
    return "\n".join([*lines, r"\end{tikzpicture}"])


def _tex(special: re.Match[str]) -> str:
    """Return a character that means something to TeX as one that is printed."""
    names = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    return names.get(special[0], f"\\{special[0]}")


class _Layout(NamedTuple):
    """Where the states of an automaton stand, in layers from left to right, and what is drawn between them."""

    centres: dict[int, complex]
    initial: dict[int, float]
    final: list[float]
    arrows: list[Edge]
    width: float
    height: float

    @classmethod
    def of(cls, model: WFA | PDFA, threshold: float) -> _Layout:
        if model.n_states > _MOST:
            raise OptionError(
                f"picture: {model.n_states} states are too many for a picture; try: a DFA approximation, or DOT"
            )
        wfa = model.to_wfa()
        arrows = edges(wfa, threshold)
        initial = {
            state: weight for state, weight in enumerate(wfa.initial.tolist()) if abs(weight) > threshold
        }
        layers = _layers(sorted(initial, key=lambda state: -initial[state]), arrows, wfa.n_states)
        height = _ROW * max(len(layer) - 1 for layer in layers)
        centres: dict[int, complex] = {}
        left = _MARGIN
        for layer in layers:
            # every other state steps aside, for the arrows within a layer
            for row, state in enumerate(layer):
                y = _TOP + height / 2 + _ROW * (row - (len(layer) - 1) / 2)
                centres[state] = complex(left + row % 2 * _COLUMN, y)
            left += _COLUMN * min(2, len(layer))
        width, total = left - _COLUMN + 1.5 * _MARGIN, _TOP + height + _MARGIN
        return cls(centres, initial, wfa.final.tolist(), arrows, width, total)


def _label_lines(arrow: Edge, labels: int) -> list[str]:
    """Return the heaviest symbols of a transition, and how many more there are."""
    lines = [f"{symbol} {weight:.2f}" for symbol, weight in arrow.labels[:labels]]
    return [*lines, f"+{len(arrow.labels) - labels}"] if len(arrow.labels) > labels else lines


def _arrow(arrow: Edge, centres: dict[int, complex], labels: int, turn: int) -> str:
    """Draw a transition; a loop leaves upwards."""
    lines = _label_lines(arrow, labels)
    start, end = centres[arrow.source], centres[arrow.target]
    if start == end:
        top = start - 0.8j * _RADIUS
        begin, finish = top - 0.6 * _RADIUS, top + 0.6 * _RADIUS
        path = f"M{_at(begin)} C{_at(top - 30 - 44j)} {_at(top + 30 - 44j)} {_at(finish)}"
        label_point = top - 40j - 12j * (len(lines) - 1)
    else:
        backwards = end.real <= start.real
        bend = -1j * _unit(end - start) * (60.0 if backwards else 14.0)
        path, label_point = _curve(start, end, bend, 0.5 if backwards else 0.38 + 0.14 * (turn % 2))
        label_point += 4j - 6j * (len(lines) - 1)
    return _edge(path, sum(abs(weight) for _, weight in arrow.labels)) + "".join(
        svg_text("label", label_point + 12j * row, line) for row, line in enumerate(lines)
    )


def _layers(starts: list[int], arrows: Sequence[Edge], n_states: int) -> list[list[int]]:
    """Return the states by their distance from where strings begin, each layer in the order of what leads to it; then those not reached."""
    heaviest = sorted(arrows, key=lambda arrow: -arrow.labels[0][1])
    layers, visited = [starts], set(starts)
    while layers[-1]:
        reached = [arrow.target for state in layers[-1] for arrow in heaviest if arrow.source == state]
        layers.append([state for state in dict.fromkeys(reached) if state not in visited])
        visited.update(layers[-1])
    layers.append([state for state in range(n_states) if state not in visited])
    return [layer for layer in layers if layer]


def _curve(start: complex, end: complex, bend: complex, fraction: float) -> tuple[str, complex]:
    """Return a quadratic Bézier curve from state to state, and the point after a share of its way."""
    control = (start + end) / 2 + bend
    begin = start + _RADIUS * _unit(control - start)
    finish = end + (_RADIUS + 1.0) * _unit(control - end)
    remainder = 1.0 - fraction
    point = (
        remainder * remainder * begin + 2.0 * remainder * fraction * control + fraction * fraction * finish
    )
    return f"M{_at(begin)} Q{_at(control)} {_at(finish)}", point


def _edge(path: str, weight: float) -> str:
    return f'<path class="edge" stroke-width="{0.6 + 1.6 * min(abs(weight), 1.0):.1f}" d="{path}"/>'


def _state(centre: complex, name: int, stop: float) -> str:
    circle = f'<circle class="state" cx="{centre.real:.1f}" cy="{centre.imag:.1f}" r="{_RADIUS}"/>'
    return circle + svg_text("name", centre, str(name)) + svg_text("stop", centre + 13j, f"{stop:.2f}")


def _unit(vector: complex) -> complex:
    return vector / abs(vector) if vector else 0j


def _at(point: complex) -> str:
    return f"{point.real:.1f},{point.imag:.1f}"
