"""How a sentence gets its tree: attempt after attempt, until one succeeds.

A sentence that the grammar does not derive within the usual beam is tried with a wider beam, then with a grammar that joins parts
together; a sentence that is too long for the limits is parsed with a narrower beam or in parts; when all attempts fail, its tags stand
side by side. ``status`` says which. The cost of an attempt is estimated from the length of the sentence, not measured, so that trees
do not depend on how busy the machine is.
"""

import re
from collections.abc import Sequence
from dataclasses import astuple, replace
from functools import cached_property
from time import perf_counter

from gramian.chart.backend import ChartInput
from gramian.chart.chart_parser import ChartParser
from gramian.chart.forest import Pruning
from gramian.grammar.glue import END, end_scores, glued, root_label
from gramian.parsing.limits import cut, is_over
from gramian.parsing.pipeline import Pipeline, ReadRequest
from gramian.parsing.result import ParseResult, Status
from gramian.parsing.words import WordTable
from gramian.trees import Tree
from gramian.trees.tree import SPACE, phrase, preterminal

_WIDER = 1e-2  # factor on all thresholds when the usual ones left no tree
_NOT_A_LABEL = re.compile(rf"[{SPACE}()\0]")


class FallbackParser:
    """Parses batches of sentences, and finds some tree for each; safe to share between threads."""

    def __init__(self, pipeline: Pipeline, pruning: Pruning) -> None:
        self._pipeline, self._pruning = pipeline, pruning
        grammar = pipeline.chart.grammar
        self._n_rules = max(1, len(grammar.binary_rules))

    def _fitting(self, request: ReadRequest, pruning: Pruning) -> Pruning | None:
        """Return the pruning with which a sentence can be parsed in one piece; see :meth:`Limits.fit`."""
        return request.limits.fit(pruning, len(request.tokens), self._n_rules)

    def fits(self, request: ReadRequest) -> bool:
        """Whether a sentence may be parsed in one piece under the usual pruning."""
        return len(request.tokens) > 0 and self._fitting(request, self._pruning) is self._pruning

    def check(self, request: ReadRequest) -> None:
        """Raise an OptionError if the constraints of a sentence, or of a part in which it will be parsed, cannot be met."""
        constraints, n_words, grammar = request.constraints, len(request.tokens), self._pipeline.chart.grammar
        if constraints is None or n_words == 0:
            return
        if self._fitting(request, self._pruning) is not None:
            constraints.check(grammar, n_words)
            return
        for part in self._slices(request):
            constraints.within(part.start, part.stop).check(grammar, part.stop - part.start)

    def _slices(self, request: ReadRequest) -> list[slice]:
        """Return the parts in which a sentence is parsed that is too long."""
        longest = request.limits.part_length(self._pruning, len(request.tokens), self._n_rules)
        return cut(request.tokens, longest)

    def parse(self, requests: Sequence[ReadRequest]) -> list[ParseResult]:
        """Return the results of sentences, in their order."""
        results = self.first_attempt(requests, self._pipeline)
        return [
            request.finished(self.fallback(request) if result is None else result)
            for request, result in zip(requests, results, strict=True)
        ]

    def first_attempt(self, requests: Sequence[ReadRequest], pipeline: Pipeline) -> list[ParseResult | None]:
        """Return the results of sentences under the usual pruning, None for those that do not fit or have no tree."""
        results: list[ParseResult | None] = [None] * len(requests)
        fitting = [index for index, request in enumerate(requests) if self.fits(request)]
        parsed = pipeline.parse([requests[index] for index in fitting], self._pruning)
        for index, result in zip(fitting, parsed, strict=True):
            results[index] = result
        return results

    def fallback(self, request: ReadRequest) -> ParseResult:
        """Return some tree of a sentence that has none, or may have none, under the usual pruning."""
        began, offsets = perf_counter(), request.read.offsets
        if request.deadline == float("inf"):  # not a part of a sentence that has one
            request = request._replace(deadline=request.limits.deadline())
        result = self._attempts(request)
        return replace(result, words=tuple(request.tokens), offsets=offsets, seconds=perf_counter() - began)

    def _attempts(self, request: ReadRequest) -> ParseResult:
        if not request.tokens:
            return ParseResult(Tree(""), "empty", 0.0, (0.0,), ())
        fitting = self._fitting(request, self._pruning)
        if fitting is None:
            return self._in_parts(request)
        if fitting is not self._pruning:
            [result] = self._pipeline.parse([request], fitting, "narrow")
            if result is not None:
                return result
        if is_over(request.deadline):
            return self._flat(request, "stopped")
        wide = self._fitting(request, Pruning(*[_WIDER * threshold for threshold in astuple(self._pruning)]))
        if wide is not None:
            [result] = self._pipeline.parse([request], wide, "wide")
            if result is not None:
                return result
        return (None if is_over(request.deadline) else self._glued(request, fitting)) or self._flat(request)

    @cached_property
    def _root_label(self) -> str:
        return root_label(self._pipeline.chart.grammar)

    @cached_property
    def _glue(self) -> Pipeline:
        grammar = glued(self._pipeline.chart.grammar)
        chart, table = ChartParser(grammar), WordTable(grammar.lexicon)
        return self._pipeline._replace(chart=chart, table=table, reranker=None)

    def _glued(self, request: ReadRequest, pruning: Pruning) -> ParseResult | None:
        """Try a grammar that joins parts together, with a word at the end that closes them."""
        glue, constraints = self._glue, request.constraints
        words = self._pipeline.table.read(request.tokens, request.read.tag_priors)
        scores = [
            *(glue.table.widen(word).scores for word in words),
            end_scores(self._pipeline.chart.grammar),
        ]
        allowed = None if constraints is None else constraints.allowed(glue.chart.grammar, len(scores))
        log_words = sum([word.log_probability for word in words])
        closed = request._replace(read=request.read._replace(tokens=[*request.tokens, END]))
        # The glued grammar knows little of what stands beside what.
        unguessed = replace(pruning, guess=0.0)
        sentence = ChartInput(scores, allowed, None, log_words)
        [result] = glue.trees([closed], [sentence], unguessed, "glued", perf_counter())
        return result and _without_end(result)

    def _in_parts(self, request: ReadRequest) -> ParseResult:
        """Parse a sentence that is too long in parts, and join these under the root."""
        slices = self._slices(request)
        if len(slices) == 1:
            return self._flat(request)
        children: list[Tree] = []
        confidences, log_prob, statuses = [0.0], 0.0, set()
        for part in slices:
            part_request = request.part(part)
            if is_over(request.deadline):
                result = self._flat(part_request, "stopped")
            else:
                [result] = self.parse([part_request])
            statuses.add(result.status)
            is_fallback = result.confidences[0] == 0.0  # then its root was only put there
            children += result.tree.children if is_fallback else (result.tree,)
            confidences += result.confidences[is_fallback:]
            log_prob += result.log_prob_words
        tree = phrase(self._root_label, tuple(children))
        status: Status = "flat" if statuses == {"flat"} else "stopped" if "stopped" in statuses else "parts"
        return ParseResult(tree, status, log_prob, tuple(confidences), tuple(request.tokens))

    def _flat(self, request: ReadRequest, status: Status = "flat") -> ParseResult:
        """Return the tags side by side."""
        table, priors = self._pipeline.table, request.read.tag_priors
        tags = [table.top_tag(word) for word in table.read(request.tokens, priors)]
        for index, weights in enumerate(priors or ()):
            named = [tag for tag in weights or () if tag and not _NOT_A_LABEL.search(tag)]
            if weights and named:
                tags[index] = max(named, key=weights.__getitem__)
        leaves = [preterminal(tag, word) for tag, word in zip(tags, request.tokens, strict=True)]
        tree = phrase(self._root_label, tuple(leaves))
        return ParseResult(tree, status, float("-inf"), (0.0,) * (len(tags) + 1), tuple(request.tokens))


def _without_end(result: ParseResult) -> ParseResult:
    """Take the closing word of a glued grammar away, and the root if it stands over one phrase."""
    tree, below = _without_last(result.tree), result.confidences[1:-1]
    return replace(
        result,
        tree=tree,
        confidences=below if tree is result.tree.children[0] else (0.0, *below),
        words=result.words[:-1],
        alternatives=tuple(
            [
                replace(alternative, tree=_without_last(alternative.tree))
                for alternative in result.alternatives
            ]
        ),
    )


def _without_last(tree: Tree) -> Tree:
    parts = tree.children[:-1]
    return parts[0] if len(parts) == 1 and parts[0].children else phrase(tree.label, parts)
