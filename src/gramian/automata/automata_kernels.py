"""Every numba kernel of the automata: plain functions on C-contiguous arrays.

State vectors are rows; ``transitions[s]`` takes the row on its left to the row after symbol ``s``. Symbol -1
has the zero operator. Vectors are rescaled as they go, so that long strings neither underflow nor overflow.
"""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gramian.kernels import kernel

_SMALL = 1e-100
_LARGE = 1e100

Array = npt.NDArray[np.float64]


class AutomatonWeights(NamedTuple):
    """The weights of an automaton; ``transposed[s]`` is the transpose of ``transitions[s]``."""

    initial: npt.NDArray[np.floating]
    final: npt.NDArray[np.floating]
    transitions: npt.NDArray[np.floating]
    transposed: npt.NDArray[np.floating]


class PrefixTree(NamedTuple):
    """The distinct prefixes of some strings, by length and then by last symbol; node 0 is the empty prefix."""

    parent: npt.NDArray[np.int32]  # the prefix without its last symbol
    symbol: npt.NDArray[np.int32]  # its last symbol; -1 at the root
    weight: Array  # the number of strings that end there
    group_symbol: npt.NDArray[np.int32]  # the last symbol of the nodes of a group, which have one length
    group_bounds: npt.NDArray[np.int64]  # where the nodes of each group begin, and the last ends
    n_path_states: int  # on the paths of all strings: their lengths, each plus one, summed


class Workspace(NamedTuple):
    """Rows for the largest group and for every node of a tree, and numbers for every node."""

    block: npt.NDArray[np.floating]
    forward: npt.NDArray[np.floating]
    backward: npt.NDArray[np.floating]
    scale: npt.NDArray[np.floating]
    log_scale: Array


@kernel
def _step(vector, matrix, result):
    """Set result to vector @ matrix, four rows of the matrix at a time."""
    n = vector.shape[0]
    for j in range(n):
        result[j] = 0.0
    n_unrolled = n - n % 4
    for i in range(0, n_unrolled, 4):
        a, b, c, d = vector[i], vector[i + 1], vector[i + 2], vector[i + 3]
        if a != 0.0 or b != 0.0 or c != 0.0 or d != 0.0:
            for j in range(n):
                result[j] += (
                    a * matrix[i, j] + b * matrix[i + 1, j] + c * matrix[i + 2, j] + d * matrix[i + 3, j]
                )
    for i in range(n_unrolled, n):
        for j in range(n):
            result[j] += vector[i] * matrix[i, j]


@kernel
def score_strings(initial, final, transitions, symbols, offsets, log_abs, sign):
    """Fill log|f(x)| and the sign of f(x) for every string x."""
    n = initial.shape[0]
    vector = np.empty(n)
    after = np.empty(n)
    for row in range(offsets.shape[0] - 1):
        vector[:] = initial
        log_scale = 0.0
        for position in range(offsets[row], offsets[row + 1]):
            symbol = symbols[position]
            if symbol < 0:
                vector[:] = 0.0
                break
            _step(vector, transitions[symbol], after)
            vector, after = after, vector
            largest = 0.0
            for i in range(n):
                largest = max(largest, abs(vector[i]))
            if largest == 0.0:
                break
            if largest < _SMALL or largest > _LARGE:
                log_scale += math.log(largest)
                for i in range(n):
                    vector[i] /= largest
        value = 0.0
        for i in range(n):
            value += vector[i] * final[i]
        log_abs[row] = math.log(abs(value)) + log_scale if value != 0.0 else -np.inf
        sign[row] = np.sign(value)


@kernel
def state_vectors(initial, total, restarts, transitions, symbols, offsets, vectors):
    """Fill the normalised state row before each symbol and at the end of each string.

    Row ``offsets[i] + i + t`` is the state after ``t`` symbols of string ``i``. A row is divided by its product with `total`, the prefix
    weight; where that is not positive, row ``symbol`` of `restarts` takes its place. Symbol -1 finds the last row of `restarts`.
    """
    n = initial.shape[0]
    row = 0
    for string in range(offsets.shape[0] - 1):
        vectors[row] = initial
        row += 1
        for position in range(offsets[string], offsets[string + 1]):
            symbol = symbols[position]
            mass = 0.0
            largest = 0.0
            if symbol >= 0:
                _step(vectors[row - 1], transitions[symbol], vectors[row])
                for i in range(n):
                    mass += vectors[row, i] * total[i]
                    largest = max(largest, abs(vectors[row, i]))
            if mass > 1e-12 * largest and np.isfinite(mass):
                for i in range(n):
                    vectors[row, i] /= mass
            else:
                vectors[row] = restarts[symbol]
            row += 1


