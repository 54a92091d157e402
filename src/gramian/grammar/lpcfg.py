"""The latent-variable PCFG: immutable arrays that hold what was learnt, low-rank forms of its rules, and whether all of it is whole.

Kernels trust the arrays of a grammar, so :func:`check` stands between them and anything read from a file; what they rely on is a table,
:data:`gramian.io.array_table.TABLE`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.errors import counted
from gramian.grammar.lexicon import Lexicon
from gramian.io.array_table import require, validate
from gramian.trees.labels import is_intermediate, is_label, split_chain

Ints = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float32]
Longs = npt.NDArray[np.int64]
Doubles = npt.NDArray[np.float64]


_ROWS = 4096  # of tensors that are summed at a time


@dataclass(frozen=True, repr=False)
class LPCFG:
    """A grammar whose symbols have latent states.

    Examples
    --------
    >>> from gramian.learn import PCFG
    >>> from gramian.treebank import Treebank
    >>> from gramian.trees import Tree
    >>> grammar = PCFG().fit(Treebank.from_trees([Tree.parse("(S (NP (DT the) (NN dog)) (VP (VBZ barks)))")])).model_
    >>> grammar.symbols, grammar.n_phrases, grammar.is_probabilistic
    (('NP', 'S', 'VP', 'DT', 'NN', 'VBZ'), 3, True)
    """

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


@dataclass(frozen=True)
class Factors:
    """Rule tensors as ``T[h1, h2, h3] = weight * sum over q of U[q, h1] V[q, h2] W[q, h3]``.

    Two rules may share a matrix: then both begin at the same place.
    """

    rank: Ints  # (R,): how many products make up each binary rule; 0 for a rule whose block is kept whole
    weight: Floats  # (R,)
    start: Longs  # (R, 3): where U (rank, m_parent), V (rank, m_left) and W (rank, m_right) begin in `values`
    values: Floats

    @classmethod
    def none(cls, n_rules: int) -> Factors:
        """Return what stands for rules of which none is of low rank."""
        rank, start = np.zeros(n_rules, np.int32), np.zeros((n_rules, 3), np.int64)
        return cls(rank, np.ones(n_rules, np.float32), start, np.empty(0, np.float32))

    def matrices(self, rule: int, states: npt.ArrayLike) -> tuple[Floats, Floats, Floats]:
        """Return U, V and W of a rule whose symbols have the given numbers of states."""
        rank = int(self.rank[rule])
        u, v, w = (
            self.values[start : start + rank * size].reshape(rank, size)
            for start, size in zip(self.start[rule].tolist(), np.asarray(states).tolist(), strict=True)
        )
        return u, v, w

    def block(self, rule: int, states: npt.ArrayLike) -> Floats:
        """Return a rule's tensor, shape (m_parent, m_left, m_right)."""
        u, v, w = self.matrices(rule, states)
        pairs = (v[:, :, None] * w[:, None, :]).reshape(len(v), -1)
        return (self.weight[rule] * (u.T @ pairs)).reshape(np.asarray(states))

    def row(self, rule: int, states: npt.ArrayLike, state: int) -> Floats:
        """Return a rule's tensor for one of the parent's states, shape (m_left, m_right)."""
        u, v, w = self.matrices(rule, states)
        return self.weight[rule] * ((u[:, state, None] * v).T @ w)

    def margins(self, rule: int, states: npt.ArrayLike) -> tuple[Doubles, Doubles]:
        """Return the sums of a rule's tensor over the right, and over the left child's states: (m_parent, m_left), (m_parent, m_right)."""
        u, v, w = (matrix.astype(np.float64) for matrix in self.matrices(rule, states))
        u *= float(self.weight[rule])
        return (u * w.sum(axis=1, keepdims=True)).T @ v, (u * v.sum(axis=1, keepdims=True)).T @ w

    def row_sums(self, states: npt.NDArray[np.integer]) -> npt.NDArray[np.float64]:
        """Return the sums of rules' tensors over both children's states, for each state of the parent, one rule after the other.

        `states`, of shape (R, 3), are the numbers of states of the rules' symbols. Rules kept whole have sums of 0.
        """
        rank, (parents, lefts, rights) = self.rank.astype(np.int64), states.T.astype(np.int64)
        padded = np.append(self.values, np.float32(0))
        owner = np.repeat(np.arange(len(rank)), rank)  # the rule of each product
        number = np.arange(len(owner)) - np.repeat(np.cumsum(rank) - rank, rank)
        mass = self.weight[owner].astype(np.float64)
        for side, sizes in ((1, lefts), (2, rights)):
            first = self.start[owner, side] + number * sizes[owner]
            ends = np.stack([first, first + sizes[owner]], axis=1).ravel()
            mass *= np.add.reduceat(padded, ends, dtype=np.float64)[::2] if len(ends) else 1.0
        width = parents[owner]
        state = np.arange(width.sum()) - np.repeat(np.cumsum(width) - width, width)
        cells = np.repeat(self.start[owner, 0] + number * width, width) + state
        target = np.repeat((np.cumsum(parents) - parents)[owner], width) + state
        sums = np.bincount(target, np.repeat(mass, width) * self.values[cells], int(parents.sum()))
        return np.asarray(sums, np.float64)


