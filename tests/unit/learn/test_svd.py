"""The sparse decomposition against numpy's on dense matrices."""

import numpy as np
import pytest
from scipy import sparse

from gramian.learn.svd import cross_svd


def data(seed: int = 0, n: int = 200, d: int = 30, e: int = 25) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Rows that share a hidden variable, so that a few singular values stand out."""
    rng = np.random.default_rng(seed)
    hidden = rng.integers(0, 5, n)
    x = (rng.random((n, d)) < rng.dirichlet(np.full(d, 0.2), 5)[hidden] * 3).astype(float)
    y = (rng.random((n, e)) < rng.dirichlet(np.full(e, 0.2), 5)[hidden] * 3).astype(float)
    return sparse.csr_array(x), sparse.csr_array(y)


def dense(x: sparse.csr_array, y: sparse.csr_array, centre: bool) -> np.ndarray:
    a, b = x.toarray().astype(float), y.toarray().astype(float)
    if centre:
        a, b = a - a.mean(axis=0), b - b.mean(axis=0)
    return a.T @ b / len(a)


@pytest.mark.parametrize("centre", [True, False])
@pytest.mark.parametrize("rank", [1, 4])
@pytest.mark.parametrize(("dtype", "rtol"), [(np.float64, 1e-6), (np.float32, 1e-4)])
def test_values_and_subspaces_are_those_of_the_dense_matrix(centre, rank, dtype, rtol):
    x, y = (matrix.astype(dtype) for matrix in data())
    u, s, vt = np.linalg.svd(dense(x, y, centre))
    assert s[rank - 1] > 1.2 * s[rank]  # a gap, so that the subspace is well defined
    found = cross_svd(x, y, rank, centre=centre, power_iterations=12)
    np.testing.assert_allclose(found.singular_values, s[:rank], rtol=rtol)
    for ours, theirs in ((found.left, u[:, :rank]), (found.right, vt[:rank].T)):
        np.testing.assert_allclose(ours.T @ ours, np.eye(rank), atol=10 * rtol)
        np.testing.assert_allclose(ours @ ours.T, theirs @ theirs.T, atol=30 * rtol)
    # Left and right vectors belong together, with one sign for both.
    np.testing.assert_allclose(
        found.left.T @ dense(x, y, centre) @ found.right, np.diag(s[:rank]), atol=30 * rtol * s[0]
    )


def test_the_few_steps_learners_take_are_close_enough():
    x, y = data(n=2000)
    s = np.linalg.svd(dense(x, y, True), compute_uv=False)[:4]
    np.testing.assert_allclose(cross_svd(x, y, 4).singular_values, s, rtol=1e-3)


def test_means():
    x, y = data()
    found = cross_svd(x, y, 2)
    np.testing.assert_allclose(found.left_mean, x.toarray().mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(found.right_mean, y.toarray().mean(axis=0), rtol=1e-12)
    assert not cross_svd(x, y, 2, centre=False).left_mean.any()


def test_same_seed_same_bytes():
    x, y = data()
    one, again = cross_svd(x, y, 3, random_state=5), cross_svd(x, y, 3, random_state=5)
    assert one.left.tobytes() == again.left.tobytes()
    assert one.right.tobytes() == again.right.tobytes()
    assert one.left.tobytes() != cross_svd(x, y, 3, random_state=6).left.tobytes()


def test_signs_do_not_depend_on_the_seed():
    x, y = data()
    one, other = (cross_svd(x, y, 2, random_state=seed, power_iterations=20) for seed in (1, 2))
    np.testing.assert_allclose(one.left, other.left, atol=1e-6)


def test_smaller_ranks_are_leading_columns():
    x, y = data()
    large, small = cross_svd(x, y, 6, power_iterations=30), cross_svd(x, y, 3, power_iterations=30)
    np.testing.assert_allclose(large.singular_values[:3], small.singular_values, rtol=1e-8)
    np.testing.assert_allclose(large.left[:, :3], small.left, atol=1e-6)
    np.testing.assert_allclose(large.right[:, :3], small.right, atol=1e-6)


@pytest.mark.parametrize(("n", "d", "e"), [(3, 10, 10), (50, 2, 9), (50, 9, 1)])
def test_rank_is_cut_to_what_there_is(n, d, e):
    x, y = data(n=n, d=d, e=e)
    found = cross_svd(x, y, 100)
    assert len(found.singular_values) == min(n, d, e)
    assert found.left.shape == (d, min(n, d, e))
