"""Sentences through the chart: one call for all grammars and experts, to posteriors of a batch or to forests of its sentences."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from itertools import chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gramian.chart import decode_kernels
from gramian.chart.backend import (
    Backend,
    BackendFactory,
    ChartInput,
    NumbaBackend,
    PlacedGrammar,
)
from gramian.chart.cell_closing import Bits, CellCloser, ClosingTable, open_cells
from gramian.chart.combine import (
    COMBINATIONS,
    Expert,
    ExpertPosterior,
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


class _Reading(NamedTuple):
    """What is known of some sentences before their charts are filled.

    `tables` (n_models, n_cells, n_labels) have zeros but for experts; of each sentence, `first` says where its cells begin, and `weights`
    has one for each expert that read spans. `cells` says what cells are open for; None if for all.
    """

    tables: npt.NDArray[np.float32]
    first: list[int]
    weights: list[tuple[float, ...]]
    cells: Bits | None

    def sentence(self, index: int) -> _Reading:
        """Return what is known of one sentence."""
        part = slice(self.first[index], self.first[index + 1])
        cells = None if self.cells is None else self.cells[part]
        return _Reading(self.tables[:, part], [0, part.stop - part.start], [self.weights[index]], cells)


class ChartParser:
    """A grammar, or several learnt from the same treebank, and experts beside them; safe to share between threads.

    The forest of a sentence is that of the first grammar, with the posteriors of all; state vectors are the first grammar's own. If the
    first grammar gives the sentence no probability, the first with the same rules that does takes its place. `combination` is one of
    :data:`gramian.chart.combine.COMBINATIONS`; for ``hierarchical``, `kinds` names the kind of each grammar (by default its
    binarisation), and `reranker` picks a tree of each kind's forest. Experts read the forests of the first grammar's binarisation.
    Grammars with the same rules are together in `families`; `labels` are those of the first. Experts that know
    spans close cells of the charts, or else a `closer`, unless another backend than numba fills these.
    """

    def __init__(
        self,
        grammars: LPCFG | Sequence[LPCFG],
        combination: str = "product",
        *,
        kinds: Sequence[str] | None = None,
        experts: Sequence[Expert] = (),
        reranker: Reranker | None = None,
        closer: CellCloser | None = None,
        backend: BackendFactory = NumbaBackend,
    ) -> None:
        grammars = (grammars,) if isinstance(grammars, LPCFG) else tuple(grammars)
        if combination not in COMBINATIONS:
            raise OptionError(f"combination must be one of {', '.join(COMBINATIONS)}, got {combination!r}")
        self.grammar = first = grammars[0]
        self.combination, self._experts, self._reranker = combination, tuple(experts), reranker
        self._span_experts = [expert if isinstance(expert, SpanExpert) else None for expert in experts]
        self._tag_states = np.zeros(first.n_symbols - first.n_phrases, np.int64)
        self.families: list[list[LPCFG]] = []
        self._placed: list[list[PlacedGrammar]] = []
        self._closing: list[ClosingTable] = []
        self.labels = label_table(first.symbols, first.n_phrases)
        names = list(dict.fromkeys(kinds or ()))
        members: list[list[tuple[int, npt.NDArray[np.int64] | None, LabelArrays]]] = []
        for index, grammar in enumerate(grammars):
            if grammar.lexicon.tags != first.lexicon.tags:
                raise OptionError("the grammars of an ensemble must be trained on the same treebank")
            number = 0
            while number < len(self.families) and not _same_rules(self.families[number][0], grammar):
                number += 1
            if number == len(self.families):
                for lists in (self.families, self._placed, members):
                    lists.append([])
                self._closing.append(ClosingTable(grammar))
            place = None if grammar is first else label_places(first, grammar)
            kind = number if kinds is None else names.index(kinds[index])
            self.families[number].append(grammar)
            self._placed[number].append(PlacedGrammar(grammar, self._tag_states.copy()))
            members[number].append((kind, place, self._renumbered(grammar, place)))
            self._tag_states += grammar.n_states[grammar.n_phrases :]
        # Of each grammar, in the order of the families, the kind and the labels.
        self._kinds, self._label_places, self._label_arrays = zip(*chain(*members), strict=True)
        self._closer = closer
        self._is_single = len(grammars) == 1 and not experts
        self._use_backend(backend)

    def _use_backend(self, backend: BackendFactory) -> None:
        self._backends: list[Backend] = [backend(family, self._tag_states) for family in self._placed]
        self._numba = [one for one in self._backends if isinstance(one, NumbaBackend)]
        is_product = self._is_single or self.combination == "product"
        #: Whether trees are found only in the forests of single sentences: if more counts than a product of labels over spans.
        self.needs_forests = (
            not is_product or None in self._span_experts or len(self._numba) < len(self._backends)
        )

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

    def posteriors(self, batch: Sequence[ChartInput], pruning: Pruning) -> Posteriors:
        """Return the posteriors of all grammars and experts for some sentences, at least one, without their forests.

        Only if not :attr:`needs_forests`. Sentences that not all grammars derive have probability 0 here.
        """
        pruning = self._pruning(pruning)
        reading = self._read(batch, pruning.close)
        families = [
            backend.find(self._inputs(batch, number, reading), pruning)
            for number, backend in enumerate(self._numba)
        ]
        (first_item, _, c), fine = families[0]
        members = [(coarse.forest, each) for coarse, several in families for each in several]
        logs = np.array([forest.log_probability + each.log_ratio for forest, each in members])
        log_prob = np.logaddexp.reduce(logs) - np.log(len(logs))
        log_prob[~np.isfinite(logs).all(axis=0)] = -np.inf
        for (forest, each), labels, table in zip(members, self._label_arrays, reading.tables, strict=False):
            decode_kernels.add_posteriors(
                forest.item_symbol, forest.item_cell, each.item_posterior, labels, table
            )
        weights = [combined_weights(len(members), row) for row in reading.weights]
        item, edge, root = fine[0].item_posterior, fine[0].edge_posterior, fine[0].root_posterior
        if not self._is_single:
            share = np.full(len(fine), 1 / len(fine), np.float32)
            item = mean_posteriors([each.item_posterior for each in fine], share, "product")
            edge = mean_posteriors([each.edge_posterior for each in fine], share, "product")
            root = mean_posteriors([each.root_posterior for each in fine], share, "product")
        return Posteriors(
            self.grammar.n_phrases, first_item, c.item_symbol, c.item_cell, c.edge_first, c.edge_left, c.edge_right,
            item, edge, root, self.labels, LabelPosteriors(reading.tables, np.array(weights)), log_prob,
        )  # fmt: skip

    def _read(self, batch: Sequence[ChartInput], close: float) -> _Reading:
        """Return what experts that need no forests know of sentences that have tokens, and which cells are open."""
        lengths = np.array([len(sentence.words) for sentence in batch])
        first = [0, *(lengths * (lengths + 1) // 2).cumsum().tolist()]
        n_models = sum(map(len, self.families)) + len(self._experts)
        tables = np.zeros((n_models, first[-1], len(self.labels.names)), np.float32)
        words, weights = [sentence.tokens or [""] * len(sentence.words) for sentence in batch], []
        is_closing = close > 0 and len(self._numba) == len(self._backends)
        cells = None
        for number, expert in enumerate(self._span_experts, n_models - len(self._experts)):
            if expert is not None:
                spans = np.empty(first[-1], np.float32)
                weights.append(expert.fill(words, tables[number], first, spans))
                if is_closing:
                    brackets = tables[number, :, : self.labels.n_phrase_labels].sum(axis=1)
                    cells = open_cells(brackets, spans, first, weights[-1], close)
        if cells is None and is_closing and self._closer is not None:
            cells = self._closer.open_cells(words, close)
        by_sentence = [tuple(row[index] for row in weights) for index in range(len(batch))]
        return _Reading(tables, first, by_sentence, cells)

    def _inputs(
        self, batch: Sequence[ChartInput], number: int, reading: _Reading | None
    ) -> Sequence[ChartInput]:
        """Return sentences as a family of grammars is to parse them: allowed symbols are those of the first grammar."""
        is_first = self.families[number][0].symbols == self.grammar.symbols
        inputs = batch if is_first else [sentence._replace(allowed=None) for sentence in batch]
        if reading is None or reading.cells is None:
            return inputs
        table, first, cells = self._closing[number], reading.first, reading.cells
        return [
            given if sentence.allowed is not None else given._replace(allowed=table.allowed(cells[start:end]))
            for sentence, given, start, end in zip(batch, inputs, first, first[1:], strict=False)
        ]

    def _pruning(self, pruning: Pruning) -> Pruning:
        """Return what is pruned: less where there are experts, who may prefer what two states find unlikely."""
        return replace(pruning, split=pruning.split / 20) if self._experts else pruning

    def forests(self, batch: Sequence[ChartInput], pruning: Pruning = Pruning()) -> list[Forest | None]:
        """Return the forest of each sentence, None where the first grammar's rules do not derive it.

        Allowed symbols bind the trees of the forest, not the grammars of another binarisation than the first. Sentences without tokens
        are parsed without experts.
        """
        pruning = self._pruning(pruning)
        if any(sentence.tokens is None for sentence in batch):
            return self._forests(batch, pruning, None)
        reading = self._read(batch, pruning.close)
        result = self._forests(batch, pruning, reading)
        if reading.cells is not None:
            opened = reading._replace(cells=None)
            for index, forest in enumerate(result):
                if forest is None:
                    [result[index]] = self._forests([batch[index]], pruning, opened.sentence(index))
        return result

    def _forests(
        self, batch: Sequence[ChartInput], pruning: Pruning, reading: _Reading | None
    ) -> list[Forest | None]:
        """Return the forest of each sentence; None where the first rules do not derive it, or any rules if cells are closed."""
        is_closed = reading is not None and reading.cells is not None
        rows = self._backends[0].forests(self._inputs(batch, 0, reading), pruning)
        if self._is_single:
            return [forest for (forest,) in rows]
        enough = all if is_closed else any
        derived = [index for index, row in enumerate(rows) if enough(forest is not None for forest in row)]
        for number, backend in enumerate(self._backends[1:], 1):
            inputs = self._inputs(batch, number, reading)
            found = backend.forests([inputs[index] for index in derived], pruning)
            for index, row in zip(derived, found, strict=True):
                rows[index] = [*rows[index], *row]
        result: list[Forest | None] = [None] * len(batch)
        for index in derived:
            if enough(forest is not None for forest in rows[index]):
                known = None if reading is None else reading.sentence(index)
                result[index] = self._combined(rows[index], batch[index].tokens, known)
        return result

    def _combined(
        self, forests: list[Forest | None], tokens: Sequence[str] | None, reading: _Reading | None
    ) -> Forest:
        grammars = [
            GrammarPosterior(forest, kind, place)
            for forest, kind, place in zip(forests, self._kinds, self._label_places, strict=True)
            if forest is not None
        ]
        n_same = sum(forest is not None for forest in forests[: len(self.families[0])])
        experts: list[ExpertPosterior] = []
        if tokens is None:
            return combined(grammars, n_same, experts, self.combination, None)
        first, weights = grammars[0].forest, iter(() if reading is None else reading.weights[0])
        each = zip(self._experts, self._span_experts, strict=True)
        for number, (expert, span_expert) in enumerate(each, len(forests)):
            if reading is not None and span_expert is not None:
                judged = replace(first, labels_over_spans=reading.tables[number])
                experts.append(ExpertPosterior(judged, next(weights)))
            elif (posterior := expert.posterior(tokens, first)) is not None:
                experts.append(posterior)
        return combined(grammars, n_same, experts, self.combination, self._reranker, tokens)

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
