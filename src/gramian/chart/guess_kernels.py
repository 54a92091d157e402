"""Guesses of what stands around a symbol, for the beam of the coarse chart."""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import numpy as np

from gramian.chart.coarse_arrays import Guesses
from gramian.kernels import kernel


@kernel
def outside_guesses(tags, g):
    """Guess what stands around each symbol from a chain of tags (Caraballo & Charniak 1998).

    Guesses are the chance of a symbol to begin / end at a position, given the words before / after it; divided by the probability of all
    words, which both scales share.
    """
    n_phrases, n_tags = g.n_symbols - g.before.shape[0] + 1, g.before.shape[0] - 1
    share = np.zeros(n_tags, np.float64)
    for row in range(n_tags + 1):
        for tag in range(n_tags):
            share[tag] += g.before[row, n_phrases + tag]
    before, before_scale = _chain(tags, g.before, share, n_phrases, 1)
    after, after_scale = _chain(tags, g.after, np.ones(n_tags, np.float64), n_phrases, -1)
    total = 0.0
    for tag in range(tags.start[0], tags.start[1]):
        total += before[0, tags.symbol[tag]] * tags.score[tag] * after[1, tags.symbol[tag]]
    if total > 0:
        shift = np.log(total) + after_scale[1]
        for position in range(after_scale.shape[0]):
            after_scale[position] -= shift
    return Guesses(before, after, before_scale, after_scale)


@kernel
def _chain(tags, table, share, n_phrases, step):
    """Return a chance for every position and symbol, from the first position on (`step` 1) or from the last (-1), and its scale."""
    n, n_symbols = tags.start.shape[0] - 1, table.shape[1]
    chance, scale = np.zeros((n + 1, n_symbols), np.float64), np.zeros(n + 1, np.float64)
    position = 0 if step > 0 else n
    out, row = chance[position], table[table.shape[0] - 1]
    for i in range(n_symbols):
        out[i] = row[i]
    for _ in range(n):
        known, position = position, position + step
        word = min(known, position)
        total = 0.0
        out = chance[position]
        for tag in range(tags.start[word], tags.start[word + 1]):
            symbol = tags.symbol[tag]
            weight = tags.score[tag] * chance[known, symbol]
            total += weight
            rate = weight / share[symbol - n_phrases] if share[symbol - n_phrases] > 0 else 0.0
            row = table[symbol - n_phrases]
            for i in range(n_symbols):
                out[i] += rate * row[i]
        scale[position] = scale[known]
        if total > 0:
            for i in range(n_symbols):
                out[i] /= total
            scale[position] += np.log(total)
    return chance, scale
