"""Decompositions of one rule tensor into sums of products: every numba kernel of the grammar package.

Probabilities are fitted by expectation-maximisation: a product is a hidden variable q of the rule, drawn given the parent's state,
from which the children's states are drawn independently. Nearly all mass of a tensor lies in few of its cells, and only those are
visited; the mass of the others counts as drawn from the first product, so that every marginal stays exact. Signed
factors are fitted by alternating least squares.
"""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gramian.kernels import kernel, order_free_kernel

_TINY = np.float32(1e-30)


class TensorCells(NamedTuple):
    """The heavy cells of a tensor by the states of parent and left child, and what the others add up to."""

    parent: Any  # (n_pairs,): states of each pair that has heavy cells
    left: Any  # (n_pairs,)
    first: Any  # (n_pairs + 1,): where its cells begin
    right: Any  # (n_cells,): the right child's state
    mass: Any  # (n_cells,)
    rest_parent: Any  # (m_parent,): mass of all other cells by state of each symbol
    rest_left: Any  # (m_left,)
    rest_right: Any  # (m_right,)
    rest_entropy: float  # sum of x log x over them


class SharedCells(NamedTuple):
    """The heavy cells of all rules: the rule, the states numbered through all symbols, and the mass of each."""

    rule: Any
    parent: Any
    left: Any
    right: Any
    mass: Any


@kernel
def joint(block, weight):
    """Return the joint distribution of a rule's states, its mass before normalising, and its divergence from independence.

    `block` (m_parent, m_left, m_right) is weighted by `weight` (m_parent,).
    """
    a, b, c = block.shape
    mass = np.empty((a, b, c), np.float32)
    parent, left, right = np.zeros(a), np.zeros(b), np.zeros(c)
    entropy = 0.0
    for i in range(a):
        for j in range(b):
            for k in range(c):
                value = block[i, j, k] * weight[i]
                mass[i, j, k] = value
                parent[i] += value
                left[j] += value
                right[k] += value
                if value > 0:
                    entropy += value * np.log(value)
    total = parent.sum()
    for marginal in (parent, left, right):
        for value in marginal:
            if value > 0:
                entropy -= value * np.log(value)
    if total > 0:
        mass /= np.float32(total)
        entropy = entropy / total + 2 * np.log(total)
    return mass, total, max(entropy, 0.0)


@kernel
def heavy_cells(joint, share):
    """Return the cells of a joint distribution that hold all of its mass but at most `share`."""
    a, b, c = joint.shape
    flat = joint.reshape(a * b * c)
    bucket = flat.view(np.int32)  # exponent and first bit of the fraction order the numbers by size
    histogram = np.zeros(512)
    for cell in range(flat.shape[0]):
        histogram[bucket[cell] >> 22] += flat[cell]
    least, below = 0, histogram[0]
    while least < 510 and below + histogram[least + 1] <= share:
        least += 1
        below += histogram[least]
    n = 0
    for cell in range(flat.shape[0]):
        n += (bucket[cell] >> 22) > least
    parent, left = np.empty(min(n, a * b), np.int32), np.empty(min(n, a * b), np.int32)
    first = np.zeros(min(n, a * b) + 1, np.int32)
    right, mass = np.empty(n, np.int32), np.empty(n, np.float32)
    rest_parent, rest_left = np.zeros(a, np.float32), np.zeros(b, np.float32)
    rest_right = np.zeros(c, np.float32)
    rest_entropy = 0.0
    n, pairs = 0, 0
    for i in range(a):
        for j in range(b):
            begin = n
            for k in range(c):
                value = joint[i, j, k]
                if (bucket[(i * b + j) * c + k] >> 22) > least:
                    right[n], mass[n] = k, value
                    n += 1
                elif value > 0:
                    rest_parent[i] += value
                    rest_left[j] += value
                    rest_right[k] += value
                    rest_entropy += value * np.log(value)
            if n > begin:
                parent[pairs], left[pairs], first[pairs] = i, j, begin
                pairs += 1
    first[pairs] = n
    return TensorCells(
        parent[:pairs], left[:pairs], first[: pairs + 1], right, mass, rest_parent, rest_left, rest_right, rest_entropy
    )  # fmt: skip


