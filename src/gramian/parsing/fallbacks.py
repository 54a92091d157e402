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
from typing import NamedTuple

from gramian.chart.backend import ChartInput
from gramian.chart.chart_parser import ChartParser
from gramian.chart.constraints import Constraints
from gramian.chart.decode import DECODERS, RECALL_PENALTY
from gramian.chart.forest import Allowed, Forest, Pruning
from gramian.grammar.glue import END, end_scores, glued, root_label
from gramian.grammar.lpcfg import LPCFG
from gramian.parsing.limits import Deadline, Limits, cut
from gramian.parsing.result import ParseResult, Reranker, Status, read_result, without_end
from gramian.parsing.sentences import Given
from gramian.parsing.words import Word, WordTable
from gramian.trees import Tree
from gramian.trees.tree import SPACE, phrase, preterminal

_WIDER = 1e-2  # factor on all thresholds when the usual ones left no tree
_NOT_A_LABEL = re.compile(rf"[{SPACE}()\0]")


class Request(NamedTuple):
    """What is wanted of one sentence, and what it may cost."""

    tokens: Sequence[str]
    given: Given | None
    limits: Limits
    deadline: Deadline
    decoder: str
    k: int = 1
    constraints: Constraints | None = None
    recall_penalty: float = RECALL_PENALTY

    def allowed(self, grammar: LPCFG, n_words: int) -> Allowed | None:
        """Return what the constraints allow in charts of a grammar."""
        return None if self.constraints is None else self.constraints.allowed(grammar, n_words)

    def part(self, part: slice) -> Request:
        """Return what is wanted of some of the words; they may take as large a share of the time as they are of the words."""
        tokens, seconds = self.tokens[part], self.limits.seconds
        share = seconds and seconds * len(tokens) / len(self.tokens)
        given, limits = self.given and self.given[part], replace(self.limits, seconds=share)
        constraints = self.constraints and self.constraints.within(part.start, part.stop)
        return Request(
            tokens, given, limits, self.deadline, self.decoder, 1, constraints, self.recall_penalty
        )


class Attempts:
    """The attempts at a sentence, one after the other; safe to share between threads.

    `table` has the states of all the chart's grammars; a reranker chooses among the best trees of the default decoder.
    """

    def __init__(
        self, chart: ChartParser, table: WordTable, pruning: Pruning, reranker: Reranker | None = None
    ) -> None:
        self.chart, self.table, self.pruning, self._reranker = chart, table, pruning, reranker
        self.n_rules = max(1, len(chart.grammar.binary_rules))
        self._root_label = root_label(chart.grammar)

    def finds_trees(self, decoder: str) -> bool:
        """Whether the best trees of several sentences are found at once by a decoder; only Viterbi and rerankers need their forests."""
        is_free = self._reranker is None or decoder != DECODERS[0]
        return is_free and decoder != "viterbi" and self.chart.knows_trees

    @cached_property
    def _glue(self) -> tuple[ChartParser, WordTable]:
        grammar: LPCFG = self.chart.grammar
        return ChartParser(glued(grammar)), WordTable(grammar.lexicon)

    def parse(self, request: Request) -> tuple[ParseResult, Forest | None]:
        """Return a sentence's tree, and the forest it was read from if the first attempt succeeded."""
        if not request.tokens:
            return ParseResult(Tree(""), "empty", 0.0, (0.0,), ()), None
        pruning = request.limits.fit(self.pruning, len(request.tokens), self.n_rules)
        if pruning is None:
            return self._in_parts(request), None
        words = self.table.read(request.tokens, request.given)
        status: Status = "parsed" if pruning is self.pruning else "narrow"
        result, forest = self._attempt(request, words, pruning, status)
        if result is not None:
            return result, forest
        if request.deadline.is_over:
            return self._flat(request, words, "stopped"), None
        return self._wide(request, words) or self._glued(request, words) or self._flat(request, words), None

    def _attempt(
        self, request: Request, words: list[Word], pruning: Pruning, status: Status
    ) -> tuple[ParseResult | None, Forest | None]:
        sentence = ChartInput(
            [word.scores for word in words], request.allowed(self.chart.grammar, len(words)), request.tokens
        )
        [forest] = self.chart.forests([sentence], pruning)
        if forest is None:
            return None, None
        reranker = self._reranker if request.decoder == DECODERS[0] else None
        about = request.tokens, _log_words(words), status, request.k, request.decoder, reranker
        result = read_result(forest, *about, request.recall_penalty)
        return result, forest

    def _wide(self, request: Request, words: list[Word]) -> ParseResult | None:
        """Try a wider beam."""
        wide = Pruning(*[_WIDER * threshold for threshold in astuple(self.pruning)])
        fitting = request.limits.fit(wide, len(words), self.n_rules)
        return None if fitting is None else self._attempt(request, words, fitting, "wide")[0]

    def _glued(self, request: Request, words: list[Word]) -> ParseResult | None:
        """Try a grammar that glues parts together."""
        fitting = request.limits.fit(self.pruning, len(words), self.n_rules)
        if fitting is None or request.deadline.is_over:
            return None
        chart, table = self._glue
        scores = [*(table.widen(word).scores for word in words), end_scores(self.chart.grammar)]
        unguessed = replace(fitting, guess=0.0)  # the glued grammar knows little of what stands beside what
        [forest] = chart.forests([ChartInput(scores, request.allowed(chart.grammar, len(scores)))], unguessed)
        if forest is None:
            return None
        tokens = [*request.tokens, END]
        glued: Status = "glued"
        about = tokens, _log_words(words), glued, request.k, request.decoder, None
        result = read_result(forest, *about, request.recall_penalty)
        return result and without_end(result)

    def _in_parts(self, request: Request) -> ParseResult:
        """Parse a sentence that is too long in parts, and join these under the root."""
        tokens = request.tokens
        slices = cut(tokens, request.limits.part_length(self.pruning, len(tokens), self.n_rules))
        if len(slices) == 1:
            return self._flat(request, self.table.read(tokens))
        children: list[Tree] = []
        sure, log_prob, statuses = [0.0], 0.0, set()
        for part in slices:
            wanted = request.part(part)
            if request.deadline.is_over:
                result = self._flat(wanted, self.table.read(wanted.tokens), "stopped")
            else:
                result, _ = self.parse(wanted)
            statuses.add(result.status)
            is_fallback = result.confidences[0] == 0.0  # then its root was only put there
            children += result.tree.children if is_fallback else (result.tree,)
            sure += result.confidences[is_fallback:]
            log_prob += result.log_prob
        tree = phrase(self._root_label, tuple(children))
        status: Status = "flat" if statuses == {"flat"} else "stopped" if "stopped" in statuses else "parts"
        return ParseResult(tree, status, log_prob, tuple(sure), tuple(tokens))

    def _flat(self, request: Request, words: list[Word], status: Status = "flat") -> ParseResult:
        """Return the tags side by side."""
        tags = [self.table.top_tag(word) for word in words]
        for place, weights in enumerate(request.given or ()):
            named = [tag for tag in weights or () if tag and not _NOT_A_LABEL.search(tag)]
            if weights and named:
                tags[place] = max(named, key=weights.__getitem__)
        leaves = [preterminal(tag, word) for tag, word in zip(tags, request.tokens, strict=True)]
        tree = phrase(self._root_label, tuple(leaves))
        return ParseResult(tree, status, float("-inf"), (0.0,) * (len(words) + 1), tuple(request.tokens))


def _log_words(words: list[Word]) -> float:
    return sum(word.log_probability for word in words)
