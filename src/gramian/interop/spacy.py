"""A component for spaCy pipelines: every sentence of a document gets its tree, read through ``_.`` attributes.

The attributes have the names that benepar (Kitaev & Klein 2018) gave them, so that programs written for it go on working.
What is kept in the document are plain lists, so that documents with trees are written, read and sent between processes.
"""

# Annotations are not postponed in this module: older versions of spaCy read those of factories as they stand.

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any

from gramian.errors import InputError, MissingExtraError
from gramian.trees.tree import SPACE, escape_word

try:
    from spacy.language import Language
    from spacy.tokens import Doc, Span, Token
    from spacy.util import minibatch
except ImportError:
    raise MissingExtraError("spaCy", "spacy", "the component for spaCy") from None

if TYPE_CHECKING:
    from gramian.parsing.result import ParseResult

_NOT_IN_WORDS = str.maketrans(dict.fromkeys(f"{SPACE}\0", "_"))
_OPENING = "([{<"


class GramianComponent:
    """Parses the sentences of documents; add it with ``nlp.add_pipe("gramian")``.

    spaCy's tokens are the words of the trees, none cut or joined; tokens of white space are passed over. Tags and
    everything else in the document stay as they are.

    Parameters
    ----------
    name : str
        Of the component in its pipeline.
    model : str, optional
        A model file; without it, the model that comes with gramian.
    decoder : str
        As for :class:`gramian.Parser`.
    n_jobs : int
        Threads, for ``nlp.pipe``.

    Examples
    --------
    >>> import spacy
    >>> from gramian.treebank import Treebank
    >>> from gramian.parsing.model import Model
    >>> from gramian.parsing.model_store import save_model
    >>> from gramian.learn import PCFG
    >>> from gramian.trees import Tree
    >>> trees = [Tree.parse("(S (NP (DT the) (NN dog)) (VP (VBZ barks)))")]
    >>> folder = getfixture("tmp_path")
    >>> save_model(Model(PCFG().fit(Treebank.from_trees(trees)).model_), folder / "dog.grammar")
    >>> nlp = spacy.blank("en")
    >>> _ = nlp.add_pipe("sentencizer")
    >>> _ = nlp.add_pipe("gramian", config={"model": str(folder / "dog.grammar")})
    >>> sentence = next(nlp("the dog barks").sents)
    >>> sentence._.parse_string
    '(S (NP (DT the) (NN dog)) (VP (VBZ barks)))'
    >>> [(part.text, part._.labels) for part in sentence._.children]
    [('the dog', ('NP',)), ('barks', ('VP',))]
    """

    def __init__(
        self, name: str = "gramian", model: str | None = None, decoder: str = "max-recall", n_jobs: int = 1
    ) -> None:
        self.name, self.model, self.decoder, self.n_jobs = name, model, decoder, n_jobs
        from gramian.parsing.parser import load  # here, since spaCy loads this module for every pipeline

        self.parser = load(model, decoder=decoder)
        self._on_error: Callable[..., None] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return GramianComponent, (self.name, self.model, self.decoder, self.n_jobs)

    def __call__(self, doc: Doc) -> Doc:
        """Parse one document, and return it."""
        sentences = _sentences(doc)
        _keep(doc, sentences, self._parse(sentences))
        return doc

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 64) -> Iterator[Doc]:
        """Parse documents as they come, the sentences of `batch_size` documents at a time."""
        for batch in minibatch(stream, batch_size):
            docs = []
            for doc in batch:
                try:
                    docs.append((doc, _sentences(doc)))
                except InputError as error:
                    if self._on_error is None:
                        raise
                    self._on_error(self.name, self, [doc], error)
            results = self._parse(list(chain.from_iterable(sentences for _, sentences in docs)))
            for doc, sentences in docs:
                _keep(doc, sentences, results)
                yield doc

    def set_error_handler(self, handler: Callable[..., None]) -> None:
        """Call `handler` for documents that cannot be parsed, as ``nlp.set_error_handler`` wishes."""
        self._on_error = handler

    def _parse(self, sentences: list[list[Token]]) -> "Iterator[ParseResult]":
        model = self.parser.model
        tokenizer = None if model.text is None else model.text.tokenizer
        as_penn = model.tokens == "penn" if tokenizer is None else tokenizer.quotes
        words = ([_word(token, as_penn) for token in sentence] for sentence in sentences)
        return self.parser.parse_many(words, n_jobs=self.n_jobs)


