"""Inference in one sentence: marginals of all arcs, and the trees they give.

The minimum Bayes risk tree maximises the sum of the logarithms of its arcs' marginals (Balle, Carreras, Luque & Quattoni 2014, equation
2); the Viterbi tree is the best one together with its state sequences. Spectral automata may have marginals that are no distribution, or
a partition that is not positive. Then `decode` takes the mean of their marginals, cut to 0..1, and of those of a smoothed DET+F grammar;
without such a grammar it takes them as they are, as published.
"""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from gramian.dependency import dependency_decode_kernels as decode_kernels
from gramian.dependency import half_constituent_kernels as kernels
from gramian.dependency.split_head_automata import SHAG, Array, Symbols
from gramian.errors import OptionError

Decoder = Literal["mbr", "viterbi"]

_FLOOR = 1e-10


class Marginals(NamedTuple):
    """What inside-outside says about a sentence; its partition Z is the sum of the weights of all projective trees."""

    sign: float  # of Z; 0 where Z is zero or not a number
    log_partition: float  # log abs(Z)
    arcs: Array  # the marginal of each arc [head, modifier]; all zero where the sign is 0

    @property
    def is_distribution(self) -> bool:
        """Whether Z is positive and no marginal is larger than one by a twentieth, or as small below zero."""
        return self.sign > 0.0 and bool(np.abs(self.arcs).max() <= 1.05)


def marginals(
    grammar: SHAG, sentence: Symbols, weights: Array | None = None, *, single_root: bool = True
) -> Marginals:
    """Compute Z and the marginals of all arcs of a sentence, which comes as :meth:`SHAG.encode` gives it.

    `weights` has a factor for each arc ``[head, modifier]``, and zero forbids the arc. With `single_root`, the root takes exactly one word.
    """
    arcs = np.empty((len(sentence), len(sentence)))
    scaled, log_scale = kernels.posterior(*_arguments(grammar, sentence, weights), single_root, arcs)
    if scaled == 0.0:
        return Marginals(0.0, -math.inf, arcs)
    return Marginals(math.copysign(1.0, scaled), math.log(abs(scaled)) + log_scale, arcs)


def best_tree(scores: Array, *, single_root: bool = True) -> Symbols:
    """Return the head of each word in the projective tree with the largest sum of ``scores[head, modifier]``."""
    heads = np.empty(len(scores), np.int32)
    decode_kernels.eisner(scores, single_root, heads)
    return heads[1:]


def mbr_tree(arcs: Array, *, single_root: bool = True) -> Symbols:
    """Return the heads of the tree whose arcs have the largest product of marginals."""
    return best_tree(np.log(np.maximum(arcs, _FLOOR)), single_root=single_root)


def viterbi_tree(
    grammar: SHAG, sentence: Symbols, weights: Array | None = None, *, single_root: bool = True
) -> tuple[Symbols, float]:
    """Return the heads of the best tree with its best states, and its log-weight; negative weights have no best, and are refused."""
    if not grammar.is_nonnegative:
        raise OptionError("Viterbi needs automata without negative weights; try: MBR decoding")
    heads = np.empty(len(sentence), np.int32)
    value = decode_kernels.viterbi(*_arguments(grammar, sentence, weights), single_root, heads)
    return heads[1:], float(value)


class DecodedHeads(NamedTuple):
    """The head of each word, the marginal of its arc, cut to 0..1, and whether the grammar's own marginals were a distribution."""

    heads: Symbols
    confidences: Array
    is_distribution: bool


def decode(
    grammar: SHAG,
    backoff: SHAG | None,
    sentence: Symbols,
    factors: Array | None = None,
    *,
    decoder: Decoder = "mbr",
    single_root: bool = True,
) -> DecodedHeads:
    """Find the tree of the most certain arcs (mbr), or the best with its states.

    `backoff`, which gives all projective trees a positive weight, helps where the marginals are no distribution; None is no help.
    """
    found = marginals(grammar, sentence, factors, single_root=single_root)
    arcs, is_distribution = found.arcs, found.is_distribution
    if not is_distribution and backoff is not None:
        grammar = backoff
        arcs = marginals(backoff, sentence, factors, single_root=single_root).arcs
        if found.sign != 0.0:
            arcs = (arcs + np.clip(found.arcs, 0.0, 1.0)) / 2.0
    if decoder == "mbr":
        heads = mbr_tree(arcs, single_root=single_root)
    else:
        heads, _ = viterbi_tree(grammar, sentence, factors, single_root=single_root)
    confidences = np.clip(arcs[heads, np.arange(1, len(sentence))], 0.0, 1.0)
    return DecodedHeads(heads, confidences, is_distribution)


def _arguments(grammar: SHAG, sentence: Symbols, weights: Array | None) -> tuple[npt.NDArray[Any], ...]:
    weights = np.ones((len(sentence), len(sentence))) if weights is None else weights
    return grammar.initial, grammar.final, grammar.operators, grammar.rows, sentence, weights
