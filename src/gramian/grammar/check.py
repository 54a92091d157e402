"""Whether a grammar is whole: shapes, ranges and sums.

Kernels trust the arrays of a grammar, so :func:`check` stands between them and anything read from a file.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.grammar.factors import Factors
from gramian.grammar.lexicon import Lexicon
from gramian.grammar.lpcfg import LPCFG

_NOT_IN_SYMBOL = re.compile(r"[\s()\0]")
_NAMES_TAG = re.compile(r"[0-9]{1,8}(?: |\Z)")


def check(grammar: LPCFG, tolerance: float = 1e-3) -> None:
    """Raise a ValueError that names the first fault of a grammar, if it has one.

    Shapes fit each other, numbers of symbols and tags are within range, all parameters are finite. The rules of
    every phrase in every state sum to one within `tolerance`, as do the root, the shares of each symbol's states, and
    the chances of the neighbouring tags. Of observable operators it is the weights that do.
    """
    n, n_phrases = len(grammar.symbols), grammar.n_phrases
    _require(0 < n_phrases < n, "there are phrases and tags")
    # A label may name a phrase and a tag in the same treebank.
    phrases, tags = grammar.symbols[:n_phrases], grammar.symbols[n_phrases:]
    _require(len(set(phrases)) + len(set(tags)) == n, "symbols are distinct")
    labels = all(symbol and not _NOT_IN_SYMBOL.search(symbol) for symbol in grammar.symbols)
    _require(labels, "symbols are labels")
    _fit(grammar, n_states=(n,))
    _within("n_states", grammar.n_states, 1, 1 << 15)
    total, beside = int(grammar.n_states.sum(dtype=np.int64)), (n, n - n_phrases + 1)
    _fit(grammar, state_prior=(total,), root=(total,), before=beside, after=beside)
    _check_rules(grammar)
    _check_lexicon(grammar.lexicon, grammar)
    _check_sums(grammar, tolerance)


def _check_rules(grammar: LPCFG) -> None:
    # Products of whole numbers stay exact, or are too large anyway.
    states = grammar.n_states.astype(np.float64)
    for name, width, first in (("binary", 3, 0), ("unary", 2, grammar.n_phrases)):
        rules = getattr(grammar, f"{name}_rules")
        _fit(grammar, **{f"{name}_rules": (len(rules), width)})
        _within(f"{name}_rules", rules[:, 0], 0, grammar.n_phrases)
        _within(f"{name}_rules", rules[:, 1:], first, len(states))
        sizes = states[rules].prod(axis=1)
        if name == "binary" and grammar.factors is not None:
            _check_factors(grammar.factors, states[rules])
            sizes[grammar.factors.rank > 0] = 0
        _fit(grammar, **{name: (int(sizes.sum()),)})
        keys = np.sort(rules.astype(np.int64) @ len(states) ** np.arange(width))
        _require((np.diff(keys) > 0).all(), f"{name} rules are distinct")
    numbers = (len(grammar.binary_rules), len(grammar.unary_rules), len(states))
    weights = dict(zip(("binary_weight", "unary_weight", "root_weight"), numbers, strict=True))
    given = [name for name in weights if getattr(grammar, name) is not None]
    _require(len(given) in (0, 3), "weights are given for all rules or for none")
    for name in given:
        _fit(grammar, **{name: (weights[name],)})
        _require(getattr(grammar, name).min(initial=0.0) >= 0, f"{name} is not negative")


def _check_factors(factors: Factors, states: npt.NDArray[np.float64]) -> None:
    n = len(states)
    _fit(factors, rank=(n,), weight=(n,), start=(n, 3), values=(factors.values.size,))
    _within("rank", factors.rank, 0, 1 << 30)
    ends = factors.start + factors.rank[:, None] * states
    inside = factors.start.min(initial=0) >= 0 and ends.max(initial=0) <= factors.values.size
    _require(inside, "factors are all there")


def _check_lexicon(lexicon: Lexicon, grammar: LPCFG) -> None:
    n_tags = len(grammar.symbols) - grammar.n_phrases
    n_words, n_entries = len(lexicon.words), len(lexicon.entry_tag)
    _require(len(lexicon.tags) == n_tags, "the lexicon has the grammar's tags")
    same = np.array_equal(lexicon.n_states, grammar.n_states[grammar.n_phrases :])
    _require(same, "its tags have as many states")
    _require(len(set(lexicon.words)) == n_words, "words are distinct")
    _fit(lexicon, tag_prior=(n_tags,), word_count=(n_words,))
    _fit(lexicon, entry_start=(n_words + 1,), entry_tag=(n_entries,))
    _require((lexicon.tag_prior > 0).all(), "every tag has a share")
    starts = lexicon.entry_start
    whole = starts[0] == 0 and starts[-1] == n_entries and (np.diff(starts) > 0).all()
    _require(whole, "every word has entries")
    _within("entry_tag", lexicon.entry_tag, 0, n_tags)
    named = all(map(_NAMES_TAG.match, lexicon.classes))
    _require(named, "classes name a tag")
    numbers = lexicon.class_tag
    _within("classes", numbers, 0, n_tags)
    states = lexicon.n_states.astype(np.int64)
    _fit(
        lexicon,
        entry_probability=(n_entries,),
        entry_states=(int(states[lexicon.entry_tag].sum()),),
        feature_weights=(len(lexicon.features) + 1, n_tags),
        class_states=(int(states[numbers].sum()),),
    )
    _require(np.isfinite(lexicon.min_tag_probability), "min_tag_probability is finite")


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


def _fit(owner: object, **shapes: tuple[int, ...]) -> None:
    """Require that arrays of an object have these shapes, and hold finite numbers."""
    for name, shape in shapes.items():
        array = getattr(owner, name)
        _require(array.shape == shape, f"{name} has shape {shape} (it has {array.shape})")
        _require(np.isfinite(array).all(), f"{name} is finite")


def _within(name: str, array: npt.NDArray[Any], low: int, end: int) -> None:
    if array.size:
        _require(low <= array.min() and array.max() < end, f"{name} lies within {low} and {end - 1}")
