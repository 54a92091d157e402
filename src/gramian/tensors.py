"""What model files of all kinds share: the checksum over their content, and tables of weights without their zeros."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["checksum", "pack_weights", "unpack_weights"]

Tensors = Mapping[str, npt.NDArray[Any]]


def checksum(header: Mapping[str, Any] | None, tensors: Tensors) -> str:
    """Hash all that a file says, so that no change of it goes unnoticed; of the header, all but its ``"checksum"``.

    Examples
    --------
    >>> one, other = ({"x": np.arange(3, dtype=kind)} for kind in (np.int32, np.int64))
    >>> checksum(None, one) == checksum(None, other), checksum({}, one) == checksum({"checksum": "any"}, one)
    (False, True)
    """
    digest = hashlib.sha256()
    if header is not None:
        rest = {name: value for name, value in header.items() if name != "checksum"}
        digest.update(json.dumps(rest, sort_keys=True).encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype.str} {tensor.shape}\n".encode())
        digest.update(np.ascontiguousarray(tensor).data)
    return f"sha256:{digest.hexdigest()}"


def pack_weights(name: str, weights: npt.NDArray[np.float32]) -> dict[str, npt.NDArray[Any]]:
    """Return a table of weights in half precision, without its zeros, and a mask of where they were.

    Examples
    --------
    >>> packed = pack_weights("w", np.eye(1, 1024, 3, dtype=np.float32)[0])
    >>> len(packed["w"]), int(unpack_weights(packed, "w").argmax())
    (1, 3)
    """
    rounded = weights.astype(np.float16)
    return {f"{name}.mask": np.packbits(rounded != 0), name: rounded[rounded != 0]}


def unpack_weights(tensors: Tensors, name: str) -> npt.NDArray[np.float32]:
    """Return the table that :func:`pack_weights` made; ValueError if it is none that kernels can index without looking."""
    present = np.unpackbits(tensors[f"{name}.mask"]).view(np.bool_)
    if present.ndim != 1 or present.size < 1024 or present.size & (present.size - 1):
        raise ValueError(f"{name} has {present.size} slots")
    table = np.zeros(present.size, np.float32)
    table[present] = tensors[name]
    if not np.isfinite(table).all():
        raise ValueError(f"{name} are not all numbers")
    return table
