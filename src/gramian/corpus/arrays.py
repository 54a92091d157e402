"""The one array form of a binarised treebank; every learner reads this.

Nodes of all trees lie in flat int32 arrays, children before parents and each tree's root last. Symbols are numbered with
phrases first and tags after them, so that ``symbol >= n_phrases`` tells a preterminal.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from gramian.corpus import kernels
from gramian.corpus.encode import TokenCodes
from gramian.errors import InputError
from gramian.trees import Tree

__all__ = ["Treebank"]

Ints = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Treebank:
    """Binarised trees as arrays.

    Attributes
    ----------
    symbols : tuple of str
        Names of the binarised labels: phrases (``NP``, ``@NP``, ``S|VP``) first, then tags.
    n_phrases : int
        How many of `symbols` are phrases.
    words : tuple of str
        Distinct words in order of first occurrence, as they stand in the file.
    label, left, right, parent, word, start, end : ndarray of int32, shape (n_nodes,)
        The nodes. `left` and `right` are -1 at leaves, `right` is -1 at a phrase over one tag, `parent` is -1 at roots,
        `word` is -1 at phrases; a node covers the words ``start .. end - 1`` of its sentence.
    tree_start : ndarray of int32, shape (n_trees + 1,)
        Node ``tree_start[i]`` is the first of tree ``i``; its root is ``tree_start[i + 1] - 1``.
    removed : mapping of str to int
        What normalisation took away, by kind.

    Examples
    --------
    >>> bank = Treebank.from_trees([Tree.parse("(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)) (. .))")])
    >>> bank.n_trees, bank.symbols
    (1, ('@S', 'NP', 'S', 'VP', '.', 'DT', 'NN', 'VBZ'))
    >>> print(bank.tree(0))
    (S (NP (DT the) (NN cat)) (VP (VBZ sleeps)) (. .))
    """

    symbols: tuple[str, ...]
    n_phrases: int
    words: tuple[str, ...]
    label: Ints
    left: Ints
    right: Ints
    parent: Ints
    word: Ints
    start: Ints
    end: Ints
    tree_start: Ints
    removed: Mapping[str, int] = field(default_factory=dict)

    @property
    def n_trees(self) -> int:
        """How many trees there are."""
        return len(self.tree_start) - 1

    @property
    def n_symbols(self) -> int:
        """How many labels and tags there are."""
        return len(self.symbols)

    @cached_property
    def lengths(self) -> npt.NDArray[np.int64]:
        """Words of each tree."""
        return self.end[self.tree_start[1:] - 1].astype(np.int64)

    @cached_property
    def by_label(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Nodes sorted by label, and where each label's nodes begin in that order."""
        order = np.argsort(self.label, kind="stable")
        starts = np.searchsorted(self.label[order], np.arange(self.n_symbols + 1))
        return order, starts

    @classmethod
    def from_codes(
        cls, codes: TokenCodes, tokens: Ints, *, direction: str = "right", horizontal: int = 0
    ) -> Treebank:
        """Normalise and binarise token codes."""
        n_open = int(np.count_nonzero((tokens >= 0) & (tokens % 2 == 0)))
        label, word, parent = (np.empty(n_open, np.int32) for _ in range(3))
        tree_start = np.empty(n_open + 1, np.int32)
        tokens = _join_words(codes, tokens)
        n_nodes, n_trees = kernels.find_nodes(tokens, label, word, parent, tree_start)
        if n_nodes < 0:
            raise InputError("broken")
        tree_start = tree_start[: n_trees + 1]

        names: dict[str, int] = {}
        phrase_map = np.array([_number(names, cut(name)) for name in codes.labels], np.int32)
        tag_map = np.array([_number(names, None if name == "-NONE-" else cut(name)) for name in codes.labels], np.int32)
        phrase_map[[i for i, name in enumerate(codes.labels) if name in ("", "ROOT", "TOP", "S1")]] = kernels.SPLICE
        new_label, kept_parent = np.empty(n_nodes, np.int32), np.empty(n_nodes, np.int32)
        dropped, emptied, merged = kernels.keep_nodes(
            label, word, parent, phrase_map, tag_map, True, new_label, kept_parent
        )

        room = n_open + int(np.count_nonzero(word[:n_nodes] >= 0))  # a phrase of k parts becomes at most k - 1 nodes
        key = np.empty(room, np.int64)
        left, right, out_parent, out_word, start, end = (np.empty(room, np.int32) for _ in range(6))
        out_start, tree_of = np.empty(n_trees + 1, np.int32), np.empty(n_trees, np.int32)
        chain_head, chain_tail = np.empty(1 << 16, np.int32), np.empty(1 << 16, np.int32)
        n_out, n_kept, n_chains = kernels.binarise_nodes(
            new_label, word, kept_parent, tree_start, len(names), direction == "right", horizontal,
            key, left, right, out_parent, out_word, start, end, out_start, tree_of, chain_head, chain_tail,
        )  # fmt: skip

        distinct, number = np.unique(key[:n_out], return_inverse=True)
        base = list(names)
        for i in range(n_chains):
            base.append(base[chain_head[i]] + "|" + base[chain_tail[i]])
        kinds = distinct & 3
        labels = [_symbol_name(int(k), base, list(names)) for k in distinct]
        order = sorted(range(len(labels)), key=lambda i: (kinds[i] == kernels.KIND_TAG, labels[i]))
        rank = np.empty(len(labels), np.int32)
        rank[order] = np.arange(len(labels), dtype=np.int32)

        used, word_number = np.unique(out_word[:n_out][out_word[:n_out] >= 0], return_inverse=True)
        out_word = out_word[:n_out]
        out_word[out_word >= 0] = word_number
        return cls(
            symbols=tuple(labels[i] for i in order),
            n_phrases=int(np.count_nonzero(kinds != kernels.KIND_TAG)),
            words=tuple(unescape_word(codes.words[i]) for i in used),
            label=rank[number], left=left[:n_out], right=right[:n_out], parent=out_parent[:n_out], word=out_word,
            start=start[:n_out], end=end[:n_out], tree_start=out_start[: n_kept + 1],
            removed={"empty elements": dropped, "emptied phrases": emptied, "same-label unaries": merged},
        )  # fmt: skip

    @classmethod
    def read(cls, source: str | Path, **options: Any) -> Treebank:
        codes = TokenCodes()
        with open(source, encoding="utf-8") as stream:
            tokens = codes.encode_stream(stream)
        return cls.from_codes(codes, tokens, **options)


