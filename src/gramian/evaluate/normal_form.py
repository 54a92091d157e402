"""Scores of trees in Chomsky normal form, as implementations of L-PCFGs report them that never undo the binarisation."""

from gramian.evaluate.parameters import Parameters
from gramian.trees import Tree
from gramian.trees.binarise import binarise

CNF = Parameters(name="cnf")
"""Nothing is left out: punctuation and the intermediate labels of binary trees count."""


def chomsky_normal_form(tree: Tree) -> Tree:
    """Return a tree whose phrases have two children each: right-binarised, chains of single children joined, into tags too.

    Two trees of the same n > 1 words then have n - 1 brackets each, so that recall, precision and F1 are equal.

    Examples
    --------
    >>> print(chomsky_normal_form(Tree.parse("(S (NP (PRP it)) (VP (VBZ has) (RB not) (NP (NN time))))")))
    (S (NP|PRP it) (VP (@VP (VBZ has) (RB not)) (NP|NN time)))
    """
    return binarise(tree, collapse_tags=True)
