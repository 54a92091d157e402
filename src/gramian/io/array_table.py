"""What kernels rely on: one row for every array that a model file may hold.

Kernels look neither at sizes nor at bounds, so whatever comes from a file passes :func:`prove` first: of each array its type, its shape
by the names of sizes, between which numbers it lies, and what else must hold of it. A size is known beforehand (how many symbols there
are), follows from arrays that were proved (:class:`Size`), or is that of the first array that has it. ``load`` and ``save`` prove every
part of a model, so that nothing is saved that could not be loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

Arrays: TypeAlias = Mapping[str, npt.NDArray[Any]]
Sizes: TypeAlias = Mapping[str, int]
Bound: TypeAlias = "float | str"


class Row(NamedTuple):
    """An array; its numbers are at least `least` and below `below` (if not whole, at most that), column by column if these are tuples."""

    array: str
    type: str
    shape: tuple[int | str, ...]
    least: Bound | tuple[Bound, ...] = -inf
    below: Bound | tuple[Bound, ...] = inf
    laws: tuple[Law, ...] = ()
    optional: bool = False


class Law(NamedTuple):
    """What else holds, in words and as a function of the array, of all arrays and of all sizes."""

    words: str
    holds: Callable[[npt.NDArray[Any], Arrays, Sizes], bool | np.bool_]


class Size(NamedTuple):
    """A size that follows from arrays above it."""

    name: str
    of: Callable[[Arrays, Sizes], float]


def _distinct(what: str) -> Law:
    return Law(f"{what} are distinct", _rows_differ)


def _rows_differ(rows: npt.NDArray[Any], *_: object) -> bool:
    ordered = rows[np.lexsort(rows.T)]
    return not (ordered[1:] == ordered[:-1]).all(axis=1).any()


def _cells(states: npt.NDArray[Any], rules: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return how many numbers the tensor of each rule has; products of whole numbers stay exact, or are too large anyway."""
    product: npt.NDArray[np.float64] = states[rules].astype(np.float64).prod(axis=1)
    return product


def _whole_cells(arrays: Arrays, _: Sizes) -> float:
    cells = _cells(arrays["n_states"], arrays["binary_rules"])
    return float(cells[arrays["factors.rank"] == 0].sum() if "factors.rank" in arrays else cells.sum())


def _ends_within(start: npt.NDArray[Any], arrays: Arrays, sizes: Sizes) -> bool:
    states = arrays["n_states"][arrays["binary_rules"]].astype(np.float64)
    ends = start + arrays["factors.rank"][:, None] * states
    return bool(ends.max(initial=0) <= sizes["factor numbers"])


def _one_rank_a_place(start: npt.NDArray[Any], arrays: Arrays, _: Sizes) -> bool:
    """Whether matrices of children that begin at one place have one rank: the chart knows their products with a vector by the place."""
    rank = arrays["factors.rank"]
    of_low_rank = rank > 0
    places, ranks = start[of_low_rank, 1:].ravel(), np.repeat(rank[of_low_rank], 2)
    order = np.argsort(places, kind="stable")
    same_place = np.diff(places[order]) == 0
    return not np.diff(ranks[order])[same_place].any()


def _in_order(numbers: npt.NDArray[Any], *_: object) -> bool:
    return bool((np.diff(numbers.astype(np.int64)) > 0).all())


def _rises(starts: npt.NDArray[Any], _: Arrays, sizes: Sizes) -> bool:
    return bool(starts[0] == 0 and starts[-1] == sizes["entries"] and (np.diff(starts) > 0).all())


def _distinct_in_a_word(tags: npt.NDArray[Any], arrays: Arrays, sizes: Sizes) -> bool:
    starts = arrays["lexicon.entry_start"].astype(np.int64)
    word = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    return bool((np.diff(np.sort(word * sizes["tags"] + tags, kind="stable")) > 0).all())


def _as_in_the_grammar(states: npt.NDArray[Any], arrays: Arrays, sizes: Sizes) -> bool:
    return np.array_equal(states, arrays["n_states"][sizes["phrases"] :])


def _power_of_two(table: npt.NDArray[Any], *_: object) -> bool:
    return table.size > 0 and not table.size & (table.size - 1)


def _at_least(size: str) -> Law:
    return Law(f"there is a weight for each of the {size}", lambda table, _, sizes: table.size >= sizes[size])


_SLOTS = Law("tables of weights have a power of two of slots", _power_of_two)


