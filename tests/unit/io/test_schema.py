"""Documents that are read back: what fits is read, and anything else is refused by field."""

import ast
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Required, TypedDict

import pytest

import gramian
from gramian.errors import InputError
from gramian.io.schema import (
    Count,
    SchemaError,
    Sha256,
    as_document,
    parse_document,
    parse_json,
    read_document,
)


@dataclass(frozen=True)
class Part:
    number: Count
    name: str = "a"


@dataclass(frozen=True)
class Whole:
    share: float
    parts: tuple[Part, ...]
    counts: dict[str, Count] = field(default_factory=dict)
    digest: Sha256 = "0" * 64

    def __post_init__(self) -> None:
        if any(part.number != number for number, part in enumerate(self.parts)):
            raise ValueError("parts must be numbered in order")


GOOD: dict[str, Any] = {"share": 1, "parts": [{"number": 0}, {"number": 1, "name": "b"}]}


def test_a_document_that_fits_is_read_and_comes_back_the_same():
    whole = parse_document(Whole, json.dumps({**GOOD, "counts": {"a": 1}, "of a newer version": 1}))
    assert whole.parts == (Part(0), Part(1, "b"))
    assert (whole.share, type(whole.share)) == (1.0, float)
    assert parse_document(Whole, json.dumps(asdict(whole))) == whole


@pytest.mark.parametrize(
    ("change", "start"),
    [
        ({"share": True}, "field 'share': "),
        ({"parts": {}}, "field 'parts': "),
        ({"parts": [{"number": 0}, 3]}, "field 'parts[1]': "),
        ({"parts": [{}]}, "field 'parts[0]': Object missing required field `number`"),
        ({"parts": [{"number": -1}]}, "field 'parts[0].number': "),
        ({"parts": [{"number": True}]}, "field 'parts[0].number': "),
        ({"parts": [{"number": 2**60}]}, "field 'parts[0].number': "),
        ({"parts": [{"number": 1}]}, "parts must be numbered in order"),
        ({"counts": {"a": "b"}}, "field 'counts[...]': "),
        ({"digest": "f" * 63}, "field 'digest': "),
        ({"digest": "f" * 64 + "\n"}, "field 'digest': "),
    ],
)
def test_what_does_not_fit_is_refused_by_its_field(change, start):
    with pytest.raises(SchemaError) as caught:
        parse_document(Whole, json.dumps(GOOD | change))
    assert str(caught.value).startswith(start)


@pytest.mark.parametrize(
    "text",
    [b"", b"{", b"[]", b"null", b"3", b'"x"', b"[" * 100_000, b"\xff\xfe{}", b"NaN", b'{"share": Infinity}', b"9" * 5000, b"1e400",
     b'{"share": 1}', "\udc00", b'{"\\ud800": 1}'],
)  # fmt: skip
def test_what_is_no_document_is_an_error_of_one_line_with_the_file(text):
    with pytest.raises(InputError) as caught:
        read_document(Whole, text, "run.json", name="run", hint="remove it")
    first, *rest = str(caught.value).splitlines()
    assert first.startswith("run.json: invalid run: ")
    assert rest == ["try: remove it"]
    assert first.isprintable()


@pytest.mark.parametrize("number", [0, -7, 2**63, 10**30, 0.1, 1e-300, 5e-324, 1.7976931348623157e308])
def test_numbers_are_read_exactly(number):
    value = parse_json(json.dumps(number))
    assert (value, type(value)) == (number, type(number))


class Loose(TypedDict, total=False):
    model: Required[str]
    seconds: float


def test_a_typed_dict_stays_a_dict_and_keeps_what_else_it_holds():
    value = {"model": "x", "seconds": 1, "peak memory (MB)": [3]}
    assert parse_document(Loose, json.dumps(value)) == value
    with pytest.raises(SchemaError, match=r"field 'result\.seconds': "):
        as_document(Loose, value | {"seconds": "1"}, "result")
    with pytest.raises(SchemaError, match="required field `model`"):
        parse_document(Loose, "{}")


# What comes from users, line by line, has messages of its own; all that gramian wrote is read by its schema.
READERS = {"parsing/sentences.py", "pipelines/shard_reading.py", "web/app.py"}
SOURCE = Path(gramian.__file__).parent


def test_json_is_read_back_by_schemas_alone():
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            is_load = isinstance(node, ast.Attribute) and node.attr in ("load", "loads")
            if (
                is_load
                and getattr(node.value, "id", "") == "json"
                and path.relative_to(SOURCE).as_posix() not in READERS
            ):
                found.append(f"{path.relative_to(SOURCE)}:{node.lineno}")
    assert not found
