"""Learn segmentation and tokenization from the sentences of a treebank, or from text whose tokens are known."""

from __future__ import annotations

import os
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import NamedTuple

import numpy as np

from gramian.errors import InputError
from gramian.text.detokenizer import ORTHOGRAPHIES, Orthography, detokenize, detokenize_conllu
from gramian.text.feature_scores import FeatureScores, feature_hash
from gramian.text.rule_tokenizer import TokenizedText
from gramian.text.sentence_segmenter import SentenceSegmenter, gaps
from gramian.text.text_processor import TextProcessor
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
from gramian.treebank.arrays import TaggedSentence
from gramian.trees import Sentence, Tree, read_conllu


def learn_text_processor(
    trees: Iterable[Tree | TaggedSentence], language: str | None, text: str | os.PathLike[str] | None = None
) -> TextProcessor:
    """Learn a text processor from the words of trees in normal form, in the order of a text, and from text whose tokens are known.

    The ISO 639 code of the language selects the orthography of the treebank. `text` is CoNLL-U with ``SpaceAfter=No``, the original
    spacing, from which both segmenter and tokenizer learn beside the trees.
    """
    orthography = ORTHOGRAPHIES.get(language or "", Orthography())
    tokenized = [detokenize(tree.words, tree.tags, orthography) for tree in trees]
    documents = [[sentence.text for sentence in tokenized]]
    if text is not None:
        sentences = list(read_conllu(text))
        if not _has_spacing(sentences):
            raise InputError(
                "no token has SpaceAfter=No",
                os.fspath(text),
                hint="name CoNLL-U with SpaceAfter=No in its last column",
            )
        more_documents, spaced = _documents(sentences)
        documents += more_documents
        tokenized += spaced
    segmenter = learn_segmenter(documents, " " if orthography.spaces else "")
    return TextProcessor(language, segmenter, learn_tokenizer(tokenized, orthography.boundary_mark))


def learn_conllu_processor(sentences: Sequence[Sentence]) -> TextProcessor:
    """Learn a text processor from CoNLL-U sentences in the order of a text; spaces are set by rule if no token has ``SpaceAfter=No``."""
    if _has_spacing(sentences):
        documents, tokenized = _documents(sentences)
    else:
        tags = [[token.xpos for token in sentence.tokens] for sentence in sentences]
        tokenized = [detokenize(s.words, row, Orthography()) for s, row in zip(sentences, tags, strict=True)]
        documents = [[sentence.text for sentence in tokenized]]
    return TextProcessor(None, learn_segmenter(documents), learn_tokenizer(tokenized))


def _has_spacing(sentences: Sequence[Sentence]) -> bool:
    return any("SpaceAfter=No" in token.misc for sentence in sentences for token in sentence.tokens)


def _documents(sentences: Sequence[Sentence]) -> tuple[list[list[str]], list[TokenizedText]]:
    """Return the texts of the sentences of each document, and all sentences with their tokens."""
    documents: list[list[str]] = []
    tokenized = list(detokenize_conllu(sentences))
    for sentence, tokenized_sentence in zip(sentences, tokenized, strict=True):
        if not documents or any(line.startswith("# newdoc") for line in sentence.comments):
            documents.append([])
        documents[-1].append(tokenized_sentence.text)
    return documents, tokenized


def learn_segmenter(documents: Iterable[Sequence[str]], space: str = " ") -> SentenceSegmenter:
    """Learn sentence segmentation from documents, each a list of sentences in order, which are separated by `space`."""

    def examples() -> Iterator[tuple[tuple[str, ...], bool, int]]:
        for sentences in documents:
            text = space.join(sentences)
            ends = set(np.cumsum([len(sentence) + len(space) for sentence in sentences]) - len(space))
            for gap in gaps(text):
                yield gap.features, gap.end in ends, 1

    return SentenceSegmenter(learn_scores(examples()))


_MIN_COUNT = 2  # features that occur less often are dropped
_INVERSE_PENALTY = 3.0  # C of the regression
_MIN_WEIGHT = 0.02  # smaller weights are dropped


def learn_scores(examples: Iterable[tuple[Sequence[str], bool, int]]) -> FeatureScores | None:
    """Return scores that are positive where outcomes are true; None if all outcomes are the same.

    An example has the features of a position, its outcome and its frequency; only hashes of features are kept.
    """
    from scipy import sparse
    from sklearn.linear_model import LogisticRegression

    feature_hashes, row_start, outcomes, counts = array("I"), array("q", [0]), array("b"), array("q")
    for features, outcome, count in examples:
        feature_hashes.extend({feature_hash(feature): None for feature in features})
        row_start.append(len(feature_hashes))
        outcomes.append(outcome)
        counts.append(count)
    if not 0 < sum(outcomes) < len(outcomes):
        return None
    hashes, column = np.unique(np.frombuffer(feature_hashes, np.uint32), return_inverse=True)
    weight = np.array(counts, np.float32)
    feature_count = np.bincount(column, np.repeat(weight, np.diff(row_start)))
    ones = np.ones(len(column), np.float32)
    shape = len(counts), len(hashes)
    matrix = sparse.csr_matrix((ones, column.astype(np.int32), np.array(row_start)), shape)
    frequent = np.flatnonzero(feature_count >= _MIN_COUNT)
    if not len(frequent):
        return None
    model = LogisticRegression(C=_INVERSE_PENALTY, fit_intercept=False, solver="newton-cg")
    weights = model.fit(matrix[:, frequent], np.array(outcomes), sample_weight=weight).coef_[0]
    weights = np.round(weights.astype(np.float64), 3).astype(np.float32)
    large = np.abs(weights) >= _MIN_WEIGHT
    return FeatureScores(hashes[frequent][large], weights[large])


_DENSE_SHARE = 0.1  # of positions between letters are boundaries: the script has no spaces between words
_HELD_OUT = 10  # one sentence in ten is held out to measure F1
_MIN_SENTENCES = 50  # fewer are not held out


class Piece(NamedTuple):
    """The text between two boundaries, and the words that it stands for."""

    start: int
    end: int
    words: tuple[str, ...]


def learn_tokenizer(sentences: Sequence[TokenizedText], boundary_mark: str = "") -> Tokenizer:
    """Learn to tokenize as in given sentences, where a token with a space in its text is a compound, joined by underscores.

    The `f1` of the result is measured on the last tenth of the sentences, with a tokenizer learnt from the others.
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
