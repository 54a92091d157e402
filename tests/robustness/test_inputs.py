"""Inputs that once crashed a reader, or took it for ever; and new ones that are nearly right."""

import io
import tracemalloc
import warnings
from contextlib import suppress
from functools import cache
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gramian.automata.string_formats import read_solution, read_strings, read_targets
from gramian.errors import GramianError, InputError, OptionError
from gramian.experiments.plan import make_plan
from gramian.parsing.sentences import read_record
from gramian.trees import BracketError, ConlluError, Tree, binarise, debinarise, read_conllu, read_trees

DIGITS = "9" * 5000  # more than Python turns into a number


@cache
def parser(name):
    from tools.fuzz.__main__ import PARSERS

    return PARSERS[name]()


@pytest.mark.parametrize(
    "name", ["brackets", "conllu", "pautomac", "tagged", "records", "sentences", "heads", "toml"]
)
@settings(max_examples=60)
@given(number=st.integers(0, 2**32))
def test_inputs_are_read_or_refused_by_name(name, number):
    make, read = parser(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with suppress(GramianError):
            read(make(Random(number)))


@pytest.mark.parametrize(
    ("text", "trees"),
    [
        ("(S (A a)\n" * 20_000, 0),  # every line was read again for each that is never closed
        ("(S OP " * 40_000, 0),  # the place of every fault was counted from the start
        ("(S" + " (A a b)" * 20_000 + ")", 1),
        ("(A)" * 20_000 + "(A a)", 1),
        ("(A a))" * 20_000, 20_000),
    ],
    ids=["open lines", "stray words", "words with spaces", "no words", "stray brackets"],
)
def test_many_faults_take_no_longer_than_their_number(text, trees):
    skipped = []
    found = read_trees(io.StringIO(text), broken="skip", on_skip=skipped.append, on_join=lambda error: None)
    if trees:
        assert sum(1 for _ in found) == trees
    else:
        with pytest.raises(InputError, match="not one tree"):
            next(found)
    assert all(error.line is not None and error.column is not None for error in skipped)


def test_a_phrase_of_many_words_comes_back_from_binary_form_in_little_memory():
    """What stood below each of 20,000 intermediate nodes was copied for the next."""
    words = [Tree("A", word="a") for _ in range(20_000)]
    tree = Tree("S", words)
    binary = binarise(tree)
    tracemalloc.start()
    assert debinarise(binary) == tree
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 50 << 20


def test_places_of_faults_on_one_line_and_on_many():
    places = []
    text = "(A) (B b)\n (C)\n(D d)) (E e) x\n"
    trees = list(
        read_trees(
            io.StringIO(text), broken="skip", on_skip=lambda error: places.append((error.line, error.column))
        )
    )
    assert [tree.label for tree in trees] == ["B", "D"]  # what stands after E spoils it
    assert places == [(1, 2), (2, 3), (3, 6), (3, 14)]


def test_a_line_too_long_to_show():
    with pytest.raises(BracketError) as caught:
        list(read_trees(io.StringIO("(A a) " * 10_000 + "x")))
    assert caught.value.excerpt is None
    assert caught.value.column == 60_001


ROW = "{}\tdog\t_\tNOUN\tNN\t_\t{}\troot\t_\t_\n\n"


@pytest.mark.parametrize(
    ("number", "head", "message"),
    [
        (DIGITS, "0", "not a word number"),
        (f"1-{DIGITS}", "0", "not a word number"),
        (f"{DIGITS}.1", "0", "not a word number"),
        ("1", DIGITS, "not a word number"),
        ("١", "0", "not a word number"),
        ("1", "٠", "not a word number"),
    ],
)
def test_numbers_of_words(number, head, message):
    with pytest.raises(ConlluError, match=message):
        list(read_conllu(io.StringIO(ROW.format(number, head))))


@pytest.mark.parametrize(
    "text",
    [
        "1 99999999999\n1 0\n",  # an alphabet larger than memory
        f"1 {DIGITS}\n1 0\n1 0\n",
        f"1 3\n1 0\n{DIGITS} 0\n",
        "1 3\n1 0\n² 0\n",
        "2 3\n1 0\n1 ²\n",
        "1 999999999\n1 0\n",
    ],
)
def test_numbers_of_strings(text):
    try:
        found = read_strings(io.StringIO(text))
    except InputError:
        return
    assert all(isinstance(symbol, str) for symbol in found.alphabet)  # taken for a plain file of symbols
    assert len(found.alphabet) < 10


def test_numbers_of_solutions_and_targets():
    for read, text in (
        (read_solution, "1e999\n1\n"),
        (read_solution, f"{DIGITS}\n"),
        (read_targets, f"1 {DIGITS} 1\n"),
    ):
        with pytest.raises(InputError):
            read(io.StringIO(text))


def test_records_nested_too_deeply():
    with pytest.raises(InputError, match="not JSON"):
        read_record("[" * 100_000, "<string>", 1)


@pytest.mark.parametrize(
    ("recipe", "text", "message"),
    [
        ("states", "a = " + "[" * 5000, "nested too deeply"),
        ("states", f"states = {DIGITS}", "is not valid TOML"),
        ("states", "\xff", "no setting|not valid TOML"),
        ("states", f"seeds = {2**31}", "seeds must be at least 1 and at most 1000"),
        ("states", "seeds = true", "seeds must be a whole number"),
        ("states", f"states = {10**40}", "states must be at least 1 and at most"),
        ("states", "states = 0x" + "f" * 5000, "states must be at least 1 .* without end"),
        ("states", "least = nan", "least must be a finite number"),
        ("states", "states = 1.5", "states must be a whole number"),
        ("states", "ways = []", "ways must be a sequence of values"),
        ("speed", 'states = ["a"]', r"states\[0\] must be a whole number"),
        ("learning-curve", 'sizes = ["a"]', r"sizes\[0\] must be a whole number"),
        ("learning-curve", 'methods = ["magic"]', r"methods\[0\] must be one of .*, got 'magic'"),
        ("shag", 'variants = ["magic"]', r"variants\[0\] must be one of .*, got 'magic'"),
        ("ablation", 'parts = ["magic"]', r"parts\[0\] must be one of .*, got 'magic'"),
        ("ablation", "parts = [[1]]", r"parts\[0\] must be one of .*, got \[1\]"),
        ("noise", 'combinations = ["magic"]', "must be one of product, sum"),
        ("noise", "models = [0]", r"models\[0\] must be at least 1"),
        ("states", "seeds = 0", "seeds must be at least 1"),
        ("thesis", "test_sentences = 0", "test_sentences must be at least 1"),
        ("thesis", 'preset = "magic"', "unknown preset 'magic'"),
        ("wfa", 'bases = ["many"]', "a number of substrings"),
        ("wfa", f'bases = ["{DIGITS}"]', "a number of substrings"),
    ],
)  # fmt: skip
def test_settings(tmp_path, recipe, text, message):
    for part in ("train", "dev"):
        (tmp_path / f"{part}.mrg").write_text("(S (A a))\n" * 20)
        (tmp_path / f"{part}.conllu").write_text(ROW.format(1, 0))
    (tmp_path / "settings.toml").write_text(text, encoding="latin-1")
    with pytest.raises((InputError, OptionError), match=message):
        make_plan(recipe, str(tmp_path), config=tmp_path / "settings.toml")


def test_a_weight_of_a_tag_beyond_all_numbers():
    from gramian import Parser
    from gramian.learn import PCFG
    from gramian.treebank import Treebank
    from gramian.trees import Tree

    trees = [Tree.parse("(S (D the) (N dog))")]
    result = Parser(PCFG().fit(Treebank.from_trees(trees)).model_).parse(["the", ("dog", {"N": 10**400})])
    assert result.tree == trees[0]


def test_empty_lines_without_end(tmp_path):
    from gramian.io.reading import peek_text

    file = tmp_path / "tagged.txt"
    file.write_text("\n" * 100_000 + "the/D dog/N\n")
    assert peek_text(file)[1] == "the/D dog/N\n"
