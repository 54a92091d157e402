"""How a sentence gets its tree: attempt after attempt, until one succeeds.

A sentence that the grammar does not derive within the usual beam is tried with a wider one, then with a grammar that
glues parts together; a sentence that is too long for the limits is parsed under a narrower beam or in parts; when
all fails, its tags stand side by side. ``status`` says which. What an attempt will cost is foretold from the length of the
sentence, not measured, so that trees do not depend on how busy the machine is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import astuple, replace
from functools import cached_property
from time import perf_counter

from gramian.chart.backend import ChartInput
from gramian.chart.chart_parser import ChartParser
from gramian.chart.forest import Pruning
from gramian.grammar.glue import END, end_scores, glued, root_label
from gramian.parsing.limits import Deadline, cut
from gramian.parsing.pipeline import Batch, Pipeline, ReadRequest
from gramian.parsing.result import ParseResult, Status, without_end
from gramian.parsing.words import WordTable
from gramian.trees import Tree
from gramian.trees.tree import SPACE, phrase, preterminal

_WIDER = 1e-2  # factor on all thresholds when the usual ones left no tree
_NOT_A_LABEL = re.compile(rf"[{SPACE}()\0]")


class FallbackParser:
    """Parses batches of sentences, and finds some tree for every one; safe to share between threads.

    Parameters
    ----------
    pipeline : Pipeline
    pruning : Pruning
        The usual one.
    """

    def __init__(self, pipeline: Pipeline, pruning: Pruning) -> None:
        self._pipeline, self._pruning = pipeline, pruning
        grammar = pipeline.chart.grammar
        self._n_rules = max(1, len(grammar.binary_rules))
        self._root_label = root_label(grammar)

    def fits(self, request: ReadRequest) -> bool:
        """Whether a sentence may be parsed in one piece under the usual pruning."""
        n_words = len(request.tokens)
        return n_words > 0 and request.limits.fit(self._pruning, n_words, self._n_rules) is self._pruning

    def check(self, request: ReadRequest) -> None:
        """Raise an OptionError if the constraints of a sentence, or of a part in which it will be parsed, cannot be met."""
        bounds, n_words, grammar = request.constraints, len(request.tokens), self._pipeline.chart.grammar
        if bounds is None or n_words == 0:
            return
        if request.limits.fit(self._pruning, n_words, self._n_rules) is not None:
            bounds.check(grammar, n_words)
            return
        for part in self._slices(request):
            bounds.within(part.start, part.stop).check(grammar, part.stop - part.start)

    def _slices(self, request: ReadRequest) -> list[slice]:
        """Return the parts in which a sentence is parsed that is too long."""
        longest = request.limits.part_length(self._pruning, len(request.tokens), self._n_rules)
        return cut(request.tokens, longest)

    def parse(self, requests: Sequence[ReadRequest]) -> list[ParseResult]:
        """Return the results of sentences, in their order."""
        results: list[ParseResult | None] = [None] * len(requests)
        fitting = [place for place, request in enumerate(requests) if self.fits(request)]
        found = self._pipeline.parse([requests[place] for place in fitting], self._pruning)
        for place, result in zip(fitting, found, strict=True):
            results[place] = result
        return [
            self.fallback(request) if result is None else result
            for request, result in zip(requests, results, strict=True)
        ]

    def fallback(self, request: ReadRequest) -> ParseResult:
        """Return some tree of a sentence that has none, or may have none, under the usual pruning."""
        began, offsets = perf_counter(), request.read.offsets
        if request.deadline == Deadline():  # not a part of a sentence that has one
            request = request._replace(deadline=Deadline.of(request.limits))
        result = self._attempts(request)
        return replace(result, words=tuple(request.tokens), offsets=offsets, seconds=perf_counter() - began)

    def _attempts(self, request: ReadRequest) -> ParseResult:
        if not request.tokens:
            return ParseResult(Tree(""), "empty", 0.0, (0.0,), ())
        fitting = request.limits.fit(self._pruning, len(request.tokens), self._n_rules)
        if fitting is None:
            return self._in_parts(request)
        if fitting is not self._pruning and (result := self._attempt(request, fitting, "narrow")) is not None:
            return result
        if request.deadline.is_over:
            return self._flat(request, "stopped")
        wide = Pruning(*[_WIDER * threshold for threshold in astuple(self._pruning)])
        wide_fitting = request.limits.fit(wide, len(request.tokens), self._n_rules)
        if wide_fitting is not None and (result := self._attempt(request, wide_fitting, "wide")) is not None:
            return result
        return (None if request.deadline.is_over else self._glued(request, fitting)) or self._flat(request)

    def _attempt(self, request: ReadRequest, pruning: Pruning, status: Status) -> ParseResult | None:
        [result] = self._pipeline.parse([request], pruning, status)
        return result

    @cached_property
    def _glue(self) -> Pipeline:
        grammar = glued(self._pipeline.chart.grammar)
        return self._pipeline._replace(
            chart=ChartParser(grammar), table=WordTable(grammar.lexicon), reranker=None
        )

    def _glued(self, request: ReadRequest, pruning: Pruning) -> ParseResult | None:
        """Try a grammar that glues parts together, with a word at the end that closes them."""
        glue, grammar = self._glue, self._pipeline.chart.grammar
        words = self._pipeline.table.read(request.tokens, request.read.tag_priors)
        scores = [*(glue.table.widen(word).scores for word in words), end_scores(grammar)]
        bounds = request.constraints
        allowed = None if bounds is None else bounds.allowed(glue.chart.grammar, len(scores))
        closed = request._replace(read=request.read._replace(tokens=[*request.tokens, END]))
        log_words = sum([word.log_probability for word in words])
        # The glued grammar knows little of what stands beside what.
        batch, unguessed = (
            Batch([closed], [ChartInput(scores, allowed)], [log_words]),
            replace(pruning, guess=0.0),
        )
        [result] = glue.trees(batch, unguessed, "glued", perf_counter())
        return result and without_end(result)

    def _in_parts(self, request: ReadRequest) -> ParseResult:
        """Parse a sentence that is too long in parts, and join these under the root."""
        tokens, slices = request.tokens, self._slices(request)
        if len(slices) == 1:
            return self._flat(request)
        children: list[Tree] = []
        confidences, log_prob, statuses = [0.0], 0.0, set()
        for part in slices:
            wanted = request.part(part)
            if request.deadline.is_over:
                result = self._flat(wanted, "stopped")
            else:
                [result] = self.parse([wanted])
            statuses.add(result.status)
            is_fallback = result.confidences[0] == 0.0  # then its root was only put there
            children += result.tree.children if is_fallback else (result.tree,)
            confidences += result.confidences[is_fallback:]
            log_prob += result.log_prob_words
        tree = phrase(self._root_label, tuple(children))
        status: Status = "flat" if statuses == {"flat"} else "stopped" if "stopped" in statuses else "parts"
        return ParseResult(tree, status, log_prob, tuple(confidences), tuple(tokens))

    def _flat(self, request: ReadRequest, status: Status = "flat") -> ParseResult:
        """Return the tags side by side."""
        table, priors = self._pipeline.table, request.read.tag_priors
        tags = [table.top_tag(word) for word in table.read(request.tokens, priors)]
        for place, weights in enumerate(priors or ()):
            named = [tag for tag in weights or () if tag and not _NOT_A_LABEL.search(tag)]
            if weights and named:
                tags[place] = max(named, key=weights.__getitem__)
        leaves = [preterminal(tag, word) for tag, word in zip(tags, request.tokens, strict=True)]
        tree = phrase(self._root_label, tuple(leaves))
        return ParseResult(tree, status, float("-inf"), (0.0,) * (len(tags) + 1), tuple(request.tokens))
