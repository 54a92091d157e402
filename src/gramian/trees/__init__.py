"""What a tree is, and its shapes: brackets, normal form, binary form, heads, dependencies, drawings."""

from gramian.trees.binarise import binarise, debinarise
from gramian.trees.brackets import BracketError, parse_bracketed, read_trees, write_trees
from gramian.trees.tree import Tree, escape_word, unescape_word

__all__ = [
    "BracketError",
    "Tree",
    "binarise",
    "debinarise",
    "escape_word",
    "parse_bracketed",
    "read_trees",
    "unescape_word",
    "write_trees",
]
