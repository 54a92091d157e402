"""Ambiguous sentences: whether the second tree of a sentence is about as probable as the first, and attaches a phrase elsewhere."""

from __future__ import annotations

from dataclasses import replace
from math import log

from gramian.parsing.result import ParseResult
from gramian.trees import Tree

CANDIDATES = 4
"""Best trees among which a second reading is looked for."""
_LEAST = 1 / 3  # probability of a second reading, relative to that of the first


def with_second_reading(result: ParseResult) -> ParseResult:
    """Keep of the best trees the first and a second reading; neither where there is no second reading.

    A second reading has other phrases of several words, whatever their labels, and at least a third of the first tree's probability.
    """
    kept = [
        other
        for other in result.alternatives[1:]
        if other.log_prob_tree - result.alternatives[0].log_prob_tree >= log(_LEAST)
        and _spans(other.tree) != _spans(result.tree)
    ]
    if not kept:
        return replace(result, alternatives=())
    second = max(kept, key=lambda other: other.log_prob_tree)
    return replace(result, alternatives=(result.alternatives[0], second))


def _spans(tree: Tree) -> set[tuple[int, int]]:
    return {(start, end) for _, start, end in tree.spans(preterminals=False) if end - start > 1}
