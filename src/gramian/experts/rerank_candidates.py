"""The best trees of a sentence under a model, as arrays, and their scores against gold: what a reranker chooses from and learns from.

They come from the forest that the model's grammars and expert made together. Half are those with the highest log-odds of brackets, half
those with the highest product of rules: trees that differ in more than their least certain bracket.
"""

import base64
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.chart.decode import DEFAULT_DECODER, decode, scores
from gramian.chart.forest import Forest
from gramian.chart.k_best import distinct_trees, trees_in_order
from gramian.chart.tree_arrays import Decoded, confidences
from gramian.evaluate import COLLINS, Parameters
from gramian.evaluate.scored_trees import Outline
from gramian.experts import rerank_kernels as kernels
from gramian.trees import Tree

Ints = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float32]

DENSE = ("expected brackets", "log-odds of brackets", "log-posterior of rules", "phrases", "first")
"""What the model itself says about a tree: see :func:`candidates`."""

CANDIDATES = 50
"""How many trees of a sentence a reranker chooses from, if nothing else is said."""

_LEAST = 1e-4  # log-odds are not taken of posteriors nearer to 0 or 1
_LEAST_RULE = 1e-6


@dataclass(frozen=True)
class Candidates:
    """Trees of one sentence."""

    names: tuple[str, ...]  # labels of phrases, then tags
    n_phrase_labels: int
    tree_start: Ints  # (n + 1,): where each tree's nodes begin
    label: Ints  # of every node, parents before children, left before right
    arity: Ints  # how many children it has; 0 for a tag
    dense: Floats  # (n, len(DENSE)): what the model says about each tree

    def __len__(self) -> int:
        return len(self.tree_start) - 1


def candidates(forest: Forest, k: int) -> tuple[Candidates, list[Decoded]]:
    """Return up to `k` of the best trees of a forest, as arrays and as the chart has them; the default decoder's tree comes first."""
    table = forest.labels
    rules, recall = (scores(forest.posteriors, decoder) for decoder in ("max-rule-product", DEFAULT_DECODER))
    odds = kernels.odds_scores(
        forest.item_symbol, forest.item_cell, table.first, table.number, forest.label_posterior, _LEAST
    )
    ranked: list[Decoded] = []
    seen: set[Any] = set()
    for by, most in ((recall, 1), (recall._replace(item=odds), 1 + k // 2), (rules, k)):
        trees = distinct_trees(forest, trees_in_order(forest, by), seen)
        ranked += islice(trees, max(0, min(most, k) - len(ranked)))
    return described(forest, ranked), ranked


def own_trees(forest: Forest, decoder: str = DEFAULT_DECODER) -> tuple[Candidates, list[Decoded]]:
    """Return the different best trees of the single grammars that a forest was combined of, those of the same rules as its first."""
    members = [part for part in forest.members or (forest,) if part.edge_left is forest.edge_left]
    derivations = [tree for member in members if (tree := decode(member, decoder)) is not None]
    ranked = list(distinct_trees(forest, derivations))
    return described(forest, ranked), ranked


def described(forest: Forest, ranked: Sequence[Decoded]) -> Candidates:
    """Return trees of a forest as arrays.

    Of each tree the model tells the expected number of right brackets, less one half for each bracket; the sum of the log-odds of its
    brackets; the sum of the log-posteriors of its rules and tags; how many phrases it has; and whether it comes first.
    """
    table, rules = forest.labels, scores(forest.posteriors, "max-rule-product")
    item, edge, root = (
        np.maximum(part, np.log(_LEAST_RULE)) for part in (rules.item, rules.edge, rules.root)
    )
    parts, dense = [], np.zeros((len(ranked), len(DENSE)), np.float32)
    for index, tree in enumerate(ranked):
        label, arity = kernels.unfolded(
            tree.items, tree.edges, forest.item_symbol, forest.edge_right, table.first, table.number
        )
        parts.append((label, arity))
        is_phrase = arity > 0
        posterior = confidences(forest, tree)[is_phrase]
        sure = np.clip(posterior, _LEAST, 1 - _LEAST)
        log_rules = item[tree.items].sum() + edge[tree.edges[tree.edges >= 0]].sum() + root[tree.items[0]]
        log_odds = np.sum(np.log(sure / (1 - sure)))
        dense[index] = np.sum(posterior - 0.5), log_odds, log_rules, is_phrase.sum(), index == 0
    start = np.cumsum([0, *(len(label) for label, _ in parts)], dtype=np.int32)
    empty = np.empty(0, np.int32)
    label, arity = (np.concatenate([empty, *(part[k] for part in parts)]) for k in range(2))
    return Candidates(table.names, table.n_phrase_labels, start, label, arity, dense)


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
        "gold": np.array([sentence.gold for sentence in sentences], np.int32),
        "trees": np.array([len(sentence.trees) for sentence in sentences], np.int32),
        "nodes": np.concatenate([np.diff(sentence.trees.tree_start) for sentence in sentences]).astype(
            np.int32
        ),
        "label": np.concatenate([sentence.trees.label for sentence in sentences]).astype(np.uint16),
        "arity": np.concatenate([sentence.trees.arity for sentence in sentences]).astype(np.uint16),
        "dense": np.concatenate([sentence.trees.dense for sentence in sentences]),
        "predicted": np.concatenate([sentence.predicted for sentence in sentences]).astype(np.int32),
        "matched": np.concatenate([sentence.matched for sentence in sentences]).astype(np.int32),
    }
    return {
        "names": list(sentences[0].trees.names),
        "n_phrase_labels": sentences[0].trees.n_phrase_labels,
        "words": [list(sentence.words) for sentence in sentences],
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
        loaded = Candidates(names, written["n_phrase_labels"], start, label, arity, dense)
        counts = column["predicted"][trees], column["matched"][trees], int(column["gold"][number])
        yield Scored(tuple(words), loaded, *counts)
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
