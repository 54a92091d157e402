"""Several grammars and experts as one: the labels each expects over each span are combined, and so are the posteriors of rules.

Grammars with the same rules have the same items and edges. Those of another binarisation have forests of their own; what they say about
labels still counts, since a label over a span means the same to all. Ways to combine:

====================  ==================================================================================
``product``           mean of the log-odds of labels, geometric mean of the posteriors of rules; the default
``sum``               mean of the posteriors
``coverage``          of the grammars' own best trees the one whose labels most others have too (Narayan and Cohen 2015)
``coverage-dynamic``  the tree, of all in the forest, with most labels of the grammars' best trees under its rules
``hierarchical``      within grammars of one kind the sum's best tree, or a reranker's choice; then coverage across kinds
====================  ==================================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple, Protocol, TypeAlias, TypeVar, runtime_checkable

import numpy as np
import numpy.typing as npt

from gramian.chart.decode import decode
from gramian.chart.decode_kernels import LEAST_POSTERIOR, Votes, product_posteriors
from gramian.chart.forest import Forest
from gramian.chart.label_table import label_table
from gramian.chart.readout import Decoded, tree_labels
from gramian.grammar import LPCFG

COMBINATIONS = ("product", "sum", "coverage", "coverage-dynamic", "hierarchical")
OOV_EXPONENT = 4
"""The power of the share of known words by which an expert's weight falls where there are others."""
Floats = npt.NDArray[np.float32]
_Share = TypeVar("_Share")  # a number, or a tensor of one number a sentence


Choose: TypeAlias = "Callable[[Forest], Decoded | None]"
"""Picks the best tree of a forest."""


class ExpertPosterior(NamedTuple):
    """A forest with the posteriors of an expert, and the weight of the expert for this sentence."""

    forest: Forest
    weight: float


class Expert(Protocol):
    """A scorer of spans that is combined with grammars; :mod:`gramian.experts` has the kinds that there are."""

    @property
    def name(self) -> str:
        """One of :data:`gramian.experts.EXPERT_KINDS`."""

    @property
    def weight(self) -> float:
        """Its weight beside the grammars and the experts before it, where it knows all words; see :func:`sentence_weight`."""

    def posterior(self, words: Sequence[str], forest: Forest) -> ExpertPosterior | None:
        """Return a forest with the posteriors of this expert, or None if it has no tree.

        An expert that knows labels over spans, but no rules, returns the forest with :attr:`Forest.labels_over_spans`; then the
        posteriors of rules stay those of the grammars.
        """


@runtime_checkable
class SpanExpert(Expert, Protocol):
    """An expert that knows labels over spans without a forest, such as :class:`gramian.experts.LabelExpert`."""

    def fill(self, sentences: Sequence[Sequence[str]], table: Floats, first: Sequence[int]) -> list[float]:
        """Set the probability of every label over every span of some sentences; return the weight of the expert for each sentence.

        `table` (n_cells, n_labels) has zeros; labels are in the order of a grammar's, and the spans of sentences begin at `first`.
        """


def sentence_weight(weight: float, known_share: _Share) -> _Share:
    """Return the weight of an expert for a sentence of whose words it knows a share."""
    return weight * known_share**OOV_EXPONENT  # type: ignore[operator]


class Voice(NamedTuple):
    """The forest of one grammar among several, the grammar's kind, and its :func:`label_places`."""

    forest: Forest
    kind: int
    label_place: npt.NDArray[np.int64] | None


def combined(
    voices: Sequence[Voice],
    n_same: int,
    opinions: Sequence[ExpertPosterior],
    combination: str = "product",
    choose: Choose | None = None,
) -> Forest:
    """Return the first forest with the posteriors of all; the first `n_same` have the same rules, and `opinions` are about them.

    State vectors stay its own, and :attr:`Forest.members` has the forests of all grammars. `choose` picks the tree of a kind for
    ``hierarchical``; by default the one with the most expected brackets.
    """
    members = tuple([voice.forest for voice in voices])
    with_rules = [one for one in opinions if one.forest.labels_over_spans is None]
    same = [*members[:n_same], *(one.forest for one in with_rules)]
    weights = _weights(n_same, with_rules)
    logs = np.array([forest.log_ratio for forest in members])
    base = partial(
        replace,
        same[0],
        log_ratio=float(np.logaddexp.reduce(logs) - np.log(len(logs))),
        item_posterior=mean_posteriors([one.item_posterior for one in same], weights, combination),
        edge_posterior=mean_posteriors([one.edge_posterior for one in same], weights, combination),
        root_posterior=mean_posteriors([one.root_posterior for one in same], weights, combination),
        members=members,
    )
    if combination in ("coverage", "hierarchical"):
        within = choose if combination == "hierarchical" else None
        return base(labels_over_spans=_most_covered(voices, opinions, combination, within))
    return base(labels_over_spans=_labels(voices, opinions, base, combination))


