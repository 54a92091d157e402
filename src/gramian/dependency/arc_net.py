"""A net that scores arcs and relations, and its training with torch: biaffine products of the states of words (Dozat and Manning 2017).

The states are those of :class:`gramian.neural.net.WordNet`, which also reads lemmas, tags and features here. The loss is the
cross-entropy of the head of each word, and of its relation to its gold head. :mod:`gramian.dependency.arc_net_scores` runs the same
weights without torch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import nn
from torch.nn.functional import cross_entropy, pad

from gramian.dependency.arc_net_scores import NetArcScorer, NetInventory
from gramian.neural.net import PaddedBatch, Sentences, WordNet
from gramian.neural.net_options import Learning, NetSize
from gramian.neural.net_trainer import NetTraining, batches, training_settings, unknown_chance
from gramian.neural.span_inventory import Example, Inventory
from gramian.trees import Sentence

Ints = npt.NDArray[np.int64]

_ABSENT = -100  # the target of padding, which cross_entropy ignores
_IMPOSSIBLE = -1e4


@dataclass(frozen=True)
class ArcExample(Example):
    """A sentence with its tree.

    Attributes
    ----------
    morphology : tuple of tuple of int
        The numbers of the lemma, tags and features of each word, as of :class:`~gramian.dependency.arc_net_scores.NetInventory`.
    heads, relations : ndarray of int64, shape (n_words,)
        Heads count from 1; 0 is the root.
    """

    morphology: tuple[tuple[int, ...], ...] = ()
    heads: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    relations: Ints = field(default_factory=lambda: np.zeros(0, np.int64))


class ArcBatch(NamedTuple):
    """A batch with what arcs need; tensors of int64.

    Attributes
    ----------
    words : PaddedBatch
    morphology : Tensor, shape (n_sentences, longest + 2, m)
        Zeros where there are fewer than m.
    heads, relations : Tensor, shape (n_sentences, longest)
    """

    words: PaddedBatch
    morphology: torch.Tensor
    heads: torch.Tensor
    relations: torch.Tensor

    @property
    def lengths(self) -> torch.Tensor:
        """Words of sentences."""
        return self.words.lengths

    def to(self, device: torch.device) -> ArcBatch:
        """Return the batch on a device."""
        return ArcBatch(self.words.to(device), *(table.to(device) for table in self[1:]))


class ArcSentences(Sentences):
    """Sentences whose batches have morphology and trees."""

    def batch(self, numbers: Sequence[int], words: Sequence[Ints] | None = None) -> Any:
        """Return sentences as a batch, the longest first."""
        padded = super().batch(numbers, words)
        examples: list[Any] = [self.examples[number] for number in padded.numbers.tolist()]
        longest = examples[0].n_words
        n_parts = max(len(parts) for example in examples for parts in example.morphology)
        morphology = np.zeros((len(examples), longest + 2, n_parts), np.int64)
        targets = np.full((2, len(examples), longest), _ABSENT)
        for row, example in enumerate(examples):
            for word, parts in enumerate(example.morphology, 1):
                morphology[row, word, : len(parts)] = parts
            targets[:, row, : example.n_words] = example.heads, example.relations
        return ArcBatch(padded, *map(torch.from_numpy, (morphology, *targets)))


class ArcNet(WordNet):
    """Scores of arcs and relations.

    Parameters
    ----------
    inventory, size, learning, vectors
        As of :class:`gramian.neural.net.WordNet`; `size.hidden` is the size of the layer before arcs, `size.tag_hidden` that before
        relations, and `size.word` the length of the vectors of morphology.
    counts : sequence of int
        How often each number of morphology occurs; the first is the padding.
    n_relations : int
    """

    def __init__(
        self,
        inventory: Inventory,
        size: NetSize,
        learning: Learning,
        vectors: npt.NDArray[np.float32] | None,
        *,
        counts: Sequence[int],
        n_relations: int,
    ) -> None:
        super().__init__(inventory, size, learning, vectors, size.word)
        chance = learning.unknown / (learning.unknown + np.maximum(counts, 1))
        self.register_buffer("chance", torch.from_numpy(chance.astype(np.float32)), persistent=False)
        self.morphology = nn.Embedding(len(counts), size.word, 0)
        self.arc_sides = nn.Linear(2 * size.units, 2 * size.hidden)  # heads, then modifiers
        self.relation_sides = nn.Linear(2 * size.units, 2 * size.tag_hidden)
        self.arc = nn.Linear(size.hidden, size.hidden)
        self.relation = nn.Linear(size.tag_hidden + 1, n_relations * (size.tag_hidden + 1), bias=False)
        self._initialise()
        nn.init.normal_(self.morphology.weight, std=size.word**-0.5)
        for weight in (self.morphology.weight[0], self.arc.weight, self.arc.bias, self.relation.weight):
            nn.init.zeros_(weight)

    def forward(self, batch: ArcBatch) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the scores of heads, (n_sentences, longest, longest + 1), and what :meth:`relation_scores` takes."""
        parts = batch.morphology
        if self.training:
            parts = parts * (torch.rand(parts.shape, device=parts.device) >= self.chance[parts])
        states = self.states(batch.words, self.morphology(parts).sum(-2))[:, :-1]
        heads, modifiers = self._sides(self.arc_sides, states).chunk(2, -1)
        scores = self.arc(modifiers[:, 1:]) @ heads.transpose(1, 2)
        position = torch.arange(states.shape[1], device=states.device)
        impossible = position > batch.lengths.to(states.device).view(-1, 1, 1)
        impossible = impossible | (position == position[1:].unsqueeze(1))
        return scores.masked_fill(impossible, _IMPOSSIBLE), self._sides(self.relation_sides, states)

    def _sides(self, layer: nn.Linear, states: torch.Tensor) -> torch.Tensor:
        return self._locked(layer(states).relu(), self.learning.hidden_dropout)

    def relation_scores(self, sides: torch.Tensor, heads: torch.Tensor) -> torch.Tensor:
        """Return the scores of relations to the given heads, (n_sentences, longest, n_relations)."""
        of_heads, of_modifiers = sides.chunk(2, -1)
        index = heads.clamp(min=0).unsqueeze(-1).expand(-1, -1, of_heads.shape[-1])
        of_heads = pad(of_heads.gather(1, index), (0, 1), value=1.0)
        products = self.relation(pad(of_modifiers[:, 1:], (0, 1), value=1.0))
        return (products.unflatten(-1, (-1, of_heads.shape[-1])) @ of_heads.unsqueeze(-1)).squeeze(-1)

    def loss(self, batch: ArcBatch) -> torch.Tensor:
        """Return the cross-entropy of heads and relations, a word."""
        scores, sides = self(batch)
        relations = self.relation_scores(sides, batch.heads)
        total = cross_entropy(scores.flatten(0, 1), batch.heads.flatten(), reduction="sum")
        total = total + cross_entropy(relations.flatten(0, 1), batch.relations.flatten(), reduction="sum")
        return total / int(batch.lengths.sum())

    def accuracy(self, sentences: ArcSentences) -> float:
        """Return the share of words with the right head and relation, each head chosen for itself, in per cent."""
        n_right = n_words = 0
        for numbers in batches(sentences.examples, 4000, None):
            batch = sentences.batch(numbers)
            with torch.no_grad():
                scores, sides = self(batch)
                relations = self.relation_scores(sides, batch.heads).argmax(-1)
            n_right += int(((scores.argmax(-1) == batch.heads) & (relations == batch.relations)).sum())
            n_words += int(batch.lengths.sum())
        return 100 * n_right / max(1, n_words)


