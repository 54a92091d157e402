"""The states of a symbol as points in the plane: near means alike in what they hold and where they stand.

A state is the distribution of its rules (or words), and of the places it stands in; square roots of probabilities make
distances those of Hellinger, and the two directions of largest variance, states weighted by their share, make the map.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gramian.grammar.lpcfg import LPCFG

Doubles = npt.NDArray[np.float64]

_NEAREST = 3


class StateMap(NamedTuple):
    """Places of the states of a symbol, by number, the share of the variance that the plane keeps, and the states most alike to each.

    Whoever is alike is told by the whole distance, not by that in the plane.
    """

    points: list[tuple[float, float]]
    explained: float
    nearest: list[list[int]]


def state_map(grammar: LPCFG, symbol: int) -> StateMap:
    """Lay out the states of a symbol, given by its number in ``grammar.symbols``.

    Examples
    --------
    >>> from gramian.corpus import Treebank
    >>> from gramian.learn import PCFG
    >>> from gramian.trees import Tree
    >>> grammar = PCFG().fit(Treebank.from_trees([Tree.parse("(S (NN dogs) (VBP bark))")])).model_
    >>> state_map(grammar, grammar.symbols.index("S"))
    StateMap(points=[(0.0, 0.0)], explained=1.0, nearest=[[]])
    """
    within = _words(grammar, symbol) if symbol >= grammar.n_phrases else _rules(grammar, symbol)
    around = _places(grammar, symbol)
    vectors = np.sqrt(np.hstack([_normalised(within), _normalised(around)]) / 2)
    share = grammar.prior(symbol).astype(np.float64)
    share = share / share.sum()
    centred = vectors - share @ vectors
    weight = np.sqrt(share)[:, None]
    # There are far fewer states than rules or words: the directions come from the products of states.
    values, columns = np.linalg.eigh((centred * weight) @ (centred * weight).T)
    values, columns = np.maximum(values[::-1], 0.0), columns[:, ::-1]
    points = np.zeros((len(vectors), 2))
    variance = float(values.sum())
    for axis in range(min(2, len(values)) if variance > 1e-12 else 0):
        if values[axis] > 1e-12 * variance:
            direction = (columns[:, axis] @ (centred * weight)) / np.sqrt(values[axis])
            points[:, axis] = centred @ (direction if direction.sum() >= 0 else -direction)
    explained = 1.0 if variance < 1e-12 else float(values[:2].sum()) / variance
    alike = vectors @ vectors.T
    np.fill_diagonal(alike, -np.inf)
    nearest = [
        row[: min(_NEAREST, len(row) - 1)].tolist() for row in np.argsort(-alike, axis=1, kind="stable")
    ]
    return StateMap([(float(x), float(y)) for x, y in points], explained, nearest)


def _normalised(counts: Doubles) -> Doubles:
    counts = np.maximum(counts, 0.0)  # rules of low rank may lie slightly below zero
    return counts / np.maximum(counts.sum(axis=1, keepdims=True), 1e-300)


def _rules(grammar: LPCFG, symbol: int) -> Doubles:
    """Return the probability of each rule of a phrase, by state; shape (states, rules)."""
    binary = np.flatnonzero(grammar.binary_rules[:, 0] == symbol).tolist()
    unary = np.flatnonzero(grammar.unary_rules[:, 0] == symbol).tolist()
    columns = [np.zeros(int(grammar.n_states[symbol])), *map(grammar.rule_sums, binary)]
    columns += [grammar.unary_block(rule).sum(axis=1, dtype=np.float64) for rule in unary]
    return np.column_stack(columns)


def _words(grammar: LPCFG, symbol: int) -> Doubles:
    """Return the probability of each word of a tag, by state; shape (states, words)."""
    lexicon = grammar.lexicon
    entries = np.flatnonzero(lexicon.entry_tag == symbol - grammar.n_phrases)
    sizes = lexicon.n_states[lexicon.entry_tag].astype(np.int64)
    first = np.cumsum(sizes) - sizes
    word = np.repeat(np.arange(len(lexicon.words)), np.diff(lexicon.entry_start))[entries]
    weight = lexicon.entry_probability[entries] * lexicon.word_count[word].astype(np.float64)
    states = lexicon.entry_states[first[entries][:, None] + np.arange(grammar.n_states[symbol])]
    return np.asarray((weight[:, None] * states).T, np.float64)


def _places(grammar: LPCFG, symbol: int) -> Doubles:
    """Return how often each state stands in each place of each rule; shape (states, places)."""
    use = grammar.before.sum(axis=1, dtype=np.float64)
    first, end = grammar.state_start[symbol : symbol + 2]
    columns = [grammar.root[first:end].astype(np.float64) * 1e-3]
    binary, unary = (grammar.binary_rules, grammar.binary_block), (grammar.unary_rules, grammar.unary_block)
    for rules, block_of in (binary, unary):
        for rule, place in np.argwhere(rules[:, 1:] == symbol).tolist():
            parent = int(rules[rule, 0])
            block = block_of(rule)
            others = tuple(axis for axis in range(1, block.ndim) if axis != place + 1)
            towards = block.sum(axis=others, dtype=np.float64)
            columns.append(use[parent] * grammar.prior(parent).astype(np.float64) @ towards)
    return np.column_stack(columns)