def _head_automata(name: str) -> tuple[Row | Size, ...]:
    return (
        Row(f"{name}.initial", "float64", ("automata", f"{name} states")),
        Row(f"{name}.final", "float64", ("automata", f"{name} states")),
        Row(f"{name}.operators", "float64", (f"{name} operators", f"{name} states", f"{name} states")),
        Row(f"{name}.rows", "int32", ("automata", "symbols"), 0, f"{name} operators"),
        Size(f"{name} states and one", lambda _, sizes: sizes[f"{name} states"] + 1),
        Row(f"{name}.states", "int32", ("automata",), 1, f"{name} states and one"),
    )


TABLE: dict[str, tuple[Row | Size, ...]] = {
    # Given: symbols, phrases, tags, words, features.
    "grammar": (
        Row("n_states", "int32", ("symbols",), 1, 1 << 15),
        Size("states", lambda arrays, _: int(arrays["n_states"].sum(dtype=np.int64))),
        Size("tags and the edge", lambda _, sizes: sizes["tags"] + 1),
        Row("state_prior", "float32", ("states",)),
        Row("root", "float32", ("states",)),
        Row("before", "float32", ("symbols", "tags and the edge")),
        Row("after", "float32", ("symbols", "tags and the edge")),
        Row("binary_rules", "int32", ("binary rules", 3), 0, ("phrases", "symbols", "symbols"), (_distinct("binary rules"),)),
        Row("unary_rules", "int32", ("unary rules", 2), (0, "phrases"), ("phrases", "symbols"), (_distinct("unary rules"),)),
        Row("factors.rank", "int32", ("binary rules",), 0, 1 << 30, optional=True),
        Row("factors.weight", "float32", ("binary rules",), optional=True),
        Row("factors.values", "float32", ("factor numbers",), optional=True),
        Row("factors.start", "int64", ("binary rules", 3), 0, inf, (
            Law("factors are all there", _ends_within), Law("rules that share a matrix have one rank", _one_rank_a_place),
        ), optional=True),
        Size("numbers of whole rules", _whole_cells),
        Row("binary", "float32", ("numbers of whole rules",)),
        Size("numbers of unary rules", lambda arrays, _: float(_cells(arrays["n_states"], arrays["unary_rules"]).sum())),
        Row("unary", "float32", ("numbers of unary rules",)),
        Row("binary_weight", "float64", ("binary rules",), 0, optional=True),
        Row("unary_weight", "float64", ("unary rules",), 0, optional=True),
        Row("root_weight", "float64", ("symbols",), 0, optional=True),
        Row("lexicon.n_states", "int32", ("tags",), 1, 1 << 15, (Law("its tags have as many states", _as_in_the_grammar),)),
        Row("lexicon.tag_prior", "float32", ("tags",), laws=(Law("every tag has a share", lambda shares, *_: shares.min() > 0),)),
        Row("lexicon.word_count", "int32", ("words",)),
        Row("lexicon.entry_tag", "int32", ("entries",), 0, "tags"),
        Size("words and one", lambda _, sizes: sizes["words"] + 1),
        Row("lexicon.entry_start", "int32", ("words and one",), 0, inf, (Law("every word has entries", _rises),)),
        Row("lexicon.entry_tag", "int32", ("entries",), 0, "tags", (Law("the tags of a word are distinct", _distinct_in_a_word),)),
        Row("lexicon.entry_probability", "float32", ("entries",), 0),
        Size("states of entries", lambda arrays, _: _states_of(arrays, "lexicon.entry_tag")),
        Row("lexicon.entry_states", "float32", ("states of entries",)),
        Size("features and bias", lambda _, sizes: sizes["features"] + 1),
        Row("lexicon.feature_weights", "float32", ("features and bias", "tags")),
        Row("lexicon.classes", "int64", ("classes",), 0, "tags"),
        Size("states of classes", lambda arrays, _: _states_of(arrays, "lexicon.classes")),
        Row("lexicon.class_states", "float32", ("states of classes",)),
    ),
    # Given: tags. The tagger's table is first.
    "expert": (
        Row("tag_weights", "float32", ("slots of the tagger",), laws=(_SLOTS, _at_least("tags"))),
        Row("weights", "float32", ("slots",), laws=(_SLOTS,)),
    ),
    # Given: dense features.
    "reranker": (
        Row("dense", "float64", ("dense features",)),
        Row("weights", "float32", ("slots",), laws=(_SLOTS,)),
    ),
    # Of text: where sentences end, and words.
    "features": (
        Row("hashes", "uint32", ("features",), laws=(Law("features are in order", _in_order),)),
        Row("weights", "float32", ("features",)),
    ),
    # Given: symbols.
    "wfa": (
        Row("initial", "float64", ("states",), -1e100, 1e100),
        Row("final", "float64", ("states",), -1e100, 1e100),
        Row("transitions", "float64", ("symbols", "states", "states"), -1e100, 1e100),
    ),
    # Given: symbols.
    "pdfa": (
        Size("symbols and STOP", lambda _, sizes: sizes["symbols"] + 1),
        Row("probability", "float64", ("states", "symbols and STOP"), 0, 1e100),
        Row("successor", "int32", ("states", "symbols"), -1, "states"),
    ),
    # Given: symbols, automata, relations.
    "dependency-parser": (
        *_head_automata("grammar"),
        *_head_automata("backoff"),
        Row("relation_weights", "float32", ("slots of relations",), laws=(_SLOTS, _at_least("relations"))),
        Row("arc_weights", "float32", ("slots of arcs",), laws=(_SLOTS,), optional=True),
    ),
}  # fmt: skip
"""Of each kind of part its arrays, those first that say how large others are."""


