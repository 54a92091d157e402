"""The one way in which JSON documents are read back: dataclasses say what a document holds, and everything else is refused.

Annotations are the schema: ``int``, ``float`` (finite), ``str``, ``bool``, ``None``, ``Literal``, unions, ``list``, ``tuple``, ``dict``
with texts as keys, other dataclasses, ``TypedDict`` (which stays a ``dict``), and ``Any``; :class:`Range` and :class:`Pattern` in
``Annotated`` narrow numbers and texts. Fields with a default may be missing; fields that are not declared are ignored, since newer
versions may add some. A dataclass may have a method ``validate``, which raises :class:`SchemaError` for what the types of single
fields cannot say.
"""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from datetime import datetime
from functools import lru_cache
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    Required,
    TypeAlias,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from gramian.errors import InputError

_Document = TypeVar("_Document")
_SHOWN = 40  # characters of a value in a message


class SchemaError(ValueError):
    """A value that a field of a document cannot have."""

    def __init__(self, field: str, problem: str) -> None:
        self.field, self.problem = field, problem
        super().__init__(f"field {field!r} {problem}" if field else problem)


@dataclass(frozen=True)
class Range:
    """Numbers from `least` to `most`."""

    least: float = -math.inf
    most: float = math.inf

    def problem(self, value: Any) -> str | None:
        """Say what is wrong with a number, if anything is."""
        if self.least <= value <= self.most:
            return None
        return f"must be at least {self.least:g}" if value < self.least else f"must be at most {self.most:g}"


@dataclass(frozen=True)
class Pattern:
    """Texts of which all matches a regular expression; `name` says what they are."""

    regex: str
    name: str

    def problem(self, value: Any) -> str | None:
        """Say what is wrong with a text, if anything is."""
        return None if re.fullmatch(self.regex, value) else f"must be {self.name}"


class Moment:
    """Texts that are a date and time with a zone, in the form of ISO 8601."""

    def problem(self, value: Any) -> str | None:
        """Say what is wrong with a text, if anything is."""
        try:
            has_zone = datetime.fromisoformat(value).tzinfo is not None
        except ValueError:
            has_zone = False
        return None if has_zone else "must be a date and time with its zone"


class Encoded:
    """Texts that stand for bytes, in base 64."""

    def problem(self, value: Any) -> str | None:
        """Say what is wrong with a text, if anything is."""
        try:
            base64.b64decode(value, validate=True)
        except ValueError:
            return "must be in base 64"
        return None


Count: TypeAlias = Annotated[int, Range(0, 2**53)]
Seconds: TypeAlias = Annotated[float, Range(0)]
Sha256: TypeAlias = Annotated[str, Pattern("[0-9a-f]{64}", "a SHA-256 in hexadecimal")]
Base64: TypeAlias = Annotated[str, Encoded()]
DateTime: TypeAlias = Annotated[str, Moment()]


def parse_json(text: str | bytes) -> Any:
    """Return what a JSON text stands for; SchemaError if it is none, or holds numbers that are not finite."""
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except SchemaError:
        raise
    except (ValueError, RecursionError) as error:
        raise SchemaError("", f"is not JSON ({type(error).__name__}: {error})") from None


def _refuse_constant(name: str) -> Any:
    raise SchemaError("", f"holds {name}, which is not JSON")


def as_document(kind: Any, value: Any, field: str = "") -> Any:
    """Return a JSON value as a `kind`, an annotation or a dataclass; SchemaError with the name of the field if it is none."""
    origin = get_origin(kind)
    if kind is Any:
        return value
    if origin is Annotated:
        inner, *checks = get_args(kind)
        result = as_document(inner, value, field)
        for check in checks:
            if (problem := check.problem(result)) is not None:
                raise SchemaError(field, f"{problem}, not {_shown(value)}")
        return result
    if origin in (Required, NotRequired):
        return as_document(get_args(kind)[0], value, field)
    if origin in (Union, UnionType):
        return _one_of(kind, value, field)
    if origin is Literal:
        if not any(value == choice and type(value) is type(choice) for choice in get_args(kind)):
            raise _wrong(kind, value, field)
        return value
    if is_typeddict(kind):
        return _as_typed_dict(kind, value, field)
    if is_dataclass(kind):
        return _as_dataclass(kind, value, field)
    if (origin or kind) in (list, tuple):
        return _as_sequence(kind, value, field)
    if (origin or kind) in (dict, Mapping):
        if type(value) is not dict:
            raise _wrong(kind, value, field)
        _, of = get_args(kind) or (str, Any)
        return {name: as_document(of, entry, _below(field, name)) for name, entry in value.items()}
    if kind is float and type(value) is int:
        kind, value = float, float(value) if abs(value) < 2**1000 else math.inf
    if type(value) is not (NoneType if kind is None else kind):
        raise _wrong(kind, value, field)
    if (type(value) is float and not math.isfinite(value)) or (type(value) is str and not _is_text(value)):
        raise _wrong(kind, value, field)
    return value


