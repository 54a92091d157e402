"""Guess the language of a sentence by its script and its function words."""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from gramian.io.bounded_cache import BoundedCache

UNDETERMINED = "und"
"""ISO 639 code of a language that is not the expected one, and that nobody has guessed."""
_SCRIPTS = {
    "HIRAGANA": "ja", "KATAKANA": "ja", "CJK": "zh", "HANGUL": "ko", "ARABIC": "ar", "HEBREW": "he", "GREEK": "el", "THAI": "th",
    "DEVANAGARI": "hi", "BENGALI": "bn", "TAMIL": "ta", "GEORGIAN": "ka", "ARMENIAN": "hy", "CYRILLIC": "ru", "LATIN": "",
}  # fmt: skip
_MIN_WORDS = 2  # function words of another language
_MIN_SHARE = 0.2  # of the words
_MIN_FACTOR = 1.5  # as many function words as the expected language has
_LOW_COVERAGE = 0.6  # of the vocabulary: below, a single function word is enough
_NO_COVERAGE = 0.35  # below, none is needed
_MIN_SPELT, _MANY_SPELT = 4, 8  # words, for that
_MIN_POINTS = 3  # of evidence, where words are fewer
_WORD = re.compile(r"\W*([^\W\d_](?:[^\W\d_]|['-])*)\W*")  # no address, number or abbreviation
_PIECE = re.compile(r"[^\W\d_]+'?")  # the French J'ai is two
_CYRILLIC = ("bg", "ru", "sr", "uk")


def foreign_language(
    words: Sequence[str],
    expected: str | None,
    is_known: Callable[[str], bool] = lambda _: True,
    *,
    chunks: Sequence[str] = (),
) -> str | None:
    """Return the ISO 639 code of the language that a sentence seems to be in if that is not the expected one, else None.

    `is_known` tells whether a token is in the vocabulary of the `expected` language; if that is None, only the share of known tokens
    counts. `chunks` is the text between white space, if known: a tokenizer may have split words of other languages.
    """
    spelt = list(dict.fromkeys(word.lower() for word in words if word[:1].isalpha()))
    if not spelt:
        return None
    unknown = [word for word in spelt if not is_known(word)]
    coverage = 1 - len(unknown) / len(spelt)
    if expected is None:
        return UNDETERMINED if len(spelt) >= _MANY_SPELT and coverage < _NO_COVERAGE else None
    script = _language_of_script("".join(spelt))
    if script and script not in ("ru", expected):
        return None if {script, expected} == {"ja", "zh"} else script
    languages: dict[str, tuple[str, ...]] = {}  # that have each function word
    for chunk in chunks or words:
        languages.update(_FUNCTION_WORDS[chunk])
    exclusive = Counter(code for codes in languages.values() if expected not in codes for code in codes)
    needed = max(_MIN_WORDS, _MIN_SHARE * len(spelt))
    is_known_text = script != "ru" and coverage >= _LOW_COVERAGE and not (exclusive and unknown)
    if is_known_text and max(exclusive.values(), default=0) < needed:
        return None
    shared = Counter(code for codes in languages.values() if expected in codes for code in codes)
    letters = set("".join(unknown)).union(word[0] for word in words if not word[0].isalnum())
    points = {
        code: 2 * exclusive[code] + shared[code] + len(letters & typical)
        for code, typical in _typical_letters().items()
        if code != expected
    }
    language, evidence = max(points.items(), key=lambda item: (item[1], item[0]))
    if script == "ru" and expected not in _CYRILLIC:
        return language if language in _CYRILLIC else "ru"
    count, n_expected = exclusive[language], shared[expected] - shared[language]
    if count >= max(needed, _MIN_FACTOR * n_expected + 1):
        return language
    if 2 * n_expected > evidence or (len(spelt) < _MIN_SPELT and (n_expected or evidence < _MIN_POINTS)):
        return None
    if coverage < (_LOW_COVERAGE if evidence > shared[language] else _NO_COVERAGE):
        return language if evidence else UNDETERMINED
    return language if count and coverage < 1 and not n_expected and evidence >= len(spelt) else None


class LanguageCheck:
    """Tells sentences in other languages than the expected one, most of the others by one look at each of their words.

    Parameters
    ----------
    expected : str, optional
    is_known : callable
        As for :func:`foreign_language`.
    """

    def __init__(self, expected: str | None, is_known: Callable[[str], bool]) -> None:
        self._expected, self._is_known = expected, is_known
        self._words = BoundedCache(self._word)

    def __call__(self, words: Sequence[str], chunks: Sequence[str] = ()) -> str | None:
        """Return what :func:`foreign_language` does."""
        known: set[str] = set()
        unknown: set[str] = set()
        looked_up = self._words
        is_plain = self._expected is not None
        for word in words:
            lower, is_known, has_doubt = looked_up[word]
            if has_doubt:
                is_plain = False
            (known if is_known else unknown).add(lower)
        for chunk in chunks:
            if looked_up[chunk][2]:
                is_plain = False
        known.discard("")
        if is_plain and len(known) >= _LOW_COVERAGE * (len(known) + len(unknown)):
            return None
        return foreign_language(words, self._expected, lambda lower: lower not in unknown, chunks=chunks)

    def _word(self, word: str) -> tuple[str, bool, bool]:
        """Return a word in small letters, empty if it has none, whether it is known, and whether it may tell another language."""
        lower = word.lower() if word[:1].isalpha() else ""
        codes = [codes for _, codes in _FUNCTION_WORDS[word] if self._expected not in codes]
        return lower, not lower or self._is_known(lower), bool(codes) or not word.isascii()


@cache
def _lists() -> dict[str, tuple[list[str], frozenset[str]]]:
    """Return the function words and the typical letters of each language."""
    lists = {}
    for line in (Path(__file__).parent / "function.words").read_text("utf-8").splitlines():
        code, *items = line.split()
        if code != "#":
            end = items.index("/") if "/" in items else len(items)
            lists[code] = items[:end], frozenset(items[end + 1 :])
    return lists


def _typical_letters() -> dict[str, frozenset[str]]:
    return {code: letters for code, (_, letters) in _lists().items()}


@cache
def _languages_of_words() -> dict[str, tuple[str, ...]]:
    """Return the languages that have each function word."""
    languages: dict[str, tuple[str, ...]] = {}
    for code, (words, _) in _lists().items():
        for word in dict.fromkeys(words):
            languages[word] = (*languages.get(word, ()), code)
    return languages


def _find_function_words(chunk: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the function words of any language in a chunk of text, each with the languages that have it."""
    match = _WORD.fullmatch(chunk.lower().replace("’", "'"))
    known = _languages_of_words()
    pieces = [] if match is None else _PIECE.findall(match[1])
    codes = [known.get(piece) or known.get(piece.rstrip("'"), ()) for piece in pieces]
    return tuple((piece, each) for piece, each in zip(pieces, codes, strict=True) if each)


_FUNCTION_WORDS = BoundedCache(_find_function_words)


def _language_of_script(text: str) -> str:
    """Return the language that the most frequent script stands for; an empty text for Latin letters."""
    if text.isascii():
        return ""
    scripts = Counter(map(_script, text))
    if scripts["ja"]:
        scripts["ja"] += scripts.pop("zh", 0)  # Japanese mixes both
    return max(scripts, key=lambda language: scripts[language])


@cache
def _script(character: str) -> str:
    return _SCRIPTS.get(unicodedata.name(character, "").split(" ")[0].split("-")[0], "")
