"""Tokens of many sentences in, trees as arrays out: a whole model on a device, under ``product`` and ``max-recall``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from gramian.chart.combine import DISTRUST, label_places
from gramian.chart.forest import Pruning
from gramian.chart.label_table import LabelTable, label_table
from gramian.device.batch_forest import expanded
from gramian.device.net_labels import NetLabels
from gramian.device.torch_backend import Family, Found, Room
from gramian.device.tree_choice import LabelTensors, best_trees, label_posteriors, product
from gramian.device.word_rows import WordRows
from gramian.grammar import LPCFG


class TreeArrays(NamedTuple):
    """Trees of a batch: their nodes one after the other, parents before children, left before right."""

    first: list[int]  # (n_sentences + 1,): a tree's nodes; none where there is no tree
    label: list[int]  # of each node, in the order of the grammar's labels
    n_children: list[int]  # 0 at tags
    posterior: npt.NDArray[np.float64]
    log_prob: list[float]  # (n_sentences,)


class DeviceNet(NamedTuple):
    """A neural expert and what it counts."""

    net: NetLabels
    weight: float


class BatchParser:
    """Grammars, and a neural expert beside them, on a device.

    Parameters
    ----------
    families : sequence of sequence of LPCFG
        Grammars with the same rules together; the first of all is the one whose trees come out.
    words : WordRows
        With the states of all grammars, in the order of `families`.
    pruning : Pruning
    penalty : float
        What a bracket costs.
    device : torch.device
    net : DeviceNet, optional
    """

    def __init__(
        self, families: Sequence[Sequence[LPCFG]], words: WordRows, pruning: Pruning, penalty: float,
        device: torch.device, net: DeviceNet | None = None,
    ) -> None:  # fmt: skip
        first = families[0][0]
        self._room = Room([one for family in families for one in family], device)
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

    def sentences_at_once(self, n_words: int) -> int:
        """Return how many sentences of at most so many words make a batch."""
        return self._room.sentences(n_words)

    def parse(self, sentences: Sequence[Sequence[str]]) -> TreeArrays:
        """Parse a batch of sentences, the longest first, none empty."""
        numbers = self._words.numbers(sentences)
        n_words, size = len(sentences[0]), len(sentences)
        with torch.no_grad():
            words = self._words.batch(numbers, n_words)
            found, begin = [], 0
            for family in self._families:
                end = begin + len(family.products)
                own = words._replace(states=words.states[begin:end])
                found.append(family.find(own, n_words, self._pruning))
                begin = end
            table = self._table(found, sentences, size)
            log_prob = _log_probabilities(found).double().cpu().numpy() + self._words.log_probabilities(
                numbers
            )
            return self._trees(found[0], table, log_prob.tolist())

    def _table(self, found: list[Found], sentences: Sequence[Sequence[str]], size: int) -> torch.Tensor:
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
            table, known = self._net.net.labels(sentences)
            tables.append(table)
            own = self._net.weight * known**DISTRUST
            weights = torch.cat([weights * (1 - own), own[None]])
        return product(tables, weights)

    def _trees(self, found: Found, table: torch.Tensor, log_prob: list[float]) -> TreeArrays:
        f = found.forest
        least = max(self._pruning.fine, 1e-30)
        item, edge, root = (
            torch.stack([getattr(one, name) for one in found.posteriors]).amax(0) for name in ("item", "edge", "root")
        )  # fmt: skip
        possible = (edge > 0) & (item[f.edge_parent] >= least)
        choice = best_trees(f, self._labels[0], table, possible, root > 0, self._penalty)
        symbol = f.symbol[choice.item]
        first = self._first_label[symbol]
        count = self._first_label[symbol + 1] - first
        row, number = expanded(first, count)
        label = self._label_number[number]
        posterior = table[choice.sentence[row], f.cell[choice.item[row]], label]
        # How many items with labels stand right under each; within a chain there is one child.
        below = torch.zeros(f.n_items + 1, dtype=torch.int64, device=label.device)
        below.index_add_(0, choice.above[count > 0], torch.ones_like(choice.above[count > 0]))
        last = number == (first + count - 1)[row]
        is_tag = choice.item[row] < f.level[1]
        children = torch.where(last, torch.where(is_tag, 0, below[choice.item[row]]), 1)
        bounds = torch.searchsorted(
            choice.sentence[row], torch.arange(len(log_prob) + 1, device=label.device)
        )
        values = posterior.double().cpu().numpy()
        return TreeArrays(bounds.tolist(), label.tolist(), children.tolist(), values, log_prob)


def _log_probabilities(found: list[Found]) -> torch.Tensor:
    """Return the log-probability of each sentence, less its words' own, under the mixture of grammars that give it one."""
    logs = torch.stack([one.log_total + each.log_ratio for one in found for each in one.posteriors])
    count = logs.isfinite().sum(0).clamp(min=1)
    return torch.logsumexp(torch.nan_to_num(logs, nan=-torch.inf), 0) - count.log()
