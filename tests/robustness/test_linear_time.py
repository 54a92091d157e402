"""Reading text takes time linear in its length, whatever the text: checked by ratios of processor time within one run."""

import ast
import gc
import importlib
import io
import re
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import gramian
from gramian.parsing.parser import load
from gramian.text.rule_tokenizer import TextToken, TokenizedText, tokenize
from gramian.text.sentence_segmenter import SentenceSegmenter
from gramian.text.text_training import learn_tokenizer
from gramian.trees import treebank_reading

SOURCE = Path(gramian.__file__).parent
GROWTH = 8  # of the text
LIMIT = 3 * GROWTH  # of the time; quadratic would be 64

UNITS = (
    "_", "a", "a..", "a--", "'", "''", "'s", "n't", '"', ".", ".)", "a.)", "a@", "a@b", "a@b.", "www.", "http://", "#", "@a",
    "!", "!a", "。", "a。", ":)", "😀\u200d", "a ", "a\t", "1,", "a_", "\n", "a\n", "A. ", "x.\n", "((", "<3", "İ",
)  # fmt: skip
SLOW_UNITS = ("_", "a", "a..", "'s", '"', ".)", "a@b.", "www.", "。", "a\t")
"""A smaller choice for the learned tokenizer, which takes some microseconds a character."""


def cpu_seconds(function: Callable[[Any], object], text: Any, repeats: int = 2) -> float:
    times = []
    for repeat in range(repeats):
        again = text + text[:0].join([text[:1]] * repeat)  # not one that a cache knows
        gc.disable()  # a collection takes time for all objects of the process, not only for those of the text
        try:
            began = time.process_time()
            function(again)
            times.append(time.process_time() - began)
        finally:
            gc.enable()
    return max(min(times), 1e-4)


def time_ratio(function: Callable[[Any], object], small: Any, large: Any, limit: float) -> float:
    """Return how much longer the large text takes; a ratio above the limit is measured again, since other processes disturb it."""
    ratio = float("inf")
    for _ in range(4):
        ratio = min(ratio, cpu_seconds(function, large) / cpu_seconds(function, small))
        if ratio < limit:
            break
    return ratio


