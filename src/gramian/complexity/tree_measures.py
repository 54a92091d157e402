"""Measures of single trees: depths of words (Yngve 1960; Frazier 1985), embedding of clauses, lengths of dependencies."""

from __future__ import annotations

from typing import NamedTuple

from gramian.trees import HeadRules, Tree, to_dependencies
from gramian.trees.labels import category

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
