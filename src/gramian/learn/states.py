"""How many states each symbol gets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from gramian.errors import OptionError

__all__ = ["Allocation", "States", "allocate_states"]

Allocation: TypeAlias = Literal["root", "frequency", "all"]

States: TypeAlias = int | Mapping[str, int]
"""The most states of a symbol, or the number of each, by the names that reports have; symbols that are not named get one."""


def allocate_states(
    counts: npt.NDArray[np.int64], states: int, allocation: Allocation = "root", growth: float = 0.25
) -> npt.NDArray[np.int32]:
    """Return the number of states of each symbol.

    Parameters
    ----------
    counts : ndarray of int, shape (n_symbols,)
        How often each symbol occurs.
    states : int
        The most any symbol gets.
    allocation : {"root", "frequency", "all"}
        ``"root"``: `growth` times the square root of the count. ``"frequency"``: one up to 50 occurrences, all from 500 on, linear between
        (Narayan and Cohen 2015). ``"all"``: every symbol gets `states`.
    growth : float

    Examples
    --------
    >>> allocate_states(np.array([5, 400, 10_000, 90_000]), 32).tolist()
    [1, 5, 25, 32]
    >>> allocate_states(np.array([5, 400, 10_000, 90_000]), 32, "frequency").tolist()
    [1, 25, 32, 32]
    """
    if states < 1:
        raise OptionError(f"states is 1 or more, not {states!r}")
    count = np.asarray(counts, np.float64)
    if allocation == "all":
        number = np.full(len(count), states)
    elif allocation == "frequency":
        number = np.ceil((count - 50) / (450 / max(states - 2, 1))) + 1
        number = np.where(count <= 50, 1, np.where(count >= 500, states, number))
    elif allocation == "root":
        number = np.minimum(np.rint(growth * np.sqrt(count)), count // 10)
    else:
        raise OptionError(f"allocation is 'root', 'frequency' or 'all', not {allocation!r}")
    return np.clip(number, 1, states).astype(np.int32)
