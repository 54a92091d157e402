"""Dependency trees in CoNLL-U.

Comments, multiword ranges (``3-4``) and empty nodes (``8.1``) are kept, so that reading and writing changes
nothing; identifiers and features are parsed by the `conllu` package.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from gramian.errors import InputError
from gramian.io.output import write_lines
from gramian.io.reading import Source, TextLines
from gramian.trees.projective import is_projective
from gramian.trees.treebank_reading import read_items

_COLUMNS = 10
_NUMBER = re.compile("[0-9]{1,9}")
_RANGE = re.compile("[0-9]{1,9}-([0-9]{1,9})")


class ConlluError(InputError):
    """A sentence that is not CoNLL-U, with its place; also given to the callback of :func:`read_conllu`.

    Examples
    --------
    >>> from io import StringIO
    >>> try:
    ...     list(read_conllu(StringIO("1 It")))
    ... except ConlluError as error:
    ...     print(error.line)
    1
    """


@dataclass(frozen=True, slots=True)
class Token:
    """One word: the ten columns of a CoNLL-U line, as text but for `id` and `head`.

    `head` is 0 for the root of the sentence and None where the column is ``_``.

    Examples
    --------
    >>> Token(1, "It", feats="Case=Nom|Number=Sing", head=2).features
    {'Case': 'Nom', 'Number': 'Sing'}
    """

    id: int
    form: str
    lemma: str = "_"
    upos: str = "_"
    xpos: str = "_"
    feats: str = "_"
    head: int | None = None
    deprel: str = "_"
    deps: str = "_"
    misc: str = "_"

    @property
    def features(self) -> dict[str, str | None]:
        """The morphological features by name."""
        from conllu.parser import parse_dict_value

        return dict(parse_dict_value(self.feats) or {})

    def __str__(self) -> str:
        head = "_" if self.head is None else self.head
        return (
            f"{self.id}\t{self.form}\t{self.lemma}\t{self.upos}\t{self.xpos}\t{self.feats}\t{head}"
            f"\t{self.deprel}\t{self.deps}\t{self.misc}"
        )


@dataclass(frozen=True, slots=True)
class Sentence:
    """A dependency tree over the words of a sentence.

    Examples
    --------
    >>> tokens = Token(1, "Dogs", head=2, deprel="nsubj"), Token(2, "bark", head=0, deprel="root")
    >>> sentence = Sentence(tokens)
    >>> sentence.words, sentence.heads, sentence.is_projective
    (('Dogs', 'bark'), (2, 0), True)
    """

    tokens: tuple[Token, ...]  #: the words, with identifiers 1, 2, ...
    comments: tuple[str, ...] = ()  #: lines that start with ``#``, in order
    #: lines of multiword ranges and empty nodes, each with the number of words before it
    extras: tuple[tuple[int, str], ...] = ()
    line: int | None = None  #: where the sentence starts in its file

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def words(self) -> tuple[str, ...]:
        """The forms of the words."""
        return tuple([token.form for token in self.tokens])

    @property
    def heads(self) -> tuple[int, ...]:
        """The head of each word: the number of a word, counted from 1, or 0 for the root; InputError if a word has none."""
        heads = []
        for token in self.tokens:
            if token.head is None:
                raise InputError(f"word {token.id} ('{token.form}') has no head", line=self.line)
            heads.append(token.head)
        return tuple(heads)

    @property
    def is_projective(self) -> bool:
        """Whether every word's descendants form a span together with it."""
        return is_projective(self.heads)

    def with_heads(self, heads: Sequence[int], deprels: Sequence[str] | None = None) -> Sentence:
        """Return the sentence with other arcs."""
        names = [token.deprel for token in self.tokens] if deprels is None else deprels
        tokens = tuple(
            replace(token, head=head, deprel=name)
            for token, head, name in zip(self.tokens, heads, names, strict=True)
        )
        return replace(self, tokens=tokens)

    def joined(self, forms: Sequence[str], sizes: Sequence[int]) -> Sentence:
        """Return the sentence with neighbouring words put together: `sizes` words at a time, which are called `forms`.

        What was several words has the arc of the one nearest to the root, and neither lemma, tag nor features.

        Examples
        --------
        >>> words = ("le", "chat", "de", "le", "voisin")
        >>> tokens = [Token(n, word, head=head) for n, (word, head) in enumerate(zip(words, (2, 0, 5, 5, 2)), 1)]
        >>> joined = Sentence(tuple(tokens)).joined(["le", "chat", "du", "voisin"], [1, 1, 2, 1])
        >>> joined.words, joined.heads
        (('le', 'chat', 'du', 'voisin'), (2, 0, 4, 2))
        """
        heads = self.heads
        new_number = [0] + [number for number, size in enumerate(sizes, 1) for _ in range(size)]

        def depth(token: Token) -> int:
            above, steps = heads[token.id - 1], 0
            while above:
                above, steps = heads[above - 1], steps + 1
            return steps

        tokens: list[Token] = []
        start = 0
        for form, size in zip(forms, sizes, strict=True):
            top = min(self.tokens[start : start + size], key=depth)
            kept = top if size == 1 else Token(0, form, deprel=top.deprel)
            head = new_number[heads[top.id - 1]]
            tokens.append(replace(kept, id=len(tokens) + 1, form=form, head=head))
            start += size
        return Sentence(tuple(tokens), self.comments, (), self.line)

    def multiword_ranges(self) -> dict[int, tuple[int, str, str]]:
        """Return the last word, form and MISC of each multiword token by its first word; ranges that overlap others are left out."""
        ranges, done = {}, 0
        for before, line in self.extras:
            number, form, *_, misc = line.split("\t")
            word_range = _RANGE.fullmatch(number)
            end = int(word_range[1]) if word_range else 0
            if done <= before < end <= len(self):
                ranges[before + 1] = end, form, misc
                done = end
        return ranges

    def surface(self) -> Sentence:
        """Return the sentence with the words of each multiword range (``3-4 du``) put together."""
        forms, sizes, done = [], [], 0
        for first, (last, form, _) in self.multiword_ranges().items():
            forms += [*self.words[done : first - 1], form]
            sizes += [1] * (first - 1 - done) + [last - first + 1]
            done = last
        rest = self.words[done:]
        return self.joined([*forms, *rest], [*sizes, *[1] * len(rest)])

    def __str__(self) -> str:
        """Return the sentence as CoNLL-U, ending in a newline, without the blank line after it."""
        lines = [*self.comments]
        position = 0
        for before, extra in self.extras:
            lines += map(str, self.tokens[position:before])
            lines.append(extra)
            position = before
        lines += map(str, self.tokens[position:])
        return "\n".join(lines) + "\n"


