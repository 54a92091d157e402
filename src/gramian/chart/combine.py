"""Several grammars and experts as one: their posteriors of labels over spans are combined, and so are those of rules.

Grammars with the same rules have the same items and edges. Grammars of another binarisation have forests of their own, and contribute
their posteriors of labels, since a label over a span means the same to all. Ways to combine:

====================  ==================================================================================
``product``           mean of the log-odds of labels, geometric mean of the posteriors of rules; the default
``sum``               mean of the posteriors
``coverage``          of the grammars' own best trees the one whose labels most others have too (Narayan and Cohen 2015)
``coverage-dynamic``  the tree, of all in the forest, with most labels of the grammars' best trees under its rules
``hierarchical``      within grammars of one kind the sum's best tree, or a reranker's choice; then coverage across kinds
====================  ==================================================================================
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

import numpy as np
import numpy.typing as npt

from gramian.chart.decode import decode
from gramian.chart.decode_kernels import LEAST_POSTERIOR, LabelPosteriors, product_posteriors
from gramian.chart.forest import Forest
from gramian.chart.label_table import label_table
from gramian.chart.tree_arrays import Decoded, tree_labels
from gramian.grammar import LPCFG

COMBINATIONS = ("product", "sum", "coverage", "coverage-dynamic", "hierarchical")
OOV_EXPONENT = 4
"""The power of the share of known words by which an expert's weight falls."""
Floats = npt.NDArray[np.float32]

_Share = TypeVar("_Share")  # a number, or a tensor of one number a sentence
_OVER_RULES = ("item_posterior", "edge_posterior", "root_posterior")


class Reranker(Protocol):
    """Ranks the best trees in its own order, such as :class:`gramian.experts.RerankModel`."""

    def ranked(self, forest: Forest, words: Sequence[str], k: int) -> list[Decoded]:
        """Return the best `k` trees of a forest."""


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

    def fill(
        self, sentences: Sequence[Sequence[str]], table: Floats, first: Sequence[int], spans: Floats
    ) -> list[float]:
        """Set the probability of every label over every span of some sentences; return the weight of the expert for each sentence.

        `table` (n_cells, n_labels) has zeros; labels are in the order of a grammar's, and the spans of sentences begin at `first`.
        `spans` (n_cells,) are set to the probabilities of spans in a binary tree, with or without a label.
        """


def sentence_weight(weight: float, known_share: _Share) -> _Share:
    """Return the weight of an expert for a sentence of whose words it knows a share."""
    return weight * known_share**OOV_EXPONENT  # type: ignore[operator]


class GrammarPosterior(NamedTuple):
    """The forest of one grammar among several, the grammar's kind, and its :func:`label_places`."""

    forest: Forest
    kind: int
    label_place: npt.NDArray[np.int64] | None


def combined(
    grammars: Sequence[GrammarPosterior],
    n_same: int,
    experts: Sequence[ExpertPosterior],
    combination: str = "product",
    reranker: Reranker | None = None,
    words: Sequence[str] = (),
) -> Forest:
    """Return the first forest with the posteriors of all; the first `n_same` have the same rules, on which the experts have posteriors.

    State vectors stay its own, and :attr:`Forest.members` has the forests of all grammars. For ``hierarchical``, a reranker
    picks the tree of each kind, given the words; otherwise it is the one with the most expected brackets.
    """
    members = tuple([grammar.forest for grammar in grammars])
    with_rules = [expert for expert in experts if expert.forest.labels_over_spans is None]
    same = [*members[:n_same], *(expert.forest for expert in with_rules)]
    weights = combined_weights(n_same, [expert.weight for expert in with_rules])
    logs = np.array([forest.log_ratio for forest in members])
    means: dict[str, Any] = {
        name: mean_posteriors([getattr(forest, name) for forest in same], weights, combination)
        for name in _OVER_RULES
    }
    log_ratio = float(np.logaddexp.reduce(logs) - np.log(len(logs)))
    joint = replace(same[0], log_ratio=log_ratio, labels_over_spans=None, members=members, **means)
    if combination in ("coverage", "hierarchical"):
        labels = _most_covered(grammars, experts, combination, reranker, words)
    else:
        labels = _labels(grammars, experts, joint, combination)
    return replace(joint, labels_over_spans=labels)


def mean_posteriors(posteriors: list[Floats], weights: Floats, combination: str) -> Floats:
    """Return the weighted mean of posteriors of the same items or edges: geometric for a product, else arithmetic."""
    table = np.array(posteriors)
    if combination != "product":
        return weights @ table
    mean = np.exp(weights @ np.log(np.maximum(table, LEAST_POSTERIOR)))
    return np.where((table > 0).any(axis=0), mean, np.float32(0))


