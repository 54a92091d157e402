"""Reading and writing samples of strings: PAutomaC and SPiCe files, and plain lines of symbols.

A PAutomaC (or SPiCe) file opens with the number of strings and the size of the alphabet; each further line is a length and so many
symbols, integers from 0. A plain file has one string a line, symbols separated by blanks; an empty line is the empty string.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from gramian.automata.sequences import Sequences, Symbol
from gramian.errors import InputError
from gramian.io.reading import Source, TextLines, open_text

_T = TypeVar("_T")
_WHOLE = re.compile("[0-9]{1,9}")
_LARGEST_ALPHABET = 1_000_000


def read_strings(source: Source) -> Sequences:
    r"""Read strings; which of the two formats it is shows in the first two lines.

    Examples
    --------
    >>> import io
    >>> list(read_strings(io.BytesIO(b"2 3\n2 0 2\n0\n")))
    [(0, 2), ()]
    >>> read_strings(io.BytesIO(b"DT NN VB\nNN\n")).alphabet
    ('DT', 'NN', 'VB')
    """
    with open_text(source) as text:
        lines = (line.removesuffix("\n") for line in text)
        first, second = next(lines, None), next(lines, None)
        if first is None:
            raise InputError("there are no strings", text.name, 1, hint="check that the file is not empty")
        rest = chain([] if second is None else [second], lines)
        if _is_pautomac(first, second):
            return _numbered(first, rest, text.name)
        return Sequences.from_strings(line.split() for line in chain([first], rest))


def format_string(string: Iterable[Symbol], *, numbered: bool = False) -> str:
    """Return a string as a line of a plain file, or of a PAutomaC file if `numbered`."""
    symbols = [str(symbol) for symbol in string]
    return " ".join([str(len(symbols)), *symbols] if numbered else symbols)


def read_solution(source: Source) -> npt.NDArray[np.float64]:
    """Read a PAutomaC solution: how many numbers, then one number a line, the true probability of a string."""
    with open_text(source) as text:
        hint = "name the file that ends in _solution.txt"
        numbers = list(_each_line(text, float, "not a number", hint))
        if not numbers or len(numbers) - 1 != numbers[0]:
            problem = f"the first line must say how many of the {max(len(numbers) - 1, 0)} numbers follow"
            raise InputError(problem, text.name, 1, hint=hint)
    solution = np.asarray(numbers[1:])
    if (solution < 0).any() or solution.sum() <= 0:
        raise InputError("probabilities must be positive", text.name, hint="name a file of probabilities")
    return solution


def read_targets(source: Source) -> list[tuple[float, dict[int, float]]]:
    """Read SPiCe targets: for each prefix the best possible score, and the probability of each next symbol, -1 for the end."""

    def target(line: str) -> tuple[float, dict[int, float]]:
        best, *pairs = map(float, line.split())
        return best, dict(zip(map(int, line.split()[1::2]), pairs[1::2], strict=True))

    problem = "a line must be a number, then pairs of a symbol and its probability"
    with open_text(source) as text:
        return list(_each_line(text, target, problem, "name a SPiCe target file"))


def _each_line(text: TextLines, read: Callable[[str], _T], problem: str, hint: str) -> Iterator[_T]:
    """Yield what is read from every line that is not blank; say `what` is wrong where it cannot be read."""
    for line_number, line in enumerate(text, 1):
        try:
            if line.strip():
                yield read(line)
        except ValueError:
            raise InputError(
                problem, text.name, line_number, excerpt=line.removesuffix("\n"), hint=hint
            ) from None


def _is_pautomac(first: str, second: str | None) -> bool:
    head = first.split()
    if len(head) != 2 or not all(map(_WHOLE.fullmatch, head)):
        return False
    if second is None:
        return head[0] == "0"
    row = second.split()
    return bool(row) and all(map(_WHOLE.fullmatch, row)) and len(row) - 1 == int(row[0])


def _numbered(first: str, lines: Iterable[str], name: str) -> Sequences:
    count, size = map(int, first.split())
    if size > _LARGEST_ALPHABET:
        problem = f"the first line announces {size:,} symbols; there may be {_LARGEST_ALPHABET:,}"
        raise InputError(problem, name, 1, hint="correct the first line")
    flat: list[str] = []
    lengths: list[int] = []
    for line_number, line in enumerate(lines, 2):
        length, *symbols = line.split() or ("",)
        if not length and len(lengths) == count:
            continue  # blank lines at the end
        if not _WHOLE.fullmatch(length) or int(length) != len(symbols):
            problem = (
                f"a line must be a length and so many symbols; this one has {len(symbols)} after {length!r}"
            )
            raise InputError(
                problem, name, line_number, excerpt=line, hint="check the line against the PAutomaC format"
            )
        for symbol in symbols:
            if not _WHOLE.fullmatch(symbol) or int(symbol) >= size:
                problem = f"symbol {symbol!r} is not among 0 to {size - 1}, the alphabet that the first line announces"
                raise InputError(
                    problem, name, line_number, excerpt=line, hint="correct the first line or the symbol"
                )
        flat += symbols
        lengths.append(len(symbols))
    if len(lengths) != count:
        problem = f"the first line announces {count} strings, and there are {len(lengths)}"
        raise InputError(
            problem, name, 1, hint="correct the first line, or copy the file again if it was cut short"
        )
    offsets = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    return Sequences(np.array(flat, dtype=np.int32), offsets.astype(np.int64), tuple(range(size)))
