"""The latent-variable PCFG: immutable arrays that hold what was learnt."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from gramian.errors import counted
from gramian.grammar.factors import Factors
from gramian.grammar.lexicon import Lexicon

Ints = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float32]


_ROWS = 4096  # of tensors that are summed at a time


@dataclass(frozen=True, repr=False)
class LPCFG:
    """A grammar whose symbols have hidden states."""

    symbols: tuple[str, ...]  #: phrases, then tags
    n_phrases: int
    n_states: Ints  #: shape (n_symbols,)
    state_prior: Floats  #: for each symbol the share of each of its states; symbols one after the other
    root: Floats  #: probability of each symbol and state at the root, laid out as `state_prior`
    binary_rules: Ints  #: shape (R, 3)
    #: one block of shape (m_parent, m_left, m_right) a rule, one after the other; none for a rule that `factors` hold
    binary: Floats
    unary_rules: Ints  #: shape (U, 2)
    unary: Floats  #: one block of shape (m_phrase, m_tag) a rule
    #: before, after: shape (n_symbols, n_tags + 1); share of a symbol times the chance of each tag just before it, and chance of each
    #: tag just after it; the last column is the edge of the sentence. They guess outside values where the coarse chart is pruned.
    before: Floats
    after: Floats
    lexicon: Lexicon
    #: binary_weight, unary_weight, root_weight: probability of each rule, and of each symbol at the root, when states are summed out.
    #: Needed only where the blocks are not probabilities (observable operators); otherwise they follow from the blocks.
    binary_weight: npt.NDArray[np.float64] | None = None
    unary_weight: npt.NDArray[np.float64] | None = None
    root_weight: npt.NDArray[np.float64] | None = None
    factors: Factors | None = None  #: binary rules of low rank

    def __repr__(self) -> str:
        """Say how large it is."""
        sizes = {
            "phrase": self.n_phrases,
            "tag": self.n_symbols - self.n_phrases,
            "state": int(self.n_states.sum()),
            "rule": len(self.binary_rules) + len(self.unary_rules),
            "word": len(self.lexicon.words),
        }
        return f"<LPCFG: {', '.join(counted(number, noun) for noun, number in sizes.items())}>"

    @cached_property
    def state_start(self) -> npt.NDArray[np.int64]:
        """Where each symbol's states begin in `state_prior` and `root`."""
        return np.concatenate([[0], np.cumsum(self.n_states, dtype=np.int64)])

    @cached_property
    def binary_start(self) -> npt.NDArray[np.int64]:
        """Where each rule's block begins in `binary`."""
        sizes = self.n_states[self.binary_rules].astype(np.int64).prod(axis=1)
        if self.factors is not None:
            sizes[self.factors.rank > 0] = 0
        return np.concatenate([[0], np.cumsum(sizes)])

    @cached_property
    def unary_start(self) -> npt.NDArray[np.int64]:
        """Where each unary rule's block begins in `unary`."""
        return np.concatenate([[0], np.cumsum(self.n_states[self.unary_rules].astype(np.int64).prod(axis=1))])

    @cached_property
    def by_children(self) -> npt.NDArray[np.int64]:
        """The binary rules in the order of their left and right children, then parents, in which charts have them."""
        parent, left, right = self.binary_rules.T
        return np.lexsort((parent, right, left))

    @property
    def is_probabilistic(self) -> bool:
        """Whether the blocks are probabilities; if not, they are observable operators, which may be negative."""
        return self.binary_weight is None

    @property
    def n_symbols(self) -> int:
        """How many labels and tags there are."""
        return len(self.symbols)

    def prior(self, symbol: int) -> Floats:
        """Return the shares of the states of a symbol."""
        return self.state_prior[self.state_start[symbol] : self.state_start[symbol + 1]]

    def binary_block(self, rule: int) -> Floats:
        """Return a binary rule's tensor, shape (m_parent, m_left, m_right), whichever way it is held."""
        states = self.n_states[self.binary_rules[rule]]
        if self.factors is not None and self.factors.rank[rule] > 0:
            return self.factors.block(rule, states)
        return self.binary[self.binary_start[rule] : self.binary_start[rule + 1]].reshape(states)

    def binary_row(self, rule: int, state: int) -> Floats:
        """Return a binary rule's tensor for one of the parent's states, shape (m_left, m_right)."""
        if self.factors is not None and self.factors.rank[rule] > 0:
            return self.factors.row(rule, self.n_states[self.binary_rules[rule]], state)
        return self.binary_block(rule)[state]

    def binary_margins(self, rule: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Return the sums of a binary rule's tensor over the right, and over the left child's states."""
        if self.factors is not None and self.factors.rank[rule] > 0:
            return self.factors.margins(rule, self.n_states[self.binary_rules[rule]])
        block = self.binary_block(rule)
        return block.sum(axis=2, dtype=np.float64), block.sum(axis=1, dtype=np.float64)

    def unary_block(self, rule: int) -> Floats:
        """Return the matrix of a rule over a tag, shape (m_phrase, m_tag)."""
        states = self.n_states[self.unary_rules[rule]]
        return self.unary[self.unary_start[rule] : self.unary_start[rule + 1]].reshape(states)

    def rules(self) -> Iterator[tuple[list[int], Floats]]:
        """Yield the symbols of each rule, parent first, and its tensor; rules with two children come first."""
        for rules, block in ((self.binary_rules, self.binary_block), (self.unary_rules, self.unary_block)):
            for number, symbols in enumerate(rules.tolist()):
                yield symbols, block(number)

    def rule_sums(self, rule: int) -> npt.NDArray[np.float64]:
        """Return the sum of a binary rule's tensor over the children's states, for each state of the parent."""
        binary, _ = self.row_sums
        return binary.values[binary.start[rule] : binary.start[rule + 1]]

    @property
    def expanded(self) -> LPCFG:
        """The same grammar with every rule's block kept whole."""
        if self.factors is None:
            return self
        blocks = [self.binary_block(rule).ravel() for rule in range(len(self.binary_rules))]
        return replace(self, binary=np.concatenate([np.empty(0, np.float32), *blocks]), factors=None)

    @cached_property
    def coarse(self) -> CoarseRules:
        """The grammar without states: what remains when states are summed out by their shares."""
        if self.binary_weight is not None and self.unary_weight is not None and self.root_weight is not None:
            return CoarseRules(self.binary_weight, self.unary_weight, self.root_weight)
        binary, unary = (sums.averaged(self.state_prior) for sums in self.row_sums)
        root = np.add.reduceat(self.root.astype(np.float64), self.state_start[:-1])
        return CoarseRules(binary, unary, root)

    @cached_property
    def row_sums(self) -> tuple[RowSums, RowSums]:
        """The sums of the tensors of all binary, and of all unary rules over the children's states."""
        binary = self._row_sums(self.binary_rules, self.binary, self.binary_start)
        if self.factors is not None:
            binary.values[:] += self.factors.row_sums(self.n_states[self.binary_rules])
        return binary, self._row_sums(self.unary_rules, self.unary, self.unary_start)

    def _row_sums(self, rules: Ints, table: Floats, table_start: npt.NDArray[np.int64]) -> RowSums:
        counts = self.n_states[rules[:, 0]].astype(np.int64)
        start = np.concatenate([[0], np.cumsum(counts)])
        number = np.arange(start[-1]) - np.repeat(start[:-1], counts)  # of a state in its symbol
        size = np.repeat(np.diff(table_start) // counts, counts)  # of a row; none of a rule that factors hold
        first = np.repeat(table_start[:-1], counts) + number * size
        values = np.zeros(start[-1])
        stored = np.flatnonzero(size)
        ends = np.append(first[stored][1:], len(table)) if len(stored) else stored
        for part in range(0, len(stored), _ROWS):  # in parts, since each is made double precision first
            rows = stored[part : part + _ROWS]
            begin, end = first[rows[0]], ends[part : part + _ROWS][-1]
            values[rows] = np.add.reduceat(table[begin:end], first[rows] - begin, dtype=np.float64)
        return RowSums(values, start, np.repeat(self.state_start[rules[:, 0]], counts) + number)


@dataclass(frozen=True)
class CoarseRules:
    """Rule probabilities of a grammar without states, in the order of the grammar's rules and symbols."""

    binary: npt.NDArray[np.float64]
    unary: npt.NDArray[np.float64]
    root: npt.NDArray[np.float64]


@dataclass(frozen=True)
class RowSums:
    """For each rule, in each state of its parent, the sum of its tensor over the children's states; rules one after the other."""

    values: npt.NDArray[np.float64]
    start: npt.NDArray[np.int64]  # of each rule
    state: npt.NDArray[np.int64]  # the parent's, as in `state_prior`

    def averaged(self, prior: Floats) -> npt.NDArray[np.float64]:
        """Return the probability of each rule if its parent's states have these shares."""
        if not self.values.size:
            return np.zeros(0)
        return np.add.reduceat(self.values * prior[self.state], self.start[:-1])
