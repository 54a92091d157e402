"""Every numba kernel of the automata: plain functions on C-contiguous arrays.

State vectors are rows; ``transitions[s]`` takes the row on its left to the row after symbol ``s``. Symbol -1
has the zero operator. Vectors are rescaled as they go, so that long strings neither underflow nor overflow.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

__all__ = ["score_strings", "state_vectors"]

_SMALL = 1e-100
_LARGE = 1e100


@njit(cache=True, nogil=True)
def _step(vector, matrix, result):  # type: ignore[no-untyped-def]
    """Set result to vector @ matrix, four rows of the matrix at a time."""
    n = vector.shape[0]
    for j in range(n):
        result[j] = 0.0
    whole = n - n % 4
    for i in range(0, whole, 4):
        a, b, c, d = vector[i], vector[i + 1], vector[i + 2], vector[i + 3]
        if a != 0.0 or b != 0.0 or c != 0.0 or d != 0.0:
            for j in range(n):
                result[j] += (
                    a * matrix[i, j] + b * matrix[i + 1, j] + c * matrix[i + 2, j] + d * matrix[i + 3, j]
                )
    for i in range(whole, n):
        a = vector[i]
        if a != 0.0:
            for j in range(n):
                result[j] += a * matrix[i, j]


@njit(cache=True, nogil=True)
def score_strings(initial, final, transitions, symbols, offsets, log_abs, sign):  # type: ignore[no-untyped-def]
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
        if value == 0.0:
            log_abs[row] = -np.inf
            sign[row] = 0.0
        else:
            log_abs[row] = math.log(abs(value)) + log_scale
            sign[row] = 1.0 if value > 0.0 else -1.0


@njit(cache=True, nogil=True)
def state_vectors(initial, total, restart, transitions, symbols, offsets, vectors):  # type: ignore[no-untyped-def]
    """Fill the normalised state row before each symbol and at the end of each string.

    Row ``offsets[i] + i + t`` is the state after ``t`` symbols of string ``i``. A row is divided by its product
    with `total` (the prefix weight); where that is not positive, by its largest absolute entry; where the row
    vanished, it is `restart`.
    """
    n = initial.shape[0]
    row = 0
    for string in range(offsets.shape[0] - 1):
        vectors[row] = initial
        row += 1
        for position in range(offsets[string], offsets[string + 1]):
            symbol = symbols[position]
            if symbol < 0:
                vectors[row] = restart
            else:
                _step(vectors[row - 1], transitions[symbol], vectors[row])
            mass = 0.0
            largest = 0.0
            for i in range(n):
                mass += vectors[row, i] * total[i]
                largest = max(largest, abs(vectors[row, i]))
            if not largest > 0.0 or not np.isfinite(largest):
                vectors[row] = restart
            elif mass > 1e-12 * largest:
                for i in range(n):
                    vectors[row, i] /= mass
            else:
                for i in range(n):
                    vectors[row, i] /= largest
            row += 1
