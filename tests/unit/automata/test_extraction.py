"""Automata of black boxes: exact where the function is an automaton, minimal where it is a language, measured where it is neither."""

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from gramian.automata import WFA, Sequences, extract, extract_acceptor, load_sequence_model
from gramian.automata.black_boxes import find_function, onnx_black_box
from gramian.cli import app
from gramian.errors import OptionError


def machine(n: int, seed: int) -> WFA:
    """Return a random PNFA over two symbols."""
    rng = np.random.default_rng(seed)
    rows = rng.dirichlet(np.full(2 * n + 1, 0.5), n)
    return WFA(
        rng.dirichlet(np.ones(n)), rows[:, -1], rows[:, :-1].reshape(n, 2, n).swapaxes(0, 1), ("a", "b")
    )


@pytest.mark.parametrize("seed", range(4))
def test_the_basis_grows_until_an_automaton_is_found(seed: int) -> None:
    """Five states need strings longer than one symbol; the rank is that of the minimal automaton."""
    truth = machine(5, seed)
    result = extract(truth.score, "ab", tolerance=1e-9, random_state=seed)
    assert result.model.n_states <= truth.minimise().n_states
    words = ["", "ab", "bbaba", "abababab"]
    np.testing.assert_allclose(result.model.score(words), truth.score(words), rtol=0, atol=1e-8)
    assert result.largest_error <= 1e-8
    assert result.queries < 20_000


def test_a_function_of_infinite_rank_is_approximated_within_the_budget() -> None:
    asked: list[tuple[str, ...]] = []

    def harmonic(strings: list[tuple[str, ...]]) -> list[float]:
        asked.extend(strings)
        return [1.0 / (1 + string.count("a")) for string in strings]

    coarse = extract(harmonic, "ab", max_queries=1500, n_probes=200)
    assert coarse.queries <= 1500
    assert len(asked) == len(set(asked)) <= 1500 + 100, "each string once; others measure the error"
    assert 0 < coarse.mean_error < 0.05
    assert extract(harmonic, "ab", n_states=1, n_probes=200).mean_error > coarse.mean_error


def test_languages_are_learnt_exactly() -> None:
    """The third symbol from the end is a: the minimal acceptor remembers three symbols."""
    result = extract_acceptor(
        lambda strings: [len(x) > 2 and x[-3] == "a" for x in strings], "ab", n_probes=4000
    )
    assert result.model.n_states == 8
    assert result.disagreements == result.largest_error == 0.0
    assert (result.model.transitions.sum(axis=2) == 1).all()
    assert result.model.score(["abb", "aabbb", "bab", ""]).tolist() == [1, 0, 0, 0]
    never = extract_acceptor(lambda strings: [0] * len(strings), "ab")
    assert (never.model.n_states, never.disagreements) == (1, 0.0)


def test_what_is_not_regular_stops_at_most_states() -> None:
    result = extract_acceptor(
        lambda strings: [x.count("a") == x.count("b") for x in strings], "ab", max_states=5, max_length=14
    )
    assert result.model.n_states == 5
    assert result.disagreements > 0


@pytest.mark.parametrize("answer", [lambda strings: [0.0], lambda strings: [np.nan] * len(strings)])
def test_answers_are_checked(answer: object) -> None:
    with pytest.raises(OptionError, match="one number for each string"):
        extract(answer, "ab")  # type: ignore[arg-type]


def test_functions_are_found_by_name(tmp_path: Path) -> None:
    (tmp_path / "box.py").write_text(
        "def odd(strings):\n    return [len(x) % 2 for x in strings]\nten = 10\n"
    )
    assert find_function(f"{tmp_path}/box.py:odd")([("a",)]) == [1]
    for name in (
        f"{tmp_path}/box.py:even",
        f"{tmp_path}/box.py:ten",
        "no.such:thing",
        f"{tmp_path}/none.py:odd",
    ):
        with pytest.raises(OptionError, match="try: "):
            find_function(name)


def test_the_command_extracts(tmp_path: Path) -> None:
    (tmp_path / "box.py").write_text("def odd(strings):\n    return [len(x) % 2 for x in strings]\n")
    target = tmp_path / "odd.wfa"
    box = f"{tmp_path}/box.py:odd"
    learnt = CliRunner().invoke(
        app, ["wfa", "extract", box, "-o", str(target), "--alphabet", "a,b", "--exact"]
    )
    assert "2 states from " in learnt.stderr, learnt.output
    assert load_sequence_model(target).score(["a", "ab"]).tolist() == [1, 0]
    unknown = CliRunner().invoke(app, ["wfa", "extract", box, "-o", str(target), "--force"])
    assert "--alphabet" in str(unknown.exception)
    machine(2, 1).save(tmp_path / "m.wfa")
    model = str(tmp_path / "m.wfa")
    copied = CliRunner().invoke(
        app, ["wfa", "extract", model, "-o", str(target), "--force", "--probes", "200"]
    )
    assert copied.exit_code == 0, copied.output
    np.testing.assert_allclose(
        load_sequence_model(target).score(["ab"]), machine(2, 1).score(["ab"]), atol=1e-6
    )


def test_an_onnx_network_is_a_black_box(tmp_path: Path) -> None:
    """A network that sums a weight of each symbol: of START 10, of a 1, of b 2."""
    onnx = pytest.importorskip("onnx", reason="onnx is not installed; try: make test-all")
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed; try: make test-all")
    helper, types = onnx.helper, onnx.TensorProto
    weights = helper.make_tensor("w", types.FLOAT, [3], [1.0, 2.0, 10.0])
    nodes = [
        helper.make_node("Gather", ["w", "x"], ["g"]),
        helper.make_node("ReduceSum", ["g", "axes"], ["y"], keepdims=1),
    ]
    for batch in ("n", 1):
        graph = helper.make_graph(
            nodes,
            "sums",
            [helper.make_tensor_value_info("x", types.INT64, [batch, "length"])],
            [helper.make_tensor_value_info("y", types.FLOAT, [batch, 1])],
            [weights, helper.make_tensor("axes", types.INT64, [1], [1])],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
        onnx.save(model, tmp_path / "sums.onnx")
        score = onnx_black_box(tmp_path / "sums.onnx", "ab", start=[2])
        assert list(score([("a", "b"), ("b",), ()])) == [13.0, 12.0, 10.0]
        assert extract(score, "ab", n_probes=100).model.n_states == 2, "a sum has rank two"


def test_a_trained_network_becomes_an_automaton() -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed; try: make test-all")
    from gramian.automata import RecurrentLearner

    strings = Sequences.from_strings([["a", "b"] * (i % 3) for i in range(120)])
    net = RecurrentLearner(8, max_iter=40, learning_rate=0.03, dropout=0.0).fit(strings).model_
    result = extract(net.score, net.alphabet, strings=strings, n_probes=300, max_length=6)
    assert result.mean_error < 2e-3
    assert result.model.score(["ab"])[0] == pytest.approx(net.score(["ab"])[0], abs=0.02)
