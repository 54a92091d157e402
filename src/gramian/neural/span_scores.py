"""The net without torch: the same weights as :class:`gramian.neural.net.SpanNet`, in NumPy and numba."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from threading import local
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gramian.io.bounded_cache import BoundedCache
from gramian.neural import lstm_kernels as kernels
from gramian.neural import span_layer_kernels
from gramian.neural.encoder import Encoder
from gramian.neural.span_inventory import BOUNDARY, UNKNOWN, Inventory

Floats = npt.NDArray[np.float32]

_BY_WORD = (
    "word.weight",
    "vector.weight",
)  # tables that stay as they are stored: a sentence needs a few rows

_ENDS = ("l0", "l0_reverse")  # how torch calls the two directions
_NO_NOISE = np.zeros((0, 0, 0), np.uint8)
_MOST_KEPT = 4 << 20  # numbers of a batch's gates
_MOST_BYTES = 64 << 20  # of words that are remembered: some ten thousand


def weight_shapes(
    inventory: Inventory, weights: Mapping[str, npt.NDArray[Any]], encoded: int = 0
) -> dict[str, tuple[int, ...]]:
    """Return the names of a net's weights and the shapes they must have to fit each other; `encoded` numbers come from an encoder.

    Raises
    ------
    LookupError
        If one is missing that says how large the net is.
    """
    word, vector, char = (weights[f"{name}.weight"].shape[-1] for name in ("word", "vector", "char"))
    char_units, units = (weights[f"{name}.weight_hh_l0"].shape[-1] for name in ("char_lstm", "lstm.0"))
    hidden, tag_hidden = (weights[name].shape[-1] for name in ("right.bias", "tag_hidden.bias"))
    shapes: dict[str, tuple[int, ...]] = {
        "word.weight": (inventory.n_words, word),
        "vector.weight": (len(inventory.vector_words) + 1, vector),
        "char.weight": (inventory.n_characters, char),
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
    lstms = [("char_lstm", char, char_units), ("lstm.0", word + vector + 2 * char_units + encoded, units)]
    lstms += [(f"lstm.{layer}", 2 * units, units) for layer in range(1, _n_layers(weights))]
    for name, inputs, n_units in lstms:
        for suffix in _ENDS:
            shapes[f"{name}.weight_ih_{suffix}"] = (4 * n_units, inputs)
            shapes[f"{name}.weight_hh_{suffix}"] = (4 * n_units, n_units)
            shapes[f"{name}.bias_ih_{suffix}"] = shapes[f"{name}.bias_hh_{suffix}"] = (4 * n_units,)
    return shapes


def _n_layers(weights: Mapping[str, object]) -> int:
    return sum(name.startswith("lstm.") and name.endswith(".weight_ih_l0") for name in weights)


class SpanScorer:
    """Scores the spans and tags of sentences; safe to share between threads.

    Parameters
    ----------
    inventory : Inventory
    weights : mapping of str to ndarray
        Named as in torch; see :func:`weight_shapes`.
    encoder : Encoder, optional
        If the net was learnt with one.
    """

    def __init__(
        self,
        inventory: Inventory,
        weights: Mapping[str, npt.NDArray[Any]],
        encoder: Encoder | None = None,
    ) -> None:
        self._inventory, self._encoder = inventory, encoder
        float_weights = {
            name: value if name in _BY_WORD else np.ascontiguousarray(value, np.float32)
            for name, value in weights.items()
        }
        self._own = float_weights
        self._spelling = _Lstm(float_weights, "char_lstm")
        self._layers = [_Lstm(float_weights, f"lstm.{layer}") for layer in range(_n_layers(float_weights))]
        post_weights = np.concatenate([float_weights["left.weight"], float_weights["right.weight"]])
        self._posts = np.ascontiguousarray(post_weights.T)
        self._kept = local()
        self._cache: BoundedCache[str, _Word] = BoundedCache(
            lambda word: self._made([word])[0], most_bytes=_MOST_BYTES
        )

    def scores(self, words: Sequence[str]) -> tuple[Floats, Floats]:
        """Return the scores of chains over spans, shape (n_cells, n_chains), and of tags, shape (n_words, n_tags).

        Spans are ordered by width, then start; a span without a label scores 0.
        """
        [read] = self.read([words])
        return self.scores_of(read.states)

    def scores_of(self, states: Floats) -> tuple[Floats, Floats]:
        """Return the scores of a sentence that was read."""
        weights, units = self._own, states.shape[1] // 2
        posts = np.concatenate([states[:-1, :units], states[1:, units:]], 1) @ self._posts
        hidden = weights["right.bias"].shape[0]
        left, right = np.ascontiguousarray(posts[:, :hidden]), posts[:, hidden:] + weights["right.bias"]
        layer = span_layer_kernels.forward(
            left[None], right[None], weights["norm.weight"], weights["norm.bias"], _NO_NOISE, 0
        )
        tags = np.maximum(states[1:-1] @ weights["tag_hidden.weight"].T + weights["tag_hidden.bias"], 0)
        return (
            layer[0][0] @ weights["label.weight"].T + weights["label.bias"],
            tags @ weights["tag.weight"].T + weights["tag.bias"],
        )

    def read(self, sentences: Sequence[Sequence[str]]) -> list[ReadWords]:
        """Find the states of some sentences at once: quicker than one by one, and the same to the bit."""
        bounds = np.cumsum([0, *(len(words) + 2 for words in sentences)])
        words = self._words([word for sentence in sentences for word in ("", *sentence, "")])
        buffer = self._room(len(words) + 1)
        table = buffer[: len(words) * self._layers[0].n_gates].reshape(len(words), -1)
        np.concatenate([word.gates for word in words], out=table.reshape(-1))
        sentence_bounds = list(pairwise(bounds.tolist()))
        if self._encoder is not None:
            weights = self._layers[0].input[-self._encoder.size :]
            for (start, end), sentence in zip(sentence_bounds, sentences, strict=True):
                table[start:end] += self._encoder.vectors(sentence) @ weights
        for number, layer in enumerate(self._layers):
            if number:
                table = layer.gates(table, buffer)
            table = layer.states(table, bounds)
        states = [table[start:end] for start, end in sentence_bounds]
        known = [
            sum([word.is_known for word in words[start + 1 : end - 1]]) for start, end in sentence_bounds
        ]
        return [
            ReadWords(sentence, count / max(1, len(sentence) - 2))
            for sentence, count in zip(states, known, strict=True)
        ]

    def _room(self, n_rows: int) -> Floats:
        """Return room for the gates of a batch, of each thread the same: to ask the system for megabytes each time takes long."""
        size = n_rows * max(layer.n_gates for layer in self._layers)
        room: Floats | None = getattr(self._kept, "room", None)
        if room is None or len(room) < size:
            room = np.empty(size, np.float32)
            if size <= _MOST_KEPT:
                self._kept.room = room
        return room

    def known_share(self, words: Sequence[str]) -> float:
        """Return the share of words that have a vector of their own."""
        return sum([word.is_known for word in self._words(words)]) / max(1, len(words))

    def _words(self, words: Sequence[str]) -> list[_Word]:
        """Return what is known of words, of those met before by memory; no word stands for a boundary."""
        word_gates = list(map(self._cache.get, words))
        if None in word_gates:
            new = [word for word, word_gate in zip(words, word_gates, strict=True) if word_gate is None]
            made = dict(zip(dict.fromkeys(new), self._made(list(dict.fromkeys(new))), strict=True))
            for word, word_gate in made.items():
                self._cache.keep(word, word_gate)
            word_gates = [
                made[word] if word_gate is None else word_gate
                for word, word_gate in zip(words, word_gates, strict=True)
            ]
        return word_gates  # type: ignore[return-value]

    def _made(self, words: Sequence[str]) -> list[_Word]:
        weights, inventory = self._own, self._inventory
        numbers = [BOUNDARY if word == "" else int(inventory.word_numbers([word])[1]) for word in words]
        vectors = [int(inventory.vector_numbers([word])[1]) for word in words]
        spelt = [inventory.character_numbers(word) if word else [BOUNDARY] for word in words]
        first = np.cumsum([0, *map(len, spelt)])
        states = self._spelling.states(
            self._spelling.gates(weights["char.weight"][np.concatenate(spelt)]), first
        )
        units = states.shape[1] // 2
        last_states = (states[first[1:] - 1, :units], states[first[:-1], units:])
        inputs = np.concatenate(
            [weights["word.weight"][numbers], weights["vector.weight"][vectors], *last_states], 1
        )
        gates = self._layers[0].gates(inputs)
        known = (number != UNKNOWN or vector > 0 for number, vector in zip(numbers, vectors, strict=True))
        return [_Word(row.copy(), is_known) for row, is_known in zip(gates, known, strict=True)]


class ReadWords(NamedTuple):
    """The states of the last layer of a sentence, shape (n_words + 2, 2 * units), and the share of its words with vectors of their own."""

    states: Floats
    known_share: float


class _Word(NamedTuple):
    """What a word adds to the gates of the first layer, and whether it has a vector of its own."""

    gates: Floats
    is_known: bool


class _Lstm:
    """One bidirectional layer, its weights laid out for the kernels."""

    def __init__(self, weights: Mapping[str, Floats], name: str) -> None:
        self.input = np.ascontiguousarray(
            np.concatenate([weights[f"{name}.weight_ih_{end}"] for end in _ENDS]).T
        )
        self._bias = np.concatenate(
            [weights[f"{name}.bias_ih_{end}"] + weights[f"{name}.bias_hh_{end}"] for end in _ENDS]
        )
        self._states = [np.ascontiguousarray(weights[f"{name}.weight_hh_{end}"].T) for end in _ENDS]

    @property
    def n_gates(self) -> int:
        """How many numbers the gates of both directions are."""
        return len(self._bias)

    def gates(self, inputs: Floats, room: Floats | None = None) -> Floats:
        """Return what the first inputs add to the gates of both directions, shape (n, 8 * units), in `room` if that is given.

        Each row is as if it were the only one: what stands beside a word or a sentence changes nothing.
        """
        if room is None:
            room = np.empty((len(inputs) + 1) * self.n_gates, np.float32)
        gates: Floats = kernels.project(inputs, self.input[: inputs.shape[1]], self._bias, room)
        return gates

    def states(self, gates: Floats, first: npt.NDArray[np.int64]) -> Floats:
        """Return states of both directions, shape (n, 2 * units), of sequences that begin at `first`."""
        states: Floats = kernels.lstm_states(gates, first, *self._states)
        return states
