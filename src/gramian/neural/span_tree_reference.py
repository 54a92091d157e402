"""Sums over binary trees as the equations have them: plain Python, slow, readable, the oracle of torch and of the kernels."""

import numpy as np
import numpy.typing as npt

from gramian.neural.span_inventory import cell

Floats = npt.NDArray[np.float64]


def span_marginals(scores: Floats, n_words: int) -> tuple[float, Floats]:
    """Return the logarithm of the sum over binary trees, and the probability of each span."""
    inside, outside = np.full(len(scores), -np.inf), np.full(len(scores), -np.inf)
    spans = [
        (start, start + width) for width in range(1, n_words + 1) for start in range(n_words - width + 1)
    ]

    def at(start: int, end: int) -> int:
        return cell(n_words, start, end)

    for start, end in spans:
        ways = [inside[at(start, middle)] + inside[at(middle, end)] for middle in range(start + 1, end)]
        inside[at(start, end)] = scores[at(start, end)] + (np.logaddexp.reduce(ways) if ways else 0.0)
    outside[at(0, n_words)] = 0.0
    for start, end in reversed(spans):
        above = outside[at(start, end)] + scores[at(start, end)]
        for middle in range(start + 1, end):
            left, right = at(start, middle), at(middle, end)
            outside[left] = np.logaddexp(outside[left], above + inside[right])
            outside[right] = np.logaddexp(outside[right], above + inside[left])
    total = float(inside[at(0, n_words)])
    return total, np.exp(inside + outside - total)
