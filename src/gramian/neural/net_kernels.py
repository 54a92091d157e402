"""Numba kernels of the net: LSTM states in both directions, the layer over spans with its gradients, and sums over binary trees.

A sentence's step is a product of a vector and a matrix that does not fit the first cache, so that reading the matrix is what takes
time; rows are read four at a time. The hyperbolic tangent is a quotient of polynomials, right to 1e-6, since calls of the library's
would not run in vectors.
"""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import numpy as np

from gramian.kernels import inlined_kernel, kernel, order_free_kernel

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


@order_free_kernel
def span_layer_forward(left, right, scale, shift, noise, limit):
    """Return what the layer says about each span, shape (n_sentences, n_cells, hidden), and of each span its mean and its factor.

    `left` and `right` float32 (n_sentences, n + 1, hidden) are of fenceposts; their sum is brought to mean 0 and variance 1, scaled,
    shifted, and cut at 0. Units whose `noise`, uint8 of the same size as the result, is below `limit` are left out.
    """
    n_sentences, n, hidden = left.shape[0], left.shape[1] - 1, left.shape[2]
    out = np.empty((n_sentences, n * (n + 1) // 2, hidden), np.float32)
    moments = np.empty((n_sentences, out.shape[1], 2), np.float32)
    dropout_scale = _F(256) / _F(256 - limit)
    for sentence in range(n_sentences):
        cell = 0
        for width in range(1, n + 1):
            for start in range(n - width + 1):
                row, left_row, right_row = (
                    out[sentence, cell],
                    left[sentence, start],
                    right[sentence, start + width],
                )
                total, squares = _F(0), _F(0)
                for unit in range(hidden):
                    row[unit] = left_row[unit] + right_row[unit]
                    total += row[unit]
                mean = total / _F(hidden)
                for unit in range(hidden):
                    squares += (row[unit] - mean) * (row[unit] - mean)
                factor = _F(1) / np.sqrt(squares / _F(hidden) + _F(1e-5))
                moments[sentence, cell, 0], moments[sentence, cell, 1] = mean, factor
                for unit in range(hidden):
                    row[unit] = max(_F(0), (row[unit] - mean) * factor * scale[unit] + shift[unit])
                if limit > 0:
                    random_row = noise[sentence, cell]
                    for unit in range(hidden):
                        row[unit] = row[unit] * dropout_scale if random_row[unit] >= limit else _F(0)
                cell += 1
    return out, moments


@order_free_kernel
def span_layer_backward(gradient, out, moments, left, right, scale, limit):
    """Return the gradients of `left`, `right`, `scale` and `shift` from that of the result."""
    n_sentences, n, hidden = left.shape[0], left.shape[1] - 1, left.shape[2]
    to_left, to_right = np.zeros_like(left), np.zeros_like(right)
    to_scale, to_shift = np.zeros_like(scale), np.zeros_like(scale)
    normal, slope = np.empty(hidden, np.float32), np.empty(hidden, np.float32)
    dropout_scale = _F(256) / _F(256 - limit)
    for sentence in range(n_sentences):
        cell = 0
        for width in range(1, n + 1):
            for start in range(n - width + 1):
                row, incoming = out[sentence, cell], gradient[sentence, cell]
                left_row, right_row = left[sentence, start], right[sentence, start + width]
                mean, factor = moments[sentence, cell, 0], moments[sentence, cell, 1]
                total, along = _F(0), _F(0)
                for unit in range(hidden):
                    normal[unit] = (left_row[unit] + right_row[unit] - mean) * factor
                    passed = dropout_scale * incoming[unit] if row[unit] > 0 else _F(0)
                    to_scale[unit] += passed * normal[unit]
                    to_shift[unit] += passed
                    slope[unit] = passed * scale[unit]
                    total += slope[unit]
                    along += slope[unit] * normal[unit]
                total, along = total / _F(hidden), along / _F(hidden)
                left_gradient, right_gradient = to_left[sentence, start], to_right[sentence, start + width]
                for unit in range(hidden):
                    change = factor * (slope[unit] - total - normal[unit] * along)
                    left_gradient[unit] += change
                    right_gradient[unit] += change
                cell += 1
    return to_left, to_right, to_scale, to_shift


@kernel
def span_marginals(scores, n):
    """Return the logarithm of the sum over binary trees, and the probability of each span, shape (n_cells,)."""
    inside = np.empty((n + 1, n + 1))  # by start and end
    outside = np.zeros((n + 1, n + 1))  # first the sums of splits, then probabilities
    cell = 0
    for width in range(1, n + 1):
        for start in range(n - width + 1):
            end = start + width
            total = 0.0
            if width > 1:
                highest = -np.inf
                for middle in range(start + 1, end):
                    highest = max(highest, inside[start, middle] + inside[middle, end])
                for middle in range(start + 1, end):
                    total += np.exp(inside[start, middle] + inside[middle, end] - highest)
                total = highest + np.log(total)
            inside[start, end] = total + scores[cell]
            outside[end, start] = total  # the half below the diagonal keeps the sums of splits
            cell += 1
    probability = np.empty(scores.shape[0])
    outside[0, n] = 1.0
    for width in range(n, 0, -1):
        cell -= n - width + 1
        for start in range(n - width + 1):
            end = start + width
            posterior = outside[start, end]
            probability[cell + start] = posterior
            if posterior > 1e-12:
                for middle in range(start + 1, end):
                    share = posterior * np.exp(
                        inside[start, middle] + inside[middle, end] - outside[end, start]
                    )
                    outside[start, middle] += share
                    outside[middle, end] += share
    return inside[0, n], probability


@kernel
def best_spans(worth, n):
    """Return the cells of the binary tree whose spans are worth most, shape (2 * n - 1,), parents before children."""
    best = np.empty((n + 1, n + 1))
    choice = np.zeros((n + 1, n + 1), np.int32)
    cell = 0
    for width in range(1, n + 1):
        for start in range(n - width + 1):
            end = start + width
            highest = 0.0
            if width > 1:
                highest = -np.inf
                for middle in range(start + 1, end):
                    value = best[start, middle] + best[middle, end]
                    if value > highest:
                        highest = value
                        choice[start, end] = middle
            best[start, end] = highest + worth[cell]
            cell += 1
    cells = np.empty(2 * n - 1, np.int32)
    stack = np.empty((n + 1, 2), np.int32)
    stack[0, 0], stack[0, 1] = 0, n
    stack_size, n_found = 1, 0
    while stack_size > 0:
        stack_size -= 1
        start, end = stack[stack_size]
        width = end - start
        cells[n_found] = (width - 1) * (2 * n - width + 2) // 2 + start
        n_found += 1
        if width > 1:
            middle = choice[start, end]
            stack[stack_size, 0], stack[stack_size, 1] = middle, end
            stack[stack_size + 1, 0], stack[stack_size + 1, 1] = start, middle
            stack_size += 2
    return cells
