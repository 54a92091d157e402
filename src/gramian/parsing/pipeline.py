"""The steps from sentences that were read to results: word scores, posteriors of the chart, decoding, arrays, trees.

Every sentence takes them, alone or with others: to call a kernel for each would take as long as a short sentence. Reading comes before
(:mod:`gramian.parsing.sentences`), and what has no tree here is left to :mod:`gramian.parsing.fallbacks`. Forests of single sentences are
made only where they are needed: for several best trees, for Viterbi, for rerankers, and where grammars are combined otherwise than by a
product of labels.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from time import perf_counter
from typing import NamedTuple

from gramian.chart.backend import ChartInput
from gramian.chart.chart_parser import ChartParser
from gramian.chart.constraints import Constraints
from gramian.chart.decode import DEFAULT_DECODER, decode, decode_batch
from gramian.chart.derivations import log_probabilities
from gramian.chart.forest import Forest, Pruning
from gramian.chart.k_best import k_best
from gramian.chart.readout import Decoded, forest_trees, tree_arrays
from gramian.grammar.lpcfg import LPCFG
from gramian.parsing.batch_results import BatchResults
from gramian.parsing.calibration import Calibration
from gramian.parsing.limits import Deadline, Limits
from gramian.parsing.result import Alternative, ParseResult, Reranker, Status
from gramian.parsing.sentences import ReadSentence
from gramian.parsing.words import WordTable

_MOST_SPANS = 12_000  # of all sentences of a batch, so that tables of labels take some megabytes


class ReadRequest(NamedTuple):
    """A request whose sentence was read, and what it may cost."""

    read: ReadSentence
    limits: Limits
    decoder: str = DEFAULT_DECODER
    k: int = 1
    constraints: Constraints | None = None
    deadline: Deadline = Deadline()  # set when fallbacks begin

    @property
    def tokens(self) -> Sequence[str]:
        """The words of the sentence."""
        return self.read.tokens

    def part(self, part: slice) -> ReadRequest:
        """Return what is wanted of some of the words; they may take as large a share of the time as they are of the words."""
        tokens, seconds, priors = self.tokens[part], self.limits.seconds, self.read.tag_priors
        share = seconds and seconds * len(tokens) / len(self.tokens)
        return self._replace(
            read=ReadSentence(list(tokens), None, priors and priors[part]),
            limits=Limits(self.limits.length, share, self.limits.memory),
            k=1,
            constraints=self.constraints and self.constraints.within(part.start, part.stop),
        )


class Batch(NamedTuple):
    """Sentences as charts take them, with the log-probability of the words themselves."""

    requests: Sequence[ReadRequest]
    inputs: Sequence[ChartInput]
    log_words: Sequence[float]

    def part(self, places: Sequence[int]) -> Batch:
        """Return some of the sentences."""
        chosen = [(self.requests[place], self.inputs[place], self.log_words[place]) for place in places]
        return Batch(*zip(*chosen, strict=True)) if chosen else Batch((), (), ())


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
        for places in self._batches(requests):
            began = perf_counter()
            batch = word_scores(self.table, self.chart.grammar, [requests[place] for place in places])
            for place, result in zip(places, self.trees(batch, pruning, status, began), strict=True):
                results[place] = result
        return results

    def _batches(self, requests: Sequence[ReadRequest]) -> Iterator[list[int]]:
        """Yield numbers of sentences that are parsed together: those that need forests apart from others, one decoder each."""
        open_batches: dict[str | None, list[int]] = {}
        spans: dict[str | None, int] = {}
        for place, request in enumerate(requests):
            key = None if self._needs_forest(request) else request.decoder
            added = len(request.tokens) * (len(request.tokens) + 1) // 2
            if key in open_batches and spans[key] + added > _MOST_SPANS:
                yield open_batches.pop(key)
            open_batches.setdefault(key, []).append(place)
            spans[key] = added + (spans[key] if len(open_batches[key]) > 1 else 0)
        yield from open_batches.values()

    def _needs_forest(self, request: ReadRequest) -> bool:
        is_reranked = self.reranker is not None and request.decoder == DEFAULT_DECODER
        return request.k > 1 or is_reranked or request.decoder == "viterbi" or self.chart.needs_forests

    def trees(self, batch: Batch, pruning: Pruning, status: Status, began: float) -> list[ParseResult | None]:
        """Return the results of sentences that go together; `began` is when the first step did."""
        results: list[ParseResult | None] = [None] * len(batch.requests)
        first = batch.requests[0]
        if status == "parsed" and not self._needs_forest(first):  # else some grammar may well not derive it
            posteriors = self.chart.posteriors(batch.inputs, pruning)
            trees = decode_batch(posteriors, first.decoder, recall_penalty=self.recall_penalty)
            found = tree_arrays(posteriors, trees)
            found = found._replace(log_prob=found.log_prob + batch.log_words)
            seconds = (perf_counter() - began) / len(results)
            reads = [request.read for request in batch.requests]
            built = BatchResults(found, reads, self.chart.labels.names, self.calibration, status, seconds)
            results = [built.result(place) for place in range(len(results))]
            began = perf_counter()
        # A sentence that one grammar alone does not derive has a forest of the others.
        rest = [place for place, result in enumerate(results) if result is None]
        part = batch.part(rest)
        forests = self.chart.forests(part.inputs, pruning) if rest else []
        for place, request, forest, log_words in zip(
            rest, part.requests, forests, part.log_words, strict=True
        ):
            if forest is not None:
                results[place] = self._from_forest(forest, request, log_words, status, began)
            began = perf_counter()
        return results

    def _from_forest(
        self, forest: Forest, request: ReadRequest, log_words: float, status: Status, began: float
    ) -> ParseResult | None:
        """Return the best tree or trees of a forest, or None if none has a probability."""
        ranked = self._ranked(forest, request)
        if not ranked:
            return None
        found = forest_trees(forest, ranked)
        found = found._replace(log_prob=found.log_prob + log_words)
        reads, seconds = [request.read] * len(ranked), perf_counter() - began
        built = BatchResults(found, reads, self.chart.labels.names, self.calibration, status, seconds)
        result = built.result(0)
        if result is None or request.k == 1:
            return result
        logs = log_probabilities(forest, ranked, log_words)
        trees = [built.tree(place) or result.tree for place in range(len(ranked))]
        return replace(result, alternatives=tuple(map(Alternative, trees, logs)))

    def _ranked(self, forest: Forest, request: ReadRequest) -> list[Decoded]:
        if self.reranker is not None and request.decoder == DEFAULT_DECODER:
            return self.reranker.ranked(forest, request.tokens, request.k)
        if request.k > 1:
            return k_best(forest, request.k, request.decoder, recall_penalty=self.recall_penalty)
        best = decode(forest, request.decoder, recall_penalty=self.recall_penalty)
        return [] if best is None else [best]


def word_scores(table: WordTable, grammar: LPCFG, requests: Sequence[ReadRequest]) -> Batch:
    """Look up the words of sentences, and what constraints allow in charts of a grammar."""
    inputs, log_words = [], []
    for request in requests:
        words = table.read(request.tokens, request.read.tag_priors)
        bounds = request.constraints
        allowed = None if bounds is None else bounds.allowed(grammar, len(words))
        inputs.append(ChartInput([word.scores for word in words], allowed, request.tokens))
        log_words.append(sum([word.log_probability for word in words]))
    return Batch(requests, inputs, log_words)