@order_free_kernel
def _step(cells, u, v, w):
    """Improve u (m_parent, rank), v (m_left, rank), w (m_right, rank) in place; return the divergence they had, or more."""
    rank = np.uintp(u.shape[1])
    new_u, new_v, new_w = np.zeros_like(u), np.zeros_like(v), np.zeros_like(w)
    pair, drawn = np.empty(rank, np.float32), np.empty(rank, np.float32)
    parent, left, first, right, mass = cells.parent, cells.left, cells.first, cells.right, cells.mass
    divergence = cells.rest_entropy
    # P(q | x, y, z) = u(x, q) v(y, q) w(z, q) / sum over q' of the same; new parameters are the expected counts of these, normalised.
    divergence -= _cross(cells.rest_parent, u) + _cross(cells.rest_left, v) + _cross(cells.rest_right, w)
    for pair_index in range(parent.shape[0]):
        i, j = np.uintp(parent[pair_index]), np.uintp(left[pair_index])
        for q in range(rank):
            pair[q] = u[i, q] * v[j, q]
            drawn[q] = 0
        for cell in range(first[pair_index], first[pair_index + 1]):
            k = np.uintp(right[cell])
            total = _TINY
            for q in range(rank):
                total += pair[q] * w[k, q]
            divergence += mass[cell] * np.log(mass[cell] / total)
            factor = mass[cell] / total
            for q in range(rank):
                drawn[q] += factor * w[k, q]
                new_w[k, q] += factor * pair[q]
        for q in range(rank):
            count = pair[q] * drawn[q]
            new_u[i, q] += count
            new_v[j, q] += count
    new_w *= w
    new_u[:, 0] += cells.rest_parent
    new_v[:, 0] += cells.rest_left
    new_w[:, 0] += cells.rest_right
    for q in range(rank):
        count = max(new_u[:, q].sum(), _TINY)
        new_v[:, q] /= count
        new_w[:, q] /= count
    u[:], v[:], w[:] = new_u, new_v, new_w
    return divergence


@kernel
def _cross(mass, factor):
    """Return the sum of mass log factor over the first column, where there is mass."""
    total = 0.0
    for state in range(mass.shape[0]):
        if mass[state] > 0:
            total += mass[state] * np.log(max(factor[state, 0], _TINY))
    return total


@kernel
def expectation_maximisation(cells, u, v, w, steps, tolerance):
    """Fit products to a joint distribution in place: u (m_parent, rank) holds mass, the columns of v and w sum to one.

    Stops when the divergence falls by less than `tolerance` of itself in a step. Returns an upper bound of the divergence from
    the joint distribution to the products.
    """
    before = _step(cells, u, v, w)
    for _ in range(steps):
        divergence = _step(cells, u, v, w)
        if before - divergence <= tolerance * abs(divergence):
            return divergence
        before = divergence
    return before


@kernel
def grown(joint, cells, u, v, w, rank):
    """Return u, v, w with new products where they fit worst; fewer than `rank` if they fit everywhere.

    A product begins as the three lines of the tensor through a cell that the others make much too improbable.
    """
    n_cells, old = cells.mass.shape[0], u.shape[1]
    loss, states = np.empty(n_cells), np.empty((n_cells, 3), np.int32)
    for index in range(cells.parent.shape[0]):
        for cell in range(cells.first[index], cells.first[index + 1]):
            i, j, k = cells.parent[index], cells.left[index], cells.right[cell]
            states[cell, 0], states[cell, 1], states[cell, 2] = i, j, k
            total = _TINY
            for q in range(old):
                total += u[i, q] * v[j, q] * w[k, q]
            loss[cell] = cells.mass[cell] * np.log(cells.mass[cell] / total)
    chosen = np.empty(rank - old, np.int64)
    n = 0
    while n_cells and n < rank - old:
        worst = np.argmax(loss)
        if loss[worst] <= 0:
            break
        chosen[n] = worst
        n += 1
        for other in range(n_cells):
            if (states[other] == states[worst]).sum() >= 2:
                loss[other] = 0
    size = old + n
    new_u, new_v = np.empty((u.shape[0], size), np.float32), np.empty((v.shape[0], size), np.float32)
    new_w = np.empty((w.shape[0], size), np.float32)
    new_u[:, :old], new_v[:, :old], new_w[:, :old] = u, v, w
    if n > 0:
        new_u[:, :old] *= np.float32(0.9)
    pairs = joint.sum(axis=2)
    parent, left, right = pairs.sum(axis=1), pairs.sum(axis=0), joint.sum(axis=1).sum(axis=0)
    for index in range(n):
        i, j, k = states[chosen[index]]
        q = old + index
        new_u[:, q] = np.float32(0.1 / n) * _blend(joint[:, j, k], parent)
        new_v[:, q] = _blend(joint[i, :, k], left)
        new_w[:, q] = _blend(joint[i, j, :], right)
    return new_u, new_v, new_w


