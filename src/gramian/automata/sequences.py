"""A sample of strings as flat arrays: the one form that every automata learner and scorer reads.

String ``i`` occupies ``symbols[offsets[i]:offsets[i + 1]]``; a symbol is its index in the alphabet, and -1
stands for a symbol that the alphabet does not hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.errors import OptionError

Array = npt.NDArray[np.float64]
Symbol = str | int


@dataclass(frozen=True, eq=False)
class Sequences:
    """Strings over an alphabet.

    Examples
    --------
    >>> sample = Sequences.from_strings([["DT", "NN"], [], ["NN"]])
    >>> len(sample), sample.alphabet, sample.symbols.tolist(), sample.offsets.tolist()
    (3, ('DT', 'NN'), [0, 1, 1], [0, 2, 2, 3])
    """

    #: shape (total_length,); all strings, one after the other; -1 is a symbol outside the alphabet
    symbols: npt.NDArray[np.int32]
    offsets: npt.NDArray[np.int64]  #: shape (n_strings + 1,); where each string begins and ends in `symbols`
    alphabet: tuple[Symbol, ...]  #: what each symbol index stands for

    @classmethod
    def from_strings(
        cls, strings: Iterable[Sequence[Symbol]], alphabet: Sequence[Symbol] | None = None
    ) -> Sequences:
        """Encode `strings`; without an `alphabet`, take their sorted set of symbols."""
        rows = [list(string) for string in strings]
        if alphabet is None:
            seen = {symbol for row in rows for symbol in row}
            alphabet = sorted(seen, key=lambda symbol: (isinstance(symbol, str), symbol))
        index = {symbol: position for position, symbol in enumerate(alphabet)}
        if len(index) != len(alphabet):
            raise OptionError("alphabet: duplicate symbol; try: list(dict.fromkeys(alphabet))")
        flat = [index.get(symbol, -1) for row in rows for symbol in row]
        lengths = np.fromiter((len(row) for row in rows), np.int64, len(rows))
        return cls(np.asarray(flat, np.int32), _offsets(lengths), tuple(alphabet))

    @classmethod
    def of(cls, strings: Strings, alphabet: Sequence[Symbol] | None = None) -> Sequences:
        """Return `strings` over `alphabet`; without one, over their own."""
        if not isinstance(strings, Sequences):
            return cls.from_strings(strings, alphabet)
        return strings if alphabet is None else strings.recode(tuple(alphabet))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __iter__(self) -> Iterator[tuple[Symbol, ...]]:
        names: list[Any] = [*self.alphabet, None]  # index -1, no symbol of the alphabet, finds None
        flat = self.symbols.tolist()
        bounds = self.offsets.tolist()
        for start, end in pairwise(bounds):
            yield tuple([names[symbol] for symbol in flat[start:end]])

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """Length of each string."""
        return np.diff(self.offsets)

    @property
    def n_cuts(self) -> int:
        """Number of cuts: a string of length t has t + 1, before each symbol and at its end."""
        return len(self.symbols) + len(self)

    @property
    def last_cuts(self) -> npt.NDArray[np.int64]:
        """The cut at the end of each string, among the cuts of all strings."""
        return self.offsets[1:] + np.arange(len(self))

    @property
    def first_cuts(self) -> npt.NDArray[np.int64]:
        """The cut at the start of each string."""
        return self.offsets[:-1] + np.arange(len(self))

    @property
    def inner_cuts(self) -> npt.NDArray[np.int64]:
        """The cut before each symbol."""
        return np.arange(len(self.symbols)) + np.repeat(np.arange(len(self)), self.lengths)

    def events(self) -> npt.NDArray[np.int64]:
        """Return what follows each cut: a symbol or, at the end of a string, STOP, whose number comes after the symbols'."""
        following = np.full(self.n_cuts, len(self.alphabet))
        following[self.inner_cuts] = self.symbols
        return following

    def to_learn_from(self) -> Sequences:
        """Return the sample itself if there are strings in it and their symbols are known."""
        if len(self) == 0:
            raise OptionError("no training strings; try: a file with at least one string")
        if self.symbols.min(initial=0) < 0:
            raise OptionError(
                "training strings: a symbol is not in the alphabet; try: adding it to the alphabet"
            )
        return self

    def recode(self, alphabet: tuple[Symbol, ...]) -> Sequences:
        """Return the same strings over another alphabet; symbols it lacks become -1."""
        if alphabet == self.alphabet:
            return self
        index = {symbol: position for position, symbol in enumerate(alphabet)}
        table = np.asarray([*(index.get(symbol, -1) for symbol in self.alphabet), -1], np.int32)
        return Sequences(table[self.symbols], self.offsets, alphabet)

    def take(self, rows: npt.ArrayLike | slice) -> Sequences:
        """Return the strings at the positions `rows` (indices or a slice), in that order."""
        rows = np.arange(len(self))[rows] if isinstance(rows, slice) else np.asarray(rows, np.int64)
        offsets = _offsets(self.lengths[rows])
        positions = np.arange(offsets[-1]) + np.repeat(self.offsets[rows] - offsets[:-1], np.diff(offsets))
        return Sequences(self.symbols[positions], offsets, self.alphabet)

    def split(
        self, share: float, *, seed: int = 0, at_most: int | None = None
    ) -> tuple[Sequences, Sequences]:
        """Return what is left and a random slice of about `share` of the strings, at least one; a single string is returned as both."""
        if not 0.0 < share < 1.0:
            raise OptionError(f"share must be above 0 and less than 1, got {share}")
        order = np.random.default_rng(seed).permutation(len(self))
        cut = max(1, round(share * len(self)))
        cut = cut if at_most is None else min(cut, at_most)
        return self.take(order[cut:] if cut < len(self) else order), self.take(order[:cut])

    def distinct(self) -> tuple[Sequences, Array]:
        """Return the distinct strings in lexicographic order, and how often each occurs."""
        # Big-endian bytes sort as the symbol indices do; the shift makes -1 the smallest.
        keys = (self.symbols.astype(np.int64) + 1).astype(">u4").tobytes()
        bounds = (4 * self.offsets).tolist()
        counts: dict[bytes, int] = {}
        for start, end in pairwise(bounds):
            key = keys[start:end]
            counts[key] = counts.get(key, 0) + 1
        sorted_keys = sorted(counts)
        symbols = np.frombuffer(b"".join(sorted_keys), ">u4").astype(np.int64) - 1
        lengths = np.fromiter((len(key) // 4 for key in sorted_keys), np.int64, len(sorted_keys))
        weights = np.fromiter((counts[key] for key in sorted_keys), np.float64, len(sorted_keys))
        return Sequences(symbols.astype(np.int32), _offsets(lengths), self.alphabet), weights

    def blocks(self, n_cuts: int) -> Iterator[slice]:
        """Yield runs of strings that have about `n_cuts` cuts each."""
        firsts = np.flatnonzero(np.diff(np.cumsum(self.lengths + 1) // n_cuts, prepend=-1)).tolist()
        yield from map(slice, firsts, [*firsts[1:], len(self)])


Strings = Sequences | Iterable[Sequence[Symbol]]


def _offsets(lengths: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])
