"""Values as named arrays of few bytes and back: dataclasses, strings, and tables of hashed weights.

What is read back follows the type hints of the dataclasses: nothing else can be made from a file, no code of it is run, and no array
becomes larger than the tensors in the file stand for.
"""

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from math import prod
from types import UnionType
from typing import Any, TypeAlias, Union, get_args, get_origin, get_type_hints

import numpy as np
import numpy.typing as npt

Tensors: TypeAlias = dict[str, npt.NDArray[Any]]
Record: TypeAlias = Any  # what JSON holds


def stored_name(kind: type) -> str:
    """Return the name of a class in model files: `STORED_AS` where the class was renamed after files had been written."""
    return getattr(kind, "STORED_AS", kind.__name__)


@cache
def _stored_fields(kind: type) -> dict[str, Field[Any]]:
    """Return the fields of a dataclass by their names in model files: `stored_as` in their metadata, else their own."""
    return {field.metadata.get("stored_as", field.name): field for field in fields(kind)}


def encode(value: object, name: str, tensors: Tensors, half: bool = False) -> Record:
    """Put the arrays and strings of `value` into `tensors`, with `half` in 16 bits a real number; return the rest as JSON can hold it."""
    if is_dataclass(value):
        kind: Any = type(value)
        record: dict[str, Record] = {
            part: encode(getattr(value, field.name), f"{name}/{part}", tensors, half)
            for part, field in _stored_fields(kind).items()
        }
        return {"class": stored_name(kind), "fields": record}
    if isinstance(value, np.ndarray):
        return _encode_array(value, name, tensors, half)
    if isinstance(value, tuple) and all(isinstance(item, str) for item in value):
        tensors[name] = pack_strings(value)
        return {"strings": len(value)}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"{name} is a {type(value).__name__}")


def decode(hint: Any, record: Record, name: str, tensors: Tensors) -> Any:
    """Return what `record` stands for: something of type `hint`."""
    if not isinstance(record, dict):
        choices = _choices(hint)
        if type(record) not in choices and not (type(record) is int and float in choices):
            raise TypeError(f"{name} is {record!r}")
        return record
    if "strings" in record:
        return unpack_strings(tensors[name], record["strings"])
    if "class" not in record:
        return _decode_array(_number_type(hint), record, name, tensors)
    kind, stored = _stored_classes(hint)[record["class"]], record["fields"]
    hints, known, values = _hints(kind), _stored_fields(kind), {}
    for part, field in known.items():
        if part in stored:
            values[field.name] = decode(hints[field.name], stored[part], f"{name}/{part}", tensors)
        elif field.default is field.default_factory is MISSING:  # what an older file lacks has a default
            raise ValueError(f"missing part {part!r}")
    if unknown := stored.keys() - known.keys():
        raise ValueError(f"unknown parts {sorted(unknown)}")
    return kind(**values)


_BASE, _TIMES = 512 << 20, 16  # bytes that any model may take, and how many more for each byte of its file
_A_STRING = 64  # bytes


def decoded_bytes(record: Record, name: str, tensors: Mapping[str, npt.NDArray[Any]]) -> float:
    """Return about how many bytes :func:`decode` will make of a record; nothing is made."""
    if not isinstance(record, dict):
        return 0
    if "class" in record:
        size = 0.0
        for part, value in record["fields"].items():
            size += decoded_bytes(value, f"{name}/{part}", tensors)
        return size
    if "strings" in record:
        return float(record["strings"]) * _A_STRING + tensors[name].nbytes
    return 4.0 * abs(prod(map(float, record["shape"])))


def check_memory(needed: float, tensors: Mapping[str, npt.NDArray[Any]]) -> None:
    """Raise a ValueError if a model would take much more memory than its file stands for; see ``docs/reference/guarantees.md``."""
    stored = sum(tensor.nbytes for tensor in tensors.values())
    most = _BASE + _TIMES * stored
    if not needed <= most:
        raise ValueError(
            f"it would take {needed / 2**20:,.0f} MB of memory, and a file of {stored / 2**20:,.0f} MB may take {most / 2**20:,.0f}"
        )


_hints = cache(get_type_hints)


