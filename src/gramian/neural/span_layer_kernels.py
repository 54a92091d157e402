"""Numba kernels of the layer over spans, forward and back: of a batch of sentences, for learning on a CPU.

What torch does in a dozen steps over all spans is done here in one, and nothing is kept of a span but its mean and its factor.
"""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import numpy as np

from gramian.kernels import order_free_kernel

_F = np.float32


@order_free_kernel
def forward(left, right, scale, shift, noise, limit):
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
def backward(gradient, out, moments, left, right, scale, limit):
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
