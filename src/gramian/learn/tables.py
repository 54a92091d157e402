"""Latent tables: one number per production and combination of states. Counts and probabilities have this same shape."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.grammar import LPCFG
from gramian.treebank import Treebank
from gramian.treebank.productions import Productions

Floats = npt.NDArray[np.floating]


@dataclass(frozen=True)
class Layout:
    """Where the numbers of each production lie, given how many states each symbol has: the first cell of each, and the end."""

    productions: Productions
    n_states: npt.NDArray[np.int32]
    binary_start: npt.NDArray[np.int64]
    unary_start: npt.NDArray[np.int64]
    lexical_start: npt.NDArray[np.int64]
    root_start: npt.NDArray[np.int64]

    @classmethod
    def of(cls, productions: Productions, n_states: npt.NDArray[np.int32]) -> Layout:
        """Lay out tables for `n_states` states of each symbol."""
        sizes, symbols = n_states.astype(np.int64), np.arange(len(n_states))
        blocks = productions.binary, productions.unary, productions.lexical[:, :1], symbols[:, None]
        starts = (np.concatenate([[0], np.cumsum(sizes[block].prod(axis=1))]) for block in blocks)
        return cls(productions, n_states, *starts)

    def zeros(self, dtype: npt.DTypeLike = np.float32) -> LatentTables:
        """Return tables full of zeros."""
        ends = (self.binary_start, self.unary_start, self.lexical_start, self.root_start)
        return LatentTables(self, *(np.zeros(int(end[-1]), dtype) for end in ends))


@dataclass(frozen=True)
class LatentTables:
    """Numbers for every production and combination of states, in flat arrays."""

    layout: Layout
    binary: Floats
    unary: Floats
    lexical: Floats
    root: Floats

    def binary_block(self, rule: int) -> Floats:
        """Return a rule's numbers as an array of shape (m_parent, m_left, m_right)."""
        shape = self.layout.n_states[self.layout.productions.binary[rule]]
        return _part(self.binary, self.layout.binary_start, rule).reshape(shape)

    def unary_block(self, rule: int) -> Floats:
        """Return a unary rule's numbers as an array of shape (m_parent, m_tag)."""
        shape = self.layout.n_states[self.layout.productions.unary[rule]]
        return _part(self.unary, self.layout.unary_start, rule).reshape(shape)

    def root_block(self, symbol: int) -> Floats:
        """Return the numbers of a symbol's states at the root."""
        return _part(self.root, self.layout.root_start, symbol)

    def lexical_block(self, pair: int) -> Floats:
        """Return the numbers of the states of a pair of tag and word."""
        return _part(self.lexical, self.layout.lexical_start, pair)


def _part(table: Floats, start: npt.NDArray[np.int64], index: int) -> Floats:
    return table[start[index] : start[index + 1]]


def tables_of(grammar: LPCFG, bank: Treebank, productions: Productions) -> LatentTables:
    """Lay a grammar's parameters out for the productions of a treebank.

    Symbols are matched by name, and one that the grammar lacks gets one state; a production that the grammar lacks gets the shares
    of its symbols' states, at the weight of the rarest rule. Negative parameters (observable operators) count as zero.
    """
    number = {(index < grammar.n_phrases, name): index for index, name in enumerate(grammar.symbols)}
    match = np.array(
        [number.get((index < bank.n_phrases, name), -1) for index, name in enumerate(bank.symbols)]
    )
    n_states = np.where(match >= 0, grammar.n_states[match], 1).astype(np.int32)
    tables = Layout.of(productions, n_states).zeros(np.float32)

    def shares(symbol: int) -> Floats:
        return np.maximum(grammar.prior(match[symbol]), 0) if match[symbol] >= 0 else np.ones(1)

    for rules, block, theirs, their_block in (
        (productions.binary, tables.binary_block, grammar.binary_rules, grammar.binary_block),
        (productions.unary, tables.unary_block, grammar.unary_rules, grammar.unary_block),
    ):
        known = {tuple(rule): index for index, rule in enumerate(theirs.tolist())}
        for index, rule in enumerate(rules.tolist()):
            rule_number = known.get(tuple(int(match[symbol]) for symbol in rule))
            if rule_number is not None:
                block(index)[:] = np.maximum(their_block(rule_number), 0)
            else:
                block(index)[:] = 1e-6 * reduce(np.multiply.outer, map(shares, rule[1:]))
    for pair, (tag, word) in enumerate(productions.lexical.tolist()):
        states: Any = 1
        if match[tag] >= 0:
            states = grammar.lexicon.pair_states(int(match[tag]) - grammar.n_phrases, bank.words[word])
        tables.lexical_block(pair)[:] = np.maximum(states, 1e-6)
    for symbol in range(bank.n_symbols):
        target = tables.root_block(symbol)
        if match[symbol] >= 0:
            first = grammar.state_start[match[symbol]]
            target[:] = np.maximum(grammar.root[first : first + len(target)], 0)
        target += 1e-9
    return tables
