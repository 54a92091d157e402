"""Guess the language of a sentence by its script and its function words."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

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


def foreign_language(
    words: Sequence[str], expected: str | None, is_known: Callable[[str], bool] = lambda _: True
) -> str | None:
    """Return the ISO 639 code of the language that a sentence seems to be in if that is not the expected one, else None.

    `is_known` tells whether a word is in the vocabulary of the `expected` language; if that is None, only the share of known words
    counts.
    """
    spelt = [word for word in words if word[:1].isalpha()]
    if not spelt:
        return None
    if expected is None:
        spelt = list(dict.fromkeys(spelt))
        is_foreign = len(spelt) >= _MANY_SPELT and sum(map(is_known, spelt)) < _NO_COVERAGE * len(spelt)
        return UNDETERMINED if is_foreign else None
    script = _language_of_script("".join(spelt))
    if script and script not in ("ru", expected):
        return None if {script, expected} == {"ja", "zh"} else script
    spelt = list(dict.fromkeys(word.lower() for word in spelt))
    counts: Counter[str] = Counter()
    for word in spelt:
        counts.update(_languages_of_words().get(word, ()))
    n_expected = counts.pop(expected, 0)
    language, count = max(counts.items(), key=lambda item: (item[1], item[0]), default=(UNDETERMINED, 0))
    if script == "ru" and expected not in _CYRILLIC:
        return language if language in _CYRILLIC else "ru"
    if count >= max(_MIN_WORDS, _MIN_SHARE * len(spelt), _MIN_FACTOR * n_expected + 1):
        return language
    if n_expected > count or len(spelt) < _MIN_SPELT:
        return None
    coverage = sum(map(is_known, spelt)) / len(spelt)
    return language if coverage < (_LOW_COVERAGE if count else _NO_COVERAGE) else None


_CYRILLIC = ("bg", "ru", "sr", "uk")


@cache
def _languages_of_words() -> dict[str, tuple[str, ...]]:
    """Return the languages that have each function word."""
    languages: dict[str, tuple[str, ...]] = {}
    for line in (Path(__file__).parent / "function.words").read_text("utf-8").splitlines():
        code, *words = line.split()
        for word in dict.fromkeys(words) if code != "#" else ():
            languages[word] = (*languages.get(word, ()), code)
    return languages


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
