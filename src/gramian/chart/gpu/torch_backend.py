"""The backend of torch: charts of whole batches on a device, behind the same seam as the kernels of numba.

What works on a device is a generator that yields pauses, so that one thread can keep a device and itself busy.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
import torch

from gramian.chart.backend import BackendFactory, ChartInput, Longs, NumbaBackend, PlacedGrammar
from gramian.chart.forest import Forest, Pruning
from gramian.chart.gpu.batch_forest import BatchForest, likely_forest
from gramian.chart.gpu.dense_chart import fill_chart
from gramian.chart.gpu.grammar_tensors import coarse_tensors, product_tensors
from gramian.chart.gpu.state_pass import StatePosteriors, state_posteriors
from gramian.chart.grammar_arrays import grammar_arrays
from gramian.chart.label_table import label_table
from gramian.grammar import LPCFG
from gramian.torch_device import find_device

_SHARE = 0.4  # of a GPU's free memory that a batch may take
_MOST_BYTES = 1 << 30  # elsewhere
_MOST_SENTENCES = 4096
_NEGLIGIBLE = 1e-3  # of the posterior that an item needs: what may be left out of its sum


Value = TypeVar("Value")


class Pause:
    """The time that a device takes for all it has been given."""

    def __init__(self, device: torch.device) -> None:
        self._event = None
        if device.type == "cuda":
            self._event = torch.cuda.Event()
            self._event.record(torch.cuda.current_stream(device))

    @property
    def is_over(self) -> bool:
        """Whether the device is done."""
        return self._event is None or bool(self._event.query())


Work: TypeAlias = Generator[Pause, None, Value]


def finished(work: Work[Value]) -> Value:
    """Return what work leads to, without use of its pauses."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            value: Value = end.value
            return value


class WordTensors(NamedTuple):
    """The words of a batch: which entries of a table of tags each has."""

    lengths: torch.Tensor  # (n_sentences,)
    place: torch.Tensor  # (n,): sentence * n_words + word of an entry
    tag: torch.Tensor  # (n,)
    score: torch.Tensor  # (n,): of the tag
    entry: torch.Tensor  # (n,): the rows of its states in `states`
    states: Sequence[torch.Tensor]  # for each grammar (n_entries, n_states)


class ScoredBatch(NamedTuple):
    """The forest of a batch, and what each grammar says about it."""

    forest: BatchForest
    posteriors: list[StatePosteriors]
    log_total: torch.Tensor  # (n_sentences,): of the probability without states


class Family:
    """Grammars with the same rules on a device: one dense chart, and a pass with states for each."""

    def __init__(self, grammars: Sequence[LPCFG], device: torch.device) -> None:
        first = grammars[0]
        self.device, self.n_phrases = device, first.n_phrases
        self.coarse = coarse_tensors(first, device)
        self.products = [product_tensors(one, first.coarse, device) for one in grammars]

    def find(self, words: WordTensors, n_words: int, pruning: Pruning) -> Work[ScoredBatch]:
        """Return the forest of a batch, of sentences of at most `n_words` words."""
        size, n_tags = len(words.lengths), self.coarse.n_symbols - self.n_phrases
        cells = words.place * n_tags + words.tag
        emission = words.score.new_zeros(size * n_words * n_tags)
        emission[cells] = words.score
        least = _NEGLIGIBLE * pruning.item
        chart = fill_chart(self.coarse, emission.view(size, n_words, n_tags), words.lengths, least)
        yield Pause(self.device)
        forest = likely_forest(self.coarse, chart, pruning)
        entry_at = torch.zeros(len(emission), dtype=torch.int64, device=self.device)
        entry_at[cells] = words.entry
        tags = slice(forest.level[1])
        place = forest.sentence[tags] * n_words + forest.start[tags]
        entry = entry_at[place * n_tags + forest.symbol[tags] - self.n_phrases]
        found = []
        yield Pause(self.device)
        for products, states in zip(self.products, words.states, strict=True):
            found.append(state_posteriors(products, forest, states[entry], size))
        return ScoredBatch(forest, found, chart.log_total)


