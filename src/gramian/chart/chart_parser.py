"""Sentences through the chart: one call for all grammars and experts, to posteriors of a batch or to forests of its sentences."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from gramian.chart import decode_kernels
from gramian.chart.backend import (
    Backend,
    BackendFactory,
    ChartInput,
    NumbaBackend,
    PlacedGrammar,
    PrunedForests,
)
from gramian.chart.combine import (
    COMBINATIONS,
    Expert,
    GrammarPosterior,
    Reranker,
    SpanExpert,
    combined,
    combined_weights,
    label_places,
    mean_posteriors,
)
from gramian.chart.decode_kernels import LabelPosteriors
from gramian.chart.forest import Allowed, Forest, Posteriors, Pruning
from gramian.chart.label_table import LabelArrays, label_table
from gramian.errors import OptionError
from gramian.grammar import LPCFG
from gramian.grammar.lexicon import WordScores


class ChartParser:
    """A grammar, or several learnt from the same treebank, and experts beside them; safe to share between threads.

    The forest of a sentence is that of the first grammar, with the posteriors of all; state vectors are the first grammar's own. If the
    first grammar gives the sentence no probability, the first with the same rules that does takes its place. `combination` is one of
    :data:`gramian.chart.combine.COMBINATIONS`; for ``hierarchical``, `kinds` names the kind of each grammar (by default its
    binarisation), and `reranker` picks a tree of each kind's forest. Experts read the forests of the first grammar's binarisation.
    Grammars with the same rules are together in `families`; `labels` are those of the first.
    """

    def __init__(
        self,
        grammars: LPCFG | Sequence[LPCFG],
        combination: str = "product",
        *,
        kinds: Sequence[str] | None = None,
        experts: Sequence[Expert] = (),
        reranker: Reranker | None = None,
        backend: BackendFactory = NumbaBackend,
    ) -> None:
        grammars = (grammars,) if isinstance(grammars, LPCFG) else tuple(grammars)
        if combination not in COMBINATIONS:
            raise OptionError(f"combination must be one of {', '.join(COMBINATIONS)}, got {combination!r}")
        self.grammar = first = grammars[0]
        self.combination, self._experts, self._reranker = combination, tuple(experts), reranker
        offset = np.zeros(first.n_symbols - first.n_phrases, np.int64)
        families: list[list[int]] = []  # indices of grammars with the same rules
        placed = []
        for index, grammar in enumerate(grammars):
            if grammar.lexicon.tags != first.lexicon.tags:
                raise OptionError("the grammars of an ensemble must be trained on the same treebank")
            placed.append(PlacedGrammar(grammar, offset.copy()))
            offset += grammar.n_states[grammar.n_phrases :]
            family = next((family for family in families if _same_rules(grammars[family[0]], grammar)), None)
            if family is None:
                families.append(family := [])
            family.append(index)
        self.families = [[grammars[index] for index in family] for family in families]
        self._placed, self._tag_states = [[placed[index] for index in family] for family in families], offset
        self.labels = label_table(first.symbols, first.n_phrases)
        names = list(dict.fromkeys(kinds or ()))
        # Of each grammar, in the order of the families, the kind and the labels.
        self._kinds, self._label_places, self._label_arrays = [], [], []
        for number, family in enumerate(families):
            for index in family:
                place = label_places(first, grammars[index])
                self._kinds.append(number if kinds is None else names.index(kinds[index]))
                self._label_places.append(place)
                self._label_arrays.append(self._renumbered(grammars[index], place))
        self._is_single = len(grammars) == 1 and not experts
        is_product = self._is_single or combination == "product"
        self._needs_forests = not (is_product and all(isinstance(expert, SpanExpert) for expert in experts))
        self._use_backend(backend)

    def _use_backend(self, backend: BackendFactory) -> None:
        self._backends: list[Backend] = [backend(family, self._tag_states) for family in self._placed]
        self._numba = [one for one in self._backends if isinstance(one, NumbaBackend)]

    def _renumbered(self, grammar: LPCFG, place: npt.NDArray[np.int64] | None) -> LabelArrays:
        """Return the labels of a grammar's symbols by their numbers in the first grammar; -1 for labels it does not have."""
        arrays = label_table(grammar.symbols, grammar.n_phrases).arrays
        if place is None:
            return arrays
        number = np.full(arrays.n_labels, -1, np.int32)
        number[place[place >= 0]] = np.flatnonzero(place >= 0)
        return self.labels.arrays._replace(first=arrays.first, number=number[arrays.number])

    def with_backend(self, backend: BackendFactory) -> ChartParser:
        """Return the same with charts filled by another backend."""
        other = copy(self)
        other._use_backend(backend)
        return other

    @property
    def needs_forests(self) -> bool:
        """Whether trees are found only in the forests of single sentences: if more counts than a product of labels over spans."""
        return self._needs_forests or len(self._numba) < len(self._backends)

    def posteriors(self, batch: Sequence[ChartInput], pruning: Pruning) -> Posteriors:
        """Return the posteriors of all grammars and experts for some sentences, at least one, without their forests.

        Only if not :attr:`needs_forests`. Sentences that not all grammars derive have probability 0 here.
        """
        pruning = self._pruning(pruning)
        # Allowed symbols are those of the first grammar.
        free = [sentence._replace(allowed=None) for sentence in batch]
        families = [
            backend.find(batch if family[0].symbols == self.grammar.symbols else free, pruning)
            for backend, family in zip(self._numba, self.families, strict=True)
        ]
        (first_item, _, c), fine = families[0]
        logs = np.array(
            [
                coarse.forest.log_probability + each.log_ratio
                for coarse, several in families
                for each in several
            ]
        )
        log_prob = np.logaddexp.reduce(logs) - np.log(len(logs))
        log_prob[~np.isfinite(logs).all(axis=0)] = -np.inf
        item, edge, root = fine[0].item_posterior, fine[0].edge_posterior, fine[0].root_posterior
        if not self._is_single:
            share = np.full(len(fine), 1 / len(fine), np.float32)
            item = mean_posteriors([each.item_posterior for each in fine], share, "product")
            edge = mean_posteriors([each.edge_posterior for each in fine], share, "product")
            root = mean_posteriors([each.root_posterior for each in fine], share, "product")
        return Posteriors(
            self.grammar.n_phrases, first_item, c.item_symbol, c.item_cell, c.edge_first, c.edge_left, c.edge_right,
            item, edge, root, self.labels, self._label_posteriors(batch, families), log_prob,
        )  # fmt: skip

    def _label_posteriors(
        self, batch: Sequence[ChartInput], families: list[PrunedForests]
    ) -> LabelPosteriors:
        """Return the posteriors of labels over spans of grammars and experts."""
        forests = [(coarse.forest, fine) for coarse, several in families for fine in several]
        bounds, n_labels = families[0].coarse.first_cell.tolist(), len(self.labels.names)
        tables = np.zeros((len(forests) + len(self._experts), bounds[-1], n_labels), np.float32)
        for (forest, fine), labels, table in zip(forests, self._label_arrays, tables, strict=False):
            decode_kernels.add_posteriors(
                forest.item_symbol, forest.item_cell, fine.item_posterior, labels, table
            )
        weights = []  # of each expert, for each sentence
        words = [sentence.tokens or () for sentence in batch]
        for expert, table in zip(self._experts, tables[len(forests) :], strict=True):
            assert isinstance(expert, SpanExpert)
            weights.append(expert.fill(words, table, bounds))
        by_sentence = zip(*weights, strict=True) if weights else [()] * len(batch)
        return LabelPosteriors(tables, np.array([combined_weights(len(forests), row) for row in by_sentence]))

    def _pruning(self, pruning: Pruning) -> Pruning:
        """Return what is pruned: less where there are experts, who may prefer what two states find unlikely."""
        return replace(pruning, split=pruning.split / 20) if self._experts else pruning

    def forests(self, batch: Sequence[ChartInput], pruning: Pruning = Pruning()) -> list[Forest | None]:
        """Return the forest of each sentence, None where the first grammar's rules do not derive it.

        Allowed symbols bind the trees of the forest, not the grammars of another binarisation than the first. Sentences without tokens
        are parsed without experts.
        """
        pruning = self._pruning(pruning)
        rows = self._backends[0].forests(batch, pruning)  # of each sentence, the forests of all grammars
        if self._is_single:
            return [forest for (forest,) in rows]
        derived = [index for index, row in enumerate(rows) if any(forest is not None for forest in row)]
        free = [batch[index]._replace(allowed=None) for index in derived]
        for backend in self._backends[1:]:
            for index, row in zip(derived, backend.forests(free, pruning), strict=True):
                rows[index] = [*rows[index], *row]
        result: list[Forest | None] = [None] * len(batch)
        for index in derived:
            result[index] = self._combined(rows[index], batch[index].tokens)
        return result

    def _combined(self, forests: list[Forest | None], tokens: Sequence[str] | None) -> Forest:
        grammars = [
            GrammarPosterior(forest, kind, place)
            for forest, kind, place in zip(forests, self._kinds, self._label_places, strict=True)
            if forest is not None
        ]
        n_same = sum(forest is not None for forest in forests[: len(self.families[0])])
        experts, reranker = [], None
        if tokens is not None:
            posteriors = [expert.posterior(tokens, grammars[0].forest) for expert in self._experts]
            experts, reranker = [one for one in posteriors if one is not None], self._reranker
        return combined(grammars, n_same, experts, self.combination, reranker, tokens or ())

    def forest(
        self,
        words: Sequence[WordScores],
        pruning: Pruning = Pruning(),
        allowed: Allowed | None = None,
        tokens: Sequence[str] | None = None,
    ) -> Forest | None:
        """Return the forest of one sentence; see :meth:`forests`."""
        [forest] = self.forests([ChartInput(words, allowed, tokens)], pruning)
        return forest


def _same_rules(one: LPCFG, other: LPCFG) -> bool:
    return (
        one.symbols == other.symbols
        and np.array_equal(one.binary_rules, other.binary_rules)
        and np.array_equal(one.unary_rules, other.unary_rules)
    )