def assert_linear(function: Callable[[str], object], unit: str, largest: int) -> None:
    """Compare a text with one of an eighth of its length."""
    small, large = (unit * (size // len(unit)) + "a!" for size in (largest // GROWTH, largest))
    ratio = time_ratio(function, small, large, LIMIT)
    assert ratio < LIMIT, f"{unit!r}: {GROWTH} times the text takes {ratio:.0f} times as long"


@pytest.mark.parametrize("unit", UNITS)
def test_rule_based_tokenizer_is_linear(unit: str) -> None:
    assert_linear(tokenize, unit, 1 << 15)


@pytest.mark.parametrize("unit", SLOW_UNITS)
def test_learned_tokenizer_is_linear(unit: str) -> None:
    assert_linear(load().model.tokenize, unit, 1 << 14)


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("kind", ["learned", "by rule"])
def test_sentence_segmentation_is_linear(unit: str, kind: str) -> None:
    segmenter = load().segmenter if kind == "learned" else SentenceSegmenter()
    assert_linear(segmenter.segment, unit, 1 << 15)


@pytest.mark.parametrize("unit", ["a", "'"])
def test_a_megabyte_is_read_in_linear_time(unit: str) -> None:
    for function in (tokenize, SentenceSegmenter().segment):
        assert_linear(function, unit, 1 << 20)
    if unit == "a":
        assert_linear(load().model.tokenize, unit, 1 << 20)


def test_learning_a_tokenizer_is_linear_in_the_longest_word(monkeypatch: pytest.MonkeyPatch) -> None:
    def read_all(examples: Iterable[object]) -> None:
        """Stand in for the regression, whose steps depend on more than the length."""
        for _ in examples:
            pass

    def learn(text: str) -> object:
        starts = range(0, len(text), 2)
        pieces = [TextToken(text[start : start + 2], start, min(start + 2, len(text))) for start in starts]
        return learn_tokenizer([TokenizedText(text, pieces)])

    monkeypatch.setattr("gramian.text.text_training.learn_scores", read_all)
    for unit in ("a'", "ab"):
        assert_linear(learn, unit, 1 << 14)


@pytest.mark.parametrize(
    "text",
    ["(S (A a)\n", "(\n", "(S (A a)\n(S (A a))\n", "(S (A a)\n" * 50 + "(S (A a))\n"],
    ids=["trees", "brackets", "every second", "most"],
)
def test_unclosed_trees_are_not_read_over_and_over(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each line was read again 100 times, once for each of the trees before it."""
    add, reads = treebank_reading._OpenText.add, 0

    def counted(self: treebank_reading._OpenText, segment: str) -> None:
        nonlocal reads
        reads += len(segment)
        add(self, segment)

    monkeypatch.setattr(treebank_reading._OpenText, "add", counted)
    text *= (1 << 18) // len(text)
    assert "".join(record for _, record in treebank_reading.whole_trees(io.StringIO(text))) == text
    assert reads < 16 * len(text)


# -- every regular expression of the package ---------------------------------------------------------------------------


class BuiltIn(NamedTuple):
    where: str
    pattern: re.Pattern[Any]
    whole: bool  # applied at one place only (match, fullmatch), not searched for


DYNAMIC = {
    "cli/wfa.py": "an alternation of the option names of wfa",
    "experiments/figures.py": "attributes of figures that matplotlib has just drawn",
    "search/tree_search.py": "escaped names of a pattern between brackets",
    "pipelines/inputs.py": "the user's own file pattern, see test_search_limits.py",
    "io/schema.py": "expressions that record classes declare",
    "trees/normalise.py": "the annotation scheme's own expression",
    "trees/scheme.py": "expressions of the records of annotation schemes",
}
"""Files with expressions that are put together when they are used, and what from."""


def built_in() -> Iterator[BuiltIn]:
    """Yield every regular expression of the package, found in its source."""
    sources = {path: path.read_text() for path in sorted(SOURCE.rglob("*.py"))}
    everything = "\n".join(sources.values())
    for path, source in sources.items():
        name = path.relative_to(SOURCE).as_posix()
        tree = ast.parse(source)
        if not re.search(r"^\s*import re$", source, re.MULTILINE):
            continue
        module = importlib.import_module(
            "gramian." + name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        )
        at_top = {
            id(call)
            for statement in tree.body
            if isinstance(statement, ast.Assign | ast.AnnAssign)
            for call in ast.walk(statement)
        }
        for variable, value in vars(module).items():
            values = value.values() if isinstance(value, dict) else [value]
            patterns = [pattern for pattern in values if isinstance(pattern, re.Pattern)]
            if patterns:
                read = source if variable.startswith("_") else everything
                used = set(re.findall(rf"\b{re.escape(variable)}(?:\[\w+\])?\.(\w+)\b", read))
                whole = bool(used) and used <= {"match", "fullmatch", "pattern"}
                yield from (BuiltIn(f"{name}: {variable}", pattern, whole) for pattern in patterns)
        for call in ast.walk(tree):
            if (
                not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute))
                or id(call) in at_top
            ):
                continue
            if not (
                isinstance(call.func.value, ast.Name) and call.func.value.id == "re"
            ) or call.func.attr in ("escape", "error"):
                continue
            if isinstance(call.args[0], ast.Constant):
                yield BuiltIn(
                    f"{name}:{call.lineno}",
                    re.compile(call.args[0].value),
                    call.func.attr in ("match", "fullmatch"),
                )
            else:
                assert name in DYNAMIC, (
                    f"{name}:{call.lineno} builds a regular expression: say in DYNAMIC what bounds its time"
                )


def apply(one: BuiltIn, text: Any) -> None:
    if one.whole:
        one.pattern.match(text)
        one.pattern.fullmatch(text)
    else:
        for _ in one.pattern.finditer(text):
            pass


def units_for(pattern: str) -> list[str]:
    """Return what to repeat: common characters, those that the expression names, and pairs of these."""
    named = list(
        dict.fromkeys(
            character for character in pattern if not character.isspace() and character not in "\\[]^?*+|"
        )
    )[:8]
    return [
        *dict.fromkeys(
            [*"aA1_-.'@!()/ \n,:=#<。\"%", *named, *(one + other for one in named for other in named)]
        )
    ]


EXPRESSIONS = list(built_in())


def test_all_expressions_are_found() -> None:
    calls = sum(len(re.findall(r"\bre\.compile\(", path.read_text())) for path in SOURCE.rglob("*.py"))
    assert len(EXPRESSIONS) > 0.8 * calls > 40


@pytest.mark.parametrize("one", EXPRESSIONS, ids=[one.where for one in EXPRESSIONS])
def test_built_in_expressions_are_linear(one: BuiltIn) -> None:
    source = one.pattern.pattern
    is_bytes = isinstance(source, bytes)
    reference = re.compile(b"(?s)." if is_bytes else "(?s).")
    for unit in units_for(source.decode("latin-1") if is_bytes else source):
        for tail in ("", "\0!"):
            texts: list[Any] = [unit * (size // len(unit)) + tail for size in (1 << 11, 1 << 13)]
            if is_bytes:
                texts = [text.encode("utf-8") for text in texts]
            began = time.process_time()
            apply(one, texts[0])
            if time.process_time() - began < 20 * cpu_seconds(reference.findall, texts[0], repeats=1):
                continue  # some operations a character
            ratio = time_ratio(partial(apply, one), *texts, limit=8)
            assert ratio < 8, f"{unit!r}: 4 times the text takes {ratio:.0f} times as long"
