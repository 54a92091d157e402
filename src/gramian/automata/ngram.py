"""n-gram models of strings, as deterministic automata whose states are the contexts seen.

Interpolated Kneser-Ney smoothing (Chen and Goodman 1999) backs off from a context to the one without its oldest symbol; without
smoothing, the longest context seen decides alone, which for order 2 is the bigram of Balle et al. (2014, 5.1). The start of a string is a
symbol of its context, and STOP is predicted as symbols are.
"""

from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from gramian.automata.pdfa import PDFA
from gramian.automata.sequence_learner import SequenceLearner
from gramian.automata.sequences import Array, Sequences
from gramian.base import estimator
from gramian.value_types import Either, OneOf, Whole, option

Ints = npt.NDArray[np.int64]

_ORDERS = (1, 2, 3, 4, 5, 6)


@estimator
class NGram(SequenceLearner):
    """An n-gram model with the start and the end of strings.

    Examples
    --------
    >>> model = NGram(2, smoothing="none").fit(["ab", "aab"]).model_
    >>> np.exp(model.log_score(["ab", "aab", "b"])).round(3)
    array([0.667, 0.222, 0.   ])
    """

    order: int | Literal["auto"] = option(Either(Whole(1), OneOf("auto")), default=3)
    """Symbols that matter for a prediction, the predicted one included: 1 unigram, 2 bigram, 3 trigram. "auto" takes the order up to 6
    that gives held-out strings the highest likelihood."""
    _: KW_ONLY
    smoothing: Literal["kneser-ney", "none"] = option(OneOf("kneser-ney", "none"), default="kneser-ney")
    """Interpolation with shorter contexts, or relative frequencies after the longest context that was seen."""
    model_: PDFA = field(init=False)
    """The model learnt; its states are contexts."""

    def _learn(self, sample: Sequences) -> PDFA:
        order = self.order
        if order == "auto":
            order, _ = best_order(*sample.split(self.held_out, seed=self.random_state), self.smoothing)
        k = len(sample.alphabet)
        levels = _levels(sample, order)
        probabilities = np.full((1, k + 1), 1.0 / (k + 1))
        tables = []
        for level in levels:
            probabilities = _predictions(level, probabilities, smooth=self.smoothing == "kneser-ney")
            tables.append(probabilities)
        # Strings begin in the context that is START alone.
        start = 0 if len(levels) == 1 else 1 + int(np.flatnonzero(levels[1].oldest == k)[0])
        return PDFA(_successors(levels, k), np.vstack(tables), sample.alphabet).started_at(start)


def best_order(
    training: Sequences, held_out: Sequences, smoothing: Literal["kneser-ney", "none"] = "kneser-ney"
) -> tuple[int, Array]:
    """Return the order that gives the held-out strings the highest likelihood, and their log-scores."""
    log_scores = {
        order: NGram(order, smoothing=smoothing).fit(training).model_.log_score(held_out) for order in _ORDERS
    }
    best = max(_ORDERS, key=lambda order: float(log_scores[order].mean()))
    return best, log_scores[best]


@dataclass(frozen=True, eq=False)
class _Level:
    """The contexts of one length, numbered from 0, and what followed them."""

    shorter: Ints  # the context without its oldest symbol, a number of the level below
    oldest: Ints  # that symbol
    context: Ints  # of each follower, with the three below
    symbol: Ints
    count: Array
    continuation: Array  # the count for smoothing


def _levels(sample: Sequences, order: int) -> list[_Level]:
    k = len(sample.alphabet)
    distinct, weights = sample.distinct()
    # Every string between START (k) and STOP (k): an event is what follows a START or a symbol.
    lengths = distinct.lengths + 2
    text = np.insert(
        distinct.symbols.astype(np.int64), np.append(distinct.offsets[:-1], distinct.offsets[1:]), k
    )
    position = np.arange(len(text)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    event = np.flatnonzero(position > 0)
    weight = np.repeat(weights, lengths)[event]
    context = np.zeros(len(event), np.int64)
    levels: list[_Level] = []
    shorter = oldest = np.zeros(1, np.int64)
    for length in range(order):
        if length > 0:
            has_context = position[event] >= length
            if not has_context.any():
                break  # no string is long enough
            event, weight = event[has_context], weight[has_context]
            pair = context[has_context] * (k + 1) + text[event - length]
            pairs, context = np.unique(pair, return_inverse=True)
            shorter, oldest = np.divmod(pairs, k + 1)
        codes, follower_index = np.unique(context * (k + 1) + text[event], return_inverse=True)
        count = np.bincount(follower_index, weight, len(codes)).astype(np.float64)
        follower, symbol = np.divmod(codes, k + 1)
        levels.append(_Level(shorter, oldest, follower, symbol, count, count))
        if length > 0:
            levels[-2] = _with_continuation(levels[-2], levels[-1], k)
    return levels


def _with_continuation(level: _Level, longer: _Level, k: int) -> _Level:
    """Count, for smoothing, in how many longer contexts a follower occurs."""
    codes = level.context * (k + 1) + level.symbol
    longer_codes = longer.shorter[longer.context] * (k + 1) + longer.symbol
    n_contexts = np.bincount(np.searchsorted(codes, longer_codes), minlength=len(codes)).astype(np.float64)
    # A context that begins with START is never extended, and keeps its count.
    starts_string = level.oldest[level.context] == k if len(level.oldest) > 1 else np.zeros(len(codes), bool)
    continuation = np.where(starts_string | (n_contexts == 0), level.count, n_contexts)
    return replace(level, continuation=continuation)


def _predictions(level: _Level, backgrounds: Array, *, smooth: bool) -> Array:
    n = len(level.shorter)
    table = np.zeros((n, backgrounds.shape[1]))
    if not smooth:
        table[level.context, level.symbol] = level.count
        return np.asarray(table / table.sum(axis=1, keepdims=True))
    counts = level.continuation
    once, twice = np.count_nonzero(counts == 1.0), np.count_nonzero(counts == 2.0)
    discount = once / (once + 2.0 * twice) if once else 0.5
    table[level.context, level.symbol] = counts - np.minimum(discount, counts / 2.0)
    table /= np.bincount(level.context, counts, n)[:, None]
    return np.asarray(table + (1.0 - table.sum(axis=1, keepdims=True)) * backgrounds[level.shorter])


def _successors(levels: list[_Level], k: int) -> npt.NDArray[np.int32]:
    """Return the longest known context after each context and symbol; states are numbered level by level."""
    firsts = np.cumsum([0, *(len(level.shorter) for level in levels)])
    table = np.zeros((1, k), np.int64)
    tables = []
    for length, level in enumerate(levels):
        table = table[level.shorter]  # the root, whose shorter context is itself, leads to the root
        if length + 1 < len(levels):
            # The symbol and all of the context, if that is known: a child of what the shorter context leads to.
            longer = levels[length + 1]
            codes = longer.shorter * (k + 1) + longer.oldest
            wanted_codes = (table - firsts[length]) * (k + 1) + (
                level.oldest[:, None] if length else np.arange(k)
            )
            child = np.minimum(np.searchsorted(codes, wanted_codes), len(codes) - 1)
            is_known = (table >= firsts[length]) & (codes[child] == wanted_codes)
            table = np.where(is_known, firsts[length + 1] + child, table)
        tables.append(table)
    return np.vstack(tables).astype(np.int32)
