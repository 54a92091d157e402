"""The parser: text, tokens or tagged tokens in, a :class:`ParseResult` out, whatever comes.

Text is cut into tokens, these get scores from the lexicon, scores become a forest, and from the forest a tree is read; where that fails,
:mod:`gramian.parsing.fallbacks` has another way.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from gramian.chart.backend import ChartInput
from gramian.chart.chart_parser import ChartParser
from gramian.chart.combine import EXPERT_WEIGHT, WeightedExpert
from gramian.chart.constraints import Constraints
from gramian.chart.decode import DECODERS, NEURAL_RECALL_PENALTY, RECALL_PENALTY
from gramian.chart.derivations import log_probabilities, sample
from gramian.chart.forest import Forest, Pruning
from gramian.chart.readout import Decoded, to_tree
from gramian.errors import OptionError
from gramian.grammar.lexicon import joined
from gramian.grammar.lpcfg import LPCFG
from gramian.io.files import Source
from gramian.parsing.calibration import Calibration
from gramian.parsing.fallbacks import Attempts, Request
from gramian.parsing.limits import Deadline, Limits
from gramian.parsing.model import Model
from gramian.parsing.model_store import load_model, save_model
from gramian.parsing.plain_batches import Asked, PlainBatches
from gramian.parsing.result import Alternative, ParseResult, Reranker
from gramian.parsing.sentences import Constrained, ReadSentence, Sentence, read_sentence
from gramian.parsing.words import WordTable
from gramian.text.running_text import sentences_in
from gramian.text.sentence_segmenter import SentenceSegmenter
from gramian.threads import alone, batches_in_order
from gramian.trees import Tree, normalise
from gramian.trees.brackets import trees_of
from gramian.trees.scheme import find_scheme

if TYPE_CHECKING:
    from gramian.evaluate import BracketScores


MOST_TREES = 10_000
"""How many trees of a sentence may be asked for."""


class Parser:
    """Parses sentences with one model; safe to share between threads.

    Parameters
    ----------
    model : Model or LPCFG
    decoder : str
        What makes a tree the best: one of :data:`gramian.chart.decode.DECODERS`.
    recall_penalty : float, optional
        What a bracket costs under the decoder ``max-recall``; with 0 every bracket that has any probability is worth having. By default
        0.5, and 0.4 for a model that has a neural expert.
    combination : str
        How the grammars of a model that holds several are combined: one of
        :data:`gramian.chart.combine.COMBINATIONS`.
    pruning : Pruning
        What the chart leaves out.
    rerank : bool
        Whether the model's reranker, if it has one, chooses among the best trees; it does so with the default decoder only.
    splitter : SentenceSegmenter, optional
        Finds the sentences of running text, for :meth:`parse_text`; by default the model's own, or else by rules.
    max_length : int or None
        Longer sentences are cut, at punctuation where there is some, and parsed in parts.
    max_seconds : float or None
        A sentence that is expected to take longer is parsed under a narrower beam, or in parts. What counts is the cost foretold, so
        that trees do not depend on how busy the machine is; only when twenty times as long has passed,
        and a minute, no further attempt is begun.
    max_memory : int or None
        A sentence whose chart is expected to need more bytes is parsed in parts.
    device : str, optional
        Where :meth:`parse_many` and :meth:`parse_text` fill charts: a device of torch, such as ``"cuda"``. By default sentences are parsed
        one by one on the CPU, without torch, as :meth:`parse` always does.

    Examples
    --------
    >>> from gramian.treebank import Treebank
    >>> from gramian.learn import PCFG
    >>> from gramian.trees import Tree
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
        recall_penalty: float | None = None,
        combination: str = "product",
        pruning: Pruning = Pruning(),
        rerank: bool = True,
        splitter: SentenceSegmenter | None = None,
        max_length: int | None = None,
        max_seconds: float | None = 10.0,
        max_memory: int | None = 1 << 30,
        device: str | None = None,
    ) -> None:
        self.model = model if isinstance(model, Model) else Model(model)
        self.limits = Limits(max_length, max_seconds, max_memory)
        self.decoder = _known_decoder(decoder)
        if recall_penalty is None:
            recall_penalty = RECALL_PENALTY if self.model.neural is None else NEURAL_RECALL_PENALTY
        if not recall_penalty >= 0:
            raise OptionError(f"recall_penalty must be at least 0, got {recall_penalty}")
        self.recall_penalty = float(recall_penalty)
        self.pruning = pruning
        text = self.model.text
        self.splitter = splitter or (SentenceSegmenter() if text is None else text.splitter)
        experts: list[WeightedExpert] = []
        if self.model.expert is not None:
            from gramian.experts import Expert

            weight = EXPERT_WEIGHT if self.model.expert_weight is None else self.model.expert_weight
            experts.append(WeightedExpert(Expert(self.model.expert, self.model.grammar), weight))
        if self.model.neural is not None:
            from gramian.experts.label_expert import NEURAL_WEIGHT, LabelExpert

            weight = NEURAL_WEIGHT if self.model.neural_weight is None else self.model.neural_weight
            experts.append(WeightedExpert(LabelExpert(self.model.neural, self.model.grammar), weight))
        reranker = self.model.reranker if rerank else None
        choose = None
        if (
            combination == "hierarchical" and reranker is not None
        ):  # it chooses within kinds, coverage across them
            choose, reranker = partial(_first_choice, reranker), None
        kinds = self.model.kinds or None
        chart = ChartParser(self.model.grammars, combination, kinds=kinds, experts=experts, choose=choose)
        table = WordTable(joined([one.lexicon for one in self.model.grammars]))
        self._attempts = Attempts(chart, table, pruning, reranker)
        if not (self.model.others or experts):
            combination = "product"  # what all ways are, if there is but one grammar
        self.calibration = self.model.calibration.get(combination, Calibration())
        self._plain = PlainBatches(self._attempts, self.calibration)
        self.device, self._on_device = device, None
        if device is not None:
            from gramian.torch_device import find_device

            find_device(
                device
            )  # before anything else of torch is imported, for what is said if that is missing
            from gramian.parsing.device_parsing import on_device

            self._on_device = on_device(self, chart, experts, self._attempts, reranker, device)

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
        [result] = self._plain.parse([self._request(sentence, constraints, k, decoder)])
        return result

    def parse_many(
        self,
        sentences: Iterable[Sentence],
        *,
        n_jobs: int = 1,
        k: int = 1,
        decoder: str | None = None,
        ahead: bool = False,
    ) -> Iterator[ParseResult]:
        """Parse sentences as they come; results come in the same order.

        Some dozens of sentences for each thread are held at a time, or some thousands if there is a device.

        Parameters
        ----------
        sentences : iterable
            Of what :meth:`parse` takes.
        n_jobs : int
            Threads.
        k, decoder
            As for :meth:`parse`.
        ahead : bool
            Whether one thread, too, may read some dozens of sentences before it gives the first result, which is quicker; of a list it
            always does. Trees are the same.
        """
        if isinstance(sentences, str):
            raise OptionError("sentences must be several, got one text; try: parse, or a list with one text")
        if self._on_device is not None:
            return self._on_device.parse(
                sentences, self.model.cut, partial(self._asked, k=k, decoder=decoder)
            )
        parse = partial(self._parse_batch, k=k, decoder=decoder)
        results = batches_in_order(parse, sentences, n_jobs, ahead=ahead)
        return results if self.model.neural is None else alone(results)

    def _parse_batch(
        self, sentences: Sequence[Sentence], k: int, decoder: str | None
    ) -> Iterator[ParseResult]:
        """Parse some sentences; an error of one is raised behind the results of those before it."""
        asked: list[Asked] = []
        wrong: Exception | None = None
        for sentence in sentences:
            try:
                asked.append(self._request(sentence, None, k, decoder))
            except Exception as error:
                wrong = error
                break
        yield from self._plain.parse(asked)
        if wrong is not None:
            raise wrong

    def parse_text(
        self, text: str, *, n_jobs: int = 1, k: int = 1, decoder: str | None = None
    ) -> list[ParseResult]:
        """Parse running text: one result for each of its sentences, with the places of words in the whole text.

        Parameters
        ----------
        text : str
            Of any length, with several sentences a line or lines that are wrapped; an empty line ends a sentence.
        n_jobs, k, decoder
            As for :meth:`parse_many`.

        Examples
        --------
        >>> from gramian.treebank import Treebank
        >>> from gramian.learn import PCFG
        >>> trees = [Tree.parse("(S (NP (PRP I)) (VP (VBD came)) (. .))"), Tree.parse("(S (NP (PRP I)) (VP (VBD saw)) (. .))")]
        >>> parser = Parser(PCFG().fit(Treebank.from_trees(trees)).model_)
        >>> for result in parser.parse_text("I came. I saw."):
        ...     print(result.tree, result.offsets[1])
        (S (NP (PRP I)) (VP (VBD came)) (. .)) (2, 6)
        (S (NP (PRP I)) (VP (VBD saw)) (. .)) (10, 13)
        """
        found = sentences_in([text], self.splitter)
        return list(self.parse_many(found, n_jobs=n_jobs, k=k, decoder=decoder))

    def sample(
        self,
        sentence: Sentence,
        size: int = 1,
        *,
        random_state: int | np.random.Generator,
        constraints: Constraints | None = None,
    ) -> list[Alternative]:
        """Draw trees of a sentence by their probability given its words.

        What pruning leaves out is never drawn; of a sentence that is not fully parsed, its one fallback tree comes every
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
        request, _ = self._request(sentence, constraints)
        result, forest = self._attempts.parse(request)
        if result.status != "parsed" or forest is None:
            return [Alternative(result.tree, result.log_prob)] * size
        drawn = sample(forest, size, random_state)
        log_words = result.log_prob - forest.log_ratio
        trees = [to_tree(forest, one, request.tokens) for one in drawn]
        return list(map(Alternative, trees, log_probabilities(forest, drawn, log_words)))

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
        >>> from gramian.treebank import Treebank
        >>> from gramian.learn import PCFG
        >>> trees = [Tree.parse("(S (NP (DT the) (NN dog)) (VP (VBZ barks)))")]
        >>> Parser(PCFG().fit(Treebank.from_trees(trees)).model_).evaluate(trees).f1
        100.0
        """
        from gramian.evaluate import GoldBrackets

        scheme, read = find_scheme(trees_of(trees), self.model.preset or "auto")
        normal = (normalise(tree, scheme.options).tree for tree in read)
        gold = [tree for tree in normal if not tree.is_empty]
        results = self.parse_many([list(tree.words) for tree in gold], n_jobs=n_jobs)
        return GoldBrackets(gold).score([result.tree for result in results])

    def words(self, sentence: Sentence) -> list[str]:
        """Return the words of a sentence as they will be parsed.

        Parameters
        ----------
        sentence : str or sequence
            As for :meth:`parse`.
        """
        plain = sentence.sentence if isinstance(sentence, Constrained) else sentence
        return read_sentence(plain, self.model.cut).tokens

    def vocabulary_coverage(self, words: Collection[str]) -> float:
        """Return which share of some words the grammar has seen, as they are or in small letters; 1 if there are none."""
        known = self._attempts.table.knows
        return sum(known(word) or known(word.lower()) for word in words) / len(words) if words else 1.0

    def save(self, path: str | os.PathLike[str], *, half: bool = True) -> None:
        """Write the model to a file that :func:`gramian.load` reads.

        Parameters
        ----------
        path : path
        half : bool
            Whether real numbers are rounded to 16 bits, as ``gramian train`` does unless ``compress`` is false.
        """
        save_model(self.model, path, half=half)

    def forest(self, words: Sequence[str]) -> Forest | None:
        """Return the forest of a sentence under the usual pruning, or None if there is no tree."""
        scores = [word.scores for word in self._attempts.table.read(words)]
        [forest] = self._attempts.chart.forests([ChartInput(scores, None, words)], self.pruning)
        return forest

    def _request(
        self,
        sentence: Sentence,
        constraints: Constraints | None,
        k: int = 1,
        decoder: str | None = None,
    ) -> Asked:
        if isinstance(sentence, Constrained):
            constraints = sentence.constraints
            sentence = sentence.sentence
        read = read_sentence(sentence, self.model.cut)
        return Asked(self._asked(read, constraints, k, decoder), read)

    def _asked(
        self, read: ReadSentence, constraints: Constraints | None, k: int, decoder: str | None
    ) -> Request:
        if not 1 <= k <= MOST_TREES:
            bound = f"at least 1, got {k}" if k < 1 else f"at most {MOST_TREES}, got {k}"
            raise OptionError(f"k must be {bound}")
        decoder = self.decoder if decoder is None else _known_decoder(decoder)
        deadline = Deadline.of(self.limits)
        what = read.tokens, read.given, self.limits, deadline, decoder, k, constraints
        return Request(*what, self.recall_penalty)


def _first_choice(reranker: Reranker, forest: Forest, words: Sequence[str]) -> Decoded | None:
    return next(iter(reranker.ranked(forest, words, 1)), None)


def _known_decoder(decoder: str) -> str:
    if decoder not in DECODERS:
        raise OptionError(f"decoder must be one of {', '.join(DECODERS)}, got {decoder!r}")
    return decoder


def load(path: str | os.PathLike[str] | None = None, **options: Any) -> Parser:
    """Return a parser with the model of a file.

    Parameters
    ----------
    path : path, optional
        A model file, or a language of which a model is installed (``"fr"``; see ``gramian models``); without it, the English model
        that comes with the package.
    **options
        Options of :class:`Parser`.

    Raises
    ------
    gramian.errors.ModelFileError
        If the file is missing, damaged, foreign, or written by a newer version.
    """
    return Parser(load_model(path), **options)