def mean_posteriors(posteriors: list[Floats], weights: Floats, combination: str) -> Floats:
    """Return the posteriors of forests with the same items and edges in one."""
    table = np.array(posteriors)
    if combination != "product":
        return weights @ table
    mean = np.exp(weights @ np.log(np.maximum(table, LEAST_POSTERIOR)))
    return np.where((table > 0).any(axis=0), mean, np.float32(0))


def _labels(
    voices: Sequence[Voice],
    opinions: Sequence[ExpertPosterior],
    base: Callable[..., Forest],
    combination: str,
) -> Floats:
    """Return the posterior of each label over each span; `base` makes the forest that is to have them."""
    tables = [in_order_of(voice.label_place, voice.forest.label_posterior) for voice in voices]
    weights = _weights(len(tables), opinions)
    tables += [one.forest.label_posterior for one in opinions]
    if combination == "coverage-dynamic":
        tables = [_own_tree(base, table) for table in tables]
    if combination == "product":
        if len(tables) == 1:
            return np.clip(tables[0], LEAST_POSTERIOR, 1 - LEAST_POSTERIOR)
        table: Floats = product_posteriors(Votes(np.array(tables), weights[None]))
        return table
    result = np.zeros_like(tables[0])
    for weight, table in zip(weights, tables, strict=True):
        result += weight * table
    return result


def _most_covered(
    voices: Sequence[Voice], opinions: Sequence[ExpertPosterior], combination: str, choose: Choose | None
) -> Floats:
    """Return a table under which the best tree is that own tree, of a grammar or kind, whose labels have the most votes.

    Its labels stand above one half, by how many share them, and all others below.
    """
    pick = choose or decode
    groups = [[voice] for voice in voices]
    if combination == "hierarchical":
        kinds = sorted({voice.kind for voice in voices})
        groups = [[one for one in voices if one.kind == kind] for kind in kinds]
    votes = []
    for group in groups:
        forest = _of_kind([voice.forest for voice in group])
        tree = pick(forest)
        if tree is not None:
            votes.append(in_order_of(group[0].label_place, tree_labels(forest, tree)))
    weights = _weights(max(1, len(votes)), opinions)
    for one in opinions:
        tree = decode(one.forest)
        votes.append(
            np.zeros_like(one.forest.label_posterior) if tree is None else tree_labels(one.forest, tree)
        )
    share = sum(weight * vote for weight, vote in zip(weights, votes, strict=True))
    covered = [float((vote * share).sum()) for vote in votes]
    chosen = votes[int(np.argmax(covered))]
    return np.asarray(np.where(chosen > 0, 0.5 + share / 2, share / 2), np.float32)


def _of_kind(forests: Sequence[Forest]) -> Forest:
    """Return the first forest with the mean posteriors of all; those of other rules have a say about labels alone."""
    first = forests[0]
    if len(forests) == 1:
        return first
    same = [one for one in forests if one.edge_left is first.edge_left]
    tables = [in_order_of(label_places(first.grammar, one.grammar), one.label_posterior) for one in forests]
    return replace(
        first,
        item_posterior=np.mean([one.item_posterior for one in same], axis=0),
        edge_posterior=np.mean([one.edge_posterior for one in same], axis=0),
        root_posterior=np.mean([one.root_posterior for one in same], axis=0),
        labels_over_spans=np.mean(tables, axis=0),
    )


def _own_tree(base: Callable[..., Forest], table: Floats) -> Floats:
    """Return a table with ones where the best tree under a table has its labels."""
    forest = base(labels_over_spans=table)
    tree = decode(forest)
    return np.zeros_like(table) if tree is None else tree_labels(forest, tree)


def _weights(n: int, opinions: Sequence[ExpertPosterior]) -> Floats:
    return voice_weights(n, [one.weight for one in opinions])


def voice_weights(n: int, expert_weights: Sequence[float]) -> Floats:
    """Return the weights of `n` grammars and, behind them, of the experts; all before an expert share what its weight leaves."""
    weights: list[float] = []
    left = 1.0
    for weight in reversed(expert_weights):
        weights.insert(0, left * weight)
        left *= 1 - weight
    return np.array([left / n] * n + weights, np.float32)


def label_places(first: LPCFG, grammar: LPCFG) -> npt.NDArray[np.int64] | None:
    """Return of each of the first grammar's labels its number in another, or -1; None if the labels of both are the same."""
    ours, theirs = (
        label_numbers(table.names, table.n_phrase_labels)
        for table in (label_table(one.symbols, one.n_phrases) for one in (first, grammar))
    )
    return None if ours == theirs else np.array([theirs.get(label, -1) for label in ours])


def label_numbers(names: Sequence[str], n_phrase_labels: int) -> dict[tuple[bool, str], int]:
    """Return the number of each label by whether it is a phrase's, and its name."""
    return {(place < n_phrase_labels, name): place for place, name in enumerate(names)}


def in_order_of(place: npt.NDArray[np.int64] | None, table: Floats) -> Floats:
    """Return a table of labels with the columns at some places, zeros for those at -1."""
    return table if place is None else np.where(place >= 0, table[:, place], np.float32(0))
