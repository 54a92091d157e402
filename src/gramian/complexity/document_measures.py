"""Syntactic complexity of documents: counts and indices of their trees, with intervals from sampled trees."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gramian.complexity.structures import INDICES, PATTERNS, count_structures, structure_matchers
from gramian.trees import AnnotationScheme, HeadRules, Tree, normalise, to_dependencies
from gramian.trees.labels import category
from gramian.trees.scheme import find_scheme

COUNTS = ("W", "S", *PATTERNS)
"""The nine counts: words, sentences, and the structures."""

_SUMS = (*COUNTS, "yngve", "frazier", "embedding", "dependencies", "dependency_lengths")
_MEANS = {
    "yngve_depth": ("yngve", "W"),
    "frazier_depth": ("frazier", "W"),
    "dependency_length": ("dependency_lengths", "dependencies"),
    "embedding_depth": ("embedding", "S"),
}
MEASURES = (*COUNTS, *INDICES, *_MEANS)
"""All measures, in the order of the output."""

Row = dict[str, float | None]

CLAUSES = frozenset({"S", "SINV", "SQ", "SENT", "Sint", "Srel", "Ssub", "IP", "CP", "fcl", "icl"})
"""Categories of clauses: Penn, French Treebank, Penn-Helsinki, Floresta."""

_SENTENCE_NODES = CLAUSES | {"SBAR", "SBARQ"}


class TreeMeasures(NamedTuple):
    """Sums over the words of a tree without punctuation."""

    words: int
    yngve: float  # right siblings of the word's ancestors and of its tag
    frazier: float  # edges from the tag up along leftmost children; 1.5 below a sentence node
    embedding: int  # clauses inside clauses, at the deepest word
    dependencies: int
    dependency_lengths: int


def measure_tree(tree: Tree, rules: HeadRules) -> TreeMeasures:
    """Measure a tree that has neither punctuation nor empty elements.

    Examples
    --------
    >>> tree = Tree.parse("(S (NP (DT the) (NN dog)) (VP (VBZ barks)))")
    >>> measure_tree(tree, HeadRules.collins())
    TreeMeasures(words=3, yngve=3.0, frazier=3.5, embedding=0, dependencies=2, dependency_lengths=2)
    """
    words = embedding = 0
    yngve = frazier = 0.0
    stack = [(tree, 0.0, 0.0, 0)]
    while stack:
        node, yngve_depth, frazier_depth, clauses = stack.pop()
        if node.word is not None:
            words += 1
            yngve += yngve_depth
            frazier += frazier_depth
            embedding = max(embedding, clauses - 1)
            continue
        label = category(node.label)
        clauses += label in CLAUSES
        edge = 1.5 if label in _SENTENCE_NODES else 1.0
        last = len(node.children) - 1
        for index, child in enumerate(node.children):
            leftmost = frazier_depth + edge if index == 0 else 0.0
            stack.append((child, yngve_depth + last - index, leftmost, clauses))
    arcs = [
        abs(token.head - position)
        for position, token in enumerate(to_dependencies(tree, rules).tokens, 1)
        if token.head
    ]
    return TreeMeasures(words, yngve, frazier, embedding, len(arcs), sum(arcs))


class ComplexityMeter:
    """Measures trees of one annotation scheme.

    The structures of Lu (2010) are defined for Penn-style English; in other schemes their counts are None.
    """

    def __init__(self, scheme: AnnotationScheme, rules: HeadRules) -> None:
        self._rules = rules
        self._whole = replace(scheme.options, root="add", same_unaries=False)
        self._bare = replace(scheme.options, same_unaries=False, punctuation="drop")
        self._matchers = structure_matchers() if scheme.name == "penn" else []

    def sums(self, trees: Sequence[Tree]) -> npt.NDArray[np.float64]:
        """Return the sums over each tree from which all measures follow, of shape (n_trees, n_sums)."""
        whole = [normalise(tree, self._whole).tree for tree in trees]
        sums = np.full((len(trees), len(_SUMS)), np.nan)
        for row, tree in enumerate(trees):
            bare = normalise(tree, self._bare).tree
            n_words = sum(any(map(str.isalpha, leaf.label)) for leaf in bare.leaves())
            if bare.is_empty:
                sums[row] = 0
            else:
                measures = measure_tree(bare, self._rules)
                sums[row, len(COUNTS) :] = (measures.yngve, measures.frazier, *measures[3:])
            sums[row, :2] = n_words, not whole[row].is_empty
        present = [row for row, tree in enumerate(whole) if not tree.is_empty]
        if self._matchers and present:
            sums[present, 2 : len(COUNTS)] = count_structures(
                [str(whole[row]) for row in present], self._matchers
            )
        return sums


def measures(sums: npt.NDArray[np.float64]) -> Row:
    """Return all measures of a document from the sums over its trees; None where there is nothing to divide by."""
    totals = dict(zip(_SUMS, sums.tolist(), strict=True))

    def ratio(numerator: str, denominator: str) -> float | None:
        value = totals[numerator] / totals[denominator] if totals[denominator] else np.nan
        return None if np.isnan(value) else value

    counts: Row = {name: None if np.isnan(totals[name]) else int(totals[name]) for name in COUNTS}
    return counts | {name: ratio(*parts) for name, parts in (INDICES | _MEANS).items()}


def intervals(samples: npt.NDArray[np.float64], coverage: float = 0.95) -> Row:
    """Return bounds ``NAME_low`` and ``NAME_high`` of each measure between which a share of the samples lies.

    `samples` has shape (n_samples, n_sums): sums over a document, one row for each way in which trees were drawn for its sentences.
    """
    rows = [measures(sample) for sample in samples]
    bounds: Row = {}
    for name in MEASURES:
        values = [value for row in rows if (value := row[name]) is not None]
        low, high = (
            np.quantile(values, [(1 - coverage) / 2, (1 + coverage) / 2]).tolist() if values else (None, None)
        )
        bounds |= {f"{name}_low": low, f"{name}_high": high}
    return bounds


def measure_complexity(
    trees: Iterable[Tree], *, preset: str = "auto", head_rules: str = "auto"
) -> Mapping[str, float | None]:
    """Return the syntactic complexity of trees taken together.

    Parameters
    ----------
    trees : iterable of Tree
    preset : str
        Annotation scheme; ``"auto"`` detects it by the labels.
    head_rules : str
        Table of head rules for dependencies; ``"auto"`` for that of the scheme.

    Returns
    -------
    mapping of str to float
        The measures by name (:data:`MEASURES`).

    Examples
    --------
    >>> tree = Tree.parse("(S (NP (PRP I)) (VP (VBP know) (SBAR (S (NP (PRP you)) (VP (VBP sleep))))))")
    >>> complexity = measure_complexity([tree])
    >>> complexity["W"], complexity["C/T"], complexity["embedding_depth"]
    (4, 2.0, 1.0)
    """
    scheme, read = find_scheme(trees, preset)
    everything = list(read)
    rules = HeadRules.select(head_rules, scheme, trees=everything)
    return measures(ComplexityMeter(scheme, rules).sums(everything).sum(0))
