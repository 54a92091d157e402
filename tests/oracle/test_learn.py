"""Enumeration = reference = kernel for trees whose states are hidden."""

from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from learn_cases import Case, big_case, cases, counts_by_enumeration, random_tables

from gramian.learn import tree_inference as inference
from gramian.learn import tree_inference_reference as reference
from gramian.learn.smoothing import NO_SMOOTHING, Smoothing, estimate_rules
from gramian.learn.tables import LatentTables, Layout
from gramian.learn.tree_inference import TreeInference
from gramian.treebank import Treebank
from gramian.treebank.productions import Productions
from gramian.trees import Tree

PARTS = ("binary", "unary", "lexical", "root")


def assert_close(one: LatentTables, other: LatentTables, rtol: float, atol: float) -> None:
    for part in PARTS:
        np.testing.assert_allclose(
            getattr(one, part), getattr(other, part), rtol=rtol, atol=atol, err_msg=part
        )


def kernel(case: Case, dtype: type, jobs: int = 1, often: int = 1) -> inference.Expectation:
    """Return what the kernels find where rules absorb leaves that they have `often`: by default, all."""
    tables = LatentTables(case.tables.layout, *(getattr(case.tables, part).astype(dtype) for part in PARTS))
    with patch("gramian.learn.tree_inference._OFTEN", often):
        return TreeInference(case.bank, tables.layout.productions).expect(tables, jobs)


@settings(max_examples=40)
@given(cases(max_trees=3, max_leaves=4, max_states=2))
def test_enumeration_equals_reference_equals_kernel(case):
    counts, probability = counts_by_enumeration(case.bank, case.tables)
    with np.errstate(divide="ignore"):
        expected = np.log(probability)
    kernels = (kernel(case, np.float64, often=often) for often in (1, 2, 100))
    for found in (reference.expect(case.bank, case.tables), *kernels):
        np.testing.assert_allclose(found.log_likelihood, expected, rtol=1e-10, atol=1e-10)
        assert_close(found.counts, counts, rtol=1e-9, atol=1e-12)


@settings(max_examples=30)
@given(cases(max_trees=8, max_leaves=8, max_states=7))
def test_reference_equals_kernel(case):
    expected = reference.expect(case.bank, case.tables)
    found = kernel(case, np.float64)
    np.testing.assert_allclose(found.log_likelihood, expected.log_likelihood, rtol=1e-10, atol=1e-9)
    assert_close(found.counts, expected.counts, rtol=1e-8, atol=1e-12)
    found = kernel(case, np.float32)
    np.testing.assert_allclose(found.log_likelihood, expected.log_likelihood, rtol=1e-5, atol=1e-4)
    assert_close(found.counts, expected.counts, rtol=2e-4, atol=1e-5)


@settings(max_examples=20)
@given(cases(max_trees=8, max_leaves=8, max_states=4))
def test_counts_may_take_the_place_of_tables(case):
    own = LatentTables(case.tables.layout, *(getattr(case.tables, part).copy() for part in PARTS))
    with patch("gramian.learn.tree_inference._OFTEN", 1):
        found = TreeInference(case.bank, own.layout.productions).expect(own, spent=True).counts
    expected = kernel(case, case.tables.binary.dtype).counts
    assert found is own
    assert all(np.array_equal(getattr(found, part), getattr(expected, part)) for part in PARTS)


def on_device(case: Case, dtype: type = np.float32) -> inference.Expectation:
    pytest.importorskip("torch").set_num_threads(1)
    from gramian.learn.device_inference import DeviceInference

    tables = LatentTables(case.tables.layout, *(getattr(case.tables, part).astype(dtype) for part in PARTS))
    return DeviceInference(case.bank, tables.layout.productions, "cpu").expect(tables)


@settings(max_examples=15)
@given(cases(max_trees=8, max_leaves=8, max_states=7))
def test_reference_equals_device(case):
    expected, found = reference.expect(case.bank, case.tables), on_device(case)
    np.testing.assert_allclose(found.log_likelihood, expected.log_likelihood, rtol=1e-5, atol=1e-4)
    assert_close(found.counts, expected.counts, rtol=2e-4, atol=1e-5)


