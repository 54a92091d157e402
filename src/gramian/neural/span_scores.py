"""The net without torch: the same weights as :class:`gramian.neural.net.SpanNet`, in NumPy and numba, for one sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.io.bounded_cache import BoundedCache
from gramian.neural import lstm_kernels as kernels
from gramian.neural.span_inventory import BOUNDARY, Inventory

Floats = npt.NDArray[np.float32]

_ENDS = ("l0", "l0_reverse")  # how torch calls the two directions


def weight_shapes(
    inventory: Inventory, weights: Mapping[str, npt.NDArray[Any]]
) -> dict[str, tuple[int, ...]]:
    """Return the names of a net's weights and the shapes they must have to fit each other.

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
    lstms = [("char_lstm", char, char_units), ("lstm.0", word + vector + 2 * char_units, units)]
    lstms += [(f"lstm.{layer}", 2 * units, units) for layer in range(1, _n_layers(weights))]
    for name, inputs, own in lstms:
        for end in _ENDS:
            shapes[f"{name}.weight_ih_{end}"] = (4 * own, inputs)
            shapes[f"{name}.weight_hh_{end}"] = (4 * own, own)
            shapes[f"{name}.bias_ih_{end}"] = shapes[f"{name}.bias_hh_{end}"] = (4 * own,)
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
    """

    def __init__(self, inventory: Inventory, weights: Mapping[str, npt.NDArray[Any]]) -> None:
        self._inventory = inventory
        own = {name: np.ascontiguousarray(value, np.float32) for name, value in weights.items()}
        self._own = own
        self._spelling = _Lstm(own, "char_lstm")
        self._layers = [_Lstm(own, f"lstm.{layer}") for layer in range(_n_layers(own))]
        posts = np.concatenate([own["left.weight"], own["right.weight"]])
        self._posts = np.ascontiguousarray(posts.T)
        self._cache: BoundedCache[str, Floats] = BoundedCache(self._vector_of)

    def scores(self, words: Sequence[str]) -> tuple[Floats, Floats]:
        """Return the scores of chains over spans, shape (n_cells, n_chains), and of tags, shape (n_words, n_tags).

        Spans are ordered by width, then start; a span without a label scores 0.
        """
        own, vectors = self._own, self._inputs(words)
        for layer in self._layers:
            vectors = layer.states(vectors)
        units = vectors.shape[1] // 2
        posts = np.concatenate([vectors[:-1, :units], vectors[1:, units:]], 1) @ self._posts
        hidden = own["right.bias"].shape[0]
        spans = kernels.span_hidden(
            np.ascontiguousarray(posts[:, :hidden]), posts[:, hidden:] + own["right.bias"], own["norm.weight"], own["norm.bias"]
        )  # fmt: skip
        tags = np.maximum(vectors[1:-1] @ own["tag_hidden.weight"].T + own["tag_hidden.bias"], 0)
        return (
            spans @ own["label.weight"].T + own["label.bias"],
            tags @ own["tag.weight"].T + own["tag.bias"],
        )

    def _inputs(self, words: Sequence[str]) -> Floats:
        """Return the vectors of words between their boundaries; those of words seen before are remembered."""
        return np.stack([self._cache[word] for word in ("", *words, "")])

    def _vector_of(self, word: str) -> Floats:
        """Return the vector of a word; no word stands for a boundary."""
        if not word:
            return self._vector(BOUNDARY, 0, [BOUNDARY])
        number, vector = self._inventory.word_numbers([word])[1], self._inventory.vector_numbers([word])[1]
        return self._vector(int(number), int(vector), self._inventory.character_numbers(word))

    def _vector(self, number: int, vector: int, characters: list[int]) -> Floats:
        spelt = self._spelling.states(self._own["char.weight"][characters])
        units = spelt.shape[1] // 2
        return np.concatenate(
            [self._own["word.weight"][number], self._own["vector.weight"][vector], spelt[-1, :units], spelt[0, units:]]
        )  # fmt: skip


class _Lstm:
    """One bidirectional layer, its weights laid out for the kernel."""

    def __init__(self, weights: Mapping[str, Floats], name: str) -> None:
        self._input = np.ascontiguousarray(
            np.concatenate([weights[f"{name}.weight_ih_{end}"] for end in _ENDS]).T
        )
        self._bias = np.concatenate(
            [weights[f"{name}.bias_ih_{end}"] + weights[f"{name}.bias_hh_{end}"] for end in _ENDS]
        )
        self._states = [np.ascontiguousarray(weights[f"{name}.weight_hh_{end}"].T) for end in _ENDS]

    def states(self, inputs: Floats) -> Floats:
        """Return states of both directions, shape (n, 2 * units)."""
        states: Floats = kernels.lstm_states(inputs @ self._input + self._bias, *self._states)
        return states