def create(
    nlp: Language, name: str, model: str | None = None, decoder: str = "max-recall", n_jobs: int = 1
) -> GramianComponent:
    """Return a component for the pipeline `nlp`; spaCy calls this for ``nlp.add_pipe("gramian")``."""
    return GramianComponent(name, model, decoder, n_jobs)


# -- into the document -----------------------------------------------------------------------------------------------


def _sentences(doc: Doc) -> list[list[Token]]:
    """Return the tokens of every sentence that are words."""
    if len(doc) and not doc.has_annotation("SENT_START"):
        hint = 'add them before gramian: nlp.add_pipe("sentencizer", before="gramian")'
        raise InputError("the document has no sentence boundaries", "spaCy", hint=hint)
    return [[token for token in sentence if _is_word(token)] for sentence in doc.sents]


def _is_word(token: Token) -> bool:
    return not token.text.isspace()


def _word(token: Token, as_penn: bool) -> str:
    """Return a token as a treebank writes it: straight double quotes by their side in the Penn Treebank, no spaces."""
    if as_penn and token.text == '"':
        before = token.nbor(-1).text_with_ws[-1:] if token.i else " "
        return "``" if before.isspace() or before in _OPENING else "''"
    return str(token.text.translate(_NOT_IN_WORDS))


def _keep(doc: Doc, sentences: list[list[Token]], results: "Iterator[ParseResult]") -> None:
    """Put trees into a document: of every sentence its nodes from the root down, left to right."""
    kept: dict[str, Any] = {"n_tokens": len(doc), "sentences": []}
    # Results of the documents after this one stay.
    for tokens, result in zip(sentences, results, strict=False):
        if not tokens:
            continue
        positions = [token.i for token in tokens]
        spans = result.spans
        kept["sentences"].append(
            {
                "status": result.status,
                "labels": [label for label, _, _, _ in spans],
                "starts": [positions[start] for _, start, _, _ in spans],
                "ends": [positions[end - 1] + 1 for _, _, end, _ in spans],
                "confidences": [confidence for _, _, _, confidence in spans],
            }
        )
    doc._.gramian = kept


# -- out of the document ---------------------------------------------------------------------------------------------


