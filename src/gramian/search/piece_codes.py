"""Bracket text to token codes, piece by piece: the pieces between one ``(`` and the next recur, so their codes are cached."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gramian.treebank.encode import TokenCodes

_MAX_PIECES = 1 << 20  # pieces in the cache


class PieceCodes(dict[str, int]):
    """A cache from pieces to the codes of their tokens; clearing it leaves the codes of labels and words unchanged."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = TokenCodes()
        self._codes: list[npt.NDArray[np.int32]] = []
        self._flat = np.empty(0, np.int32)
        self._starts = np.empty(0, np.int64)
        self._sizes = np.empty(0, np.int64)

    def __missing__(self, piece: str) -> int:
        number = self[piece] = len(self._codes)
        self._codes.append(self.tokens.encode(f"({piece}"))
        return number

    def encode(self, text: str) -> npt.NDArray[np.int32]:
        """Return the codes of all tokens of `text`, which starts with a bracket.

        Examples
        --------
        >>> PieceCodes().encode("(NP (NN dog)) (NP (NN dog))").tolist()
        [0, 2, 1, -1, -1, 0, 2, 1, -1, -1]
        """
        if len(self) > _MAX_PIECES:
            self.clear()
            self._codes.clear()
            self._starts = self._starts[:0]
        pieces = np.fromiter(map(self.__getitem__, text.split("(")[1:]), np.int64)
        if len(self._codes) != len(self._starts):
            self._sizes = np.array([len(codes) for codes in self._codes], np.int64)
            self._starts = np.cumsum(self._sizes) - self._sizes
            self._flat = np.concatenate(self._codes)
        sizes = self._sizes[pieces]
        ends = np.cumsum(sizes)
        within = np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - sizes, sizes)
        return self._flat[np.repeat(self._starts[pieces], sizes) + within]
