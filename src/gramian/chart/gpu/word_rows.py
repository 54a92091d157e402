"""The words of many sentences as numbers, and what the lexicon says about each as rows of tables on a device.

All words that the lexicon has states for lie there from the beginning; others are looked up once, when they first come.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import torch

from gramian.chart.gpu.batch_forest import expanded
from gramian.chart.gpu.torch_backend import WordTensors
from gramian.grammar import LPCFG
from gramian.grammar.lexicon import Lexicon, WordScores

_MOST_ENTRIES = 1 << 21

Longs = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]


class ScoredWord(Protocol):
    """A word as :class:`gramian.parsing.words.WordTable` knows it."""

    @property
    def scores(self) -> WordScores:
        """Of the tags it may have, with the states of all grammars."""

    @property
    def log_probability(self) -> float:
        """Of the word itself."""


class WordNumbers(NamedTuple):
    """The words of sentences, one after the other."""

    flat: Longs
    lengths: Longs  # (n_sentences,)
    first: Longs  # (n_sentences,): where each begins


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

    def numbers(self, sentences: Sequence[Sequence[str]]) -> WordNumbers:
        """Return the numbers of the words of sentences; words that come for the first time are looked up."""
        if len(self._tables[0]) > _MOST_ENTRIES:
            self._begin()
        elsewhere, initial = self._numbers
        lengths = np.fromiter(map(len, sentences), np.int64, len(sentences))
        first = np.cumsum(lengths) - lengths
        flat = list(map(elsewhere.get, chain.from_iterable(sentences)))
        for place, words in zip(first.tolist(), sentences, strict=True):
            flat[place] = initial.get(words[0])
        if None in flat:
            self._add_words(flat, sentences, first)
        return WordNumbers(np.array(flat, np.int64), lengths, first)

    def _add_words(self, flat: list[int | None], sentences: Sequence[Sequence[str]], first: Longs) -> None:
        """Look up the words that have no numbers in `flat`, and fill these in."""
        spelt, beginnings = list(chain.from_iterable(sentences)), set(first.tolist())
        words: list[ScoredWord] = []
        for place in [place for place, number in enumerate(flat) if number is None]:
            initial, word = place in beginnings, spelt[place]
            known = self._numbers[initial]
            if word not in known:
                known[word] = len(self._logs) + len(words)
                words.append(self._look_up(word, initial))
            flat[place] = known[word]
        if not words:
            return
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

    def log_probabilities(self, numbers: WordNumbers) -> Doubles:
        """Return of each sentence the sum of its words' log-probabilities."""
        return np.add.reduceat(self._logs[numbers.flat], numbers.first)

    def batch(self, numbers: WordNumbers, n_words: int) -> WordTensors:
        """Return sentences of at most `n_words` words, as numbers, with the entries of their words."""
        flat, lengths, start = numbers
        row = np.repeat(np.arange(len(lengths)), lengths)
        place = row * n_words + np.arange(len(row)) - np.repeat(start, lengths)
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
