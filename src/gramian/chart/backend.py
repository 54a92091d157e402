"""Who fills charts: the seam behind which sentences become forests, and the backend of numba kernels.

A backend serves grammars that have the same rules and so share one coarse chart (Petrov 2010). :class:`NumbaBackend` goes from coarse
forest over pruning to the fine pass, sentence by sentence, in one call for some sentences.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from gramian.chart import batch_kernels, fine_kernels, two_state_kernels
from gramian.chart.coarse_arrays import AllowedRows, CoarseForests, Tags, Thresholds, Words
from gramian.chart.fine_kernels import FineForests
from gramian.chart.forest import Allowed, Forest, Pruning
from gramian.chart.grammar_arrays import GrammarArrays, grammar_arrays
from gramian.chart.label_table import label_table
from gramian.chart.two_state_kernels import TwoStates
from gramian.grammar import LPCFG
from gramian.grammar.lexicon import WordScores

Longs = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]


class ChartInput(NamedTuple):
    """One sentence: scores with the states of all grammars (:func:`gramian.grammar.lexicon.joined`), and the words for experts to see."""

    words: Sequence[WordScores]
    allowed: Allowed | None = None
    tokens: Sequence[str] | None = None
    log_words: float = 0.0  # log-probability of the words themselves


class PlacedGrammar(NamedTuple):
    """A grammar, and for each tag where its states begin among those of all grammars that words have scores for."""

    grammar: LPCFG
    state_offset: Longs


class Backend(Protocol):
    """Whoever turns sentences into forests, for grammars with the same rules."""

    def forests(self, batch: Sequence[ChartInput], pruning: Pruning) -> list[list[Forest | None]]:
        """Return each sentence's forests, of the same items and edges, one a grammar; None where it gives no probability."""


BackendFactory: TypeAlias = Callable[[Sequence[PlacedGrammar], Longs], Backend]
"""Takes grammars with the same rules, and how many states all grammars together have for each tag."""


class PrunedForests(NamedTuple):
    """The charts of some sentences, pruned, and what the fine pass of each grammar makes of them."""

    coarse: CoarseForests
    fine: list[FineForests]


