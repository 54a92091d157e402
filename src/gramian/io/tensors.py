"""What model files of all kinds share: how they are written, the checksum over their content, and tables of weights without zeros."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.errors import GramianError, ModelFileError
from gramian.io.files import write_bytes

__all__ = ["checksum", "pack_weights", "unpack_weights", "write_tensors"]

Tensors = Mapping[str, npt.NDArray[Any]]


def write_tensors(path: str | os.PathLike[str], tensors: Tensors, key: str, header: str) -> None:
    """Write a safetensors file with one entry of metadata; it appears whole or not at all.

    One only: safetensors does not keep the order of several, and equal models are to give equal bytes.

    Raises
    ------
    gramian.errors.ModelFileError
        If the file cannot be written.
    """
    from safetensors.numpy import save

    data = save(dict(tensors), {key: header})
    try:
        write_bytes(path, data)
    except GramianError as error:
        raise ModelFileError(str(error)) from None
    except OSError as error:
        raise ModelFileError(
            f"{path}: cannot be written ({error.strerror}); try: another name or folder"
        ) from None


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
