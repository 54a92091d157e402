"""Learning how a treebank cuts words, from sentences whose text and words are both known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import NamedTuple

from gramian.text.feature_scores import FeatureScores
from gramian.text.feature_training import learn_scores
from gramian.text.rule_tokenizer import TextToken
from gramian.text.tokenizer import CHUNK, JOINT, Tokenizer, features, places, plain, tail, word_end

_DENSE = 0.1  # share of places between two letters where words are cut, from which spaces say little
_HELD_OUT = 10  # one part in ten is, to see how well words are cut
_ENOUGH = 50  # sentences, of which some can be held out


class Written(NamedTuple):
    """A sentence: its text, and its words with their places there. Words of one contraction have the same place."""

    text: str
    tokens: Sequence[TextToken]


class Piece(NamedTuple):
    """What stands in the text between two cuts, and the words that it stands for."""

    start: int
    end: int
    words: tuple[str, ...]


def learn_cutter(sentences: Sequence[Written], mark: str = "") -> Tokenizer:
    """Learn to cut words as in given sentences.

    Parameters
    ----------
    sentences : sequence of Written
        A word with a space in its text is one that underscores join.
    mark : str
        What the treebank writes at either side of a cut between two letters.

    Returns
    -------
    Tokenizer
        Its `right` is measured on the last tenth of the sentences, by what is learnt from the others.

    Examples
    --------
    >>> tokens = [TextToken("de", 0, 2), TextToken("a", 0, 2), TextToken("casa", 3, 7)]
    >>> [token.word for token in learn_cutter([Written("da casa", tokens)]).cut("Da casa")]
    ['De', 'a', 'casa']
    """
    right = 1.0
    held_out = len(sentences) // _HELD_OUT if len(sentences) >= _ENOUGH else 0
    cut = len(sentences) - held_out
    seen, last = _Seen.of(sentences[:cut]), _Seen.of(sentences[cut:])
    if held_out:
        right = share_right(_learnt(seen, mark), sentences[cut:])
        seen = _Seen(seen.chunks + last.chunks, seen.pieces + last.pieces, seen.words + last.words)
    compounds = _compounds(sentences)
    return replace(_learnt(seen, mark), compounds=compounds, right=round(right, 4))


def share_right(cutter: Tokenizer, sentences: Sequence[Written]) -> float:
    """Return the F1 of words, each with its place, that a cutter finds in the texts of sentences."""
    same = found = wanted = 0
    for text, tokens in sentences:
        cut = Counter(cutter.cut(text))
        same += (cut & Counter(tokens)).total()
        found += cut.total()
        wanted += len(tokens)
    return 2 * same / (found + wanted) if wanted else 1.0


class _Seen(NamedTuple):
    """What sentences have to say of cuts, each with the number of times that it was seen."""

    chunks: Counter[
        tuple[str, bool, tuple[int, ...]]
    ]  # between two white spaces; whether it is the last; where it is cut
    pieces: Counter[
        tuple[str, tuple[str, ...]]
    ]  # what stands between two cuts, and the words that it stands for
    words: Counter[str]

    @classmethod
    def of(cls, sentences: Sequence[Written]) -> _Seen:
        """Count what sentences have."""
        seen = cls(Counter(), Counter(), Counter())
        for sentence in sentences:
            text, pieces = sentence.text, list(_pieces(sentence))
            cuts = {piece.start for piece in pieces} | {piece.end for piece in pieces}
            chunks = list(CHUNK.finditer(text))
            for number, match in enumerate(chunks, 1):
                start, end = match.span()
                inner = tuple([place - start for place in range(start + 1, end) if place in cuts])
                seen.chunks[match[0], number == len(chunks), inner] += 1
            seen.pieces.update([(text[start:end], words) for start, end, words in pieces])
            seen.words.update([token.word for token in sentence.tokens])
        return seen


def _learnt(seen: _Seen, mark: str) -> Tokenizer:
    """Return a cutter that knows of no compounds."""
    tails: Counter[str] = Counter()
    inside = 0
    for (text, _, cuts), times in seen.chunks.items():
        inside += times * sum([_is_inside(text, place) for place in range(1, len(text))])
        low = plain(text)
        end = word_end(low)
        for place in cuts:
            if _is_inside(text, place):
                tails[tail(low, place, end)] += times
    dense = tails.total() > _DENSE * max(1, inside)
    known = () if dense else tuple(sorted(one for one, times in tails.items() if times > 1 and one))
    known_tails = frozenset(known)

    def examples() -> Iterator[tuple[list[str], bool, int]]:
        for (text, last, cuts), times in seen.chunks.items():
            is_cut = frozenset(cuts).__contains__
            for place in places(text, known_tails, dense):
                yield features(text, place, last, dense), is_cut(place), times

    scores = learn_scores(examples())
    if scores is None:  # words are cut everywhere, or nowhere
        _, always, _ = next(examples(), ([], False, 0))
        scores = FeatureScores.of({"bias": 1.0 if always else -1.0})
    written = _contractions(seen.pieces)
    return Tokenizer(
        scores,
        tails=known,
        dense=dense,
        written=tuple(written),
        meant=tuple(" ".join(words) for words in written.values()),
        mark=mark,
        quotes=seen.words["``"] > seen.words['"'],
    )


def _is_inside(text: str, place: int) -> bool:
    return text[place - 1].isalnum() and text[place].isalnum()


def _pieces(sentence: Written) -> Iterator[Piece]:
    """Yield what stands between two cuts."""
    for (start, end), same in groupby(sentence.tokens, lambda token: (token.start, token.end)):
        words = tuple([token.word for token in same])
        if len(words) > 1 or JOINT not in words[0] or sentence.text[start:end] == words[0]:
            yield Piece(start, end, words)
            continue
        for part in words[0].split(JOINT):
            start = sentence.text.index(part, start, end)
            yield Piece(start, start + len(part), (part,))
            start += len(part)


def _contractions(pieces: Counter[tuple[str, tuple[str, ...]]]) -> dict[str, tuple[str, ...]]:
    """Return what is written otherwise than its words in at least half of its occurrences."""
    meanings: dict[str, Counter[tuple[str, ...]]] = {}
    for (text, words), times in pieces.items():
        low = tuple([word.lower() for word in words])
        meanings.setdefault(plain(text), Counter())[low] += times
    best = {name: max(counts, key=lambda words: (counts[words], words)) for name, counts in meanings.items()}
    return {name: words for name, words in sorted(best.items()) if len(words) > 1}


def _compounds(sentences: Sequence[Written]) -> tuple[str, ...]:
    """Return the words with a joint that are joined in more than half of the places where their parts stand together."""
    joined = Counter(
        token.word
        for text, tokens in sentences
        for token in tokens
        if JOINT in token.word and text[token.start : token.end] != token.word
    )
    ahead: dict[str, set[tuple[str, ...]]] = {}
    for compound in joined:
        words = tuple(compound.split(JOINT))
        ahead.setdefault(words[0], set()).add(words)
    apart: Counter[str] = Counter()
    for _, tokens in sentences if joined else ():
        words = tuple([token.word for token in tokens])
        for place, word in enumerate(words):
            apart.update(
                JOINT.join(parts)
                for parts in ahead.get(word, ())
                if words[place : place + len(parts)] == parts
            )
    return tuple(sorted(one for one, times in joined.items() if times > apart[one]))