def read_conllu(
    source: Source,
    *,
    broken: Literal["raise", "skip"] = "raise",
    on_skip: Callable[[ConlluError], None] | None = None,
    arcs: bool = True,
) -> Iterator[Sentence]:
    """Read sentences one by one.

    Parameters
    ----------
    source : path, "-" or open file
        A file (plain, gzip or xz), a folder whose files are read in sorted order, or stdin.
    broken : {"raise", "skip"}
        What to do about a sentence that is not CoNLL-U, or whose arcs are no tree. Heads may be missing
        (``_``) on all words of a sentence.
    on_skip : callable, optional
        Called with an error for every sentence skipped; without it, one warning with the count is given.
    arcs : bool
        Whether HEAD, DEPREL and DEPS are looked at; if not, they are ``_`` in what is returned, and a source
        without any sentence is no error.

    Raises
    ------
    ConlluError
        With file and line, if `broken` is ``"raise"``.
    gramian.errors.InputError
        If the source cannot be opened or decoded, or holds no sentence at all.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = write_conllu([Sentence((Token(1, "Stop", head=0),))], f"{folder}/one.conllu")
    ...     print([token.form for sentence in read_conllu(folder) for token in sentence.tokens])
    ['Stop']
    """

    def sentences(lines: TextLines) -> Iterator[Sentence | ConlluError]:
        for first_line, block in _blocks(lines):
            try:
                yield _parse(block, lines.name, first_line, arcs)
            except ConlluError as error:
                yield error

    return read_items(
        source,
        sentences,
        noun="sentence",
        broken=broken,
        on_skip=on_skip,
        hint="name a CoNLL-U file",
        may_be_empty=not arcs,
    )


