"""Distillation: the mean posteriors of several nets, from which a smaller net learns (Hinton, Vinyals and Dean 2015; Kuncoro et al. 2016).

Teachers run in PyTorch, several sentences at a time, on any device. Their inventories may differ; chains and tags are matched by name.
Dependencies of the text may be given: labelled spans that cross one of their phrases then score less.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch

from gramian.neural.net import Sentences, torch_net
from gramian.neural.net_trainer import batches
from gramian.neural.neural_model import NeuralModel
from gramian.neural.soft_trees import SoftTree
from gramian.neural.span_inventory import Example, Inventory

Span = tuple[int, int]

LEAST_SHARE = 0.01  # probability of a span or tag that is kept
_CROSSING = 4.0  # log-odds that a labelled span loses if it crosses a phrase of the dependencies
_TAG_SHARE = 0.5  # of a given tag; the rest is the teachers'
_WORDS = 4000  # of a batch


def distil(
    teachers: Sequence[NeuralModel],
    sentences: Sequence[Sequence[str]],
    *,
    tags: Sequence[Sequence[str]] | None = None,
    uncrossed: Sequence[Sequence[Span]] | None = None,
    device: str = "cpu",
) -> list[SoftTree]:
    """Return the mean posteriors of teachers as soft trees.

    Parameters
    ----------
    tags : sequence of sequences of str, optional
        Tags of the words, such as those of a tagged corpus; each counts as much as the teachers do, if they know it.
    uncrossed : sequence of sequences of (start, end), optional
        Spans of each sentence that phrases should not cross.
    """
    chains = sorted({chain for teacher in teachers for chain in teacher.inventory.chains})
    tag_names = sorted({tag for teacher in teachers for tag in teacher.inventory.tags})
    nets = [_Teacher(teacher, sentences, chains, tag_names, torch.device(device)) for teacher in teachers]
    tag_number = {name: number for number, name in enumerate(tag_names)}
    soft: dict[int, SoftTree] = {}
    with torch.no_grad():
        for batch in batches(nets[0].sentences.examples, _WORDS, None, most_cells=100_000):
            longest = max(len(sentences[number]) for number in batch)
            penalty = _penalties([uncrossed[number] for number in batch] if uncrossed else None, longest)
            spans = torch.zeros(len(batch), longest * (longest + 1) // 2, len(chains), device=device)
            tagged = torch.zeros(len(batch), longest, len(tag_names), device=device)
            for net in nets:
                net.add_posteriors(batch, penalty, spans, tagged)
            spans, tagged = spans / len(nets), tagged / len(nets)
            rows = _Rows(spans, len(batch)), _Rows(tagged, len(batch))
            start, end = _cells(longest)
            for row, number in enumerate(batch):
                words = tuple(sentences[number])
                cells, chain, share = rows[0].of(row)
                inside = end[cells] <= len(words)
                labelled = zip(
                    start[cells[inside]].tolist(), end[cells[inside]].tolist(),
                    chain[inside].tolist(), share[inside].tolist(), strict=True,
                )  # fmt: skip
                given = tags[number] if tags else ()
                soft[number] = SoftTree(
                    words,
                    tuple((first, last, chains[column], value) for first, last, column, value in labelled),
                    _tags(rows[1].of(row), len(words), tag_names, tag_number, given),
                )
    return [soft[number] for number in range(len(sentences))]


class _Teacher:
    """A net, the sentences in its numbers, and the columns of its chains and tags."""

    def __init__(
        self,
        model: NeuralModel,
        sentences: Sequence[Sequence[str]],
        chains: Sequence[str],
        tags: Sequence[str],
        device: torch.device,
    ) -> None:
        self.device, self.temperature = device, model.temperature
        self.net = torch_net(model).to(device)
        if self.net.encoder is not None:
            self.net.encoder.model.to(device)
        self.sentences = Sentences([_example(words, model.inventory) for words in sentences], model.inventory)
        column = {name: number for number, name in enumerate(chains)}
        self._chains = torch.tensor([column[name] for name in model.inventory.chains], device=device)
        column = {name: number for number, name in enumerate(tags)}
        self._tags = torch.tensor([column[name] for name in model.inventory.tags], device=device)

    def add_posteriors(
        self,
        batch: Sequence[int],
        penalty: npt.NDArray[np.float32] | None,
        spans: torch.Tensor,
        tags: torch.Tensor,
    ) -> None:
        """Add the probabilities of chains over spans and of tags of words."""
        table = self.sentences.batch(batch).to(self.device)
        rank = {number: row for row, number in enumerate(batch)}
        rows = torch.tensor([rank[number] for number in table.numbers.tolist()], device=self.device)
        offset = None
        if penalty is not None:
            offset = torch.from_numpy(penalty).to(self.device)[rows].unsqueeze(-1)
        posteriors = self.net.posteriors(table, self.temperature, offset)
        spans[rows[:, None], :, self._chains[None]] += posteriors.spans.transpose(1, 2)
        tags[rows[:, None], :, self._tags[None]] += posteriors.tags.transpose(1, 2)


class _Rows:
    """The entries of a table (n_sentences, n_places, n_names) that are likely enough, by sentence."""

    def __init__(self, table: torch.Tensor, n_sentences: int) -> None:
        entries = (table >= LEAST_SHARE).nonzero()
        self._share = table[tuple(entries.T)].cpu().numpy()
        self._entries = entries.cpu().numpy()
        self._bounds = np.searchsorted(self._entries[:, 0], np.arange(n_sentences + 1))

    def of(self, row: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.float32]]:
        """Return places, names and probabilities."""
        rows = slice(self._bounds[row], self._bounds[row + 1])
        return self._entries[rows, 1], self._entries[rows, 2], self._share[rows]


def _example(words: Sequence[str], inventory: Inventory) -> Example:
    return inventory.example(SoftTree(tuple(words), (), ()))


def _cells(n: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return start and end of each cell of `n` words."""
    start = np.concatenate([np.arange(n - width + 1) for width in range(1, n + 1)])
    width = np.repeat(np.arange(1, n + 1), np.arange(n, 0, -1))
    return start, start + width


def _penalties(uncrossed: Sequence[Sequence[Span]] | None, longest: int) -> npt.NDArray[np.float32] | None:
    """Return what is taken from labels over spans, shape (n_sentences, n_cells)."""
    if uncrossed is None:
        return None
    start, end = _cells(longest)
    table = np.zeros((len(uncrossed), len(start)), np.float32)
    for row, spans in zip(table, uncrossed, strict=True):
        for first, last in spans:
            crosses = ((start < first) & (first < end) & (end < last)) | (
                (first < start) & (start < last) & (last < end)
            )
            row[crosses] = -_CROSSING
    return table


def _tags(
    entries: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.float32]],
    n_words: int,
    names: Sequence[str],
    number: dict[str, int],
    given: Sequence[str],
) -> tuple[tuple[int, str, float], ...]:
    """Return words, tags and their probabilities; a given tag has its share of them."""
    known = {word: tag for word, tag in enumerate(given) if tag in number}
    shares: dict[tuple[int, str], float] = {}
    for word, tag, share in zip(*(part.tolist() for part in entries), strict=True):
        if word < n_words:
            shares[word, names[tag]] = share * (1 - _TAG_SHARE if word in known else 1)
    for word, tag in known.items():
        shares[word, tag] = shares.get((word, tag), 0.0) + _TAG_SHARE
    return tuple((word, tag, share) for (word, tag), share in sorted(shares.items()))