def _labels(
    grammars: Sequence[GrammarPosterior], experts: Sequence[ExpertPosterior], joint: Forest, combination: str
) -> Floats:
    """Return the posterior of each label over each span; `joint` is the forest that is to have them."""
    tables = [in_order_of(grammar.label_place, grammar.forest.label_posterior) for grammar in grammars]
    tables += [expert.forest.label_posterior for expert in experts]
    weights = combined_weights(len(grammars), [expert.weight for expert in experts])
    if combination == "coverage-dynamic":  # ones where the best tree under a table has its labels
        forests = [replace(joint, labels_over_spans=table) for table in tables]
        tables = [tree_labels(forest, decode(forest)) for forest in forests]
    if combination == "product":
        if len(tables) == 1:
            return np.clip(tables[0], LEAST_POSTERIOR, 1 - LEAST_POSTERIOR)
        table: Floats = product_posteriors(LabelPosteriors(np.array(tables), weights[None]))
        return table
    result = np.zeros_like(tables[0])
    for weight, table in zip(weights, tables, strict=True):
        result += weight * table
    return result


def _most_covered(
    grammars: Sequence[GrammarPosterior],
    experts: Sequence[ExpertPosterior],
    combination: str,
    reranker: Reranker | None,
    words: Sequence[str],
) -> Floats:
    """Return a table under which the best tree is the one, of all grammars' or kinds' own trees, whose labels most others have too.

    Its labels have more than one half, the more the more trees share them, and all others less.
    """
    groups = [[grammar] for grammar in grammars]
    if combination == "hierarchical":
        kinds = sorted({grammar.kind for grammar in grammars})
        groups = [[grammar for grammar in grammars if grammar.kind == kind] for kind in kinds]
    tables = []
    for group in groups:
        forest = _of_kind([grammar.forest for grammar in group])
        if combination == "hierarchical" and reranker is not None:
            tree = next(iter(reranker.ranked(forest, words, 1)), None)
        else:
            tree = decode(forest)
        if tree is not None:
            tables.append(in_order_of(group[0].label_place, tree_labels(forest, tree)))
    weights = combined_weights(max(1, len(tables)), [expert.weight for expert in experts])
    tables += [tree_labels(expert.forest, decode(expert.forest)) for expert in experts]
    share = sum(weight * table for weight, table in zip(weights, tables, strict=True))
    covered = [float((table * share).sum()) for table in tables]
    chosen = tables[int(np.argmax(covered))]
    return np.asarray(np.where(chosen > 0, 0.5 + share / 2, share / 2), np.float32)


def _of_kind(forests: Sequence[Forest]) -> Forest:
    """Return the first forest with the mean posteriors of all; those of other rules contribute labels alone."""
    first = forests[0]
    if len(forests) == 1:
        return first
    same = [forest for forest in forests if forest.edge_left is first.edge_left]
    means: dict[str, Any] = {
        name: np.mean([getattr(forest, name) for forest in same], axis=0) for name in _OVER_RULES
    }
    tables = [
        in_order_of(label_places(first.grammar, forest.grammar), forest.label_posterior) for forest in forests
    ]
    return replace(first, labels_over_spans=np.mean(tables, axis=0), **means)


def combined_weights(n_grammars: int, expert_weights: Sequence[float]) -> Floats:
    """Return the weights of grammars and, after them, of experts; all before an expert share what its weight leaves."""
    weights: list[float] = []
    rest = 1.0
    for weight in reversed(expert_weights):
        weights.insert(0, rest * weight)
        rest *= 1 - weight
    return np.array([rest / n_grammars] * n_grammars + weights, np.float32)


def label_places(first: LPCFG, grammar: LPCFG) -> npt.NDArray[np.int64] | None:
    """Return of each of the first grammar's labels its number in another, or -1; None if the labels of both are the same."""
    tables = [label_table(source.symbols, source.n_phrases) for source in (first, grammar)]
    ours, theirs = (label_numbers(table.names, table.n_phrase_labels) for table in tables)
    return None if ours == theirs else np.array([theirs.get(label, -1) for label in ours])


def label_numbers(names: Sequence[str], n_phrase_labels: int) -> dict[tuple[bool, str], int]:
    """Return the number of each label by whether it is a phrase's, and its name."""
    return {(number < n_phrase_labels, name): number for number, name in enumerate(names)}


def in_order_of(columns: npt.NDArray[np.int64] | None, table: Floats) -> Floats:
    """Return a table of labels with the columns at some places, zeros where that is -1."""
    return table if columns is None else np.where(columns >= 0, table[:, columns], np.float32(0))
