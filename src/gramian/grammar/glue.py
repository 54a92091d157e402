"""A grammar that derives every sentence: when no tree covers all words, the likeliest sequence of parts does.

The grammar gains a root that stands over any sequence of its phrases and tags, each at a price, so that few large
parts are preferred. A sequence is closed by an extra word, which keeps the number of new rules small.
"""

from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from gramian.grammar.lexicon import WordScores
from gramian.grammar.lpcfg import LPCFG, Factors
from gramian.trees.labels import escape_label, intermediate_label, is_intermediate, split_chain

_Number = TypeVar("_Number", bound=np.number[Any])

END = "END"
"""Tag, and word, that closes a sentence of a glued grammar."""

_PRICE = 1e-3  # probability of one more part


def root_label(grammar: LPCFG) -> str:
    """Return the label that most often stands at the root."""
    order = np.argsort(-grammar.coarse.root, kind="stable").tolist()
    symbols = (grammar.symbols[number] for number in order)
    return next((split_chain(symbol)[0] for symbol in symbols if not is_intermediate(symbol)), "S")


def end_scores(grammar: LPCFG) -> WordScores:
    """Return the scores of the closing word, for the glued form of `grammar`."""
    n_tags = len(grammar.symbols) - grammar.n_phrases
    certain = np.ones(1, np.float32)
    return WordScores(np.array([n_tags], np.int32), certain, certain)


def glued(grammar: LPCFG) -> LPCFG:
    """Return a grammar of sequences of `grammar`'s phrases and tags, for sentences closed by :data:`END`.

    Trees have the label of :func:`root_label`, the parts below it, and END as the last word. Its lexicon is still
    that of `grammar`; words are scored by it, END by :func:`end_scores`.
    """
    n_phrases, n_symbols = grammar.n_phrases, grammar.n_symbols
    label = escape_label(root_label(grammar))
    top, rest, end = n_phrases, n_phrases + 1, n_symbols + 2
    moved = np.arange(n_symbols, dtype=np.int32)
    moved[n_phrases:] += 2

    share = grammar.before.sum(axis=1, dtype=np.float64)
    share[[number for number, symbol in enumerate(grammar.symbols) if is_intermediate(symbol)]] = 0
    parts = np.flatnonzero(share)
    weight = _PRICE * share[parts] / share[parts].sum()
    # top -> part rest | part END, rest -> part rest | part END
    sequences = [
        np.column_stack([np.full(len(parts), parent), moved[parts], np.full(len(parts), follower)])
        for parent in (top, rest)
        for follower in (rest, end)
    ]
    priced = zip(parts.tolist(), weight.tolist(), strict=True)
    blocks = [price * grammar.prior(part) for part, price in priced]
    rules = [moved[grammar.binary_rules], *sequences]
    root_weight = _with_new(np.zeros(n_symbols), n_phrases, [1, 0], [0])
    factors = grammar.factors
    if factors is not None:  # the new rules are whole
        both = factors, Factors.none(len(parts) * len(sequences))
        rank, scale, start = (
            np.concatenate([getattr(factors_of, name) for factors_of in both])
            for name in ("rank", "weight", "start")
        )
        factors = replace(factors, rank=rank, weight=scale, start=start)
    return replace(
        grammar,
        symbols=(
            *grammar.symbols[:n_phrases],
            label,
            intermediate_label(label),
            *grammar.symbols[n_phrases:],
            END,
        ),
        n_phrases=n_phrases + 2,
        n_states=_with_new(grammar.n_states, n_phrases, [1, 1], [1]),
        state_prior=_with_new(grammar.state_prior, int(grammar.state_start[n_phrases]), [1, 1], [1]),
        root=_with_new(np.zeros_like(grammar.root), int(grammar.state_start[n_phrases]), [1, 0], [0]),
        binary_rules=np.concatenate(rules).astype(np.int32),
        binary=np.concatenate([grammar.binary, *(blocks * len(sequences))]).astype(np.float32),
        unary_rules=moved[grammar.unary_rules],
        before=_neighbours(grammar.before, n_phrases, end_column=0.0),
        after=_neighbours(grammar.after, n_phrases, end_column=1.0),
        binary_weight=None
        if grammar.binary_weight is None
        else np.concatenate([grammar.binary_weight, np.tile(weight, len(sequences))]),
        root_weight=None if grammar.root_weight is None else root_weight,
        factors=factors,
    )


def _with_new(
    values: npt.NDArray[_Number], index: int, phrases: list[int], tags: list[int]
) -> npt.NDArray[_Number]:
    """Return values of symbols or states with those of the new phrases and the new tag put in."""
    return np.concatenate([values[:index], phrases, values[index:], tags]).astype(values.dtype)


def _neighbours(table: npt.NDArray[np.float32], n_phrases: int, end_column: float) -> npt.NDArray[np.float32]:
    """Return chances of neighbouring tags with END among them, which stands where the sentence's edge stood."""
    wide = np.insert(table, table.shape[1] - 1, end_column * table[:, -1], axis=1)
    new = np.full((1, wide.shape[1]), wide.max(), np.float32)
    return np.concatenate([wide[:n_phrases], new, new, wide[n_phrases:], new])
