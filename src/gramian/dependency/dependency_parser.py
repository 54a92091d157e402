"""A trained dependency parser: tagged words in, trees with relations and confidences out.

Each sentence is decoded by inside-outside and minimum Bayes risk (or Viterbi). Every sentence gets a tree: if the marginals of the
grammar are not a distribution, as happens with spectral automata, the parser backs off to a smoothed DET+F grammar; a sentence of more
than `max_length` words is parsed in pieces. `status` reports both.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from gramian.dependency.arc_calibration import ArcCalibration
from gramian.dependency.arc_constraints import ArcConstraints
from gramian.dependency.arc_models import ArcScorer, Labeller
from gramian.dependency.arc_net_scores import NetArcScorer, NetArcScores
from gramian.dependency.arc_tokens import TokenTable
from gramian.dependency.conllu_text import WordSplitter, conllu_sentences
from gramian.dependency.half_constituents import Decoder, decode
from gramian.dependency.head_sequences import restored
from gramian.dependency.morphology import MorphologicalTagger
from gramian.dependency.split_head_automata import SHAG, Symbols
from gramian.dependency.symbol_map import SymbolFunction, SymbolMap
from gramian.errors import InputError, OptionError
from gramian.text.text_processor import TextProcessor
from gramian.threads import batches_in_order, one_blas_thread
from gramian.trees import Sentence

ParseStatus = Literal["parsed", "backed off", "improper", "cut"]


@dataclass(frozen=True)
class DependencyParse:
    """The parse of one sentence.

    Examples
    --------
    >>> from gramian.dependency import SHAGParser
    >>> from gramian.trees import Token
    >>> sentence = Sentence((Token(1, "Stop", upos="VERB", head=0, deprel="root"),))
    >>> parse = SHAGParser("det").fit([sentence]).parse(sentence)
    >>> parse.heads, parse.relations, parse.status
    ((0,), ('root',), 'parsed')
    """

    words: Sentence  #: the input, including its arcs if it had any
    heads: tuple[int, ...]  #: head of each word, counted from 1; 0 is the root
    relations: tuple[str, ...]  #: relation of each word to its head
    #: calibrated marginal of each arc, between 0 and 1; for crossing arcs, that of the lifted arc
    confidences: tuple[float, ...]
    #: "backed off" if the marginals were interpolated with those of the back-off grammar, "improper" if they are not a distribution and
    #: there is no back-off, "cut" if the sentence was parsed in pieces
    status: ParseStatus

    def sentence(self, *, confidence: bool = False) -> Sentence:
        """Return the words with these arcs and, on request, ``Confidence=0.987`` in MISC; DEPS is emptied."""
        tokens = []
        rows = zip(self.words.tokens, self.heads, self.relations, self.confidences, strict=True)
        for token, head, relation, value in rows:
            prefix = "" if token.misc == "_" else f"{token.misc}|"
            misc = f"{prefix}Confidence={value:.3f}" if confidence else token.misc
            tokens.append(replace(token, head=head, deprel=relation, deps="_", misc=misc))
        return replace(self.words, tokens=tuple(tokens))

    def svg(self) -> str:
        """Draw the arcs above the words, coloured by confidence; notebooks call this automatically."""
        from gramian.dependency.dependency_picture import draw_parse

        return draw_parse(self)

    _repr_svg_ = svg


@dataclass(frozen=True, eq=False)
class DependencyParser:
    """A grammar of automata with everything that parsing needs; :class:`~gramian.dependency.SHAGParser` trains it.

    Examples
    --------
    >>> from gramian.dependency import SHAGParser
    >>> from gramian.trees import Token
    >>> sentence = Sentence((Token(1, "Stop", upos="VERB", head=0, deprel="root"),))
    >>> SHAGParser("det").fit([sentence]).model_.parse(sentence).relations
    ('root',)
    """

    symbols: SymbolMap  #: maps words to the symbols of the grammars
    #: grammar, backoff: the grammar, and one that gives every projective tree a positive weight
    grammar: SHAG
    backoff: SHAG
    table: TokenTable  #: maps words to the views that features of arcs read
    labeller: Labeller
    scorer: ArcScorer | None = None  #: factors on arcs, if the grammar was trained with them
    single_root: bool = True  #: whether exactly one word of a sentence is attached to the root
    about: Mapping[str, Any] = field(default_factory=dict)  #: training metadata
    tagger: MorphologicalTagger | None = None  #: predicts tags, features and lemmas, for words without them
    text: TextProcessor | None = None  #: segments and tokenizes text
    #: expands multiword tokens by context, if the treebank has ambiguous ones
    splitter: WordSplitter | None = None
    calibration: ArcCalibration = field(default_factory=ArcCalibration)  #: turns marginals into confidences
    net: NetArcScorer | None = None  #: probabilities of arcs and relations, combined with the factors

    def parse(
        self,
        sentence: Sentence,
        *,
        decoder: Decoder = "mbr",
        max_length: int = 400,
        backoff: bool = True,
        retag: bool = False,
        constraints: ArcConstraints | None = None,
    ) -> DependencyParse:
        """Parse one sentence; arcs of the input are ignored.

        Parameters
        ----------
        sentence : Sentence
            FORM, LEMMA, UPOS, XPOS and FEATS are read. If a word has no tag, the tagger, if any, predicts all of them but FORM.
        decoder : "mbr", "mst" or "viterbi"
            The projective tree with the most certain arcs, any tree with the most certain arcs, or the best tree with its best state
            sequences.
        max_length : int
            A longer sentence is parsed in pieces of this length, whose roots are attached to the root of the first piece.
        backoff : bool
            Whether to back off to a smoothed grammar if the marginals are not a distribution; published experiments do not.
        retag : bool
            Whether to replace the tags, features and lemmas of the input by predicted ones.
        constraints : ArcConstraints, optional
            Known and forbidden heads. InputError if no projective tree satisfies them, or the sentence is longer than `max_length`.
        """
        [parse] = self.parse_many(
            [sentence],
            decoder=decoder,
            max_length=max_length,
            backoff=backoff,
            retag=retag,
            constraints=None if constraints is None else lambda _: constraints,
        )
        return parse

    def _parse_tagged(
        self,
        sentence: Sentence,
        net_scores: NetArcScores | None,
        decoder: Decoder,
        max_length: int,
        backoff: bool,
        constraints: ArcConstraints | None,
    ) -> DependencyParse:
        if len(sentence) <= max_length:
            return self._parse_piece(sentence, net_scores, decoder, backoff, constraints)
        if constraints is not None:
            raise InputError(
                f"a sentence of {len(sentence)} words, cut after {max_length}, takes no constraints",
                line=sentence.line,
            )
        rows: list[tuple[int, str, float]] = []
        top = 0
        for start in range(0, len(sentence), max_length):
            piece = Sentence(sentence.tokens[start : start + max_length])
            [scores] = self._net_scores([piece], max_length)
            parse = self._parse_piece(piece, scores, decoder, backoff, None)
            for head, relation, value in zip(parse.heads, parse.relations, parse.confidences, strict=True):
                is_later_root = start and not head
                rows.append(
                    (top, relation, 0.0) if is_later_root else (head and head + start, relation, value)
                )
            top = top or parse.heads.index(0) + 1
        heads, relations, confidences = zip(*rows, strict=True)
        return DependencyParse(sentence, heads, relations, confidences, "cut")

    def _parse_piece(
        self,
        sentence: Sentence,
        net_scores: NetArcScores | None,
        decoder: Decoder,
        backoff: bool,
        constraints: ArcConstraints | None,
    ) -> DependencyParse:
        tokens = self.table.encode(sentence.tokens)
        factors = self.scorer.factors(tokens) if self.scorer is not None else None
        if self.net is not None and net_scores is not None and factors is not None:
            factors = self.net.combined(factors, net_scores)
        if constraints is not None:
            allowed = constraints.allowed(sentence)
            factors = allowed if factors is None else factors * allowed
        symbols = self.grammar.encode(self.symbols(sentence.tokens))
        helper = self.backoff if backoff else None
        decoded = decode(
            self.grammar, helper, symbols, factors, decoder=decoder, single_root=self.single_root
        )
        if constraints is not None and not allowed[decoded.heads, np.arange(1, len(allowed))].all():
            raise InputError("no projective tree satisfies the known and forbidden heads", line=sentence.line)
        with_root: Symbols = np.concatenate([np.full(1, -1, np.int32), decoded.heads])
        more = None
        if self.net is not None and net_scores is not None:
            more = self.net.relation_scores(net_scores, decoded.heads)
        relations: Sequence[str] = self.labeller.label(tokens, with_root, more)
        heads, relations = restored(decoded.heads.tolist(), relations, lower=constraints is None)
        return DependencyParse(
            sentence,
            heads,
            relations,
            tuple(self.calibration(decoded.confidences).tolist()),
            "parsed" if decoded.is_distribution else "backed off" if backoff else "improper",
        )

    def parse_many(
        self,
        sentences: Iterable[Sentence],
        *,
        n_jobs: int = 1,
        decoder: Decoder = "mbr",
        max_length: int = 400,
        backoff: bool = True,
        retag: bool = False,
        constraints: Callable[[Sentence], ArcConstraints] | None = None,
    ) -> Iterator[DependencyParse]:
        """Parse a stream of sentences in order, in `n_jobs` threads.

        `constraints` returns the constraints of a sentence, as :meth:`ArcConstraints.of` does; see :meth:`parse` for the others.
        """
        if decoder not in ("mbr", "mst", "viterbi"):
            raise OptionError(f"decoder must be one of mbr, mst, viterbi, got {decoder!r}")
        if max_length < 1:
            raise OptionError(f"max_length must be at least 1, got {max_length}")

        def parse(batch: list[Sentence]) -> Iterator[DependencyParse]:
            tagged = [self._tagged(sentence, retag) for sentence in batch]
            for sentence, scores in zip(tagged, self._net_scores(tagged, max_length), strict=True):
                known = None if constraints is None else constraints(sentence)
                yield self._parse_tagged(sentence, scores, decoder, max_length, backoff, known)

        return batches_in_order(parse, sentences, n_jobs, ahead=self.net is not None)

    def _tagged(self, sentence: Sentence, retag: bool) -> Sentence:
        """Return a sentence whose words have tags, if there is a tagger."""
        needs_tags = retag or any(token.upos == token.xpos == "_" for token in sentence.tokens)
        return self.tagger.tag(sentence) if self.tagger is not None and needs_tags else sentence

    def _net_scores(self, sentences: Sequence[Sentence], max_length: int) -> list[NetArcScores | None]:
        """Return what the net says about sentences; None about long ones, and if there is no net."""
        scores: list[NetArcScores | None] = [None] * len(sentences)
        short = [index for index, sentence in enumerate(sentences) if 0 < len(sentence) <= max_length]
        if self.net is not None and short:
            with one_blas_thread():
                read = self.net.read([sentences[index] for index in short])
            for index, sentence_scores in zip(short, read, strict=True):
                scores[index] = sentence_scores
        return scores

    def sentences(self, lines: Iterable[str]) -> Iterator[Sentence]:
        """Yield the sentences of a text, with words that :meth:`parse` takes; `lines` have their line ends.

        Raises
        ------
        gramian.errors.OptionError
            If the parser was trained on gold tags and has no tagger.
        """
        if self.text is None or self.tagger is None:
            problem = "the model cannot read text, since it was trained on gold tags"
            raise OptionError(f"{problem}; try: CoNLL-U, or training with --tags predicted")
        return conllu_sentences(lines, self.text, self.splitter)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a model file: safetensors with a JSON header."""
        from gramian.dependency.dependency_store import save

        save(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, symbols: SymbolFunction | None = None) -> DependencyParser:
        """Read a file that :meth:`save` wrote; a function of `symbols` is not stored and must be given again."""
        from gramian.dependency.dependency_store import load

        return load(path, symbols)
