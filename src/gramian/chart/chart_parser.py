"""Sentences through the chart: grammars and experts behind one call, ``forests(batch, pruning)``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property, partial

import numpy as np
import numpy.typing as npt

from gramian.chart import decode_kernels
from gramian.chart.backend import (
    Backend,
    BackendFactory,
    ChartInput,
    FoundForests,
    NumbaBackend,
    PlacedGrammar,
)
from gramian.chart.combine import (
    COMBINATIONS,
    Expert,
    SpanExpert,
    Voice,
    combined,
    label_places,
    mean_posteriors,
    voice_weights,
)
from gramian.chart.decode_kernels import Votes
from gramian.chart.forest import Allowed, Forest, Posteriors, Pruning
from gramian.chart.label_table import LabelArrays, label_table
from gramian.chart.readout import Decoded
from gramian.errors import OptionError
from gramian.grammar import LPCFG
from gramian.grammar.lexicon import WordScores


class ChartParser:
    """A grammar, or several learnt from the same treebank, and experts beside them; safe to share between threads.

    The forest of a sentence is that of the first grammar, its posteriors those of all; state vectors are the first grammar's own. If that
    one gives the sentence no probability, the first with the same rules that does takes its place. `combination` is one of
    :data:`gramian.chart.combine.COMBINATIONS`, `kinds` of grammars are for ``hierarchical`` (by default their binarisation), and so is
    `choose`, which picks a tree of each kind's forest; experts read the forests of the first grammar's binarisation. Grammars with the
    same rules are together in `families`; `labels` are those of the first.
    """

    def __init__(
        self,
        grammars: LPCFG | Sequence[LPCFG],
        combination: str = "product",
        *,
        kinds: Sequence[str] | None = None,
        experts: Sequence[Expert] = (),
        choose: Callable[[Forest, Sequence[str]], Decoded | None] | None = None,
        backend: BackendFactory = NumbaBackend,
    ) -> None:
        grammars = (grammars,) if isinstance(grammars, LPCFG) else tuple(grammars)
        if combination not in COMBINATIONS:
            raise OptionError(f"combination must be one of {', '.join(COMBINATIONS)}, got {combination!r}")
        named = isinstance(kinds, list | tuple) and all(isinstance(kind, str) for kind in kinds)
        if kinds is not None and not (named and len(kinds) == len(grammars)):
            raise OptionError("kinds is a list with a name for each grammar")
        self.grammar = first = grammars[0]
        self.combination, self._experts, self._choose = combination, tuple(experts), choose
        offset = np.zeros(first.n_symbols - first.n_phrases, np.int64)
        families: list[list[int]] = []  # numbers of grammars with the same rules
        placed = []
        for place, grammar in enumerate(grammars):
            if grammar.lexicon.tags != first.lexicon.tags:
                raise OptionError("the grammars of an ensemble are learnt from the same treebank")
            placed.append(PlacedGrammar(grammar, offset.copy()))
            offset += grammar.n_states[grammar.n_phrases :]
            family = next((one for one in families if _same_rules(grammars[one[0]], grammar)), None)
            if family is None:
                families.append(family := [])
            family.append(place)
        self.families = [[grammars[place] for place in family] for family in families]
        self._placed, self._tag_states = [[placed[place] for place in family] for family in families], offset
        self._backends: list[Backend] = [backend(family, offset) for family in self._placed]
        self._n_first = len(families[0])
        names = list(dict.fromkeys(kinds or ()))
        # Kind and labels of the grammars, in the order of the families.
        self._voices = [
            (number if kinds is None else names.index(kinds[place]), label_places(first, grammars[place]))
            for number, family in enumerate(families)
            for place in family
        ]
        self.labels = label_table(first.symbols, first.n_phrases)
        rules = [grammars[place] for family in families for place in family]
        self._voice_labels = [
            self._renumbered(grammar, place) for grammar, (_, place) in zip(rules, self._voices, strict=True)
        ]

    def _renumbered(self, grammar: LPCFG, place: npt.NDArray[np.int64] | None) -> LabelArrays:
        """Return the labels of a grammar's symbols by their numbers in the first grammar; -1 if that has none such."""
        own, ours = label_table(grammar.symbols, grammar.n_phrases).arrays, self.labels.arrays
        if place is None:
            return own
        number = np.full(own.n_labels, -1, np.int32)
        number[place[place >= 0]] = np.flatnonzero(place >= 0)
        return ours._replace(first=own.first, number=number[own.number])

    def with_backend(self, backend: BackendFactory) -> ChartParser:
        """Return the same with charts filled by another backend."""
        other = copy(self)
        other._backends = [backend(family, self._tag_states) for family in self._placed]
        other.__dict__.pop("needs_forests", None)
        return other

    @cached_property
    def needs_forests(self) -> bool:
        """Whether trees are found only in the forests of single sentences: if more counts than a product of labels over spans."""
        alone = len(self._voices) == 1 and not self._experts
        if not (alone or self.combination == "product"):
            return True
        if not all(isinstance(one, NumbaBackend) for one in self._backends):
            return True
        return not all(isinstance(expert, SpanExpert) for expert in self._experts)

    def posteriors(self, batch: Sequence[ChartInput], pruning: Pruning) -> Posteriors:
        """Return the posteriors of all grammars and experts for some sentences, one at the least, without their forests.

        Only if not :attr:`needs_forests`. Sentences that not all grammars derive have probability 0 here.
        """
        backends = [one for one in self._backends if isinstance(one, NumbaBackend)]
        pruning = self._pruning(pruning)
        free = [
            sentence._replace(allowed=None) for sentence in batch
        ]  # symbols are those of the first grammar
        found = [
            backend.find(batch if family[0].symbols == self.grammar.symbols else free, pruning)
            for backend, family in zip(backends, self.families, strict=True)
        ]
        coarse, fine = found[0]
        logs = np.array(
            [one.forest.log_probability + each.log_ratio for one, several in found for each in several]
        )
        votes = self._votes(batch, found)
        alike = [(one.item_posterior, one.edge_posterior, one.root_posterior) for one in fine]
        item, edge, root = alike[0]
        if len(votes.tables) > 1:
            share = np.full(len(alike), 1 / len(alike), np.float32)
            item, edge, root = (
                mean_posteriors(list(one), share, "product") for one in zip(*alike, strict=True)
            )
        log_prob = np.logaddexp.reduce(logs) - np.log(len(logs))
        log_prob[~np.isfinite(logs).all(axis=0)] = -np.inf
        c = coarse.forest
        return Posteriors(
            self.grammar.n_phrases, coarse.first_item, c.item_symbol, c.item_cell, c.edge_first, c.edge_left, c.edge_right,
            item, edge, root, self.labels, votes, log_prob,
        )  # fmt: skip

    def _votes(self, batch: Sequence[ChartInput], found: list[FoundForests]) -> Votes:
        """Return what grammars and experts say about the labels of sentences."""
        voices = [(coarse.forest, fine) for coarse, several in found for fine in several]
        bounds, n_labels = found[0].coarse.first_cell.tolist(), len(self.labels.names)
        tables = np.zeros((len(voices) + len(self._experts), bounds[-1], n_labels), np.float32)
        for (forest, fine), labels, table in zip(voices, self._voice_labels, tables, strict=False):
            about = forest.item_symbol, forest.item_cell, fine.item_posterior
            decode_kernels.add_posteriors(*about, labels, table)
        weights = []  # of each expert, for each sentence
        for expert, table in zip(self._experts, tables[len(voices) :], strict=True):
            assert isinstance(expert, SpanExpert)
            weights.append(expert.fill([sentence.tokens or () for sentence in batch], table, bounds))
        by_sentence = zip(*weights, strict=True) if weights else [()] * len(batch)
        return Votes(tables, np.array([voice_weights(len(voices), row) for row in by_sentence]))

    def _pruning(self, pruning: Pruning) -> Pruning:
        """Return what is pruned: less where there are experts, who may like what two states find unlikely."""
        return replace(pruning, split=pruning.split / 20) if self._experts else pruning

    def forests(self, batch: Sequence[ChartInput], pruning: Pruning = Pruning()) -> list[Forest | None]:
        """Return the forest of each sentence, None where the first grammar's rules do not derive it.

        What is allowed binds the trees of the forest; grammars of another binarisation than the first do not know of it. Without tokens
        experts have no say.
        """
        pruning = self._pruning(pruning)
        found = self._backends[0].forests(batch, pruning)
        if len(self._voices) == 1 and not self._experts:
            return [forest for (forest,) in found]
        derived = [place for place, row in enumerate(found) if any(forest is not None for forest in row)]
        free = [ChartInput(batch[place].words, None, batch[place].tokens) for place in derived]
        for backend in self._backends[1:]:
            for place, row in zip(derived, backend.forests(free, pruning), strict=True):
                found[place] = [*found[place], *row]
        result: list[Forest | None] = [None] * len(batch)
        for place in derived:
            result[place] = self._combined(found[place], batch[place].tokens)
        return result

    def _combined(self, found: list[Forest | None], tokens: Sequence[str] | None) -> Forest:
        pairs = zip(found, self._voices, strict=True)
        voices = [Voice(forest, *about) for forest, about in pairs if forest is not None]
        n_same = sum(forest is not None for forest in found[: self._n_first])
        said = (
            () if tokens is None else [expert.posterior(tokens, voices[0].forest) for expert in self._experts]
        )
        choose = None if self._choose is None or tokens is None else partial(self._chosen, tokens)
        return combined(voices, n_same, [one for one in said if one is not None], self.combination, choose)

    def _chosen(self, tokens: Sequence[str], forest: Forest) -> Decoded | None:
        assert self._choose is not None
        return self._choose(forest, tokens)

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
