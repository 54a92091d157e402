"""One tree for one sentence, whatever the grammar says about it.

Spectral automata may have marginals that are no distribution, or a partition that is not positive. Then the mean of their
marginals, cut to 0..1, and of those of a smoothed DET+F grammar is decoded.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from gramian.dependency.half_constituents import marginals, mbr_tree, viterbi_tree
from gramian.dependency.shag import SHAG, Array, Symbols

__all__ = ["DecodedHeads", "Decoder", "decode"]

Decoder = Literal["mbr", "viterbi"]


class DecodedHeads(NamedTuple):
    """The head of each word, the marginal of its arc, cut to 0..1, and whether the back-off grammar had to help."""

    heads: Symbols
    confidences: Array
    backed_off: bool


def decode(
    grammar: SHAG,
    backoff: SHAG,
    sentence: Symbols,
    factors: Array | None = None,
    *,
    decoder: Decoder = "mbr",
    single_root: bool = True,
) -> DecodedHeads:
    """Find the tree of a sentence; `backoff`, over the same symbols, gives every projective tree a positive weight.

    "mbr" is the tree with the most certain arcs, "viterbi" the best tree with its best state sequences.
    """
    found = marginals(grammar, sentence, factors, single_root=single_root)
    arcs, backed_off = found.arcs, not found.is_distribution
    if backed_off:
        grammar = backoff
        arcs = marginals(backoff, sentence, factors, single_root=single_root).arcs
        if found.sign != 0.0:
            arcs = (arcs + np.clip(found.arcs, 0.0, 1.0)) / 2.0
    if decoder == "mbr":
        heads = mbr_tree(arcs, single_root=single_root)
    else:
        heads, _ = viterbi_tree(grammar, sentence, factors, single_root=single_root)
    confidences = np.clip(arcs[heads, np.arange(1, len(sentence))], 0.0, 1.0)
    return DecodedHeads(heads, confidences, backed_off)
