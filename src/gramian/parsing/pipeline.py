"""The steps from sentences that were read to results: word scores, posteriors of the chart, decoding, arrays, trees.

Every sentence takes them, alone or with others: calling the kernels for each sentence would take as long as parsing a short one. Reading
comes before (:mod:`gramian.parsing.sentences`), and :mod:`gramian.parsing.fallbacks` handles sentences without a tree. Forests of single
sentences are built only where needed: for several best trees, Viterbi, rerankers, and combinations other than a product of labels.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import inf
from time import perf_counter
from typing import NamedTuple

import numpy as np

from gramian.chart.backend import ChartInput
from gramian.chart.chart_parser import ChartParser
from gramian.chart.combine import Reranker
from gramian.chart.constraints import Constraints
from gramian.chart.decode import DEFAULT_DECODER, decode, decode_batch
from gramian.chart.derivations import log_probabilities
from gramian.chart.forest import Forest, Pruning
from gramian.chart.k_best import k_best
from gramian.chart.tree_arrays import Decoded, TreeArrays, TreeBuilder, forest_trees, tree_arrays
from gramian.parsing.calibration import Calibration
from gramian.parsing.limits import Limits
from gramian.parsing.result import Alternative, ParseResult, Status
from gramian.parsing.sentences import ReadSentence
from gramian.parsing.words import WordTable
from gramian.trees.tree import with_words

_MAX_SPANS = 12_000  # of all sentences of a batch, so that tables of labels take some megabytes


class ReadRequest(NamedTuple):
    """A request whose sentence was read, and what it may cost."""

    read: ReadSentence
    limits: Limits
    decoder: str = DEFAULT_DECODER
    k: int = 1
    constraints: Constraints | None = None
    deadline: float = inf  # see :meth:`Limits.deadline`; set when fallbacks begin

    @property
    def tokens(self) -> Sequence[str]:
        """The words of the sentence."""
        return self.read.tokens

    def part(self, part: slice) -> ReadRequest:
        """Return the request for some of the words; they may take as large a share of the time as they are of the words."""
        tokens, seconds, priors = self.tokens[part], self.limits.seconds, self.read.tag_priors
        share = seconds and seconds * len(tokens) / len(self.tokens)
        return self._replace(
            read=ReadSentence(list(tokens), None, priors and priors[part]),
            limits=replace(self.limits, seconds=share),
            k=1,
            constraints=self.constraints and self.constraints.within(part.start, part.stop),
        )

    def finished(self, result: ParseResult) -> ParseResult:
        """Return the result with the words as they were given, and with the language of foreign text."""
        read = self.read
        if read.original is None:
            return result if read.language is None else replace(result, language=read.language)
        words = tuple(read.original)
        alternatives = [
            replace(alternative, tree=with_words(alternative.tree, words))
            for alternative in result.alternatives
        ]
        return replace(
            result,
            tree=with_words(result.tree, words),
            words=words,
            alternatives=tuple(alternatives),
            restored=tuple(read.tokens),
            language=read.language,
        )


class BatchResults:
    """The results of a batch of sentences, built from arrays when they are asked for, so that few are in memory at a time."""

    def __init__(
        self, trees: TreeArrays, sentences: Sequence[ReadSentence], names: Sequence[str], calibration: Calibration,
        status: Status = "parsed", seconds: float = 0.0,
    ) -> None:  # fmt: skip
        self._sentences, self._status, self._seconds = sentences, status, seconds
        self.tree = TreeBuilder(trees, [sentence.tokens for sentence in sentences], names).tree
        self._first, self._logs = trees.first.tolist(), trees.log_prob.tolist()
        posterior, is_tag = trees.posterior.astype(np.float64), trees.n_children == 0
        self._confidences = calibration.calibrated(posterior, is_tag).tolist()

    def result(self, index: int) -> ParseResult | None:
        """Return the result of a sentence, or None if it has no tree."""
        log_prob = self._logs[index]
        tree = None if log_prob == -inf else self.tree(index)
        if tree is None:
            return None
        words, offsets = self._sentences[index][:2]
        confidences = tuple(self._confidences[self._first[index] : self._first[index + 1]])
        return ParseResult(tree, self._status, log_prob, confidences, tuple(words), offsets, self._seconds)


class Pipeline(NamedTuple):
    """What all sentences of a parser go through; safe to share between threads.

    `table` has the states of all the chart's grammars; a reranker chooses among the best trees of the default decoder.
    """

    chart: ChartParser
    table: WordTable
    recall_penalty: float
    calibration: Calibration
    reranker: Reranker | None = None

    def parse(
        self, requests: Sequence[ReadRequest], pruning: Pruning, status: Status = "parsed"
    ) -> list[ParseResult | None]:
        """Return the results of sentences, none empty, whose charts keep within limits; None where there is no tree."""
        results: list[ParseResult | None] = [None] * len(requests)
        for indices in self._batches(requests):
            began = perf_counter()
            batch = [requests[index] for index in indices]
            inputs = list(map(self.chart_input, batch))
            for index, result in zip(indices, self.trees(batch, inputs, pruning, status, began), strict=True):
                results[index] = result
        return results

    def _batches(self, requests: Sequence[ReadRequest]) -> Iterator[list[int]]:
        """Yield indices of sentences that are parsed together: those that need forests apart from others, one decoder each."""
        batches: dict[str | None, list[int]] = {}
        n_spans: Counter[str | None] = Counter()
        for index, request in enumerate(requests):
            key = None if self._needs_forest(request) else request.decoder
            added = len(request.tokens) * (len(request.tokens) + 1) // 2
            if key in batches and n_spans[key] + added > _MAX_SPANS:
                yield batches.pop(key)
                n_spans[key] = 0
            batches.setdefault(key, []).append(index)
            n_spans[key] += added
        yield from batches.values()

    def _needs_forest(self, request: ReadRequest) -> bool:
        is_reranked = self.reranker is not None and request.decoder == DEFAULT_DECODER
        return is_reranked or self.chart.needs_forests or request.k > 1 or request.decoder == "viterbi"

    def chart_input(self, request: ReadRequest) -> ChartInput:
        """Look up the words of a sentence, and the symbols that its constraints allow."""
        words, constraints = self.table.read(request.tokens, request.read.tag_priors), request.constraints
        allowed = None if constraints is None else constraints.allowed(self.chart.grammar, len(words))
        _, _, scores, logs = zip(*words, strict=True) if words else ((), (), (), ())
        return ChartInput(scores, allowed, request.tokens, sum(logs))

    def trees(
        self, requests: Sequence[ReadRequest], inputs: Sequence[ChartInput], pruning: Pruning, status: Status, began: float
    ) -> list[ParseResult | None]:  # fmt: skip
        """Return the results of sentences that go together; `began` is when the first step did."""
        results: list[ParseResult | None] = [None] * len(requests)
        if status == "parsed" and not self._needs_forest(
            requests[0]
        ):  # else some grammar may well not derive it
            posteriors = self.chart.posteriors(inputs, pruning)
            best = decode_batch(posteriors, requests[0].decoder, recall_penalty=self.recall_penalty)
            log_words = np.array([sentence.log_words for sentence in inputs])
            seconds = (perf_counter() - began) / len(results)
            built = self._built(tree_arrays(posteriors, best), log_words, requests, status, seconds)
            results = list(map(built.result, range(len(results))))
            began, pruning = perf_counter(), replace(pruning, close=0.0)
        # A sentence that one grammar alone does not derive has a forest of the others.
        rest = [index for index, result in enumerate(results) if result is None]
        forests = self.chart.forests([inputs[index] for index in rest], pruning) if rest else []
        for index, forest in zip(rest, forests, strict=True):
            if forest is not None:
                results[index] = self._from_forest(
                    forest, requests[index], inputs[index].log_words, status, began
                )
            began = perf_counter()
        return results

    def _built(
        self, trees: TreeArrays, log_words: float | np.ndarray, requests: Sequence[ReadRequest], status: Status,
        seconds: float,
    ) -> BatchResults:  # fmt: skip
        trees = trees._replace(log_prob=trees.log_prob + log_words)
        sentences = [request.read for request in requests]
        return BatchResults(trees, sentences, self.chart.labels.names, self.calibration, status, seconds)

    def _from_forest(
        self, forest: Forest, request: ReadRequest, log_words: float, status: Status, began: float
    ) -> ParseResult | None:
        """Return the best tree or trees of a forest, or None if none has a probability."""
        ranked = self._ranked(forest, request)
        if not ranked:
            return None
        trees, seconds = forest_trees(forest, ranked), perf_counter() - began
        built = self._built(trees, log_words, [request] * len(ranked), status, seconds)
        result = built.result(0)
        if result is None or request.k == 1:
            return result
        logs = log_probabilities(forest, ranked, log_words)
        alternatives = [built.tree(index) or result.tree for index in range(len(ranked))]
        return replace(result, alternatives=tuple(map(Alternative, alternatives, logs)))

    def _ranked(self, forest: Forest, request: ReadRequest) -> list[Decoded]:
        if self.reranker is not None and request.decoder == DEFAULT_DECODER:
            return self.reranker.ranked(forest, request.tokens, request.k)
        if request.k > 1:
            return k_best(forest, request.k, request.decoder, recall_penalty=self.recall_penalty)
        best = decode(forest, request.decoder, recall_penalty=self.recall_penalty)
        return [] if best is None else [best]
