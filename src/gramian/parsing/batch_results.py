"""Results of a batch of sentences, built from arrays one by one as they are asked for, so that few are held at a time."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import chain
from math import inf

import numpy as np
import numpy.typing as npt

from gramian.chart.tree_arrays import TreeArrays
from gramian.parsing.calibration import Calibration
from gramian.parsing.result import ParseResult
from gramian.parsing.sentences import ReadSentence
from gramian.trees.tree import phrase, preterminal

_leaf = lru_cache(maxsize=1 << 17)(preterminal)


class BatchResults:
    """The results of a batch.

    Nodes are put in an order in which the children of each lie side by side, behind it; so a tree is built from its end.

    Parameters
    ----------
    found : TreeArrays
    sentences : sequence of ReadSentence
    names : sequence of str
        The grammar's labels.
    calibration : Calibration
    seconds : float
        What each sentence took.
    """

    def __init__(
        self, found: TreeArrays, sentences: Sequence[ReadSentence], names: Sequence[str], calibration: Calibration,
        seconds: float = 0.0,
    ) -> None:  # fmt: skip
        self._sentences, self._seconds, parent = sentences, seconds, found.parent
        self._first, self._logs = found.first.tolist(), found.log_prob.tolist()
        n_nodes, nodes, is_root = len(parent), np.arange(len(parent)), parent < 0
        n_children = np.bincount(parent + 1, minlength=n_nodes + 1)[1:]
        order = np.argsort(np.where(is_root, 2 * nodes, 2 * parent + 1), kind="stable")
        is_tag = n_children == 0
        self._sure = _calibrated(calibration, is_tag, found.posterior)
        there = np.diff(found.first) > 0
        words = chain.from_iterable(
            one.tokens for one, known in zip(sentences, there.tolist(), strict=True) if known
        )
        leaves = list(map(_leaf, map(names.__getitem__, found.label[is_tag].tolist()), words))
        place = np.where(is_tag, np.cumsum(is_tag) - 1, len(leaves))[order]
        unbuilt = phrase("", ())
        self._nodes = list(map([*leaves, unbuilt].__getitem__, place.tolist()))
        # Phrases from the last to the first: labels, their own places and those of their children.
        spot = np.flatnonzero(~is_tag[order])[::-1]
        node, start = order[spot], np.repeat(found.first[:-1], np.diff(found.first))[spot]
        begin = (np.cumsum(is_root) + np.cumsum(n_children) - n_children)[node] - start
        self._label = list(map(names.__getitem__, found.label[node].tolist()))
        places = spot - start, begin, begin + n_children[node]
        self._spot, self._begin, self._end = (one.tolist() for one in places)
        self._phrases = (len(spot) - np.searchsorted(spot[::-1], found.first)).tolist()

    def result(self, place: int) -> ParseResult | None:
        """Return the result of a sentence, or None if it has no tree."""
        first, last = self._first[place : place + 2]
        if first == last or self._logs[place] == -inf:
            return None
        nodes = self._nodes[first:last]
        here = slice(self._phrases[place + 1], self._phrases[place])
        for label, spot, begin, end in zip(
            self._label[here], self._spot[here], self._begin[here], self._end[here], strict=True
        ):
            nodes[spot] = phrase(label, tuple(nodes[begin:end]))
        words, offsets, _ = self._sentences[place]
        sure = tuple(self._sure[first:last])
        return ParseResult(nodes[0], "parsed", self._logs[place], sure, tuple(words), offsets, self._seconds)


def _calibrated(
    calibration: Calibration, is_tag: npt.NDArray[np.bool_], posteriors: npt.NDArray[np.float32]
) -> list[float]:
    values = posteriors.astype(np.float64)
    for curve, chosen in (
        (calibration.phrases, ~is_tag & (values > 0)),
        (calibration.tags, is_tag & (values > 0)),
    ):
        if curve is not None:
            values[chosen] = curve(values[chosen])
    return np.minimum(values, 1.0).tolist()
