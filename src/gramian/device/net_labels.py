"""What a neural expert says about labels over spans, for a batch of sentences on a device."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from gramian.chart.combine import label_numbers
from gramian.chart.label_table import LabelTable
from gramian.neural.net import Batch, SpanNet
from gramian.neural.net_options import Learning, NetSize
from gramian.neural.neural_model import NeuralModel
from gramian.neural.span_inventory import BOUNDARY, PADDING, UNKNOWN


class NetLabels:
    """A neural expert on a device.

    Parameters
    ----------
    model : NeuralModel
    labels : LabelTable
        In whose order labels come; those that the net does not know have probability 0.
    device : torch.device
    """

    def __init__(self, model: NeuralModel, labels: LabelTable, device: torch.device) -> None:
        self._model, self._device = model, device
        weights = {name: np.asarray(value, np.float32) for name, value in model.weights.items()}
        size = NetSize(
            word=weights["word.weight"].shape[1], char=weights["char.weight"].shape[1],
            char_units=weights["char_lstm.weight_hh_l0"].shape[1], units=weights["lstm.0.weight_hh_l0"].shape[1],
            layers=sum(name.startswith("lstm.") and name.endswith(".weight_ih_l0") for name in weights),
            hidden=len(weights["right.bias"]), tag_hidden=len(weights["tag_hidden.bias"]),
        )  # fmt: skip
        self._net = SpanNet(model.inventory, size, Learning(), weights["vector.weight"][1:])
        self._net.load_state_dict({name: torch.from_numpy(value.copy()) for name, value in weights.items()})
        self._net.eval().to(device)
        for parameter in self._net.parameters():
            parameter.requires_grad_(False)
        known = label_numbers(model.label_names, model.n_phrase_labels)
        place = [known.get(label, -1) for label in label_numbers(labels.names, labels.n_phrase_labels)]
        n_known = len(known)
        self._place = torch.tensor([one if one >= 0 else n_known for one in place], device=device)
        self._membership = torch.from_numpy(model.inventory.membership).to(device)
        self._rows: dict[str, int] = {"": 0}
        # Of each word: its number, that of its vector, and its characters; the first is the boundary.
        self._numbers = [(BOUNDARY, 0)]
        self._spelt = [[BOUNDARY]]

    def _row(self, word: str) -> int:
        row = self._rows.get(word)
        if row is None:
            row = self._rows[word] = len(self._rows)
            inventory = self._model.inventory
            number, vector = inventory.word_numbers([word])[1], inventory.vector_numbers([word])[1]
            self._numbers.append((int(number), int(vector)))
            self._spelt.append(inventory.character_numbers(word))
        return row

    def _batch(self, rows: np.ndarray, lengths: np.ndarray) -> Batch:
        forms, place = np.unique(rows, return_inverse=True)
        spelt = [self._spelt[row] for row in forms.tolist()]
        sizes = np.array([len(one) for one in spelt])
        order = np.argsort(-sizes, kind="stable")
        characters = np.full((len(forms), sizes.max()), PADDING)
        for row, number in enumerate(order.tolist()):
            characters[row, : sizes[number]] = spelt[number]
        rank = np.argsort(order)[place].reshape(rows.shape)
        numbers = np.array([self._numbers[row] for row in forms.tolist()])
        words, vectors = numbers[place.ravel()].T.reshape(2, *rows.shape)
        behind = np.arange(rows.shape[1]) >= lengths[:, None] + 2
        none = np.zeros((0, 3), np.int64)
        tables = (
            np.where(behind, PADDING, words), np.where(behind, 0, vectors), rank, characters, sizes[order], lengths,
            none, none, np.arange(len(rows)),
        )  # fmt: skip
        return Batch(*(torch.from_numpy(np.ascontiguousarray(one, np.int64)) for one in tables))

    def labels(self, sentences: Sequence[Sequence[str]]) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the probabilities of labels over spans, and of each sentence the share of words that the net knows.

        Sentences come the longest first; spans are ordered by width, then start, of the longest.
        """
        lengths = np.array([len(words) for words in sentences])
        n = int(lengths[0])
        rows = np.zeros((len(sentences), n + 2), np.int64)
        for row, words in zip(rows, sentences, strict=True):
            row[1 : len(words) + 1] = [self._row(word) for word in words]
        numbers = np.array(self._numbers)[rows[:, 1:-1]]
        inside = np.arange(n) < lengths[:, None]
        known = ((numbers[..., 0] != UNKNOWN) | (numbers[..., 1] > 0)) & inside
        share = torch.from_numpy((known.sum(1) / lengths).astype(np.float32)).to(self._device)
        batch = self._batch(rows, lengths).to(self._device)
        with torch.no_grad():
            found = self._net.posteriors(batch, self._model.temperature)
        spans = found.spans @ self._membership
        table = spans.new_zeros(len(sentences), spans.shape[1], spans.shape[2] + found.tags.shape[2] + 1)
        table[..., : spans.shape[2]] = spans
        table[:, :n, spans.shape[2] : -1] = found.tags
        return table[..., self._place], share