def test_a_device_weighs_trees_and_takes_many_nodes(monkeypatch):
    case = big_case()
    weighed = Case(replace(case.bank, weight=np.linspace(0.1, 3, case.bank.n_trees)), case.tables)
    expected, found = kernel(weighed, np.float64), on_device(weighed)
    assert_close(found.counts, expected.counts, rtol=2e-4, atol=1e-5)
    assert found.total == pytest.approx(expected.total, rel=1e-5)
    monkeypatch.setattr("gramian.learn.device_inference._MOST_BYTES", 1)  # a tile at a time
    assert_close(on_device(weighed).counts, found.counts, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("smoothing", [Smoothing(), NO_SMOOTHING, Smoothing(0.5, 3.0, 0.1)])
def test_rules_estimated_on_a_device_are_those_of_the_kernels(smoothing):
    pytest.importorskip("torch")
    from gramian.learn.device_inference import DeviceInference

    case = big_case()
    device = DeviceInference(case.bank, case.tables.layout.productions, "cpu")
    counts = device.expect(case.tables).counts
    own = LatentTables(counts.layout, *(getattr(counts, part).astype(np.float64) for part in PARTS))
    assert_close(
        device.estimate_rules(counts, smoothing), estimate_rules(own, smoothing), rtol=2e-4, atol=1e-6
    )
    with pytest.raises(ValueError, match="read-only"):
        counts.binary[0] = 1  # what is kept on the device would no longer be the same


@settings(max_examples=30)
@given(cases(max_trees=6, max_leaves=6, max_states=4))
def test_counts_add_up_to_nodes(case):
    expectation = kernel(case, np.float64)
    possible = np.isfinite(expectation.log_likelihood)
    bank, counts, layout = case.bank, expectation.counts, case.tables.layout
    sizes = np.diff(bank.tree_start)
    kept = np.repeat(possible, sizes)
    assert counts.root.sum() == pytest.approx(possible.sum(), rel=1e-9)
    for part, nodes in (
        ("binary", bank.right >= 0), ("unary", (bank.word < 0) & (bank.right < 0)), ("lexical", bank.word >= 0)
    ):  # fmt: skip
        start = getattr(layout, f"{part}_start")
        # of each production
        seen = np.bincount(layout.productions.node_production[nodes & kept], minlength=len(start) - 1)
        for rule, number in enumerate(seen):
            block = getattr(counts, part)[start[rule] : start[rule + 1]]
            assert block.sum() == pytest.approx(number, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("jobs", [2, 3])
def test_threads_change_nothing(jobs, monkeypatch):
    case = big_case()
    one = kernel(case, np.float32)
    monkeypatch.setattr(inference, "_SMALL_JOB", 0)
    many = kernel(case, np.float32, jobs)
    assert one.log_likelihood.tobytes() == many.log_likelihood.tobytes()
    for part in PARTS:
        assert getattr(one.counts, part).tobytes() == getattr(many.counts, part).tobytes()


def test_jobs_are_cut_into_runs_of_equal_work(monkeypatch):
    work = np.array([5, 1, 1, 1, 1, 1], np.int64)
    assert inference._balanced(work, 0, 6, 2) == [(0, 6)]  # too small
    monkeypatch.setattr(inference, "_SMALL_JOB", 0)
    assert inference._balanced(work, 0, 6, 2) == [(0, 1), (1, 6)]
    assert inference._balanced(work, 1, 6, 5) == [(1, 2), (2, 3), (3, 4), (4, 5), (5, 6)]
    assert inference._balanced(work, 2, 3, 4) == [(2, 3)]


def test_nothing_underflows():
    """A tree of a thousand words has a probability far below what floating-point numbers hold."""
    tree = Tree("x", word="a")
    for _ in range(1000):
        tree = Tree("A", [tree, Tree("x", word="a")])
    bank = Treebank.from_trees([tree])
    layout = Layout.of(Productions.of(bank), np.array([3, 2], np.int32))
    tables = random_tables(layout, np.random.default_rng(1))
    for table in (tables.binary, tables.lexical):
        table *= 1e-3
    expectation = kernel(Case(bank, tables), np.float32)
    assert expectation.log_likelihood[0] < -10_000
    assert expectation.counts.binary.sum() == pytest.approx(1000, rel=1e-5)
    assert expectation.counts.lexical.sum() == pytest.approx(1001, rel=1e-5)
    # Scaling all parameters moves the likelihood by as much and leaves the counts.
    for table in (tables.binary, tables.lexical):
        table *= 1e3
    scaled = kernel(Case(bank, tables), np.float32)
    shift = 2001 * np.log(1e3)
    assert scaled.log_likelihood[0] - expectation.log_likelihood[0] == pytest.approx(shift, rel=1e-6)
    np.testing.assert_allclose(scaled.counts.binary, expectation.counts.binary, rtol=1e-4)


def test_a_tree_without_mass_counts_nothing():
    trees = [Tree.parse("(A (x a) (y b))"), Tree.parse("(A (y b) (x a))")]
    bank = Treebank.from_trees(trees)
    productions = Productions.of(bank)
    tables = random_tables(Layout.of(productions, np.array([2, 2, 2], np.int32)), np.random.default_rng(0))
    tables.binary_block(1)[:] = 0
    assert bank.symbols[productions.binary[1, 1]] == "y"
    expectation = kernel(Case(bank, tables), np.float64)
    assert expectation.log_likelihood[1] == -np.inf
    assert np.isfinite(expectation.log_likelihood[0])
    assert expectation.counts.binary_block(1).sum() == 0
    assert expectation.counts.lexical.sum() == pytest.approx(2)
