"""Inside and outside as the equations have them: plain NumPy, slow, readable, the oracle of the kernels.

The chart is written once over a semiring (Goodman 1999): with sums and products of weights it gives Z and
posteriors, with maxima the best derivation, with ones for weights the number of derivations. An item is
``(symbol, start, end)``; an edge is a tuple of items, parent first: ``(parent, left, right)``, or
``(phrase, tag)`` over one word.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from gramian.grammar import LPCFG
from gramian.grammar.lexicon import WordScores

Array: TypeAlias = npt.NDArray[np.float64]
Item: TypeAlias = tuple[int, int, int]
Edge: TypeAlias = tuple[Item, ...]


@dataclass(frozen=True)
class Semiring:
    """What adding and multiplying mean."""

    add: np.ufunc
    multiply: np.ufunc
    zero: float
    of: Callable[[Array], Array]  # turns an array of weights into elements
    share: Callable[
        [Array, float], Array
    ]  # turns elements and a total into parts: value / total in ordinary numbers

    def contract(self, table: Array, vectors: Sequence[Array | None], keep: int | None) -> Array:
        """Multiply `table` along each axis by the vector given for it, if one is, and sum over all axes but `keep`."""
        table = self.product(table, vectors)
        if keep is None:
            return np.asarray(self.add.reduce(table.ravel()))
        return np.asarray(self.add.reduce(np.moveaxis(table, keep, 0).reshape(table.shape[keep], -1), axis=1))

    def product(self, table: Array, vectors: Sequence[Array | None]) -> Array:
        """Multiply `table` along each axis by the vector given for it, if one is."""
        for axis, vector in enumerate(vectors):
            if vector is not None:
                table = self.multiply(
                    table, vector.reshape([-1 if a == axis else 1 for a in range(table.ndim)])
                )
        return table


def _log(weights: Array) -> Array:
    with np.errstate(divide="ignore"):
        return np.log(weights)


REAL = Semiring(np.add, np.multiply, 0.0, lambda weights: weights, lambda value, total: value / total)
"""Sums of products; weights may be negative, sentences must be short."""

LOG = Semiring(np.logaddexp, np.add, -np.inf, _log, lambda value, total: np.exp(value - total))
"""The same in logarithms: no sentence is too long."""

MAX = Semiring(np.maximum, np.add, -np.inf, _log, lambda value, total: np.exp(value - total))
"""The best derivation instead of the sum, in logarithms."""

COUNT = Semiring(
    np.add, np.multiply, 0.0, lambda weights: (weights != 0) * 1.0, lambda value, total: value / total
)
"""How many derivations there are, states included."""


@dataclass(frozen=True)
class Chart:
    """All items of a sentence, with the elements of their states."""

    semiring: Semiring
    n_words: int
    total: float  # sum over all derivations; zero if there is none
    inside: dict[Item, Array]
    outside: dict[Item, Array]
    roots: dict[Item, Array]  # the items that cover the sentence, as roots
    edges: list[tuple[Array, Edge]]  # children before parents, with the elements of their rules


@dataclass(frozen=True)
class Derivation:
    """A tree of nodes (symbol, start, end, state), parents before children, left before right."""

    nodes: tuple[tuple[int, int, int, int], ...]
    log_weight: float


def emissions(grammar: LPCFG, words: Sequence[WordScores]) -> Array:
    """Return the emission of every word by every state of every tag, shape (n_words, states of all tags)."""
    first = grammar.state_start[grammar.n_phrases :] - grammar.state_start[grammar.n_phrases]
    table = np.zeros((len(words), int(first[-1])))
    for row, word in zip(table, words, strict=True):
        used = 0
        for tag, coarse in zip(word.tags, word.coarse, strict=True):
            size = int(first[tag + 1] - first[tag])
            row[first[tag] : first[tag + 1]] = np.float64(coarse) * word.states[used : used + size]
            used += size
    return table


def fill_chart(grammar: LPCFG, emission: Array, semiring: Semiring = LOG) -> Chart:
    """Run inside and outside over a sentence with these :func:`emissions`."""
    n = len(emission)
    inside: dict[Item, Array] = {}
    for tag in range(grammar.n_phrases, grammar.n_symbols):
        first, last = grammar.state_start[tag : tag + 2] - grammar.state_start[grammar.n_phrases]
        for word in range(n):
            if emission[word, first:last].any():
                inside[tag, word, word + 1] = semiring.of(emission[word, first:last])
    edges = []
    for table, edge in _edges(grammar, n, semiring, inside):
        parent, *children = edge
        value = semiring.contract(table, [None, *(inside[child] for child in children)], keep=0)
        inside[parent] = semiring.add(inside[parent], value) if parent in inside else value
        edges.append((table, edge))

    roots = {
        (symbol, 0, n): semiring.of(np.split(grammar.root, grammar.state_start[1:-1])[symbol].astype(float))
        for symbol in range(grammar.n_symbols)
        if (symbol, 0, n) in inside
    }
    total = semiring.zero
    for item, vector in roots.items():
        total = float(semiring.add(total, semiring.contract(vector, [inside[item]], keep=None)))
    outside = {item: np.full(len(vector), semiring.zero) for item, vector in inside.items()} | roots
    for table, edge in reversed(edges):
        vectors = [outside[edge[0]], *(inside[child] for child in edge[1:])]
        for axis, child in enumerate(edge[1:], start=1):
            others = [None if other_axis == axis else vector for other_axis, vector in enumerate(vectors)]
            outside[child] = semiring.add(outside[child], semiring.contract(table, others, keep=axis))
    return Chart(semiring, n, total, inside, outside, roots, edges)


def _edges(
    grammar: LPCFG, n: int, semiring: Semiring, inside: dict[Item, Array]
) -> Iterator[tuple[Array, Edge]]:
    """Yield every edge whose children are in `inside` by the time their turn comes."""
    rules = [(symbols, semiring.of(block.astype(float))) for symbols, block in grammar.rules()]
    binary, unary = rules[: len(grammar.binary_rules)], rules[len(grammar.binary_rules) :]
    for start in range(n):
        for (phrase, tag), table in unary:
            if (tag, start, start + 1) in inside:
                yield table, ((phrase, start, start + 1), (tag, start, start + 1))
    for width in range(2, n + 1):
        for start in range(n - width + 1):
            end = start + width
            for split in range(start + 1, end):
                for (parent, left, right), table in binary:
                    if (left, start, split) in inside and (right, split, end) in inside:
                        yield table, ((parent, start, end), (left, start, split), (right, split, end))


def state_posteriors(chart: Chart) -> dict[Item, Array]:
    """Return the posterior of every state of every item; an item's own posterior is the sum."""
    semiring = chart.semiring
    return {
        item: semiring.share(semiring.multiply(vector, chart.outside[item]), chart.total)
        for item, vector in chart.inside.items()
    }


