"""One sentence through the chart: coarse forest, pruning, fine pass; what comes out is a :class:`Forest` with posteriors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gramian.chart import coarse_kernels, fine_kernels
from gramian.grammar import LPCFG
from gramian.grammar.factors import Factors
from gramian.grammar.lexicon import WordScores
from gramian.grammar.lpcfg import CoarseRules
from gramian.grammar.merged_states import halves, merged, shares_in_groups

__all__ = ["Allowed", "ChartParser", "CoarseForest", "Forest", "GrammarArrays", "Pruning"]

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Pruning:
    """What the chart leaves out.

    Attributes
    ----------
    beam : float
        In the coarse chart, phrases whose guessed posterior is below this share of their span's best are dropped. The guess takes
        the words around for a chain of tags (Caraballo & Charniak 1998). 0 keeps all.
    item, edge : float
        Coarse posterior below which an item or an edge does not reach the fine pass.
    fine : float
        Fine posterior below which an item or an edge counts as impossible on the way down.
    guess : float
        In the coarse chart, phrases and tags whose guessed posterior is below this are dropped, whatever else their span holds; of
        spans of more than twenty words, whose guesses are worse, only those below a smaller bound. 0 keeps all, and so does no beam.
    split : float
        If more than 0, a pass with two states for each symbol comes between, and what has a lower posterior there does not reach the
        fine pass. Of grammars with probabilities only.
    """

    beam: float = 1e-3
    item: float = 5e-5
    edge: float = 1e-5
    fine: float = 1e-6
    guess: float = 2e-7
    split: float = 0.0


class Allowed(NamedTuple):
    """Which symbols each span may hold.

    Attributes
    ----------
    row : ndarray of int32, shape (n (n + 1) / 2,)
        For each span, by width, then start, its row of `symbols`.
    symbols : ndarray of bool, shape (n_rows, n_phrases + 1)
        The phrases, and in the last column whether a tag may stand without a phrase over it. Row 0 allows all.
    """

    row: Ints
    symbols: npt.NDArray[np.bool_]


class GrammarArrays(NamedTuple):
    """A grammar as the kernels want it: rules by their children, and what turns their tensors into ratios to coarse values."""

    n_symbols: int
    n_states: Ints
    pair_start: Ints
    left_start: Ints
    rule_right: Ints
    rule_parent: Ints
    rule_weight: npt.NDArray[np.float64]
    binary: Floats
    binary_start: Longs
    binary_ratio: Floats
    rank: Ints
    factors: Floats
    factor_start: Longs
    unary_first: Ints
    unary_parent: Ints
    unary_weight: npt.NDArray[np.float64]
    unary: Floats
    unary_start: Longs
    unary_ratio: Floats
    can_be_right: npt.NDArray[np.bool_]
    root: npt.NDArray[np.float64]
    root_ratio: Floats
    root_start: Longs
    before: Floats
    after: Floats


@dataclass(frozen=True)
class Forest:
    """The items and edges of a sentence that survived pruning, with their posteriors under the grammar.

    Items come children before parents. A leaf is an item whose symbol is a tag; any other item without edges is a dead end.

    Attributes
    ----------
    n_words : int
    log_ratio : float
        Log-probability of the sentence, less the words' own log-probabilities.
    item_symbol, item_cell : ndarray of int32
        Symbol and span number (by width, then start) of each item.
    item_posterior : ndarray of float32
    item_start : ndarray of int64, shape (n_items + 1,)
        Where each item's states lie in `inside` and `outside`.
    inside, outside : ndarray of float32
        State vectors; their product, state by state, is proportional to the posterior of the state.
    edge_first : ndarray of int32, shape (n_items + 1,)
        An item's edges.
    edge_left, edge_right, edge_rule : ndarray of int32
        Child items (`edge_right` is -1 for a phrase over a tag) and rule number in the chart's own order.
    edge_weight : ndarray of float32
        The inside vector of an item is the sum over its edges of weight times T(left vector, right vector), T the rule's tensor.
    edge_posterior, root_posterior : ndarray of float32
        Posterior of each edge, and of each item as the root.
    label_posterior : ndarray of float32, shape (n_cells, n_labels), optional
        Posterior of each label over each span, where it comes from more than this forest's items.
    """

    n_words: int
    log_ratio: float
    item_symbol: Ints
    item_cell: Ints
    item_posterior: Floats
    item_start: Longs
    inside: Floats
    outside: Floats
    edge_first: Ints
    edge_left: Ints
    edge_right: Ints
    edge_rule: Ints
    edge_weight: Floats
    edge_posterior: Floats
    root_posterior: Floats
    label_posterior: Floats | None = None

    @cached_property
    def _cell_spans(self) -> tuple[Ints, Ints]:
        n = self.n_words
        widths = np.repeat(np.arange(1, n + 1), np.arange(n, 0, -1))
        starts = np.concatenate([np.arange(n - width + 1) for width in range(1, n + 1)])
        return starts.astype(np.int32), (starts + widths).astype(np.int32)

    @cached_property
    def item_first_word(self) -> Ints:
        """First word of each item."""
        return self._cell_spans[0][self.item_cell]

    @cached_property
    def item_end(self) -> Ints:
        """Position after the last word of each item."""
        return self._cell_spans[1][self.item_cell]


@dataclass(frozen=True)
class CoarseForest:
    """What coarse pass and pruning leave of a sentence, without states.

    Attributes
    ----------
    n_words : int
    log_probability : float
        Of the sentence under the coarse grammar, less the words' own log-probabilities.
    tag_start, tag_symbol : ndarray of int32
        The tags of each word.
    item_symbol, item_cell, edge_first, edge_left, edge_right, edge_rule : ndarray of int32
        As in :class:`Forest`.
    item_posterior, root_share, edge_share, edge_posterior : ndarray of float32
        Posteriors under the coarse grammar; shares of edges and roots in their items' and the sentence's inside values.
    """

    n_words: int
    log_probability: float
    tag_start: Ints
    tag_symbol: Ints
    item_symbol: Ints
    item_cell: Ints
    item_posterior: Floats
    root_share: Floats
    edge_first: Ints
    edge_left: Ints
    edge_right: Ints
    edge_rule: Ints
    edge_share: Floats
    edge_posterior: Floats


class ChartParser:
    """A grammar ready to fill charts; safe to share between threads.

    Parameters
    ----------
    grammar : LPCFG
    coarse : CoarseRules, optional
        The coarse grammar; that of `grammar` by default. Grammars with the same rules may share one coarse pass.
    """

    def __init__(self, grammar: LPCFG, coarse: CoarseRules | None = None) -> None:
        self.grammar = grammar
        self.arrays = _arrays(grammar, coarse or grammar.coarse)

    def forest(
        self,
        words: Sequence[WordScores],
        pruning: Pruning = Pruning(),
        allowed: Allowed | None = None,
        tokens: Sequence[str] | None = None,
    ) -> Forest | None:
        """Return the forest of a sentence, or None if the grammar does not derive it.

        Parameters
        ----------
        words : sequence of WordScores
        pruning : Pruning
        allowed : Allowed, optional
            Which symbols each span may hold; see :class:`gramian.chart.constraints.Constraints`.
        tokens : sequence of str, optional
            The words themselves. One grammar looks at their scores alone; an expert beside several looks at these.
        """
        coarse = self.coarse_forest(words, pruning, allowed)
        if coarse is None:
            return None
        sizes = self.grammar.n_states[coarse.tag_symbol]
        states = np.concatenate([word.states for word in words])
        start = np.cumsum(sizes, dtype=np.int64) - sizes
        return self.fine_forest(self.split_forest(coarse, states, start, pruning), states, start, pruning)

    def coarse_forest(
        self, words: Sequence[WordScores], pruning: Pruning, allowed: Allowed | None = None
    ) -> CoarseForest | None:
        """Return what the coarse grammar leaves of a sentence, or None if it does not derive it."""
        n, n_phrases = len(words), self.grammar.n_phrases
        tag_start = np.zeros(n + 1, np.int32)
        np.cumsum([len(word.tags) for word in words], out=tag_start[1:])
        tag_symbol = np.concatenate([word.tags for word in words]) + np.int32(n_phrases)
        tag_score = np.concatenate([word.coarse for word in words]).astype(np.float64)
        if allowed is None:
            allowed = Allowed(np.zeros(n * (n + 1) // 2, np.int32), np.ones((1, n_phrases + 1), np.bool_))
        log_probability, *arrays = coarse_kernels.pruned_forest(
            n,
            tag_start,
            tag_symbol,
            tag_score,
            self.arrays,
            allowed.row,
            allowed.symbols,
            float(pruning.beam),  # an int would have the kernels compiled anew
            float(pruning.guess) if pruning.beam > 0 else 0.0,
            float(pruning.item),
            float(pruning.edge),
        )
        if log_probability == -np.inf:
            return None
        return CoarseForest(n, log_probability, tag_start, tag_symbol, *arrays)

    def split_forest(
        self, coarse: CoarseForest, tag_states: Floats, tag_state_start: Longs, pruning: Pruning
    ) -> CoarseForest:
        """Return what a pass with two states for each symbol leaves, if `pruning` asks for it; see :meth:`fine_forest`."""
        if pruning.split == 0 or not self.grammar.is_probabilistic:
            return coarse
        return self._halved.prune(coarse, tag_states, tag_state_start, pruning)

    @cached_property
    def _halved(self) -> _Halved:
        return _Halved(self.grammar)

    def fine_forest(
        self, coarse: CoarseForest, tag_states: Floats, tag_state_start: Longs, pruning: Pruning
    ) -> Forest | None:
        """Return the forest with states; the posteriors of `coarse` are overwritten.

        Parameters
        ----------
        coarse : CoarseForest
        tag_states : ndarray of float32
            State scores of the words' tags.
        tag_state_start : ndarray of int64
            Where those of each of the sentence's tags begin.
        pruning : Pruning
        """
        c = coarse
        log_ratio, item_start, inside, outside, weight, root_posterior = fine_kernels.fine_forest(
            c.item_symbol, c.item_cell, c.item_posterior, c.root_share, c.edge_first, c.edge_left, c.edge_right,
            c.edge_rule, c.edge_share, c.edge_posterior, c.tag_start, c.tag_symbol, tag_states, tag_state_start, self.arrays,
            float(pruning.fine) if self.grammar.is_probabilistic else 0.0,  # negative weights may cancel
        )  # fmt: skip
        if log_ratio == -np.inf:
            return None
        return Forest(
            c.n_words, c.log_probability + log_ratio, c.item_symbol, c.item_cell, c.item_posterior, item_start, inside, outside,
            c.edge_first, c.edge_left, c.edge_right, c.edge_rule, weight, c.edge_posterior, root_posterior,
        )  # fmt: skip


class _Halved:
    """A grammar with two states for each symbol, which prunes once more before the fine pass."""

    def __init__(self, grammar: LPCFG) -> None:
        group = halves(grammar)
        self._chart = ChartParser(merged(grammar, group), grammar.coarse)
        self._first, self._group = grammar.state_start[:-1], group
        self._share = shares_in_groups(grammar, group)
        self._sizes = grammar.n_states

    def prune(
        self, coarse: CoarseForest, tag_states: Floats, tag_state_start: Longs, pruning: Pruning
    ) -> CoarseForest:
        """Return what has a posterior of at least ``pruning.split``; all if nothing has one."""
        c = coarse
        full, half = self._sizes[c.tag_symbol], self._chart.grammar.n_states[c.tag_symbol]
        begin = np.cumsum(half, dtype=np.int64) - half
        within = np.arange(full.sum()) - np.repeat(
            np.cumsum(full) - full, full
        )  # number of a state of its tag
        state = np.repeat(self._first[c.tag_symbol], full) + within
        scores = self._share[state] * tag_states[np.repeat(tag_state_start, full) + within]
        place = np.repeat(begin, full) + self._group[state]
        merged_states = np.bincount(place, scores, int(half.sum())).astype(np.float32)
        forest = self._chart.fine_forest(
            replace(c, item_posterior=c.item_posterior.copy(), edge_posterior=c.edge_posterior.copy()),
            merged_states,
            begin,
            pruning,
        )
        if forest is None:
            return coarse
        likely = forest.edge_posterior >= pruning.split
        parent = np.repeat(np.arange(len(c.item_symbol), dtype=np.int32), np.diff(c.edge_first))
        old, *edges = coarse_kernels.keep_likely(
            forest.item_posterior.astype(np.float64), pruning.split, parent[likely],
            *(each[likely] for each in (c.edge_left, c.edge_right, c.edge_rule, c.edge_share, c.edge_posterior)),
        )  # fmt: skip
        items = (each[old] for each in (c.item_symbol, c.item_cell, c.item_posterior, c.root_share))
        return CoarseForest(c.n_words, c.log_probability, c.tag_start, c.tag_symbol, *items, *edges)


def _arrays(g: LPCFG, coarse: CoarseRules) -> GrammarArrays:
    n = g.n_symbols
    order = np.lexsort((g.binary_rules[:, 0], g.binary_rules[:, 2], g.binary_rules[:, 1]))
    pair = g.binary_rules[order, 1].astype(np.int64) * n + g.binary_rules[order, 2]
    unary_order = np.lexsort((g.unary_rules[:, 0], g.unary_rules[:, 1]))
    factors = g.factors or Factors.none(len(g.binary_rules))
    can_be_right = np.zeros(n, np.bool_)
    can_be_right[g.binary_rules[:, 2]] = True
    can_be_right[g.n_phrases :] = True
    owner = np.repeat(np.arange(n), g.n_states)
    ratio = factors.weight[order] / np.maximum(coarse.binary[order], 1e-30)
    arrays: dict[str, npt.NDArray[Any]] = {
        "n_states": g.n_states,
        "pair_start": np.searchsorted(pair, np.arange(n * n + 1)).astype(np.int32),
        "left_start": np.searchsorted(g.binary_rules[order, 1], np.arange(n + 1)).astype(np.int32),
        "rule_right": g.binary_rules[order, 2],
        "rule_parent": g.binary_rules[order, 0], "rule_weight": coarse.binary[order],
        "binary": g.binary, "binary_start": g.binary_start[order], "binary_ratio": ratio.astype(np.float32),
        "rank": factors.rank[order], "factors": factors.values, "factor_start": factors.start[order],
        "unary_first": np.searchsorted(g.unary_rules[unary_order, 1], np.arange(n + 1)).astype(np.int32),
        "unary_parent": g.unary_rules[unary_order, 0], "unary_weight": coarse.unary[unary_order],
        "unary": g.unary, "unary_start": g.unary_start[unary_order],
        "unary_ratio": (1 / np.maximum(coarse.unary[unary_order], 1e-30)).astype(np.float32),
        "can_be_right": can_be_right, "root": coarse.root,
        "root_ratio": (g.root / np.maximum(coarse.root[owner], 1e-30)).astype(np.float32), "root_start": g.state_start,
        "before": np.ascontiguousarray(g.before.T), "after": np.ascontiguousarray(g.after.T),
    }  # fmt: skip
    # Read-only and contiguous whatever they came from, so that kernels are compiled once.
    return GrammarArrays(n, **{name: _frozen(array) for name, array in arrays.items()})


def _frozen(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view
