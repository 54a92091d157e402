"""Learn tokenization from sentences whose text and tokens are both known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import NamedTuple

from gramian.text.feature_scores import FeatureScores
from gramian.text.feature_training import learn_scores
from gramian.text.rule_tokenizer import TextToken
from gramian.text.tokenizer import (
    CHUNK,
    JOINT,
    Tokenizer,
    boundary_features,
    candidate_positions,
    fold_case,
    is_inside_word,
    word_end,
    word_ending,
)

_DENSE_SHARE = 0.1  # of positions between letters are boundaries: the script has no spaces between words
_HELD_OUT = 10  # one sentence in ten is held out to measure F1
_MIN_SENTENCES = 50  # fewer are not held out


class TokenizedText(NamedTuple):
    """A sentence: its text, and its tokens with their offsets. The words of a contraction have the same offsets."""

    text: str
    tokens: Sequence[TextToken]


class Piece(NamedTuple):
    """The text between two boundaries, and the words that it stands for."""

    start: int
    end: int
    words: tuple[str, ...]


def learn_tokenizer(sentences: Sequence[TokenizedText], boundary_mark: str = "") -> Tokenizer:
    """Learn to tokenize as in given sentences, where a token with a space in its text is a compound, joined by underscores.

    The `f1` of the result is measured on the last tenth of the sentences, with a tokenizer learnt from the others.

    Examples
    --------
    >>> tokens = [TextToken("de", 0, 2), TextToken("a", 0, 2), TextToken("casa", 3, 7)]
    >>> [token.word for token in learn_tokenizer([TokenizedText("da casa", tokens)]).tokenize("Da casa")]
    ['De', 'a', 'casa']
    """
    f1 = 1.0
    n_held_out = len(sentences) // _HELD_OUT if len(sentences) >= _MIN_SENTENCES else 0
    n_train = len(sentences) - n_held_out
    counts = _Counts.of(sentences[:n_train])
    if n_held_out:
        f1 = tokenization_f1(_learn(counts, boundary_mark), sentences[n_train:])
        others = _Counts.of(sentences[n_train:])
        counts = _Counts(
            counts.chunks + others.chunks, counts.pieces + others.pieces, counts.words + others.words
        )
    return replace(_learn(counts, boundary_mark), compounds=_compounds(sentences), f1=round(f1, 4))


def tokenization_f1(tokenizer: Tokenizer, sentences: Sequence[TokenizedText]) -> float:
    """Return the F1 of tokens, compared with their offsets."""
    n_matched = n_predicted = n_gold = 0
    for text, tokens in sentences:
        predicted = Counter(tokenizer.tokenize(text))
        n_matched += (predicted & Counter(tokens)).total()
        n_predicted += predicted.total()
        n_gold += len(tokens)
    return 2 * n_matched / (n_predicted + n_gold) if n_gold else 1.0


class _Counts(NamedTuple):
    """Counts of what tokenization is learnt from."""

    chunks: Counter[tuple[str, bool, tuple[int, ...]]]  # text, whether it ends the sentence, boundaries
    pieces: Counter[tuple[str, tuple[str, ...]]]  # text, and the words that it stands for
    words: Counter[str]

    @classmethod
    def of(cls, sentences: Sequence[TokenizedText]) -> _Counts:
        counts = cls(Counter(), Counter(), Counter())
        for sentence in sentences:
            text, pieces = sentence.text, list(_pieces(sentence))
            boundaries = {piece.start for piece in pieces} | {piece.end for piece in pieces}
            chunks = list(CHUNK.finditer(text))
            for number, match in enumerate(chunks, 1):
                start, end = match.span()
                inside = tuple([at - start for at in range(start + 1, end) if at in boundaries])
                counts.chunks[match[0], number == len(chunks), inside] += 1
            counts.pieces.update([(text[start:end], words) for start, end, words in pieces])
            counts.words.update([token.word for token in sentence.tokens])
        return counts


def _learn(counts: _Counts, boundary_mark: str) -> Tokenizer:
    """Return a tokenizer without compounds."""
    endings: Counter[str] = Counter()
    n_inside = 0
    for (chunk, _, boundaries), count in counts.chunks.items():
        n_inside += count * sum([is_inside_word(chunk, position) for position in range(1, len(chunk))])
        folded = fold_case(chunk)
        end = word_end(folded)
        for position in boundaries:
            if is_inside_word(chunk, position):
                endings[word_ending(folded, position, end)] += count
    dense = endings.total() > _DENSE_SHARE * max(1, n_inside)
    clitics = (
        frozenset()
        if dense
        else frozenset(ending for ending, count in endings.items() if count > 1 and ending)
    )

    def examples() -> Iterator[tuple[list[str], bool, int]]:
        for (chunk, is_last, boundaries), count in counts.chunks.items():
            is_boundary = frozenset(boundaries).__contains__
            for position in candidate_positions(chunk, clitics, dense):
                yield boundary_features(chunk, position, is_last, dense), is_boundary(position), count

    scores = learn_scores(examples())
    if scores is None:  # all positions are boundaries, or none is
        _, always, _ = next(examples(), ([], False, 0))
        scores = FeatureScores.of({"bias": 1.0 if always else -1.0})
    expansions = _expansions(counts.pieces)
    return Tokenizer(
        scores,
        clitics=tuple(sorted(clitics)),
        dense=dense,
        contractions=tuple(expansions),
        expansions=tuple(" ".join(words) for words in expansions.values()),
        boundary_mark=boundary_mark,
        quotes=counts.words["``"] > counts.words['"'],
    )


def _pieces(sentence: TokenizedText) -> Iterator[Piece]:
    """Yield the pieces of a sentence between boundaries; a compound is several."""
    for (start, end), tokens in groupby(sentence.tokens, lambda token: (token.start, token.end)):
        words = tuple([token.word for token in tokens])
        if len(words) > 1 or JOINT not in words[0] or sentence.text[start:end] == words[0]:
            yield Piece(start, end, words)
            continue
        for part in words[0].split(JOINT):
            start = sentence.text.index(part, start, end)
            yield Piece(start, start + len(part), (part,))
            start += len(part)


def _expansions(pieces: Counter[tuple[str, tuple[str, ...]]]) -> dict[str, tuple[str, ...]]:
    """Return the most frequent words of each contraction, if they are more frequent than the contraction as a word."""
    counts: dict[str, Counter[tuple[str, ...]]] = {}
    for (text, words), count in pieces.items():
        counts.setdefault(fold_case(text), Counter())[tuple([word.lower() for word in words])] += count
    best = {form: max(words, key=lambda option: (words[option], option)) for form, words in counts.items()}
    return {form: words for form, words in sorted(best.items()) if len(words) > 1}


def _compounds(sentences: Sequence[TokenizedText]) -> tuple[str, ...]:
    """Return the compounds that are joined more often than their parts occur as separate tokens."""
    n_joined = Counter(
        token.word
        for text, tokens in sentences
        for token in tokens
        if JOINT in token.word and text[token.start : token.end] != token.word
    )
    by_first_word: dict[str, set[tuple[str, ...]]] = {}
    for compound in n_joined:
        parts = tuple(compound.split(JOINT))
        by_first_word.setdefault(parts[0], set()).add(parts)
    n_separate: Counter[str] = Counter()
    for _, tokens in sentences if n_joined else ():
        words = tuple([token.word for token in tokens])
        for index, word in enumerate(words):
            n_separate.update(
                JOINT.join(parts)
                for parts in by_first_word.get(word, ())
                if words[index : index + len(parts)] == parts
            )
    return tuple(sorted(compound for compound, count in n_joined.items() if count > n_separate[compound]))
