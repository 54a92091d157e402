"""Model files: safetensors whose metadata hold one JSON header.

What a file holds follows the dataclasses: every array is a tensor, every tuple of strings a tensor of UTF-8
bytes, every number a number of the header. Loading runs no code from the file, checks it against its
checksum, and never makes an array larger than the tensors in the file stand for. ``docs/models.md``
describes the format.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from math import prod
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Any, TypeAlias, Union, get_args, get_origin, get_type_hints

import numpy as np
import numpy.typing as npt

from gramian import __version__
from gramian.errors import ModelFileError, OptionError
from gramian.grammar.check import check
from gramian.grammar.lpcfg import LPCFG
from gramian.io.header import holds_trees
from gramian.io.tensors import checksum, write_tensors
from gramian.parsing.calibration import Calibration
from gramian.parsing.model import Model

if TYPE_CHECKING:
    from gramian.loglinear.rerank_model import RerankModel
    from gramian.loglinear.span_model import Expert

__all__ = ["default_model_path", "expert_of", "load_model", "reranker_of", "save_model"]

_FORMAT = "gramian grammar"
_VERSION = 3  # with a reranker; a file with one grammar is still of version 1, other ones of 2
_KEY = "gramian"  # the only key of the metadata: safetensors does not keep the order of several
_SUM_TOLERANCE = 0.01  # half precision keeps numbers within 0.4 %

Tensors: TypeAlias = dict[str, npt.NDArray[Any]]
Record: TypeAlias = Any  # what JSON holds


def save_model(model: Model, path: str | os.PathLike[str], *, half: bool = False) -> None:
    """Write a model file, whole or not at all; equal models give equal bytes.

    Parameters
    ----------
    model : Model
    path : path
    half : bool
        Whether real numbers are rounded to 16 bits, which keeps each within 0.4 % and halves the file.

    Raises
    ------
    gramian.errors.ModelFileError
        If the file cannot be written.
    """
    tensors: Tensors = {}
    grammars = [_encode(grammar, str(number), tensors, half) for number, grammar in enumerate(model.grammars)]
    header: dict[str, Any] = {
        "format": _FORMAT,
        "version": 1,
        "gramian": __version__,
        "labels": model.labels,
        "options": dict(model.options),
        "data": dict(model.data),
        "metrics": dict(model.metrics),
        "report": dict(model.report),
        "grammars": grammars,
    }
    if model.others:
        header |= {"version": 2, "same": _take_repeated(tensors)}
    if model.expert is not None:
        header |= {"version": 2, "expert": sorted(model.expert)}
        tensors |= {f"expert/{name}": np.ascontiguousarray(tensor) for name, tensor in model.expert.items()}
    if model.reranker is not None:
        header |= {"version": 3, "reranker": sorted(model.reranker)}
        tensors |= {
            f"reranker/{name}": np.ascontiguousarray(tensor) for name, tensor in model.reranker.items()
        }
    if model.expert_weight is not None:
        header["expert_weight"] = model.expert_weight
    if model.calibration:
        header["calibration"] = {name: one.as_dict() for name, one in model.calibration.items()}
    try:
        header["checksum"] = checksum(header, tensors)
        text = json.dumps(header, sort_keys=True, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise OptionError(f"what a model file says about its model must fit into JSON: {error}") from None
    write_tensors(path, tensors, _KEY, text)


def default_model_path() -> Path:
    """Return the path of the model that comes with the package.

    Raises
    ------
    gramian.errors.OptionError
        If there is none.
    """
    path = Path(__file__).parents[1] / "models" / "english.grammar"
    if not path.is_file():
        raise OptionError(
            "no model comes with this gramian; try: -m MODEL, with a file 'gramian train' wrote"
        )
    return path


def load_model(path: str | os.PathLike[str] | None = None) -> Model:
    """Read a model file; without a path, the one that comes with the package.

    Raises
    ------
    gramian.errors.ModelFileError
        If it is missing, damaged, not a model of a grammar, or of a newer format.
    """
    from safetensors import SafetensorError, safe_open

    path = default_model_path() if path is None else path
    if not Path(path).is_file():
        raise ModelFileError(
            f"{path}: there is no such model file; try: the path of a file 'gramian train' wrote"
        )
    try:
        with safe_open(os.fspath(path), framework="numpy") as file:
            header = _header(path, file.metadata())
            tensors: Tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
    except SafetensorError:
        if holds_trees(path):
            raise ModelFileError(
                f"{path}: holds trees, not a model; try: gramian train {path} -o MODEL"
            ) from None
        raise ModelFileError(
            f"{path}: not a model file of gramian, or cut short; try: copying it again"
        ) from None
    except OSError as error:
        raise ModelFileError(f"{path}: the model cannot be read ({error.strerror or error})") from None
    if header.get("checksum") != checksum(header, tensors):
        raise ModelFileError(
            f"{path}: the model file is damaged (its checksum differs); try: copying it again"
        )
    try:
        for name, other in header.get("same", {}).items():
            tensors[name] = tensors[other]
        grammar, *others = [
            _decode(LPCFG, record, str(number), tensors) for number, record in enumerate(header["grammars"])
        ]
        for one in (grammar, *others):
            check(one, _SUM_TOLERANCE)
        papers = {part: header[part] for part in ("options", "data", "metrics", "report")}
        if not all(isinstance(part, dict) for part in papers.values()):
            raise TypeError("its header is not made of tables")
        expert, reranker = (
            {name: tensors[f"{part}/{name}"] for name in header[part]} if part in header else None
            for part in ("expert", "reranker")
        )
        return Model(
            grammar, **papers, others=tuple(others), expert=expert, reranker=reranker, expert_weight=_weight(header.get("expert_weight")),
            calibration={name: Calibration.from_dict(one) for name, one in header.get("calibration", {}).items()},
        )  # fmt: skip
    except (LookupError, TypeError, ValueError, OverflowError, AttributeError) as error:
        raise ModelFileError(
            f"{path}: the file holds no model this gramian ({__version__}) can use: {error}"
        ) from None


def expert_of(model: Model) -> Expert:
    """Return the span CRF that a model holds, ready to read the forests of its first grammar."""
    from gramian.loglinear.span_model import Expert
    from gramian.loglinear.span_store import unpack

    try:
        return Expert(unpack(dict(model.expert or {})), model.grammar)
    except (LookupError, TypeError, ValueError) as error:
        raise ModelFileError(f"the span CRF of the model cannot be used: {error}") from None


def reranker_of(model: Model) -> RerankModel:
    """Return the reranker that a model holds."""
    from gramian.loglinear.rerank_store import unpack

    try:
        return unpack(dict(model.reranker or {}))
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise ModelFileError(f"the reranker of the model cannot be used: {error}") from None


def _header(path: str | os.PathLike[str], metadata: Mapping[str, str] | None) -> dict[str, Any]:
    """Return the header, if it is one of a version that can be read."""
    if not metadata or _KEY not in metadata:
        known = (
            "a model of sequences" if metadata and "gramian-automata" in metadata else "of another program"
        )
        raise ModelFileError(
            f"{path}: this file is {known}, not a grammar; try: a file 'gramian train' wrote"
        )
    try:
        header = json.loads(metadata[_KEY])
    except (ValueError, RecursionError):
        header = None
    if (
        not isinstance(header, dict)
        or header.get("format") != _FORMAT
        or type(header.get("version")) is not int
    ):
        raise ModelFileError(f"{path}: the header of the model file is damaged; try: copying it again")
    if header["version"] > _VERSION:
        raise ModelFileError(
            f"{path}: the model has format {header['version']}, this gramian ({__version__}) reads up to {_VERSION};"
            " try: pip install --upgrade gramian"
        )
    return header


def _weight(value: Record) -> float | None:
    if value is not None and not (type(value) in (int, float) and 0 <= value <= 1):
        raise ValueError(f"the expert's weight is {value!r}")
    return value


def _take_repeated(tensors: Tensors) -> dict[str, str]:
    """Take tensors that are equal to earlier ones away; return which stands for which."""
    first: dict[tuple[str, tuple[int, ...], bytes], str] = {}
    same = {}
    for name, tensor in list(tensors.items()):
        key = (tensor.dtype.str, tensor.shape, hashlib.sha256(np.ascontiguousarray(tensor).data).digest())
        if (other := first.setdefault(key, name)) != name:
            same[name] = other
            del tensors[name]
    return same


# -- dataclasses to tensors and back -------------------------------------------------------------------------


def _encode(value: object, name: str, tensors: Tensors, half: bool) -> Record:
    """Put the arrays and strings of `value` into `tensors`; return the rest as JSON can hold it."""
    if is_dataclass(value):
        record: dict[str, Record] = {
            field.name: _encode(getattr(value, field.name), f"{name}/{field.name}", tensors, half)
            for field in fields(value)
        }
        return {"class": type(value).__name__, "fields": record}
    if isinstance(value, np.ndarray):
        return _encode_array(value, name, tensors, half)
    if isinstance(value, tuple) and all(isinstance(item, str) and "\0" not in item for item in value):
        tensors[name] = np.frombuffer("\0".join(value).encode(), np.uint8)
        return {"strings": len(value)}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"{name} is a {type(value).__name__}")


def _decode(hint: Any, record: Record, name: str, tensors: Tensors) -> Any:
    """Return what `record` stands for: something of type `hint`."""
    if isinstance(record, dict) and "class" in record:
        choices: dict[str, Any] = {choice.__name__: choice for choice in _choices(hint)}
        kind = choices[record["class"]]
        hints = _hints(kind)
        stored = record["fields"]
        known = {field.name: field for field in fields(kind)}
        if unknown := stored.keys() - known.keys():
            raise ValueError(f"unknown parts {sorted(unknown)}")
        # A part that an older file lacks has a default.
        needed = {part for part, field in known.items() if field.default is field.default_factory is MISSING}
        if missing := needed - stored.keys():
            raise ValueError(f"missing parts {sorted(missing)}")
        return kind(
            **{part: _decode(hints[part], value, f"{name}/{part}", tensors) for part, value in stored.items()}
        )
    if isinstance(record, dict) and "strings" in record:
        text = bytes(_bytes(tensors[name])).decode()
        strings = tuple(text.split("\0")) if record["strings"] else ()
        if len(strings) != record["strings"]:
            raise ValueError(f"{name} holds {len(strings)} strings")
        return strings
    if isinstance(record, dict):
        return _decode_array(hint, record, name, tensors)
    if type(record) not in _choices(hint) and not (type(record) is int and float in _choices(hint)):
        raise TypeError(f"{name} is {record!r}")
    return record


_hints = cache(get_type_hints)


@cache
def _choices(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


def _encode_array(array: npt.NDArray[Any], name: str, tensors: Tensors, half: bool) -> Record:
    """Store an array without its zeros where they are many, in as few bytes a number as hold it."""
    record: dict[str, Record] = {"shape": list(array.shape)}
    values = array.ravel()
    if values.dtype.kind == "f":
        present = values != 0
        if values.itemsize * np.count_nonzero(~present) > values.size // 8:
            tensors[f"{name}.mask"] = np.packbits(present)
            values = values[present]
            record["sparse"] = True
        if half:
            values, record["half"] = _halved(values.astype(np.float32))
    elif values.size:
        values = values.astype(
            np.promote_types(np.min_scalar_type(values.min()), np.min_scalar_type(values.max()))
        )
    tensors[name] = values
    return record


def _decode_array(hint: Any, record: dict[str, Record], name: str, tensors: Tensors) -> npt.NDArray[Any]:
    (array,) = [choice for choice in _choices(hint) if get_origin(choice) is np.ndarray]
    (kind,) = get_args(get_args(array)[1])
    values = tensors[name]
    if record.get("half") == "bfloat16":
        values = (values.astype(np.uint32) << 16).view(np.float32)
    values = np.ascontiguousarray(values, dtype=kind)
    shape = tuple(int(size) for size in record["shape"])
    size = prod(shape)
    if record.get("sparse"):
        mask = _bytes(tensors[f"{name}.mask"])
        if size > 8 * len(mask) or min(shape) < 0:
            raise ValueError(f"{name} is said to hold {size} numbers")
        whole = np.zeros(size, kind)
        whole[np.unpackbits(mask, count=size).view(np.bool_)] = values
        values = whole
    values = values.reshape(shape)
    values.flags.writeable = False
    return values


def _bytes(tensor: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    if tensor.dtype != np.uint8 or tensor.ndim != 1:
        raise TypeError("bytes are wanted")
    return tensor


def _halved(values: npt.NDArray[np.float32]) -> tuple[npt.NDArray[Any], str]:
    """Round to 16 bits: IEEE half precision where its range suffices, else the upper half of single precision."""
    size = np.abs(values[values != 0])
    if not size.size or (size.min() >= np.finfo(np.float16).tiny and size.max() <= np.finfo(np.float16).max):
        return values.astype(np.float16), "float16"
    bits = values.view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16), "bfloat16"
