"""Model files of sequence models and dependency parsers: safetensors with one JSON header.

A file is written in one rename; reading it runs no code, and checks it against its checksum. Files of version 1 have none.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.errors import ModelFileError
from gramian.io.tensors import checksum, write_tensors

__all__ = ["read_model", "write_model"]

_VERSION = 2
_LARGEST = 1e100  # products of weights stay finite
_KEY = "gramian-automata"


def write_model(
    path: str | os.PathLike[str], kind: str, header: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]
) -> None:
    """Write `arrays` and the JSON-able `header` under `kind`; the file appears whole or not at all."""
    about = {"kind": kind, "version": _VERSION, **header}
    tensors = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    about["checksum"] = checksum(about, tensors)
    write_tensors(path, tensors, _KEY, json.dumps(about, sort_keys=True))


def read_model(
    path: str | os.PathLike[str], kind: str | None = None
) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """Return the header and the arrays of a file that :func:`write_model` wrote, if it holds a `kind`."""
    from safetensors import SafetensorError, safe_open

    hint = "try: a file that 'gramian wfa train' wrote"
    if not Path(path).is_file():
        raise ModelFileError(f"{path}: no such model file; {hint}")
    try:
        with safe_open(os.fspath(path), framework="numpy") as file:
            metadata = file.metadata() or {}
            header = json.loads(metadata[_KEY])
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
    except (SafetensorError, OSError, LookupError, TypeError, ValueError, RecursionError) as error:
        raise ModelFileError(f"{path}: not a gramian automaton, or damaged; {hint}") from error
    symbols = header.get("alphabet", []) if isinstance(header, dict) else None
    named = isinstance(symbols, list) and all(type(symbol) in (str, int) for symbol in symbols)
    if not named or not isinstance(header.get("kind"), str):
        raise ModelFileError(f"{path}: not a gramian automaton, or damaged; {hint}")
    version = header.get("version")
    if type(version) is not int or not 1 <= version <= _VERSION:
        raise ModelFileError(
            f"{path}: format version {version}, this gramian reads up to {_VERSION}; try: upgrading"
        )
    if version > 1 and header.get("checksum") != checksum(header, arrays):
        raise ModelFileError(
            f"{path}: the model file is damaged (its checksum differs); try: copying it again"
        )
    for name, array in arrays.items():
        if array.dtype.kind not in "fiu" or not (np.abs(array, dtype=np.float64) <= _LARGEST).all():
            raise ModelFileError(
                f"{path}: {name} is not made of numbers to compute with; try: training the model again"
            )
    if kind is not None and header["kind"] != kind:
        raise ModelFileError(f"{path}: holds a {header['kind']}, not a {kind}; try: load_sequence_model")
    return header, arrays
