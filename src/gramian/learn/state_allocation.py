"""How many states each symbol gets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from gramian.treebank.productions import Counts
from gramian.value_types import Constraint, Either, MappingOf, Number, OneOf, Whole, check_value

Allocation: TypeAlias = Literal["root", "frequency", "all"]

States: TypeAlias = int | Mapping[str, int]
"""The most states of a symbol, or the number of each, by the names that reports have; symbols that are not named get one."""

STATE_CONSTRAINTS: dict[str, Constraint] = {
    "n_states": Either(Whole(1), MappingOf(Whole(1))),
    "allocation": OneOf(*get_args(Allocation)),
    "growth": Number(0),
}
"""Of the parameters that say how many states there are."""


def allocate_states(
    counts: Counts, n_states: int, allocation: Allocation = "root", growth: float = 0.25
) -> npt.NDArray[np.int32]:
    """Return the number of states of each symbol, at most `n_states`, given how often it occurs.

    ``"root"``: `growth` times the square root of the count. ``"frequency"``: one up to 50 occurrences, all from 500 on, linear between
    (Narayan and Cohen 2015). ``"all"``: every symbol gets `n_states`.
    """
    for name, value in (("n_states", n_states), ("allocation", allocation), ("growth", growth)):
        check_value(name, value, STATE_CONSTRAINTS[name])
    count = np.asarray(counts, np.float64)
    if allocation == "all":
        number = np.full(len(count), n_states)
    elif allocation == "frequency":
        number = np.ceil((count - 50) / (450 / max(n_states - 2, 1))) + 1
        number = np.where(count <= 50, 1, np.where(count >= 500, n_states, number))
    else:
        number = np.minimum(np.rint(growth * np.sqrt(count)), count // 10)
    return np.clip(number, 1, n_states).astype(np.int32)