class _Phrase:
    """The nodes over one span of tokens: ``nodes[first]`` is the uppermost, nodes up to `below` share its span."""

    def __init__(self, span: Span) -> None:
        doc, start, end = span.doc, span.start, span.end
        while start < end and not _is_word(doc[start]):
            start += 1
        while start < end and not _is_word(doc[end - 1]):
            end -= 1
        self.doc, self.start, self.end = doc, start, end
        kept = doc._.gramian
        if kept is None:
            raise InputError(
                "the document has not been parsed", "spaCy", hint='add the parser: nlp.add_pipe("gramian")'
            )
        if kept["n_tokens"] != len(doc):
            hint = "put gramian after the components that change tokens"
            raise InputError("tokens were merged or split after parsing", "spaCy", hint=hint)
        sentences = kept["sentences"]
        index = bisect_right(sentences, start, key=lambda sentence: sentence["starts"][0]) - 1
        self.sentence: dict[str, Any] = (
            sentences[index] if index >= 0 else {"status": "empty", "starts": [], "ends": []}
        )
        self.starts: list[int] = self.sentence["starts"]
        self.ends: list[int] = self.sentence["ends"]
        first = bisect_left(self.starts, start)
        while first < len(self.starts) and self.starts[first] == start and self.ends[first] > end:
            first += 1
        if start < end and not self._is_at(first, start, end):
            hint = "take a sentence of doc.sents, or a span of its _.constituents"
            raise InputError(f"{span.text!r} is not a phrase of its tree", "spaCy", hint=hint)
        self.first = self.below = first
        while start < end and self._is_at(self.below, start, end):
            self.below += 1

    def _is_at(self, node: int, start: int, end: int) -> bool:
        return node < len(self.starts) and self.starts[node] == start and self.ends[node] == end

    @property
    def is_word(self) -> bool:
        """Whether the lowest node of the span is a tag."""
        return self.below == len(self.starts) or self.starts[self.below] >= self.end

    def nodes(self) -> Iterator[int]:
        """Yield the nodes of the subtree, those of the span itself first."""
        for node in range(self.first, len(self.starts)):
            if self.starts[node] >= self.end:
                return
            yield node

    def labels(self) -> tuple[str, ...]:
        return tuple(self.sentence["labels"][self.first : self.below - self.is_word])

    def spans(self) -> Iterator[Span]:
        """Yield the spans of the subtree from the top, each once."""
        last = None
        for node in self.nodes():
            span = self.starts[node], self.ends[node]
            if span != last:
                yield self.doc[slice(*span)]
            last = span

    def children(self) -> Iterator[Span]:
        """Yield the spans right below; none for a word."""
        done = self.start
        for node in self.nodes():
            if node >= self.below and self.starts[node] >= done:
                done = self.ends[node]
                yield self.doc[self.starts[node] : done]

    def parent(self) -> Span | None:
        for node in reversed(range(self.first)):
            if self.ends[node] >= self.end:
                return self.doc[self.starts[node] : self.ends[node]]
        return None

    def brackets(self) -> str:
        """Return the subtree in Penn brackets, with the document's own tokens as leaves."""
        pieces: list[str] = []
        open_ends: list[int] = []
        nodes = list(self.nodes())
        for node in nodes:
            start, end = self.starts[node], self.ends[node]
            pieces.append(f" ({self.sentence['labels'][node]}")
            open_ends.append(end)
            if node == nodes[-1] or self.starts[node + 1] >= end:
                pieces.append(" " + escape_word(self.doc[start].text.translate(_NOT_IN_WORDS)))
                while open_ends and open_ends[-1] == end:
                    open_ends.pop()
                    pieces.append(")")
        return "".join(pieces).lstrip()

    def confidence(self) -> float:
        """Return the probability of the uppermost label; 0 for white space."""
        return self.sentence["confidences"][self.first] if self.below > self.first else 0.0

    def status(self) -> str:
        return self.sentence["status"] if self.start < self.end else "empty"


def _register() -> None:
    """Give documents, spans and tokens their attributes."""
    Doc.set_extension("gramian", default=None, force=True)
    readers: dict[str, Callable[[Span], Any]] = {
        "labels": lambda span: _Phrase(span).labels(),
        "parse_string": lambda span: _Phrase(span).brackets(),
        "parent": lambda span: _Phrase(span).parent(),
        "confidence": lambda span: _Phrase(span).confidence(),
        "parse_status": lambda span: _Phrase(span).status(),
        "constituents": lambda span: _Phrase(span).spans(),
        "children": lambda span: _Phrase(span).children(),
    }
    for name, read in readers.items():
        Span.set_extension(name, getter=read, force=True)
        if name not in ("constituents", "children"):
            Token.set_extension(name, getter=_of_token(read), force=True)


def _of_token(read: Callable[[Span], Any]) -> Callable[[Token], Any]:
    return lambda token: read(token.doc[token.i : token.i + 1])


_register()
Language.factory(
    "gramian",
    default_config={"model": None, "decoder": "max-recall", "n_jobs": 1},
    requires=["doc.sents"],
    assigns=["doc._.gramian", "span._.parse_string", "span._.labels", "span._.constituents"],
    func=create,
)