def edge_posteriors(chart: Chart) -> dict[Edge, float]:
    """Return the posterior of every edge, summed over states."""
    posteriors = {}
    for table, edge in chart.edges:
        vectors = [chart.outside[edge[0]], *(chart.inside[child] for child in edge[1:])]
        value = chart.semiring.contract(table, vectors, keep=None)
        posteriors[edge] = float(chart.semiring.share(value, chart.total))
    return posteriors


def best_derivation(grammar: LPCFG, emission: Array) -> Derivation | None:
    """Return the derivation of the highest weight, or None if there is none."""
    chart = fill_chart(grammar, emission, MAX)
    if chart.total == -np.inf:
        return None
    edges_of: dict[Item, list[tuple[Array, Edge]]] = {}
    for table, edge in chart.edges:
        edges_of.setdefault(edge[0], []).append((table, edge))
    root = max(chart.roots, key=lambda item: float((chart.roots[item] + chart.inside[item]).max()))
    nodes = []
    stack = [(root, int((chart.roots[root] + chart.inside[root]).argmax()))]
    while stack:
        item, state = stack.pop()
        nodes.append((*item, state))
        best = -np.inf
        below: list[tuple[Item, int]] = []
        for table, edge in edges_of.get(item, []):
            values = MAX.product(table[state], [chart.inside[child] for child in edge[1:]])
            if values.max() > best:
                best = values.max()
                states = np.unravel_index(values.argmax(), values.shape)
                below = [
                    (child, int(child_state)) for child, child_state in zip(edge[1:], states, strict=True)
                ]
        stack.extend(reversed(below))
    return Derivation(tuple(nodes), chart.total)
