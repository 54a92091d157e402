"""The best k trees of a forest, found lazily (Huang & Chiang 2005, algorithm 3)."""

from collections.abc import Iterable, Iterator
from heapq import heapify, heappop, heappush
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.chart.decode import DEFAULT_DECODER, RECALL_PENALTY, best_derivations, scores
from gramian.chart.decode_kernels import ItemScores
from gramian.chart.forest import Forest
from gramian.chart.tree_arrays import Decoded
from gramian.errors import OptionError

Ints = npt.NDArray[np.int32]


def k_best(
    forest: Forest, k: int, decoder: str = DEFAULT_DECODER, *, recall_penalty: float = RECALL_PENALTY
) -> list[Decoded]:
    """Return the best `k` different trees in the order of the decoder's scores; fewer if there are fewer.

    Trees are different if they are so in the shape of the treebank; of binarised trees with the same shape the best
    one stands for all. ``viterbi`` orders derivations rather than trees and is refused.
    """
    if decoder == "viterbi":
        raise OptionError("decoder 'viterbi' has no list of best trees; try: max-rule-product")
    ranked = trees_in_order(forest, scores(forest.posteriors, decoder, recall_penalty=recall_penalty))
    return list(islice(distinct_trees(forest, ranked), k))


def distinct_trees(
    forest: Forest, trees: Iterable[Decoded], seen: set[Any] | None = None
) -> Iterator[Decoded]:
    """Yield the trees that differ from all before them, and from those in `seen`, in the shape of the treebank."""
    labels = forest.labels.bottom_up
    seen = set() if seen is None else seen
    for tree in trees:
        symbols, cells = forest.item_symbol[tree.items].tolist(), forest.item_cell[tree.items].tolist()
        nodes = zip(map(labels.__getitem__, symbols), cells, strict=True)
        shape = tuple([node for node in nodes if node[0]])
        if shape not in seen:
            seen.add(shape)
            yield tree


def trees_in_order(forest: Forest, scores: ItemScores) -> Iterator[Decoded]:
    """Yield all binarised trees of a forest, the best first."""
    ranking = _Ranking(forest, scores)
    total = ranking.total
    roots = np.flatnonzero(scores.root > -np.inf).tolist()
    heap = [(-(total[item] + scores.root[item]), item, 0) for item in roots if total[item] > -np.inf]
    heapify(heap)
    while heap:
        negative, root, rank = heappop(heap)
        items, edges = ranking.tree(root, rank)
        yield Decoded(items, edges, -negative)
        if ranking.reach(root, rank + 1):
            heappush(heap, (-(ranking.found[root][rank + 1][0] + scores.root[root]), root, rank + 1))


class _Ranking:
    """The trees below each item, best first, as far as they have been asked for.

    A tree is ``(score, edge, rank of the left part, rank of the right part)``. Its followers, in which one part is
    the next best, are considered only when the next tree of the same item is wanted.
    """

    def __init__(self, forest: Forest, scores: ItemScores) -> None:
        self.is_tag = (forest.item_symbol >= forest.grammar.n_phrases).tolist()
        self.edge_first = forest.edge_first.tolist()
        self.left, self.right = forest.edge_left.tolist(), forest.edge_right.tolist()
        self.item_score, self.edge_score = scores.item.tolist(), scores.edge.tolist()
        self.total = best_derivations(forest.posteriors, scores)[0].tolist()
        self.found: dict[int, list[tuple[float, int, int, int]]] = {}
        self.candidates: dict[int, list[tuple[float, int, int, int]]] = {}
        self.followers: dict[int, list[tuple[int, int, int]]] = {}

    def reach(self, item: int, rank: int) -> bool:
        """Find the trees of `item` up to `rank`; return whether there are so many."""
        wanted = [(item, rank)]
        while wanted:
            here, depth = wanted[-1]
            if here not in self.found:
                self._open(here)
            if self._settled(here, depth):
                wanted.pop()
                continue
            followers = self.followers[here]
            while followers:
                edge, i, j = followers[-1]
                if not self._settled(self.left[edge], i):
                    wanted.append((self.left[edge], i))
                    break
                if self.right[edge] >= 0 and not self._settled(self.right[edge], j):
                    wanted.append((self.right[edge], j))
                    break
                followers.pop()
                self._consider(here, edge, i, j)
            else:
                if self.candidates[here]:
                    self._advance(here)
        return len(self.found[item]) > rank

    def tree(self, item: int, rank: int) -> tuple[Ints, Ints]:
        """Return items and edges of a tree, parents first, left before right."""
        items, edges = [], []
        stack = [(item, rank)]
        while stack:
            here, depth = stack.pop()
            if len(self.found.get(here, ())) <= depth:
                self.reach(here, depth)
            _, edge, i, j = self.found[here][depth]
            items.append(here)
            edges.append(edge)
            if edge >= 0:
                if self.right[edge] >= 0:
                    stack.append((self.right[edge], j))
                stack.append((self.left[edge], i))
        return np.array(items, np.int32), np.array(edges, np.int32)

    def _settled(self, item: int, rank: int) -> bool:
        """Whether the tree of that rank is known, or known not to exist."""
        if item not in self.found:
            return False
        return len(self.found[item]) > rank or not (self.candidates[item] or self.followers[item])

    def _open(self, item: int) -> None:
        """Note an item's edges, each with the best trees below it."""
        self.found[item], self.candidates[item], self.followers[item] = [], [], []
        if self.is_tag[item]:
            self.found[item].append((self.item_score[item], -1, 0, 0))
            return
        for edge in range(self.edge_first[item], self.edge_first[item + 1]):
            right = self.right[edge]
            below = self.total[self.left[edge]] + (self.total[right] if right >= 0 else 0.0)
            score = self.item_score[item] + self.edge_score[edge] + below
            if score > -np.inf:
                self.candidates[item].append((-score, edge, 0, 0))
        heapify(self.candidates[item])

    def _consider(self, item: int, edge: int, i: int, j: int) -> None:
        """Make a candidate of an edge and ranked parts, if they exist."""
        left = self.found[self.left[edge]]
        right = self.found[self.right[edge]] if self.right[edge] >= 0 else None
        if len(left) > i and (right is None or len(right) > j):
            below = left[i][0] + (right[j][0] if right is not None else 0.0)
            score = self.item_score[item] + self.edge_score[edge] + below
            heappush(self.candidates[item], (-score, edge, i, j))

    def _advance(self, item: int) -> None:
        """Take the best candidate; each pair of ranks follows from one other only."""
        negative, edge, i, j = heappop(self.candidates[item])
        self.found[item].append((-negative, edge, i, j))
        if self.right[edge] >= 0:
            self.followers[item].append((edge, i, j + 1))
        if j == 0:
            self.followers[item].append((edge, i + 1, 0))
