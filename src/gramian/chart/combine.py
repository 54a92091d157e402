"""Several grammars as one: the labels each expects over each span are combined, and the best tree is found for the result.

Grammars with the same rules share one coarse pass and one forest (Petrov 2010). Those of another binarisation have forests of their own;
what they say about labels still counts, since a label over a span means the same to all. Ways to combine:

================  ======================================================================================
``product``       mean of the log-odds of labels, geometric mean of the posteriors of rules; the default
``sum``           mean of the posteriors
``coverage``      share of the grammars whose own best tree has the label (Narayan and Cohen 2015)
``hierarchical``  sum within grammars of one kind, then coverage across kinds
================  ======================================================================================
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import numpy.typing as npt

from gramian.chart.chart_parser import Allowed, ChartParser, CoarseForest, Forest, Pruning
from gramian.chart.decode import best_tree, scores
from gramian.chart.readout import label_posteriors, label_table, tree_labels
from gramian.errors import OptionError
from gramian.grammar import LPCFG
from gramian.grammar.lexicon import WordScores

__all__ = ["COMBINATIONS", "EXPERT_WEIGHT", "EnsembleChart", "Expert"]

COMBINATIONS = ("product", "sum", "coverage", "hierarchical")
EXPERT_WEIGHT = 0.45
"""What an expert says counts for this share, what all grammars say for the rest, if the expert knows all words."""
_DISTRUST = 4  # power of the share of known words, by which the weight falls where there are others

Floats = npt.NDArray[np.float32]
_LEAST = 1e-4  # least posterior of a label or rule in a product


class Expert(Protocol):
    """Whoever has posteriors of its own for a forest, such as :class:`gramian.loglinear.Expert`."""

    def forest(self, words: Sequence[str], forest: Forest) -> Forest | None:
        """Return the forest with other posteriors, or None."""

    def known_share(self, words: Sequence[str]) -> float:
        """Return the share of the words that it knows."""


@dataclass(frozen=True)
class _Member:
    chart: ChartParser
    kind: int
    state_offset: npt.NDArray[np.int64]  # of each tag, where this grammar's states begin among all grammars'
    label_place: npt.NDArray[np.int64]  # of each of the first grammar's labels, its number here, or -1


class EnsembleChart(ChartParser):
    """Grammars learnt from the same treebank, ready to fill charts together; safe to share between threads.

    The forest that comes out is that of the first grammar, its posteriors those of all. State vectors are the first grammar's own.

    Parameters
    ----------
    grammars : sequence of LPCFG
        Their tags are the same, in the same order.
    combination : str
        One of :data:`COMBINATIONS`.
    kinds : sequence of str, optional
        What kind each grammar is of, for ``hierarchical``; by default its binarisation.
    expert : Expert, optional
        Reads the forests of the first grammar's binarisation.
    expert_weight : float
    """

    def __init__(
        self,
        grammars: Sequence[LPCFG],
        combination: str = "product",
        kinds: Sequence[str] | None = None,
        expert: Expert | None = None,
        expert_weight: float = EXPERT_WEIGHT,
    ) -> None:
        if combination not in COMBINATIONS:
            raise OptionError(f"combination is one of {', '.join(COMBINATIONS)}, not {combination!r}")
        super().__init__(grammars[0])
        self.combination, self._expert, self._expert_weight = combination, expert, expert_weight
        first = grammars[0]
        self._groups: list[list[_Member]] = []
        offset = np.zeros(first.n_symbols - first.n_phrases, np.int64)
        if kinds is not None and not _names_each(kinds, grammars):
            raise OptionError("kinds is a list with a name for each grammar")
        names = [] if kinds is None else list(dict.fromkeys(kinds))
        for place, grammar in enumerate(grammars):
            if grammar.lexicon.tags != first.lexicon.tags:
                raise OptionError("the grammars of an ensemble are learnt from the same treebank")
            group = next((one for one in self._groups if _same_rules(one[0].chart.grammar, grammar)), None)
            if group is None:
                self._groups.append(group := [])
            kind = self._groups.index(group) if kinds is None else names.index(kinds[place])
            if place == 0:
                chart: ChartParser = self
            else:
                chart = ChartParser(grammar, group[0].chart.grammar.coarse if group else None)
            group.append(_Member(chart, kind, offset.copy(), _label_places(first, grammar)))
            offset += grammar.n_states[grammar.n_phrases :]
        self._tag_states = offset

    def forest(
        self,
        words: Sequence[WordScores],
        pruning: Pruning = Pruning(),
        allowed: Allowed | None = None,
        tokens: Sequence[str] | None = None,
    ) -> Forest | None:
        """Return the forest of a sentence under all grammars, or None if the first one's rules do not derive it.

        Parameters
        ----------
        words : sequence of WordScores
            With the states of all grammars; see :func:`gramian.grammar.lexicon.joined`.
        pruning : Pruning
        allowed : Allowed, optional
            Binds the trees of the forest; grammars of another binarisation than the first do not know of it.
        tokens : sequence of str, optional
            The words themselves; without them the expert has no say.
        """
        tags = np.concatenate([word.tags for word in words])
        states = np.concatenate([word.states for word in words])
        sizes = self._tag_states[tags]
        start = np.cumsum(sizes) - sizes
        found: list[tuple[_Member, Forest]] = []
        same: list[Forest] = []  # of the first binarisation
        for number, group in enumerate(self._groups):
            coarse = group[0].chart.coarse_forest(words, pruning, allowed if number == 0 else None)
            if coarse is not None:
                first = start + group[0].state_offset[tags]
                coarse = group[0].chart.split_forest(coarse, states, first, pruning)
            for member in group if coarse is not None else ():
                forest = member.chart.fine_forest(
                    _copied(coarse), states, start + member.state_offset[tags], pruning
                )
                if forest is not None:
                    found.append((member, forest))
            if number == 0:
                same = [forest for _, forest in found]
                if not same:
                    return None
        judged, trust = None, 0.0
        if self._expert is not None and tokens is not None:
            judged = self._expert.forest(tokens, same[0])
            trust = self._expert_weight * self._expert.known_share(tokens) ** _DISTRUST
        logs = np.array([forest.log_ratio for _, forest in found])
        base = replace(
            same[0],
            log_ratio=float(np.logaddexp.reduce(logs) - np.log(len(logs))),
            item_posterior=self._mean("item_posterior", same, judged, trust),
            edge_posterior=self._mean("edge_posterior", same, judged, trust),
            root_posterior=self._mean("root_posterior", same, judged, trust),
        )
        return replace(base, label_posterior=self._labels(found, judged, trust, base))

    def _mean(self, name: str, forests: list[Forest], judged: Forest | None, trust: float) -> Floats:
        """Return the posteriors of forests with the same items and edges in one."""
        values = np.stack([getattr(one, name) for one in (*forests, *([] if judged is None else [judged]))])
        weights = _weights(len(forests), judged, trust)
        if self.combination != "product":
            return weights @ values
        mean = np.exp(weights @ np.log(np.maximum(values, _LEAST)))
        return np.where((values > 0).any(axis=0), mean, np.float32(0))

    def _labels(
        self, found: list[tuple[_Member, Forest]], judged: Forest | None, trust: float, base: Forest
    ) -> Floats:
        """Return the posterior of each label over each span."""
        tables = [_label_table(member, forest) for member, forest in found]
        if self.combination == "hierarchical":
            kinds = sorted({member.kind for member, _ in found})
            tables = [
                np.mean(
                    [table for table, (member, _) in zip(tables, found, strict=True) if member.kind == kind],
                    0,
                )
                for kind in kinds
            ]
        weights = _weights(len(tables), judged, trust)
        if judged is not None:
            tables.append(label_posteriors(self, judged))
        if self.combination in ("coverage", "hierarchical"):
            tables = [self._own_tree(base, table) for table in tables]
        result = np.zeros_like(tables[0])
        for weight, table in zip(weights, tables, strict=True):
            if self.combination == "product":
                sure = np.clip(table, _LEAST, 1 - _LEAST)
                result += weight * np.log(sure / (1 - sure))
            else:
                result += weight * table
        return (1 / (1 + np.exp(-result))).astype(np.float32) if self.combination == "product" else result

    def _own_tree(self, base: Forest, table: Floats) -> Floats:
        """Return a table with ones where the best tree under a table has its labels."""
        forest = replace(base, label_posterior=table)
        tree = best_tree(self, forest, scores(self, forest, "max-recall"))
        return np.zeros_like(table) if tree is None else tree_labels(self, forest, tree)


def _weights(n: int, judged: Forest | None, trust: float) -> Floats:
    """Return the weights of `n` grammars and, behind them, of the expert if it has something to say."""
    share = 0.0 if judged is None else trust
    return np.array([(1 - share) / n] * n + [share] * (judged is not None), np.float32)


def _names_each(kinds: object, grammars: Sequence[LPCFG]) -> bool:
    return (
        isinstance(kinds, list | tuple)
        and len(kinds) == len(grammars)
        and all(isinstance(kind, str) for kind in kinds)
    )


def _same_rules(one: LPCFG, other: LPCFG) -> bool:
    return (
        one.symbols == other.symbols
        and np.array_equal(one.binary_rules, other.binary_rules)
        and np.array_equal(one.unary_rules, other.unary_rules)
    )


def _copied(coarse: CoarseForest | None) -> CoarseForest:
    assert coarse is not None
    return replace(
        coarse, item_posterior=coarse.item_posterior.copy(), edge_posterior=coarse.edge_posterior.copy()
    )


def _label_places(first: LPCFG, grammar: LPCFG) -> npt.NDArray[np.int64]:
    ours, theirs = (label_table(one.symbols, one.n_phrases) for one in (first, grammar))
    number = {(place < theirs.n_phrase_labels, name): place for place, name in enumerate(theirs.names)}
    return np.array(
        [number.get((place < ours.n_phrase_labels, name), -1) for place, name in enumerate(ours.names)]
    )


def _label_table(member: _Member, forest: Forest) -> Floats:
    table = label_posteriors(member.chart, forest)
    if np.array_equal(member.label_place, np.arange(table.shape[1])):
        return table
    return np.where(member.label_place >= 0, table[:, member.label_place], np.float32(0))