def _one_of(kind: Any, value: Any, field: str) -> Any:
    choices = get_args(kind)
    if value is None and NoneType in choices:
        return None
    errors = []
    for choice in choices:
        if choice is not NoneType:
            try:
                return as_document(choice, value, field)
            except SchemaError as error:
                errors.append(error)
    raise errors[0] if len(errors) == 1 else _wrong(kind, value, field)


def _as_dataclass(kind: Any, value: Any, field: str) -> Any:
    if type(value) is not dict:
        raise _wrong(kind, value, field)
    annotations, given = _annotations(kind), {}
    for own in fields(kind):
        path = _below(field, own.name)
        if own.name in value:
            given[own.name] = as_document(annotations[own.name], value[own.name], path)
        elif own.default is MISSING and own.default_factory is MISSING:
            raise SchemaError(path, "is missing")
    document = kind(**given)
    if hasattr(document, "validate"):
        try:
            document.validate()
        except SchemaError as error:
            raise SchemaError(_below(field, error.field), error.problem) from None
    return document


def _as_typed_dict(kind: Any, value: Any, field: str) -> Any:
    if type(value) is not dict:
        raise _wrong(kind, value, field)
    annotations = _annotations(kind)
    for name, of in annotations.items():  # with annotations as text, __required_keys__ of the class is wrong
        is_required = get_origin(of) is Required or (kind.__total__ and get_origin(of) is not NotRequired)
        if is_required and name not in value:
            raise SchemaError(_below(field, name), "is missing")
    return {
        name: as_document(annotations.get(name, Any), entry, _below(field, name))
        for name, entry in value.items()
    }


def _as_sequence(kind: Any, value: Any, field: str) -> Any:
    if type(value) is not list:
        raise _wrong(kind, value, field)
    of = get_args(kind) or (Any, ...)
    if get_origin(kind) is not tuple:
        return [as_document(of[0], entry, f"{field}[{place}]") for place, entry in enumerate(value)]
    if of[-1] is Ellipsis:
        of = of[:1] * len(value)
    if len(of) != len(value):
        raise _wrong(kind, value, field)
    pairs = zip(of, value, strict=True)
    return tuple(as_document(one, entry, f"{field}[{place}]") for place, (one, entry) in enumerate(pairs))


@lru_cache(maxsize=256)
def _annotations(kind: type) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)


def _below(field: str, name: str) -> str:
    return f"{field}.{name}" if field and name else field or name


def _is_text(value: str) -> bool:
    """Whether UTF-8 can hold it: JSON can hold halves of characters."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _wrong(kind: Any, value: Any, field: str) -> SchemaError:
    return SchemaError(field, f"must be {_described(kind)}, not {_shown(value)}")


def _described(kind: Any) -> str:
    origin = get_origin(kind) or kind
    if origin is Literal:
        return f"one of {', '.join(map(str, get_args(kind)))}"
    if origin in (Union, UnionType):
        return " or ".join(map(_described, get_args(kind)))
    if origin is Annotated:
        return _described(get_args(kind)[0])
    names = {
        int: "a whole number", float: "a number", str: "text", bool: "true or false", None: "null", NoneType: "null",
        list: "a list", tuple: "a list",
    }  # fmt: skip
    if get_origin(kind) is tuple and (of := get_args(kind))[-1] is not Ellipsis:
        return f"a list of {len(of)}"
    return names.get(origin, "an object")


def _shown(value: Any) -> str:
    try:
        text = json.dumps(value)  # only ASCII, nothing that a terminal obeys
    except (TypeError, ValueError, RecursionError):
        text = type(value).__name__
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def parse_document(kind: type[_Document], text: str | bytes) -> _Document:
    """Return the document that a JSON text holds; SchemaError if it holds none of this kind."""
    return as_document(kind, parse_json(text))


def read_document(
    kind: type[_Document],
    text: str | bytes,
    source: str,
    line: int | None = None,
    *,
    name: str,
    hint: str,
) -> _Document:
    """Return the document that a file holds; an InputError of one line says what `name` it should be, and which field is wrong."""
    try:
        return parse_document(kind, text)
    except SchemaError as error:
        raise InputError(f"invalid {name}: {error}", source, line, hint=hint) from None
