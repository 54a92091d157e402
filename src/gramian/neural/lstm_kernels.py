"""Numba kernels of the net's forward pass: LSTM states in both directions.

A sentence's step is a product of a vector and a matrix that does not fit the first cache, so that reading the matrix is what takes
time; rows are read four at a time. The hyperbolic tangent is a quotient of polynomials, right to 1e-6, since calls of the library's
would not run in vectors.
"""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import numpy as np

from gramian.kernels import inlined_kernel, order_free_kernel

_F = np.float32
_LARGEST = _F(7.9)
_A1, _A3, _A5, _A7 = (
    _F(4.89352455891786e-3),
    _F(6.37261928875436e-4),
    _F(1.48572235717979e-5),
    _F(5.12229709037114e-8),
)
_A9, _A11, _A13 = _F(-8.60467152213735e-11), _F(2.00018790482477e-13), _F(-2.76076847742355e-16)
_B0, _B2, _B4, _B6 = (
    _F(4.89352518554385e-3),
    _F(2.26843463243900e-3),
    _F(1.18534705686654e-4),
    _F(1.19825839466702e-6),
)
_HALF = _F(0.5)
_ZERO, _ONE, _TWO, _THREE, _FOUR = (np.uintp(n) for n in range(5))


@inlined_kernel
def _tanh(x):
    x = min(max(x, -_LARGEST), _LARGEST)
    y = x * x
    above = x * (_A1 + y * (_A3 + y * (_A5 + y * (_A7 + y * (_A9 + y * (_A11 + y * _A13))))))
    return above / (_B0 + y * (_B2 + y * (_B4 + y * _B6)))


@order_free_kernel
def tanh(values):
    """Return the hyperbolic tangent of an array of float32."""
    out = np.empty_like(values)
    for index in range(values.shape[0]):
        out[index] = _tanh(values[index])
    return out


@inlined_kernel
def _add_products(x, p, q, weights, w, size, out, first):
    """Add the products of four numbers of two rows, at `p` and `q`, with four rows of weights to two rows of `out`.

    Always two rows, so that one has the same sums beside others as alone.
    """
    x0, x1, x2, x3 = x[p], x[p + _ONE], x[p + _TWO], x[p + _THREE]
    y0, y1, y2, y3 = x[q], x[q + _ONE], x[q + _TWO], x[q + _THREE]
    w1, w2, w3, second = w + size, w + _TWO * size, w + _THREE * size, first + size
    for column in range(size):
        v0, v1, v2, v3 = weights[w + column], weights[w1 + column], weights[w2 + column], weights[w3 + column]
        out[first + column] += x0 * v0 + x1 * v1 + x2 * v2 + x3 * v3
        out[second + column] += y0 * v0 + y1 * v1 + y2 * v2 + y3 * v3


@order_free_kernel
def project(inputs, weights, bias, out):
    """Return ``inputs @ weights + bias``, float32; a row of it does not depend on which others there are, as in a library's product.

    It lies in `out`, which has room for one row more.
    """
    n, width, size = np.uintp(inputs.shape[0]), np.uintp(inputs.shape[1]), np.uintp(weights.shape[1])
    x, table, n_unrolled = inputs.reshape(-1), weights.reshape(-1), width // _FOUR * _FOUR
    for row in range(n + _ONE):
        for column in range(size):
            out[row * size + column] = bias[column]
    for unit in range(_ZERO, n_unrolled, _FOUR):
        for row in range(_ZERO, n, _TWO):
            next_row = min(row + _ONE, n - _ONE)
            _add_products(
                x, row * width + unit, next_row * width + unit, table, unit * size, size, out, row * size
            )
    for unit in range(n_unrolled, width):
        for row in range(n):
            value = x[row * width + unit]
            for column in range(size):
                out[row * size + column] += value * table[unit * size + column]
    return out[: n * size].reshape(inputs.shape[0], weights.shape[1])


@order_free_kernel
def lstm_states(gates, bounds, forward, backward):
    """Return the states of a bidirectional LSTM, shape (n, 2 * units); gates in torch's order: in, forget, cell, out.

    `gates` float32 (n, 8 * units) holds what the inputs add to the gates, both directions side by side; `forward` and
    `backward` float32 (units, 4 * units) are the weights between states. Rows ``first[k]`` to ``first[k + 1]`` are one sequence, such
    as a sentence or a word's characters; what comes out for one does not depend on the others.
    """
    n, units, n_sequences = gates.shape[0], np.uintp(forward.shape[0]), bounds.shape[0] - 1
    size = _FOUR * units
    states, cells = (
        np.zeros(n * 2 * forward.shape[0], np.float32),
        np.empty((n_sequences, forward.shape[0]), np.float32),
    )
    n_unrolled = units // _FOUR * _FOUR
    # Of the sequences that go on: their numbers, rows, and where their states before begin; their gates; and one row more.
    active, rows, before = (
        np.empty(n_sequences, np.int64),
        np.empty(n_sequences, np.int64),
        np.zeros(n_sequences + 1, np.uintp),
    )
    active_gates = np.empty((n_sequences + 1) * 4 * forward.shape[0], np.float32)
    longest = 0
    for sequence in range(n_sequences):
        longest = max(longest, bounds[sequence + 1] - bounds[sequence])
    for reverse in range(2):
        weights = (forward if reverse == 0 else backward).reshape(-1)
        column_start, direction = np.uintp(reverse) * units, 1 if reverse == 0 else -1
        cells[:] = 0
        for step in range(longest):
            count = np.uintp(0)
            for sequence in range(n_sequences):
                if bounds[sequence] + step < bounds[sequence + 1]:
                    row = bounds[sequence] + step if reverse == 0 else bounds[sequence + 1] - 1 - step
                    active[count], rows[count] = sequence, row
                    before[count] = (
                        np.uintp((row - direction) if step > 0 else row) * _TWO * units + column_start
                    )
                    gate = gates[row]
                    for column in range(size):
                        active_gates[count * size + column] = gate[_FOUR * column_start + column]
                    count += _ONE
            if step > 0:
                before[count] = before[0]
                for unit in range(_ZERO, n_unrolled, _FOUR):
                    for row in range(_ZERO, count, _TWO):
                        p, q = before[row] + unit, before[row + _ONE] + unit
                        _add_products(states, p, q, weights, unit * size, size, active_gates, row * size)
                for unit in range(n_unrolled, units):
                    for row in range(count):
                        x0 = states[before[row] + unit]
                        for column in range(size):
                            active_gates[row * size + column] += x0 * weights[unit * size + column]
            for row in range(count):
                cell, offset = cells[active[row]], row * size
                target = np.uintp(rows[row]) * _TWO * units + column_start
                for unit in range(units):
                    input_gate = _HALF + _HALF * _tanh(_HALF * active_gates[offset + unit])
                    forget_gate = _HALF + _HALF * _tanh(_HALF * active_gates[offset + units + unit])
                    output_gate = _HALF + _HALF * _tanh(_HALF * active_gates[offset + _THREE * units + unit])
                    cell[unit] = forget_gate * cell[unit] + input_gate * _tanh(
                        active_gates[offset + _TWO * units + unit]
                    )
                    states[target + unit] = output_gate * _tanh(cell[unit])
    return states.reshape(n, 2 * forward.shape[0])
