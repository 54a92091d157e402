"""Words and tags: what a word says about its tag and the tag's state, for known, rare and unknown words.

Scores are ``P(tag, state | word) / P(tag, state)``, which is the emission probability up to the word's own frequency.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gramian.errors import OptionError
from gramian.treebank.vocab import suffix_chain, word_features

Ints = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class WordScores:
    """The k tags a word may have."""

    tags: Ints  # (k,): numbers of tags, from 0 within the tags
    coarse: Floats  # (k,): P(tag | word) / P(tag)
    states: Floats  # for each tag P(state | tag, word) / P(state | tag), one after the other


class Emissions(NamedTuple):
    """The known words of a tag, and how much of each is expected."""

    words: npt.NDArray[np.int64]  # (k,): their numbers
    mass: npt.NDArray[np.float64]  # (k,): proportional to P(word | tag)
    states: npt.NDArray[np.float64]  # (k, n_states): in each state, proportional to P(word | tag, state)


@dataclass(frozen=True)
class Lexicon:
    """Tag and state scores of words.

    Examples
    --------
    >>> from gramian.learn import PCFG
    >>> from gramian.treebank import Treebank
    >>> from gramian.trees import Tree
    >>> lexicon = PCFG().fit(Treebank.from_trees([Tree.parse("(S (NP (DT the) (NN dog)) (VP (VBZ barks)))")])).model_.lexicon
    >>> lexicon.tags, lexicon.words, lexicon.word_count.tolist()
    (('DT', 'NN', 'VBZ'), ('the', 'dog', 'barks'), [1, 1, 1])
    """

    tags: tuple[str, ...]
    n_states: Ints  #: shape (n_tags,)
    tag_prior: Floats  #: shape (n_tags,)
    words: tuple[str, ...]
    word_count: Ints
    entry_start: Ints  #: shape (n_words + 1,); the entries of each word
    entry_tag: Ints
    entry_probability: Floats  #: ``P(tag | word)``
    #: ``P(state | tag, word) / P(state | tag)``, entries one after the other; zeros where the word was not seen with the tag in a tree,
    #: and so has the states of its class
    entry_states: Floats
    features: tuple[str, ...]  #: word-form features of the model that guesses tags of unknown words
    feature_weights: Floats  #: shape (n_features + 1, n_tags); their weights; the last row is the bias
    #: classes (tag number, shape, suffix) whose states are known, ``"3 x/ing"``; the tag number alone stands for all rare words
    classes: tuple[str, ...]
    class_states: Floats  #: ``P(state | tag, class) / P(state | tag)``, classes one after the other
    min_tag_probability: float = 1e-4

    @cached_property
    def _word_number(self) -> dict[str, int]:
        return dict(zip(self.words, range(len(self.words)), strict=True))

    @cached_property
    def _feature_number(self) -> dict[str, int]:
        return dict(zip(self.features, range(len(self.features)), strict=True))

    @cached_property
    def entry_word(self) -> npt.NDArray[np.int64]:
        """The number of each entry's word."""
        return np.repeat(np.arange(len(self.words)), np.diff(self.entry_start))

    @cached_property
    def entry_state_start(self) -> npt.NDArray[np.int64]:
        """Where each entry's states begin in `entry_states`."""
        return np.concatenate([[0], np.cumsum(self.n_states[self.entry_tag], dtype=np.int64)])

    def emissions(self, tag: int) -> Emissions:
        """Return what a tag, by its number, emits."""
        entries = np.flatnonzero(self.entry_tag == tag)
        words = self.entry_word[entries]
        probability = self.entry_probability[entries].astype(np.float64)
        mass = probability * self.word_count[words]
        cells = self.entry_state_start[entries][:, None] + np.arange(self.n_states[tag])
        return Emissions(words, mass, mass[:, None] * self.entry_states[cells])

    @cached_property
    def _class_number(self) -> dict[str, int]:
        return dict(zip(self.classes, range(len(self.classes)), strict=True))

    @cached_property
    def _class_start(self) -> npt.NDArray[np.int64]:
        return np.concatenate([[0], np.cumsum(self.n_states[self.class_tag], dtype=np.int64)])

    @cached_property
    def class_tag(self) -> npt.NDArray[np.int64]:
        """The tag of each class."""
        return np.array([int(name.partition(" ")[0]) for name in self.classes], np.int64)

    def top_tag(self, word: str) -> str | None:
        """Return the most probable tag of a word; None if it is unknown."""
        number = self._word_number.get(word)
        if number is None:
            return None
        first, last = self.entry_start[number], self.entry_start[number + 1]
        return self.tags[self.entry_tag[first + self.entry_probability[first:last].argmax()]]

    def score(self, word: str, initial: bool = False) -> WordScores:
        """Return what `word` says about tags and states; `initial` is whether it begins the sentence."""
        number = self._word_number.get(word)
        if number is None:
            return self._unknown(word, initial)
        first, last = self.entry_start[number], self.entry_start[number + 1]
        tags = self.entry_tag[first:last]
        starts = self.entry_state_start[first : last + 1]
        states = self.entry_states[starts[0] : starts[-1]]
        if not np.logical_or.reduceat(states != 0, starts[:-1] - starts[0]).all():  # not seen with each tag
            entries = range(first, last)
            states = np.concatenate([self._states_of_entry(entry, word, initial) for entry in entries])
        return WordScores(tags, self.entry_probability[first:last] / self.tag_prior[tags], states)

    def tag_probabilities(self, word: str, initial: bool = False) -> npt.NDArray[np.float64]:
        """Guess the tag of an unknown word from its form."""
        numbers = self._feature_number
        rows = [numbers[f] for f in word_features(word, initial, self.top_tag) if f in numbers]
        logits = self.feature_weights[rows].sum(axis=0, dtype=np.float64) + self.feature_weights[-1]
        weights = np.exp(logits - logits.max())
        return weights / weights.sum()

    def states_of(self, tag: int, word: str, initial: bool = False) -> Floats:
        """Return the state scores of the finest known class of `word` under `tag`."""
        numbers, names = self._class_number, reversed(suffix_chain(word, initial))
        candidates = (numbers.get(name) for name in (*(f"{tag} {name}" for name in names), str(tag)))
        number = next((candidate for candidate in candidates if candidate is not None), None)
        if number is None:
            return np.ones(self.n_states[tag], np.float32)
        return self.class_states[self._class_start[number] : self._class_start[number + 1]]

    def pair_states(self, tag: int, word: str, initial: bool = False) -> Floats:
        """Return the state scores of `word` under `tag`: its own if it was seen with that tag, else those of its class."""
        number = self._word_number.get(word)
        if number is not None:
            first, last = self.entry_start[number], self.entry_start[number + 1]
            matches = np.flatnonzero(self.entry_tag[first:last] == tag)
            if len(matches):
                return self._states_of_entry(first + matches[0], word, initial)
        return self.states_of(tag, word, initial)

    def _states_of_entry(self, entry: int, word: str, initial: bool = False) -> Floats:
        states = self.entry_states[self.entry_state_start[entry] : self.entry_state_start[entry + 1]]
        return states if states.any() else self.states_of(int(self.entry_tag[entry]), word, initial)

    def _unknown(self, word: str, initial: bool) -> WordScores:
        probability = self.tag_probabilities(word, initial)
        least = min(self.min_tag_probability, probability.max())  # there is always a tag
        tags = np.flatnonzero(probability >= least).astype(np.int32)
        states = np.concatenate([self.states_of(int(tag), word, initial) for tag in tags])
        return WordScores(tags, (probability[tags] / self.tag_prior[tags]).astype(np.float32), states)


