"""Weighted automata: learn them from strings by spectral methods and EM, and compute with them."""

from gramian.automata.sequences import Sequences
from gramian.automata.wfa import WFA, DivergenceError

__all__ = ["WFA", "DivergenceError", "Sequences"]
