"""JSON that gramian wrote and reads back: dataclasses and typed dicts say what a document holds, and msgspec checks that it does.

Fields with a default may be missing. Fields that are not declared are ignored in dataclasses and kept in typed dicts, since newer versions
may add some. What the types of single fields cannot say, a dataclass checks in ``__post_init__`` by a ValueError.
"""

from typing import Annotated, Any, TypeAlias, TypeVar, is_typeddict

import msgspec
from msgspec import Meta

from gramian.errors import InputError

_Document = TypeVar("_Document")

Count: TypeAlias = Annotated[int, Meta(ge=0, le=2**53)]
Seconds: TypeAlias = Annotated[float, Meta(ge=0)]
Sha256: TypeAlias = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]


class SchemaError(ValueError):
    """JSON that is invalid, or has a field with a value that it cannot have."""


def parse_json(text: str | bytes) -> Any:
    """Return the value of a JSON text; SchemaError if it is invalid."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise SchemaError(f"not JSON ({error})") from None


def as_document(kind: Any, value: Any, field: str = "") -> Any:
    """Return a JSON value as a `kind`: a dataclass, a typed dict or any other type; SchemaError if it does not fit.

    `field` is the name of the value within a larger document.
    """
    try:
        document = msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        problem, _, path = str(error).partition(" - at `")  # `$.field`, or `key` in `$.field`
        name = f"{field}{path.rpartition('$')[2].rstrip('`')}".lstrip(".")
        raise SchemaError(f"field {name!r}: {problem}" if name else problem) from None
    return value if is_typeddict(kind) else document


def parse_document(kind: type[_Document], text: str | bytes) -> _Document:
    """Return the document of a kind that a JSON text holds; SchemaError if it holds none."""
    document: _Document = as_document(kind, parse_json(text))
    return document


def read_document(
    kind: type[_Document], text: str | bytes, source: str, *, name: str, hint: str
) -> _Document:
    """Return the document that a file holds; an InputError says what `name` it should be, and which field is wrong."""
    try:
        return parse_document(kind, text)
    except SchemaError as error:
        raise InputError(f"invalid {name}: {error}", source, hint=hint) from None
