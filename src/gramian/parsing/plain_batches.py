"""Sentences of which only the best tree is wanted, some at a time: to call a kernel for each would take as long as a short sentence.

Whatever has no tree under the usual pruning goes to :mod:`gramian.parsing.fallbacks`, and so does what is asked for in another way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from time import perf_counter
from typing import NamedTuple

from gramian.chart.backend import ChartInput
from gramian.parsing.batch_results import BatchResults
from gramian.parsing.calibration import Calibration
from gramian.parsing.fallbacks import Attempts, Request
from gramian.parsing.result import ParseResult
from gramian.parsing.sentences import ReadSentence

_MOST_SPANS = 12_000  # of all sentences of a batch, so that tables of labels take some megabytes


class Asked(NamedTuple):
    """A sentence that was read, and what is wanted of it."""

    request: Request
    read: ReadSentence


class PlainBatches:
    """Parses sentences, those that can be together in few calls of kernels; safe to share between threads.

    Parameters
    ----------
    attempts : Attempts
    calibration : Calibration
    """

    def __init__(self, attempts: Attempts, calibration: Calibration) -> None:
        self._attempts, self._calibration = attempts, calibration

    def parse(self, sentences: Sequence[Asked]) -> list[ParseResult]:
        """Return the results of sentences, in their order."""
        results: list[ParseResult | None] = [None] * len(sentences)
        for batch in self._batches(sentences):
            found = self._together([sentences[place] for place in batch])
            for number, place in enumerate(batch):
                results[place] = found.result(number)
        return [
            self._alone(asked) if result is None else result
            for asked, result in zip(sentences, results, strict=True)
        ]

    def _batches(self, sentences: Sequence[Asked]) -> Iterator[list[int]]:
        """Yield numbers of sentences that are parsed together."""
        batch: list[int] = []
        spans = 0
        for place, (request, _) in enumerate(sentences):
            if self._is_plain(request):
                own = len(request.tokens) * (len(request.tokens) + 1) // 2
                if batch and spans + own > _MOST_SPANS:
                    yield batch
                    batch, spans = [], 0
                batch.append(place)
                spans += own
        if batch:
            yield batch

    def _is_plain(self, request: Request) -> bool:
        """Whether the best tree under the usual pruning is all that is wanted of a sentence."""
        attempts, n_words = self._attempts, len(request.tokens)
        if request.k > 1 or not n_words or not attempts.finds_trees(request.decoder):
            return False
        return request.limits.fit(attempts.pruning, n_words, attempts.n_rules) is attempts.pruning

    def _together(self, sentences: Sequence[Asked]) -> BatchResults:
        """Parse sentences that are plain, all by the same decoder."""
        began, attempts = perf_counter(), self._attempts
        inputs, logs = [], []
        for request, _ in sentences:
            words = attempts.table.read(request.tokens, request.given)
            allowed = request.allowed(attempts.chart.grammar, len(words))
            inputs.append(ChartInput([word.scores for word in words], allowed, request.tokens))
            logs.append(sum([word.log_probability for word in words]))
        first = sentences[0].request
        found = attempts.chart.trees(inputs, attempts.pruning, first.decoder, first.recall_penalty)
        trees = found._replace(log_prob=found.log_prob + logs)
        reads = [asked.read for asked in sentences]
        seconds = (perf_counter() - began) / len(sentences)
        return BatchResults(trees, reads, attempts.chart.labels.names, self._calibration, seconds)

    def _alone(self, asked: Asked) -> ParseResult:
        began = perf_counter()
        result, _ = self._attempts.parse(asked.request)
        sure = self._calibration.confidences(result.tree, result.confidences)
        took = perf_counter() - began
        return replace(result, confidences=sure, offsets=asked.read.offsets, seconds=took)
