"""The table of what kernels rely on: it has every array of every part, and each row refuses what is not so."""

from dataclasses import fields, replace
from typing import get_type_hints

import numpy as np
import pytest
from tiny_grammar import low_rank_grammar, tiny_grammar

from gramian.automata import PDFA, WFA
from gramian.dependency.split_head_automata import SHAG
from gramian.experts.rerank_candidates import DENSE
from gramian.experts.rerank_model import RerankModel
from gramian.experts.span_model import SpanModel
from gramian.grammar.lexicon import Lexicon
from gramian.grammar.lpcfg import LPCFG, Factors, arrays_of
from gramian.io.array_table import TABLE, Row, validate
from gramian.text.feature_scores import FeatureScores


def array_fields(kind, prefix=""):
    hints = get_type_hints(kind)
    return {prefix + part.name for part in fields(kind) if "ndarray" in str(hints[part.name])}


HOLDERS = {
    "grammar": array_fields(LPCFG) | array_fields(Lexicon, "lexicon.") | array_fields(Factors, "factors."),
    "expert": array_fields(SpanModel),
    "reranker": array_fields(RerankModel),
    "features": array_fields(FeatureScores),
    "wfa": array_fields(WFA),
    "pdfa": array_fields(PDFA),
    "dependency-parser": array_fields(SHAG, "grammar.") | array_fields(SHAG, "backoff."),
}


@pytest.mark.parametrize("kind", HOLDERS)
def test_every_array_of_a_part_has_a_row(kind):
    rows = {row.array for row in TABLE[kind] if isinstance(row, Row)}
    assert HOLDERS[kind] <= rows


def shag_arrays(prefix):
    grammar = SHAG.from_automata(("N", "V"), {("V", 0): WFA([1.0], [0.5], [[[0.5]]], ("N",))})
    return {f"{prefix}.{part}": getattr(grammar, part) for part in array_fields(SHAG)}


def whole_parts():
    """A part of every kind, and the sizes that are known of it."""
    grammar = replace(tiny_grammar(), factors=low_rank_grammar().factors, binary=low_rank_grammar().binary)
    sizes = {"symbols": 11, "phrases": 6, "tags": 5, "words": 10, "features": 4}
    weights = {
        "binary_weight": np.ones(9),
        "unary_weight": np.ones(3),
        "root_weight": np.ones(11),
    }
    table = np.zeros(8, np.float32)
    return {
        "grammar": (arrays_of(grammar) | weights, sizes),
        "expert": ({"tag_weights": table, "weights": table}, {"tags": 3}),
        "reranker": ({"dense": np.zeros(len(DENSE)), "weights": table}, {"dense features": len(DENSE)}),
        "features": ({"hashes": np.arange(3, dtype=np.uint32), "weights": np.zeros(3, np.float32)}, {}),
        "wfa": (WFA([1.0], [0.5], [[[0.5]]], ("a",)).arrays(), {"symbols": 1}),
        "pdfa": (PDFA([[1], [-1]], [[0.5, 0.5], [0.0, 1.0]], ("a",)).arrays(), {"symbols": 1}),
        "word-classifier": (
            {
                "parts": np.array([[0, 1], [2, -1]], np.int32),
                "coarse": np.array([0, 1], np.int32),
                "candidates": np.array([0, 1, 1], np.int32),
                "offsets": np.array([0, 1, 3], np.int32),
                "weights": table,
            },
            {"numbers": 3, "keys": 2},
        ),
        "recurrent": (
            {
                "recurrent_weights": np.ones((1, 4, 1), np.float32),
                "input_weights": np.ones((2, 4, 1), np.float32),
                "gate_bias": np.ones((4, 1), np.float32),
                "embedding": np.ones((2, 2), np.float32),
                "output_weights": np.ones((1, 2), np.float32),
                "output_bias": np.ones(2, np.float32),
            },
            {"symbols": 1},
        ),
        "dependency-parser": (
            shag_arrays("grammar")
            | shag_arrays("backoff")
            | {"relation_weights": table, "arc_weights": table},
            {"symbols": 2, "automata": 6, "relations": 3},
        ),
    }


