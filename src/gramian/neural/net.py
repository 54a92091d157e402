"""The net in torch: words and characters, a BiLSTM, fenceposts, scores of labels over spans and of tags (Stern, Andreas and Klein 2017).

The state before and behind each word makes a fencepost. The first layer over a span is linear in its two fenceposts, so it is applied
to the ``n + 1`` fenceposts; a span adds two of their vectors, normalises, and one product with the labels is left.
:mod:`gramian.neural.span_scores` runs the same weights without torch.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import nn
from torch.nn.functional import dropout
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from gramian.neural.net_options import Learning, NetSize
from gramian.neural.neural_model import NeuralModel
from gramian.neural.span_inventory import BOUNDARY, PADDING, Example, Inventory, cell
from gramian.neural.span_layer import span_layer
from gramian.neural.span_tree_crf import log_partition

if TYPE_CHECKING:
    from gramian.neural.word_encoder import WordEncoder

Ints = npt.NDArray[np.int64]


class PaddedBatch(NamedTuple):
    """Sentences side by side, filled up to the longest."""

    #: words, vectors: shape (n_sentences, longest + 2)
    words: torch.Tensor
    vectors: torch.Tensor
    forms: torch.Tensor  #: shape (n_sentences, longest + 2); of each word, its row in `characters`
    characters: torch.Tensor  #: shape (n_forms, longest_form)
    #: form_lengths, lengths: characters of forms and words of sentences; on the CPU
    form_lengths: torch.Tensor
    lengths: torch.Tensor
    tags: torch.Tensor  #: shape (n_tags, 3); sentence, word and tag
    spans: torch.Tensor  #: shape (n_spans, 3); sentence, cell and chain of each span that has a label
    #: tag_shares, span_shares, weights: the probabilities of tags and spans times the weights of their sentences, and these weights
    tag_shares: torch.Tensor
    span_shares: torch.Tensor
    weights: torch.Tensor
    numbers: torch.Tensor  #: shape (n_sentences,); which examples these are; on the CPU
    sentences: tuple[tuple[str, ...], ...] = ()  #: the words as written, for an encoder

    def to(self, device: torch.device) -> PaddedBatch:
        """Return the batch on a device; lengths stay on the CPU, where packing wants them."""
        stay = ("form_lengths", "lengths", "numbers", "sentences")
        return PaddedBatch(
            *(
                getattr(self, name) if name in stay else getattr(self, name).to(device, non_blocking=True)
                for name in self._fields
            )
        )


class Sentences:
    """Examples ready to be put side by side."""

    def __init__(self, examples: Sequence[Example], inventory: Inventory) -> None:
        self.examples = examples
        rows = {"": 0}  # the boundary
        self._forms = [
            np.array([0, *[rows.setdefault(form, len(rows)) for form in example.forms], 0])
            for example in examples
        ]
        known = [inventory.word(form) for form in list(rows)[1:]]
        vectors = np.array([0, *(vector for _, vector, _ in known)])
        self._vectors = [vectors[forms] for forms in self._forms]
        characters = [[BOUNDARY], *(spelling for _, _, spelling in known)]
        self._spelt_length = np.array([len(example) for example in characters])
        self._spelt = np.full((len(characters), self._spelt_length.max()), PADDING)
        for row, numbers in enumerate(characters):
            self._spelt[row, : len(numbers)] = numbers

    def batch(self, numbers: Sequence[int], words: Sequence[Ints] | None = None) -> PaddedBatch:
        """Return sentences as a batch, the longest first.

        Parameters
        ----------
        words : sequence of ndarray of int64, optional
            Their words, some of them made unknown.
        """
        examples = [self.examples[number] for number in numbers]
        words = [example.words for example in examples] if words is None else words
        order = sorted(range(len(examples)), key=lambda index: -examples[index].n_words)
        longest = examples[order[0]].n_words
        word_table = np.full((len(examples), longest + 2), PADDING)
        vector_table, form_table = np.zeros((2, len(examples), longest + 2), np.int64)
        tags, spans = [], []
        for row, index in enumerate(order):
            example = examples[index]
            word_table[row, : example.n_words + 2] = words[index]
            form_table[row, : example.n_words + 2] = self._forms[numbers[index]]
            vector_table[row, : example.n_words + 2] = self._vectors[numbers[index]]
            start, end, chain = example.spans.T
            spans.append(np.stack([np.full(len(start), row), cell(longest, start, end), chain], 1))
            tags.append(np.insert(example.tags, 0, row, 1))
        forms, inverse = np.unique(form_table, return_inverse=True)
        by_length = np.argsort(-self._spelt_length[forms], kind="stable")
        rank = np.argsort(by_length)
        forms = forms[by_length]
        lengths = self._spelt_length[forms]
        ordered = [examples[index] for index in order]
        tag_shares = np.concatenate([example.tag_shares * np.float32(example.weight) for example in ordered])
        span_shares = np.concatenate(
            [example.span_shares * np.float32(example.weight) for example in ordered]
        )
        return PaddedBatch(
            words=_tensor(word_table),
            vectors=_tensor(vector_table),
            forms=_tensor(rank[inverse].reshape(form_table.shape)),
            characters=_tensor(self._spelt[forms, : lengths[0]]),
            form_lengths=_tensor(lengths),
            lengths=_tensor(np.array([example.n_words for example in ordered])),
            tags=_tensor(np.concatenate(tags)),
            spans=_tensor(np.concatenate(spans)),
            tag_shares=torch.from_numpy(tag_shares),
            span_shares=torch.from_numpy(span_shares),
            weights=torch.tensor([example.weight for example in ordered]),
            numbers=_tensor(np.array(numbers)[order]),
            sentences=tuple(example.forms for example in ordered),
        )


def _tensor(table: npt.NDArray[Any]) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(table, np.int64))


class NetScores(NamedTuple):
    """What a net says about a batch."""

    #: shape (n_sentences, n_cells, n_chains); by width, then start, of the longest sentence; a span without a label scores 0
    spans: torch.Tensor
    tags: torch.Tensor  #: shape (n_sentences, longest, n_tags)


class WordNet(nn.Module):  # type: ignore[misc]
    """A BiLSTM over the words of sentences: the states of words, from their vectors and their characters.

    Parameters
    ----------
    learning : Learning
        For its dropouts.
    vectors : ndarray of float32, shape (n_vector_words, any), optional
        Fixed vectors of the inventory's `vector_words`.
    n_more : int
        Length of a word's vector that a subclass adds.
    """

    def __init__(
        self,
        inventory: Inventory,
        size: NetSize,
        learning: Learning,
        vectors: npt.NDArray[np.float32] | None = None,
        n_more: int = 0,
    ) -> None:
        super().__init__()
        self.learning = learning
        self.word = nn.Embedding(inventory.n_words, size.word, PADDING)
        fixed_vectors = np.zeros((0, 0), np.float32) if vectors is None else vectors
        self.vector = nn.Embedding.from_pretrained(torch.from_numpy(np.pad(fixed_vectors, ((1, 0), (0, 0)))))
        self.char = nn.Embedding(inventory.n_characters, size.char, PADDING)
        self.char_lstm = nn.LSTM(size.char, size.char_units, batch_first=True, bidirectional=True)
        inputs = [size.word + fixed_vectors.shape[1] + 2 * size.char_units + n_more]
        inputs += [2 * size.units] * (size.layers - 1)
        self.lstm = nn.ModuleList(
            nn.LSTM(n_inputs, size.units, batch_first=True, bidirectional=True) for n_inputs in inputs
        )

    def _initialise(self) -> None:
        """Draw weights: orthogonal between states, so that gradients neither vanish nor grow; forget gates begin open."""
        for name, weight in self.named_parameters():
            if "lstm" in name:
                units = weight.shape[0] // 4
                if "bias" in name:
                    nn.init.zeros_(weight)
                    if "bias_ih" in name:
                        nn.init.ones_(weight[units : 2 * units])
                else:
                    draw = nn.init.orthogonal_ if "weight_hh" in name else nn.init.xavier_uniform_
                    for gate in range(4):
                        draw(weight[gate * units : (gate + 1) * units])
        for table in (self.word, self.char):
            nn.init.normal_(table.weight, std=table.weight.shape[1] ** -0.5)
            nn.init.zeros_(table.weight[PADDING])

    def states(self, batch: PaddedBatch, more: torch.Tensor | None = None) -> torch.Tensor:
        """Return the states of words and boundaries; `more` are the vectors that a subclass adds."""
        learning = self.learning
        inputs = self._inputs(batch, more)
        drop = learning.recurrent_dropout if self.training else 0.0
        for layer in self.lstm:
            inputs = _run(layer, self._locked(inputs, learning.dropout), batch.lengths + 2, drop)
        return self._locked(inputs, learning.dropout)

    def _inputs(self, batch: PaddedBatch, more: torch.Tensor | None) -> torch.Tensor:
        """Return the vectors of words, learnt and fixed, and of their characters, side by side."""
        characters = dropout(self.char(batch.characters), self.learning.word_dropout, self.training)
        packed = pack_padded_sequence(characters, batch.form_lengths, batch_first=True)
        _, (last, _) = self.char_lstm(packed)
        parts = [
            self.word(batch.words),
            self.vector(batch.vectors),
            torch.cat([last[0], last[1]], -1)[batch.forms],
        ]
        if more is not None:
            parts.append(more)
        if self.training and self.learning.word_dropout:
            n_parts = len(parts)
            keep = (
                torch.rand(n_parts, *batch.words.shape, 1, device=characters.device)
                >= self.learning.word_dropout
            )
            # What is left counts for all, so that a word is as loud with one vector as with all.
            scale = keep * (n_parts / keep.sum(0).clamp(min=1))
            parts = [part * factor for part, factor in zip(parts, scale, strict=True)]
        return torch.cat(parts, -1)

    def _locked(self, inputs: torch.Tensor, share: float) -> torch.Tensor:
        """Leave out the same units in all words of a sentence (Gal and Ghahramani 2016)."""
        if not self.training or share == 0:
            return inputs
        mask = torch.rand(inputs.shape[0], 1, inputs.shape[2], device=inputs.device) >= share
        return inputs * mask / (1 - share)


class SpanNet(WordNet):
    """Scores of labels over spans and of tags.

    Parameters are those of :class:`WordNet`, and an `encoder` whose vectors of words in their sentence stand beside the others; if it
    learns, it is part of the net.
    """

    def __init__(
        self,
        inventory: Inventory,
        size: NetSize,
        learning: Learning,
        vectors: npt.NDArray[np.float32] | None = None,
        encoder: WordEncoder | None = None,
    ) -> None:
        super().__init__(inventory, size, learning, vectors, 0 if encoder is None else encoder.size)
        self.encoder = encoder
        self.left = nn.Linear(2 * size.units, size.hidden, bias=False)
        self.right = nn.Linear(2 * size.units, size.hidden)
        self.norm = nn.LayerNorm(size.hidden)
        self.label = nn.Linear(size.hidden, len(inventory.chains))
        self.tag_hidden = nn.Linear(2 * size.units, size.tag_hidden)
        self.tag = nn.Linear(size.tag_hidden, len(inventory.tags))
        self._initialise()
        if encoder is not None and encoder.is_tuned:
            self.tuned = encoder.model

    def forward(self, batch: PaddedBatch) -> NetScores:
        """Score all spans and tags of a batch."""
        learning, encoder = self.learning, self.encoder
        encoded = None if encoder is None else encoder(batch.sentences, batch.words.shape[1] - 2)
        inputs = self.states(batch, encoded)
        units = inputs.shape[-1] // 2
        posts = torch.cat([inputs[:, :-1, :units], inputs[:, 1:, units:]], -1)
        left, right = self.left(posts), self.right(posts)
        spans = span_layer(left, right, self.norm, learning.hidden_dropout if self.training else 0.0)
        tags = self.tag_hidden(inputs[:, 1:-1]).relu()
        return NetScores(self.label(spans), self.tag(dropout(tags, learning.hidden_dropout, self.training)))

    def loss(self, batch: PaddedBatch) -> torch.Tensor:
        """Return the cross-entropy of trees and of tags, a word: their negative log-likelihood where both are certain."""
        scores = self(batch)
        sentence, word, tag = batch.tags.T
        tags = -(torch.log_softmax(scores.tags, -1)[sentence, word, tag] * batch.tag_shares).sum()
        trees = self.tree_loss(scores.spans, batch)
        return (trees + self.learning.tag_share * tags) / int(batch.lengths.sum())

    def tree_loss(self, spans: torch.Tensor, batch: PaddedBatch) -> torch.Tensor:
        """Return the cross-entropy of the trees of a batch, all binarisations of each together: log Z - sum of q(span) * score(span).

        A span without a label scores 0, so that all binarisations of a tree score the same, and their number, a constant, is left out.
        """
        sentence, cell, chain = batch.spans.T
        total = log_partition(_any_label(spans), batch.lengths.to(spans.device)) * batch.weights
        return total.sum() - (spans[sentence, cell, chain] * batch.span_shares).sum()

    def posteriors(
        self, batch: PaddedBatch, temperature: float = 1.0, offset: torch.Tensor | float | None = None
    ) -> NetScores:
        """Return the probability of each chain over each span, and of each tag; `offset` is added to the scores of chains."""
        scores = self(batch)
        with torch.enable_grad():
            spans = scores.spans / temperature + (0.0 if offset is None else offset)
            spans = spans.detach().requires_grad_()
            total = log_partition(_any_label(spans), batch.lengths.to(spans.device)).sum()
            (marginals,) = torch.autograd.grad(total, spans)
        return NetScores(marginals, torch.softmax(scores.tags / temperature, -1))


def torch_net(model: NeuralModel) -> SpanNet:
    """Return the net of a model in PyTorch, ready to score."""
    weights = {name: torch.from_numpy(np.asarray(value, np.float32)) for name, value in model.weights.items()}
    encoder = None if model.encoder is None else model.encoder.opened
    size = NetSize.of(model.weights)
    net = SpanNet(model.inventory, size, Learning(), weights["vector.weight"][1:].numpy(), encoder)
    net.load_state_dict(weights)
    return net.eval()


def _any_label(spans: torch.Tensor) -> torch.Tensor:
    """Return the logarithm of the sum over all labels of a span, none included."""
    return torch.logsumexp(nn.functional.pad(spans, (1, 0)), -1)


def _run(layer: nn.LSTM, inputs: torch.Tensor, lengths: torch.Tensor, drop: float) -> torch.Tensor:
    """Run an LSTM, some of the weights between whose states are left out (Merity, Keskar and Socher 2018), over sentences side by side.

    On a CPU, where packed sequences are slow, each direction runs over the whole table, for the second with every sentence turned
    round; what comes out behind the end of a sentence means nothing.
    """
    weights = {
        name: dropout(weight, drop) if drop and name.startswith("weight_hh") else weight
        for name, weight in layer.named_parameters()
    }
    zeros = inputs.new_zeros(2, len(inputs), layer.hidden_size)
    if inputs.device.type != "cpu":
        packed = pack_padded_sequence(inputs, lengths, batch_first=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # that these weights do not lie in one piece
            all_weights = list(weights.values())
            table = (packed.data, packed.batch_sizes, (zeros, zeros))
            data = torch.lstm(*table, all_weights, True, 1, 0.0, layer.training, True)[0]
        states: torch.Tensor = pad_packed_sequence(packed._replace(data=data), batch_first=True)[0]
        return states
    position, length = torch.arange(inputs.shape[1]), lengths.unsqueeze(1)
    reversed_position = torch.where(position < length, length - 1 - position, position).unsqueeze(-1)
    directions = []
    for suffix in ("l0", "l0_reverse"):
        direction_weights = [
            weights[f"{kind}_{suffix}"] for kind in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        ]
        rows = inputs if suffix == "l0" else inputs.gather(1, reversed_position.expand_as(inputs))
        states = torch.lstm(
            rows, (zeros[:1], zeros[:1]), direction_weights, True, 1, 0.0, layer.training, False, True
        )[0]
        directions.append(states if suffix == "l0" else states.gather(1, reversed_position.expand_as(states)))
    return torch.cat(directions, -1)
