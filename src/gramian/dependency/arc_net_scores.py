"""Nets of :class:`gramian.dependency.arc_net.ArcNet` without torch: scores of heads and relations, in NumPy and numba."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gramian.dependency.arc_tokens import feature_values
from gramian.io.array_table import Row, validate
from gramian.io.bounded_cache import BoundedCache
from gramian.neural.span_inventory import Inventory
from gramian.neural.span_scores import StateReader, state_weight_shapes
from gramian.trees import Sentence, Token

Floats = npt.NDArray[np.float32]
Heads = npt.NDArray[np.int32]

_MIN_COUNT = 2  # of words, characters, lemmas, tags and features with a vector of their own
_CACHE_BYTES = 64 << 20
_MIN_LOG_FACTOR = -300.0


class NetArcScores(NamedTuple):
    """Scores of a sentence."""

    heads: Floats  #: shape (N + 1, N + 1); the mean score of each arc [head, modifier]; column 0 and the diagonal are unused
    #: of each net, shape (2, N + 1, R + 1); layers before relations: of words as heads and as modifiers, and ones
    sides: Sequence[Floats]


@dataclass(frozen=True)
class NetInventory:
    """The names that the net knows: words and characters, and lemmas, tags and features (`morphology`, numbered from 1)."""

    words: Inventory
    morphology: tuple[str, ...]

    @classmethod
    def of(cls, sentences: Sequence[Sentence], vector_words: Sequence[str] = ()) -> NetInventory:
        """Collect the names of a treebank that occur twice."""
        parts = Counter(part for sentence in sentences for token in sentence.tokens for part in _parts(token))
        text = (sentence.words for sentence in sentences)
        return cls(
            Inventory.of((), _MIN_COUNT, vector_words, text),
            tuple(sorted(part for part, count in parts.items() if count >= _MIN_COUNT)),
        )

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.morphology, 1)}

    def morphology_numbers(self, token: Token) -> tuple[int, ...]:
        """Return the numbers of the lemma, tags and features of a word, without those that are not known."""
        return tuple(self._numbers[part] for part in _parts(token) if part in self._numbers)


def _parts(token: Token) -> list[str]:
    columns = (f"L {token.lemma}", f"U {token.upos}", f"X {token.xpos}")
    return [*columns, *(f"{name}={value}" for name, value in feature_values(token.feats).items())]


class _ArcNet:
    """One net."""

    def __init__(
        self, inventory: NetInventory, n_relations: int, weights: Mapping[str, npt.NDArray[Any]]
    ) -> None:
        hidden, relation_hidden = weights["arc.bias"].shape[0], weights["relation_sides.bias"].shape[0] // 2
        n_parts, size = len(inventory.morphology) + 1, weights["morphology.weight"].shape[-1]
        shapes = state_weight_shapes(inventory.words, weights, size)
        states = 2 * weights["lstm.0.weight_hh_l0"].shape[-1]
        shapes |= {
            "morphology.weight": (n_parts, size),
            "arc_sides.weight": (2 * hidden, states),
            "arc_sides.bias": (2 * hidden,),
            "arc.weight": (hidden, hidden),
            "arc.bias": (hidden,),
            "relation_sides.weight": (2 * relation_hidden, states),
            "relation_sides.bias": (2 * relation_hidden,),
            "relation.weight": (n_relations * (relation_hidden + 1), relation_hidden + 1),
        }
        if unexpected := weights.keys() ^ shapes.keys():
            raise ValueError(f"invalid model file: {min(unexpected)} is missing or unexpected")
        validate([Row(name, "float16", shape) for name, shape in shapes.items()], weights)
        self._inventory, self._n_relations, self._half = inventory, n_relations, weights

    def read(self, sentences: Sequence[Sentence]) -> list[tuple[Floats, Floats]]:
        """Return the scores of arcs and the layers before relations of some sentences, computed at once."""
        reader, weights = self._reader, self._weights
        gates = []
        for sentence in sentences:
            rows = [self._gates[self._inventory.morphology_numbers(token)] for token in sentence.tokens]
            gates.append(np.pad(np.reshape(rows, (len(rows), reader.n_gates)), ((1, 1), (0, 0))))
        results = []
        for states, _ in reader.read([sentence.words for sentence in sentences], gates):
            arcs, relations = (
                np.maximum(states[:-1] @ weights[f"{name}.weight"].T + weights[f"{name}.bias"], 0)
                for name in ("arc_sides", "relation_sides")
            )
            heads, modifiers = np.split(arcs, 2, axis=1)
            scores = heads @ (modifiers @ weights["arc.weight"].T + weights["arc.bias"]).T
            sides = np.stack(np.split(relations, 2, axis=1))
            results.append((scores, np.pad(sides, ((0, 0), (0, 0), (0, 1)), constant_values=1)))
        return results

    def relation_scores(self, sides: Floats, heads: Heads) -> Floats:
        """Return the scores of relations of words to their heads, shape (N, L)."""
        of_heads, of_modifiers = sides
        size = of_heads.shape[1]
        products = (of_modifiers[1:] @ self._weights["relation.weight"].T).reshape(
            -1, self._n_relations, size
        )
        scores: Floats = (products @ of_heads[heads, :, None])[..., 0]
        return scores

    @cached_property
    def _weights(self) -> dict[str, Floats]:
        return {name: np.ascontiguousarray(value, np.float32) for name, value in self._half.items()}

    @cached_property
    def _reader(self) -> StateReader:
        return StateReader(self._inventory.words, self._half)

    @cached_property
    def _gates(self) -> BoundedCache[tuple[int, ...], Floats]:
        """What the morphology of a word adds to the gates of the first layer."""
        table = self._weights["morphology.weight"]
        return BoundedCache(
            lambda numbers: self._reader.added_gates(table[list(numbers)].sum(axis=0)),
            most_bytes=_CACHE_BYTES,
        )


@dataclass(frozen=True, eq=False, repr=False)
class NetArcScorer:
    """Scores arcs and relations with an ensemble of nets; safe to share between threads."""

    inventory: NetInventory
    n_relations: int
    weights: tuple[Mapping[str, npt.NDArray[Any]], ...]  #: of each net, named as in torch
    #: arc_weight, factor_weight: weights of the scores of arcs and of the logarithms of the factors in their sum
    arc_weight: float = 1.0
    factor_weight: float = 1.0
    relation_weight: float = 1.0  #: weight of the scores of relations

    def __post_init__(self) -> None:
        if not self._nets:
            raise ValueError("invalid model file: an ensemble without nets")

    def combined(self, factors: npt.NDArray[np.float64], scores: NetArcScores) -> npt.NDArray[np.float64]:
        """Return the weighted product of factors and exponentiated scores of arcs; the largest of a modifier is one."""
        with np.errstate(divide="ignore"):
            sums = self.factor_weight * np.log(factors[:, 1:]) + self.arc_weight * scores.heads[:, 1:]
        combined = np.zeros_like(factors)
        combined[:, 1:] = np.exp(np.maximum(sums - sums.max(axis=0), _MIN_LOG_FACTOR))
        combined[factors == 0.0] = 0.0
        return combined

    def read(self, sentences: Sequence[Sentence]) -> list[NetArcScores]:
        """Return the scores of some sentences."""
        by_net = [net.read(sentences) for net in self._nets]
        results = []
        for rows in zip(*by_net, strict=True):
            heads, sides = zip(*rows, strict=True)
            results.append(NetArcScores(np.mean(heads, axis=0), sides))
        return results

    def relation_scores(self, scores: NetArcScores, heads: Heads) -> npt.NDArray[np.float64]:
        """Return the mean scores of relations of words to their heads times their weight, shape (N, L)."""
        rows = [
            net.relation_scores(sides, heads) for net, sides in zip(self._nets, scores.sides, strict=True)
        ]
        return self.relation_weight * np.mean(rows, axis=0).astype(np.float64)

    @cached_property
    def _nets(self) -> list[_ArcNet]:
        return [_ArcNet(self.inventory, self.n_relations, weights) for weights in self.weights]
