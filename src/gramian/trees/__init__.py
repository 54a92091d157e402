"""What a tree is, and its shapes: brackets, normal form, binary form, heads, dependencies, drawings."""

from gramian.trees.binarise import binarise, debinarise
from gramian.trees.brackets import BracketError, parse_bracketed, read_trees, write_trees
from gramian.trees.conllu import ConlluError, Sentence, Token, read_conllu, write_conllu
from gramian.trees.heads import HeadRules, head_positions, to_dependencies
from gramian.trees.normalise import Normalised, NormaliseOptions, Removed, normalise
from gramian.trees.projective import is_projective, lift
from gramian.trees.scheme import SCHEMES, AnnotationScheme, annotation_scheme
from gramian.trees.tree import Tree, escape_word, unescape_word

__all__ = [
    "SCHEMES",
    "AnnotationScheme",
    "BracketError",
    "ConlluError",
    "HeadRules",
    "NormaliseOptions",
    "Normalised",
    "Removed",
    "Sentence",
    "Token",
    "Tree",
    "annotation_scheme",
    "binarise",
    "debinarise",
    "escape_word",
    "head_positions",
    "is_projective",
    "lift",
    "normalise",
    "parse_bracketed",
    "read_conllu",
    "read_trees",
    "to_dependencies",
    "unescape_word",
    "write_conllu",
    "write_trees",
]
