"""Documents that are read back: what fits is read, and anything else is refused by field."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, Required, TypedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gramian
from gramian.errors import InputError
from gramian.io.schema import (
    Base64,
    Count,
    DateTime,
    Pattern,
    Range,
    SchemaError,
    Sha256,
    parse_document,
    read_document,
)


@dataclass(frozen=True)
class Part:
    number: Count
    name: Annotated[str, Pattern("[a-z]+", "a word")] = "a"


@dataclass(frozen=True)
class Whole:
    kind: Literal["text", "jsonl"]
    share: Annotated[float, Range(0, 1)]
    parts: tuple[Part, ...]
    pair: tuple[int, str]
    counts: dict[str, Count] = field(default_factory=dict)
    known: float | None = None
    either: int | str = 0
    names: list[str] = field(default_factory=list)
    options: Mapping[str, Any] = field(default_factory=dict)
    done: bool = False
    when: DateTime = "2026-01-01T00:00:00+00:00"
    digest: Sha256 = "0" * 64
    first: Part | None = None

    def validate(self) -> None:
        if any(part.number != place for place, part in enumerate(self.parts)):
            raise SchemaError("parts", "must be numbered in order")


GOOD: dict[str, Any] = {
    "kind": "text",
    "share": 1,
    "parts": [{"number": 0}, {"number": 1, "name": "b"}],
    "pair": [1, "x"],
}


def test_a_document_that_fits_is_read_and_comes_back_the_same():
    full = {
        **GOOD, "counts": {"a": 1}, "known": 0.5, "either": "x", "names": ["a"], "options": {"deep": [1, {"a": None}]}, "done": True,
        "first": {"number": 7, "name": "c"}, "of a newer version": 1,
    }  # fmt: skip
    whole = parse_document(Whole, json.dumps(full))
    assert whole.parts == (Part(0), Part(1, "b"))
    assert (whole.share, type(whole.share), whole.first) == (1.0, float, Part(7, "c"))
    assert parse_document(Whole, json.dumps(asdict(whole))) == whole


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "xml"}, "field 'kind' must be one of text, jsonl, not \"xml\""),
        ({"kind": None}, "field 'kind' must be one of text, jsonl, not null"),
        ({"share": 1.5}, "field 'share' must be at most 1, not 1.5"),
        ({"share": True}, "field 'share' must be a number, not true"),
        ({"share": 10**400}, "field 'share' must be a number"),
        ({"parts": {}}, "field 'parts' must be a list, not {}"),
        ({"parts": [{"number": 0}, 3]}, "field 'parts[1]' must be an object, not 3"),
        ({"parts": [{}]}, "field 'parts[0].number' is missing"),
        ({"parts": [{"number": -1}]}, "field 'parts[0].number' must be at least 0, not -1"),
        ({"parts": [{"number": 0.0}]}, "field 'parts[0].number' must be a whole number, not 0.0"),
        ({"parts": [{"number": True}]}, "field 'parts[0].number' must be a whole number, not true"),
        ({"parts": [{"number": 2**60}]}, "field 'parts[0].number' must be at most"),
        ({"parts": [{"number": 0, "name": "../x"}]}, "field 'parts[0].name' must be a word"),
        ({"parts": [{"number": 0, "name": "a\n"}]}, "field 'parts[0].name' must be a word"),
        ({"parts": [{"number": 1}]}, "field 'parts' must be numbered in order"),
        ({"pair": [1]}, "field 'pair' must be a list of 2, not [1]"),
        ({"pair": ["x", 1]}, "field 'pair[0]' must be a whole number, not \"x\""),
        ({"counts": {"a": "b"}}, "field 'counts.a' must be a whole number"),
        ({"counts": []}, "field 'counts' must be an object, not []"),
        ({"known": "x"}, "field 'known' must be a number"),
        ({"either": []}, "field 'either' must be a whole number or text, not []"),
        ({"names": [1]}, "field 'names[0]' must be text, not 1"),
        ({"names": ["\ud800"]}, "field 'names[0]' must be text"),
        ({"options": 3}, "field 'options' must be an object, not 3"),
        ({"done": 0}, "field 'done' must be true or false, not 0"),
        ({"when": "yesterday"}, "field 'when' must be a date and time with its zone"),
        ({"when": "2026-01-01T00:00:00"}, "field 'when' must be a date and time with its zone"),
        ({"digest": "f" * 63}, "field 'digest' must be a SHA-256"),
        ({"first": {"number": "x"}}, "field 'first.number' must be a whole number"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_by_its_field(change, message):
    with pytest.raises(SchemaError) as caught:
        parse_document(Whole, json.dumps(GOOD | change))
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    "text",
    [b"", b"{", b"[]", b"null", b"3", b'"x"', b"[" * 100_000, b"\xff\xfe{}", b"NaN", b'{"share": Infinity}', b"9" * 5000,
     b'{"kind": "text"}', "\udc00"],
)  # fmt: skip
def test_what_is_no_document_is_an_error_of_one_line_with_the_file(text):
    with pytest.raises(InputError) as caught:
        read_document(Whole, text, "run.json", name="run", hint="remove it")
    first, *rest = str(caught.value).splitlines()
    assert first.startswith("run.json: invalid run: ")
    assert rest == ["try: remove it"]
    assert first.isprintable()


class Loose(TypedDict, total=False):
    model: Required[Base64]
    seconds: float


def test_a_typed_dict_stays_a_dict_and_keeps_what_else_it_holds():
    text = {"model": "AAE=", "seconds": 1, "peak memory (MB)": [3]}
    assert parse_document(Loose, json.dumps(text)) == text
    for change, message in (
        ({"model": "AAE"}, "field 'model' must be in base 64"),
        ({"model": "A-E="}, "field 'model' must be in base 64"),
        ({"seconds": "1"}, "field 'seconds' must be a number"),
    ):
        with pytest.raises(SchemaError, match=message):
            parse_document(Loose, json.dumps(text | change))
    with pytest.raises(SchemaError, match="field 'model' is missing"):
        parse_document(Loose, "{}")


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["number", "name", "a"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from([*Whole.__dataclass_fields__, "other"]), VALUES))
def test_any_json_is_read_or_refused(change):
    whole = None
    with suppress(SchemaError):
        whole = parse_document(Whole, json.dumps(GOOD | change))
    if whole is not None:
        assert parse_document(Whole, json.dumps(asdict(whole))) == whole


# What comes from users, line by line, has messages of its own; all that gramian wrote is read by its schema.
READERS = {
    "io/schema.py", "parsing/json_sentences.py", "pipelines/shard_reading.py", "web/app.py",
}  # fmt: skip
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
