"""Scores of parsed text as in the CoNLL 2018 shared task (Zeman et al. 2018): system and gold words may differ.

Both files must have the same characters apart from white space. Tokens and sentences are compared by their first and last character. A
word outside multiword tokens is aligned with the word of the same characters; inside them, the longest common subsequence of lower-cased
forms is aligned. Every other metric counts aligned words whose annotation agrees, with

    precision = agreeing / system words        recall = agreeing / gold words

of the words that the metric considers. Relations are compared without subtypes, features without those of single languages.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from gramian.errors import ScoreError
from gramian.trees.conllu import Sentence, Token

Span: TypeAlias = tuple[int, int]

_FUNCTIONAL = frozenset({"aux", "case", "cc", "clf", "cop", "det", "mark"})
_CONTENT = re.compile(
    "acl|advcl|advmod|amod|appos|ccomp|compound|conj|csubj|dep|discourse|dislocated|expl|fixed|flat|goeswith|iobj|list|nmod|nsubj|nummod"
    "|obj|obl|orphan|parataxis|reparandum|root|vocative|xcomp"
).fullmatch
_IS_UNIVERSAL = re.compile(
    "(Abbr|Animacy|Aspect|Case|Definite|Degree|Evident|Foreign|Gender|Mood|NumType|Number|Person|Polarity|Polite|Poss|PronType|Reflex"
    "|Tense|VerbForm|Voice)=.*"
).fullmatch
_CONTEXT = 20  # characters of a difference that a message quotes


@dataclass(frozen=True, slots=True)
class ConllScore:
    """Counts of one metric, and the scores in percent.

    Examples
    --------
    >>> score = ConllScore(correct=3, gold=4, system=5, aligned=4)
    >>> score.precision, score.recall, round(score.f1, 2), score.accuracy
    (60.0, 75.0, 66.67, 75.0)
    """

    correct: int
    gold: int
    system: int
    aligned: int

    @property
    def precision(self) -> float:
        """Share of the system's units that are correct."""
        return _percent(self.correct, self.system)

    @property
    def recall(self) -> float:
        """Share of the gold units that are correct."""
        return _percent(self.correct, self.gold)

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        return _percent(2 * self.correct, self.gold + self.system)

    @property
    def accuracy(self) -> float:
        """Share of the aligned words that are correct."""
        return _percent(self.correct, self.aligned)


def conll_scores(gold: Sequence[Sentence], system: Sequence[Sentence]) -> dict[str, ConllScore]:
    """Compute the metrics of the CoNLL 2018 shared task.

    Returns
    -------
    dict
        By name: Tokens, Sentences, Words, UPOS, XPOS, UFeats, AllTags, Lemmas, UAS, LAS, CLAS, MLAS and BLEX.

    Raises
    ------
    ScoreError
        If the files have different characters.

    Examples
    --------
    >>> from gramian.trees import Sentence, Token
    >>> gold = [Sentence((Token(1, "dogs", head=2, deprel="nsubj"), Token(2, "bark", head=0, deprel="root")))]
    >>> scores = conll_scores(gold, [gold[0].with_heads([0, 1])])
    >>> scores["Words"].f1, scores["UAS"].f1
    (100.0, 0.0)
    """
    ours, theirs = _Document.of(gold), _Document.of(system)
    if ours.characters != theirs.characters:
        raise ScoreError(_difference(ours.characters, theirs.characters))
    pairs = _aligned(ours, theirs)
    gold_index = {second: first for first, second in pairs} | {_ROOT: _ROOT}
    scores = {
        "Tokens": _span_score(ours.token_spans, theirs.token_spans),
        "Sentences": _span_score(ours.sentence_spans, theirs.sentence_spans),
        "Words": ConllScore(len(pairs), len(ours.words), len(theirs.words), len(pairs)),
    }
    for name, metric in _METRICS.items():
        considered = [word for word, token in enumerate(ours.words) if metric.considers(token)]
        kept = set(considered)
        chosen = [(first, second) for first, second in pairs if first in kept]
        correct = sum(
            metric.annotation(ours, first, ours.words[first], _identity)
            == metric.annotation(theirs, second, ours.words[first], gold_index.get)
            for first, second in chosen
        )
        n_system = sum(map(metric.considers, theirs.words))
        scores[name] = ConllScore(correct, len(considered), n_system, len(chosen))
    return scores


