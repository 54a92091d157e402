"""Drawings of trees as SVG: words in a row (or a column, if there are many), labels coloured by a number.

A drawing takes its text colour from the page it stands in; opened as a file of its own, it follows the light
or dark setting of the viewer.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from gramian.errors import OptionError
from gramian.escaping import xml_text
from gramian.trees.tree import Tree

_SIZE = 14  # of the text
_ROW = 24  # between words that stand in a column
_LEVEL = 38  # between a phrase and the phrase above it
_GAP = 10  # between labels
_MARGIN = 10
_WIDEST = 900  # a wider drawing puts its words in a column

# From low to high; these stay apart for colour-blind eyes.
_COLOURS = ((213, 94, 0), (240, 180, 100), (238, 238, 238), (120, 180, 220), (0, 114, 178))

_STYLE = f"""
.gramian-tree {{ font: {_SIZE}px system-ui, sans-serif; }}
.gramian-tree text {{ fill: currentColor; text-anchor: middle; }}
.gramian-tree .start {{ text-anchor: start; }}
.gramian-tree .end {{ text-anchor: end; }}
.gramian-tree .tag {{ font-size: {_SIZE - 2}px; opacity: 0.7; }}
.gramian-tree .word {{ font-weight: 600; }}
.gramian-tree path {{ fill: none; stroke: currentColor; stroke-opacity: 0.45; stroke-width: 1.2; }}
.gramian-tree:root {{ color: #1f2328; background: #ffffff; }}
@media (prefers-color-scheme: dark) {{ .gramian-tree:root {{ color: #e6edf3; background: #0d1117; }} }}
"""


@dataclass(slots=True)
class _Node:
    """A node of the tree with its place in the drawing."""

    tree: Tree
    parent: int
    start: int
    end: int
    level: int = 0  # height above the tags
    extent: float = 0.0  # room it needs along the line of words
    along: float = 0.0  # its middle, along the line of words
    across: float = 0.0  # its middle, across that line


def draw_svg(
    tree: Tree,
    *,
    values: Mapping[tuple[str, int, int], float] | Mapping[tuple[int, int], float] | None = None,
    name: str = "confidence",
    layout: Literal["auto", "down", "right"] = "auto",
) -> str:
    """Draw a tree: an ``<svg>`` element, which is also a whole file.

    Parameters
    ----------
    tree : Tree
    values : mapping, optional
        Numbers by ``(label, start, end)`` or ``(start, end)``, which colour the labels of phrases. The
        scale goes from 0 to 1 if they all lie between, and from the least to the greatest otherwise.
    name : str
        What the numbers are, for the legend.
    layout : {"auto", "down", "right"}
        ``"down"`` has the root on top and the words in a row; ``"right"`` has the root at the left and
        the words in a column, which is easier to read for long sentences, and what ``"auto"`` takes for them.
    """
    if layout not in ("auto", "down", "right"):
        raise OptionError(f"layout is 'auto', 'down' or 'right', not {layout!r}")
    nodes = _nodes(tree)
    if layout != "right":
        _place_along(nodes, in_row=True)
        if layout == "auto" and nodes[0].extent > _WIDEST:
            layout = "right"
    down = layout != "right"
    if not down:
        _place_along(nodes, in_row=False)
    depth, words_at = _place_across(nodes, down)
    scale = _Scale(values, name) if values else None
    width, height = (nodes[0].extent, depth) if down else (depth, nodes[0].extent)
    width = max(width, scale.width if scale else 0)
    body = _edges(nodes, down)
    body += [_text(node, down, words_at, scale) for node in nodes]
    if scale:
        height += 2 * _ROW
        body.append(scale.legend(_MARGIN, height + _MARGIN - _ROW / 2))
    width, height = width + 2 * _MARGIN, height + 2 * _MARGIN
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="gramian-tree" role="img" width="{width:.0f}"'
        f' height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}">\n'
        f"<title>{xml_text(' '.join(tree.words) or 'empty tree')}</title>\n<style>{_STYLE}</style>\n"
        + "\n".join(line for line in body if line)
        + "\n</svg>\n"
    )


def _width(text: str, size: float = _SIZE) -> float:
    """Guess how wide a text is drawn."""
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    return size * (0.62 * (len(text) - wide) + wide)


def _nodes(tree: Tree) -> list[_Node]:
    """List the nodes in preorder, with spans and levels."""
    nodes: list[_Node] = []
    stack: list[tuple[Tree, int]] = [(tree, -1)]
    spans = tree.spans()
    while stack:
        subtree, parent = stack.pop()
        _, start, end = next(spans)
        index = len(nodes)
        nodes.append(_Node(subtree, parent, start, end))
        stack.extend([(child, index) for child in subtree.children[::-1]])
    for node in reversed(nodes[1:]):
        parent_node = nodes[node.parent]
        parent_node.level = max(parent_node.level, node.level + 1)
    return nodes


def _place_along(nodes: list[_Node], in_row: bool) -> None:
    """Give every node its room and its middle along the line of words."""
    needs = [0.0] * len(nodes)
    for index in range(len(nodes) - 1, -1, -1):
        node = nodes[index]
        if in_row:
            word = _width(node.tree.word, 1.08 * _SIZE) if node.tree.word else 0.0
            node.extent = max(needs[index], _width(node.tree.label) + _GAP, word + _GAP)
        else:
            node.extent = max(needs[index], _ROW)
        if index:
            needs[node.parent] += node.extent
    # Top-down, what a label needs beyond its children is shared among them.
    free = [_MARGIN * 1.0] * len(nodes)
    nodes[0].along = _MARGIN
    for index, node in enumerate(nodes):
        if index:
            parent_node = nodes[node.parent]
            extra = (parent_node.extent - needs[node.parent]) / len(parent_node.tree.children)
            node.along = free[node.parent]
            node.extent += extra
            free[node.parent] += node.extent
        free[index] = node.along
    # Bottom-up, a node stands over the middle between its first and its last child.
    first: dict[int, float] = {}
    last: dict[int, float] = {}
    for index in range(len(nodes) - 1, -1, -1):
        node = nodes[index]
        node.along = (first[index] + last[index]) / 2 if index in first else node.along + node.extent / 2
        last.setdefault(node.parent, node.along)
        first[node.parent] = node.along


def _place_across(nodes: list[_Node], down: bool) -> tuple[float, float]:
    """Give every node its middle across the line of words; return its depth and where words go."""
    top = nodes[0].level
    if down:
        for node in nodes:
            node.across = _MARGIN + _SIZE / 2 + _LEVEL * (top - node.level)
        return _LEVEL * top + 2.6 * _SIZE, 0.0
    widths = [0.0] * (top + 1)
    for node in nodes:
        widths[node.level] = max(widths[node.level], _width(node.tree.label))
    middles = [0.0] * (top + 1)
    offset = float(_MARGIN)
    for level in range(top, -1, -1):
        middles[level] = offset + widths[level] / 2
        offset += widths[level] + 2 * _GAP
    for node in nodes:
        node.across = middles[node.level]
    return offset + max(
        (_width(node.tree.word, 1.08 * _SIZE) for node in nodes if node.tree.word), default=0.0
    ), offset


def _edges(nodes: list[_Node], down: bool) -> list[str]:
    """Draw the lines below each phrase as one path, so that they do not darken where they overlap."""
    lines: dict[int, str] = {}
    for node in nodes[1:]:
        parent_node = nodes[node.parent]
        if down:
            start, end = parent_node.across + _SIZE * 0.8, node.across - _SIZE * 0.8
            bend = start + (_LEVEL - 1.6 * _SIZE) / 2
            line = f"M{parent_node.along:.1f} {start:.1f}V{bend:.1f}H{node.along:.1f}V{end:.1f}"
        else:
            start = parent_node.across + _width(parent_node.tree.label) / 2 + 4
            end = node.across - _width(node.tree.label) / 2 - 4
            bend = start + _GAP / 2
            line = f"M{start:.1f} {parent_node.along:.1f}H{bend:.1f}V{node.along:.1f}H{end:.1f}"
        lines[node.parent] = lines.get(node.parent, "") + line
    return [f'<path d="{line}"/>' for line in lines.values()]


def _label(text: str, x: float, y: float, kind: str = "", style: str = "") -> str:
    """Draw text whose middle height is `y` (renderers disagree on baselines, so the offset is spelt out)."""
    attributes = f' class="{kind}"' if kind else ""
    attributes += f' style="{style}"' if style else ""
    return f'<text{attributes} x="{x:.1f}" y="{y + 0.35 * _SIZE:.1f}">{xml_text(text)}</text>'


def _text(node: _Node, down: bool, words_at: float, scale: _Scale | None) -> str:
    x, y = (node.along, node.across) if down else (node.across, node.along)
    if node.tree.word is not None:
        word = node.tree.word
        drawn = _label(word, x, y + _SIZE * 1.3, "word") if down else _label(word, words_at, y, "word start")
        return _label(node.tree.label, x, y, "tag") + drawn
    value = scale.value(node) if scale else None
    hint = f"{xml_text(node.tree.label) or 'root'} {node.start}–{node.end}"
    if scale is None or value is None:
        return f"<g><title>{hint}</title>{_label(node.tree.label, x, y)}</g>"
    fill, ink = scale.colour(value)
    width, height = _width(node.tree.label) + 8, _SIZE * 1.4
    return (
        f'<g><title>{hint}: {value:.4g}</title><rect x="{x - width / 2:.1f}" y="{y - height / 2:.1f}"'
        f' width="{width:.1f}" height="{height:.1f}" rx="5" fill="{fill}"/>'
        f"{_label(node.tree.label, x, y, style=f'fill:{ink}')}</g>"
    )


class _Scale:
    """Numbers of spans, their colours, and the legend that explains them."""

    def __init__(
        self, values: Mapping[tuple[str, int, int], float] | Mapping[tuple[int, int], float], name: str
    ) -> None:
        self._values: dict[tuple[object, ...], float] = {
            (*key,): float(value) for key, value in values.items()
        }
        self._name = name
        low, high = min(self._values.values()), max(self._values.values())
        self._low, self._high = (0.0, 1.0) if low >= 0 and high <= 1 else (low, high)
        self._left = f"{name}  {self._low:.4g}"
        self._right = f"{self._high:.4g}"
        self.width = _width(self._left + self._right) + 120 + 4 * _GAP

    def value(self, node: _Node) -> float | None:
        whole = self._values.get((node.tree.label, node.start, node.end))
        return whole if whole is not None else self._values.get((node.start, node.end))

    def colour(self, value: float) -> tuple[str, str]:
        """Return the colour of a value and that of text on it."""
        reach = self._high - self._low
        position = (value - self._low) / reach if reach > 0 else 0.5
        position = min(max(position, 0.0), 1.0) * (len(_COLOURS) - 1)
        lower = min(int(position), len(_COLOURS) - 2)
        fraction = position - lower
        mixed = [
            round(low + fraction * (high - low))
            for low, high in zip(_COLOURS[lower], _COLOURS[lower + 1], strict=True)
        ]
        light = (0.299 * mixed[0] + 0.587 * mixed[1] + 0.114 * mixed[2]) > 140
        return f"rgb({mixed[0]},{mixed[1]},{mixed[2]})", "#111111" if light else "#ffffff"

    def legend(self, x: float, y: float) -> str:
        left = x + _width(self._left) + _GAP
        steps = 24
        reach = self._high - self._low
        boxes = "".join(
            f'<rect x="{left + 120 * step / steps:.1f}" y="{y - 6:.1f}" width="{120 / steps + 0.5:.1f}"'
            f' height="12" fill="{self.colour(self._low + reach * step / (steps - 1))[0]}"/>'
            for step in range(steps)
        )
        return (
            f"<g>{_label(self._left, left - _GAP, y, 'end')}{boxes}"
            f"{_label(self._right, left + 120 + _GAP, y, 'start')}</g>"
        )
