"""What a neural expert says about labels over spans, for a batch of sentences on a device."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from gramian.chart.combine import label_numbers, sentence_weight
from gramian.chart.label_table import LabelTable
from gramian.neural.net import Sentences, SpanNet
from gramian.neural.net_options import Learning, NetSize
from gramian.neural.neural_model import NeuralModel
from gramian.neural.span_inventory import UNKNOWN, SpanTree


class NetLabels:
    """A neural expert on a device.

    Parameters
    ----------
    weight : float
        Beside grammars, for sentences whose words it all knows.
    labels : LabelTable
        In whose order labels come; those that the net does not know have probability 0.
    """

    def __init__(self, model: NeuralModel, weight: float, labels: LabelTable, device: torch.device) -> None:
        self._model, self._weight, self._device = model, weight, device
        weights = {name: np.asarray(value, np.float32) for name, value in model.weights.items()}
        self._net = SpanNet(model.inventory, NetSize.of(weights), Learning(), weights["vector.weight"][1:])
        self._net.load_state_dict({name: torch.from_numpy(value.copy()) for name, value in weights.items()})
        self._net.eval().to(device)
        for parameter in self._net.parameters():
            parameter.requires_grad_(False)
        known = label_numbers(model.label_names, model.n_phrase_labels)
        place = [known.get(label, -1) for label in label_numbers(labels.names, labels.n_phrase_labels)]
        n_known = len(known)
        self._place = torch.tensor([one if one >= 0 else n_known for one in place], device=device)
        self._membership = torch.from_numpy(model.inventory.membership).to(device)

    def labels(self, sentences: Sequence[Sequence[str]]) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the probabilities of labels over spans, and the weight of the net for each sentence.

        Sentences come the longest first; spans are ordered by width, then start, of the longest.
        """
        inventory = self._model.inventory
        examples = [inventory.example(SpanTree(tuple(one), ("",) * len(one), ())) for one in sentences]
        batch = Sentences(examples, inventory).batch(range(len(examples)))
        n = len(examples[0].forms)
        inside = torch.arange(n) < batch.lengths[:, None]
        known = ((batch.words != UNKNOWN) | (batch.vectors > 0))[:, 1:-1] & inside
        share = (known.sum(1) / batch.lengths).float().to(self._device)
        batch = batch.to(self._device)
        with torch.no_grad():
            found = self._net.posteriors(batch, self._model.temperature)
        spans = found.spans @ self._membership
        table = spans.new_zeros(len(sentences), spans.shape[1], spans.shape[2] + found.tags.shape[2] + 1)
        table[..., : spans.shape[2]] = spans
        table[:, :n, spans.shape[2] : -1] = found.tags
        return table[..., self._place], sentence_weight(self._weight, share)
