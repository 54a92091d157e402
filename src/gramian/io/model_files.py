"""Model files of every kind: safetensors whose metadata hold one JSON header, with a checksum over both.

A file is of a :class:`Format` and holds a part of a registered kind: rooms say how their parts become a header and tensors and what
is made of these (:func:`register`). Loading runs no code from the file. Whatever :func:`save` writes, :func:`load` accepts, since
it is read back before it is written. ``docs/reference/models.md`` describes the formats.
"""

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, NamedTuple, NotRequired, TypeAlias, TypedDict, TypeVar

import numpy as np
import numpy.typing as npt
from msgspec import Meta

from gramian import __version__
from gramian.errors import GramianError, ModelFileError, OptionError
from gramian.io.header import kind_of_text
from gramian.io.output import write_bytes
from gramian.io.schema import SchemaError, parse_document, parse_json
from gramian.io.tensors import Tensors

AnyPath: TypeAlias = "str | os.PathLike[str]"
Header: TypeAlias = dict[str, Any]
_Value = TypeVar("_Value")


class StoredHeader(TypedDict):
    """What every header has; each kind of part has fields of its own, which its `unpack` checks."""

    version: Annotated[int, Meta(ge=1)]
    kind: NotRequired[str]
    checksum: NotRequired[str]


class Format(NamedTuple):
    """A family of files."""

    key: str  # the only one of the metadata: safetensors keeps no order, and equal models are to give equal bytes
    version: int  # the newest
    name: str
    writer: str
    sealed: int = 1  # the first version with a checksum
    seals_header: bool = True
    names_kind: bool = False  # whether the header says which part the file holds
    largest: float | None = None  # beyond which numbers are refused


GRAMMAR: Format = Format("gramian", 4, "a grammar", "'gramian train'")
SEQUENCES: Format = Format(
    "gramian-automata",
    2,
    "a model of sequences",
    "'gramian wfa train' or 'gramian dep train'",
    sealed=2,
    names_kind=True,
    largest=1e100,  # products of weights stay finite
)
SPAN_CRF: Format = Format("gramian-span-crf", 1, "a span CRF", "SpanModel.save", seals_header=False)
NEURAL: Format = Format("gramian-neural", 1, "a neural expert", "NeuralModel.save")

UNUSABLE = (LookupError, TypeError, ValueError, OverflowError, AttributeError, RecursionError, OptionError)
"""What may be raised where a part is made from a header and tensors that stand for none."""


Pack: TypeAlias = Callable[..., tuple[Header, Tensors]]
Unpack: TypeAlias = Callable[[Header, Tensors], Any]


class _Part(NamedTuple):
    format: Format
    pack: Pack
    unpack: Unpack


_PARTS: dict[str, _Part] = {}


def register(kind: str, format: Format, pack: Pack, unpack: Unpack) -> None:
    """Say how parts of a kind are stored, alone in a file of `format`; `unpack` checks what kernels do not."""
    _PARTS[kind] = _Part(format, pack, unpack)


def pack(kind: str, value: object, **options: Any) -> tuple[Header, Tensors]:
    """Return the header and the tensors of a part."""
    return _PARTS[kind].pack(value, **options)


def unpack(kind: str, header: Header, tensors: Tensors) -> Any:
    """Return the part that a header and tensors stand for."""
    return _PARTS[kind].unpack(header, tensors)


def rounded(kind: str, value: _Value, **options: Any) -> _Value:
    """Return a part as it will be when it has been saved and loaded."""
    header, tensors = pack(kind, value, **options)
    return unpack(kind, parse_json(json.dumps(header)), tensors)


def save(kind: str, value: object, path: AnyPath, **options: Any) -> None:
    """Write a file with one part, whole or not at all; equal parts give equal bytes.

    OptionError if the file could not be read again, since something in the part is wrong; ModelFileError if it cannot be written.
    """
    from safetensors.numpy import save as to_bytes

    format = _PARTS[kind].format
    with _told(f"{path}: this model cannot be saved: ", OptionError):
        fields, arrays = pack(kind, value, **options)
        header = {"version": format.version} | ({"kind": kind} if format.names_kind else {}) | fields
        tensors = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
        header["checksum"] = checksum(header if format.seals_header else None, tensors)
        text = json.dumps(header, sort_keys=True, allow_nan=False)
        _check_numbers(tensors, format.largest)
        unpack(kind, parse_json(text), dict(tensors))
    try:
        write_bytes(path, to_bytes(tensors, {format.key: text}))
    except GramianError as error:
        raise ModelFileError(str(error)) from None
    except OSError as error:
        raise ModelFileError(
            f"{path}: cannot be written ({error.strerror}); try: choose another folder"
        ) from None


