"""The parser: text, tokens or tagged tokens in, a :class:`ParseResult` out, whatever comes.

A sentence that the grammar does not derive within the usual beam is tried with a wider one, then with a grammar that
glues parts together; a sentence that is too long for the limits is parsed under a narrower beam or in parts; when
all fails, its tags stand side by side. ``status`` says which.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from functools import cached_property, partial
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from gramian.chart.chart_parser import Allowed, ChartParser, Forest, Pruning
from gramian.chart.combine import EXPERT_WEIGHT, EnsembleChart, Expert
from gramian.chart.constraints import Constraints
from gramian.chart.decode import DECODERS
from gramian.chart.derivations import sample
from gramian.chart.readout import to_tree
from gramian.errors import InputError, OptionError
from gramian.grammar.glue import END, end_scores, glued, root_label
from gramian.grammar.lexicon import WordScores, joined
from gramian.grammar.lpcfg import LPCFG
from gramian.io.files import Source
from gramian.parsing.calibration import Calibration
from gramian.parsing.limits import Limits, cut
from gramian.parsing.model import Model
from gramian.parsing.model_store import load_model, save_model
from gramian.parsing.result import Alternative, ParseResult, Reranker, Status, read_result, without_end
from gramian.parsing.tokenise import Token, tokenise
from gramian.parsing.words import WordTable
from gramian.threads import in_order
from gramian.trees import Tree, normalise, preset
from gramian.trees.brackets import trees_of
from gramian.trees.tree import SPACE, phrase, preterminal, unescape_word

if TYPE_CHECKING:
    from gramian.evaluate import BracketScores

__all__ = ["Constrained", "ParseResult", "Parser", "Sentence", "load"]

TaggedToken: TypeAlias = tuple[str, str | Mapping[str, float]]
Plain: TypeAlias = str | Sequence[str] | Sequence[Token] | Sequence[TaggedToken] | Sequence[str | TaggedToken]


@dataclass(frozen=True)
class Constrained:
    """A sentence with what is known about its tree, for where sentences come in numbers.

    Attributes
    ----------
    sentence : str or sequence
        As for :meth:`Parser.parse`.
    constraints : gramian.chart.constraints.Constraints
    """

    sentence: Plain
    constraints: Constraints


Sentence: TypeAlias = Plain | Constrained

_WIDER = 1e-2  # factor on all thresholds when the usual ones left no tree
_NOT_A_WORD = re.compile(rf"[{SPACE}\0]")
_NOT_A_LABEL = re.compile(rf"[{SPACE}()\0]")


class Parser:
    """Parses sentences with one model; safe to share between threads.

    Parameters
    ----------
    model : Model or LPCFG
    decoder : str
        What makes a tree the best: one of :data:`gramian.chart.decode.DECODERS`.
    combination : str
        How the grammars of a model that holds several are combined: one of
        :data:`gramian.chart.combine.COMBINATIONS`.
    pruning : Pruning
        What the chart leaves out.
    rerank : bool
        Whether the model's reranker, if it has one, chooses among the best trees; it does so with the default decoder only.
    max_length : int or None
        Longer sentences are cut, at punctuation where there is some, and parsed in parts.
    max_seconds : float or None
        A sentence that is expected to take longer is parsed under a narrower beam, or in parts; no retry begins after
        this time.
    max_memory : int or None
        A sentence whose chart is expected to need more bytes is parsed in parts.

    Examples
    --------
    >>> from gramian.corpus import Treebank
    >>> from gramian.learn import PCFG
    >>> trees = [Tree.parse("(S (NP (DT the) (NN dog)) (VP (VBZ barks)))")]
    >>> parser = Parser(PCFG().fit(Treebank.from_trees(trees)).model_)
    >>> result = parser.parse("the dog barks")
    >>> print(result.tree, result.status)
    (S (NP (DT the) (NN dog)) (VP (VBZ barks))) parsed
    """

    def __init__(
        self,
        model: Model | LPCFG,
        *,
        decoder: str = "max-recall",
        combination: str = "product",
        pruning: Pruning = Pruning(),
        rerank: bool = True,
        max_length: int | None = None,
        max_seconds: float | None = 10.0,
        max_memory: int | None = 1 << 30,
    ) -> None:
        self.model = model if isinstance(model, Model) else Model(model)
        self.limits = Limits(max_length, max_seconds, max_memory)
        self.decoder = _known_decoder(decoder)
        self.pruning = pruning
        grammar = self.model.grammar
        self._chart: ChartParser
        if self.model.others or self.model.expert is not None:
            expert: Expert | None = None
            if self.model.expert is not None:
                from gramian.loglinear import Expert as SpanExpert

                expert = SpanExpert(self.model.expert, grammar)
            weight = EXPERT_WEIGHT if self.model.expert_weight is None else self.model.expert_weight
            self._chart = EnsembleChart(
                self.model.grammars, combination, self.model.kinds or None, expert, weight
            )
            self._table = WordTable(joined([one.lexicon for one in self.model.grammars]))
        else:
            combination = "product"  # what all ways are, if there is but one grammar
            self._chart = ChartParser(grammar)
            self._table = WordTable(grammar.lexicon)
        self.calibration = self.model.calibration.get(combination, Calibration())
        self._reranker: Reranker | None = self.model.reranker if rerank else None
        self._root_label = root_label(grammar)
        self._n_rules = max(1, len(grammar.binary_rules))

    @cached_property
    def _glue(self) -> tuple[ChartParser, WordTable, WordScores]:
        grammar = self.model.grammar
        table = WordTable(grammar.lexicon) if self.model.others else self._table
        return ChartParser(glued(grammar)), table, end_scores(grammar)

    def parse(
        self,
        sentence: Sentence,
        *,
        k: int = 1,
        decoder: str | None = None,
        constraints: Constraints | None = None,
    ) -> ParseResult:
        """Parse one sentence.

        Parameters
        ----------
        sentence : str or sequence
            Text, which is cut into tokens; or tokens, which are taken as they are; or (token, tag) pairs, or
            (token, {tag: probability}) pairs, whose tags are the only ones tried as long as they lead to a tree. A tag
            that the grammar does not have is passed over. Tokens with and without tags may be mixed.
        k : int
            How many of the best trees to return.
        decoder : str, optional
            Another one than the parser's own.
        constraints : gramian.chart.constraints.Constraints, optional
            Phrases that must or must not be there. Those that no tree meets are let go with a flat tree; of a sentence
            that is parsed in parts, those that lie within a part are kept.

        Returns
        -------
        ParseResult
        """
        if k < 1:
            raise OptionError(f"k is 1 or more, not {k}")
        began = perf_counter()
        if isinstance(sentence, Constrained):
            constraints = sentence.constraints
            sentence = sentence.sentence
        words, offsets, given = self._read(sentence)
        decoder = self.decoder if decoder is None else _known_decoder(decoder)
        job = _Job(k, decoder, began, self.limits, constraints)
        result = self._parse(words, given, job)
        sure = self.calibration.confidences(result.tree, result.confidences)
        return replace(result, confidences=sure, offsets=offsets, seconds=perf_counter() - began)

    def parse_many(
        self, sentences: Iterable[Sentence], *, jobs: int = 1, k: int = 1, decoder: str | None = None
    ) -> Iterator[ParseResult]:
        """Parse sentences as they come; results come in the same order.

        Not more than a few dozen sentences are held at a time.

        Parameters
        ----------
        sentences : iterable
            Of what :meth:`parse` takes.
        jobs : int
            Threads.
        k, decoder
            As for :meth:`parse`.
        """
        if jobs < 1:
            raise OptionError(f"jobs is 1 or more, not {jobs}")
        if isinstance(sentences, str):
            raise OptionError("sentences must be several, got one text; try: parse, or a list with one text")
        parse = partial(self.parse, k=k, decoder=decoder)
        return in_order(parse, sentences, jobs)

    def sample(
        self,
        sentence: Sentence,
        size: int = 1,
        *,
        random_state: int | np.random.Generator,
        constraints: Constraints | None = None,
    ) -> list[Alternative]:
        """Draw trees of a sentence by their probability given its words.

        What pruning leaves out is never drawn; of a sentence that is not fully parsed, its one makeshift tree comes every
        time. Where a model holds several grammars, the first is drawn from.

        Parameters
        ----------
        sentence, constraints
            As for :meth:`parse`.
        size : int
        random_state : int or numpy.random.Generator

        Returns
        -------
        list of Alternative
        """
        if isinstance(sentence, Constrained):
            constraints = sentence.constraints
            sentence = sentence.sentence
        words, _, given = self._read(sentence)
        job = _Job(1, self.decoder, perf_counter(), self.limits, constraints)
        result = self._parse(words, given, job)
        if result.status != "parsed":
            return [Alternative(result.tree, result.log_prob)] * size
        scores, log_words = self._scores(words, given)
        forest = self._chart.forest(scores, self.pruning, job.allowed(self._chart, len(words)), words)
        assert forest is not None
        return [
            Alternative(to_tree(self._chart, forest, one, words), forest.log_ratio + log_words + one.score)
            for one in sample(self._chart, forest, size, random_state)
        ]

    def evaluate(self, trees: Source | Iterable[Tree], *, n_jobs: int = 1) -> BracketScores:
        """Parse the words of gold trees, and return how well the results match these.

        Parameters
        ----------
        trees : path, stream or iterable of Tree
            They are brought into the form that the model's treebank had for training.
        n_jobs : int
            Threads.

        Returns
        -------
        gramian.evaluate.BracketScores

        Examples
        --------
        >>> from gramian.corpus import Treebank
        >>> from gramian.learn import PCFG
        >>> trees = [Tree.parse("(S (NP (DT the) (NN dog)) (VP (VBZ barks)))")]
        >>> Parser(PCFG().fit(Treebank.from_trees(trees)).model_).evaluate(trees).f1
        100.0
        """
        from gramian.evaluate import GoldBrackets

        scheme = preset(self.model.preset or "penn")
        found = (normalise(tree, scheme).tree for tree in trees_of(trees))
        gold = [tree for tree in found if not tree.is_empty]
        results = self.parse_many([list(tree.words) for tree in gold], jobs=n_jobs)
        return GoldBrackets(gold).score([result.tree for result in results])

    def save(self, path: str | os.PathLike[str], *, half: bool = True) -> None:
        """Write the model to a file that :func:`gramian.load` reads.

        Parameters
        ----------
        path : path
        half : bool
            Whether real numbers are rounded to 16 bits, as ``gramian train`` does unless ``--full`` is given.
        """
        save_model(self.model, path, half=half)

    def forest(self, words: Sequence[str]) -> tuple[ChartParser, Forest] | None:
        """Return the forest of a sentence under the usual pruning with the chart that made it, or None if there is no tree."""
        forest = self._chart.forest(self._scores(list(words), None)[0], self.pruning, None, words)
        return None if forest is None else (self._chart, forest)

    # -- what comes in -----------------------------------------------------------------------------------------------

    def _read(
        self, sentence: Plain
    ) -> tuple[list[str], tuple[tuple[int, int], ...] | None, list[Mapping[str, float] | None] | None]:
        """Return words, their places in the text, and the tags they are given, if any."""
        if isinstance(sentence, str):
            sentence = tokenise(sentence, self.model.tokens)
        words: list[str] = []
        offsets: list[tuple[int, int]] = []
        given: list[Mapping[str, float] | None] = []
        for item in sentence:
            if isinstance(item, str):
                words.append(item)
            elif isinstance(item, Token):
                words.append(item.word)
                offsets.append((item.start, item.end))
            else:
                word, tag = item
                given += [None] * (len(words) - len(given))
                given.append({tag: 1.0} if isinstance(tag, str) else tag)
                words.append(word)
        if not all(words) or _NOT_A_WORD.search("".join(words)):
            place = next(place for place, word in enumerate(words) if not word or _NOT_A_WORD.search(word))
            raise InputError(
                f"token {place + 1}, {words[place]!r}, is not a word", "sentence",
                hint="give tokens without white space, or the sentence as one text",
            )  # fmt: skip
        if given:
            given += [None] * (len(words) - len(given))
        return [unescape_word(word) for word in words], tuple(offsets) or None, given or None

    # -- what goes on ------------------------------------------------------------------------------------------------

    def _parse(
        self, words: list[str], given: list[Mapping[str, float] | None] | None, job: _Job
    ) -> ParseResult:
        if not words:
            return ParseResult(Tree(""), "empty", 0.0, (0.0,), ())
        scores, log_words = self._scores(words, given)
        pruning = job.limits.fit(self.pruning, len(words), self._n_rules)
        if pruning is None:
            return self._in_parts(words, given, job)
        if forest := self._chart.forest(scores, pruning, job.allowed(self._chart, len(words)), words):
            status: Status = "parsed" if pruning is self.pruning else "narrow"
            if result := self._result(forest, words, log_words, status, job):
                return result
        return self._retry(words, scores, log_words, job) or self._flat(words, scores, given)

    def _result(
        self, forest: Forest, words: list[str], log_words: float, status: Status, job: _Job
    ) -> ParseResult | None:
        reranker = self._reranker if job.decoder == DECODERS[0] else None
        return read_result(self._chart, forest, words, log_words, status, job.k, job.decoder, reranker)

    def _scores(
        self, words: list[str], given: list[Mapping[str, float] | None] | None
    ) -> tuple[list[WordScores], float]:
        """Return what the words may be, and the logarithm of their own probability."""
        table = self._table
        found = [table.score(word, place == 0) for place, word in enumerate(words)]
        scores = [score for score, _ in found]
        for place, weights in enumerate(given or ()):
            if weights is not None:
                scores[place] = table.restrict(scores[place], words[place], weights) or scores[place]
        return scores, sum(log_word for _, log_word in found)

    def _retry(
        self, words: list[str], scores: list[WordScores], log_words: float, job: _Job
    ) -> ParseResult | None:
        """Try a wider beam, then a grammar that glues parts together."""
        usual = self.pruning
        wide = Pruning(*[_WIDER * threshold for threshold in astuple(usual)])
        if fitting := job.limits_left().fit(wide, len(words), self._n_rules):
            forest = self._chart.forest(scores, fitting, job.allowed(self._chart, len(words)), words)
            if forest and (result := self._result(forest, words, log_words, "wide", job)):
                return result
        if fitting := job.limits_left().fit(usual, len(words), self._n_rules):
            chart, table, end = self._glue
            widened = [
                table.widen(score, word, place == 0)
                for place, (score, word) in enumerate(zip(scores, words, strict=True))
            ]
            unguessed = replace(
                fitting, guess=0.0
            )  # the glued grammar knows little of what stands beside what
            forest = chart.forest([*widened, end], unguessed, job.allowed(chart, len(words) + 1))
            if forest and (
                result := read_result(chart, forest, [*words, END], log_words, "glued", job.k, job.decoder)
            ):
                return without_end(result)
        return None

    def _in_parts(
        self, words: list[str], given: list[Mapping[str, float] | None] | None, job: _Job
    ) -> ParseResult:
        """Parse a sentence that is too long in parts, and join these under the root."""
        slices = cut(words, job.limits.part_length(self.pruning, len(words), self._n_rules))
        if len(slices) == 1:
            return self._flat(words, [self._table.score(word, False)[0] for word in words], given)
        children: list[Tree] = []
        sure = [0.0]
        log_prob = 0.0
        status: Status = "flat"
        for done, part in enumerate(slices):
            result = self._parse(words[part], given and given[part], job.of_part(part, len(slices) - done))
            if result.status != "flat":
                status = "parts"
            if result.confidences[0] == 0.0:  # a makeshift root
                children += result.tree.children
                sure += result.confidences[1:]
            else:
                children.append(result.tree)
                sure += result.confidences
            log_prob += result.log_prob
        tree = phrase(self._root_label, tuple(children))
        return ParseResult(tree, status, log_prob, tuple(sure), tuple(words))

    def _flat(
        self, words: list[str], scores: list[WordScores], given: list[Mapping[str, float] | None] | None
    ) -> ParseResult:
        """Return the tags side by side."""
        tags = [self._table.top_tag(score) for score in scores]
        for place, weights in enumerate(given or ()):
            named = [tag for tag in weights or () if tag and not _NOT_A_LABEL.search(tag)]
            if weights and named:
                tags[place] = max(named, key=weights.__getitem__)
        leaves = [preterminal(tag, word) for tag, word in zip(tags, words, strict=True)]
        tree = phrase(self._root_label, tuple(leaves))
        return ParseResult(tree, "flat", float("-inf"), (0.0,) * (len(words) + 1), tuple(words))


@dataclass(frozen=True)
class _Job:
    """What is wanted of one sentence, since when, and within which limits."""

    k: int
    decoder: str
    began: float
    limits: Limits
    constraints: Constraints | None

    def allowed(self, chart: ChartParser, n_words: int) -> Allowed | None:
        return None if self.constraints is None else self.constraints.allowed(chart.grammar, n_words)

    def limits_left(self, among: int = 1) -> Limits:
        if self.limits.seconds is None:
            return self.limits
        left = self.limits.seconds - (perf_counter() - self.began)
        return replace(self.limits, seconds=max(1e-9, left / among))

    def of_part(self, part: slice, parts_left: int) -> _Job:
        """Return what is wanted of one part of the sentence."""
        constraints = self.constraints and Constraints(
            *(
                tuple(
                    replace(span, start=span.start - part.start, end=span.end - part.start)
                    for span in spans
                    if part.start <= span.start and span.end <= part.stop
                )
                for spans in (
                    self.constraints.uncrossed,
                    self.constraints.required,
                    self.constraints.forbidden,
                )
            )
        )
        return _Job(1, self.decoder, perf_counter(), self.limits_left(parts_left), constraints)


def _known_decoder(decoder: str) -> str:
    if decoder not in DECODERS:
        raise OptionError(f"decoder is one of {', '.join(DECODERS)}, not {decoder!r}")
    return decoder


def load(path: str | os.PathLike[str] | None = None, **options: Any) -> Parser:
    """Return a parser with the model of a file.

    Parameters
    ----------
    path : path, optional
        A model file; without it, the model that comes with the package.
    **options
        Options of :class:`Parser`.

    Raises
    ------
    gramian.errors.ModelFileError
        If the file is missing, damaged, foreign, or written by a newer version.
    """
    return Parser(load_model(path), **options)
