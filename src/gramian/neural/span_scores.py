"""The net without torch: the same weights as :class:`gramian.neural.net.SpanNet`, in NumPy and numba."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import filterfalse, pairwise
from threading import local
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gramian.io.bounded_cache import BoundedCache
from gramian.neural import net_kernels as kernels
from gramian.neural.encoder import Encoder
from gramian.neural.net_options import NetSize, n_layers
from gramian.neural.span_inventory import BOUNDARY, UNKNOWN, Inventory

Floats = npt.NDArray[np.float32]

_BY_WORD = ("word.weight", "vector.weight")  # stay as they are stored: a sentence needs a few rows

_NO_NOISE = np.zeros((0, 0, 0), np.uint8)
_MOST_KEPT = 4 << 20  # numbers of a batch's gates
_MOST_BYTES = 64 << 20  # of words that are remembered: some ten thousand


def weight_shapes(
    inventory: Inventory, weights: Mapping[str, npt.NDArray[Any]], encoded: int = 0
) -> dict[str, tuple[int, ...]]:
    """Return the names of a net's weights and the shapes they must have to fit each other; `encoded` numbers come from an encoder."""
    size = NetSize.of(weights)
    units, hidden, tag_hidden = size.units, size.hidden, size.tag_hidden
    return state_weight_shapes(inventory, weights, encoded) | {
        "left.weight": (hidden, 2 * units),
        "right.weight": (hidden, 2 * units),
        "right.bias": (hidden,),
        "norm.weight": (hidden,),
        "norm.bias": (hidden,),
        "label.weight": (len(inventory.chains), hidden),
        "label.bias": (len(inventory.chains),),
        "tag_hidden.weight": (tag_hidden, 2 * units),
        "tag_hidden.bias": (tag_hidden,),
        "tag.weight": (len(inventory.tags), tag_hidden),
        "tag.bias": (len(inventory.tags),),
    }


