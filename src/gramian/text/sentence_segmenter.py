"""Sentence segmentation by a model learnt from a treebank, or by rules.

Every white space is a possible boundary. The features of the words beside it (punctuation, case, shape, abbreviations) add up to a score;
a positive score is a boundary. An empty line always is one. A single line break is one, too, unless lines are wrapped: then only if the
next word would have fitted on the line. Scripts without spaces are split behind their full stops.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, zip_longest
from typing import ClassVar, NamedTuple

from gramian.io.bounded_cache import BoundedCache
from gramian.text.case import is_title_case, is_upper_case
from gramian.text.feature_scores import FeatureScores

_CHUNK = re.compile(r"[^\s。！？]*[。！？]+[」』）”’\"')]*|\S+")
_BREAK = re.compile(r"\n[^\S\n]*\n|\f")
_CLOSING = "\"'”’»)]}*_」』）"
_OPENING = "\"'“‘«([{*_¿¡「『（"
_ENDING = re.compile(rf"[.!?…。！？][{re.escape(_CLOSING)}]*\Z")
_PUNCTUATION = re.compile(r"[^\w\s]+")
_MARK = re.compile(r"\(?(?:\d{1,3}|[A-Za-z])[.)]|[-–—•*·▪‣]")
_NUMBER = re.compile(r"[\d.,:/%-]+")
_FIRST_WORD = re.compile(r"[\w'’]+")
_NARROWEST = 40  # characters; nobody wraps lines that are shorter
_FAR = 40  # words; beyond this, distances are all the same


class SentenceSpan(NamedTuple):
    """A sentence is ``text[start:end]``."""

    start: int
    end: int


@dataclass(frozen=True)
class PlacedText:
    """A sentence inside a longer text: `start` is the offset of its first character in the whole text."""

    text: str
    start: int


class Gap(NamedTuple):
    """A possible boundary behind ``text[:end]``: the last marks, the last word, the kind of the next word, and all features.

    `certain` is what a rule about full stops or headlines says, which no score overrules; None if no rule applies.
    """

    end: int
    mark: str
    stem: str
    begins: str
    features: tuple[str, ...]
    certain: bool | None = None


@dataclass(frozen=True)
class SentenceSegmenter:
    """Segments text into sentences by scores that :func:`gramian.text.text_training.learn_segmenter` learns, without them by rules.

    Examples
    --------
    >>> text = "I came. I saw Mr. Fox! Did you?"
    >>> [text[start:end] for start, end in SentenceSegmenter().segment(text)]
    ['I came.', 'I saw Mr. Fox!', 'Did you?']
    """

    STORED_AS: ClassVar[str] = "SentenceSplitter"

    scores: FeatureScores | None = None

    def segment(self, text: str) -> list[SentenceSpan]:
        """Return the spans of the sentences of a text, without white space around them."""
        spans: list[SentenceSpan] = []
        for start, end in _paragraphs(text):
            first = start
            for gap, forced in _gaps(text, start, end):
                if forced or self._ends(gap):
                    spans.append(SentenceSpan(first, gap.end))
                    first = gap.end
            spans.append(SentenceSpan(first, end))
        sentences = []
        for start, end in spans:
            part = text[start:end]
            if stripped := part.strip():
                start += len(part) - len(part.lstrip())
                sentences.append(SentenceSpan(start, start + len(stripped)))
        return sentences

    def _ends(self, gap: Gap) -> bool:
        if gap.certain is not None:
            return gap.certain
        return _by_rule(gap) if self.scores is None else self.scores.total(gap.features) > 0


def gaps(text: str) -> list[Gap]:
    """Return the white spaces of a text without line breaks where a sentence may end, with their features."""
    return [gap for gap, _ in _gaps(text, 0, len(text))]


def _paragraphs(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for match in _BREAK.finditer(text):
        yield start, match.start()
        start = match.end()
    yield start, len(text)


def _gaps(text: str, start: int, end: int) -> Iterator[tuple[Gap, bool]]:
    """Yield the possible boundaries of a paragraph, and whether a line break forces each."""
    chunks = list(_CHUNK.finditer(text, start, end))
    words = [match[0] for match in chunks]
    width = _wrapped_at(text[start:end])
    ends = [_ENDING.search(word) is not None for word in words]
    ahead = _distances(ends)
    headline = _headlines(text, chunks)
    since = 0
    for index in range(len(words) - 1):
        since += 1
        left, right = words[index], words[index + 1]
        forced = False
        between = text[chunks[index].end() : chunks[index + 1].start()]
        if "\n" in between:
            line = chunks[index].end() - (text.rfind("\n", start, chunks[index].end()) + 1 or start)
            forced = not width or line + 1 + len(right) <= width or _MARK.fullmatch(right) is not None
        if forced or ends[index] or not right.lstrip(_OPENING)[:1].islower() or not left[-1].isalnum():
            before = words[index - 1] if index else ""
            after = words[index + 2] if index + 2 < len(words) else ""
            gap = _gap(chunks[index].end(), (before, left, right, after), since, ahead[index + 1])
            is_inside = not gap.mark and headline[index] and "\n" not in between
            yield gap._replace(certain=False) if is_inside else gap, forced
        if ends[index]:
            since = 0


def _headlines(text: str, chunks: Sequence[re.Match[str]]) -> list[bool]:
    """Return for each chunk whether its line is in title case or in capitals: no sentence ends there without a mark."""
    found: list[bool] = []
    line: list[str] = []
    for chunk, following in zip_longest(chunks, chunks[1:]):
        line.append(chunk[0])
        if following is None or "\n" in text[chunk.end() : following.start()]:
            found += [is_title_case(line) or is_upper_case(line)] * len(line)
            line = []
    return found


def _wrapped_at(paragraph: str) -> int:
    """Return the width at which the lines of a paragraph are wrapped; 0 if they are not."""
    lines = [line.rstrip() for line in paragraph.split("\n")]
    width = max(map(len, lines))
    full = sum(
        len(line) + 1 + len(after.split(None, 1)[0]) > width
        for line, after in pairwise(lines)
        if line and after.strip()
    )
    return width if width >= _NARROWEST and 2 * full >= len(lines) - 1 else 0


def _distances(ends: Sequence[bool]) -> list[int]:
    """Return, for each word, how many words away the next one is that may end a sentence."""
    distances, distance = [0] * len(ends), _FAR
    for index in range(len(ends) - 1, -1, -1):
        distances[index] = distance = 0 if ends[index] else distance + 1
    return distances


def _gap(end_of_word: int, words: tuple[str, str, str, str], since: int, ahead: int) -> Gap:
    before, left, right, after = words
    mark, closed, stem = _endings[left]
    begins, opened, word = _beginnings[right]
    form, low = _form(stem), stem.lower()
    end = mark + "c" * closed
    begin = begins + "o" * opened
    previous = _form(_endings[before][2]) if before else "^"
    following = _beginnings[after][0] if after else "$"
    far, near = min(since, _FAR) // 4, min(ahead, 30) // 4
    features = [
        "bias",
        f"end {end}",
        f"begin {begin}",
        f"end begin {end} {begin}",
        f"end form begin {end} {form} {begin}",
        f"end begin next {end} {begin} {following}",
        f"word {word}",
        f"end word {end} {word}",
        f"since {far} {end}",
        f"since {far} {end} {begin}",
        f"forms {previous} {form} {end} {begin}",
        f"form begin {form} {begins} {mark != ''}",
        f"ahead {near} {end}",
        f"last {low} {mark}",
    ]
    if "." in mark:
        features += [f"length {min(len(stem), 5)} {begin}", f"last begin {low} {begins}"]
    certain = _certain(words, since) if mark in (".", "%.") and not closed else None
    return Gap(end_of_word, mark, low, begins, tuple(features), certain)


def _certain(words: tuple[str, str, str, str], since: int) -> bool | None:
    """Return whether a sentence ends behind a full stop, where initials, titles, amounts and the next word leave no doubt.

    `since` is the number of words since the last possible end.
    """
    before, left, right, _ = words
    stem, begins = _endings[left][2], _beginnings[right][0]
    if not begins.startswith(("capital", "digit")):
        return None
    low = stem.lower()
    if begins.startswith("digit"):
        return False if low in _NUMBERED else None
    if low in _TITLES:
        return False
    form = _form(stem.lstrip("$€£¥"))
    if form == "dotted" and right in _STARTERS and low not in _ABBREVIATIONS:
        return True
    if _INITIAL.fullmatch(left):
        is_name = (
            _INITIAL.fullmatch(right) or _INITIAL.fullmatch(before) or before.rstrip(".").lower() in _TITLES
        )
        return False if is_name else None
    if form == "number":
        return True if since > 1 else None
    is_word = stem.isalpha() and stem.islower() and len(stem) > 2 and low not in _ABBREVIATIONS
    return True if is_word and _INITIAL.fullmatch(right) else None


def _ending(word: str) -> tuple[str, bool, str]:
    """Return the last marks of a word, whether a bracket or quotation closes after them, and the word without them."""
    core = word.rstrip(_CLOSING)
    match = _PUNCTUATION.match(core[::-1])  # from the end: a search would start again at each mark
    if match is None:
        return "", len(core) < len(word), core
    end = len(core) - match.end()
    marks = re.sub(r"\.{2,}", "…", core[end:])
    marks = re.sub(r"([!?])[!?]+", r"\1\1", marks)
    return marks[-2:], len(core) < len(word), core[:end]


def _beginning(word: str) -> tuple[str, bool, str]:
    """Return the kind of a word by its first letters, whether something opens before it, and the word in lower case."""
    core = word.lstrip(_OPENING)
    if not core:
        return "open", True, word
    first = core[0]
    if first.isupper():
        kind = "capitals" if core[1:2].isupper() else "capital"
    else:
        is_kind = {
            "lower": first.islower(),
            "digit": first.isdigit(),
            "mark": first in "-–—•*·>#",
            "other": first.isalpha(),
            "sign": True,
        }
        kind = next(name for name, fits in is_kind.items() if fits)
    if _MARK.fullmatch(core):
        kind += " item"
    match = _FIRST_WORD.match(core)
    return kind, len(core) < len(word), (match[0] if match else first).lower()


_endings = BoundedCache(_ending, most=1 << 14)
_beginnings = BoundedCache(_beginning, most=1 << 14)


def _form(stem: str) -> str:
    if not stem:
        return "none"
    if _NUMBER.fullmatch(stem):
        return "number"
    if len(stem) == 1:
        return "letter" if stem.isupper() else "small letter"
    if "." in stem:
        return "dotted"
    if stem.isupper():
        return "capitals"
    if stem[0].isupper():
        return "capital"
    return "word" if len(stem) > 3 else "short"


_TITLES = frozenset({"mr", "mrs", "ms", "dr", "prof", "rep", "sen", "gov", "gen", "lt", "col", "capt", "sgt"})
_NUMBERED = frozenset({"no", "nos", "fig", "figs", "vol", "p", "pp", "ch", "sec", "eq"})
_ABBREVIATIONS = _TITLES | _NUMBERED | {
    "st", "jr", "sr", "vs", "etc", "e.g", "i.e", "cf", "al", "inc", "ltd", "co", "corp", "dept", "approx",
    "p.s", "a.k.a",
}  # fmt: skip
_INITIAL = re.compile(r"(?:[A-Z]\.)+")
_STARTERS = frozenset({
    "A", "After", "All", "Although", "An", "And", "As", "At", "Because", "But", "Do", "For", "From", "He", "Her", "His", "How", "However",
    "I", "If", "In", "Is", "It", "Its", "My", "No", "Not", "Now", "On", "One", "Our", "She", "So", "Some", "That", "The", "Their", "Then",
    "There", "These", "They", "This", "Those", "To", "We", "What", "When", "Where", "While", "Who", "Why", "With", "Yes", "You", "Your",
})  # fmt: skip


def _by_rule(gap: Gap) -> bool:
    """Return whether a sentence ends by rule: behind a full stop that no abbreviation has and no lower-case letter follows."""
    if gap.mark[-1:] in ("。", "！", "？"):
        return True
    if gap.mark[-1:] not in (".", "!", "?", "…") or gap.begins.startswith(("lower", "sign")):
        return False
    return gap.mark != "." or not (gap.stem in _ABBREVIATIONS or (len(gap.stem) == 1 and gap.stem.isalpha()))
