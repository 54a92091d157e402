"""Trees and CoNLL-U as the text that they were made from, so that reading text can be learnt from them.

CoNLL-U says where spaces stood (``SpaceAfter=No``) and what was contracted. Trees do not: marks are put where writers put them, and
what a treebank writes in a way of its own (``parce_que``, ``vetur$ $inn``, ``de a`` for ``da``) is undone, language by language.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from gramian.text.rule_tokenizer import TextToken
from gramian.text.tokenizer_training import Written
from gramian.trees.conllu import Sentence

_CLOSING = re.compile(r"[.,;:?!…%)\]}»”’°]+|\.{2,}|''|-[RL](?:RB|SB|CB)-")
_OPENING = frozenset("([{$#«“‘£€¿¡") | {"``", "`", "US$"}
_ENDING = re.compile(r"['’](?:s|m|d|ll|re|ve|t|em)?|n['’]t|-[^\W\d].*", re.IGNORECASE)  # 's, n't, -il
_BEGINNING = re.compile(r".*\w['’]|\w.*-")  # l', ex-
_HYPHENS = frozenset({"HYPH", "AFX"})
_QUOTES = frozenset({'"', "'"})


@dataclass(frozen=True)
class Writing:
    """How a language is written, where treebanks have a way of their own.

    Attributes
    ----------
    spaces : bool
        Whether words have spaces between.
    joins : bool
        Whether its treebanks join several words by underscores.
    mark : str
        What its treebanks write at either side of a cut inside a word.
    contractions : mapping of (str, str) to str
        Pairs of words that are written as one.
    attached : frozenset of str
        Words that are written as the end of the one before.
    hyphens : bool
        Whether hyphens, which are words of their own, stand between words without spaces.
    """

    spaces: bool = True
    joins: bool = False
    mark: str = ""
    contractions: Mapping[tuple[str, str], str] = field(default_factory=dict)
    attached: frozenset[str] = frozenset()
    hyphens: bool = False


def _portuguese() -> dict[tuple[str, str], str]:
    articles = ("o", "a", "os", "as")
    these = [first + last for first in ("est", "ess", "aquel") for last in ("e", "a", "es", "as")]
    others = [*these, "isto", "isso", "aquilo", "ele", "ela", "eles", "elas", "aqui", "ali", "outro", "outra"]
    found = {("de", word): "d" + word for word in (*articles, *others)}
    found |= {("em", word): "n" + word for word in (*articles, *others, "um", "uma", "uns", "umas")}
    found |= {("por", word): "pel" + word for word in articles}
    found |= {("a", word): end for word, end in zip(articles, ("ao", "à", "aos", "às"), strict=True)}
    found |= {("a", word): "à" + word[1:] for word in others if word.startswith("aquel")}
    pronouns = ("comigo", "contigo", "consigo", "connosco", "convosco")
    return found | {("com", word[3:]): word for word in pronouns}


WRITINGS = {
    "es": Writing(joins=True),
    "fr": Writing(joins=True),
    "id": Writing(attached=frozenset({"nya"}), hyphens=True),
    "is": Writing(mark="$"),
    "ja": Writing(spaces=False),
    "pt": Writing(joins=True, contractions=_portuguese()),
}


def written_words(words: Sequence[str], tags: Sequence[str], writing: Writing) -> Written:
    r"""Return words as they would stand in a text.

    Examples
    --------
    >>> written_words(["l'", "eau", "et", "ainsi_que", "moi", "."], ["D"] * 6, WRITINGS["fr"]).text
    "l'eau et ainsi que moi."
    >>> written_words(["a", "casa", "de", "a", "Ana"], ["D"] * 5, WRITINGS["pt"]).text
    'a casa da Ana'
    >>> written_words(["She", "said", '"', "do", "n't", '"', "(", "twice", ")", "."], ["X"] * 10, Writing()).text
    'She said "don\'t" (twice).'
    """
    text = ""
    tokens: list[TextToken] = []
    glued, quoted = True, dict.fromkeys(_QUOTES, False)
    place = 0
    while place < len(words):
        word, tag = words[place], tags[place]
        pair = (word.lower(), words[place + 1].lower()) if place + 1 < len(words) else ("", "")
        contraction = writing.contractions.get(pair)
        parts = [contraction] if contraction else _parts(word, writing)
        if contraction:
            parts = [contraction[0].upper() + contraction[1:] if word[0].isupper() else contraction]
        start = -1
        for part in parts:
            before, behind = _sides(part, tag, quoted, writing, _tag_at(tags, place + 1))
            if text and not (glued or before):
                text += " "
            start = len(text) if start < 0 else start
            text += '"' if part in ("``", "''") else part.strip(writing.mark) or part
            glued = behind or not writing.spaces
        if writing.mark and len(word) > 1:
            glued = glued or word.endswith(writing.mark)
        tokens += [TextToken(one, start, len(text)) for one in words[place : place + 1 + bool(contraction)]]
        place += 1 + bool(contraction)
    return Written(text, tokens)


def _parts(word: str, writing: Writing) -> list[str]:
    parts = word.split("_")
    return parts if writing.joins and all(parts) else [word]


def _tag_at(tags: Sequence[str], place: int) -> str:
    return tags[place] if place < len(tags) else ""


def _sides(
    word: str, tag: str, quoted: dict[str, bool], writing: Writing, following: str
) -> tuple[bool, bool]:
    """Return whether no space stands before a word, and whether none stands behind it."""
    if word in _QUOTES and tag != "POS":
        quoted[word] = not quoted[word]
        return not quoted[word], quoted[word]
    if tag in _HYPHENS or word == "/" or (writing.hyphens and word == "-"):
        return len(word) == 1, True
    if word in _OPENING:
        return False, True
    before = bool(_CLOSING.fullmatch(word) or (len(word) > 1 and _ENDING.fullmatch(word)) or tag == "POS")
    before = before or word in writing.attached or bool(writing.mark and word[:1] == writing.mark != word)
    return before, bool(len(word) > 1 and _BEGINNING.fullmatch(word) and not _ENDING.fullmatch(word))


def written_sentences(sentences: Iterable[Sentence]) -> Iterator[Written]:
    r"""Yield the texts of sentences in CoNLL-U, spaces as ``SpaceAfter=No`` says and contractions as they were written.

    Examples
    --------
    >>> from gramian.trees.conllu import TextToken as Row
    >>> rows = Row(1, "de"), Row(2, "le"), Row(3, "monde", misc="SpaceAfter=No"), Row(4, "!")
    >>> next(written_sentences([Sentence(rows, extras=((0, "1-2\tdu" + "\t_" * 8),))]))
    Written(text='du monde!', tokens=[TextToken(word='de', start=0, end=2), TextToken(word='le', start=0, end=2), ...])
    """
    for sentence in sentences:
        ranges = dict(_ranges(sentence))
        text = ""
        tokens: list[TextToken] = []
        rows = list(sentence.tokens)
        while rows:
            last, form, misc = ranges.get(rows[0].id, (rows[0].id, rows[0].form, rows[0].misc))
            covered = [row.form for row in rows[: last - rows[0].id + 1]]
            tokens += _covered(covered, form, len(text))
            rows = rows[len(covered) :]
            text += form + ("" if "SpaceAfter=No" in misc else " ")
        yield Written(text.rstrip(" "), tokens)


def _ranges(sentence: Sentence) -> Iterator[tuple[int, tuple[int, str, str]]]:
    for _, line in sentence.extras:
        columns = line.split("\t")
        first, _, last = columns[0].partition("-")
        if last:
            yield int(first), (int(last), columns[1], columns[9])


def _covered(words: Sequence[str], form: str, at: int) -> list[TextToken]:
    """Return the words of a form with their places: those of its letters if they make it up, else its own."""
    if "".join(words) != form:
        return [TextToken(word, at, at + len(form)) for word in words]
    tokens = []
    for word in words:
        tokens.append(TextToken(word, at, at + len(word)))
        at += len(word)
    return tokens
