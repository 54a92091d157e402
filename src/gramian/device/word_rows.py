"""The words of many sentences as numbers, and what the lexicon says about each as rows of tables on a device.

All words that the lexicon has states for lie there from the beginning; others are looked up once, when they first come.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import torch

from gramian.device.batch_forest import expanded
from gramian.device.torch_backend import WordTensors
from gramian.grammar import LPCFG
from gramian.grammar.lexicon import Lexicon, WordScores

_MOST_ENTRIES = 1 << 21

Longs = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]


class ScoredWord(Protocol):
    """A word as :class:`gramian.parsing.words.WordTable` knows it."""

    @property
    def scores(self) -> WordScores:
        """Of the tags it may have, with the states of all grammars."""

    @property
    def log_probability(self) -> float:
        """Of the word itself."""


class _Rows(NamedTuple):
    """Entries of words: tags, their scores, and for each grammar the scores of their states."""

    tag: Longs
    score: Floats
    states: list[Floats]


class WordRows:
    """Numbers of words, and their tags and states on a device.

    Parameters
    ----------
    grammars : sequence of LPCFG
        Of one treebank.
    look_up : callable
        Takes a word and whether it begins a sentence, and returns a :class:`ScoredWord` with the states of all grammars.
    log_probability : mapping
        Of words that the lexicon has.
    device : torch.device
    """

    def __init__(
        self,
        grammars: Sequence[LPCFG],
        look_up: Callable[[str, bool], ScoredWord],
        log_probability: dict[str, float],
        device: torch.device,
    ) -> None:
        self._look_up, self._device = look_up, device
        self._widths = [int(one.n_states.max()) for one in grammars]
        self._tag_states = [one.n_states[one.n_phrases :].astype(np.int64) for one in grammars]
        lexicons = [one.lexicon for one in grammars]
        first = lexicons[0]
        seen = np.logical_and.reduce([_words_with_states(one) for one in lexicons])
        self._start = seen, first, lexicons, log_probability
        self._begin()

    def _begin(self) -> None:
        """Know the words that the lexicon has states for, and no others."""
        seen, first, lexicons, log_probability = self._start
        words = [word for word, known in zip(first.words, seen.tolist(), strict=True) if known]
        count = np.diff(first.entry_start)[seen]
        entry = np.flatnonzero(np.repeat(seen, np.diff(first.entry_start)))
        tag = first.entry_tag[entry].astype(np.int64)
        score = (first.entry_probability[entry] / first.tag_prior[tag]).astype(np.float32)
        states = [
            _padded(one.entry_states, one.entry_state_start[entry], sizes[tag], width)
            for one, sizes, width in zip(lexicons, self._tag_states, self._widths, strict=True)
        ]
        self._numbers = tuple({word: place for place, word in enumerate(words)} for _ in range(2))
        self._logs = np.array([log_probability[word] for word in words])
        self._first = torch.zeros(1, dtype=torch.int64, device=self._device)
        self._tables: list[torch.Tensor] = []
        self._add(count, _Rows(tag, score, states))

    def _add(self, count: Longs, rows: _Rows) -> None:
        new = [torch.from_numpy(one).to(self._device) for one in (rows.tag, rows.score, *rows.states)]
        ends = self._first[-1] + torch.from_numpy(np.cumsum(count)).to(self._device)
        self._first = torch.cat([self._first, ends])
        self._tables = (
            [torch.cat(pair) for pair in zip(self._tables, new, strict=True)] if self._tables else new
        )

    def numbers(self, sentences: Sequence[Sequence[str]]) -> list[list[int]]:
        """Return the numbers of the words of sentences; words that come for the first time are looked up."""
        if len(self._tables[0]) > _MOST_ENTRIES:
            self._begin()
        elsewhere, initial = self._numbers
        found = [list(map(elsewhere.get, words)) for words in sentences]
        new: list[ScoredWord] = []
        for row, words in zip(found, sentences, strict=True):
            row[0] = initial.get(words[0])
            if None in row:
                for place, number in enumerate(row):
                    if number is None:
                        row[place] = self._number(words[place], place == 0, new)
        if new:
            self._add_words(new)
        return found  # type: ignore[return-value]

    def _number(self, word: str, initial: bool, new: list[ScoredWord]) -> int:
        known = self._numbers[initial]
        number = known.get(word)
        if number is None:
            number = known[word] = len(self._logs) + len(new)
            new.append(self._look_up(word, initial))
        return number

    def _add_words(self, words: list[ScoredWord]) -> None:
        count = np.array([len(word.scores.tags) for word in words])
        tag = np.concatenate([word.scores.tags for word in words]).astype(np.int64)
        score = np.concatenate([word.scores.coarse for word in words]).astype(np.float32)
        states = np.concatenate([word.scores.states for word in words])
        total = np.sum(self._tag_states, axis=0)[tag]
        start = np.cumsum(total) - total
        tables = []
        for sizes, width in zip(self._tag_states, self._widths, strict=True):
            tables.append(_padded(states, start, sizes[tag], width))
            start = start + sizes[tag]
        self._add(count, _Rows(tag, score, tables))
        self._logs = np.concatenate([self._logs, [word.log_probability for word in words]])

    def log_probabilities(self, numbers: Sequence[Sequence[int]]) -> list[float]:
        """Return of each sentence the sum of its words' log-probabilities."""
        lengths = np.array([len(row) for row in numbers])
        flat = self._logs[np.concatenate([np.array(row) for row in numbers])]
        return np.add.reduceat(flat, np.cumsum(lengths) - lengths).tolist()

    def batch(self, numbers: Sequence[Sequence[int]], n_words: int) -> WordTensors:
        """Return sentences of at most `n_words` words, as numbers, with the entries of their words."""
        lengths = np.array([len(row) for row in numbers])
        row = np.repeat(np.arange(len(numbers)), lengths)
        place = row * n_words + np.arange(len(row)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        flat = np.concatenate([np.array(one) for one in numbers])
        number, place_, lengths_ = (torch.from_numpy(one).to(self._device) for one in (flat, place, lengths))
        first = self._first[number]
        word, entry = expanded(first, self._first[number + 1] - first)
        tag, score, *states = self._tables
        return WordTensors(lengths_, place_[word], tag[entry], score[entry], entry, states)


def _words_with_states(lexicon: Lexicon) -> npt.NDArray[np.bool_]:
    """Return which words were seen with each of their tags, so that they have states of their own."""
    if not len(lexicon.words):
        return np.zeros(0, np.bool_)
    entries = np.logical_or.reduceat(lexicon.entry_states != 0, lexicon.entry_state_start[:-1])
    return np.asarray(np.logical_and.reduceat(entries, lexicon.entry_start[:-1]), np.bool_)


def _padded(values: Floats, start: Longs, count: Longs, width: int) -> Floats:
    """Return ``values[start : start + count]`` of each row, filled up with zeros."""
    table = np.zeros((len(start), width), np.float32)
    row = np.repeat(np.arange(len(start)), count)
    place = np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count)
    table[row, place] = values[start[row] + place]
    return table