@kernel
def follow(successor, symbols, offsets, states):
    """Fill the state of a deterministic automaton before each symbol and at the end of each string."""
    cut = 0
    for row in range(offsets.shape[0] - 1):
        state = 0
        states[cut] = 0
        cut += 1
        for position in range(offsets[row], offsets[row + 1]):
            symbol = symbols[position]
            state = successor[state, symbol] if state >= 0 and symbol >= 0 else -1
            states[cut] = state
            cut += 1


@kernel
def score_paths(successor, logs, symbols, offsets, result):
    """Fill the log-probability of every string in a deterministic automaton."""
    stop = logs.shape[1] - 1
    for row in range(offsets.shape[0] - 1):
        state = 0
        total = 0.0
        for position in range(offsets[row], offsets[row + 1]):
            symbol = symbols[position]
            if symbol < 0 or successor[state, symbol] < 0:
                state = -1
                break
            total += logs[state, symbol]
            state = successor[state, symbol]
        result[row] = total + logs[state, stop] if state >= 0 else -np.inf


@kernel
def match_cuts(table, accepted, symbols, offsets, backward, whole, pointers, indices):
    """Find the basis strings that begin (or, backward, end) at each cut of each string; return how many.

    `table` is the tree of the basis strings and `accepted` the string that ends at a node, or -1. With
    `whole`, a match must reach the end (backward: the start) of its string. `pointers` receives the number of
    matches up to each cut, and `indices`, unless it is empty, the matches.
    """
    fill = indices.shape[0] > 0
    n_matches = 0
    cut = 0
    for row in range(offsets.shape[0] - 1):
        start, end = offsets[row], offsets[row + 1]
        for cut_position in range(start, end + 1):
            node = 0
            position = cut_position
            while node >= 0:
                edge = position == start if backward else position == end
                if accepted[node] >= 0 and (edge or not whole):
                    if fill:
                        indices[n_matches] = accepted[node]
                    n_matches += 1
                if edge:
                    break
                symbol = symbols[position - 1] if backward else symbols[position]
                position += -1 if backward else 1
                node = table[node, symbol] if symbol >= 0 else -1
            cut += 1
            pointers[cut] = n_matches
    return n_matches


@kernel
def trie_nodes(symbols, offsets, weights, parent, symbol, weight, depths):
    """Fill the prefix tree of sorted distinct strings, root first, in arrays for total length + 1 nodes; return its number of nodes."""
    path = np.zeros(symbols.shape[0] + 1, np.int64)  # the node of each prefix of the string before
    parent[0] = symbol[0] = -1
    weight[0] = depths[0] = 0
    nodes = 1
    for row in range(offsets.shape[0] - 1):
        start = offsets[row]
        length = offsets[row + 1] - start
        shared = 0
        if row > 0:
            before = offsets[row - 1]
            limit = min(length, start - before)
            while shared < limit and symbols[before + shared] == symbols[start + shared]:
                shared += 1
        for depth in range(shared, length):
            parent[nodes] = path[depth]
            symbol[nodes] = symbols[start + depth]
            weight[nodes] = 0.0
            depths[nodes] = depth + 1
            path[depth + 1] = nodes
            nodes += 1
        weight[path[length]] += weights[row]
    return nodes


@kernel
def _forward(weights, tree, work):
    """Fill each node's normalised forward row, and what it was divided by: one matrix product for each group, of which 0 is the root."""
    initial, transitions = weights.initial, weights.transitions
    parent, symbol, bounds = tree.parent, tree.group_symbol, tree.group_bounds
    block, forward, scale = work.block, work.forward, work.scale
    n = initial.shape[0]
    forward[0] = initial
    scale[0] = 1.0
    for group in range(1, symbol.shape[0]):
        start, end = bounds[group], bounds[group + 1]
        for node in range(start, end):
            block[node - start] = forward[parent[node]]
        np.dot(block[: end - start], transitions[symbol[group]], forward[start:end])
        for node in range(start, end):
            total = forward[node, 0]
            for i in range(1, n):
                total += forward[node, i]
            scale[node] = total
            if total > 0.0:
                for i in range(n):
                    forward[node, i] /= total


