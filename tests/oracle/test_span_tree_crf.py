"""Sums over binary trees: enumeration = reference = kernel = torch, and gradients as finite differences have them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gramian.neural import net_kernels, span_tree_reference
from gramian.neural.span_inventory import cell, n_cells


def binary_trees(start, end):
    """All binary trees over a span, each as the set of its spans."""
    if end - start == 1:
        return [frozenset({(start, end)})]
    return [
        left | right | {(start, end)}
        for middle in range(start + 1, end)
        for left in binary_trees(start, middle)
        for right in binary_trees(middle, end)
    ]


def enumerated(scores, n):
    trees = [[cell(n, *span) for span in tree] for tree in binary_trees(0, n)]
    weights = np.exp([scores[tree].sum() for tree in trees])
    marginals = np.zeros(len(scores))
    for tree, weight in zip(trees, weights, strict=True):
        marginals[tree] += weight / weights.sum()
    return np.log(weights.sum()), marginals


def drawn(n, seed, scale=2.0):
    return scale * np.random.default_rng(seed).standard_normal(n_cells(n))


cases = given(n=st.integers(1, 6), seed=st.integers(0, 1000))


@settings(deadline=None, max_examples=30)
@cases
def test_reference_and_kernel_agree_with_enumeration(n, seed):
    scores = drawn(n, seed)
    total, marginals = enumerated(scores, n)
    for way in (span_tree_reference.span_marginals, net_kernels.span_marginals):
        got_total, got = way(scores, n)
        np.testing.assert_allclose(got_total, total, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(got, marginals, rtol=1e-9, atol=1e-9)


def test_equal_scores_count_the_trees():
    catalan = [1, 1, 2, 5, 14, 42, 132]
    for n, count in enumerate(catalan, 1):
        total, marginals = net_kernels.span_marginals(np.zeros(n_cells(n)), n)
        assert np.exp(total) == pytest.approx(count, rel=1e-9)
        assert marginals.sum() == pytest.approx(2 * n - 1, rel=1e-9)


@settings(deadline=None, max_examples=30)
@cases
def test_best_tree_is_the_best_of_all(n, seed):
    worth = drawn(n, seed)
    best = max(binary_trees(0, n), key=lambda tree: worth[[cell(n, *span) for span in tree]].sum())
    found = net_kernels.best_spans(worth, n)
    assert sorted(found.tolist()) == sorted(cell(n, *span) for span in best)


def padded(lengths, seed):
    """Scores of sentences of several lengths, as a batch and each alone."""
    longest = max(lengths)
    batch = 50 * np.random.default_rng(seed).standard_normal((len(lengths), n_cells(longest)))
    alone = []
    for row, n in enumerate(lengths):
        alone.append(drawn(n, seed + row))
        for width in range(1, n + 1):
            for start in range(n - width + 1):
                batch[row, cell(longest, start, start + width)] = alone[-1][cell(n, start, start + width)]
    return batch, alone


@settings(deadline=None, max_examples=20)
@given(lengths=st.lists(st.integers(1, 6), min_size=1, max_size=4), seed=st.integers(0, 1000))
def test_torch_agrees_with_the_reference_on_batches(lengths, seed):
    torch = pytest.importorskip("torch")
    from gramian.neural.span_tree_crf import log_partition

    batch, alone = padded(lengths, seed)
    scores = torch.tensor(batch, requires_grad=True)
    totals = log_partition(scores, torch.tensor(lengths))
    totals.sum().backward()
    longest = max(lengths)
    for row, (n, own) in enumerate(zip(lengths, alone, strict=True)):
        total, marginals = span_tree_reference.span_marginals(own, n)
        assert totals[row].item() == pytest.approx(total, rel=1e-9, abs=1e-9)
        gradient = scores.grad[row].numpy()
        got = [
            gradient[cell(longest, start, start + width)]
            for width in range(1, n + 1)
            for start in range(n - width + 1)
        ]
        np.testing.assert_allclose(got, marginals, rtol=1e-9, atol=1e-9)
        assert gradient.sum() == pytest.approx(2 * n - 1, rel=1e-9)  # and nothing beyond the sentence's end


def test_gradient_agrees_with_finite_differences():
    torch = pytest.importorskip("torch")
    from gramian.neural.span_tree_crf import log_partition

    lengths = torch.tensor([3, 5, 4])
    scores = torch.tensor(padded([3, 5, 4], 7)[0] / 10, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: log_partition(x, lengths), scores, eps=1e-6, atol=1e-6)


def test_gpu_kernels_agree_with_the_reference():
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("no GPU")
    from gramian.neural.span_tree_crf import log_partition

    lengths = [1, 2, 7, 33, 70]
    batch, alone = padded(lengths, 3)
    scores = torch.tensor(batch, dtype=torch.float32, device="cuda", requires_grad=True)
    totals = log_partition(scores, torch.tensor(lengths, device="cuda"))
    totals.sum().backward()
    for row, (n, own) in enumerate(zip(lengths, alone, strict=True)):
        total, marginals = net_kernels.span_marginals(own, n)
        assert totals[row].item() == pytest.approx(total, rel=1e-5)
        assert scores.grad[row].sum().item() == pytest.approx(2 * n - 1, rel=1e-4)
        assert scores.grad[row, cell(max(lengths), 0, 1)].item() == pytest.approx(marginals[0], rel=1e-4)