@cache
def _choices(hint: Any) -> tuple[Any, ...]:
    """Return the types that a hint allows; NumPy 2.5 and later hide the type of an array behind an alias of their own."""
    choices = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    aliases = [getattr(get_origin(choice), "__value__", None) for choice in choices]
    return tuple(
        choice if alias is None else alias[get_args(choice)]
        for choice, alias in zip(choices, aliases, strict=True)
    )


@cache
def _stored_classes(hint: Any) -> dict[str, Any]:
    """Return the classes that a hint allows, by their names in model files."""
    return {stored_name(choice): choice for choice in _choices(hint)}


@cache
def _number_type(hint: Any) -> Any:
    """Return the type of the numbers of an array with this hint."""
    (array,) = [choice for choice in _choices(hint) if get_origin(choice) is np.ndarray]
    (number_type,) = get_args(get_args(array)[1])
    return number_type


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


def _decode_array(
    number_type: Any, record: dict[str, Record], name: str, tensors: Tensors
) -> npt.NDArray[Any]:
    values = tensors[name]
    if record.get("half") == "bfloat16":
        bits = values.astype(np.uint32)
        bits <<= 16  # in its place: to get memory takes longer than to fill it
        values = bits.view(np.float32)
    values = np.ascontiguousarray(values, dtype=number_type)
    shape = tuple(map(int, record["shape"]))
    size = prod(shape)
    if record.get("sparse"):
        mask = _bytes(tensors[f"{name}.mask"])
        if size > 8 * len(mask) or min(shape) < 0:
            raise ValueError(f"{name} is said to hold {size} numbers")
        whole = np.zeros(size, number_type)
        whole[np.unpackbits(mask, count=size).view(np.bool_)] = values
        values = whole
    values = values.reshape(shape)
    values.flags.writeable = False
    return values


def _halved(values: npt.NDArray[np.float32]) -> tuple[npt.NDArray[Any], str]:
    """Round to 16 bits: IEEE half precision where its range suffices, else the upper half of single precision."""
    size = np.abs(values[values != 0])
    if not size.size or (size.min() >= np.finfo(np.float16).tiny and size.max() <= np.finfo(np.float16).max):
        return values.astype(np.float16), "float16"
    bits = values.view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16), "bfloat16"


def pack_strings(strings: Sequence[str]) -> npt.NDArray[np.uint8]:
    """Return strings as bytes of UTF-8 with a zero between two."""
    text = "\0".join(strings)
    if text.count("\0") >= max(len(strings), 1):
        raise ValueError("strings contain a null character")
    return np.frombuffer(text.encode(), np.uint8)


def unpack_strings(tensor: npt.NDArray[Any], count: int | None = None) -> tuple[str, ...]:
    """Return the strings that :func:`pack_strings` took; without `count`, no byte stands for no string."""
    wanted = tensor.size if count is None else count
    strings = tuple(bytes(_bytes(tensor)).decode().split("\0")) if wanted else ()
    if count not in (None, len(strings)):
        raise ValueError(f"{len(strings)} strings instead of {count}")
    return strings


def _bytes(tensor: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    if tensor.dtype != np.uint8 or tensor.ndim != 1:
        raise TypeError("bytes required")
    return tensor


def pack_weights(name: str, weights: npt.NDArray[np.float32]) -> Tensors:
    """Return a table of weights in half precision, without its zeros, and a mask of where they were."""
    _check_slots(name, weights.size)
    rounded = weights.astype(np.float16)
    return {f"{name}.mask": np.packbits(rounded != 0), name: rounded[rounded != 0]}


def unpack_weights(tensors: Mapping[str, npt.NDArray[Any]], name: str) -> npt.NDArray[np.float32]:
    """Return the table that :func:`pack_weights` made; ValueError if it is none that kernels can index without looking."""
    mask = _bytes(tensors[f"{name}.mask"])
    check_memory(8 * 5 * mask.size, tensors)
    present = np.unpackbits(mask).view(np.bool_)
    _check_slots(name, present.size)
    table = np.zeros(present.size, np.float32)
    table[present] = tensors[name]
    if not np.isfinite(table).all():
        raise ValueError(f"{name} are not all numbers")
    return table


def _check_slots(name: str, size: int) -> None:
    if size < 1024 or size & (size - 1):
        raise ValueError(f"{name} has {size} slots")
