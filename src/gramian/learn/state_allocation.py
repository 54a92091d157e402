"""How many states each symbol gets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from gramian.treebank.productions import Counts
from gramian.value_types import Either, MappingOf, Number, OneOf, Whole, check_value

Allocation: TypeAlias = Literal["root", "frequency", "all"]

States: TypeAlias = int | Mapping[str, int]
"""The most states of a symbol, or the number of each, by the names that reports have; symbols that are not named get one."""

STATES = Either(Whole(1), MappingOf(Whole(1)))
ALLOCATION = OneOf(*get_args(Allocation))
GROWTH = Number(0)


def allocate_states(
    counts: Counts, n_states: int, allocation: Allocation = "root", growth: float = 0.25
) -> npt.NDArray[np.int32]:
    """Return the number of states of each symbol, at most `n_states`, given how often it occurs.

    ``"root"``: `growth` times the square root of the count. ``"frequency"``: one up to 50 occurrences, all from 500 on, linear between
    (Narayan and Cohen 2015). ``"all"``: every symbol gets `n_states`.
    """
    check_value("n_states", n_states, STATES)
    check_value("allocation", allocation, ALLOCATION)
    check_value("growth", growth, GROWTH)
    count = np.asarray(counts, np.float64)
    if allocation == "all":
        number = np.full(len(count), n_states)
    elif allocation == "frequency":
        number = np.ceil((count - 50) / (450 / max(n_states - 2, 1))) + 1
        number = np.where(count <= 50, 1, np.where(count >= 500, n_states, number))
    else:
        number = np.minimum(np.rint(growth * np.sqrt(count)), count // 10)
    return np.clip(number, 1, n_states).astype(np.int32)