@kernel
def _blend(line, marginal):
    """Return a distribution near `line` that rules out no state."""
    return np.float32(0.9) * line / line.sum() + np.float32(0.1) * marginal


@order_free_kernel
def shared_counts(cells, weight, matrices, counts):
    """Set `counts` to how often each product is drawn with each state when all rules share u, v, w (states of all symbols, rank).

    `cells` are :class:`SharedCells`; `weight` is that of each rule. Returns the divergence from the cells to the products.
    """
    rule, parent, left, right, mass = cells
    u, v, w = matrices
    new_u, new_v, new_w = counts
    rank = np.uintp(u.shape[1])
    drawn = np.empty(rank, np.float32)
    new_u[:], new_v[:], new_w[:] = 0, 0, 0
    divergence = 0.0
    for cell in range(mass.shape[0]):
        i, j, k = np.uintp(parent[cell]), np.uintp(left[cell]), np.uintp(right[cell])
        total = _TINY
        for q in range(rank):
            drawn[q] = u[i, q] * v[j, q] * w[k, q]
            total += drawn[q]
        divergence += mass[cell] * np.log(mass[cell] / max(weight[rule[cell]] * total, _TINY))
        factor = mass[cell] / total
        for q in range(rank):
            count = factor * drawn[q]
            new_u[i, q] += count
            new_v[j, q] += count
            new_w[k, q] += count
    return divergence


@kernel
def alternating_least_squares(block, u, v, w, ridge, steps, tolerance):
    """Fit products to a tensor in place, least squares in u (rank, m_parent), v (rank, m_left), w (rank, m_right) by turns.

    Stops when the squared error falls by less than `tolerance` of itself in a round, or is nothing but rounding. Returns the squared error.
    """
    a, b, c = block.shape
    rank = u.shape[0]
    flat = block.reshape(a * b, c)
    by_pair = np.ascontiguousarray(flat.T)
    norm = (flat * flat).sum()
    products = np.empty((rank, a * b))
    before = np.inf
    for _ in range(steps):
        # What remains when w is contracted serves both u and v.
        rest = np.dot(w, by_pair)
        target = np.zeros((rank, a))
        for q in range(rank):
            for i in range(a):
                for j in range(b):
                    target[q, i] += rest[q, i * b + j] * v[q, j]
        _solve(v, w, ridge, target, u)
        target = np.zeros((rank, b))
        for q in range(rank):
            for i in range(a):
                for j in range(b):
                    target[q, j] += rest[q, i * b + j] * u[q, i]
        _solve(u, w, ridge, target, v)
        for q in range(rank):
            for i in range(a):
                for j in range(b):
                    products[q, i * b + j] = u[q, i] * v[q, j]
        target = np.dot(products, flat)
        _solve(u, v, ridge, target, w)
        # The error comes out of the last solution: |T|^2 - 2 <T, T'> + |T'|^2.
        squares = (np.dot(u, u.T) * np.dot(v, v.T) * np.dot(w, w.T)).sum()
        error = max(norm - 2 * (w * target).sum() + squares, 0.0)
        if before - error <= tolerance * error or error <= 1e-14 * norm:
            break
        before = error
    return error


@kernel
def _solve(x, y, ridge, target, out):
    """Solve the normal equations of least squares for one factor, `x` and `y` being the other two."""
    rank = x.shape[0]
    gram = np.dot(x, x.T) * np.dot(y, y.T)
    scale = np.trace(gram) / rank
    for q in range(rank):
        gram[q, q] += ridge * scale + 1e-300
    out[:] = np.linalg.solve(gram, target)


@kernel
def errors(block, weight, other):
    """Compare a tensor with another one, rows weighted by `weight`.

    Returns the squared error, the weighted squared error and squared norm, the weighted mass, and the divergence of the
    weighted tensors times that mass (meaningless where numbers are negative).
    """
    plain, weighted, norm, mass, divergence = 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(block.shape[0]):
        row_plain, row_norm = 0.0, 0.0
        for j in range(block.shape[1]):
            value, difference = np.float64(block[i, j]), np.float64(block[i, j]) - other[i, j]
            row_plain += difference * difference
            row_norm += value * value
            if value > 0:
                mass += weight[i] * value
                divergence += weight[i] * value * np.log(value / max(np.float64(other[i, j]), 1e-30))
        plain += row_plain
        weighted += weight[i] * row_plain
        norm += weight[i] * row_norm
    return plain, weighted, norm, mass, divergence
