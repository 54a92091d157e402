"""What a neural expert has learnt, and its use: probabilities of labels over the spans of a sentence. Needs no torch."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gramian import __version__
from gramian.errors import counted
from gramian.io import model_files
from gramian.io.array_table import Row, validate
from gramian.io.schema import parse_document
from gramian.io.tensors import Tensors
from gramian.neural import net_kernels
from gramian.neural.encoder import Encoder, EncoderRecord
from gramian.neural.soft_trees import SoftTree
from gramian.neural.span_inventory import Inventory, cell
from gramian.neural.span_scores import SpanScorer, weight_shapes
from gramian.threads import one_blas_thread
from gramian.trees import Tree
from gramian.trees.labels import is_label, split_chain
from gramian.trees.tree import phrase, preterminal

_TEXTS = tuple(field.name for field in fields(Inventory))
_HOTTEST = 100.0


class SpanChances(NamedTuple):
    """What a net says about a sentence."""

    #: shape (n_cells, n_chains); proportional to the probabilities of chains over a span
    chances: npt.NDArray[np.float32]
    factor: npt.NDArray[np.float32]  #: shape (n_cells,); by which they become these
    tags: npt.NDArray[np.float32]  #: shape (n_words, n_tags); probabilities
    known_share: float  #: of the words, those that it knows
    spans: npt.NDArray[
        np.float64
    ]  #: shape (n_cells,); probabilities of spans in a binary tree, with or without a label


def best_chains(
    chances: npt.NDArray[np.floating], membership: npt.NDArray[np.float32], n_words: int
) -> tuple[list[int], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the tree with the most labels to be expected right, less those to be expected wrong.

    `chances` (n_cells, n_chains) are probabilities of chains over spans, `membership` (n_chains, n_labels) says which chain has which
    label. Returns the spans of a binary tree, parents before children; the chain over each span, -1 for none; and the same where a span
    must have one.
    """
    # A chain gains, for each of its labels, the probability of being right less one half.
    gain = (chances @ membership - 0.5) @ membership.T
    best_chain = gain.argmax(1)
    best_gain = gain[np.arange(len(gain)), best_chain]
    cells = net_kernels.best_spans(np.maximum(best_gain, 0).astype(np.float64), n_words)
    return cells.tolist(), np.where(best_gain > 0, best_chain, -1), best_chain


def decode_tree(
    words: Sequence[str],
    chances: npt.NDArray[np.floating],
    tags: npt.NDArray[np.floating],
    inventory: Inventory,
) -> Tree:
    """Return the tree of :func:`best_chains`, with the most likely tags (n_words, n_tags)."""
    n = len(words)
    cells, chain, best_chain = best_chains(chances, inventory.membership, n)
    root = cell(n, 0, n)
    if n > 1:  # whatever there is, there is a root
        chain[root] = best_chain[root]
    stack: list[list[Tree]] = []
    for span in reversed(cells):  # children before parents, the right ones first
        if span < n:
            tag = inventory.tags[int(tags[span].argmax())]
            children = [preterminal(tag, words[span])]
        else:
            children = [*stack.pop(), *stack.pop()]
        if chain[span] >= 0:
            for label in reversed(split_chain(inventory.chains[chain[span]])):
                children = [phrase(label, tuple(children))]
        stack.append(children)
    [[tree]] = stack
    return tree


