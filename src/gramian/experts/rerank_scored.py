"""Candidates of held-out sentences with their scores against gold: what a reranker learns from."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.evaluate import COLLINS, Parameters
from gramian.evaluate.scored_trees import Outline
from gramian.experts import rerank_kernels as kernels
from gramian.experts.rerank_candidates import DENSE, Candidates
from gramian.trees import Tree

Ints = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Scored:
    """A sentence's candidates, and how many brackets of each are right."""

    words: tuple[str, ...]
    trees: Candidates
    predicted: Ints  # brackets of each tree
    matched: Ints  # those of them that are gold's
    gold: int  # gold's brackets

    @property
    def f1(self) -> npt.NDArray[np.float64]:
        """F1 of each tree, between 0 and 1."""
        return 2 * self.matched / np.maximum(self.predicted + self.gold, 1)


def written_candidates(sentences: Sequence[Scored]) -> dict[str, Any]:
    """Return sentences as JSON holds them; trees of one sentence are much alike, and small when compressed."""
    if not sentences:
        return {"names": [], "n_phrase_labels": 0, "words": [], "arrays": {}}
    columns: dict[str, npt.NDArray[Any]] = {
        "gold": np.array([one.gold for one in sentences], np.int32),
        "trees": np.array([len(one.trees) for one in sentences], np.int32),
        "nodes": np.concatenate([np.diff(one.trees.tree_start) for one in sentences]).astype(np.int32),
        "label": np.concatenate([one.trees.label for one in sentences]).astype(np.uint16),
        "arity": np.concatenate([one.trees.arity for one in sentences]).astype(np.uint16),
        "dense": np.concatenate([one.trees.dense for one in sentences]),
        "predicted": np.concatenate([one.predicted for one in sentences]).astype(np.int32),
        "matched": np.concatenate([one.matched for one in sentences]).astype(np.int32),
    }
    return {
        "names": list(sentences[0].trees.names),
        "n_phrase_labels": sentences[0].trees.n_phrase_labels,
        "words": [list(one.words) for one in sentences],
        "arrays": {
            name: [column.dtype.str, base64.b64encode(zlib.compress(column.tobytes(), 1)).decode("ascii")]
            for name, column in columns.items()
        },
    }


def read_candidates(written: dict[str, Any]) -> Iterator[Scored]:
    """Yield the sentences that :func:`written_candidates` wrote."""
    column = {
        name: np.frombuffer(zlib.decompress(base64.b64decode(text)), kind)
        for name, (kind, text) in written["arrays"].items()
    }
    names = tuple(written["names"])
    tree, node = 0, 0
    for number, words in enumerate(written["words"]):
        trees = slice(tree, tree + int(column["trees"][number]))
        start = np.concatenate([[0], np.cumsum(column["nodes"][trees])]).astype(np.int32)
        nodes = slice(node, node + int(start[-1]))
        label, arity = (column[name][nodes].astype(np.int32) for name in ("label", "arity"))
        dense = column["dense"].reshape(-1, len(DENSE))[trees]
        found = Candidates(names, written["n_phrase_labels"], start, label, arity, dense)
        counts = column["predicted"][trees], column["matched"][trees], int(column["gold"][number])
        yield Scored(tuple(words), found, *counts)
        tree, node = trees.stop, nodes.stop


def scored(words: tuple[str, ...], trees: Candidates, gold: Tree, parameters: Parameters = COLLINS) -> Scored:
    """Count the right brackets of candidates; words that gold's tags make punctuation do not count, whatever tags candidates have."""
    outline = Outline.of(gold)
    kept = np.cumsum([0, *(tag not in parameters.deleted for tag in outline.tags)]).astype(np.int32)
    number: dict[str, int] = {}

    def place(label: str) -> int:
        """Number labels so that those that count as equal have one number."""
        bare = parameters.bracket_label(label)
        if bare is None:
            return -1
        for pair in parameters.equal_labels:
            if bare in pair:
                bare = min(pair)
        return number.setdefault(bare, len(number))

    same = np.array([place(name) for name in trees.names[: trees.n_phrase_labels]], np.int32)
    rows = [
        (place(label), kept[start], kept[end])
        for label, start, end in zip(outline.labels, outline.starts, outline.ends, strict=True)
    ]
    rows = [row for row in rows if row[0] >= 0 and row[1] < row[2]]
    _, _, start, end = kernels.frames(trees.tree_start, trees.arity)
    brackets = np.array(rows, np.int32).reshape(-1, 3)
    predicted, matched = kernels.match_counts(
        trees.tree_start, trees.arity, trees.label, start, end, same, kept, brackets
    )
    return Scored(words, trees, predicted, matched, len(rows))
