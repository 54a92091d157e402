"""The estimator of recurrent models: strings in, a network that runs without PyTorch out."""

import logging
from dataclasses import KW_ONLY, field
from typing import Any

import numpy as np

from gramian.automata.recurrent_model import RecurrentModel
from gramian.automata.sequence_learner import SequenceLearner
from gramian.automata.sequences import Sequences
from gramian.base import estimator, number_of_jobs
from gramian.errors import MissingExtraError
from gramian.progress import tell_progress
from gramian.value_types import Number, Whole, option

_log = logging.getLogger(__name__)
_BATCH_SYMBOLS = 1024
_PATIENCE = 3  # epochs without a gain on held-out strings


@estimator
class RecurrentLearner(SequenceLearner):
    """An LSTM by stochastic gradients with early stopping on held-out strings; training requires PyTorch.

    Examples
    --------
    >>> RecurrentLearner(32, max_iter=5).fit(["ab", "abab"] * 20).model_.n_states  # doctest: +SKIP
    32
    """

    n_states: int = option(Whole(1), default=128)
    """Size of the state vector, and of the symbols' vectors."""
    _: KW_ONLY
    dropout: float = option(Number(0, 0.9), default=0.3)
    """Share of the inputs and outputs of the LSTM that are dropped in training."""
    learning_rate: float = option(Number(above=0), default=4e-3)
    """Of Adam; halved after each epoch without a gain."""
    max_iter: int = option(Whole(1), default=40)
    """Epochs at most."""
    model_: RecurrentModel = field(init=False)
    """The network of the best epoch."""

    def _learn(self, sample: Sequences) -> RecurrentModel:
        try:
            import torch
        except ImportError:
            raise MissingExtraError("PyTorch", "neural", "training a recurrent model") from None
        threads = torch.get_num_threads()
        torch.set_num_threads(number_of_jobs(self.n_jobs))
        try:
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(self.random_state)
                return self._train(torch, *sample.split(self.held_out, seed=self.random_state))
        finally:
            torch.set_num_threads(threads)

    def _train(self, torch: Any, training: Sequences, held_out: Sequences) -> RecurrentModel:
        k, n = len(training.alphabet), self.n_states
        layers = torch.nn.ModuleDict(
            {
                "embedding": torch.nn.Embedding(k + 1, n),
                "lstm": torch.nn.LSTM(n, n, batch_first=True),
                "output": torch.nn.Linear(n, k + 1),
            }
        )
        drop = torch.nn.Dropout(self.dropout)
        optimizer = torch.optim.Adam(layers.parameters(), lr=self.learning_rate)
        rng = np.random.default_rng(self.random_state)
        best, best_value, stale = _weights(layers, training), -np.inf, 0
        for epoch in range(self.max_iter):
            tell_progress(_log, "epochs", epoch, self.max_iter)
            for rows in _batches(training, rng):
                inputs, events = (torch.from_numpy(array) for array in _padded(training.take(rows)))
                states, _ = layers["lstm"](drop(layers["embedding"](inputs)))
                scores = layers["output"](drop(states))
                loss = torch.nn.functional.cross_entropy(
                    scores.flatten(0, 1), events.flatten(), ignore_index=-1
                )
                optimizer.zero_grad()
                loss.backward()
                torch.nn.utils.clip_grad_norm_(layers.parameters(), 1.0)
                optimizer.step()
            model = _weights(layers, training)
            value = float(model.log_score(held_out).mean())
            _log.info("epoch %d: held-out log-probability %.4f", epoch + 1, value)
            if value > best_value:
                best, best_value, stale = model, value, 0
                continue
            stale += 1
            if stale == _PATIENCE:
                break
            for group in optimizer.param_groups:
                group["lr"] /= 2.0
        tell_progress(_log, "epochs", self.max_iter, self.max_iter)
        return best


def _batches(sample: Sequences, rng: np.random.Generator) -> list[Any]:
    """Return the rows of batches of strings of like length, in random order."""
    order = np.lexsort((rng.random(len(sample)), sample.lengths))
    bounds = np.flatnonzero(np.diff(np.cumsum(sample.lengths[order] + 1) // _BATCH_SYMBOLS)) + 1
    batches = np.split(order, bounds)
    return [batches[number] for number in rng.permutation(len(batches))]


def _padded(sample: Sequences) -> tuple[Any, Any]:
    """Return what is read, from START on, and what follows it, -1 where there is nothing, one row a string."""
    shape = len(sample), int(sample.lengths.max(initial=0)) + 1
    inputs, events = np.full(shape, len(sample.alphabet)), np.full(shape, -1)
    row = np.repeat(np.arange(len(sample)), sample.lengths + 1)
    column = np.arange(sample.n_cuts) - np.repeat(sample.first_cuts, sample.lengths + 1)
    events[row, column] = sample.events()
    inputs[:, 1:] = np.maximum(events[:, :-1], 0)
    return inputs, events


def _weights(layers: Any, sample: Sequences) -> RecurrentModel:
    state = {name: value.detach().numpy().copy() for name, value in layers.state_dict().items()}
    return RecurrentModel(
        embedding=state["embedding.weight"],
        input_weights=_by_gate(state["lstm.weight_ih_l0"]),
        recurrent_weights=_by_gate(state["lstm.weight_hh_l0"]),
        gate_bias=(state["lstm.bias_ih_l0"] + state["lstm.bias_hh_l0"]).reshape(4, -1),
        output_weights=np.ascontiguousarray(state["output.weight"].T),
        output_bias=state["output.bias"],
        alphabet=sample.alphabet,
    )


def _by_gate(weights: Any) -> Any:
    """Return weights of shape (4 n, m) as PyTorch has them, in its order of gates, as (m, 4, n)."""
    return np.ascontiguousarray(weights.T).reshape(weights.shape[1], 4, -1)