def most_likely_tree(soft: SoftTree, inventory: Inventory) -> Tree:
    """Return the tree with the most labels to be expected right; an inventory has the names of chains and tags."""
    example, n = inventory.example(soft), len(soft.words)
    chances = np.zeros((n * (n + 1) // 2, len(inventory.chains)), np.float32)
    start, end, chain = example.spans.T
    chances[cell(n, start, end), chain] = example.span_shares
    tags = np.zeros((n, len(inventory.tags)), np.float32)
    tags[tuple(example.tags.T)] = example.tag_shares
    return decode_tree(soft.words, chances, tags, inventory)


@dataclass(frozen=True, eq=False, repr=False)
class NeuralModel:
    """A span net, ready to run in NumPy and numba; safe to share between threads."""

    inventory: Inventory  #: words, characters, chains of labels, and tags
    weights: Mapping[str, npt.NDArray[np.float16]]  #: named as in torch
    temperature: float = 1.0  #: what scores are divided by; above 1 it takes confidence away
    encoder: Encoder | None = None  #: that the net was learnt with, and needs to run

    def __getstate__(self) -> dict[str, Any]:
        """Pickle the fields alone: buffers of the scorer belong to threads."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @cached_property
    def _scorer(self) -> SpanScorer:
        return SpanScorer(self.inventory, self.weights, self.encoder)

    @property
    def label_names(self) -> tuple[str, ...]:
        """The columns of a table of labels: those of phrases, sorted, then the tags."""
        return self.inventory.label_names

    @property
    def n_phrase_labels(self) -> int:
        """How many of `label_names` are phrases'."""
        return len(self.inventory.label_names) - len(self.inventory.tags)

    def __repr__(self) -> str:
        inventory = self.inventory
        sizes = {"word": inventory.words, "chain": inventory.chains, "tag": inventory.tags}
        return f"<NeuralModel: {', '.join(counted(len(names), name) for name, names in sizes.items())}>"

    def labels(self, words: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return the probability of every label over every span.

        A label inside a chain counts as a label of its span, as in :attr:`gramian.chart.forest.Forest.label_posterior`.

        Returns
        -------
        ndarray of float32, shape (n_cells, n_labels)
            Spans by width, then start; labels in the order of `label_names`, tags over single words only.
        """
        return self.labels_and_known_share(words)[0]

    def labels_and_known_share(self, words: Sequence[str]) -> tuple[npt.NDArray[np.float32], float]:
        """Return what :meth:`labels` returns, and the share of the words that have a vector of their own; an encoder knows all words."""
        with one_blas_thread():
            [posterior] = self.read([words])
            labels = (posterior.chances * posterior.factor[:, None]) @ self.inventory.membership
        table = np.zeros((len(labels), len(self.label_names)), np.float32)
        table[:, : self.n_phrase_labels] = labels
        table[: len(words), self.n_phrase_labels :] = posterior.tags
        return table, posterior.known_share

    def chains(self, words: Sequence[str]) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
        """Return the probability of each chain over each span, and of each tag over each word."""
        with one_blas_thread():
            [posterior] = self.read([words])
        return posterior.chances * posterior.factor[:, None], posterior.tags

    def read(self, sentences: Sequence[Sequence[str]]) -> Iterator[SpanChances]:
        """Yield what is said about each of some sentences; it begins with all at once, which is quicker."""
        inverse_temperature = np.float32(1 / self.temperature)
        for states, known_share in self._scorer.read(sentences):
            spans, tags = self._scorer.scores(states)
            # Proportional to exp(score / temperature); a span without a label has score 0.
            spans *= inverse_temperature
            largest = np.maximum(spans.max(1, keepdims=True), 0)
            chances = np.exp(np.subtract(spans, largest, out=spans), out=spans)
            total = chances.sum(1, keepdims=True) + np.exp(-largest)
            # P(chain over span) = P(span in the tree) * P(chain | span).
            scores = (largest + np.log(total))[:, 0].astype(np.float64)
            _, marginals = net_kernels.span_marginals(scores, len(tags))
            factor = (marginals / total[:, 0]).astype(np.float32)
            tags = np.exp(inverse_temperature * (tags - tags.max(1, keepdims=True)))
            tags /= tags.sum(1, keepdims=True)
            known_share = 1.0 if self.encoder is not None else known_share
            yield SpanChances(chances, factor, tags, known_share, marginals)

    def parse(self, words: Sequence[str]) -> Tree:
        """Return the tree with the most labels to be expected right, less those to be expected wrong."""
        with one_blas_thread():
            chances, tags = self.chains(words)
            return decode_tree(words, chances, tags, self.inventory)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file of its own, whole or not at all; equal models give equal bytes."""
        model_files.save("neural", self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> NeuralModel:
        """Read a file that :meth:`save` wrote; ModelFileError if it is missing, damaged, no neural expert, or of a newer format."""
        return model_files.load(path, "neural")

    def pack(self) -> Tensors:
        """Return the model as named arrays of few bytes; :meth:`unpack` is the inverse."""
        tensors: Tensors = {"temperature": np.array([self.temperature], np.float32)}
        texts = {name: "\0".join(getattr(self.inventory, name)) for name in _TEXTS}
        parts = {"weights": self.weights}
        if self.encoder is not None:
            texts["encoder"] = json.dumps(self.encoder.about(), sort_keys=True)
            parts["encoder"] = self.encoder.weights
        for name, text in texts.items():
            tensors[f"text.{name}"] = np.frombuffer(text.encode(), np.uint8)
        for part, weights in parts.items():
            tensors |= {f"{part}.{name}": np.asarray(value, np.float16) for name, value in weights.items()}
        return tensors

    @classmethod
    def unpack(cls, tensors: Mapping[str, npt.NDArray[Any]]) -> NeuralModel:
        """Return the model that arrays stand for.

        Raises
        ------
        LookupError, TypeError, ValueError
            If they stand for none.
        """
        texts = [_unpack_text(tensors[f"text.{name}"]) for name in _TEXTS]
        inventory = Inventory(*texts)
        weights, encoder_weights = _with_prefix(tensors, "weights."), _with_prefix(tensors, "encoder.")
        if not inventory.tags or not inventory.chains:
            raise ValueError("no tags or labels")
        labels = [*inventory.tags]
        for chain in inventory.chains:
            labels += split_chain(chain)
        if not all(map(is_label, labels)):
            raise ValueError("an invalid label")
        if len(set(inventory.tags)) < len(inventory.tags) or len(set(inventory.chains)) < len(
            inventory.chains
        ):
            raise ValueError("duplicate label")
        (temperature,) = tensors["temperature"].tolist()
        if not 1 / _HOTTEST <= temperature <= _HOTTEST:
            raise ValueError(f"temperature {temperature}")
        encoder = None
        if "text.encoder" in tensors:
            record = parse_document(EncoderRecord, bytes(tensors["text.encoder"]))
            encoder = Encoder(**asdict(record), weights=encoder_weights)
        shapes = weight_shapes(inventory, weights, 0 if encoder is None else encoder.size)
        if odd := weights.keys() ^ shapes.keys():
            raise ValueError(f"{min(odd)} is missing or unexpected")
        rows: list[Row] = []
        sizes: list[int] = []
        for name, shape in shapes.items():
            rows.append(Row(name, "float16", shape))
            sizes += shape if name != "vector.weight" else ()
        validate(rows, weights)
        if min(sizes) < 1:
            raise ValueError("an empty layer")
        return cls(inventory, weights, float(temperature), encoder)


def _unpack_text(tensor: npt.NDArray[Any]) -> tuple[str, ...]:
    return tuple(bytes(tensor).decode().split("\0")) if tensor.size else ()


def _with_prefix(tensors: Mapping[str, npt.NDArray[Any]], prefix: str) -> dict[str, npt.NDArray[Any]]:
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}


model_files.register(
    "neural",
    model_files.NEURAL,
    lambda model: ({"gramian": __version__}, model.pack()),
    lambda _, tensors: NeuralModel.unpack(tensors),
)
