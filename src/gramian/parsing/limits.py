"""What a chart will cost, estimated from the length of the sentence, and how to keep within limits.

The coarse chart's time grows with the number of split points times the rules that match at one; that of the fine pass,
and memory, with what pruning leaves, which grows with the number of spans. ``benchmarks/limits.py`` compares both with the real
cost.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from time import thread_time

from gramian.chart.forest import Pruning

_NARROWEST_BEAM = 0.3
_EMERGENCY_FACTOR, _EMERGENCY_SECONDS = (
    20,
    60.0,
)  # times the seconds a sentence may take, but at least so many seconds


def expected_seconds(pruning: Pruning, n_words: int, n_rules: int) -> float:
    """Return about how long a chart takes on one core of 2020 or so."""
    matching = min(4e-10, 1.2e-11 * (1e-3 / pruning.beam) ** 0.33) if pruning.beam > 0 else 4e-10
    splits = max(n_rules * matching, 1e-8) * n_words**3  # a split point takes time even if no rule matches
    edges = min(_edges_a_span(pruning), n_words * n_rules / 50)
    fine = 3.5e-7 * edges**0.6 if pruning.split > 0 else 7e-7 * edges  # two states leave few edges
    return splits + fine * n_words**2


def expected_bytes(pruning: Pruning, n_words: int) -> float:
    """Return about how much memory a chart takes; rather too much than too little."""
    return n_words**2 * (300 + 30 * min(1e4, _edges_a_span(pruning)))


def _edges_a_span(pruning: Pruning) -> float:
    """Return about how many edges reach the fine pass, for each of n² spans."""
    if pruning.edge == 0:
        return inf
    return 10 * (1e-5 / pruning.edge) ** 0.5 * (1e-3 / max(1e-3, pruning.beam)) ** 0.3


@dataclass(frozen=True)
class Limits:
    """What one sentence may cost; None is no limit.

    At most `length` words are parsed in one piece, and no chart is begun that is expected to take more seconds or bytes, be it that of the
    first attempt at a sentence or of another.
    """

    length: int | None = None
    seconds: float | None = None
    memory: int | None = None

    def fit(self, pruning: Pruning, n_words: int, n_rules: int) -> Pruning | None:
        """Return `pruning`, with a narrower beam if time asks for it, or None if no chart keeps within limits."""
        if self.length is not None and n_words > self.length:
            return None
        if self.memory is not None and expected_bytes(pruning, n_words) > self.memory:
            return None
        while self.seconds is not None and expected_seconds(pruning, n_words, n_rules) > self.seconds:
            if pruning.beam >= _NARROWEST_BEAM:
                return None
            pruning = replace(pruning, beam=min(_NARROWEST_BEAM, max(1e-6, 2 * pruning.beam)))
        return pruning

    def deadline(self) -> float:
        """Return the processor time of this thread after which no further chart of a sentence that begins now is begun.

        This is an emergency stop, which ``status`` reports; otherwise trees depend on estimated costs only. Processor time does not grow
        while a busy machine runs other programs.
        """
        if self.seconds is None:
            return inf
        return thread_time() + max(_EMERGENCY_FACTOR * self.seconds, _EMERGENCY_SECONDS)

    def part_length(self, pruning: Pruning, n_words: int, n_rules: int) -> int:
        """Return the largest length of parts that, all together, keep within limits without a narrower beam."""
        shortest, too_long = 1, n_words + 1
        while too_long - shortest > 1:
            length = (shortest + too_long) // 2
            share = None if self.seconds is None else self.seconds * length / n_words
            if replace(self, seconds=share).fit(pruning, length, n_rules) is pruning:
                shortest = length
            else:
                too_long = length
        return shortest


def is_over(deadline: float) -> bool:
    """Return whether it is later than a :meth:`Limits.deadline`."""
    return deadline < inf and thread_time() > deadline


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
            ends = [index for index in range(shortest, end + 1) if words[index - 1] in marks]
            if ends:
                end = ends[-1]
                break
        parts.append(slice(start, end))
        start = end
    return [*parts, slice(start, len(words))]