def load(path: AnyPath, *kinds: str) -> Any:
    """Return the part that a file holds; ModelFileError if it is missing, damaged, foreign, none of `kinds`, or of a newer format."""
    from safetensors import SafetensorError, safe_open

    format = _PARTS[kinds[0]].format
    hint = f"use a file that {format.writer} wrote"
    if not Path(path).is_file():
        raise ModelFileError(f"{path}: there is no such model file; try: {hint}")
    try:
        with safe_open(os.fspath(path), framework="numpy") as file:
            header = _header(path, file.metadata() or {}, format, hint)
            names = list(file.keys())
            tensors: Tensors = dict(zip(names, map(file.get_tensor, names), strict=True))
    except SafetensorError:
        if (text := kind_of_text(path)) is not None:
            raise ModelFileError(
                f"{path}: holds {text}, not a model; try: {hint}, or train one on it: {_learning(text, path)}"
            ) from None
        raise ModelFileError(
            f"{path}: not a model file of gramian, or one that is damaged or cut short; try: copy it again, or {hint}"
        ) from None
    except OSError as error:
        raise ModelFileError(f"{path}: the model cannot be read ({error.strerror or error})") from None
    if header["version"] >= format.sealed:
        expected = checksum(header if format.seals_header else None, tensors)
        if header.get("checksum") != expected:
            raise ModelFileError(
                f"{path}: the model file is damaged (its checksum differs); try: copy it again"
            )
    kind = header.get("kind") if format.names_kind else kinds[0]
    if kind not in kinds:
        wanted = " or ".join(kinds).replace("-", " ")
        raise ModelFileError(f"{path}: holds a {kind}, not a {wanted}; try: {hint}")
    with _told(f"{path}: the file holds no model this gramian ({__version__}) can use: ", ModelFileError):
        _check_numbers(tensors, format.largest)
        return _PARTS[kind].unpack(header, tensors)


def _learning(text: str, path: AnyPath) -> str:
    """Return the command that learns a model from a file of text."""
    return f"gramian {'dep train' if 'CoNLL-U' in text else 'train'} {path} -o MODEL"


def _header(path: AnyPath, metadata: Mapping[str, str], format: Format, hint: str) -> Header:
    """Return the header, if it is one of a version that can be read."""
    if format.key not in metadata:
        known = [other.name for other in (GRAMMAR, SEQUENCES, SPAN_CRF, NEURAL) if other.key in metadata]
        description = known[0] if known else "of another program"
        raise ModelFileError(f"{path}: this file is {description}, not {format.name}; try: {hint}")
    try:
        header = parse_document(StoredHeader, metadata[format.key])
    except SchemaError as error:
        raise ModelFileError(f"{path}: invalid model header: {error}; try: copy the file again") from None
    version = header["version"]
    if version > format.version:
        raise ModelFileError(
            f"{path}: the model has format {version}, this gramian ({__version__}) reads up to {format.version};"
            " try: pip install --upgrade gramian"
        )
    return dict(header)


def _check_numbers(tensors: Tensors, largest: float | None) -> None:
    """Raise a ValueError if there are numbers that cannot be computed with."""
    for name, array in tensors.items() if largest else ():
        if array.dtype.kind not in "fiu" or not (np.abs(array, dtype=np.float64) <= largest).all():
            raise ValueError(f"{name} has an unsupported type")


@contextmanager
def _told(what: str, kind: type[GramianError]) -> Iterator[None]:
    try:
        yield
    except UNUSABLE as error:
        raise kind(what + str(error)) from None


def checksum(header: Mapping[str, Any] | None, tensors: Mapping[str, npt.NDArray[Any]]) -> str:
    """Hash all that a file says, so that no change of it goes unnoticed; of the header, all but its ``"checksum"``."""
    digest = hashlib.sha256()
    if header is not None:
        rest = dict(header)
        rest.pop("checksum", None)
        digest.update(json.dumps(rest, sort_keys=True).encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype.str} {tensor.shape}\n".encode())
        digest.update(np.ascontiguousarray(tensor).data)
    return f"sha256:{digest.hexdigest()}"
