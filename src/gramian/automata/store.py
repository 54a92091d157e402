"""Model files of sequence models: safetensors with one JSON header.

A file is written in one rename, and reading it runs no code.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.errors import ModelFileError

__all__ = ["read_model", "write_model"]

_VERSION = 1
_KEY = "gramian-automata"


def write_model(
    path: str | os.PathLike[str], kind: str, header: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]
) -> None:
    """Write `arrays` and the JSON-able `header` under `kind`; the file appears whole or not at all."""
    from safetensors.numpy import save

    # One metadata key only: safetensors does not keep the order of several, and equal models give equal
    # bytes.
    text = json.dumps({"kind": kind, "version": _VERSION, **header}, sort_keys=True)
    data = save({name: np.ascontiguousarray(array) for name, array in arrays.items()}, {_KEY: text})
    target = Path(path)
    try:
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    except OSError as error:
        raise ModelFileError(
            f"{target}: cannot write here ({error.strerror}); try: another folder"
        ) from error
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


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
    except (SafetensorError, OSError, KeyError, ValueError) as error:
        raise ModelFileError(f"{path}: not a gramian automaton, or damaged; {hint}") from error
    if not isinstance(header, dict) or not isinstance(header.get("kind"), str):
        raise ModelFileError(f"{path}: not a gramian automaton, or damaged; {hint}")
    if header.get("version") != _VERSION:
        raise ModelFileError(
            f"{path}: format version {header.get('version')}, this gramian reads {_VERSION}; try: upgrading"
        )
    if kind is not None and header["kind"] != kind:
        raise ModelFileError(f"{path}: holds a {header['kind']}, not a {kind}; try: load_sequence_model")
    return header, arrays
