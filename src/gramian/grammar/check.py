"""Whether a grammar is whole: shapes, ranges and sums.

Kernels trust the arrays of a grammar, so :func:`check` stands between them and anything read from a file; what they rely on is a table,
:data:`gramian.io.array_table.TABLE`.
"""

from __future__ import annotations

import re
from dataclasses import fields
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.grammar.lpcfg import LPCFG
from gramian.io.array_table import require, validate
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
    _check_names(grammar)
    n_symbols, n_tags = len(grammar.symbols), len(grammar.symbols) - n_phrases
    validate(
        "grammar", arrays_of(grammar), symbols=n_symbols, phrases=n_phrases, tags=n_tags, words=len(lexicon.words),
        features=len(lexicon.features),
    )  # fmt: skip
    weights = (grammar.binary_weight, grammar.unary_weight, grammar.root_weight)
    require(len(set(map(type, weights))) == 1, "weights are given for all rules or for none")
    inner = np.array(list(map(is_intermediate, grammar.symbols)))
    at_root = grammar.root[np.repeat(inner, grammar.n_states)].any()
    if grammar.root_weight is not None:
        at_root |= grammar.root_weight[inner].any()
    require(not at_root, "no intermediate symbol is at the root")
    _check_sums(grammar, tolerance)


def arrays_of(grammar: LPCFG) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays of a grammar by the names of :data:`gramian.io.array_table.TABLE`."""
    arrays = {"lexicon.classes": grammar.lexicon.class_tag}
    for prefix, part in (("", grammar), ("lexicon.", grammar.lexicon), ("factors.", grammar.factors)):
        for field in () if part is None else fields(part):
            if isinstance(value := getattr(part, field.name), np.ndarray):
                arrays[f"{prefix}{field.name}"] = value
    return arrays


def _check_names(grammar: LPCFG) -> None:
    """Require that symbols, tags, words and classes are what they should be: distinct, and labels."""
    symbols, n_phrases, lexicon = grammar.symbols, grammar.n_phrases, grammar.lexicon
    require(0 < n_phrases < len(symbols), "there are phrases and tags")
    phrases, tags = symbols[:n_phrases], symbols[n_phrases:]
    # A label may name a phrase and a tag in the same treebank.
    n_distinct = len(set(phrases)) + len(set(tags))
    require(n_distinct == len(symbols), "symbols are distinct")
    for symbol in symbols:
        labels = [] if is_intermediate(symbol) else split_chain(symbol)
        require(not _NOT_IN_SYMBOL.search(symbol) and all(map(is_label, labels)), "symbols are labels")
    require(not any(map(is_intermediate, tags)), "tags are no intermediate symbols")
    require(len(lexicon.tags) == len(tags), "the lexicon has the grammar's tags")
    for tag in lexicon.tags:
        require(all(split_chain(tag)), "its tags are labels")
    require(len(set(lexicon.words)) == len(lexicon.words), "words are distinct")
    chance = lexicon.min_tag_probability
    require(0 <= chance <= 1, f"min_tag_probability is a probability (it is {chance})")
    require(all(map(_NAMES_TAG.match, lexicon.classes)), "classes name a tag")


def _check_sums(grammar: LPCFG, tolerance: float) -> None:
    if grammar.binary_weight is None or grammar.unary_weight is None or grammar.root_weight is None:
        # Of all rules of a phrase, in each of its states.
        expansions = np.zeros(int(grammar.state_start[grammar.n_phrases]))
        for rows in grammar.row_sums:
            expansions += np.bincount(rows.state, rows.values, len(expansions))
        root = grammar.root.sum(dtype=np.float64)
        tables = [grammar.binary, grammar.unary, grammar.root]
        if grammar.factors is not None:
            tables += [grammar.factors.values, grammar.factors.weight]
        for table in tables:
            require(table.min(initial=0.0) >= 0, "probabilities are not negative")
    else:
        expansions = np.zeros(grammar.n_phrases)
        np.add.at(expansions, grammar.binary_rules[:, 0], grammar.binary_weight)
        np.add.at(expansions, grammar.unary_rules[:, 0], grammar.unary_weight)
        root = grammar.root_weight.sum()
    starts = grammar.state_start[:-1]
    for name, sums in (
        ("rules of a phrase in a state", expansions),
        ("root", root),
        ("shares of a symbol's states", np.add.reduceat(grammar.state_prior, starts, dtype=np.float64)),
        ("tags before", grammar.before.sum(dtype=np.float64)),
        ("tags after a symbol", grammar.after.sum(axis=1, dtype=np.float64)),
    ):
        gap = np.abs(np.asarray(sums) - 1).max()
        require(gap <= tolerance, f"{name} sum to one (they are {gap:.2g} off)")
