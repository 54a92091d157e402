"""Bases of Hankel blocks against plain counting."""

from collections import Counter

import numpy as np
import pytest
from scipy.sparse.csgraph import structural_rank

from gramian.automata import Basis, BasisOptions, Sequences, hankel_blocks
from gramian.errors import OptionError

STRINGS = ["abcab", "ab", "cab", "abab", "b", "", "ccab"]
SAMPLE = Sequences.from_strings(STRINGS)


def pieces(place: str, longest: int) -> Counter[tuple[str, ...]]:
    """How often each string of 1 to `longest` symbols occurs at a place of the training strings."""
    found: Counter[tuple[str, ...]] = Counter()
    for string in STRINGS:
        for start in range(len(string)):
            for end in range(start + 1, min(start + longest, len(string)) + 1):
                if {"anywhere": True, "start": start == 0, "end": end == len(string)}[place]:
                    found[tuple(string[start:end])] += 1
    return found


@pytest.mark.parametrize("size", [1, 4, 9, 1000])
@pytest.mark.parametrize("longest", [1, 3])
def test_frequent_strings_are_the_most_frequent(size: int, longest: int) -> None:
    anywhere, ends = (
        Basis.frequent(SAMPLE, size, max_length=longest, place=place) for place in ("anywhere", "ends")
    )
    for strings, place in (
        (anywhere.prefixes, "anywhere"),
        (anywhere.suffixes, "anywhere"),
        (ends.prefixes, "start"),
        (ends.suffixes, "end"),
    ):
        counts = pieces(place, longest)
        chosen = list(strings)
        assert chosen[0] == ()
        assert len(set(chosen)) == len(chosen) == min(size, 1 + len(counts))
        left_out = [count for piece, count in counts.items() if piece not in chosen]
        assert min((counts[piece] for piece in chosen[1:]), default=99) >= max(left_out, default=0)


@pytest.mark.parametrize("statistic", ["string", "prefix", "substring"])
def test_matched_strings_waste_no_row(statistic: str) -> None:
    basis = Basis.matching(SAMPLE, 6, statistic=statistic, max_length=2, pool=12)
    matrix = hankel_blocks(SAMPLE, basis, statistic).matrix
    assert min(basis.shape) <= 7
    # The empty string is always added, on either side, and may be without a partner.
    assert structural_rank(matrix) >= max(basis.shape) - 1
    assert () in list(basis.prefixes)
    assert () in list(basis.suffixes)


def test_prefix_closed_and_symbols() -> None:
    closed = Basis.frequent(SAMPLE, 3).prefix_closed()
    prefixes = list(closed.prefixes)
    before = list(Basis.frequent(SAMPLE, 3).prefixes)
    assert set(prefixes) == set(before) | {(*u, s) for u in before for s in "abc"}
    assert len(set(prefixes)) == len(prefixes)
    assert list(Basis.symbols("ab", empty=False).suffixes) == [("a",), ("b",)]


def test_large_blocks_stay_sparse() -> None:
    basis = Basis.frequent(SAMPLE, 50)
    blocks = hankel_blocks(SAMPLE, basis)
    assert blocks.stacked.shape == (3 * basis.shape[0], basis.shape[1])
    assert np.count_nonzero(blocks.stacked.toarray()) == blocks.stacked.nnz


def test_faults() -> None:
    with pytest.raises(OptionError, match="alphabets"):
        Basis(Sequences.from_strings(["a"], "a"), Sequences.from_strings(["b"], "b"))
    with pytest.raises(OptionError, match="size"):
        Basis.frequent(SAMPLE, 0)
    with pytest.raises(OptionError, match="place"):
        Basis.frequent(SAMPLE, 3, place="middle")


def test_the_empty_string_may_be_left_out() -> None:
    sample = Sequences.from_strings(["ab", "abab", "b"])
    for kind in ("frequent", "ends", "greedy", "all", "symbols"):
        with_empty, without = (
            BasisOptions(kind, 3, 2, empty=empty).choose(sample, 3) for empty in (True, False)
        )
        assert () in list(with_empty.prefixes), kind
        assert () not in [*without.prefixes, *without.suffixes], kind
    assert len(Basis.frequent(sample, 3, empty=False).prefixes) == 3


def test_all_strings_up_to_a_length() -> None:
    basis = Basis.up_to("abc", 2)
    assert basis.shape == (1 + 3 + 9, 1 + 3 + 9)
    with pytest.raises(OptionError, match="shorter max_length"):
        Basis.up_to(range(100), 4)


def test_a_greedy_basis_has_full_rank() -> None:
    """Of strings over one block of two, the Hankel matrix has rank five; more prefixes would only repeat."""
    sample = Sequences.from_strings(["ab" * (i % 3) for i in range(30)])
    basis = Basis.greedy(sample, 20)
    values = np.linalg.svd(hankel_blocks(sample, basis).matrix.toarray(), compute_uv=False)
    assert basis.shape == (5, 5)
    assert values[-1] > 1e-6
    wide = hankel_blocks(sample, Basis.frequent(sample, 80)).matrix.toarray()
    assert np.linalg.matrix_rank(wide) == 5
