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

import numpy as np
import numpy.typing as npt

from gramian.chart.decode import best_tree, scores
from gramian.chart.inference import Allowed, ChartParser, CoarseForest, Forest, Pruning
from gramian.chart.readout import label_posteriors, label_table, tree_labels
from gramian.errors import OptionError
from gramian.grammar import LPCFG
from gramian.grammar.lexicon import WordScores

__all__ = ["COMBINATIONS", "EnsembleChart"]

COMBINATIONS = ("product", "sum", "coverage", "hierarchical")

Floats = npt.NDArray[np.float32]
_LEAST = 1e-6  # least posterior of a label or rule in a product


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
    """

    def __init__(
        self, grammars: Sequence[LPCFG], combination: str = "product", kinds: Sequence[str] | None = None
    ) -> None:
        if combination not in COMBINATIONS:
            raise OptionError(f"combination is one of {', '.join(COMBINATIONS)}, not {combination!r}")
        super().__init__(grammars[0])
        self.combination = combination
        first = grammars[0]
        self._groups: list[list[_Member]] = []
        offset = np.zeros(first.n_symbols - first.n_phrases, np.int64)
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
    ) -> Forest | None:
        """Return the forest of a sentence under all grammars, or None if the first one's rules do not derive it.

        Parameters
        ----------
        words : sequence of WordScores
            With the states of all grammars; see :func:`gramian.grammar.lexicon.joined`.
        pruning : Pruning
        allowed : Allowed, optional
            Binds the trees of the forest; grammars of another binarisation than the first do not know of it.
        """
        tags = np.concatenate([word.tags for word in words])
        states = np.concatenate([word.states for word in words])
        sizes = self._tag_states[tags]
        start = np.cumsum(sizes) - sizes
        base: Forest | None = None
        found: list[tuple[_Member, Forest]] = []
        for number, group in enumerate(self._groups):
            coarse = group[0].chart.coarse_forest(words, pruning, allowed if number == 0 else None)
            for member in group if coarse is not None else ():
                forest = member.chart.fine_forest(
                    _copied(coarse), states, start + member.state_offset[tags], pruning
                )
                if forest is not None:
                    found.append((member, forest))
            if number == 0:
                if not found:
                    return None
                base = self._one_forest([forest for _, forest in found])
        assert base is not None
        logs = np.array([forest.log_ratio for _, forest in found])
        return replace(
            base,
            log_ratio=float(np.logaddexp.reduce(logs) - np.log(len(logs))),
            label_posterior=self._labels(found, base),
        )

    def _one_forest(self, forests: list[Forest]) -> Forest:
        """Return the first of several forests with the same items and edges, and with the posteriors of all."""
        return replace(
            forests[0],
            item_posterior=self._mean([forest.item_posterior for forest in forests]),
            edge_posterior=self._mean([forest.edge_posterior for forest in forests]),
            root_posterior=self._mean([forest.root_posterior for forest in forests]),
        )

    def _mean(self, posteriors: list[Floats]) -> Floats:
        values = np.stack(posteriors)
        if self.combination != "product":
            return values.mean(axis=0)
        mean = np.exp(np.log(np.maximum(values, _LEAST)).mean(axis=0))
        return np.where((values > 0).any(axis=0), mean, np.float32(0))

    def _labels(self, found: list[tuple[_Member, Forest]], base: Forest) -> Floats:
        """Return the posterior of each label over each span."""
        tables = [_label_table(member, forest) for member, forest in found]
        if self.combination == "sum":
            return np.mean(tables, axis=0, dtype=np.float32)
        if self.combination == "product":
            odds = np.zeros_like(tables[0])
            for table in tables:
                sure = np.clip(table, _LEAST, 1 - _LEAST)
                odds += np.log(sure / (1 - sure))
            return (1 / (1 + np.exp(-odds / len(tables)))).astype(np.float32)
        if self.combination == "hierarchical":
            kinds = sorted({member.kind for member, _ in found})
            tables = [
                np.mean(
                    [table for table, (member, _) in zip(tables, found, strict=True) if member.kind == kind],
                    0,
                )
                for kind in kinds
            ]
        return np.mean([self._own_tree(base, table) for table in tables], axis=0, dtype=np.float32)

    def _own_tree(self, base: Forest, table: Floats) -> Floats:
        """Return a table with ones where the best tree under a table has its labels."""
        forest = replace(base, label_posterior=table)
        tree = best_tree(self, forest, scores(self, forest, "max-recall"))
        return np.zeros_like(table) if tree is None else tree_labels(self, forest, tree)


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
