"""Sentences through the chart: grammars and experts behind one call, ``forests(batch, pruning)``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from functools import partial

import numpy as np

from gramian.chart.backend import Backend, BackendFactory, ChartInput, NumbaBackend, PlacedGrammar
from gramian.chart.combine import COMBINATIONS, Voice, WeightedExpert, combined, label_places
from gramian.chart.forest import Allowed, Forest, Pruning
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
    same rules are together in `families`.
    """

    def __init__(
        self,
        grammars: LPCFG | Sequence[LPCFG],
        combination: str = "product",
        *,
        kinds: Sequence[str] | None = None,
        experts: Sequence[WeightedExpert] = (),
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

    def with_backend(self, backend: BackendFactory) -> ChartParser:
        """Return the same with charts filled by another backend."""
        other = copy(self)
        other._backends = [backend(family, self._tag_states) for family in self._placed]
        return other

    def forests(self, batch: Sequence[ChartInput], pruning: Pruning = Pruning()) -> list[Forest | None]:
        """Return the forest of each sentence, None where the first grammar's rules do not derive it.

        What is allowed binds the trees of the forest; grammars of another binarisation than the first do not know of it. Without tokens
        experts have no say.
        """
        if self._experts:  # who may like what two states find unlikely
            pruning = replace(pruning, split=pruning.split / 20)
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
        said = () if tokens is None else [one.opinion(tokens, voices[0].forest) for one in self._experts]
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