class NumbaBackend:
    """Charts filled by numba kernels; safe to share between threads.

    The coarse chart is filled with the first grammar's rules; words have scores for `tag_states` (n_tags,) states under each tag.
    """

    def __init__(self, grammars: Sequence[PlacedGrammar], tag_states: Longs) -> None:
        first = grammars[0].grammar
        self._grammars, self._tag_states = tuple(grammars), tag_states
        self._arrays = [grammar_arrays(member.grammar, first.coarse) for member in grammars]
        self._labels = label_table(first.symbols, first.n_phrases)
        self._n_phrases = np.int32(first.n_phrases)
        self._everything = np.ones((1, first.n_phrases + 1), np.bool_)

    @cached_property
    def _two_states(self) -> TwoStates:
        """The first grammar with two states for each symbol; nothing where it has but one, or where weights are no probabilities."""
        grammar, arrays = self._grammars[0].grammar, self._arrays[0]
        if not grammar.is_probabilistic or grammar.n_states.max() == 1:
            share = np.zeros(0, np.float32)
            tables = [np.zeros((0, size), np.float32) for size in (8, 4, 2)]
            return TwoStates(int(self._n_phrases), arrays.root_start, np.zeros(0, np.int32), share, *tables)
        two: TwoStates = two_state_kernels.two_states(arrays, grammar.state_prior, self._n_phrases)
        return two

    def find(self, batch: Sequence[ChartInput], pruning: Pruning) -> PrunedForests:
        """Fill the charts of some sentences, one at the least."""
        words, first = self._words(batch), self._grammars[0]
        numbers = words.tags.symbol - self._n_phrases
        sizes = self._tag_states[numbers]
        start = sizes.cumsum() - sizes
        guess = pruning.guess if pruning.beam > 0 else 0.0
        split = pruning.split if len(self._two_states.share) else 0.0
        limits = map(float, (pruning.beam, guess, pruning.item, pruning.edge, split))  # as they were compiled
        coarse = batch_kernels.pruned_forests(
            words, start + first.state_offset[numbers], self._arrays[0], self._two_states, Thresholds(*limits)
        )
        fine = []
        for (grammar, offset), arrays in zip(self._grammars, self._arrays, strict=True):
            # Negative weights may cancel.
            threshold = float(pruning.fine) if grammar.is_probabilistic else 0.0
            found = fine_kernels.fine_forests(coarse, words, start + offset[numbers], arrays, threshold)
            fine.append(found)
        return PrunedForests(coarse, fine)

    def forests(self, batch: Sequence[ChartInput], pruning: Pruning) -> list[list[Forest | None]]:
        """Return the forests of each sentence; see :meth:`Backend.forests`."""
        if not batch:
            return []
        pruned = self.find(batch, pruning)
        return [self._of_sentence(index, len(sentence.words), pruned) for index, sentence in enumerate(batch)]

    def _words(self, batch: Sequence[ChartInput]) -> Words:
        """Return the words of sentences as the kernels want them."""
        lengths = np.array([len(sentence.words) for sentence in batch])
        words = [word for sentence in batch for word in sentence.words]
        tags = [word.tags for word in words]
        start = np.array([0, *accumulate(map(len, tags))], np.int32)
        scores = np.concatenate([word.coarse for word in words]).astype(np.float64)
        states = np.concatenate([word.states for word in words])
        given = Tags(start, np.concatenate(tags) + self._n_phrases, scores)
        return Words(np.append(0, lengths.cumsum()), given, states, self._allowed(batch, lengths))

    def _allowed(self, batch: Sequence[ChartInput], lengths: Longs) -> AllowedRows:
        """Return what sentences allow in one table; those that share a table of symbols share its rows."""
        cells = lengths * (lengths + 1) // 2
        rows, tables, shared, n_rows = [], [self._everything], {}, 1
        for sentence, n_cells in zip(batch, cells.tolist(), strict=True):
            allowed = sentence.allowed
            if allowed is None:
                rows.append(np.zeros(n_cells, np.int32))
                continue
            if id(allowed.symbols) not in shared:
                shared[id(allowed.symbols)] = np.int32(n_rows)
                tables.append(allowed.symbols)
                n_rows += len(allowed.symbols)
            rows.append(allowed.row + shared[id(allowed.symbols)])
        symbols = np.concatenate(tables)
        return AllowedRows(np.concatenate(rows), symbols, symbols[:, :-1].any(axis=1))

    def _of_sentence(self, index: int, n_words: int, pruned: PrunedForests) -> list[Forest | None]:
        """Return the forest of one sentence under each grammar; all have the same arrays of items and edges, numbered from 0."""
        first_item, first_cell, c = pruned.coarse
        first, last = int(first_item[index]), int(first_item[index + 1])
        begin, end = int(c.edge_first[first]), int(c.edge_first[last])
        symbol, rule, right = c.item_symbol[first:last], c.edge_rule[begin:end], c.edge_right[begin:end]
        cell = c.item_cell[first:last] - np.int32(first_cell[index])
        edge_first, left = c.edge_first[first : last + 1] - begin, c.edge_left[begin:end] - np.int32(first)
        right = np.where(right < 0, right, right - np.int32(first))

        def forest(grammar: LPCFG, arrays: GrammarArrays, fine: FineForests) -> Forest | None:
            log_prob = float(c.log_probability[index] + fine.log_ratio[index])
            if log_prob == -np.inf:
                return None
            state, stop = fine.item_start[first], fine.item_start[last]
            return Forest(
                grammar, arrays, self._labels, n_words, log_prob, symbol, cell, fine.item_posterior[first:last],
                fine.item_start[first : last + 1] - state, fine.inside[state:stop], fine.outside[state:stop], edge_first,
                left, right, rule, fine.edge_weight[begin:end], fine.edge_posterior[begin:end],
                fine.root_posterior[first:last],
            )  # fmt: skip

        each = zip(self._grammars, self._arrays, pruned.fine, strict=True)
        return [forest(grammar, arrays, fine) for (grammar, _), arrays, fine in each]
