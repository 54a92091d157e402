"""The parser: text, tokens or tagged tokens in, a :class:`ParseResult` out, whatever comes.

All sentences go through :meth:`Parser.parse_batch`: a single one, a stream, the text of a corpus. It reads them, and passes them to
:mod:`gramian.parsing.pipeline` and, where that finds no tree, to :mod:`gramian.parsing.fallbacks`.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import KW_ONLY, InitVar, dataclass, fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

import numpy as np

from gramian.chart.chart_parser import ChartParser
from gramian.chart.combine import COMBINATIONS
from gramian.chart.constraints import Constraints
from gramian.chart.decode import DECODERS, DEFAULT_DECODER, NEURAL_RECALL_PENALTY, RECALL_PENALTY, decode
from gramian.chart.derivations import log_probabilities, sample
from gramian.chart.forest import Forest, Pruning
from gramian.chart.tree_arrays import to_tree
from gramian.errors import GramianError, InputError, OptionError
from gramian.grammar.lexicon import joined
from gramian.grammar.lpcfg import LPCFG
from gramian.io.reading import Source
from gramian.parsing.calibration import Calibration
from gramian.parsing.fallbacks import FallbackParser
from gramian.parsing.limits import Limits
from gramian.parsing.model import Model
from gramian.parsing.model_store import load_model, save_model
from gramian.parsing.pipeline import Pipeline, ReadRequest
from gramian.parsing.result import Alternative, ParseResult
from gramian.parsing.sentences import ParseRequest, ReadSentence, Sentence, read_sentence
from gramian.parsing.words import WordTable
from gramian.settings import declared_settings, find_setting
from gramian.text.case import CaseRestorer
from gramian.text.language import UNDETERMINED, LanguageCheck
from gramian.text.sentence_segmenter import SentenceSegmenter
from gramian.text.text_processor import sentences_in
from gramian.threads import alone, batches_in_order
from gramian.trees import Tree, normalise
from gramian.trees.brackets import trees_of
from gramian.trees.scheme import find_scheme
from gramian.value_types import (
    Boolean,
    InstanceOf,
    Number,
    OneOf,
    Text,
    Whole,
    check_options,
    check_value,
    option,
    option_fields,
    or_none,
    with_constraints,
)

if TYPE_CHECKING:
    from gramian.evaluate import BracketScores


OnError: TypeAlias = Literal["raise", "return"]

_K, _DECODER, _ON_ERROR = Whole(1, 10_000), OneOf(*DECODERS), OneOf("raise", "return")


@with_constraints
@dataclass(eq=False, repr=False)
class Parser:
    """Parses sentences with one model, or with a grammar alone; safe to share between threads.

    Examples
    --------
    >>> import gramian
    >>> parser = Parser(gramian.load().model, decoder="max-rule-product")
    >>> result = parser.parse("It works.")
    >>> print(result.tree, result.status)
    (S (NP (PRP It)) (VP (VBZ works)) (. .)) parsed
    """

    model_or_grammar: InitVar[Model | LPCFG]
    _: KW_ONLY
    decoder: str = option(_DECODER, default=DEFAULT_DECODER)
    """Which tree is the best: one of :data:`gramian.chart.decode.DECODERS`."""
    recall_penalty: float | None = option(or_none(Number(0)), default=None)
    """What a bracket costs under the decoder ``max-recall``; with 0, every bracket with any probability is worth having. By default 0.5,
    and 0.4 for a model with a neural expert."""
    combination: str = option(OneOf(*COMBINATIONS), default="product")
    """How the grammars of a model with several are combined: one of :data:`gramian.chart.combine.COMBINATIONS`."""
    pruning: Pruning = option(InstanceOf(Pruning), default=Pruning())  # noqa: RUF009
    """What the chart leaves out."""
    rerank: bool = option(Boolean(), default=True)
    """Whether the model's reranker, if it has one, chooses among the best trees; it does so with the default decoder only."""
    restore_case: bool = option(Boolean(), default=True)
    """Whether lines in title case or in capitals are parsed with their words spelt as usual; see :mod:`gramian.text.case`."""
    segmenter: SentenceSegmenter = option(or_none(InstanceOf(SentenceSegmenter)), default=None)  # noqa: RUF009
    """Finds the sentences of running text, for :meth:`parse_text`; by default the model's own, or else by rules."""
    max_length: int | None = option(or_none(Whole(1)), default=None)
    """Longer sentences are cut, at punctuation where there is some, and parsed in parts."""
    max_seconds: float | None = option(or_none(Number(above=0)), default=10.0)
    """A sentence that is expected to take longer is parsed with a narrower beam, or in parts. The cost is estimated, so that trees do not
    depend on how busy the machine is; only after twenty times as long, and a minute, no further attempt begins."""
    max_memory: int | None = option(or_none(Whole(1)), default=1 << 30)
    """A sentence whose chart is expected to need more bytes is parsed in parts."""
    device: str | None = option(or_none(Text()), default=None)
    """Where :meth:`parse_many` and :meth:`parse_text` fill charts: a device of torch, such as ``"cuda"``. By default sentences are parsed
    on the CPU, without torch, as :meth:`parse` always does."""

    def __post_init__(self, model_or_grammar: Model | LPCFG) -> None:
        check_options(self)
        self.model = model = (
            model_or_grammar if isinstance(model_or_grammar, Model) else Model((model_or_grammar,))
        )
        self.limits = Limits(self.max_length, self.max_seconds, self.max_memory)
        if self.recall_penalty is None:
            self.recall_penalty = NEURAL_RECALL_PENALTY if model.expert("neural") else RECALL_PENALTY
        self.segmenter = self.segmenter or (
            SentenceSegmenter() if model.text is None else model.text.segmenter
        )
        experts = [part.beside(model.grammar) for part in model.experts]
        reranker = model.reranker if self.rerank else None
        # A hierarchical combination reranks within kinds, and chooses by coverage across them.
        is_hierarchical = self.combination == "hierarchical"
        chart = ChartParser(
            model.grammars,
            self.combination,
            kinds=model.kinds or None,
            experts=experts,
            reranker=reranker if is_hierarchical else None,
            closer=model.cells,
        )
        lexicon = joined([grammar.lexicon for grammar in model.grammars])
        self._restorer = CaseRestorer(lexicon.words, lexicon.word_count) if self.restore_case else None
        self._foreign_language = LanguageCheck(model.language, self.knows)
        self._has_warned = False
        is_single = len(model.grammars) == 1 and not experts  # then all combinations are the same
        self.calibration = model.calibration.get("product" if is_single else self.combination, Calibration())
        reranker = None if is_hierarchical else reranker
        self._pipeline = Pipeline(
            chart, WordTable(lexicon), float(self.recall_penalty), self.calibration, reranker
        )
        self._fallbacks = FallbackParser(self._pipeline, self.pruning)
        self._on_device = None
        if self.device is not None:
            from gramian.torch_device import find_device

            find_device(self.device)  # before the next line imports torch, whose error would say less
            from gramian.parsing.device_parsing import DeviceParsing

            self._on_device = DeviceParsing(
                self._pipeline, self._fallbacks, experts, self.pruning, self.device
            )

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy the model and the options, from which a parser is built again."""
        return partial(type(self), **option_fields(self)), (self.model,)

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
            Text, which is tokenized; or tokens, which are taken as they are; or (token, tag) pairs, or
            (token, {tag: probability}) pairs, whose tags are the only ones tried as long as they lead to a tree. Tags that the grammar
            does not have are ignored. Tokens with and without tags may be mixed.
        k : int
            How many of the best trees to return.
        decoder : str, optional
            Another one than the parser's own.
        constraints : gramian.chart.constraints.Constraints, optional
            Phrases that must or must not be there. If no tree meets them, the tree is flat; of a sentence that is parsed in parts, those
            that lie within a part apply.
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
        [result] = self._checked(self.parse_batch([request], k=k, decoder=decoder))
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
        """Parse some sentences together, on the CPU; every other method calls this one.

        Parameters
        ----------
        requests : iterable of Sentence
            What :meth:`parse` takes, or a :class:`gramian.parsing.sentences.ParseRequest` with constraints, a decoder or a number of
            trees of its own.
        k, decoder
            As for :meth:`parse`, for requests without their own.
        on_error : {"raise", "return"}
            Whether the error of a sentence that cannot be read is raised or returned instead of its result.

        Returns
        -------
        list of ParseResult
            In the order of `requests`; with ``"return"`` errors among them.
        """
        check_value("on_error", on_error, _ON_ERROR)
        items = [self._read(request, k, decoder) for request in requests]
        error = next((item for item in items if isinstance(item, GramianError)), None)
        if error is not None and on_error == "raise":
            raise error
        results = iter(self._fallbacks.parse([item for item in items if isinstance(item, ReadRequest)]))
        return [item if isinstance(item, GramianError) else next(results) for item in items]

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

        Some dozens of sentences for each thread are in memory at a time, or some thousands with a device.

        Parameters
        ----------
        sentences : iterable of Sentence
            As for :meth:`parse_batch`.
        n_jobs : int
            Threads.
        k, decoder
            As for :meth:`parse`.
        ahead : bool
            Whether a single thread, too, may read some dozens of sentences before the first result, which is faster; it always does so
            with a list. Trees are the same.
        on_error : {"raise", "return"}
            As for :meth:`parse_batch`; an error is raised after the results of the sentences before it.
        """
        check_value("on_error", on_error, _ON_ERROR)
        if isinstance(sentences, str):
            raise OptionError("sentences must be a list, got a string; try: parse, or a list with one string")
        if self._on_device is not None:
            results = self._on_device.parse(sentences, partial(self._read, k=k, decoder=decoder))
        else:
            parse = partial(self.parse_batch, k=k, decoder=decoder, on_error="return")
            results = batches_in_order(parse, sentences, n_jobs, ahead=ahead)
            results = alone(results) if self.model.expert("neural") else results
        return self._checked(results) if on_error == "raise" else results

    def parse_text(
        self, text: str, *, n_jobs: int = 1, k: int = 1, decoder: str | None = None
    ) -> list[ParseResult]:
        """Parse running text: one result for each of its sentences, with the offsets of words in the whole text.

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
        if not isinstance(text, str):
            raise OptionError(
                f"text must be a string, got {type(text).__name__}; try: parse_many for several sentences"
            )
        sentences = sentences_in([text], self.segmenter)
        return list(self.parse_many(sentences, n_jobs=n_jobs, k=k, decoder=decoder))

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
        """
        request = self._readable(sentence)
        if constraints is not None:
            request = request._replace(constraints=constraints)
        sentence_input = self._pipeline.chart_input(request)
        fits = self._fallbacks.fits(request)
        [forest] = self._pipeline.chart.forests([sentence_input], self.pruning) if fits else [None]
        if forest is None or decode(forest, request.decoder) is None:
            result = self._fallbacks.fallback(request)
            return [Alternative(result.tree, result.log_prob_words)] * size
        drawn = sample(forest, size, random_state)
        words = request.read.original or request.tokens
        trees = [to_tree(forest, derivation, words) for derivation in drawn]
        return list(map(Alternative, trees, log_probabilities(forest, drawn, sentence_input.log_words)))

    def evaluate(self, trees: Source | Iterable[Tree], *, n_jobs: int = 1) -> BracketScores:
        """Parse the words of gold trees, and return how well the results match these.

        Parameters
        ----------
        trees : path, stream or iterable of Tree
            They are brought into the form that the model's treebank had for training.
        n_jobs : int
            Threads.

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

    def knows(self, word: str) -> bool:
        """Return whether the grammar has seen a word, as it is, in small letters or with a capital letter."""
        return any(map(self._pipeline.table.knows, (word, word.lower(), word.capitalize())))

    def save(self, path: str | os.PathLike[str], *, half: bool = True) -> None:
        """Write the model to a file that :func:`gramian.load` reads.

        Parameters
        ----------
        half : bool
            Whether real numbers are rounded to 16 bits, as ``gramian train`` does unless ``compress`` is false.
        """
        save_model(self.model, path, half=half)

    def forest(self, sentence: Sentence, pruning: Pruning | None = None) -> Forest | None:
        """Return the forest of a sentence under the usual pruning, or another one; None if there is no tree."""
        request = self._readable(sentence)
        [forest] = self._pipeline.chart.forests(
            [self._pipeline.chart_input(request)], pruning or self.pruning
        )
        return forest

    def _prepared(self, read: ReadSentence) -> ReadSentence:
        """Return a sentence with its case restored, or with the language that it seems to be in."""
        language = self._foreign_language(read.tokens, read.chunks)
        if language is not None:
            return read._replace(language=language)
        tokens = None if self._restorer is None else self._restorer.restore(read.tokens)
        return read if tokens is None else read._replace(tokens=tokens, original=read.tokens)

    def _checked(self, results: Iterable[ParseResult | GramianError]) -> Iterator[ParseResult]:
        """Yield results up to the first error, and raise that; warn of foreign text, once."""
        for result in results:
            if isinstance(result, GramianError):
                raise result
            if result.is_foreign and not self._has_warned:
                self._has_warned = True
                warnings.warn(self._foreign_text(result), UserWarning, stacklevel=3)
            yield result

    def _foreign_text(self, result: ParseResult) -> str:
        words = " ".join(result.words)
        guess = "" if result.language == UNDETERMINED else f" ({result.language})"
        expected = f" ({self.model.language})" if self.model.language else ""
        return (
            f"{words if len(words) <= 40 else words[:37] + '...'!r} seems to be in another language{guess} than the model's{expected}; "
            "'gramian models' lists other models"
        )

    def _readable(self, sentence: Sentence) -> ReadRequest:
        """Read a sentence; if it cannot be read, that is raised."""
        request = self._read(sentence, 1, None)
        if isinstance(request, GramianError):
            raise request
        return request

    def _read(self, sentence: Sentence, k: int, decoder: str | None) -> ReadRequest | GramianError:
        """Read and check a request; an error of the sentence is returned, one of `k` or `decoder` raised."""
        request = sentence if isinstance(sentence, ParseRequest) else ParseRequest(sentence)
        k = k if request.k is None else request.k
        check_value("k", k, _K)
        decoder = request.decoder or decoder or self.decoder
        check_value("decoder", decoder, _DECODER)
        if k > 1 and decoder == "viterbi":
            raise OptionError("decoder 'viterbi' has no list of best trees; try: max-rule-product")
        try:
            read = ReadRequest(
                self._prepared(read_sentence(request.sentence, self.model.tokenize)),
                self.limits,
                decoder,
                k,
                request.constraints,
            )
            self._fallbacks.check(read)
        except (InputError, OptionError) as error:
            return error
        return read


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

    Examples
    --------
    >>> import gramian
    >>> print(gramian.load().parse("It works.").tree)
    (S (NP (PRP It)) (VP (VBZ works)) (. .))
    """
    if unknown := options.keys() - {field.name for field in fields(Parser)}:
        find_setting(min(unknown), declared_settings(Parser), "parse")
    return Parser(load_model(path), **options)
