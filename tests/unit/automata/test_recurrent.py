"""The recurrent model: the same numbers as PyTorch's LSTM, a distribution, and a file that is read back."""

from pathlib import Path

import numpy as np
import pytest

from gramian.automata import NGram, RecurrentLearner, RecurrentModel, Sequences, load_sequence_model
from gramian.errors import ModelFileError, OptionError

STRINGS = [["a", "b"] * (i % 4) for i in range(120)]


def drawn(n: int = 3) -> RecurrentModel:
    rng = np.random.default_rng(0)
    shapes = ((3, 2), (2, 4, n), (n, 4, n), (4, n), (n, 3), (3,))
    return RecurrentModel(*(rng.normal(size=shape).astype(np.float32) for shape in shapes), ("a", "b"))


def test_predictions_are_those_of_torch() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed; try: make test-all")
    model = drawn()
    lstm = torch.nn.LSTM(2, 3, batch_first=True)
    with torch.no_grad():
        lstm.weight_ih_l0.copy_(torch.from_numpy(model.input_weights.reshape(2, 12).T))
        lstm.weight_hh_l0.copy_(torch.from_numpy(model.recurrent_weights.reshape(3, 12).T))
        lstm.bias_ih_l0.copy_(torch.from_numpy(model.gate_bias.ravel()))
        lstm.bias_hh_l0.zero_()
        rows = []
        for string in ([2, 0, 1, 0], [2], [2, 1]):  # 2 is START
            states, _ = lstm(torch.from_numpy(model.embedding[string])[None])
            scores = states[0].numpy() @ model.output_weights + model.output_bias
            rows.append(np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True))
    np.testing.assert_allclose(model.next_scores(["aba", "", "b"]), np.vstack(rows), rtol=1e-5)


def test_scores_are_products_of_predictions() -> None:
    model = drawn()
    rows = model.next_scores(["ab"])
    expected = np.log(rows[0, 0] * rows[1, 1] * rows[2, 2])
    np.testing.assert_allclose(model.log_score(["ab", "ac"]), [expected, -np.inf])
    assert len(model.log_score([])) == 0
    drawn_strings = model.sample(4000, random_state=1)
    share = np.mean([string == ("a",) for string in drawn_strings])
    assert share == pytest.approx(model.score(["a"])[0], abs=0.02)
    with pytest.raises(OptionError, match="wfa extract"):
        model.to_wfa()


def test_files_are_read_back(tmp_path: Path) -> None:
    drawn().save(tmp_path / "net.wfa")
    loaded = load_sequence_model(tmp_path / "net.wfa")
    np.testing.assert_array_equal(loaded.next_scores(["ab"]), drawn().next_scores(["ab"]))
    wrong = RecurrentModel(
        **(drawn().arrays() | {"output_bias": np.zeros(2, np.float32)}), alphabet=("a", "b")
    )
    with pytest.raises(OptionError, match="output_bias"):
        wrong.save(tmp_path / "wrong.wfa")
    (tmp_path / "cut.wfa").write_bytes((tmp_path / "net.wfa").read_bytes()[:-4])
    with pytest.raises(ModelFileError):
        load_sequence_model(tmp_path / "cut.wfa")


def test_learning_beats_a_unigram_and_repeats() -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed; try: make test-all")
    learner = RecurrentLearner(8, max_iter=40, learning_rate=0.03, dropout=0.0, random_state=3)
    model = learner.fit(STRINGS).model_
    sample = Sequences.from_strings(STRINGS)
    assert model.log_score(sample).mean() > NGram(1).fit(sample).model_.log_score(sample).mean() + 1.0
    again = learner.fit(STRINGS).model_
    np.testing.assert_array_equal(model.next_scores(sample), again.next_scores(sample))
