"""The parser: text, tokens or tagged tokens in, a :class:`ParseResult` out, whatever comes.

All sentences go through :meth:`Parser.parse_batch`: one alone, a stream, the text of a corpus. It reads them, and hands them to
:mod:`gramian.parsing.pipeline` and, where that finds no tree, to :mod:`gramian.parsing.fallbacks`.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

import numpy as np

from gramian.chart.chart_parser import ChartParser
from gramian.chart.constraints import Constraints
from gramian.chart.decode import DECODERS, DEFAULT_DECODER, NEURAL_RECALL_PENALTY, RECALL_PENALTY, decode
from gramian.chart.derivations import log_probabilities, sample
from gramian.chart.forest import Forest, Pruning
from gramian.chart.readout import Decoded, to_tree
from gramian.errors import GramianError, InputError, OptionError
from gramian.grammar.lexicon import joined
from gramian.grammar.lpcfg import LPCFG
from gramian.io.reading import Source
from gramian.parsing.calibration import Calibration
from gramian.parsing.fallbacks import FallbackParser
from gramian.parsing.limits import Limits
from gramian.parsing.model import Model
from gramian.parsing.model_store import load_model, save_model
from gramian.parsing.pipeline import Pipeline, ReadRequest, word_scores
from gramian.parsing.result import Alternative, ParseResult, Reranker
from gramian.parsing.sentences import ParseRequest, Sentence, read_sentence
from gramian.parsing.words import WordTable
from gramian.text.running_text import sentences_in
from gramian.text.sentence_segmenter import SentenceSegmenter
from gramian.threads import alone, batches_in_order
from gramian.trees import Tree, normalise
from gramian.trees.brackets import trees_of
from gramian.trees.scheme import find_scheme

if TYPE_CHECKING:
    from gramian.evaluate import BracketScores


OnError: TypeAlias = Literal["raise", "return"]

MOST_TREES = 10_000
"""How many trees of a sentence may be asked for."""
FIRST_SENTENCES = 20
"""Sentences that tell whether the model knows the language of a text; see :meth:`Parser.coverage_warning`."""
_MIN_WORDS = 8
_MIN_COVERAGE = 0.5  # text in the language of the model has 0.8 and more


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
    segmenter : SentenceSegmenter, optional
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
        decoder: str = DEFAULT_DECODER,
        recall_penalty: float | None = None,
        combination: str = "product",
        pruning: Pruning = Pruning(),
        rerank: bool = True,
        segmenter: SentenceSegmenter | None = None,
        max_length: int | None = None,
        max_seconds: float | None = 10.0,
        max_memory: int | None = 1 << 30,
        device: str | None = None,
    ) -> None:
        self._options: dict[str, Any] = {
            "decoder": decoder, "recall_penalty": recall_penalty, "combination": combination, "pruning": pruning,
            "rerank": rerank, "segmenter": segmenter, "max_length": max_length, "max_seconds": max_seconds,
            "max_memory": max_memory, "device": device,
        }  # fmt: skip
        self.model = model if isinstance(model, Model) else Model((model,))
        self.limits = Limits(max_length, max_seconds, max_memory)
        self.decoder = _known_decoder(decoder)
        if recall_penalty is None:
            recall_penalty = NEURAL_RECALL_PENALTY if self.model.expert("neural") else RECALL_PENALTY
        if not recall_penalty >= 0:
            raise OptionError(f"recall_penalty must be at least 0, got {recall_penalty}")
        self.recall_penalty = float(recall_penalty)
        self.pruning = pruning
        text = self.model.text
        self.segmenter = segmenter or (SentenceSegmenter() if text is None else text.segmenter)
        experts = [part.beside(self.model.grammar) for part in self.model.experts]
        reranker = self.model.reranker if rerank else None
        choose = None
        if (
            combination == "hierarchical" and reranker is not None
        ):  # it chooses within kinds, coverage across them
            choose, reranker = partial(_first_choice, reranker), None
        kinds = self.model.kinds or None
        chart = ChartParser(self.model.grammars, combination, kinds=kinds, experts=experts, choose=choose)
        table = WordTable(joined([one.lexicon for one in self.model.grammars]))
        if len(self.model.grammars) == 1 and not experts:
            combination = "product"  # what all ways are, if there is but one grammar
        self.calibration = self.model.calibration.get(combination, Calibration())
        self._pipeline = Pipeline(chart, table, self.recall_penalty, self.calibration, reranker)
        self._fallbacks = FallbackParser(self._pipeline, pruning)
        self.device, self._on_device = device, None
        if device is not None:
            from gramian.torch_device import find_device

            # Before anything else of torch is imported, for what is said if that is missing.
            find_device(device)
            from gramian.parsing.device_parsing import on_device

            self._on_device = on_device(self._pipeline, self._fallbacks, experts, pruning, device)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy the model and the options; what a parser computes from them is made anew."""
        return _parser_of, (self.model, self._options)

    def __repr__(self) -> str:
        return f"<Parser: {self.model!r}>"

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
        if isinstance(sentence, str) and len(self.segmenter.segment(sentence)) > 1:
            warnings.warn(
                "the text holds several sentences, which are parsed as one; parse_text parses each of them",
                UserWarning,
                stacklevel=2,
            )
        request = sentence if isinstance(sentence, ParseRequest) else ParseRequest(sentence)
        if constraints is not None:
            request = replace(request, constraints=constraints)
        [result] = self.parse_batch([request], k=k, decoder=decoder)
        return result

    @overload
    def parse_batch(
        self,
        requests: Iterable[Sentence],
        *,
        k: int = ...,
        decoder: str | None = ...,
        on_error: Literal["raise"] = ...,
    ) -> list[ParseResult]: ...

    @overload
    def parse_batch(
        self, requests: Iterable[Sentence], *, k: int = ..., decoder: str | None = ..., on_error: OnError
    ) -> list[ParseResult | GramianError]: ...

    def parse_batch(
        self,
        requests: Iterable[Sentence],
        *,
        k: int = 1,
        decoder: str | None = None,
        on_error: OnError = "raise",
    ) -> Any:
        """Parse some sentences together, on the CPU: every other way to parse comes down to this.

        Parameters
        ----------
        requests : iterable of Sentence
            What :meth:`parse` takes, or a :class:`gramian.parsing.sentences.ParseRequest` for one that has constraints, a decoder or a
            number of trees of its own.
        k, decoder
            As for :meth:`parse`, for requests that do not say it.
        on_error : {"raise", "return"}
            Whether the error of a sentence that cannot be read is raised, or stands in the place of its result.

        Returns
        -------
        list of ParseResult
            In the order of `requests`; with ``"return"`` errors among them.
        """
        raises = _checked(on_error) == "raise"
        read = [self._read(request, k, decoder) for request in requests]
        wrong = next((one for one in read if isinstance(one, GramianError)), None)
        if wrong is not None and raises:
            raise wrong
        results = iter(self._fallbacks.parse([one for one in read if isinstance(one, ReadRequest)]))
        return [one if isinstance(one, GramianError) else next(results) for one in read]

    @overload
    def parse_many(
        self, sentences: Iterable[Sentence], *, n_jobs: int = ..., k: int = ..., decoder: str | None = ..., ahead: bool = ...,
        on_error: Literal["raise"] = ...,
    ) -> Iterator[ParseResult]: ...  # fmt: skip

    @overload
    def parse_many(
        self, sentences: Iterable[Sentence], *, n_jobs: int = ..., k: int = ..., decoder: str | None = ..., ahead: bool = ...,
        on_error: OnError,
    ) -> Iterator[ParseResult | GramianError]: ...  # fmt: skip

    def parse_many(
        self, sentences: Iterable[Sentence], *, n_jobs: int = 1, k: int = 1, decoder: str | None = None, ahead: bool = False,
        on_error: OnError = "raise",
    ) -> Iterator[Any]:  # fmt: skip
        """Parse sentences as they come; results come in the same order.

        Some dozens of sentences for each thread are held at a time, or some thousands if there is a device.

        Parameters
        ----------
        sentences : iterable of Sentence
            As for :meth:`parse_batch`.
        n_jobs : int
            Threads.
        k, decoder
            As for :meth:`parse`.
        ahead : bool
            Whether one thread, too, may read some dozens of sentences before it gives the first result, which is quicker; of a list it
            always does. Trees are the same.
        on_error : {"raise", "return"}
            As for :meth:`parse_batch`; an error is raised behind the results of the sentences before it.
        """
        if isinstance(sentences, str):
            raise OptionError("sentences must be several, got one text; try: parse, or a list with one text")
        if self._on_device is not None:
            results = self._on_device.parse(sentences, partial(self._read, k=k, decoder=decoder))
        else:
            parse = partial(self.parse_batch, k=k, decoder=decoder, on_error="return")
            results = batches_in_order(parse, sentences, n_jobs, ahead=ahead)
            results = alone(results) if self.model.expert("neural") else results
        return _raised(results) if _checked(on_error) == "raise" else results

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
        found = sentences_in([text], self.segmenter)
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
        request = self._read(sentence, 1, None)
        if isinstance(request, GramianError):
            raise request
        if constraints is not None:
            request = request._replace(constraints=constraints)
        batch = word_scores(self._pipeline.table, self.model.grammar, [request])
        fits = self._fallbacks.fits(request)
        [forest] = self._pipeline.chart.forests(batch.inputs, self.pruning) if fits else [None]
        if forest is None or decode(forest, request.decoder) is None:
            result = self._fallbacks.fallback(request)
            return [Alternative(result.tree, result.log_prob_words)] * size
        drawn = sample(forest, size, random_state)
        trees = [to_tree(forest, one, request.tokens) for one in drawn]
        return list(map(Alternative, trees, log_probabilities(forest, drawn, batch.log_words[0])))

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
        plain = sentence.sentence if isinstance(sentence, ParseRequest) else sentence
        return read_sentence(plain, self.model.tokenize).tokens

    def vocabulary_coverage(self, words: Collection[str]) -> float:
        """Return which share of some words the grammar has seen, as they are or in small letters; 1 if there are none."""
        known = self._pipeline.table.knows
        return sum(known(word) or known(word.lower()) for word in words) / len(words) if words else 1.0

    def coverage_warning(self, words: Iterable[str]) -> str | None:
        """Return a warning if the grammar has seen few of the words that a text begins with; None if it has, or if they are too few."""
        different = {word for word in words if word.isalpha()}
        known = self.vocabulary_coverage(different)
        if len(different) < _MIN_WORDS or known >= _MIN_COVERAGE:
            return None
        language = f" ({self.model.language})" if self.model.language else ""
        return f"the model knows only {known:.0%} of the first words; check that the text is in its language{language}"

    def save(self, path: str | os.PathLike[str], *, half: bool = True) -> None:
        """Write the model to a file that :func:`gramian.load` reads.

        Parameters
        ----------
        path : path
        half : bool
            Whether real numbers are rounded to 16 bits, as ``gramian train`` does unless ``compress`` is false.
        """
        save_model(self.model, path, half=half)

    def forest(self, sentence: Sentence, pruning: Pruning | None = None) -> Forest | None:
        """Return the forest of a sentence under the usual pruning, or another one; None if there is no tree."""
        request = self._read(sentence, 1, None)
        if isinstance(request, GramianError):
            raise request
        batch = word_scores(self._pipeline.table, self.model.grammar, [request])
        [forest] = self._pipeline.chart.forests(batch.inputs, pruning or self.pruning)
        return forest

    def _read(self, sentence: Sentence, k: int, decoder: str | None) -> ReadRequest | GramianError:
        """Read a sentence and check what is wanted of it; the error of a sentence is returned, that of `k` or `decoder` raised."""
        request = sentence if isinstance(sentence, ParseRequest) else ParseRequest(sentence)
        k = k if request.k is None else request.k
        if not 1 <= k <= MOST_TREES:
            bound = f"at least 1, got {k}" if k < 1 else f"at most {MOST_TREES}, got {k}"
            raise OptionError(f"k must be {bound}")
        decoder = request.decoder or decoder
        decoder = self.decoder if decoder is None else _known_decoder(decoder)
        if k > 1 and decoder == "viterbi":
            raise OptionError("decoder 'viterbi' has no list of best trees; try: max-rule-product")
        try:
            sentence_read = read_sentence(request.sentence, self.model.tokenize)
            read = ReadRequest(sentence_read, self.limits, decoder, k, request.constraints)
            self._fallbacks.check(read)
        except (InputError, OptionError) as error:
            return error
        return read


def _parser_of(model: Model, options: dict[str, Any]) -> Parser:
    return Parser(model, **options)


def _checked(on_error: str) -> str:
    if on_error not in ("raise", "return"):
        raise OptionError(f"on_error must be raise or return, got {on_error!r}")
    return on_error


def _raised(results: Iterable[ParseResult | GramianError]) -> Iterator[ParseResult]:
    """Yield results up to the first error, and raise that."""
    for result in results:
        if isinstance(result, GramianError):
            raise result
        yield result


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
