"""A net that scores arcs and relations, and its training with torch: biaffine products of the states of words (Dozat and Manning 2017).

The states are those of :class:`gramian.neural.net.WordNet`, which also reads lemmas, tags and features here. The loss is the
cross-entropy of the head of each word, and of its relation to its gold head. :mod:`gramian.dependency.arc_net_scores` runs the same
weights without torch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import nn
from torch.nn.functional import cross_entropy, pad

from gramian.dependency.arc_net_scores import NetArcScorer, NetInventory
from gramian.dependency.held_out_scores import ArcTraining
from gramian.neural.net import PaddedBatch, Sentences, WordNet
from gramian.neural.net_options import Learning, NetSize
from gramian.neural.net_trainer import NetTraining, batches, training_settings, unknown_chance
from gramian.neural.span_inventory import Example, Inventory
from gramian.trees import Sentence

Ints = npt.NDArray[np.int64]

_ABSENT = -100  # the target of padding, which cross_entropy ignores
_IMPOSSIBLE = -1e4
_SMALL_GAIN = 0.3


@dataclass(frozen=True)
class ArcExample(Example):
    """A sentence with its tree."""

    #: the numbers of the lemma, tags and features of each word, as of :class:`~gramian.dependency.arc_net_scores.NetInventory`
    morphology: tuple[tuple[int, ...], ...] = ()
    #: heads, relations: shape (n_words,); heads count from 1; 0 is the root
    heads: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    relations: Ints = field(default_factory=lambda: np.zeros(0, np.int64))


class ArcBatch(NamedTuple):
    """A batch with what arcs need."""

    words: PaddedBatch
    morphology: torch.Tensor  #: shape (n_sentences, longest + 2, m); zeros where there are fewer than m
    #: heads, relations: shape (n_sentences, longest)
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
        nn.init.zeros_(self.morphology.weight[0])
        for layer in (self.arc, self.relation):  # products begin small
            nn.init.xavier_uniform_(layer.weight, gain=_SMALL_GAIN)

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
            heads = scores.argmax(-1)
            n_right += int(((heads == batch.heads) & (relations == batch.relations)).sum())
            n_words += int(batch.lengths.sum())
        return 100 * n_right / max(1, n_words)


def fit_net_arc_scorer(
    training: ArcTraining,
    parts: Sequence[Sequence[int]],
    *,
    size: NetSize,
    learning: Learning,
    vectors: Mapping[str, npt.NDArray[Any]] | None = None,
    max_iter: int,
) -> NetArcScorer:
    """Train an ensemble of nets, one without each part of the sentences.

    Parameters
    ----------
    training : ArcTraining
    parts : sequence of sequences of int
        Indices of held-out sentences. The weights of a net are those of the epoch that is best on its part; of the last if that is empty.
    size : NetSize
    learning : Learning
    vectors : mapping of str to ndarray, optional
        Fixed vectors of words.
    max_iter : int
        Epochs at most.
    """
    vector_words = tuple(sorted(vectors or ()))
    fixed = np.stack([vectors[word] for word in vector_words]).astype(np.float32) if vectors else None
    names = NetInventory.of(training.sentences, vector_words)
    inventory = names.words
    relation_number = {name: number for number, name in enumerate(training.names)}
    examples = [
        arc_example(names, sentence, tree[1:], [relation_number[name] for name in relations])
        for sentence, tree, relations in zip(
            training.sentences, training.trees, training.relations, strict=True
        )
    ]
    counts = np.zeros(len(names.morphology) + 1, np.int64)
    for example in examples:
        np.add.at(counts, [number for word in example.morphology for number in word], 1)
    nets = []
    with training_settings(training.n_jobs, "cpu"):
        for number, part in enumerate(parts):
            torch.manual_seed(training.random_state + number)
            net = ArcNet(
                inventory, size, learning, fixed, counts=counts.tolist(), n_relations=len(relation_number)
            )
            seen = [examples[index] for index in sorted(set(range(len(examples))).difference(part))]
            held_out = ArcSentences([examples[index] for index in part], inventory)
            run = NetTraining(
                net,
                learning,
                max_iter=max_iter,
                random_state=training.random_state + number,
                device="cpu",
                measure="LAS",
                score=partial(ArcNet.accuracy, sentences=held_out),
            )
            chance = unknown_chance(seen, inventory, learning.unknown)
            run.fit(ArcSentences(seen, inventory), chance, is_scored=bool(part))
            nets.append({name: value.astype(np.float16) for name, value in run.weights().items()})
    return NetArcScorer(names, len(relation_number), tuple(nets))


def arc_example(
    names: NetInventory, sentence: Sentence, heads: npt.ArrayLike, relations: npt.ArrayLike
) -> ArcExample:
    """Return a sentence and its tree in the numbers of an inventory."""
    none = np.zeros((0, 3), np.int64)
    return ArcExample(
        names.words.word_numbers(sentence.words),
        tuple(sentence.words),
        none[:, :2],
        none,
        none[:, 0].astype(np.float32),
        none[:, 0].astype(np.float32),
        morphology=tuple(map(names.morphology_numbers, sentence.tokens)),
        heads=np.asarray(heads, np.int64),
        relations=np.asarray(relations, np.int64),
    )