_NOT_IN_SYMBOL = re.compile(r"[\s()\0]")
_NAMES_TAG = re.compile(r"[0-9]{1,8}(?: |\Z)")


def check(grammar: LPCFG, tolerance: float = 1e-3) -> None:
    """Raise a ValueError that names the first fault of a grammar, if it has one.

    Shapes fit each other, numbers of symbols and tags are within range, all parameters are finite. The rules of
    every phrase in every state sum to one within `tolerance`, as do the root, the shares of each symbol's states, and
    the chances of the neighbouring tags. Of observable operators it is the weights that do.
    """
    lexicon, n_phrases = grammar.lexicon, grammar.n_phrases
    _check_names(grammar)
    n_symbols, n_tags = len(grammar.symbols), len(grammar.symbols) - n_phrases
    validate(
        "grammar", arrays_of(grammar), symbols=n_symbols, phrases=n_phrases, tags=n_tags, words=len(lexicon.words),
        features=len(lexicon.features),
    )  # fmt: skip
    weights = (grammar.binary_weight, grammar.unary_weight, grammar.root_weight)
    require(len(set(map(type, weights))) == 1, "weights are given for all rules or for none")
    inner = np.array(list(map(is_intermediate, grammar.symbols)))
    at_root = grammar.root[np.repeat(inner, grammar.n_states)].any()
    if grammar.root_weight is not None:
        at_root |= grammar.root_weight[inner].any()
    require(not at_root, "no intermediate symbol is at the root")
    _check_sums(grammar, tolerance)


def arrays_of(grammar: LPCFG) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays of a grammar by the names of :data:`gramian.io.array_table.TABLE`."""
    arrays = {"lexicon.classes": grammar.lexicon.class_tag}
    for prefix, part in (("", grammar), ("lexicon.", grammar.lexicon), ("factors.", grammar.factors)):
        for field in () if part is None else fields(part):
            if isinstance(value := getattr(part, field.name), np.ndarray):
                arrays[f"{prefix}{field.name}"] = value
    return arrays


def _check_names(grammar: LPCFG) -> None:
    """Require that symbols, tags, words and classes are what they should be: distinct, and labels."""
    symbols, n_phrases, lexicon = grammar.symbols, grammar.n_phrases, grammar.lexicon
    require(0 < n_phrases < len(symbols), "there are phrases and tags")
    phrases, tags = symbols[:n_phrases], symbols[n_phrases:]
    # A label may name a phrase and a tag in the same treebank.
    n_distinct = len(set(phrases)) + len(set(tags))
    require(n_distinct == len(symbols), "symbols are distinct")
    for symbol in symbols:
        labels = [] if is_intermediate(symbol) else split_chain(symbol)
        require(not _NOT_IN_SYMBOL.search(symbol) and all(map(is_label, labels)), "symbols are labels")
    require(not any(map(is_intermediate, tags)), "tags are no intermediate symbols")
    require(len(lexicon.tags) == len(tags), "the lexicon has the grammar's tags")
    for tag in lexicon.tags:
        require(all(split_chain(tag)), "its tags are labels")
    require(len(set(lexicon.words)) == len(lexicon.words), "words are distinct")
    chance = lexicon.min_tag_probability
    require(0 <= chance <= 1, f"min_tag_probability is a probability (it is {chance})")
    require(all(map(_NAMES_TAG.match, lexicon.classes)), "classes name a tag")


def _check_sums(grammar: LPCFG, tolerance: float) -> None:
    if grammar.binary_weight is None or grammar.unary_weight is None or grammar.root_weight is None:
        # Of all rules of a phrase, in each of its states.
        expansions = np.zeros(int(grammar.state_start[grammar.n_phrases]))
        for rows in grammar.row_sums:
            expansions += np.bincount(rows.state, rows.values, len(expansions))
        root = grammar.root.sum(dtype=np.float64)
        tables = [grammar.binary, grammar.unary, grammar.root]
        if grammar.factors is not None:
            tables += [grammar.factors.values, grammar.factors.weight]
        for table in tables:
            require(table.min(initial=0.0) >= 0, "probabilities are not negative")
    else:
        expansions = np.zeros(grammar.n_phrases)
        np.add.at(expansions, grammar.binary_rules[:, 0], grammar.binary_weight)
        np.add.at(expansions, grammar.unary_rules[:, 0], grammar.unary_weight)
        root = grammar.root_weight.sum()
    starts = grammar.state_start[:-1]
    for name, sums in (
        ("rules of a phrase in a state", expansions),
        ("root", root),
        ("shares of a symbol's states", np.add.reduceat(grammar.state_prior, starts, dtype=np.float64)),
        ("tags before", grammar.before.sum(dtype=np.float64)),
        ("tags after a symbol", grammar.after.sum(axis=1, dtype=np.float64)),
    ):
        gap = np.abs(np.asarray(sums) - 1).max()
        require(gap <= tolerance, f"{name} sum to one (they are {gap:.2g} off)")
