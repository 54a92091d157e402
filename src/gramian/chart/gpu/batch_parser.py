"""Tokens of many sentences in, trees as arrays out: grammars and a neural expert on a device, under ``product`` and ``max-recall``."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch

from gramian.chart.combine import label_numbers, label_places, sentence_weight
from gramian.chart.forest import Pruning
from gramian.chart.gpu.batch_forest import expanded
from gramian.chart.gpu.torch_backend import Family, Pause, Room, ScoredBatch, Work
from gramian.chart.gpu.tree_choice import LabelTensors, best_trees, label_posteriors, product
from gramian.chart.gpu.word_rows import WordNumbers, WordRows
from gramian.chart.label_table import LabelTable, label_table
from gramian.chart.tree_arrays import TreeArrays
from gramian.grammar import LPCFG
from gramian.neural.net import Sentences, torch_net
from gramian.neural.neural_model import NeuralModel
from gramian.neural.span_inventory import UNKNOWN, SpanTree


class BatchParser:
    """Grammars, and a neural expert beside them, on a device.

    Parameters
    ----------
    families : sequence of sequence of LPCFG
        Grammars with the same rules together; the first of all is the one whose trees come out.
    words : WordRows
        With the states of all grammars, in the order of `families`.
    penalty : float
        What a bracket costs.
    """

    def __init__(
        self, families: Sequence[Sequence[LPCFG]], words: WordRows, pruning: Pruning, penalty: float,
        device: torch.device, net: NetLabels | None = None,
    ) -> None:  # fmt: skip
        first = families[0][0]
        self.room = Room([one for family in families for one in family], device)
        self._families = [Family(family, device) for family in families]
        self._words, self._pruning, self._penalty, self._device, self._net = (
            words,
            pruning,
            penalty,
            device,
            net,
        )
        self.labels: LabelTable = label_table(first.symbols, first.n_phrases)
        tables = [label_table(family[0].symbols, family[0].n_phrases) for family in families]
        self._labels = [LabelTensors.of(table, device) for table in tables]
        places = [label_places(first, family[0]) for family in families]
        self._places = [None if one is None else torch.from_numpy(one).to(device) for one in places]
        self._first_label, self._label_number = (
            torch.from_numpy(one.astype(np.int64)).to(device) for one in (self.labels.first, self.labels.number)
        )  # fmt: skip

    def read(self, sentences: Sequence[Sequence[str]]) -> WordNumbers:
        """Return the words of a batch as numbers, which the device has no part in."""
        return self._words.numbers(sentences)

    def parse(self, sentences: Sequence[Sequence[str]], numbers: WordNumbers) -> Work[TreeArrays]:
        """Parse a batch of sentences that were read, the longest first, none empty."""
        n_words, size = len(sentences[0]), len(sentences)
        words, log_words = self._words.batch(numbers, n_words), self._words.log_probabilities(numbers)
        found, begin = [], 0
        for family in self._families:
            end = begin + len(family.products)
            own = words._replace(states=words.states[begin:end])
            found.append((yield from family.find(own, n_words, self._pruning)))
            begin = end
        table = self._table(found, sentences, size)
        yield Pause(self._device)
        nodes = self._nodes(found[0], table, size)
        yield Pause(self._device)
        return _here(*nodes, _log_probabilities(found), log_words)

    def _table(self, found: list[ScoredBatch], sentences: Sequence[Sequence[str]], size: int) -> torch.Tensor:
        """Return the posteriors of labels over spans under the product of all."""
        tables, there = [], []
        for one, labels, place in zip(found, self._labels, self._places, strict=True):
            for posteriors in one.posteriors:
                table = label_posteriors(labels, one.forest, posteriors.item, size)
                if place is not None:
                    table = torch.where(place >= 0, table[..., place], 0)
                tables.append(table)
                there.append((one.log_total + posteriors.log_ratio).isfinite())
        if len(tables) == 1 and self._net is None:
            return tables[0]
        weights = torch.stack(there).float()
        weights /= weights.sum(0).clamp(min=1)
        if self._net is not None:
            table, net_weight = self._net.labels(sentences)
            tables.append(table)
            weights = torch.cat([weights * (1 - net_weight), net_weight[None]])
        return product(tables, weights)

    def _nodes(
        self, found: ScoredBatch, table: torch.Tensor, size: int
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return each tree's first node, and of the nodes labels, parents and posteriors."""
        f = found.forest
        least = max(self._pruning.fine, 1e-30)
        item, edge, root = (
            torch.stack([getattr(one, name) for one in found.posteriors]).amax(0) for name in ("item", "edge", "root")
        )  # fmt: skip
        possible = (edge > 0) & (item[f.edge_parent] >= least)
        choice = best_trees(f, self._labels[0], table, possible, root > 0, self._penalty)
        symbol = f.symbol[choice.item]
        first = self._first_label[symbol]
        row, number = expanded(first, self._first_label[symbol + 1] - first)
        item, label = choice.item[row], self._label_number[number]
        posterior = table[choice.sentence[row], f.cell[item], label]
        # The last node of a chain stands above what is right under the item; within a chain there is one child.
        nodes = torch.arange(len(row), device=label.device)
        last = torch.full((f.n_items + 1,), -1, device=label.device)
        last.scatter_reduce_(0, item, nodes, "amax")
        parent = torch.where(number == first[row], last[choice.above[row]], nodes - 1)
        bounds = torch.searchsorted(choice.sentence[row], torch.arange(size + 1, device=label.device))
        return bounds, label, parent, posterior


def _log_probabilities(found: list[ScoredBatch]) -> torch.Tensor:
    """Return the log-probability of each sentence, less its words' own, under the mixture of grammars that give it one."""
    logs = torch.stack([one.log_total + each.log_ratio for one in found for each in one.posteriors])
    count = logs.isfinite().sum(0).clamp(min=1)
    return torch.logsumexp(torch.nan_to_num(logs, nan=-torch.inf), 0) - count.log()


def _here(
    bounds: torch.Tensor, label: torch.Tensor, parent: torch.Tensor, posterior: torch.Tensor, logs: torch.Tensor,
    log_words: npt.NDArray[np.float64],
) -> TreeArrays:  # fmt: skip
    """Bring trees here, in one piece."""
    whole = [one.to(torch.int32) for one in (bounds, label, parent)]
    parts = [*whole, *(one.float().view(torch.int32) for one in (posterior, logs))]
    values = torch.cat(parts).cpu().numpy()
    first, number, above, sure, log = np.split(values, np.cumsum([len(one) for one in parts])[:-1])
    return TreeArrays(
        first, number, above, sure.view(np.float32), log.view(np.float32).astype(np.float64) + log_words
    )


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
        self._net = torch_net(model).to(device)
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
