"""A treebank as arrays: reading, symbols, vocabulary and signatures."""

from gramian.corpus.arrays import Shape, Treebank

__all__ = ["Shape", "Treebank"]
