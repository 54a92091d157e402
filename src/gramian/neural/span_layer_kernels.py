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
    many, n, hidden = left.shape[0], left.shape[1] - 1, left.shape[2]
    out = np.empty((many, n * (n + 1) // 2, hidden), np.float32)
    about = np.empty((many, out.shape[1], 2), np.float32)
    rise = _F(256) / _F(256 - limit)
    for one in range(many):
        place = 0
        for width in range(1, n + 1):
            for start in range(n - width + 1):
                row, here, there = out[one, place], left[one, start], right[one, start + width]
                total, squares = _F(0), _F(0)
                for unit in range(hidden):
                    row[unit] = here[unit] + there[unit]
                    total += row[unit]
                mean = total / _F(hidden)
                for unit in range(hidden):
                    squares += (row[unit] - mean) * (row[unit] - mean)
                factor = _F(1) / np.sqrt(squares / _F(hidden) + _F(1e-5))
                about[one, place, 0], about[one, place, 1] = mean, factor
                for unit in range(hidden):
                    row[unit] = max(_F(0), (row[unit] - mean) * factor * scale[unit] + shift[unit])
                if limit > 0:
                    drawn = noise[one, place]
                    for unit in range(hidden):
                        row[unit] = row[unit] * rise if drawn[unit] >= limit else _F(0)
                place += 1
    return out, about


@order_free_kernel
def backward(gradient, out, about, left, right, scale, limit):
    """Return the gradients of `left`, `right`, `scale` and `shift` from that of the result."""
    many, n, hidden = left.shape[0], left.shape[1] - 1, left.shape[2]
    to_left, to_right = np.zeros_like(left), np.zeros_like(right)
    to_scale, to_shift = np.zeros_like(scale), np.zeros_like(scale)
    normal, slope = np.empty(hidden, np.float32), np.empty(hidden, np.float32)
    rise = _F(256) / _F(256 - limit)
    for one in range(many):
        place = 0
        for width in range(1, n + 1):
            for start in range(n - width + 1):
                row, given = out[one, place], gradient[one, place]
                here, there = left[one, start], right[one, start + width]
                mean, factor = about[one, place, 0], about[one, place, 1]
                total, along = _F(0), _F(0)
                for unit in range(hidden):
                    normal[unit] = (here[unit] + there[unit] - mean) * factor
                    passed = rise * given[unit] if row[unit] > 0 else _F(0)
                    to_scale[unit] += passed * normal[unit]
                    to_shift[unit] += passed
                    slope[unit] = passed * scale[unit]
                    total += slope[unit]
                    along += slope[unit] * normal[unit]
                total, along = total / _F(hidden), along / _F(hidden)
                back_left, back_right = to_left[one, start], to_right[one, start + width]
                for unit in range(hidden):
                    change = factor * (slope[unit] - total - normal[unit] * along)
                    back_left[unit] += change
                    back_right[unit] += change
                place += 1
    return to_left, to_right, to_scale, to_shift
