"""Rule-based tokenization of sentences as in the Penn Treebank, in linear time.

Contractions are split (``do n't``, ``dog 's``), punctuation marks are tokens, a straight double quote becomes two backquotes or two
apostrophes, and a period is split off at the end of the text.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from gramian.errors import OptionError

Style = Literal["penn", "spaces"]


class TextToken(NamedTuple):
    """A word and its span in the text; ``text[start:end]`` differs from `word` for double quotes only."""

    word: str
    start: int
    end: int


class TokenizedText(NamedTuple):
    """A sentence: its text, and its tokens with their offsets. The words of a contraction have the same offsets."""

    text: str
    tokens: Sequence[TextToken]


_CLOSING = r"\])}>\"'»”’"
_APART = r"\"“”„«»()\[\]{}<>?!;@#$%*…—`"  # characters that never stand inside a word
_EMOJI = r"[\u2600-\u27bf\u2b50\u2b55\U0001f000-\U0001faff]\ufe0f?[\U0001f3fb-\U0001f3ff]?"
WHOLE = rf"""
      (?:https?://|www\.)[^\s\0<>\"“”]*[\w/]                           # addresses
    | (?<![\w.+-])[\w.+-]++@[\w-]++(?:\.[\w-]+)+   # only from the first of these characters on: a search that starts at each is quadratic
    | (?<![\w@])@\w+(?:\.\w+)* | (?<![\w\#])\#[^\W\d]\w*                               # @names and #tags
    | [\U0001f1e6-\U0001f1ff]{{2}} | {_EMOJI}(?:\u200d{_EMOJI})*
    | (?<!\S)(?:[:;=8]['^o-]?[()\[\]|/\\DPpOo*]+ | <3+)(?!\S)                   # :-) and <3
"""
"""What is one word, whatever stands in it: a regular expression, verbose."""
_SPLIT = re.compile(
    rf"""
      {WHOLE}
    | (?P<word>(?:
          [^\s\0,:&.\-{_APART}]
        | (?<=\d)[,:](?=\d)                   # 1,000 and 10:30
        | (?<=[A-Z])&(?=[A-Z])                # AT&T
        | -(?!-)(?<!--)
        | \.(?!\.|[{_CLOSING}]*[\s\0]*\Z)(?<!\.\.)
      )+)
    | \.{{2,}} | -{{2,}} | `+ | \S
    """,
    re.VERBOSE,
)
_SUFFIX = re.compile(r"(?:n['’]t|['’](?:s|m|d|ll|re|ve)?)\Z", re.IGNORECASE)
_LONGEST_SUFFIX = 3  # characters
_ELISION = re.compile(r"['’](?:\d|(?:em|cause|cos|til|till|round|bout|n|s|m|d|ll|re|ve)\b)", re.IGNORECASE)
_JOINED = {
    "cannot": 3, "gimme": 3, "gonna": 3, "gotta": 3, "lemme": 3, "wanna": 3, "d'ye": 2, "more'n": 4,
    "'tis": 2, "'twas": 2,
}  # fmt: skip


def tokenize(text: str, style: Style = "penn") -> list[TextToken]:
    """Cut one sentence into words, as treebanks of English do ("penn") or at white space only ("spaces").

    Unlike NLTK's word tokeniser, addresses (``https://...``, ``a@b.org``), ``@names``, ``#tags``, emoji and initials (``AT&T``) stay
    whole, a single quote that opens a quotation stands apart, and a curly apostrophe counts as an apostrophe.
    """
    if style == "spaces":
        return [TextToken(match[0], *match.span()) for match in re.finditer(r"[^\s\0]+", text)]
    if style != "penn":
        raise OptionError(f"a style of tokens is 'penn' or 'spaces', not {style!r}")
    tokens: list[TextToken] = []
    for match in _SPLIT.finditer(text):
        start, end = match.span()
        if match["word"] is not None:
            tokens += _parts(text, start, end)
        elif match[0] == '"':
            tokens.append(TextToken(penn_quote(text, start), start, end))
        elif match[0] != "\0":
            tokens.append(TextToken(match[0], start, end))
    return tokens


def penn_quote(text: str, start: int) -> str:
    """Return what the Penn Treebank makes of the double quote at ``text[start]``: two backquotes if it opens, else two apostrophes."""
    before = text[start - 1] if start else " "
    return "``" if before.isspace() or before in "([{<" else "''"


def _parts(text: str, start: int, end: int) -> Iterator[TextToken]:
    """Yield the parts of a word that may hold apostrophes or be two words in one."""
    word = text[start:end]
    plain = word.replace("’", "'").lower()
    if (cut := _JOINED.get(plain)) is not None:
        yield TextToken(word[:cut], start, start + cut)
        yield TextToken(word[cut:], start + cut, end)
        return
    if "'" not in plain:
        yield TextToken(word, start, end)
        return
    offset = start
    while plain.startswith("''", start - offset):  # a quotation mark made of two
        yield TextToken(text[start : start + 2], start, start + 2)
        start += 2
    if end - start > 1 and plain[start - offset] == "'" and not _ELISION.match(text, start, end):
        yield TextToken(text[start], start, start + 1)
        start += 1
    suffixes: list[TextToken] = []
    while end - start > 1:
        first = max(start + 1, end - _LONGEST_SUFFIX)
        if text.endswith("''", first, end):
            first = end - 2
        elif (suffix := _SUFFIX.search(text, first, end)) is not None:
            first = suffix.start()
        else:
            break
        suffixes.append(TextToken(text[first:end], first, end))
        end = first
    if start < end:
        yield TextToken(text[start:end], start, end)
    yield from reversed(suffixes)