def state_weight_shapes(
    inventory: Inventory, weights: Mapping[str, npt.NDArray[Any]], n_more: int = 0
) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the weights that :class:`StateReader` takes; `n_more` numbers are added to the vector of a word."""
    word, vector, char = (weights[f"{name}.weight"].shape[-1] for name in ("word", "vector", "char"))
    shapes: dict[str, tuple[int, ...]] = {
        "word.weight": (inventory.n_words, word),
        "vector.weight": (len(inventory.vector_words) + 1, vector),
        "char.weight": (inventory.n_characters, char),
    }
    char_units = weights["char_lstm.weight_hh_l0"].shape[-1]
    units = weights["lstm.0.weight_hh_l0"].shape[-1]
    lstms = [("char_lstm", char, char_units), ("lstm.0", word + vector + 2 * char_units + n_more, units)]
    for layer in range(1, n_layers(weights)):
        lstms.append((f"lstm.{layer}", 2 * units, units))
    for name, inputs, n_units in lstms:
        for direction in ("l0", "l0_reverse"):  # as torch calls them
            shapes[f"{name}.weight_ih_{direction}"] = (4 * n_units, inputs)
            shapes[f"{name}.weight_hh_{direction}"] = (4 * n_units, n_units)
            shapes[f"{name}.bias_ih_{direction}"] = (4 * n_units,)
            shapes[f"{name}.bias_hh_{direction}"] = (4 * n_units,)
    return shapes


class StateReader:
    """Computes the states of words; safe to share between threads."""

    def __init__(self, inventory: Inventory, weights: Mapping[str, npt.NDArray[Any]]) -> None:
        self._inventory = inventory
        self._weights: dict[str, npt.NDArray[Any]] = {}
        for name, value in weights.items():
            self._weights[name] = value if name in _BY_WORD else np.ascontiguousarray(value, np.float32)
        self._char_lstm = _Lstm(self._weights, "char_lstm")
        self._layers: list[_Lstm] = []
        for layer in range(n_layers(weights)):
            self._layers.append(_Lstm(self._weights, f"lstm.{layer}"))
        self._most_gates = max(self._layers[0].n_gates, self._layers[-1].n_gates)
        self._buffers = local()
        self._cache: BoundedCache[str, _Word] = BoundedCache(
            lambda word: self._new_words([word])[0], most_bytes=_MOST_BYTES
        )

    def read(
        self, sentences: Sequence[Sequence[str]], gates: Sequence[Floats] | None = None
    ) -> list[SentenceStates]:
        """Return the states of some sentences, computed at once: faster than one by one, and the same to the bit.

        `gates` are added to the gates of the first layer: of each sentence, shape (n_words + 2, n_gates).
        """
        tokens: list[str] = []
        bounds = [0]
        for sentence in sentences:
            tokens += ["", *sentence, ""]
            bounds.append(len(tokens))
        words = self._words(tokens)
        buffer = self._buffer(len(words) + 1)
        table = buffer[: len(words) * self._layers[0].n_gates].reshape(len(words), -1)
        np.concatenate([word.gates for word in words], out=table.reshape(-1))
        for start, added in zip(bounds, gates or (), strict=False):
            table[start : start + len(added)] += added
        for number, layer in enumerate(self._layers):
            if number:
                table = layer.gates(table, buffer)
            table = layer.states(table, np.array(bounds))
        read = []
        for start, end in pairwise(bounds):
            n_known = 0
            for word in words[start + 1 : end - 1]:
                n_known += word.is_known
            read.append(SentenceStates(table[start:end], n_known / max(1, end - start - 2)))
        return read

    @property
    def n_gates(self) -> int:
        """The gates of the first layer, in both directions."""
        return self._layers[0].n_gates

    def added_gates(self, vectors: Floats) -> Floats:
        """Return what vectors that a net adds to those of words add to the gates of the first layer."""
        gates: Floats = vectors @ self._layers[0].input[-vectors.shape[-1] :]
        return gates

    def _buffer(self, n_rows: int) -> Floats:
        """Return memory for the gates of a batch, the same for each thread: to ask the system for megabytes each time takes long."""
        size = n_rows * self._most_gates
        buffer: Floats | None = getattr(self._buffers, "gates", None)
        if buffer is None or len(buffer) < size:
            buffer = np.empty(size, np.float32)
            if size <= _MOST_KEPT:
                self._buffers.gates = buffer
        return buffer

    def _words(self, words: Sequence[str]) -> list[_Word]:
        """Return what is known of words, those met before from the cache; an empty word stands for a boundary."""
        new = list(dict.fromkeys(filterfalse(self._cache.__contains__, words)))
        made = dict(zip(new, self._new_words(new), strict=True)) if new else {}
        states = [made.get(word) or self._cache[word] for word in words]
        for word, value in made.items():
            self._cache.keep(word, value)
        return states

    def _new_words(self, words: Sequence[str]) -> list[_Word]:
        weights, inventory = self._weights, self._inventory
        numbers, vectors, characters, bounds = [], [], [], [0]
        for word in words:
            number, vector, spelling = inventory.word(word) if word else (BOUNDARY, 0, [BOUNDARY])
            numbers.append(number)
            vectors.append(vector)
            characters += spelling
            bounds.append(len(characters))
        first = np.array(bounds)
        states = self._char_lstm.states(self._char_lstm.gates(weights["char.weight"][characters]), first)
        units = states.shape[1] // 2
        forward, backward = states[first[1:] - 1, :units], states[first[:-1], units:]
        inputs = [weights["word.weight"][numbers], weights["vector.weight"][vectors], forward, backward]
        gates = self._layers[0].gates(np.concatenate(inputs, 1))
        known = (np.array(numbers) != UNKNOWN) | (np.array(vectors) > 0)
        return list(map(_Word, map(np.copy, gates), known.tolist()))


class SpanScorer(StateReader):
    """Scores the spans and tags of sentences; safe to share between threads."""

    def __init__(
        self,
        inventory: Inventory,
        weights: Mapping[str, npt.NDArray[Any]],
        encoder: Encoder | None = None,
    ) -> None:
        super().__init__(inventory, weights)
        self._encoder = encoder
        fenceposts = np.concatenate([self._weights["left.weight"], self._weights["right.weight"]])
        self._fenceposts = np.ascontiguousarray(fenceposts.T)

    def read(
        self, sentences: Sequence[Sequence[str]], gates: Sequence[Floats] | None = None
    ) -> list[SentenceStates]:
        """Return the states of some sentences; see :meth:`StateReader.read`."""
        if self._encoder is not None:
            gates = [self.added_gates(self._encoder.vectors(sentence)) for sentence in sentences]
        return super().read(sentences, gates)

    def scores(self, states: Floats) -> tuple[Floats, Floats]:
        """Return the scores of chains over spans, shape (n_cells, n_chains), and of tags, shape (n_words, n_tags).

        `states` are those of a sentence; see :meth:`read`. Spans are ordered by width, then start; a span without a label scores 0.
        """
        weights, units = self._weights, states.shape[1] // 2
        # A fencepost lies between two words: it has the forward state before it and the backward state behind it.
        posts = np.concatenate([states[:-1, :units], states[1:, units:]], 1) @ self._fenceposts
        hidden = weights["right.bias"].shape[0]
        left, right = np.ascontiguousarray(posts[:, :hidden]), posts[:, hidden:] + weights["right.bias"]
        spans, _ = kernels.span_layer_forward(
            left[None], right[None], weights["norm.weight"], weights["norm.bias"], _NO_NOISE, 0
        )
        tags = np.maximum(states[1:-1] @ weights["tag_hidden.weight"].T + weights["tag_hidden.bias"], 0)
        return (
            spans[0] @ weights["label.weight"].T + weights["label.bias"],
            tags @ weights["tag.weight"].T + weights["tag.bias"],
        )


class SentenceStates(NamedTuple):
    """The states of the last layer of a sentence, shape (n_words + 2, 2 * units), and the share of its words with vectors of their own."""

    states: Floats
    known_share: float


class _Word(NamedTuple):
    """What a word adds to the gates of the first layer, and whether it has a vector of its own."""

    gates: Floats
    is_known: bool


class _Lstm:
    """One bidirectional layer, its weights laid out for the kernels."""

    def __init__(self, weights: Mapping[str, npt.NDArray[Any]], name: str) -> None:
        def both(kind: str) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
            return weights[f"{name}.{kind}_l0"], weights[f"{name}.{kind}_l0_reverse"]

        self.input = np.ascontiguousarray(np.concatenate(both("weight_ih")).T)
        self._bias = np.concatenate(both("bias_ih")) + np.concatenate(both("bias_hh"))
        self.n_gates = len(self._bias)  # of both directions
        forward, backward = both("weight_hh")
        self._forward, self._backward = np.ascontiguousarray(forward.T), np.ascontiguousarray(backward.T)

    def gates(self, inputs: Floats, buffer: Floats | None = None) -> Floats:
        """Return what the first inputs add to the gates of both directions, shape (n, 8 * units), in `buffer` if that is given.

        Each row is as if it were the only one: neighbouring words and sentences change nothing.
        """
        if buffer is None:
            buffer = np.empty((len(inputs) + 1) * self.n_gates, np.float32)
        gates: Floats = kernels.project(inputs, self.input[: inputs.shape[1]], self._bias, buffer)
        return gates

    def states(self, gates: Floats, first: npt.NDArray[np.int64]) -> Floats:
        """Return states of both directions, shape (n, 2 * units), of sequences that begin at `first`."""
        states: Floats = kernels.lstm_states(gates, first, self._forward, self._backward)
        return states
