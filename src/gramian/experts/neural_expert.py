"""The estimator of neural experts: trees in, a model that runs without torch out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from gramian.base import Estimator, estimator, number_of_jobs
from gramian.errors import InputError, MissingExtraError, OptionError
from gramian.evaluate import GoldBrackets
from gramian.neural.encoder import POOLINGS, Encoder, folder_digest, open_encoder
from gramian.neural.net_options import Learning, NetSize
from gramian.neural.neural_model import NeuralModel
from gramian.neural.soft_trees import SoftTree
from gramian.neural.span_inventory import Inventory, SpanTree, brackets
from gramian.treebank import Treebank
from gramian.trees import Tree
from gramian.value_types import InstanceOf, Number, OneOf, Whole, option, or_none

if TYPE_CHECKING:
    from gramian.neural.word_encoder import WordEncoder


@estimator
class NeuralExpert(Estimator):
    """Learns a span net from trees: a BiLSTM over words and characters under a tree CRF of all binarisations.

    Training requires PyTorch (``pip install 'gramian[neural]'``), parsing with the model does not. A share of the trees is held out, on
    which the best epoch, early stopping and the temperature of the probabilities are chosen.

    Attributes
    ----------
    model_ : NeuralModel
    n_iter_ : int
        Epochs made.
    report_ : dict

    References
    ----------
    M. Stern, J. Andreas, D. Klein (2017), A minimal span-based neural constituency parser.
    Y. Zhang, H. Zhou, Z. Li (2020), Fast and accurate neural CRF constituency parsing.

    Examples
    --------
    >>> from gramian.trees import Tree
    >>> trees = [Tree.parse("(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)))")] * 20
    >>> NeuralExpert(NetSize(units=8), max_iter=1).fit(trees).model_.n_phrase_labels  # doctest: +SKIP
    3
    """

    size: NetSize = option(InstanceOf(NetSize), default=NetSize())
    learning: Learning = option(InstanceOf(Learning), default=Learning())
    _: KW_ONLY
    max_iter: int = option(Whole(1), default=60)
    """Epochs at most; the learning rate falls towards the last."""
    held_out: float = option(Number(0, 0.5), default=0.05)
    """Share of the trees, taken evenly, that is held out; with 0 all epochs are made and the last is taken."""
    min_count: int = option(Whole(1), default=2)
    """Words and characters seen less often are not known by name."""
    vectors: Mapping[str, npt.NDArray[np.floating[Any]]] | None = option(
        or_none(InstanceOf(Mapping)), default=None
    )
    """Fixed vectors of words, all of one length, learnt from other text."""
    encoder: str | None = option(or_none(InstanceOf(str)), default=None)
    """Folder of a pre-trained encoder in Hugging Face's format, whose vectors stand beside the net's own; see
    :class:`gramian.neural.encoder.Encoder`. With ``Learning(encoder_rate=3e-5)`` it learns, too."""
    pooling: str = option(OneOf(*POOLINGS), default="first")
    """Whether a word's vector is that of its first piece in the encoder, or the mean of all."""
    device: str = option(InstanceOf(str), default="auto")
    """A device of torch, such as ``"cpu"`` or ``"cuda:1"``; ``"auto"`` is a GPU if there is one."""
    checkpoint: str | None = option(or_none(InstanceOf(str)), default=None)
    """File that holds the state after each epoch, from which interrupted training resumes; removed at the end."""
    random_state: int = 0
    """The same gives the same bytes on a CPU with the same number of threads."""
    n_jobs: int | None = None
    """Threads on a CPU."""
    verbose: bool = False

    def fit(
        self,
        trees: Treebank | Iterable[Tree],
        y: object = None,
        *,
        judges: Iterable[Tree] | None = None,
        soft_trees: Iterable[SoftTree] = (),
    ) -> Self:
        """Learn from trees in normal form (:func:`gramian.trees.normalise`).

        Parameters
        ----------
        judges : iterable of Tree, optional
            To be held out instead of a share of the trees.
        soft_trees : iterable of SoftTree
            A teacher's posteriors of further sentences, or of the same, to be learnt beside the trees (distillation).

        Raises
        ------
        gramian.errors.MissingExtraError
            If torch is not installed, or transformers for an encoder.
        """
        with self._fitting() as report:
            try:
                from gramian.neural.net_trainer import best_device, train_net
            except ModuleNotFoundError as error:
                if error.name != "torch":
                    raise
                raise MissingExtraError("torch", "neural", "learning a neural expert") from None
            training = _span_trees(trees)
            if judges is None:
                training, held_out = _split(training, self.held_out)
            else:
                held_out = _span_trees(judges)
            if not any(tree.spans for tree in training):
                hint = "look at the file with: gramian inspect"
                raise InputError("no trees to train on", "treebank", hint=hint)
            vector_words, vectors = self._fixed_vectors()
            soft = list(soft_trees)
            text = (tree.words for tree in soft)
            inventory = Inventory.of(training, self.min_count, vector_words, text)
            device = best_device(self.device)
            word_encoder, encoder = self._open_encoder()
            with report.stage("weights"):
                weights, history = train_net(
                    [*map(inventory.example, training), *map(inventory.example, soft)],
                    [inventory.example(tree) for tree in held_out],
                    inventory,
                    size=self.size,
                    learning=self.learning,
                    max_iter=self.max_iter,
                    random_state=self.random_state,
                    n_jobs=number_of_jobs(self.n_jobs),
                    device=device,
                    checkpoint=self.checkpoint,
                    vectors=vectors,
                    encoder=word_encoder,
                )
        half = {name: value.astype(np.float16) for name, value in weights.items()}
        if encoder is not None:
            tuned = [name for name in half if name.startswith("tuned.")]
            encoder = replace(
                encoder, weights={name.removeprefix("tuned."): half.pop(name) for name in tuned}
            )
        self.model_ = NeuralModel(inventory, half, history.temperature, encoder)
        self.n_iter_ = len(history.losses)
        report.facts |= {
            "device": device,
            "passes": self.n_iter_,
            "temperature": history.temperature,
            "loss a word": [round(value, 4) for value in history.losses],
            "F1 of held-out trees": [round(value, 2) for value in history.f1],
        }
        self.report_: dict[str, Any] = report.as_dict()
        return self

    def score(self, trees: Treebank | Iterable[Tree], y: object = None) -> float:
        """Return the F1 of labelled brackets, gold tags put in, in per cent, of the net alone."""
        gold = _non_empty(trees)
        return GoldBrackets(gold).score([self.model_.parse(tree.words) for tree in gold]).f1_gold_tags

    def _fixed_vectors(self) -> tuple[tuple[str, ...], npt.NDArray[np.float32] | None]:
        """Return the words that have fixed vectors, sorted, and the table of these."""
        if not self.vectors:
            return (), None
        shapes = {np.shape(vector) for vector in self.vectors.values()}
        if len(shapes) != 1 or len(next(iter(shapes))) != 1:
            raise OptionError(f"vectors must have the same length, got {sorted(shapes)[:3]}")
        words = tuple(sorted(self.vectors))
        return words, np.stack([self.vectors[word] for word in words]).astype(np.float32)

    def _open_encoder(self) -> tuple[WordEncoder | None, Encoder | None]:
        """Return the encoder at work, and the record of it that the model will hold."""
        if self.encoder is None:
            return None, None
        digest = folder_digest(self.encoder)
        opened = open_encoder(self.encoder, self.pooling, is_tuned=self.learning.encoder_rate > 0)
        return opened, Encoder(str(Path(self.encoder).resolve()), digest, opened.size, self.pooling)


def _non_empty(trees: Treebank | Iterable[Tree]) -> list[Tree]:
    every = trees.trees() if isinstance(trees, Treebank) else trees
    return [tree for tree in every if not tree.is_empty]


def _span_trees(trees: Treebank | Iterable[Tree]) -> list[SpanTree]:
    return [brackets(tree) for tree in _non_empty(trees)]


def _split(trees: list[SpanTree], share: float) -> tuple[list[SpanTree], list[SpanTree]]:
    """Return trees to learn from and held-out trees, taken evenly; a handful is not split."""
    step = round(1 / share) if share else 0
    if step == 0 or len(trees) < 2 * step:
        return trees, []
    training = [tree for number, tree in enumerate(trees, 1) if number % step]
    return training, trees[step - 1 :: step]
