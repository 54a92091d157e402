"""A trained dependency parser: tagged words in, trees with relations and confidences out.

Each sentence goes through inside-outside and minimum Bayes risk decoding (or Viterbi). It always gets a tree: where
the grammar's marginals are no distribution, as happens with spectral automata, a smoothed DET+F grammar helps; a sentence
beyond `max_length` words is cut into pieces. `status` says so.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import numpy as np

from gramian.dependency.arc_models import ArcScorer, Labeller
from gramian.dependency.arc_tokens import TokenTable
from gramian.dependency.half_constituents import Decoder, decode
from gramian.dependency.modifiers import restored
from gramian.dependency.split_head_automata import SHAG, Symbols
from gramian.dependency.symbols import SymbolFunction, SymbolMap
from gramian.errors import OptionError
from gramian.threads import in_order
from gramian.trees import Sentence, Token

Status = Literal["parsed", "backed off", "improper", "cut"]


@dataclass(frozen=True)
class DependencyParse:
    """The parse of one sentence.

    Attributes
    ----------
    words : Sentence
        What was parsed, with whatever arcs it came with.
    heads : tuple of int
        Head of each word, counted from 1; 0 is the root.
    relations : tuple of str
        Relation of each word to its head.
    confidences : tuple of float
        Marginal of each word's arc, between 0 and 1; where arcs cross, of the arc before it was let down.
    status : "parsed", "backed off", "improper" or "cut"
        Whether the grammar gave the parse, or needed the help of the back-off grammar, or had no distribution and no help, or parsed
        pieces.
    """

    words: Sentence
    heads: tuple[int, ...]
    relations: tuple[str, ...]
    confidences: tuple[float, ...]
    status: Status

    def sentence(self, *, confidence: bool = False) -> Sentence:
        """Return the words with these arcs and, if wanted, ``Confidence=0.987`` in MISC; DEPS is emptied, all else stays."""
        tokens = []
        rows = zip(self.words.tokens, self.heads, self.relations, self.confidences, strict=True)
        for t, head, relation, value in rows:
            before = "" if t.misc == "_" else f"{t.misc}|"
            misc = f"{before}Confidence={value:.3f}" if confidence else t.misc
            tokens.append(Token(t.id, t.form, t.lemma, t.upos, t.xpos, t.feats, head, relation, "_", misc))
        return Sentence(tuple(tokens), self.words.comments, self.words.extras, self.words.line)

    def svg(self) -> str:
        """Draw the arcs above the words, coloured by confidence; notebooks do so by themselves."""
        from gramian.dependency.dependency_picture import draw_parse

        return draw_parse(self)

    _repr_svg_ = svg


@dataclass(frozen=True, eq=False)
class DependencyParser:
    """A grammar of automata with all that parsing needs; :class:`~gramian.dependency.SHAGParser` learns it.

    Attributes
    ----------
    symbols : SymbolMap
        From words to the symbols of the grammars.
    grammar, backoff : SHAG
        The grammar, and one that gives every projective tree a positive weight.
    table : TokenTable
        From words to the features of arcs.
    labeller : Labeller
    scorer : ArcScorer or None
        Factors on arcs, if the grammar was trained with them.
    single_root : bool
        Whether exactly one word of a sentence is attached to the root.
    about : mapping
        How the parser was trained, for people.
    """

    symbols: SymbolMap
    grammar: SHAG
    backoff: SHAG
    table: TokenTable
    labeller: Labeller
    scorer: ArcScorer | None = None
    single_root: bool = True
    about: Mapping[str, Any] = field(default_factory=dict)

    def parse(
        self,
        sentence: Sentence,
        *,
        decoder: Decoder = "mbr",
        max_length: int = 400,
        backoff: bool = True,
    ) -> DependencyParse:
        """Parse one sentence; its arcs, if it has any, are not looked at.

        Parameters
        ----------
        sentence : Sentence
            FORM, UPOS and XPOS are read.
        decoder : "mbr" or "viterbi"
            The tree with the most certain arcs, or the best tree with its best state sequences.
        max_length : int
            A longer sentence is parsed in pieces of so many words, whose tops hang on the first piece's.
        backoff : bool
            Whether a smoothed grammar helps where the grammar's marginals are no distribution; published experiments go without.
        """
        if decoder not in ("mbr", "viterbi"):
            raise OptionError(f"decoder must be one of mbr, viterbi, got {decoder!r}")
        if max_length < 1:
            raise OptionError(f"max_length must be at least 1, got {max_length}")
        if len(sentence) <= max_length:
            return self._parse(sentence, decoder, backoff)
        first = self._parse(Sentence(sentence.tokens[:max_length]), decoder, backoff)
        top = first.heads.index(0) + 1
        rows = [*zip(first.heads, first.relations, first.confidences, strict=True)]
        for start in range(max_length, len(sentence), max_length):
            tokens = sentence.tokens[start : start + max_length]
            piece = self._parse(Sentence(tokens), decoder, backoff)
            for head, relation, value in zip(piece.heads, piece.relations, piece.confidences, strict=True):
                rows.append((head + start, relation, value) if head else (top, relation, 0.0))
        heads, relations, confidences = zip(*rows, strict=True)
        return DependencyParse(sentence, heads, relations, confidences, "cut")

    def _parse(self, sentence: Sentence, decoder: Decoder, backoff: bool) -> DependencyParse:
        tokens = self.table.encode(sentence.tokens)
        factors = self.scorer.factors(tokens) if self.scorer is not None else None
        symbols = self.grammar.encode(self.symbols(sentence.tokens))
        helper = self.backoff if backoff else None
        found = decode(self.grammar, helper, symbols, factors, decoder=decoder, single_root=self.single_root)
        with_root: Symbols = np.concatenate([np.full(1, -1, np.int32), found.heads])
        heads, relations = restored(found.heads.tolist(), self.labeller.label(tokens, with_root))
        return DependencyParse(
            sentence,
            heads,
            relations,
            tuple(found.confidences.tolist()),
            "parsed" if found.is_distribution else "backed off" if backoff else "improper",
        )

    def parse_many(
        self,
        sentences: Iterable[Sentence],
        *,
        n_jobs: int = 1,
        decoder: Decoder = "mbr",
        max_length: int = 400,
        backoff: bool = True,
    ) -> Iterator[DependencyParse]:
        """Parse sentences as they come, in order; `n_jobs` threads give the same results. See :meth:`parse` for the other parameters."""
        parse = partial(self.parse, decoder=decoder, max_length=max_length, backoff=backoff)
        return in_order(parse, sentences, n_jobs)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a model file: safetensors with a JSON header."""
        from gramian.dependency.dependency_store import save

        save(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, symbols: SymbolFunction | None = None) -> DependencyParser:
        """Read a file that :meth:`save` wrote; it holds no code, so that a function that `symbols` were trained with is needed again."""
        from gramian.dependency.dependency_store import load

        return load(path, symbols)