def _states_of(arrays: Arrays, tags: str) -> int:
    return int(arrays["lexicon.n_states"][arrays[tags]].sum(dtype=np.int64))


def prove(rows: str | Sequence[Row | Size], arrays: Arrays, **sizes: int) -> None:
    """Raise a ValueError that names the first array that is not as its row says; `rows` are a kind of :data:`TABLE`, or rows."""
    known: dict[str, int] = dict(sizes)
    for row in TABLE[rows] if isinstance(rows, str) else rows:
        if isinstance(row, Size):
            known[row.name] = int(row.of(arrays, known))
        elif row.array in arrays:
            _prove(row, arrays, known)
        elif not row.optional:
            raise ValueError(f"{row.array} is missing")


def _prove(row: Row, arrays: Arrays, sizes: dict[str, int]) -> None:
    array = arrays[row.array]
    _require(isinstance(array, np.ndarray) and array.dtype == row.type, f"{row.array} is of type {row.type}")
    _require(
        array.ndim == len(row.shape), f"{row.array} has {len(row.shape)} dimensions (it has {array.ndim})"
    )
    for axis, size in enumerate(row.shape):
        wanted = size if isinstance(size, int) else sizes.setdefault(size, array.shape[axis])
        shape = ", ".join(map(str, row.shape))
        named = f", {size} being {wanted}" if isinstance(size, str) else ""
        _require(
            array.shape[axis] == wanted, f"{row.array} has shape ({shape}){named} (it has {array.shape})"
        )
    if array.size:
        columns = (
            np.atleast_2d(array) if isinstance(row.least, tuple) or isinstance(row.below, tuple) else None
        )
        for place in range(1 if columns is None else columns.shape[-1]):
            part = array if columns is None else columns[:, place]
            low, end = (_bound(bound, place, sizes) for bound in (row.least, row.below))
            lowest, highest = _extremes(part) if low > -inf or end < inf else _size(part)
            _require(bool(np.isfinite(lowest) and np.isfinite(highest)), f"{row.array} is finite")
            inside = lowest >= low and (highest < end if array.dtype.kind in "iu" else highest <= end)
            _require(inside, f"{row.array} lies within {low:g} and {end:g}")
    for law in row.laws:
        _require(law.holds(array, arrays, sizes), law.words)


def _extremes(numbers: npt.NDArray[Any]) -> tuple[Any, Any]:
    """Return the smallest and the largest number, neither of which is one if one of all is not."""
    return numbers.min(), numbers.max()


def _size(numbers: npt.NDArray[Any]) -> tuple[Any, Any]:
    """Return numbers between which all lie; they are finite if all are. Of half precision, bits are compared: no processor can do it."""
    if numbers.dtype != np.float16:
        return _extremes(numbers)
    most = (np.ascontiguousarray(numbers).view(np.uint16) & 0x7FFF).max().view(np.float16)
    return -most, most


def _bound(bound: Bound | tuple[Bound, ...], place: int, sizes: Sizes) -> float:
    one = bound[place] if isinstance(bound, tuple) else bound
    return sizes[one] if isinstance(one, str) else one


def _require(holds: bool | np.bool_, what: str) -> None:
    if not holds:
        raise ValueError(f"it does not hold that {what}")