@kernel
def expectations(weights, tree, work, counts):
    """Add what one prefix tree contributes to the expected counts; return its log-likelihood.

    ``counts.transitions[s]`` receives the sum over nodes us of the outer products forward(u) x backward(us); times
    the transition's weight it is the transition's expected count. A backward row carries the weighted strings at
    and below its node, scaled so that forward(u) . backward(u) is their number.
    """
    initial, final, transposed = weights.initial, weights.final, weights.transposed
    parent, symbol, bounds, weight = tree.parent, tree.group_symbol, tree.group_bounds, tree.weight
    block, forward, backward = work.block, work.forward, work.backward
    scale, log_scale = work.scale, work.log_scale
    n = initial.shape[0]
    _forward(weights, tree, work)
    log_likelihood = 0.0
    log_scale[0] = 0.0
    for node in range(parent.shape[0]):
        if node > 0:
            log_scale[node] = log_scale[parent[node]]
            log_scale[node] += math.log(scale[node]) if scale[node] > 0.0 else -np.inf
        backward[node] = 0.0
        if weight[node] > 0.0:
            ending = 0.0
            for i in range(n):
                ending += forward[node, i] * final[i]
            if ending > 0.0:
                log_likelihood += weight[node] * (log_scale[node] + math.log(ending))
                share = weight[node] / ending
                for i in range(n):
                    backward[node, i] = share * final[i]
                    counts.final[i] += share * final[i] * forward[node, i]
            else:
                log_likelihood = -np.inf
    product = np.empty((n, n), forward.dtype)
    for group in range(symbol.shape[0] - 1, 0, -1):
        start, end = bounds[group], bounds[group + 1]
        for node in range(start, end):
            inverse = 1.0 / scale[node] if scale[node] > 0.0 else 0.0
            parent_node = parent[node]
            for i in range(n):
                backward[node, i] *= inverse
                block[node - start, i] = forward[parent_node, i]
        np.dot(block[: end - start].T, backward[start:end], product)
        for i in range(n):
            for j in range(n):
                counts.transitions[symbol[group], i, j] += product[i, j]
        np.dot(backward[start:end], transposed[symbol[group]], block[: end - start])
        for node in range(start, end):
            parent_node = parent[node]
            for i in range(n):
                backward[parent_node, i] += block[node - start, i]
    for i in range(n):
        counts.initial[i] += initial[i] * backward[0, i]
    return log_likelihood


@kernel
def sample_paths(weights, tree, work, uniforms, counts):
    """Count the moves of a path drawn for every string: forward filtering, backward sampling, a number of `uniforms` for each state.

    Strings that share a prefix and a state after it are drawn together: ``work.backward`` holds how many paths are in each state at a node,
    and they come from states i before it in proportion to forward(i) times the weight from i.
    """
    forward, parent, paths = work.forward, tree.parent, work.backward
    n = weights.initial.shape[0]
    _forward(weights, tree, work)
    sums = np.empty(n)
    n_draws = 0
    paths[: parent.shape[0]] = 0.0
    for node in range(parent.shape[0] - 1, -1, -1):  # children come after their parent
        ending = int(tree.weight[node])
        if ending > 0:
            _draw(
                forward[node],
                weights.final,
                uniforms[n_draws : n_draws + ending],
                sums,
                paths[node],
                counts.final,
            )
            n_draws += ending
        for state in range(n):
            if paths[node, state] == 0.0:
                continue
            here = int(paths[node, state])
            if node == 0:
                counts.initial[state] += here
                continue
            symbol = tree.symbol[node]
            draws = uniforms[n_draws : n_draws + here]
            moves = counts.transitions[symbol, state]
            _draw(
                forward[parent[node]],
                weights.transposed[symbol, state],
                draws,
                sums,
                paths[parent[node]],
                moves,
            )
            n_draws += here


@kernel
def _draw(left, right, uniforms, sums, first, second):
    """Draw indices in proportion to left * right, one for each uniform number, and count them twice."""
    n = left.shape[0]
    total = 0.0
    last = 0
    for i in range(n):
        weight = left[i] * right[i]
        if weight > 0.0:
            last = i
        total += weight
        sums[i] = total
    for draw in range(uniforms.shape[0]):
        threshold = uniforms[draw] * total
        low, high = 0, last  # rounding may leave the threshold unreached: then the last possible index
        while low < high:
            middle = (low + high) // 2
            if sums[middle] > threshold:
                high = middle
            else:
                low = middle + 1
        first[low] += 1.0
        second[low] += 1.0
