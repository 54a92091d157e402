"""Text of treebank sentences: training data for segmentation and tokenization.

CoNLL-U has the original spacing (``SpaceAfter=No``) and contractions. For trees both are restored by rule: punctuation is attached as in
print, and the conventions of treebanks (``parce_que``, ``vetur$ $inn``, ``de a`` for ``da``) are undone for each language.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from gramian.text.rule_tokenizer import TextToken, TokenizedText
from gramian.text.tokenizer import JOINT
from gramian.trees.conllu import Sentence, Token

_CLOSING = re.compile(r"[.,;:?!…%)\]}»”’°]+|\.{2,}|''|-[RL](?:RB|SB|CB)-")
_OPENING = frozenset("([{$#«“‘£€¿¡") | {"``", "`", "US$"}
_ENCLITIC = re.compile(r"['’](?:s|m|d|ll|re|ve|t|em)?|n['’]t|-[^\W\d].*", re.IGNORECASE)  # 's, n't, -il
_PROCLITIC = re.compile(r".*\w['’]|\w.*-")  # l', ex-
_HYPHEN_TAGS = frozenset({"HYPH", "AFX"})
_QUOTES = frozenset({'"', "'"})


@dataclass(frozen=True)
class Orthography:
    """How the words of a language's treebanks are written in text."""

    spaces: bool = True  # between words
    compounds: bool = False  # whether treebanks join several words by underscores
    boundary_mark: str = ""  # of treebanks, on either side of a boundary inside a word
    contractions: Mapping[tuple[str, str], str] = field(default_factory=dict)  # pairs of words written as one
    attached: frozenset[str] = frozenset()  # words that are written as the end of the previous word
    hyphens: bool = False  # whether hyphens, which are tokens, are written without spaces


def _portuguese_contractions() -> dict[tuple[str, str], str]:
    articles = ("o", "a", "os", "as")
    demonstratives = [stem + end for stem in ("est", "ess", "aquel") for end in ("e", "a", "es", "as")]
    others = [
        *demonstratives,
        *["isto", "isso", "aquilo", "ele", "ela", "eles", "elas", "aqui", "ali", "outro", "outra"],
    ]
    contractions = {("de", word): "d" + word for word in (*articles, *others)}
    contractions |= {("em", word): "n" + word for word in (*articles, *others, "um", "uma", "uns", "umas")}
    contractions |= {("por", word): "pel" + word for word in articles}
    contractions |= {("a", word): form for word, form in zip(articles, ("ao", "à", "aos", "às"), strict=True)}
    contractions |= {("a", word): "à" + word[1:] for word in others if word.startswith("aquel")}
    pronouns = ("comigo", "contigo", "consigo", "connosco", "convosco")
    return contractions | {("com", word[3:]): word for word in pronouns}


ORTHOGRAPHIES = {
    "es": Orthography(compounds=True),
    "fr": Orthography(compounds=True),
    "id": Orthography(attached=frozenset({"nya"}), hyphens=True),
    "is": Orthography(boundary_mark="$"),
    "ja": Orthography(spaces=False),
    "pt": Orthography(compounds=True, contractions=_portuguese_contractions()),
}


def detokenize(words: Sequence[str], tags: Sequence[str], orthography: Orthography) -> TokenizedText:
    r"""Return words as they are written in text.

    Examples
    --------
    >>> detokenize(["l'", "eau", "et", "ainsi_que", "moi", "."], ["D"] * 6, ORTHOGRAPHIES["fr"]).text
    "l'eau et ainsi que moi."
    >>> detokenize(["a", "casa", "de", "a", "Ana"], ["D"] * 5, ORTHOGRAPHIES["pt"]).text
    'a casa da Ana'
    >>> detokenize(["She", "said", '"', "do", "n't", '"', "(", "twice", ")", "."], ["X"] * 10, Orthography()).text
    'She said "don\'t" (twice).'
    """
    text = ""
    tokens: list[TextToken] = []
    attach_next, is_quoted = True, dict.fromkeys(_QUOTES, False)
    index = 0
    while index < len(words):
        word, tag = words[index], tags[index]
        pair = (word.lower(), words[index + 1].lower()) if index + 1 < len(words) else ("", "")
        contraction = orthography.contractions.get(pair)
        size = 1 if contraction is None else 2  # in words
        if contraction is not None:
            parts = [contraction[0].upper() + contraction[1:] if word[0].isupper() else contraction]
        else:
            parts = _split_compound(word, orthography)
        start = -1
        for part in parts:
            attach, attach_following = _attachment(part, tag, is_quoted, orthography)
            if text and not (attach_next or attach):
                text += " "
            start = len(text) if start < 0 else start
            text += '"' if part in ("``", "''") else part.strip(orthography.boundary_mark) or part
            attach_next = attach_following or not orthography.spaces
        if orthography.boundary_mark and len(word) > 1:
            attach_next = attach_next or word.endswith(orthography.boundary_mark)
        tokens += [TextToken(token, start, len(text)) for token in words[index : index + size]]
        index += size
    return TokenizedText(text, tokens)


def _split_compound(word: str, orthography: Orthography) -> list[str]:
    parts = word.split(JOINT)
    return parts if orthography.compounds and all(parts) else [word]


def _attachment(
    word: str, tag: str, is_quoted: dict[str, bool], orthography: Orthography
) -> tuple[bool, bool]:
    """Return whether a word is written without a space before it, and without one after it."""
    if word in _QUOTES and tag != "POS":
        is_quoted[word] = not is_quoted[word]
        return not is_quoted[word], is_quoted[word]
    if tag in _HYPHEN_TAGS or word == "/" or (orthography.hyphens and word == "-"):
        return len(word) == 1, True
    if word in _OPENING:
        return False, True
    is_enclitic = len(word) > 1 and _ENCLITIC.fullmatch(word) is not None
    mark = orthography.boundary_mark
    attach = bool(_CLOSING.fullmatch(word)) or is_enclitic or tag == "POS" or word in orthography.attached
    attach = attach or bool(mark and word[:1] == mark != word)
    return attach, bool(len(word) > 1 and _PROCLITIC.fullmatch(word) and not _ENCLITIC.fullmatch(word))


def detokenize_conllu(sentences: Iterable[Sentence]) -> Iterator[TokenizedText]:
    """Yield the texts of CoNLL-U sentences, with spaces as in ``SpaceAfter=No`` and contractions as in multiword ranges."""
    for sentence in sentences:
        ranges = sentence.multiword_ranges()
        text = ""
        tokens: list[TextToken] = []
        rows = list(sentence.tokens)
        while rows:
            last, form, misc = ranges.get(rows[0].id, (rows[0].id, rows[0].form, rows[0].misc))
            words = rows[: last - rows[0].id + 1]
            tokens += _align(words, form, len(text))
            rows = rows[len(words) :]
            text += form + ("" if "SpaceAfter=No" in misc else " ")
        yield TokenizedText(text.rstrip(" "), tokens)


def _align(words: Sequence[Token], form: str, start: int) -> list[TextToken]:
    """Return the words of a form with their offsets: of their own letters if they make up the form, else those of the form."""
    if "".join(word.form for word in words) != form:
        return [TextToken(word.form, start, start + len(form)) for word in words]
    tokens = []
    for word in words:
        tokens.append(TextToken(word.form, start, start + len(word.form)))
        start += len(word.form)
    return tokens
