"""Trimming: small cells go, the probabilities of rules stay."""

from dataclasses import replace

import numpy as np
import pytest
from tiny_grammar import tiny_grammar

from gramian.errors import OptionError
from gramian.grammar.compress.lowrank import trimmed
from gramian.grammar.lpcfg import check
from gramian.io.tensors import encode


def rows(grammar, rule: int) -> np.ndarray:
    block = grammar.binary[grammar.binary_start[rule] : grammar.binary_start[rule + 1]]
    return block.reshape(grammar.n_states[grammar.binary_rules[rule, 0]], -1)


def test_small_cells_go_and_rules_stay():
    grammar = tiny_grammar()
    small = trimmed(grammar, 0.1)
    check(small, 1e-6)
    for rule in range(len(grammar.binary_rules)):
        np.testing.assert_allclose(rows(small, rule).sum(axis=1), rows(grammar, rule).sum(axis=1), rtol=1e-6)
    # NP -> DT NN: 0.05 of 0.6 is less than a tenth and goes, 0.1 of 0.7 is more and stays
    np.testing.assert_allclose(rows(small, 2), [[0.6, 0.1], [0.0, 0.6]], rtol=1e-6)


def test_nothing_to_trim():
    grammar = tiny_grammar()
    np.testing.assert_array_equal(trimmed(grammar, 0.0).binary, grammar.binary)
    zero = replace(grammar, binary=np.zeros_like(grammar.binary))
    assert not trimmed(zero).binary.any()
    operators = replace(grammar, binary=-grammar.binary, binary_weight=np.ones(9))
    assert trimmed(operators) is operators
    with pytest.raises(OptionError, match="share"):
        trimmed(grammar, 1.0)


def test_files_shrink():
    grammar = tiny_grammar()
    rng = np.random.default_rng(0)
    wide = replace(
        grammar,
        binary=rng.dirichlet(np.full(64, 0.05), 16).astype(np.float32).ravel(),
        n_states=np.array([16, 8, 8] + [1] * 8, np.int32),
        binary_rules=np.array([[0, 1, 2]], np.int32),
    )
    sizes = []
    for one in (wide, trimmed(wide)):
        encode(one, "0", tensors := {})
        sizes.append(sum(tensor.nbytes for tensor in tensors.values()))
    assert sizes[1] < sizes[0] - 1000
