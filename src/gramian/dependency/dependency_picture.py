"""A dependency tree as SVG: arcs above the words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gramian.automata.automaton_picture import svg, svg_text

if TYPE_CHECKING:
    from gramian.dependency.dependency_parser import DependencyParse


def draw_parse(parse: DependencyParse) -> str:
    """Draw arcs above words, coloured from blue (certain) to red; confidences below 0.995 are printed after the relation."""
    words = [token.form for token in parse.words.tokens]
    tags = [token.upos if token.xpos == "_" else token.xpos for token in parse.words.tokens]
    widths = [max(44.0, 9.0 * max(len(word), len(tag)) + 14.0) for word, tag in zip(words, tags, strict=True)]
    middles = [20.0 + sum(widths[:number]) + width / 2 for number, width in enumerate(widths)]
    levels = _levels(parse.heads)
    base = 46.0 + 30.0 * max(levels, default=1)
    elements = []
    for number, (head, relation, confidence) in enumerate(
        zip(parse.heads, parse.relations, parse.confidences, strict=True)
    ):
        colour = f"hsl({round(220 * confidence**2)},60%,45%)"
        text = relation + ("" if confidence >= 0.995 else f" {confidence:.2f}")
        x, top = middles[number], base - 30.0 * levels[number]
        begin = x if head == 0 else middles[head - 1] + (7.0 if number + 1 > head else -7.0)
        high = 14.0 if head == 0 else top
        path = f"M{begin:.1f},{base if head else high:.1f} C{begin:.1f},{high:.1f} {x:.1f},{high:.1f} {x:.1f},{base - 2:.1f}"
        elements.append(f'<path class="edge" stroke-width="1.3" d="{path}" style="stroke:{colour}"/>')
        y = high + 12.0 if head == 0 else base - 0.75 * (base - top) - 3.0
        elements.append(svg_text("label", complex((begin + x) / 2, y), text, f"fill:{colour}"))
    for x, word, tag in zip(middles, words, tags, strict=True):
        elements.append(svg_text("word", complex(x, base + 16.0), word))
        elements.append(svg_text("tag", complex(x, base + 31.0), tag))
    return svg(sum(widths) + 40.0, base + 44.0, elements)


def _levels(heads: Sequence[int]) -> list[int]:
    """Return the level of each arc, above all arcs that it spans."""
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