class Room:
    """How many sentences make a batch, by the memory that their charts are expected to take.

    Parameters
    ----------
    device : torch.device
        What is free there now is what batches share.
    """

    def __init__(self, grammars: Sequence[LPCFG], device: torch.device) -> None:
        self._n_symbols = max(one.n_symbols for one in grammars)
        self._n_pairs = max(3 * len(one.binary_rules) // 2 for one in grammars)
        self._states = sum(int(one.n_states.max()) for one in grammars)
        free = torch.cuda.mem_get_info(device)[0] if device.type == "cuda" else 0
        self._bytes = max(_MOST_BYTES, _SHARE * free)

    def sentences(self, n_words: int) -> int:
        """Return how many sentences of at most so many words make a batch."""
        cells = n_words * (n_words + 1) // 2
        each = 16 * n_words * self._n_pairs + 64 * cells * self._n_symbols + 800 * cells * self._states
        return max(1, min(_MOST_SENTENCES, int(self._bytes // each)))


class TorchBackend:
    """Charts filled on a device, batch by batch; see :class:`gramian.chart.backend.Backend`.

    Sentences that are constrained, and grammars with negative weights, go to the kernels of numba.
    """

    def __init__(self, grammars: Sequence[PlacedGrammar], tag_states: Longs, device: str = "cuda") -> None:
        self._placed, self._tag_states = tuple(grammars), tag_states
        self._grammars = [one.grammar for one in grammars]
        self._kernels = NumbaBackend(grammars, tag_states)
        self._device = find_device(device)
        self._family, self._room = Family(self._grammars, self._device), Room(self._grammars, self._device)
        first = self._grammars[0]
        self._arrays = [grammar_arrays(one, first.coarse) for one in self._grammars]
        # Rules of these arrays are ordered by their children.
        order = np.lexsort((first.binary_rules[:, 0], first.binary_rules[:, 2], first.binary_rules[:, 1]))
        unary = np.lexsort((first.unary_rules[:, 0], first.unary_rules[:, 1]))
        self._rule_place = np.concatenate([np.argsort(order), np.argsort(unary)]).astype(np.int32)
        self._labels = label_table(first.symbols, first.n_phrases)

    @classmethod
    def on(cls, device: str) -> BackendFactory:
        """Return what makes backends on a device."""
        return lambda grammars, tag_states: cls(grammars, tag_states, device)

    def forests(self, batch: Sequence[ChartInput], pruning: Pruning) -> list[list[Forest | None]]:
        """Return the forests of each sentence; see :meth:`gramian.chart.backend.Backend.forests`."""
        if not all(one.is_probabilistic for one in self._grammars):
            return self._kernels.forests(batch, pruning)
        found: list[list[Forest | None]] = [[] for _ in batch]
        free = [place for place, one in enumerate(batch) if one.allowed is None]
        for place, one in enumerate(batch):
            if one.allowed is not None:
                [found[place]] = self._kernels.forests([one], pruning)
        by_length: dict[int, list[int]] = {}
        for place in free:
            by_length.setdefault(len(batch[place].words), []).append(place)
        for n_words, places in sorted(by_length.items()):
            most = self._room.sentences(n_words)
            for first in range(0, len(places), most):
                part = places[first : first + most]
                rows = self._of_length([batch[place] for place in part], n_words, pruning)
                for place, row in zip(part, rows, strict=True):
                    found[place] = row
        return found

    def _of_length(self, batch: list[ChartInput], n: int, pruning: Pruning) -> list[list[Forest | None]]:
        words = [word for one in batch for word in one.words]
        counts = [len(word.tags) for word in words]
        tags = np.concatenate([word.tags for word in words]).astype(np.int64)
        states = np.concatenate([word.states for word in words])
        sizes = self._tag_states[tags]
        start = np.cumsum(sizes) - sizes
        tables = []
        for grammar, offset in self._placed:
            own = grammar.n_states[grammar.n_phrases + tags].astype(np.int64)
            table = np.zeros((len(tags), int(grammar.n_states.max())), np.float32)
            row = np.repeat(np.arange(len(tags)), own)
            state = np.arange(len(row)) - np.repeat(np.cumsum(own) - own, own)
            table[row, state] = states[(start + offset[tags])[row] + state]
            tables.append(torch.from_numpy(table).to(self._device))
        arrays = (
            np.full(len(batch), n), np.repeat(np.arange(len(words)), counts), tags,
            np.concatenate([word.coarse for word in words]).astype(np.float32), np.arange(len(tags)),
        )  # fmt: skip
        lengths, place, tag, score, entry = (torch.from_numpy(one).to(self._device) for one in arrays)
        given = WordTensors(lengths, place, tag, score, entry, tables)
        found = finished(self._family.find(given, n, pruning))
        return _taken_apart(self, found, len(batch))


def _taken_apart(backend: TorchBackend, found: ScoredBatch, n_sentences: int) -> list[list[Forest | None]]:
    """Return the forests of single sentences, in the arrays of kernels."""
    f = found.forest
    items = torch.argsort(f.sentence, stable=True)  # children stay before parents
    rank = torch.empty_like(items)
    rank[items] = torch.arange(len(items), device=items.device)
    numbers = torch.arange(n_sentences + 1, device=items.device)
    edges = torch.argsort(rank[f.edge_parent], stable=True)
    item_bound = torch.searchsorted(f.sentence[items], numbers)
    edge_bound = torch.searchsorted(f.sentence[f.edge_parent][edges], numbers)
    rank = torch.cat([rank, rank.new_full((1,), -1)])

    def own(tensor: torch.Tensor, order: torch.Tensor) -> npt.NDArray[Any]:
        return tensor[order].cpu().numpy()

    symbol, cell = own(f.symbol, items).astype(np.int32), own(f.cell, items).astype(np.int32)
    parent, left, right = (own(rank[one], edges) for one in (f.edge_parent, f.edge_left, f.edge_right))
    rule = backend._rule_place[own(f.edge_rule, edges)]
    item_bounds, edge_bounds = item_bound.tolist(), edge_bound.tolist()
    totals = found.log_total.double().cpu().numpy()
    rows: list[list[Forest | None]] = [[] for _ in range(n_sentences)]
    for one, grammar, arrays in zip(found.posteriors, backend._grammars, backend._arrays, strict=True):
        vectors = [own(each, items) for each in (one.item, one.root, one.inside, one.outside)]
        weight, posterior = own(one.weight, edges), own(one.edge, edges)
        ratio = one.log_ratio.double().cpu().numpy()
        for place, row in enumerate(rows):
            here, there = slice(*item_bounds[place : place + 2]), slice(*edge_bounds[place : place + 2])
            if not np.isfinite(totals[place] + ratio[place]):
                row.append(None)
                continue
            item, root, inside, outside = (each[here] for each in vectors)
            states = grammar.n_states[symbol[here]].astype(np.int64)
            held = np.arange(inside.shape[1]) < states[:, None]
            first, n_here = here.start, here.stop - here.start
            row.append(
                Forest(
                    grammar, arrays, backend._labels, f.n_words, float(totals[place] + ratio[place]),
                    symbol[here], cell[here], item, np.concatenate([[0], np.cumsum(states)]), inside[held], outside[held],
                    np.searchsorted(parent[there], first + np.arange(n_here + 1)).astype(np.int32),
                    (left[there] - first).astype(np.int32), np.where(right[there] < 0, -1, right[there] - first).astype(np.int32),
                    rule[there], weight[there], posterior[there], root,
                )
            )  # fmt: skip
    return rows
