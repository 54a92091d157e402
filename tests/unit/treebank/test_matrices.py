"""Feature values as scaled sparse matrices."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gramian.treebank import Features, feature_matrix
from gramian.treebank.feature_matrices import NodeMatrices

columns = st.lists(st.lists(st.integers(-1, 4), min_size=7, max_size=7), min_size=1, max_size=3)


@settings(max_examples=50)
@given(columns, st.sampled_from([0.0, 1.0, 5.0]), st.booleans(), st.integers(1, 4))
def test_against_a_loop(lists, kappa, scaled, min_count):
    matrix = feature_matrix(
        [np.array(values, np.int64) for values in lists],
        Features(kappa=kappa, scaling=scaled, min_count=min_count),
    )
    dense = []
    for values in lists:
        count = {value: values.count(value) for value in values if value >= 0}
        rare = {value for value in count if count[value] < min_count}
        features = [{value} for value in sorted(set(count) - rare)]
        for members in ([rare] if rare else []) + features:
            weight = 1 / np.sqrt(sum(count[value] for value in members) + kappa) if scaled else 1.0
            dense.append([weight if value in members else 0.0 for value in values])
    expected = np.array(dense).reshape(-1, 7).T
    assert matrix.dtype == np.float32
    assert matrix.shape == expected.shape
    np.testing.assert_allclose(matrix.toarray(), expected, rtol=1e-6)


def test_scaling_by_hand():
    """A feature seen c times has the value 1 / sqrt(c + kappa)."""
    matrix = feature_matrix([np.array([3, 3, 3, 8])], Features(kappa=1.0)).toarray()
    np.testing.assert_allclose(matrix, [[1 / 2, 0], [1 / 2, 0], [1 / 2, 0], [0, 1 / np.sqrt(2)]], rtol=1e-6)


def test_rare_values_share_a_feature_per_template():
    matrix = feature_matrix(
        [np.array([1, 1, 2, 3]), np.array([5, 6, 6, 6])], Features(min_count=2, scaling=False)
    )
    np.testing.assert_array_equal(matrix.toarray(), [[0, 1, 1, 0], [0, 1, 0, 1], [1, 0, 0, 1], [1, 0, 0, 1]])


def test_nothing_said():
    assert feature_matrix([np.array([-1, -1])]).shape == (2, 0)
    assert feature_matrix([]).shape == (0, 0)


@pytest.mark.parametrize("weighted", [False, True])
def test_nodes_that_look_the_same_share_a_row(weighted):
    rng = np.random.default_rng(0)
    columns = [[rng.integers(-1, 3, 60) for _ in range(3)] for _ in range(2)]
    nodes = np.sort(rng.choice(60, 40, replace=False))
    weight = rng.random(40) + 0.5 if weighted else None
    found = NodeMatrices.of(columns, nodes, Features(), weight)
    alone = NodeMatrices.of(columns, nodes, Features(), weight, apart=True)
    for side in range(2):
        expected = feature_matrix([column[nodes] for column in columns[side]], Features(), weight).toarray()
        rows = found.matrices[side].toarray()
        assert len(rows) == len(np.unique(expected, axis=0)) < 40
        np.testing.assert_allclose(rows[found.kinds[side]], expected, rtol=1e-6)
        np.testing.assert_allclose(alone.matrices[side].toarray(), expected, rtol=1e-6)
    x, y = (matrix.toarray() for matrix in alone.matrices)
    times = np.ones(40) if weight is None else weight
    left, right = (matrix.toarray() for matrix in found.matrices)
    np.testing.assert_allclose(left.T @ found.pairs.toarray() @ right, (x.T * times) @ y, rtol=1e-4)
    np.testing.assert_allclose(alone.pairs.toarray(), np.diag(times), rtol=1e-6)