def fit_net_arc_scorer(
    trees: Sequence[tuple[Sentence, Sequence[int], Sequence[str]]],
    is_held_out: Sequence[bool],
    relations: Sequence[str],
    *,
    size: NetSize,
    learning: Learning,
    vectors: Mapping[str, npt.NDArray[Any]] | None = None,
    max_iter: int,
    random_state: int,
    n_jobs: int,
) -> NetArcScorer:
    """Train a net; the weights are those of the epoch that is best on held-out trees.

    Parameters
    ----------
    trees : sequence of (Sentence, heads, relations)
    is_held_out : sequence of bool
    relations : sequence of str
        All relations, in the order of the labeller.
    size : NetSize
    learning : Learning
    vectors : mapping of str to ndarray, optional
        Fixed vectors of words.
    max_iter, random_state, n_jobs : int
    """
    seen = [row for row, out in zip(trees, is_held_out, strict=True) if not out]
    held_out = [row for row, out in zip(trees, is_held_out, strict=True) if out]
    vector_words = tuple(sorted(vectors or ()))
    fixed = np.stack([vectors[word] for word in vector_words]).astype(np.float32) if vectors else None
    names = NetInventory.of([sentence for sentence, *_ in seen], vector_words)
    number_of = {name: number for number, name in enumerate(relations)}
    empty, no_shares = np.zeros((0, 3), np.int64), np.zeros(0, np.float32)

    def example(row: tuple[Sentence, Sequence[int], Sequence[str]]) -> ArcExample:
        sentence, heads, relations = row
        return ArcExample(
            names.words.word_numbers(sentence.words),
            tuple(sentence.words),
            empty[:, :2],
            empty,
            no_shares,
            no_shares,
            morphology=tuple(map(names.morphology_numbers, sentence.tokens)),
            heads=np.asarray(heads, np.int64),
            relations=np.asarray([number_of[name] for name in relations], np.int64),
        )

    examples, inventory = [example(row) for row in seen], names.words
    counts = np.zeros(len(names.morphology) + 1, np.int64)
    for one in examples:
        np.add.at(counts, [number for parts in one.morphology for number in parts], 1)
    with training_settings(n_jobs, "cpu"):
        torch.manual_seed(random_state)
        net = ArcNet(inventory, size, learning, fixed, counts=counts.tolist(), n_relations=len(relations))
        held_out_sentences = ArcSentences([example(row) for row in held_out], inventory)
        run = NetTraining(
            net,
            learning,
            max_iter=max_iter,
            random_state=random_state,
            device="cpu",
            measure="LAS",
            score=lambda averaged: averaged.accuracy(held_out_sentences),
        )
        run.fit(
            ArcSentences(examples, inventory),
            unknown_chance(examples, inventory, learning.unknown),
            is_scored=bool(held_out),
        )
    half = {name: value.astype(np.float16) for name, value in run.weights().items()}
    return NetArcScorer(names, len(relations), half)
