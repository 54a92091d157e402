"""What the words of a sentence may be: the lexicon's scores, remembered, and tags that come from outside."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gramian.grammar.lexicon import Lexicon, WordScores
from gramian.trees.labels import split_chain

__all__ = ["WordTable"]

_LARGEST_CACHE = 1 << 17
_MOST_WEIGHT = 1e300  # of a tag that is given; anything above, infinity included, means nothing
_FORM_COUNT = 0.1  # for how many occurrences a word's form stands, once its known tags have led to no tree

_SPELLINGS = {
    "“": "``", "”": "''", "„": "``", "«": "``", "»": "''", '"': "''", "‘": "`", "’": "'", "—": "--", "–": "--",
    "…": "...", "[": "-LSB-", "]": "-RSB-", "{": "-LCB-", "}": "-RCB-",
}  # fmt: skip


class WordTable:
    """Scores of words for one grammar; safe to share between threads.

    Parameters
    ----------
    lexicon : Lexicon
    """

    def __init__(self, lexicon: Lexicon) -> None:
        self._lexicon = lexicon
        total = max(1, int(lexicon.word_count.sum(dtype=np.int64)))
        logs = np.log(np.maximum(lexicon.word_count, 1) / total)
        self._log_probability = dict(zip(lexicon.words, logs.tolist(), strict=True))
        self._log_unknown = float(-np.log(total))
        # Where words of a sentence begin, capitals say less: two caches, for the first word and the others.
        self._cache: tuple[dict[str, tuple[WordScores, float]], ...] = ({}, {})
        self._numbers: dict[str, list[int]] = {}
        for number, tag in enumerate(lexicon.tags):
            self._numbers.setdefault(split_chain(tag)[-1], []).append(number)

    def score(self, word: str, initial: bool) -> tuple[WordScores, float]:
        """Return a word's tags, and the logarithm of its own probability (an unknown word counts as seen once)."""
        cache = self._cache[initial]
        found = cache.get(word)
        if found is None:
            known = self._known_spelling(word, initial)
            found = (
                self._lexicon.score(known, initial),
                self._log_probability.get(known, self._log_unknown),
            )
            if len(cache) >= _LARGEST_CACHE:
                cache.clear()
            cache[word] = found
        return found

    def restrict(self, scores: WordScores, word: str, weights: Mapping[str, float]) -> WordScores | None:
        """Return the scores of a word whose tags are given, or None if the grammar has none of them.

        Parameters
        ----------
        scores : WordScores
            What the lexicon says about the word.
        word : str
        weights : mapping of str to float
            Probability of each tag; it takes the place of the lexicon's. Where several tags of the grammar are one
            tag of the treebank (``NP|NN`` and ``NN``), they share it as the lexicon has it.
        """
        prior = self._lexicon.tag_prior
        own = np.zeros(len(prior))
        own[scores.tags] = scores.coarse * prior[scores.tags]
        tags: list[int] = []
        chances: list[float] = []
        for tag, weight in weights.items():
            numbers = self._numbers.get(tag)
            if numbers is None or not 0 < weight < _MOST_WEIGHT:
                continue
            shares = own[numbers] if own[numbers].any() else prior[numbers].astype(np.float64)
            for number, share in zip(numbers, (weight * shares / shares.sum()).tolist(), strict=True):
                if share > 0:
                    tags.append(number)
                    chances.append(share)
        return self._scores(tags, chances, word) if tags else None

    def widen(self, scores: WordScores, word: str, initial: bool) -> WordScores:
        """Add the tags that the form of the word suggests to those it has."""
        lexicon = self._lexicon
        guess = lexicon.tag_probabilities(self._known_spelling(word, initial), initial)
        # The more often a word was seen, the less likely is a tag it never had.
        count = np.exp(self.score(word, initial)[1] - self._log_unknown)
        share = _FORM_COUNT / (10 + count)
        chances = share * np.where(guess >= lexicon.min_tag_probability, guess, 0)
        chances[scores.tags] += scores.coarse * lexicon.tag_prior[scores.tags]
        tags = np.flatnonzero(chances)
        return self._scores(tags.tolist(), chances[tags].tolist(), word)

    def top_tag(self, scores: WordScores) -> str:
        """Return the treebank's name of the most probable tag."""
        place = int((scores.coarse * self._lexicon.tag_prior[scores.tags]).argmax())
        return split_chain(self._lexicon.tags[scores.tags[place]])[-1]

    def _scores(self, tags: list[int], chances: list[float], word: str) -> WordScores:
        lexicon = self._lexicon
        numbers = np.array(tags, np.int32)
        coarse = (np.array(chances) / lexicon.tag_prior[numbers]).astype(np.float32)
        return WordScores(numbers, coarse, np.concatenate([lexicon.pair_states(tag, word) for tag in tags]))

    def _known_spelling(self, word: str, initial: bool) -> str:
        """Return the word as the grammar knows it, if only the way of writing it differs."""
        if word in self._log_probability:
            return word
        candidates = [_SPELLINGS.get(word, word), word.replace("’", "'")]
        if word == '"' and initial:
            candidates.insert(0, "``")
        candidates += [word.replace("\\", ""), word.replace("/", "\\/").replace("*", "\\*")]
        return next((candidate for candidate in candidates if candidate in self._log_probability), word)
