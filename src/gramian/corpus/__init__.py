"""A treebank as arrays: reading, symbols, vocabulary and signatures."""

from gramian.corpus.arrays import Treebank

__all__ = ["Treebank"]
