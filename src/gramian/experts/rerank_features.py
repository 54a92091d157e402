"""Features of whole trees after Charniak and Johnson (2005), hashed: what a reranker sees that a chart cannot.

Rules with their ancestors and heads, n-grams of children, pairs and triples of head words, words with what stands over them, branching to
the right, the weight of phrases and their neighbours, parallel conjuncts, and the paths between neighbouring words.
"""

import zlib
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gramian.experts import rerank_kernels as kernels
from gramian.experts.rerank_candidates import Candidates
from gramian.io.bounded_cache import BoundedCache
from gramian.loglinear.word_views import PADDING, WordForms
from gramian.trees import HeadRules

Ints = npt.NDArray[np.int32]
Words = npt.NDArray[np.uint64]
Roles = npt.NDArray[np.int8]

GROUPS: tuple[str, ...] = (
    *("rules", "n-grams", "heads", "words", "branching"),
    *("heavy", "edges", "coordination", "paths", "ancestors"),
)
"""Groups of features, in the order of their numbers."""

_CONJUNCTIONS = frozenset({"CC", "CONJ"})
_MOST_RULES = 1 << 17  # whose heads are kept


class CandidateArrays(NamedTuple):
    """Candidates as the kernels want them."""

    tree_start: Ints  # as in Candidates
    arity: Ints
    code: Words  # a number for the label of each node
    parent: Ints  # -1 for none
    sibling: Ints  # the next, -1 for none
    start: Ints  # first word
    end: Ints  # the one after the last
    head: Ints  # the number of the head among the children
    key: Words  # a hash of a node's label and its children's
    lexical: Words  # (n_words + 4,): a number for each word, with two places of padding on either side
    role: Roles  # 1 for conjunctions, 2 for punctuation
    has_heads: bool
    groups: npt.NDArray[np.bool_]  # which of GROUPS are wanted


class TreeFeatures:
    """Reads features off candidates; `frequent` words stand for themselves, and without `heads` there are no features of heads."""

    def __init__(
        self, frequent: Sequence[str], heads: HeadRules | None = None, groups: Sequence[str] = GROUPS
    ) -> None:
        self.forms, self.heads = WordForms(frequent), heads
        self._groups = np.array([group in groups for group in GROUPS])
        self._conjunctions = _CONJUNCTIONS if heads is None or not heads.coordination else heads.coordination
        self._codes: BoundedCache[tuple[tuple[str, ...], int], tuple[Words, Roles]] = BoundedCache(
            self._label_codes, 1 << 8
        )
        self._head_of: dict[int, int] = {}

    def scores(
        self, words: Sequence[str], trees: Candidates, weights: npt.NDArray[np.float32]
    ) -> npt.NDArray[np.float64]:
        """Return the sum of the weights of each tree's features; the number of weights is a power of two."""
        return kernels.scores(self._arrays(words, trees), weights)

    def differences(
        self, words: Sequence[str], trees: Candidates, table: npt.NDArray[np.int16]
    ) -> tuple[npt.NDArray[np.int64], Ints, Roles]:
        """Return what sets trees apart from the first: where each tree's features begin, their slots, and differences of counts.

        `table` holds zeros, as many as there are slots, and does so again afterwards.
        """
        return kernels.differences(self._arrays(words, trees), table)

    def _arrays(self, words: Sequence[str], trees: Candidates) -> CandidateArrays:
        codes, roles = self._codes[trees.names, trees.n_phrase_labels]
        code = codes[trees.label]
        parent, sibling, start, end = kernels.frames(trees.tree_start, trees.arity)
        key = kernels.rule_keys(trees.arity, code, sibling)
        return CandidateArrays(
            trees.tree_start,
            trees.arity,
            code,
            parent,
            sibling,
            start,
            end,
            self._head_places(trees, key, sibling),
            key,
            self.forms.views(words)[0].astype(np.uint64),
            roles[trees.label],
            self.heads is not None,
            self._groups,
        )

    def _label_codes(self, labels: tuple[tuple[str, ...], int]) -> tuple[Words, Roles]:
        """Return a number for each label that is the same in all grammars, and its role: 1 for conjunctions, 2 for punctuation."""
        names, n = labels
        codes = [
            zlib.crc32(f"{index < n} {name}".encode("utf-8", "surrogatepass"))
            for index, name in enumerate(names)
        ]
        roles = [self._role(name) if index >= n else 0 for index, name in enumerate(names)]
        return np.array(codes, np.uint64), np.array(roles, np.int8)

    def _role(self, tag: str) -> int:
        return 1 if tag in self._conjunctions else 0 if any(map(str.isalnum, tag)) else 2

    def _head_places(self, trees: Candidates, key: Words, sibling: Ints) -> Ints:
        """Return the number of each node's head among its children."""
        if self.heads is None:
            return np.zeros(len(key), np.int32)
        keys, first, inverse = np.unique(key, return_index=True, return_inverse=True)
        places = np.zeros(len(keys), np.int32)
        for number, (name, node) in enumerate(zip(keys.tolist(), first.tolist(), strict=True)):
            if trees.arity[node] < 2:
                continue
            position = self._head_of.get(name)
            if position is None:
                children, child = [], node + 1
                while child >= 0:
                    children.append(trees.names[trees.label[child]])
                    child = int(sibling[child])
                if len(self._head_of) >= _MOST_RULES:
                    self._head_of.clear()
                position = self._head_of[name] = self.heads.find(trees.names[trees.label[node]], children)
            places[number] = position
        return places[inverse]


assert PADDING == kernels.PADDING
assert len(GROUPS) == kernels.N_GROUPS
