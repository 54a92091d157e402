"""Results of a batch of sentences, built from arrays one by one as they are asked for, so that few are held at a time."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import numpy as np

from gramian.chart.tree_arrays import TreeArrays, TreeBuilder
from gramian.parsing.calibration import Calibration
from gramian.parsing.result import ParseResult, Status
from gramian.parsing.sentences import ReadSentence


class BatchResults:
    """The results of a batch.

    Parameters
    ----------
    found : TreeArrays
    sentences : sequence of ReadSentence
        The sentence of each tree.
    names : sequence of str
        The grammar's labels.
    calibration : Calibration
    status : str
    seconds : float
        What each sentence took.
    """

    def __init__(
        self, found: TreeArrays, sentences: Sequence[ReadSentence], names: Sequence[str], calibration: Calibration,
        status: Status = "parsed", seconds: float = 0.0,
    ) -> None:  # fmt: skip
        self._sentences, self._status, self._seconds = sentences, status, seconds
        self.tree = TreeBuilder(found, [one.tokens for one in sentences], names).tree
        self._first, self._logs = found.first.tolist(), found.log_prob.tolist()
        posterior, is_tag = found.posterior.astype(np.float64), found.n_children == 0
        self._confidences = calibration.calibrated(posterior, is_tag).tolist()

    def result(self, place: int) -> ParseResult | None:
        """Return the result of a sentence, or None if it has no tree."""
        log_prob = self._logs[place]
        tree = None if log_prob == -inf else self.tree(place)
        if tree is None:
            return None
        words, offsets, _ = self._sentences[place]
        confidences = tuple(self._confidences[self._first[place] : self._first[place + 1]])
        return ParseResult(tree, self._status, log_prob, confidences, tuple(words), offsets, self._seconds)
