from pathlib import Path

import numpy as np
import pytest

from gramian.automata import WFA, DivergenceError, Sequences, load_sequence_model
from gramian.errors import ModelFileError, OptionError

COIN = WFA([1.0], [0.5], [[[0.5]]], ("a",))


def turnstile() -> WFA:
    """Two states that alternate between a and b; STOP only in the first."""
    transitions = np.zeros((2, 2, 2))
    transitions[0, 0, 1] = 0.75
    transitions[1, 1, 0] = 1.0
    return WFA([1.0, 0.0], [0.25, 0.0], transitions, ("a", "b"))


def test_scores_by_hand() -> None:
    strings = ["", "ab", "abab", "a", "ba", "ac"]
    np.testing.assert_allclose(turnstile().score(strings), [0.25, 0.1875, 0.140625, 0, 0, 0], rtol=1e-15)
    np.testing.assert_allclose(turnstile().prefix_score(["", "a", "ab", "b"]), [1, 0.75, 0.75, 0], rtol=1e-14)


def test_long_strings_do_not_underflow() -> None:
    long = Sequences.from_strings([["a"] * 5000])
    assert COIN.score(long)[0] == 0.0
    assert COIN.log_score(long)[0] == pytest.approx(5001 * np.log(0.5), rel=1e-12)


def test_negative_scores_have_no_logarithm() -> None:
    model = WFA([1.0], [-0.5], [[[0.5]]], ("a",))
    assert model.log_score([[]])[0] == -np.inf
    log_abs, sign = model.signed_log_score([[], ["a"]])
    np.testing.assert_allclose(log_abs, np.log([0.5, 0.25]), rtol=1e-15)
    assert sign.tolist() == [-1.0, -1.0]


def test_divergence_is_said() -> None:
    model = WFA([1.0], [0.5], [[[1.5]]], ("a",))
    assert model.spectral_radius == pytest.approx(1.5)
    for diverging in (
        model.total_mass,
        lambda: model.prefix_score([[]]),
        lambda: model.convert("string", "substring"),
    ):
        with pytest.raises(DivergenceError, match=r"1\.5"):
            diverging()


def test_next_scores_are_conditional_probabilities() -> None:
    rows = turnstile().next_scores(["ab"])
    np.testing.assert_allclose(rows, [[0.75, 0, 0.25], [0, 1, 0], [0.75, 0, 0.25]], atol=1e-12)


def test_next_scores_go_on_after_the_impossible() -> None:
    """After a prefix of weight zero only its last symbol counts; after an unknown symbol, nothing."""
    model = turnstile()
    np.testing.assert_allclose(model.next_scores(["b"])[1], [0.75, 0, 0.25], atol=1e-12)
    average = np.array([4.0, 3.0]) / 7.0  # expected visits: 1 / 0.25 and one less
    expected = [average[0] * 0.75, average[1], average[0] * 0.25]
    np.testing.assert_allclose(model.next_scores(["c"])[1], expected, atol=1e-12)


def test_next_scores_after_a_negative_weight() -> None:
    model = WFA([1.0, 0.0], [0.5, 0.5], [[[-0.1, -0.05], [0.4, 0.3]], [[0.1, 0.8], [0.1, 0.1]]], ("a", "b"))
    total = np.linalg.solve(np.eye(2) - model.transitions.sum(axis=0), model.final)
    assert model.prefix_score(["a"])[0] < 0
    average = np.linalg.solve(np.eye(2) - model.transitions.sum(axis=0).T, model.initial)
    state = average @ model.transitions[0]
    assert state @ total > 0
    expected = [
        state @ model.transitions[0] @ total,
        state @ model.transitions[1] @ total,
        state @ model.final,
    ]
    np.testing.assert_allclose(model.next_scores(["a"])[1], np.array(expected) / (state @ total), rtol=1e-10)


def test_change_of_basis_and_minimisation_keep_the_function() -> None:
    rng = np.random.default_rng(0)
    model = turnstile().change_basis(rng.normal(size=(2, 2)))
    strings = ["", "ab", "ababab", "b"]
    np.testing.assert_allclose(model.score(strings), turnstile().score(strings), rtol=0, atol=1e-13)
    doubled = WFA(
        np.concatenate([model.initial, model.initial]) / 2,
        np.concatenate([model.final, model.final]),
        np.kron(np.eye(2)[None], model.transitions),
        model.alphabet,
    )
    small = doubled.minimise()
    assert small.n_states == 2
    np.testing.assert_allclose(small.score(strings), turnstile().score(strings), rtol=0, atol=1e-12)
    assert WFA([1.0], [0.0], [[[0.5]]], ("a",)).minimise().n_states == 0


def test_probabilistic() -> None:
    assert turnstile().is_probabilistic()
    assert not WFA([1.0], [0.6], [[[0.5]]], ("a",)).is_probabilistic()
    assert not WFA([1.0], [1.5], [[[-0.5]]], ("a",)).is_probabilistic()


def test_samples_follow_the_distribution() -> None:
    drawn = turnstile().sample(20_000, random_state=3)
    assert set(drawn) <= {tuple("ab" * i) for i in range(60)}
    share = np.mean(drawn.lengths == 2)
    assert share == pytest.approx(0.1875, abs=5 * np.sqrt(0.1875 * 0.8125 / 20_000))
    assert list(turnstile().sample(5, random_state=3)) == list(turnstile().sample(5, random_state=3))
    with pytest.raises(OptionError, match="not a distribution"):
        WFA([1.0], [0.7], [[[0.5]]], ("a",)).sample(1)


def test_files_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "model"
    model = WFA([1.0], [0.5], [[[0.25]], [[0.25]]], ("a", 1))
    model.save(path)
    first = path.read_bytes()
    model.save(path)
    assert path.read_bytes() == first
    assert list(tmp_path.iterdir()) == [path]
    for loaded in (WFA.load(path), load_sequence_model(path)):
        assert isinstance(loaded, WFA)
        assert loaded.alphabet == ("a", 1)
        np.testing.assert_array_equal(loaded.transitions, model.transitions)


def test_foreign_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "model"
    with pytest.raises(ModelFileError, match="no such model file"):
        WFA.load(path)
    for content, message in (
        (b"", "not a model file"),
        (b"(S (NP x))", "holds trees"),
        (b"\x80\x04\x95" + bytes(64), "not a model file"),
    ):
        path.write_bytes(content)
        with pytest.raises(ModelFileError, match=message):
            load_sequence_model(path)
    COIN.save(path)
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(ModelFileError, match="damaged"):
        WFA.load(path)


@pytest.mark.parametrize(
    ("initial", "final", "transitions", "alphabet"),
    [
        ([1.0], [1.0, 0.0], [[[0.5]]], "a"),
        ([1.0], [1.0], [[[0.5]]], "ab"),
        ([1.0], [1.0], [[[0.5]], [[0.1]]], "aa"),
    ],
)
def test_parts_must_fit(
    initial: list[float], final: list[float], transitions: list[object], alphabet: str
) -> None:
    with pytest.raises(OptionError):
        WFA(initial, final, transitions, tuple(alphabet))
