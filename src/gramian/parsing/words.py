"""What the words of a sentence may be: the lexicon's scores, remembered, and tags that come from outside."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from gramian.grammar.lexicon import JoinedLexicon, Lexicon, WordScores
from gramian.io.bounded_cache import BoundedCache
from gramian.trees.labels import split_chain

_MOST_WEIGHT = 1e300  # of a tag that is given; anything above, infinity included, means nothing
_FORM_COUNT = 0.1  # for how many occurrences a word's form stands, once its known tags have led to no tree

_SPELLINGS = {
    "“": "``", "”": "''", "„": "``", "«": "``", "»": "''", '"': "''", "‘": "`", "’": "'", "—": "--", "–": "--",
    "…": "...", "[": "-LSB-", "]": "-RSB-", "{": "-LCB-", "}": "-RCB-",
}  # fmt: skip


class Word(NamedTuple):
    """A word as the grammar knows it, in the grammar's own spelling."""

    spelling: str
    initial: bool  # whether it begins the sentence
    scores: WordScores  # of the tags it may have
    log_probability: float  # of the word itself; an unknown one counts as seen once


class WordTable:
    """Scores of words for one grammar, and the logarithms of their own probabilities; safe to share between threads."""

    def __init__(self, lexicon: Lexicon | JoinedLexicon) -> None:
        self._lexicon = lexicon
        total = max(1, int(lexicon.word_count.sum(dtype=np.int64)))
        logs = np.log(np.maximum(lexicon.word_count, 1) / total)
        self.log_probability = dict(zip(lexicon.words, logs.tolist(), strict=True))
        self._log_unknown = float(-np.log(total))
        # Where words of a sentence begin, capitals say less: two caches, for the first word and the others.
        self._cache = tuple(BoundedCache(partial(self._word, initial=initial)) for initial in (False, True))
        self._numbers: dict[str, list[int]] = {}
        for number, tag in enumerate(lexicon.tags):
            self._numbers.setdefault(split_chain(tag)[-1], []).append(number)

    def read(
        self, tokens: Sequence[str], given: Sequence[Mapping[str, float] | None] | None = None
    ) -> list[Word]:
        """Return the words of a sentence; of each, `given` may have the tags it is restricted to."""
        words = list(map(self._cache[False].__getitem__, tokens))
        if words:
            words[0] = self._cache[True][tokens[0]]
        for index, weights in enumerate(given or ()):
            if weights is not None:
                words[index] = self.restrict(words[index], weights)
        return words

    def knows(self, word: str) -> bool:
        """Whether the grammar has seen a word, in this spelling or one that differs in marks only."""
        return self._known_spelling(word, False) in self.log_probability

    def look_up(self, token: str, initial: bool) -> Word:
        """Return a token as the grammar knows it."""
        return self._cache[initial][token]

    def _word(self, token: str, initial: bool) -> Word:
        spelling = self._known_spelling(token, initial)
        log_probability = self.log_probability.get(spelling, self._log_unknown)
        return Word(spelling, initial, self._lexicon.score(spelling, initial), log_probability)

    def restrict(self, word: Word, weights: Mapping[str, float]) -> Word:
        """Return a word whose tags are given, or the same word if the grammar has none of these tags.

        `weights` are the probabilities of tags; they take the place of the lexicon's. Where several tags of the grammar are one tag of
        the treebank (``NP|NN`` and ``NN``), they share it as the lexicon has it.
        """
        scores = word.scores
        prior = self._lexicon.tag_prior
        allowed = np.zeros(len(prior))
        allowed[scores.tags] = scores.coarse * prior[scores.tags]
        tags: list[int] = []
        chances: list[float] = []
        for tag, weight in weights.items():
            numbers = self._numbers.get(tag)
            if numbers is None or not 0 < weight < _MOST_WEIGHT:
                continue
            shares = allowed[numbers] if allowed[numbers].any() else prior[numbers].astype(np.float64)
            for number, share in zip(numbers, (weight * shares / shares.sum()).tolist(), strict=True):
                if share > 0:
                    tags.append(number)
                    chances.append(share)
        return self._rescored(word, tags, chances) if tags else word

    def widen(self, word: Word) -> Word:
        """Add the tags that the form of the word suggests to those it has."""
        lexicon, scores = self._lexicon, word.scores
        guess = lexicon.tag_probabilities(word.spelling, word.initial)
        # The more often a word was seen, the less likely is a tag it never had.
        count = np.exp(word.log_probability - self._log_unknown)
        share = _FORM_COUNT / (10 + count)
        chances = share * np.where(guess >= lexicon.min_tag_probability, guess, 0)
        chances[scores.tags] += scores.coarse * lexicon.tag_prior[scores.tags]
        tags = np.flatnonzero(chances)
        return self._rescored(word, tags.tolist(), chances[tags].tolist())

    def top_tag(self, word: Word) -> str:
        """Return the treebank's name of the most probable tag."""
        scores = word.scores
        best = int((scores.coarse * self._lexicon.tag_prior[scores.tags]).argmax())
        return split_chain(self._lexicon.tags[scores.tags[best]])[-1]

    def _rescored(self, word: Word, tags: list[int], chances: list[float]) -> Word:
        lexicon = self._lexicon
        numbers = np.array(tags, np.int32)
        coarse = (np.array(chances) / lexicon.tag_prior[numbers]).astype(np.float32)
        states = [lexicon.pair_states(tag, word.spelling, word.initial) for tag in tags]
        return word._replace(scores=WordScores(numbers, coarse, np.concatenate(states)))

    def _known_spelling(self, word: str, initial: bool) -> str:
        """Return the word as the grammar knows it, if only the way of writing it differs."""
        if word in self.log_probability:
            return word
        candidates = [_SPELLINGS.get(word, word), word.replace("’", "'")]
        if word == '"' and initial:
            candidates.insert(0, "``")
        candidates += [word.replace("\\", ""), word.replace("/", "\\/").replace("*", "\\*")]
        return next((candidate for candidate in candidates if candidate in self.log_probability), word)
