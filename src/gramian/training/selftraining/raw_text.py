"""Text without trees, from files of several kinds, read sentence by sentence into what a parser takes."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Literal, TypeAlias

from gramian.errors import InputError
from gramian.io.reading import TextLines, open_text, peek_text, reads_once
from gramian.parsing.dependency_constraints import RelationTable, dependency_constraints
from gramian.parsing.sentences import Sentence, read_sentence
from gramian.text.rule_tokenizer import Style, tokenize
from gramian.text.sentence_segmenter import SentenceSegmenter
from gramian.text.text_processor import sentences_in
from gramian.training.setting_groups import SilverSettings
from gramian.trees import read_conllu
from gramian.trees.token_lines import split_pairs, split_tokens

Kind: TypeAlias = Literal["text", "tokens", "tagged", "conllu"]

_LOOKED_AT = 200  # lines that tell the kind of a file
_ENDINGS = frozenset(".?!…。？！")


@dataclass(frozen=True)
class RawText:
    """Files of text to learn from; the settings say what they hold and what of it is taken as known."""

    paths: tuple[str, ...]
    silver: SilverSettings = field(default_factory=SilverSettings)
    style: Style = "penn"  #: how running text is cut into words

    def __post_init__(self) -> None:
        for path in self.paths:
            if reads_once(path):
                problem = "raw text is read several times, which a pipe does not allow"
                raise InputError(problem, path, hint="write the text to a file first")

    def sentences(self) -> Iterator[Sentence]:
        """Yield the sentences of all files, one after the other."""
        for path in self.paths:
            kind = kind_of(path) if self.silver.format == "auto" else self.silver.format
            yield from self._from_conllu(path) if kind == "conllu" else self._from_text(path, kind)

    def count(self) -> int:
        """Return about how many sentences there are, without reading them closely: lines, or blocks of CoNLL-U."""
        total = 0
        for path in self.paths:
            is_conllu = (kind_of(path) if self.silver.format == "auto" else self.silver.format) == "conllu"
            with open_text(path) as lines:
                total += sum(line.startswith("1\t") if is_conllu else not line.isspace() for line in lines)
        if not total:
            raise InputError("the text has no sentences", self.paths[0], hint="name a file of text")
        return total

    def _from_conllu(self, path: str) -> Iterator[Sentence]:
        table = RelationTable.named(self.silver.relations)
        for sentence in read_conllu(path, broken="skip", arcs=self.silver.constraints == "all"):
            if len(sentence) > self.silver.max_length:
                continue
            has_arcs = sentence.tokens[0].head is not None
            known = dependency_constraints(
                sentence if has_arcs else sentence.with_heads([0] * len(sentence)), table
            )
            if self.silver.constraints == "all" and has_arcs:
                yield known
            else:
                yield (
                    read_sentence(known.sentence).tokens
                    if self.silver.constraints == "words"
                    else known.sentence
                )

    def _from_text(self, path: str, kind: str) -> Iterator[Sentence]:
        with open_text(path) as lines:
            for tokens in self._tokens(lines, path, kind):
                if 0 < len(tokens) <= self.silver.max_length:
                    yield tokens

    def _tokens(self, lines: TextLines, path: str, kind: str) -> Iterator[list[str] | list[tuple[str, str]]]:
        """Yield the tokens of each sentence of running text, or of each line, tagged or not."""
        if kind == "text":
            for sentence in sentences_in(lines.segments(), SentenceSegmenter()):
                yield [token.word for token in tokenize(sentence.text, self.style)]
            return
        for number, line in enumerate(lines, 1):
            if kind == "tokens":
                yield split_tokens(line)
                continue
            pairs = split_pairs(line, path, number, "write token/TAG, or say of which kind the text is")
            yield [word for word, _ in pairs] if self.silver.constraints == "words" else pairs


def kind_of(path: str) -> Kind:
    """Tell by its name and first lines what kind of text a file holds."""
    name = path.lower().removesuffix(".gz").removesuffix(".xz")
    if name.endswith((".conllu", ".conll")):
        return "conllu"
    _, start = peek_text(path)
    if start.count("\t") == 9 or start.startswith("# "):
        return "conllu"
    with open_text(path) as lines:
        rows = [split_tokens(line) for line in islice(filter(str.strip, lines), _LOOKED_AT)]
    tokens = [token for row in rows for token in row]
    if sum("/" in token[1:-1] for token in tokens) > 0.95 * len(tokens):
        return "tagged"
    alone = sum(row[-1] in _ENDINGS for row in rows)
    glued = sum(len(row[-1]) > 1 and row[-1][-1] in _ENDINGS for row in rows)
    return "tokens" if name.endswith((".tok", ".tokens")) or alone > glued else "text"
