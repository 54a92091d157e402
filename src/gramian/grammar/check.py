"""Whether a grammar is whole: shapes, ranges and sums.

Kernels trust the arrays of a grammar, so :func:`check` stands between them and anything read from a file; what they rely on is a table,
:data:`gramian.io.array_table.TABLE`.
"""

from __future__ import annotations

import re
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.grammar.lexicon import Lexicon
from gramian.grammar.lpcfg import LPCFG
from gramian.io.array_table import prove
from gramian.trees.labels import is_intermediate, is_label, split_chain

_NOT_IN_SYMBOL = re.compile(r"[\s()\0]")
_NAMES_TAG = re.compile(r"[0-9]{1,8}(?: |\Z)")


def check(grammar: LPCFG, tolerance: float = 1e-3) -> None:
    """Raise a ValueError that names the first fault of a grammar, if it has one.

    Shapes fit each other, numbers of symbols and tags are within range, all parameters are finite. The rules of
    every phrase in every state sum to one within `tolerance`, as do the root, the shares of each symbol's states, and
    the chances of the neighbouring tags. Of observable operators it is the weights that do.
    """
    lexicon, n_phrases = grammar.lexicon, grammar.n_phrases
    n_tags = len(grammar.symbols) - n_phrases
    _check_symbols(grammar)
    _check_lexicon(lexicon, n_tags)
    sizes = {"symbols": len(grammar.symbols), "phrases": n_phrases, "tags": n_tags}
    prove("grammar", _arrays(grammar), words=len(lexicon.words), features=len(lexicon.features), **sizes)
    weights = (grammar.binary_weight, grammar.unary_weight, grammar.root_weight)
    _require(len({weight is None for weight in weights}) == 1, "weights are given for all rules or for none")
    _check_root(grammar)
    _check_sums(grammar, tolerance)


def _arrays(grammar: LPCFG) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays of a grammar by the names of :data:`gramian.io.array_table.TABLE`."""
    parts: dict[str, object] = {"": grammar, "lexicon.": grammar.lexicon, "factors.": grammar.factors}
    values = {
        f"{prefix}{part.name}": getattr(owner, part.name)
        for prefix, owner in parts.items()
        if is_dataclass(owner)
        for part in fields(owner)
    }
    arrays = {name: array for name, array in values.items() if isinstance(array, np.ndarray)}
    return arrays | {"lexicon.classes": _class_tags(grammar.lexicon)}


def _class_tags(lexicon: Lexicon) -> npt.NDArray[np.int64]:
    _require(all(map(_NAMES_TAG.match, lexicon.classes)), "classes name a tag")
    return lexicon.class_tag


def _check_symbols(grammar: LPCFG) -> None:
    n, n_phrases = len(grammar.symbols), grammar.n_phrases
    _require(0 < n_phrases < n, "there are phrases and tags")
    # A label may name a phrase and a tag in the same treebank.
    phrases, tags = grammar.symbols[:n_phrases], grammar.symbols[n_phrases:]
    _require(len(set(phrases)) + len(set(tags)) == n, "symbols are distinct")
    for symbol in grammar.symbols:
        labels = [] if is_intermediate(symbol) else split_chain(symbol)
        _require(not _NOT_IN_SYMBOL.search(symbol) and all(map(is_label, labels)), "symbols are labels")
    _require(not any(map(is_intermediate, tags)), "tags are no intermediate symbols")


def _check_lexicon(lexicon: Lexicon, n_tags: int) -> None:
    _require(len(lexicon.tags) == n_tags, "the lexicon has the grammar's tags")
    _require(all(label for tag in lexicon.tags for label in split_chain(tag)), "its tags are labels")
    _require(len(set(lexicon.words)) == len(lexicon.words), "words are distinct")
    chance = lexicon.min_tag_probability
    _require(0 <= chance <= 1, f"min_tag_probability is a probability (it is {chance})")


def _check_root(grammar: LPCFG) -> None:
    inner = np.repeat([is_intermediate(symbol) for symbol in grammar.symbols], grammar.n_states)
    _require(not grammar.root[inner].any(), "no intermediate symbol is at the root")
    if grammar.root_weight is not None:
        single = [is_intermediate(symbol) for symbol in grammar.symbols]
        _require(not grammar.root_weight[single].any(), "no intermediate symbol is at the root")


def _check_sums(grammar: LPCFG, tolerance: float) -> None:
    starts = grammar.state_start
    if grammar.binary_weight is None or grammar.unary_weight is None or grammar.root_weight is None:
        expansions = _rule_sums(grammar)
        root = grammar.root.sum(dtype=np.float64)
        tables = [grammar.binary, grammar.unary, grammar.root]
        if grammar.factors is not None:
            tables += [grammar.factors.values, grammar.factors.weight]
        least = min(table.min(initial=0.0) for table in tables)
        _require(least >= 0, "probabilities are not negative")
    else:
        expansions = np.zeros(grammar.n_phrases)
        np.add.at(expansions, grammar.binary_rules[:, 0], grammar.binary_weight)
        np.add.at(expansions, grammar.unary_rules[:, 0], grammar.unary_weight)
        root = grammar.root_weight.sum()
    for name, sums in (
        ("rules of a phrase in a state", expansions),
        ("root", root),
        ("shares of a symbol's states", np.add.reduceat(grammar.state_prior, starts[:-1], dtype=np.float64)),
        ("tags before", grammar.before.sum(dtype=np.float64)),
        ("tags after a symbol", grammar.after.sum(axis=1, dtype=np.float64)),
    ):
        gap = np.abs(np.asarray(sums) - 1).max()
        _require(gap <= tolerance, f"{name} sum to one (they are {gap:.2g} off)")


def _rule_sums(grammar: LPCFG) -> npt.NDArray[np.float64]:
    """Return the sum of all rules of each phrase in each of its states."""
    size = int(grammar.state_start[grammar.n_phrases])
    sums = sum(np.bincount(rows.state, rows.values, size) for rows in grammar.row_sums)
    return np.asarray(sums, np.float64)


def _require(holds: bool | np.bool_, what: str) -> None:
    if not holds:
        raise ValueError(f"it does not hold that {what}")