_ROOT, _NO_HEAD = -1, -2


@dataclass
class _Document:
    """All words of a file; spans count characters that are not white space."""

    characters: str = ""
    token_spans: list[Span] = field(default_factory=list)
    sentence_spans: list[Span] = field(default_factory=list)
    words: list[Token] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)  # of the words; those of a multiword token have its span
    in_multiword: list[bool] = field(default_factory=list)
    heads: list[int] = field(default_factory=list)  # indices of words, or _ROOT, or _NO_HEAD
    functional: list[list[int]] = field(default_factory=list)  # the function words that depend on each word

    @classmethod
    def of(cls, sentences: Sequence[Sentence]) -> _Document:
        document = cls()
        texts: list[str] = []
        position = 0
        for sentence in sentences:
            first_word, first_position = len(document.words), position
            ranges = sentence.multiword_ranges()
            index = 0
            while index < len(sentence):
                last, form, _ = ranges.get(index + 1, (index + 1, sentence.tokens[index].form, ""))
                letters = "".join(form.split())
                span = position, position + len(letters)
                texts.append(letters)
                document.token_spans.append(span)
                for token in sentence.tokens[index:last]:
                    document.words.append(token)
                    document.spans.append(span)
                    document.in_multiword.append(index + 1 in ranges)
                    head = token.head
                    document.heads.append(
                        _NO_HEAD if head is None else head - 1 + first_word if head else _ROOT
                    )
                    document.functional.append([])
                index, position = last, span[1]
            document.sentence_spans.append((first_position, position))
        for word, (token, head) in enumerate(zip(document.words, document.heads, strict=True)):
            if head >= 0 and _relation(token) in _FUNCTIONAL:
                document.functional[head].append(word)
        document.characters = "".join(texts)
        return document


def _aligned(gold: _Document, system: _Document) -> list[tuple[int, int]]:
    """Return pairs of indices of words."""
    regions = _regions([*_multiword_spans(gold), *_multiword_spans(system)])
    gold_words, gold_inside = _by_region(gold, regions)
    system_words, system_inside = _by_region(system, regions)
    pairs = [(word, system_words[span]) for span, word in gold_words.items() if span in system_words]
    for ours, theirs in zip(gold_inside, system_inside, strict=True):
        pairs += _common(gold, ours, system, theirs)
    return sorted(pairs)


def _multiword_spans(document: _Document) -> list[Span]:
    return [span for span, inside in zip(document.spans, document.in_multiword, strict=True) if inside]


def _regions(spans: list[Span]) -> list[Span]:
    """Return the unions of overlapping spans."""
    regions: list[Span] = []
    for start, end in sorted(spans):
        if regions and start < regions[-1][1]:
            regions[-1] = regions[-1][0], max(end, regions[-1][1])
        else:
            regions.append((start, end))
    return regions


def _by_region(document: _Document, regions: list[Span]) -> tuple[dict[Span, int], list[list[int]]]:
    """Return the words outside regions by their spans, and those inside each region; words on the edge of one are in neither."""
    outside: dict[Span, int] = {}
    inside: list[list[int]] = [[] for _ in regions]
    index = 0
    for word, (start, end) in enumerate(document.spans):
        while index < len(regions) and regions[index][1] <= start:
            index += 1
        if index == len(regions) or end <= regions[index][0]:
            outside[start, end] = word
        elif regions[index][0] <= start and end <= regions[index][1]:
            inside[index].append(word)
    return outside, inside


