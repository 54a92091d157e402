"""Inference in one sentence: marginals of all arcs, and the trees they give.

The minimum Bayes risk tree maximises the sum of the logarithms of its arcs' marginals (Balle, Carreras, Luque & Quattoni 2014, equation
2); the Viterbi tree is the best one together with its state sequences. The marginals of spectral automata may not be a distribution, and
their partition may not be positive. Then `decode` averages their marginals, clipped to 0..1, with those of a smoothed DET+F grammar;
without such a grammar it uses them unchanged, as published.
"""

import math
from typing import Literal, NamedTuple

import numpy as np

from gramian.dependency import dependency_decode_kernels as decode_kernels
from gramian.dependency import half_constituent_kernels as kernels
from gramian.dependency.spanning_trees import maximum_spanning_tree
from gramian.dependency.split_head_automata import SHAG, Array, Symbols
from gramian.errors import OptionError

Decoder = Literal["mbr", "viterbi", "mst"]

_FLOOR = 1e-10


class Marginals(NamedTuple):
    """Result of inside-outside; the partition Z is the sum of the weights of all projective trees."""

    sign: float  # of Z; 0 where Z is zero or not a number
    log_partition: float  # log abs(Z)
    arcs: Array  # the marginal of each arc [head, modifier]; all zero where the sign is 0

    @property
    def is_distribution(self) -> bool:
        """Whether Z is positive and all marginals lie between -1.05 and 1.05."""
        return self.sign > 0.0 and bool(np.abs(self.arcs).max() <= 1.05)


def marginals(
    grammar: SHAG, sentence: Symbols, weights: Array | None = None, *, single_root: bool = True
) -> Marginals:
    """Compute Z and the marginals of all arcs of a sentence.

    Parameters
    ----------
    grammar : SHAG
    sentence : int32 array of shape (N + 1,)
        As :meth:`SHAG.encode` returns it.
    weights : array of shape (N + 1, N + 1), optional
        A factor for each arc ``[head, modifier]``; zero forbids the arc.
    single_root : bool
        Whether the root takes exactly one word.
    """
    arcs = np.empty((len(sentence), len(sentence)))
    scaled, log_scale = kernels.posterior(_problem(grammar, sentence, weights, single_root), arcs)
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
    """Return the heads of the best tree with its best states, and its log-weight; an OptionError for negative weights."""
    if not grammar.is_nonnegative:
        raise OptionError("Viterbi needs automata without negative weights; try: MBR decoding")
    heads = np.empty(len(sentence), np.int32)
    value = decode_kernels.viterbi(_problem(grammar, sentence, weights, single_root), heads)
    return heads[1:], float(value)


class DecodedHeads(NamedTuple):
    """The head of each word, the marginal of its arc clipped to 0..1, and whether the marginals of the grammar are a distribution."""

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
    """Find the tree with the most certain arcs, projective ("mbr") or not ("mst"), or the best tree with its states ("viterbi").

    If the marginals are not a distribution, they are interpolated with those of `backoff`, a grammar that gives all projective trees a
    positive weight; None leaves them as they are.
    """
    result = marginals(grammar, sentence, factors, single_root=single_root)
    arcs, is_distribution = result.arcs, result.is_distribution
    if not is_distribution and backoff is not None:
        grammar = backoff
        arcs = marginals(backoff, sentence, factors, single_root=single_root).arcs
        if result.sign != 0.0:
            arcs = (arcs + np.clip(result.arcs, 0.0, 1.0)) / 2.0
    if decoder != "viterbi":
        scores = np.log(np.maximum(arcs, _FLOOR))
        if factors is not None:
            scores[factors == 0.0] = -math.inf  # forbidden arcs
        find_tree = best_tree if decoder == "mbr" else maximum_spanning_tree
        heads = find_tree(scores, single_root=single_root)
    else:
        heads, _ = viterbi_tree(grammar, sentence, factors, single_root=single_root)
    confidences = np.clip(arcs[heads, np.arange(1, len(sentence))], 0.0, 1.0)
    return DecodedHeads(heads, confidences, is_distribution)


def _problem(grammar: SHAG, sentence: Symbols, weights: Array | None, single_root: bool) -> kernels.Problem:
    weights = np.ones((len(sentence), len(sentence))) if weights is None else weights
    return kernels.Problem(
        initial=grammar.initial,
        final=grammar.final,
        operators=grammar.operators,
        rows=grammar.rows,
        sentence=sentence,
        weights=weights,
        single_root=single_root,
    )
