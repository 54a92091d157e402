"""Who fills charts: the seam behind which sentences become forests, and the backend of numba kernels.

A backend serves grammars that have the same rules and so share one coarse chart (Petrov 2010). :class:`NumbaBackend` goes from coarse
forest over pruning to the fine pass, sentence by sentence; another one may take the whole batch at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from gramian.chart import coarse_kernels, fine_kernels, two_state_kernels
from gramian.chart.coarse_arrays import CoarseForest, Tags, Thresholds
from gramian.chart.forest import Allowed, Forest, Pruning
from gramian.chart.grammar_arrays import GrammarArrays, grammar_arrays
from gramian.chart.label_table import LabelTable, label_table
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


class NumbaBackend:
    """Charts filled by numba kernels, one sentence after the other; safe to share between threads.

    The coarse chart is filled with the first grammar's rules; words have scores for `tag_states` (n_tags,) states under each tag.
    """

    def __init__(self, grammars: Sequence[PlacedGrammar], tag_states: Longs) -> None:
        first = grammars[0].grammar
        self._grammars, self._tag_states = tuple(grammars), tag_states
        self._arrays = [grammar_arrays(one.grammar, first.coarse) for one in grammars]
        self._labels = label_table(first.symbols, first.n_phrases)
        self._n_phrases = np.int32(first.n_phrases)
        self._everything = np.ones((1, first.n_phrases + 1), np.bool_)

    @cached_property
    def _two_states(self) -> TwoStates | None:
        """The first grammar with two states for each symbol, unless it has none, or weights that are no probabilities."""
        grammar, arrays = self._grammars[0].grammar, self._arrays[0]
        if not grammar.is_probabilistic or grammar.n_states.max() == 1:
            return None
        two: TwoStates = two_state_kernels.two_states(arrays, grammar.state_prior, self._n_phrases)
        return two

    def forests(self, batch: Sequence[ChartInput], pruning: Pruning) -> list[list[Forest | None]]:
        """Return the forests of each sentence; see :meth:`Backend.forests`."""
        return [self._forests(one, pruning) for one in batch]

    def _forests(self, sentence: ChartInput, pruning: Pruning) -> list[Forest | None]:
        words, first = sentence.words, self._grammars[0]
        tags = self.tags(words)
        coarse = self.coarse_forest(tags, pruning, sentence.allowed)
        if coarse is None:
            return [None] * len(self._grammars)
        numbers = tags.symbol - self._n_phrases
        states = np.concatenate([word.states for word in words])
        sizes = self._tag_states[numbers]
        start = sizes.cumsum() - sizes
        if pruning.split > 0 and self._two_states is not None:
            coarse = two_state_kernels.likely_part(
                coarse,
                tags,
                states,
                start + first.state_offset[numbers],
                self._two_states,
                float(pruning.split),
            )
        found: list[Forest | None] = []
        for (grammar, offset), arrays in zip(self._grammars, self._arrays, strict=True):
            own = coarse if len(found) == len(self._grammars) - 1 else _copied(coarse)
            state_start = start + offset[numbers]
            found.append(_fine_forest(grammar, arrays, self._labels, own, tags, states, state_start, pruning))
        return found

    def tags(self, words: Sequence[WordScores]) -> Tags:
        """Return the tags of words as the coarse chart wants them."""
        tags = [word.tags for word in words]
        start = np.array([0, *accumulate(map(len, tags))], np.int32)
        scores = np.concatenate([word.coarse for word in words]).astype(np.float64)
        return Tags(start, np.concatenate(tags) + self._n_phrases, scores)

    def coarse_forest(
        self, tags: Tags, pruning: Pruning, allowed: Allowed | None = None
    ) -> CoarseForest | None:
        """Return what the coarse grammar leaves of a sentence, or None if it does not derive it."""
        if allowed is None:
            n = len(tags.start) - 1
            allowed = Allowed(np.zeros(n * (n + 1) // 2, np.int32), self._everything)
        guess = pruning.guess if pruning.beam > 0 else 0.0
        limits = map(float, (pruning.beam, guess, pruning.item, pruning.edge))  # as they were compiled
        forest: CoarseForest = coarse_kernels.pruned_forest(
            tags, self._arrays[0], allowed, Thresholds(*limits)
        )
        return None if forest.log_probability == -np.inf else forest


def _fine_forest(
    grammar: LPCFG, arrays: GrammarArrays, labels: LabelTable,
    c: CoarseForest, tags: Tags, states: Floats, state_start: Longs, pruning: Pruning,
) -> Forest | None:  # fmt: skip
    """Return the forest with states; the posteriors of `c` are overwritten."""
    threshold = float(pruning.fine) if grammar.is_probabilistic else 0.0  # negative weights may cancel
    log_ratio, item_start, inside, outside, edge_weight, root_posterior = fine_kernels.fine_forest(
        c, tags, states, state_start, arrays, threshold
    )
    if log_ratio == -np.inf:
        return None
    return Forest(
        grammar, arrays, labels, len(tags.start) - 1, c.log_probability + log_ratio,
        c.item_symbol, c.item_cell, c.item_posterior, item_start, inside, outside, c.edge_first,
        c.edge_left, c.edge_right, c.edge_rule, edge_weight, c.edge_posterior, root_posterior,
    )  # fmt: skip


def _copied(coarse: CoarseForest) -> CoarseForest:
    """Return a forest whose posteriors may be overwritten."""
    return coarse._replace(
        item_posterior=coarse.item_posterior.copy(), edge_posterior=coarse.edge_posterior.copy()
    )
