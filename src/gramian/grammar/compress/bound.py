"""What the errors of rule tensors may do to probabilities at worst: Theorem 4.2 of Cohen and Collins (2012)."""

from dataclasses import dataclass
from math import log, sqrt

from gramian.errors import OptionError


@dataclass(frozen=True)
class Guarantee:
    """How large a tree or a sentence may be so that its probability is off by at most `epsilon`.

    0 means that nothing is guaranteed: the bound is very loose.
    """

    epsilon: float
    depth: int  # of a tree, for its probability
    length: int  # of a sentence, for the inside-outside values of its spans


def guarantee(gamma: float, states: int, symbols: int, epsilon: float = 1e-3) -> Guarantee:
    """Return what the theorem guarantees of a grammar with approximate rules, whose symbols have at most so many states.

    `gamma`, the largest Frobenius norm of the error of a rule's tensor, is more than 0: an exact grammar needs no guarantee.

    Examples
    --------
    >>> guarantee(1e-12, states=8, symbols=50, epsilon=1e-3)
    Guarantee(epsilon=0.001, depth=6, length=1)
    """
    if not (gamma > 0 and epsilon > 0):
        raise OptionError(f"gamma and epsilon must be more than 0, got {gamma!r} and {epsilon!r}")
    room = min(-log(gamma) - log(states / epsilon), 1 - log(gamma))
    per_level = log(2 * (sqrt(states) + 1)) + log(gamma + sqrt(states))
    per_word = per_level + 2 * log(4 * symbols)
    return Guarantee(epsilon, max(int(room / per_level), 0), max(int(room / per_word), 0))
