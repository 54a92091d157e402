"""What a chart will cost, foretold from the length of the sentence, and how to keep within limits.

The coarse chart dominates: its edges grow with the number of split points, n^3 / 6, times the share of the grammar's
rules that match at one. ``benchmarks/limits.py`` measures the constants below.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gramian.chart.inference import Pruning
from gramian.errors import OptionError

__all__ = ["Limits", "cut"]

_RULE_SHARE = 0.033  # of the rules, at a split point, at the beam 1e-3: upper end of what was measured
_BEAM_POWER = 0.4
_EDGES_PER_WORD = 100  # what words and tags cost
_BYTES_PER_EDGE = 25
_SECONDS_PER_EDGE = 1e-7
_NARROWEST_BEAM = 0.3


@dataclass(frozen=True)
class Limits:
    """What one sentence may cost. Without a limit of its own kind, a sentence may take what it needs.

    Attributes
    ----------
    length : int or None
        The most words that are parsed in one piece.
    seconds : float or None
        A chart that is expected to take longer is not begun.
    memory : int or None
        Bytes; nor is one that is expected to need more.
    """

    length: int | None = None
    seconds: float | None = None
    memory: int | None = 1 << 30

    def __post_init__(self) -> None:
        for name in ("length", "seconds", "memory"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise OptionError(f"max_{name} is more than 0, not {value!r}")

    def fit(
        self, pruning: Pruning, n_words: int, n_rules: int, seconds: float | None = None
    ) -> Pruning | None:
        """Return `pruning`, with a narrower beam if limits ask for it, or None if no chart keeps within them.

        Parameters
        ----------
        pruning : Pruning
        n_words : int
        n_rules : int
            Rules of the grammar.
        seconds : float, optional
            What is left of the time.
        """
        if self.length is not None and n_words > self.length:
            return None
        most = self._most_edges(self.seconds if seconds is None else seconds) - _EDGES_PER_WORD * n_words
        splits = n_words**3 / 6
        if splits * n_rules * _share(pruning.beam) <= most:
            return pruning
        share = most / (splits * n_rules)
        if share < _share(_NARROWEST_BEAM):
            return None
        return replace(pruning, beam=1e-3 * (_RULE_SHARE / share) ** (1 / _BEAM_POWER))

    def longest(self, n_rules: int, n_words: int) -> int:
        """Return the length of the parts into which a sentence of `n_words` words is to be cut."""
        whole = self._longest(self.seconds, n_rules)
        if self.seconds is None or whole >= n_words:
            return whole
        # Time is shared among the parts, so that each must be shorter.
        return self._longest(self.seconds * whole / n_words, n_rules)

    def _longest(self, seconds: float | None, n_rules: int) -> int:
        half = self._most_edges(seconds) / 2  # for words and for split points
        by_splits = (6 * half / (n_rules * _share(_NARROWEST_BEAM))) ** (1 / 3)
        return max(1, int(min(by_splits, half / _EDGES_PER_WORD, 1e9, self.length or 1e9)))

    def _most_edges(self, seconds: float | None) -> float:
        by_memory = float("inf") if self.memory is None else self.memory / _BYTES_PER_EDGE
        by_time = float("inf") if seconds is None else seconds / _SECONDS_PER_EDGE
        return min(by_memory, by_time)


def _share(beam: float) -> float:
    """Return the share of all rules that match at a split point."""
    return min(1.0, _RULE_SHARE * (1e-3 / beam) ** _BEAM_POWER) if beam > 0 else 1.0


def cut(words: Sequence[str], longest: int) -> list[slice]:
    """Cut a sentence into parts of at most `longest` words, after punctuation where there is some.

    Examples
    --------
    >>> cut("a b ; c d e , f g".split(), 5)
    [slice(0, 3, None), slice(3, 7, None), slice(7, 9, None)]
    """
    parts = []
    start = 0
    while len(words) - start > longest:
        end = start + longest
        shortest = start + max(1, longest // 3)
        for marks in (set(".!?;"), set(":,")):
            found = [place for place in range(shortest, end + 1) if words[place - 1] in marks]
            if found:
                end = found[-1]
                break
        parts.append(slice(start, end))
        start = end
    parts.append(slice(start, len(words)))
    return parts
