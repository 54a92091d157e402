"""Model files of span CRFs: safetensors whose metadata hold one JSON header.

Weights are rounded to half precision, and zeros are left out. Loading runs no code from the file, checks it against
its checksum, and makes no array larger than the file stands for.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from gramian import __version__
from gramian.errors import ModelFileError
from gramian.io.tensors import checksum, pack_weights, unpack_weights, write_tensors
from gramian.loglinear.span_model import SpanModel

__all__ = ["load", "pack", "save", "unpack"]

_KEY = "gramian-span-crf"
_VERSION = 1
_TABLES = ("tag_weights", "weights")
_HINT = "try: a file that gramian.loglinear.save wrote"

Tensors: TypeAlias = dict[str, npt.NDArray[Any]]


def pack(model: SpanModel) -> Tensors:
    """Return a model as named arrays of few bytes; :func:`unpack` is the inverse, up to rounding to 16 bits."""
    tensors: Tensors = {"n_phrases": np.array([model.n_phrases], np.int32)}
    for name in ("symbols", "frequent"):
        tensors[name] = np.frombuffer("\0".join(getattr(model, name)).encode(), np.uint8)
    for name in _TABLES:
        tensors |= pack_weights(name, getattr(model, name))
    return tensors


def unpack(tensors: Tensors) -> SpanModel:
    """Return the model that arrays stand for.

    Raises
    ------
    LookupError, TypeError, ValueError
        If they stand for none.
    """
    (n_phrases,) = tensors["n_phrases"].tolist()
    if not isinstance(n_phrases, int):
        raise TypeError(f"{n_phrases!r} phrases")
    symbols, frequent = (
        tuple(bytes(tensors[name]).decode().split("\0")) if tensors[name].size else ()
        for name in ("symbols", "frequent")
    )
    if not 0 < n_phrases < len(symbols) <= 1024:
        raise ValueError(f"{n_phrases} phrases among {len(symbols)} symbols")
    return SpanModel(symbols, n_phrases, frequent, *(unpack_weights(tensors, name) for name in _TABLES))


def save(model: SpanModel, path: str | os.PathLike[str]) -> None:
    """Write a model file, whole or not at all; equal models give equal bytes.

    Raises
    ------
    gramian.errors.ModelFileError
        If the file cannot be written.
    """
    tensors = pack(model)
    header = {"version": _VERSION, "gramian": __version__, "checksum": checksum(None, tensors)}
    write_tensors(path, tensors, _KEY, json.dumps(header, sort_keys=True))


def load(path: str | os.PathLike[str]) -> SpanModel:
    """Read a model file.

    Raises
    ------
    gramian.errors.ModelFileError
        If it is missing, damaged, no span CRF, or of a newer format.
    """
    from safetensors import SafetensorError, safe_open

    if not Path(path).is_file():
        raise ModelFileError(f"{path}: there is no such model file; {_HINT}")
    try:
        with safe_open(os.fspath(path), framework="numpy") as file:
            header = json.loads((file.metadata() or {})[_KEY])
            tensors: Tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
        version, stored = int(header["version"]), header["checksum"]
    except (SafetensorError, OSError, LookupError, TypeError, ValueError, OverflowError, RecursionError):
        raise ModelFileError(f"{path}: not a span CRF of gramian, or cut short; {_HINT}") from None
    if version > _VERSION:
        raise ModelFileError(
            f"{path}: the model has format {version}, this gramian ({__version__}) reads up to {_VERSION};"
            " try: pip install --upgrade gramian"
        )
    if stored != checksum(None, tensors):
        raise ModelFileError(
            f"{path}: the model file is damaged (its checksum differs); try: copying it again"
        )
    try:
        return unpack(tensors)
    except (LookupError, TypeError, ValueError) as error:
        raise ModelFileError(
            f"{path}: the file holds no model this gramian ({__version__}) can use: {error}"
        ) from None