class JoinedLexicon:
    """Lexicons of several grammars of the same treebank as one: a tag has the states of the first, then of the second, ...

    Tags of words, and their chances, are the first one's.
    """

    def __init__(self, parts: Sequence[Lexicon]) -> None:
        self._parts = tuple(parts)
        first = self._parts[0]
        self.tags, self.tag_prior, self.tag_probabilities = (
            first.tags,
            first.tag_prior,
            first.tag_probabilities,
        )
        self.words, self.word_count, self.min_tag_probability = (
            first.words,
            first.word_count,
            first.min_tag_probability,
        )

    def score(self, word: str, initial: bool = False) -> WordScores:
        """Return what `word` says about tags and states; see :meth:`Lexicon.score`."""
        scores = self._parts[0].score(word, initial)
        states = [self.pair_states(tag, word, initial) for tag in scores.tags.tolist()]
        return WordScores(scores.tags, scores.coarse, np.concatenate(states))

    def pair_states(self, tag: int, word: str, initial: bool = False) -> Floats:
        """Return the state scores of `word` under `tag`; see :meth:`Lexicon.pair_states`."""
        return np.concatenate([part.pair_states(tag, word, initial) for part in self._parts])


def joined(lexicons: Sequence[Lexicon]) -> Lexicon | JoinedLexicon:
    """Return one lexicon for several grammars of the same treebank."""
    first = lexicons[0]
    for other in lexicons[1:]:
        same_names = (other.tags, other.words, other.classes) == (first.tags, first.words, first.classes)
        entries = ((lexicon.entry_start, lexicon.entry_tag) for lexicon in (first, other))
        if not (same_names and all(map(np.array_equal, *entries))):
            raise OptionError("the grammars have different words or tags; try: the same treebank")
    return first if len(lexicons) == 1 else JoinedLexicon(lexicons)
