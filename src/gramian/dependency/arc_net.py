"""A net that scores arcs and relations, and its training with torch: biaffine products of the states of words (Dozat and Manning 2017).

The states are those of :class:`gramian.neural.net.WordNet`, which also reads lemmas, tags and features here. The loss is the
cross-entropy of the head of each word, and of its relation to its gold head, where the scores of the net are added to the log-probabilities
of log-linear models: the net learns what these do not know. :mod:`gramian.dependency.arc_net_scores` runs the same
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
from gramian.dependency.held_out_scores import ArcTraining, HeldOutScores
from gramian.neural.net import PaddedBatch, Sentences, WordNet
from gramian.neural.net_options import Learning, NetSize
from gramian.neural.net_trainer import NetTraining, batches, training_settings, unknown_chance
from gramian.neural.span_inventory import Example, Inventory

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
    #: shape (n_words, n_words + 1); logarithms of the probabilities of heads, by log-linear models that have not seen the sentence
    arc_prior: npt.NDArray[np.float32] = field(default_factory=lambda: np.zeros((0, 0), np.float32))
    #: shape (n_words, n_relations); the same of relations to the gold heads
    relation_prior: npt.NDArray[np.float32] = field(default_factory=lambda: np.zeros((0, 0), np.float32))


class ArcBatch(NamedTuple):
    """A batch with what arcs need."""

    words: PaddedBatch
    morphology: torch.Tensor  #: shape (n_sentences, longest + 2, m); zeros where there are fewer than m
    #: heads, relations: shape (n_sentences, longest)
    heads: torch.Tensor
    relations: torch.Tensor
    arc_prior: torch.Tensor  #: shape (n_sentences, longest, longest + 1)
    relation_prior: torch.Tensor  #: shape (n_sentences, longest, n_relations)

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
        arcs = np.zeros((len(examples), longest, longest + 1), np.float32)
        relations = np.zeros((len(examples), longest, examples[0].relation_prior.shape[1]), np.float32)
        for row, example in enumerate(examples):
            for word, parts in enumerate(example.morphology, 1):
                morphology[row, word, : len(parts)] = parts
            n = example.n_words
            targets[:, row, :n] = example.heads, example.relations
            arcs[row, :n, : n + 1], relations[row, :n] = example.arc_prior, example.relation_prior
        return ArcBatch(padded, *map(torch.from_numpy, (morphology, *targets, arcs, relations)))


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
        for layer in (
            self.arc,
            self.relation,
        ):  # scores begin small beside the log-probabilities of other models
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
        scores = scores + batch.arc_prior
        relations = self.relation_scores(sides, batch.heads) + batch.relation_prior
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
                relations = (self.relation_scores(sides, batch.heads) + batch.relation_prior).argmax(-1)
            heads = (scores + batch.arc_prior).argmax(-1)
            n_right += int(((heads == batch.heads) & (relations == batch.relations)).sum())
            n_words += int(batch.lengths.sum())
        return 100 * n_right / max(1, n_words)


def fit_net_arc_scorer(
    training: ArcTraining,
    held_out: Sequence[HeldOutScores],
    *,
    size: NetSize,
    learning: Learning,
    vectors: Mapping[str, npt.NDArray[Any]] | None = None,
    max_iter: int,
) -> NetArcScorer:
    """Train a net; the weights are those of the epoch that is best on held-out trees.

    Parameters
    ----------
    training : ArcTraining
    held_out : sequence of HeldOutScores
        Of the first fold of `training`.
    size : NetSize
    learning : Learning
    vectors : mapping of str to ndarray, optional
        Fixed vectors of words.
    max_iter : int
        Epochs at most.
    """
    held_out_fold, *folds = training.folds
    indices = [index for fold in folds for index in fold]
    scores = [row for fold in folds for row in training.scores(fold)]
    vector_words = tuple(sorted(vectors or ()))
    fixed = np.stack([vectors[word] for word in vector_words]).astype(np.float32) if vectors else None
    names = NetInventory.of([training.sentences[index] for index in indices], vector_words)
    inventory, empty = names.words, np.zeros((0, 3), np.int64)

    def examples(numbers: Sequence[int], rows: Sequence[HeldOutScores]) -> list[ArcExample]:
        result = []
        for number, row in zip(numbers, rows, strict=True):
            sentence = training.sentences[number]
            arc_prior, relation_prior = row.log_probabilities(training.grammar)
            result.append(
                ArcExample(
                    inventory.word_numbers(sentence.words),
                    tuple(sentence.words),
                    empty[:, :2],
                    empty,
                    empty[:, 0].astype(np.float32),
                    empty[:, 0].astype(np.float32),
                    morphology=tuple(map(names.morphology_numbers, sentence.tokens)),
                    heads=row.tree[1:].astype(np.int64),
                    relations=row.targets.astype(np.int64),
                    arc_prior=arc_prior.astype(np.float32),
                    relation_prior=relation_prior.astype(np.float32),
                )
            )
        return result

    seen = examples(indices, scores)
    counts = np.zeros(len(names.morphology) + 1, np.int64)
    for example in seen:
        np.add.at(counts, [number for parts in example.morphology for number in parts], 1)
    n_relations = len(training.names)
    with training_settings(training.n_jobs, "cpu"):
        torch.manual_seed(training.random_state)
        net = ArcNet(inventory, size, learning, fixed, counts=counts.tolist(), n_relations=n_relations)
        held_out_sentences = ArcSentences(examples(held_out_fold, held_out), inventory)
        run = NetTraining(
            net,
            learning,
            max_iter=max_iter,
            random_state=training.random_state,
            device="cpu",
            measure="LAS",
            score=lambda averaged: averaged.accuracy(held_out_sentences),
        )
        run.fit(
            ArcSentences(seen, inventory),
            unknown_chance(seen, inventory, learning.unknown),
            is_scored=bool(held_out),
        )
    half = {name: value.astype(np.float16) for name, value in run.weights().items()}
    return NetArcScorer(names, n_relations, half)