def write_conllu(sentences: Iterable[Sentence], path: str | os.PathLike[str]) -> int:
    """Write sentences, each followed by a blank line, through a temporary file; return how many.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write_conllu([Sentence((Token(1, "Stop", head=0),))], f"{folder}/one.conllu")
    1
    """
    return write_lines(sentences, path)


def _blocks(lines: TextLines) -> Iterator[tuple[int, list[str]]]:
    """Cut a file at its blank lines into ``(first line, lines)``."""
    block: list[str] = []
    number = 0
    for number, line in enumerate(lines, 1):
        if not line.isspace():
            block.append(line.removesuffix("\n"))
        elif block:
            yield number - len(block), block
            block = []
    if block:
        yield number - len(block) + 1, block


def _parse(block: list[str], source: str, first_line: int, arcs: bool) -> Sentence:
    comments: list[str] = []
    extras: list[tuple[int, str]] = []
    tokens: list[Token] = []
    for number, line in enumerate(block, first_line):
        if line.startswith("#"):
            comments.append(line)
            continue
        columns = line.split("\t")
        if len(columns) != _COLUMNS:
            hint = "separate the columns by tabs" if len(columns) == 1 else None
            raise _error(f"{len(columns)} columns instead of {_COLUMNS}", source, number, line, hint)
        if not _NUMBER.fullmatch(columns[0]):
            from conllu.exceptions import ParseException
            from conllu.parser import parse_id_value

            try:
                parse_id_value(columns[0])
            except (ParseException, ValueError):
                raise _error(f"'{columns[0]}' is not a word number", source, number, line) from None
            extras.append((len(tokens), line))
            continue
        if int(columns[0]) != len(tokens) + 1:
            raise _error(
                f"word {columns[0]} is in the position of word {len(tokens) + 1}", source, number, line
            )
        if not arcs:
            columns[6:9] = "_", "_", "_"
        head = columns[6]
        if not _NUMBER.fullmatch(head) and head != "_":
            raise _error(f"the head '{head}' is not a word number", source, number, line)
        _, form, lemma, upos, xpos, feats, _, deprel, deps, misc = columns
        arc = None if head == "_" else int(head)
        tokens.append(Token(len(tokens) + 1, form, lemma, upos, xpos, feats, arc, deprel, deps, misc))
    if not tokens:
        raise _error("a block without words", source, first_line, block[0])
    if fault := _fault(tokens):
        raise _error(fault, source, first_line, None)
    return Sentence(tuple(tokens), tuple(comments), tuple(extras), first_line)


def _error(what: str, source: str, line: int, excerpt: str | None, hint: str | None = None) -> ConlluError:
    return ConlluError(
        what,
        source,
        line,
        excerpt=excerpt,
        hint=hint or "mend the sentence, or leave it out with --skip-broken (in Python: broken='skip')",
    )


def _fault(tokens: list[Token]) -> str | None:
    """Say why the arcs of a sentence are no tree, if they are none."""
    heads = [token.head for token in tokens]
    missing = heads.count(None)
    if missing:
        return None if missing == len(heads) else f"{missing} of {len(heads)} words have no head"
    arcs = [head for head in heads if head is not None]
    for token, head in zip(tokens, arcs, strict=True):
        if head > len(tokens):
            return f"word {token.id} has head {head}, but the sentence has {len(tokens)} words"
    if 0 not in arcs:
        return "no word is the root (head 0)"
    reaches_root = bytearray(len(tokens) + 1)
    reaches_root[0] = 1
    for word in range(1, len(tokens) + 1):
        path = []
        while not reaches_root[word]:
            path.append(word)
            if len(path) > len(tokens):
                return f"word {min(path[path.index(word) :])} is its own ancestor"
            word = arcs[word - 1]
        for step in path:
            reaches_root[step] = 1
    return None