def spoilt(array):
    """An array in all the ways in which it cannot be as its row says."""
    yield "a number", np.float64(1.0)
    yield "no dimension", array.dtype.type(1).reshape(())
    yield "one dimension more", array[None]
    yield "another type", array.astype(np.complex128)
    if array.dtype.kind == "f":
        for odd in (np.nan, np.inf, -np.inf):
            yield (
                str(odd),
                np.where(np.arange(array.size).reshape(array.shape) == 0, odd, array).astype(array.dtype),
            )
    else:
        for odd in (np.iinfo(array.dtype).min, np.iinfo(array.dtype).max):
            yield (
                str(odd),
                np.where(np.arange(array.size).reshape(array.shape) == 0, odd, array).astype(array.dtype),
            )


FREE = {"lexicon.word_count", "hashes"}  # any whole number will do


@pytest.mark.parametrize("kind", TABLE)
def test_a_row_refuses_what_is_not_so(kind):
    arrays, sizes = whole_parts()[kind]
    validate(kind, arrays, **sizes)
    for name, array in arrays.items():
        for how, wrong in spoilt(array):
            if name in FREE and how.lstrip("-").isdigit():
                continue
            with pytest.raises(ValueError, match="required"):
                validate(kind, {**arrays, name: wrong}, **sizes)


def test_what_is_missing_is_named():
    with pytest.raises(ValueError, match="weights is missing"):
        validate("reranker", {"dense": np.zeros(len(DENSE))}, **{"dense features": len(DENSE)})


@pytest.mark.parametrize(
    ("kind", "name", "wrong", "message"),
    [
        ("grammar", "lexicon.entry_tag", [0, 0], "the tags of a word are distinct"),
        ("expert", "tag_weights", np.zeros(2, np.float32), "a weight for each of the tags"),
        ("expert", "weights", np.zeros(6, np.float32), "a power of two"),
        ("expert", "weights", np.zeros(0, np.float32), "a power of two"),
        ("dependency-parser", "relation_weights", np.zeros(2, np.float32), "each of the relations"),
        (
            "dependency-parser",
            "grammar.states",
            np.full(6, 2, np.int32),
            "grammar.states lies within 1 and 2",
        ),
        ("pdfa", "successor", np.array([[2], [-1]], np.int32), "successor lies within -1 and 2"),
    ],
)
def test_laws(kind, name, wrong, message):
    arrays, sizes = whole_parts()[kind]
    if isinstance(wrong, list):  # of the one word that has two tags
        place = int(np.flatnonzero(np.diff(arrays["lexicon.entry_start"]) == 2)[0])
        first = arrays["lexicon.entry_start"][place]
        changed = arrays[name].copy()
        changed[first : first + 2] = changed[first]
        arrays["lexicon.entry_states"] = np.ones(int(arrays["lexicon.n_states"][changed].sum()), np.float32)
        wrong = changed
    with pytest.raises(ValueError, match=message):
        validate(kind, {**arrays, name: wrong}, **sizes)


def test_matrices_at_one_place_have_one_rank():
    arrays, sizes = whole_parts()["grammar"]
    start, rank = arrays["factors.start"].copy(), arrays["factors.rank"].copy()
    both = np.flatnonzero(rank == 0)[:1]
    rank[both], start[both] = 3, start[rank == 1][0]
    states = arrays["n_states"][arrays["binary_rules"]].astype(np.int64).prod(axis=1)
    changed = {
        "factors.rank": rank,
        "factors.start": start,
        "factors.values": np.ones(100, np.float32),
        "binary": np.ones(int(states[rank == 0].sum()), np.float32),
    }
    with pytest.raises(ValueError, match="share a matrix have one rank"):
        validate("grammar", arrays | changed, **sizes)


@pytest.mark.parametrize("wrong", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("kind", ["float16", "float32", "float64"])
def test_a_number_that_is_not_finite_is_found_in_any_precision(kind, wrong):
    numbers = np.array([[0, -65504.0], [65504.0, 1e-7]], kind)
    validate([Row("numbers", kind, (2, 2))], {"numbers": numbers})
    numbers[1, 0] = wrong
    with pytest.raises(ValueError, match="numbers is finite"):
        validate([Row("numbers", kind, (2, 2))], {"numbers": numbers.T})
