"""Numba kernels of the net's forward pass: LSTM states in both directions.

A sentence's step is a product of a vector and a matrix that does not fit the first cache, so that reading the matrix is what takes
time; rows are read four at a time. The hyperbolic tangent is a quotient of polynomials, right to 1e-6, since calls of the library's
would not run in vectors.
"""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import numpy as np

from gramian.jit import inlined_kernel, order_free_kernel

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
    for place in range(values.shape[0]):
        out[place] = _tanh(values[place])
    return out


@order_free_kernel
def project(inputs, weights, bias):
    """Return ``inputs @ weights + bias``, float32; a row of it does not depend on which others there are, as in a library's product."""
    n, whole = inputs.shape[0], inputs.shape[1] // 4 * 4
    out = np.empty((n, weights.shape[1]), np.float32)
    for row in range(n):
        for column in range(out.shape[1]):
            out[row, column] = bias[column]
    for unit in range(0, whole, 4):
        w0, w1, w2, w3 = weights[unit], weights[unit + 1], weights[unit + 2], weights[unit + 3]
        for row in range(n):
            x0, x1, x2, x3 = inputs[row, unit : unit + 4]
            mine = out[row]
            for column in range(mine.shape[0]):
                mine[column] += x0 * w0[column] + x1 * w1[column] + x2 * w2[column] + x3 * w3[column]
    for unit in range(whole, inputs.shape[1]):
        for row in range(n):
            for column in range(out.shape[1]):
                out[row, column] += inputs[row, unit] * weights[unit, column]
    return out


@order_free_kernel
def lstm_states(gates, first, forward, backward):
    """Return the states of a bidirectional LSTM, shape (n, 2 * units); gates in torch's order: in, forget, cell, out.

    `gates` float32 (n, 8 * units) holds what the inputs add to the gates, both directions side by side, and is overwritten; `forward` and
    `backward` float32 (units, 4 * units) are the weights between states. Rows ``first[k]`` to ``first[k + 1]`` are one sequence, such
    as a sentence or a word's characters; what comes out for one does not depend on the others.
    """
    n, units, many = gates.shape[0], forward.shape[0], first.shape[0] - 1
    states = np.zeros((n, 2 * units), np.float32)
    cells = np.empty((many, units), np.float32)
    longest, whole = 0, units // 4 * 4
    for one in range(many):
        longest = max(longest, first[one + 1] - first[one])
    for side in range(2):
        weights = forward if side == 0 else backward
        low, back = side * units, 1 if side == 0 else -1
        cells[:] = 0
        for step in range(longest):
            for unit in range(0, whole if step > 0 else 0, 4):
                w0, w1, w2, w3 = weights[unit], weights[unit + 1], weights[unit + 2], weights[unit + 3]
                for one in range(many):
                    if first[one] + step < first[one + 1]:
                        place = first[one] + step if side == 0 else first[one + 1] - 1 - step
                        h0, h1, h2, h3 = states[place - back, low + unit : low + unit + 4]
                        gate = gates[place, 4 * low : 4 * (low + units)]
                        for column in range(4 * units):
                            gate[column] += (
                                h0 * w0[column] + h1 * w1[column] + h2 * w2[column] + h3 * w3[column]
                            )
            for one in range(many):
                if first[one] + step >= first[one + 1]:
                    continue
                place = first[one] + step if side == 0 else first[one + 1] - 1 - step
                gate = gates[place, 4 * low : 4 * (low + units)]
                if step > 0:
                    for unit in range(whole, units):
                        for column in range(4 * units):
                            gate[column] += states[place - back, low + unit] * weights[unit, column]
                state, cell = states[place, low : low + units], cells[one]
                for unit in range(units):
                    enter = _HALF + _HALF * _tanh(_HALF * gate[unit])
                    keep = _HALF + _HALF * _tanh(_HALF * gate[units + unit])
                    leave = _HALF + _HALF * _tanh(_HALF * gate[3 * units + unit])
                    cell[unit] = keep * cell[unit] + enter * _tanh(gate[2 * units + unit])
                    state[unit] = leave * _tanh(cell[unit])
    return states