def _common(gold: _Document, ours: list[int], system: _Document, theirs: list[int]) -> list[tuple[int, int]]:
    """Align the longest common subsequence of lower-cased forms."""
    left = [gold.words[word].form.lower() for word in ours]
    right = [system.words[word].form.lower() for word in theirs]
    length = [[0] * (len(right) + 1) for _ in range(len(left) + 1)]
    for i in range(len(left) - 1, -1, -1):
        for j in range(len(right) - 1, -1, -1):
            same = left[i] == right[j]
            length[i][j] = 1 + length[i + 1][j + 1] if same else max(length[i + 1][j], length[i][j + 1])
    pairs, i, j = [], 0, 0
    while i < len(left) and j < len(right):
        if left[i] == right[j]:
            pairs.append((ours[i], theirs[j]))
            i, j = i + 1, j + 1
        elif length[i + 1][j] >= length[i][j + 1]:
            i += 1
        else:
            j += 1
    return pairs


class _Metric(NamedTuple):
    """Which words count, and what must agree, given a document, a word, its aligned gold word, and the map of indices to gold."""

    considers: Callable[[Token], bool]
    annotation: Callable[[_Document, int, Token, Callable[[int], int | None]], Any]


def _identity(word: int) -> int:
    return word


def _every(_: Token) -> bool:
    return True


def _is_content(token: Token) -> bool:
    return _CONTENT(_relation(token)) is not None


def _relation(token: Token) -> str:
    return token.deprel.partition(":")[0]


def _features(token: Token) -> tuple[str, ...]:
    return tuple(sorted(filter(_IS_UNIVERSAL, token.feats.split("|"))))


def _lemma(token: Token, gold: Token) -> str:
    return "_" if gold.lemma == "_" else token.lemma  # gold words without a lemma are not judged


def _arc(document: _Document, word: int, to_gold: Callable[[int], int | None]) -> tuple[int | None, str]:
    head = document.heads[word]
    return (None if head == _NO_HEAD else to_gold(head)), _relation(document.words[word])


def _with_functional(
    document: _Document, word: int, _: Token, to_gold: Callable[[int], int | None]
) -> tuple[Any, ...]:
    """Return what MLAS compares: arc, tag and features of a word, and those of its function words."""
    token = document.words[word]
    children = [
        (to_gold(child), _relation(other), other.upos, _features(other))
        for child in document.functional[word]
        for other in (document.words[child],)
    ]
    return _arc(document, word, to_gold), token.upos, _features(token), children


_METRICS = {
    "UPOS": _Metric(_every, lambda document, word, *_: document.words[word].upos),
    "XPOS": _Metric(_every, lambda document, word, *_: document.words[word].xpos),
    "UFeats": _Metric(_every, lambda document, word, *_: _features(document.words[word])),
    "AllTags": _Metric(
        _every,
        lambda document, word, *_: (
            document.words[word].upos,
            document.words[word].xpos,
            _features(document.words[word]),
        ),
    ),
    "Lemmas": _Metric(_every, lambda document, word, gold, _: _lemma(document.words[word], gold)),
    "UAS": _Metric(_every, lambda document, word, _, to_gold: _arc(document, word, to_gold)[0]),
    "LAS": _Metric(_every, lambda document, word, _, to_gold: _arc(document, word, to_gold)),
    "CLAS": _Metric(_is_content, lambda document, word, _, to_gold: _arc(document, word, to_gold)),
    "MLAS": _Metric(_is_content, _with_functional),
    "BLEX": _Metric(
        _is_content,
        lambda document, word, gold, to_gold: (
            _arc(document, word, to_gold),
            _lemma(document.words[word], gold),
        ),
    ),
}


def _span_score(gold: Sequence[Span], system: Sequence[Span]) -> ConllScore:
    correct = len(set(gold) & set(system))
    return ConllScore(correct, len(gold), len(system), correct)


def _percent(part: int, whole: int) -> float:
    return 100.0 * part / whole if whole else 0.0


def _difference(gold: str, system: str) -> str:
    """Describe where two texts part."""
    pairs = enumerate(zip(gold, system, strict=False))
    position = next((index for index, (a, b) in pairs if a != b), min(len(gold), len(system)))
    ours, theirs = (text[position : position + _CONTEXT] for text in (gold, system))
    return (
        f"the files hold different text: after {position:,} characters (without white space), gold continues {ours!r}, "
        f"the prediction {theirs!r}; try: parse the text of the gold file"
    )