def cut(name):
    if name[:1] == "-":
        return name
    return name.split("-")[0].split("=")[0] or name


def unescape_word(w):
    return w.replace("-LRB-", "(").replace("-RRB-", ")")


def _number(names, name):
    if name is None:
        return kernels.DROP
    return names.setdefault(name, len(names))


def _symbol_name(key: int, base, names) -> str:
    kind, number = key & 3, (key >> 2) & 0xFFFFF
    if kind == kernels.KIND_TAG:
        return names[number]
    if kind == kernels.KIND_PHRASE:
        return base[number]
    siblings = []
    for shift in (42, 22):
        code = (key >> shift) & 0xFFFFF
        if code:
            code -= 1
            siblings.append(base[code // 2] if code % 2 == 0 else names[code // 2])
    return "@" + names[number] + (f"[{','.join(siblings)}]" if siblings else "")


def _join_words(codes: TokenCodes, tokens: Ints) -> Ints:
    """Join words that stand side by side under one tag with ``_``."""
    is_word = (tokens >= 0) & (tokens % 2 == 1)
    for position in np.flatnonzero(is_word[1:] & is_word[:-1])[::-1]:
        joined = codes.words[tokens[position] // 2] + "_" + codes.words[tokens[position + 1] // 2]
        tokens[position] = codes[joined]
        tokens = np.delete(tokens, position + 1)
    return tokens
