"""What kernels rely on: one row for every array that a model file may hold.

Kernels look neither at sizes nor at bounds, so whatever comes from a file passes :func:`validate` first: of each array its type, its shape
by the names of sizes, between which numbers it lies, and what else must hold of it. A size is given by the caller, follows from arrays
that were validated, or is that of the first array that has it. ``load`` and ``save`` validate every part of a model, so that nothing is
saved that could not be loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

Arrays: TypeAlias = Mapping[str, npt.NDArray[Any]]
Size: TypeAlias = "int | str"
"""A number, the name of a size, or such a name and a number: ``"tags+1"``."""
Bound: TypeAlias = "float | str"


class Row(NamedTuple):
    """An array; its numbers are at least `least` and below `below` (if not whole, at most that), column by column if these are tuples."""

    array: str
    type: str
    shape: tuple[Size, ...]
    least: Bound | tuple[Bound, ...] = -inf
    below: Bound | tuple[Bound, ...] = inf
    optional: bool = False


Check: TypeAlias = Callable[[Arrays, dict[str, int]], None]
"""Requires more of the arrays above it, or adds sizes that follow from them."""


def validate(rows: str | Sequence[Row | Check], arrays: Arrays, **sizes: int) -> None:
    """Raise a ValueError that names the first array that is not as its row says; `rows` are a kind of :data:`TABLE`, or rows."""
    known: dict[str, int] = dict(sizes)
    for row in TABLE[rows] if isinstance(rows, str) else rows:
        if not isinstance(row, Row):
            row(arrays, known)
        elif row.array in arrays:
            _validate_array(row, arrays[row.array], known)
        elif not row.optional:
            raise ValueError(f"{row.array} is missing")


def _validate_array(row: Row, array: npt.NDArray[Any], sizes: dict[str, int]) -> None:
    name = row.array
    require(isinstance(array, np.ndarray) and array.dtype == row.type, f"{name} is of type {row.type}")
    require(array.ndim == len(row.shape), f"{name} has {len(row.shape)} dimensions (it has {array.ndim})")
    for size, length in zip(row.shape, array.shape, strict=True):
        if isinstance(size, str) and "+" not in size:
            sizes.setdefault(size, length)
        wanted = _number(size, sizes)
        explained = f", {size} being {wanted}" if isinstance(size, str) else ""
        shape = ", ".join(map(str, row.shape))
        require(length == wanted, f"{name} has shape ({shape}){explained} (it has {array.shape})")
    if not array.size:
        return
    by_column = isinstance(row.least, tuple) or isinstance(row.below, tuple)
    for column in range(array.shape[-1] if by_column else 1):
        least = row.least[column] if isinstance(row.least, tuple) else row.least
        below = row.below[column] if isinstance(row.below, tuple) else row.below
        low, end = _number(least, sizes), _number(below, sizes)
        lowest, highest = _extremes(array[:, column] if by_column else array)
        require(bool(np.isfinite(lowest) and np.isfinite(highest)), f"{name} is finite")
        inside = lowest >= low and (highest < end if array.dtype.kind in "iu" else highest <= end)
        require(inside, f"{name} lies within {low:g} and {end:g}")


def _number(value: Bound, sizes: Mapping[str, int]) -> float:
    """Return a number, or what a name such as ``"tags"`` or ``"tags+1"`` stands for."""
    if not isinstance(value, str):
        return value
    if value in sizes:
        return sizes[value]
    name, _, added = value.partition("+")
    return sizes[name] + int(added)


def _extremes(numbers: npt.NDArray[Any]) -> tuple[Any, Any]:
    """Return bounds of all numbers, finite if all are; of half precision, with which no processor computes, by comparing bits."""
    if numbers.dtype != np.float16:
        return numbers.min(), numbers.max()
    most = (np.ascontiguousarray(numbers).view(np.uint16) & 0x7FFF).max().view(np.float16)
    return -most, most


def require(holds: bool | np.bool_, what: str) -> None:
    """Raise a ValueError that says what does not hold."""
    if not holds:
        raise ValueError(f"required: {what}")


def _grammar_sizes(arrays: Arrays, sizes: dict[str, int]) -> None:
    """Count the states of symbols, rules, entries and classes; numbers too large for any array are large as floats, too."""
    states, word_states = arrays["n_states"], arrays["lexicon.n_states"]
    binary = states[arrays["binary_rules"]].astype(np.float64).prod(axis=1)
    if "factors.rank" in arrays:
        binary = binary[arrays["factors.rank"] == 0]
    sizes["states"] = int(states.sum(dtype=np.int64))
    sizes["numbers of whole rules"] = int(binary.sum())
    sizes["numbers of unary rules"] = int(states[arrays["unary_rules"]].astype(np.float64).prod(axis=1).sum())
    sizes["states of entries"] = int(word_states[arrays["lexicon.entry_tag"]].sum(dtype=np.int64))
    sizes["states of classes"] = int(word_states[arrays["lexicon.classes"]].sum(dtype=np.int64))


def _check_rules(arrays: Arrays, sizes: dict[str, int]) -> None:
    for name in ("binary_rules", "unary_rules"):
        rules = arrays[name][np.lexsort(arrays[name].T)]
        repeated = (rules[1:] == rules[:-1]).all(axis=1)
        require(not repeated.any(), f"{name.replace('_', ' ')} are distinct")
    if "factors.start" not in arrays:
        return
    rank, start = arrays["factors.rank"], arrays["factors.start"]
    ends = start + rank[:, None] * arrays["n_states"][arrays["binary_rules"]].astype(np.float64)
    require(ends.max(initial=0) <= sizes["factor numbers"], "factors are all there")
    # The chart knows the product of a child's matrix with a vector by where the matrix begins.
    begins, ranks = start[rank > 0, 1:].ravel(), np.repeat(rank[rank > 0], 2)
    order = np.argsort(begins, kind="stable")
    is_same_matrix = np.diff(begins[order]) == 0
    require(not np.diff(ranks[order])[is_same_matrix].any(), "rules that share a matrix have one rank")


def _check_lexicon(arrays: Arrays, sizes: dict[str, int]) -> None:
    states = arrays["n_states"][sizes["phrases"] :]
    require(np.array_equal(arrays["lexicon.n_states"], states), "its tags have as many states")
    require(arrays["lexicon.tag_prior"].min() > 0, "every tag has a share")
    starts, tags = arrays["lexicon.entry_start"].astype(np.int64), arrays["lexicon.entry_tag"]
    n_entries = np.diff(starts)
    all_there = starts[0] == 0 and starts[-1] == len(tags) and (n_entries > 0).all()
    require(all_there, "every word has entries")
    word = np.repeat(np.arange(len(n_entries)), n_entries)
    pairs = np.sort(word * sizes["tags"] + tags, kind="stable")
    require((np.diff(pairs) > 0).all(), "the tags of a word are distinct")


def _slots(name: str, at_least: str = "") -> Check:
    """Require that a table of hashed weights can be indexed by the lower bits of a hash, and has a weight for each of something."""

    def check(arrays: Arrays, sizes: dict[str, int]) -> None:
        size = arrays[name].size if name in arrays else 1
        require(size > 0 and not size & (size - 1), "tables of weights have a power of two of slots")
        if at_least:
            require(size >= sizes[at_least], f"there is a weight for each of the {at_least}")

    return check


def _rising_offsets(arrays: Arrays, _: dict[str, int]) -> None:
    """Require that every key has a candidate."""
    require(bool((np.diff(arrays["offsets"]) > 0).all()), "offsets ascend")


def _rising_hashes(arrays: Arrays, _: dict[str, int]) -> None:
    require(bool((np.diff(arrays["hashes"].astype(np.int64)) > 0).all()), "features are in order")


def _head_automata(name: str) -> tuple[Row, ...]:
    states, operators = f"{name} states", f"{name} operators"
    return (
        Row(f"{name}.initial", "float64", ("automata", states)),
        Row(f"{name}.final", "float64", ("automata", states)),
        Row(f"{name}.operators", "float64", (operators, states, states)),
        Row(f"{name}.rows", "int32", ("automata", "symbols"), 0, operators),
        Row(f"{name}.states", "int32", ("automata",), 1, f"{states}+1"),
    )


TABLE: dict[str, tuple[Row | Check, ...]] = {
    # Given: symbols, phrases, tags, words, features. What counts or numbers others comes first.
    "grammar": (
        Row("n_states", "int32", ("symbols",), 1, 1 << 15),
        Row("binary_rules", "int32", ("binary rules", 3), 0, ("phrases", "symbols", "symbols")),
        Row("unary_rules", "int32", ("unary rules", 2), (0, "phrases"), ("phrases", "symbols")),
        Row("factors.rank", "int32", ("binary rules",), 0, 1 << 30, optional=True),
        Row("lexicon.n_states", "int32", ("tags",), 1, 1 << 15),
        Row("lexicon.entry_tag", "int32", ("entries",), 0, "tags"),
        Row("lexicon.entry_start", "int32", ("words+1",), 0),
        Row("lexicon.classes", "int64", ("classes",), 0, "tags"),
        _grammar_sizes,
        Row("state_prior", "float32", ("states",)),
        Row("root", "float32", ("states",)),
        Row("before", "float32", ("symbols", "tags+1")),
        Row("after", "float32", ("symbols", "tags+1")),
        Row("factors.weight", "float32", ("binary rules",), optional=True),
        Row("factors.values", "float32", ("factor numbers",), optional=True),
        Row("factors.start", "int64", ("binary rules", 3), 0, optional=True),
        _check_rules,
        Row("binary", "float32", ("numbers of whole rules",)),
        Row("unary", "float32", ("numbers of unary rules",)),
        Row("binary_weight", "float64", ("binary rules",), 0, optional=True),
        Row("unary_weight", "float64", ("unary rules",), 0, optional=True),
        Row("root_weight", "float64", ("symbols",), 0, optional=True),
        Row("lexicon.tag_prior", "float32", ("tags",)),
        Row("lexicon.word_count", "int32", ("words",)),
        _check_lexicon,
        Row("lexicon.entry_probability", "float32", ("entries",), 0),
        Row("lexicon.entry_states", "float32", ("states of entries",)),
        Row("lexicon.feature_weights", "float32", ("features+1", "tags")),
        Row("lexicon.class_states", "float32", ("states of classes",)),
    ),
    # Given: tags. The tagger's table is first.
    "expert": (
        Row("tag_weights", "float32", ("slots of the tagger",)),
        _slots("tag_weights", at_least="tags"),
        Row("weights", "float32", ("slots",)),
        _slots("weights"),
    ),
    # Given: dense features.
    "reranker": (
        Row("dense", "float64", ("dense features",)),
        Row("weights", "float32", ("slots",)),
        _slots("weights"),
    ),
    # Of text: where sentences end, and words.
    "features": (
        Row("hashes", "uint32", ("features",)),
        _rising_hashes,
        Row("weights", "float32", ("features",)),
    ),
    # Given: symbols.
    "wfa": (
        Row("initial", "float64", ("states",), -1e100, 1e100),
        Row("final", "float64", ("states",), -1e100, 1e100),
        Row("transitions", "float64", ("symbols", "states", "states"), -1e100, 1e100),
    ),
    # Given: symbols. Strings end with STOP.
    "pdfa": (
        Row("probability", "float64", ("states", "symbols+1"), 0, 1e100),
        Row("successor", "int32", ("states", "symbols"), -1, "states"),
    ),
    # Given: numbers of parts of classes, and keys of candidates.
    "word-classifier": (
        Row("parts", "int32", ("classes", "parts of a class"), -1, "numbers"),
        Row("coarse", "int32", ("classes",), 0, "classes"),
        Row("candidates", "int32", ("all candidates",), 0, "classes"),
        Row("offsets", "int32", ("keys+1",), 0, "all candidates+1"),
        _rising_offsets,
        Row("weights", "float32", ("slots",)),
        _slots("weights", at_least="numbers"),
    ),
    # Given: symbols.
    "recurrent": (
        Row("recurrent_weights", "float32", ("states", 4, "states")),
        Row("input_weights", "float32", ("inputs", 4, "states")),
        Row("gate_bias", "float32", (4, "states")),
        Row("embedding", "float32", ("symbols+1", "inputs")),
        Row("output_weights", "float32", ("states", "symbols+1")),
        Row("output_bias", "float32", ("symbols+1",)),
    ),
    # Given: symbols, automata, relations.
    "dependency-parser": (
        *_head_automata("grammar"),
        *_head_automata("backoff"),
        Row("relation_weights", "float32", ("slots of relations",)),
        _slots("relation_weights", at_least="relations"),
        Row("arc_weights", "float32", ("slots of arcs",), optional=True),
        _slots("arc_weights"),
    ),
}
"""Of each kind of part its arrays, those first that say how large others are."""
