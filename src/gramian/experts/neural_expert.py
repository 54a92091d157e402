"""The estimator of neural experts: trees in, a model that runs without torch out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self

import numpy as np
import numpy.typing as npt

from gramian.base import Estimator, number_of_jobs
from gramian.errors import InputError, MissingExtraError, OptionError
from gramian.evaluate import GoldBrackets
from gramian.neural.encoder import POOLINGS, Encoder, folder_digest, open_encoder
from gramian.neural.net_options import Learning, NetSize
from gramian.neural.neural_model import NeuralModel
from gramian.neural.span_inventory import Inventory, SpanTree, brackets
from gramian.trees import Tree
from gramian.value_types import Constraint, InstanceOf, Number, OneOf, Whole, or_none


class _Trees(Protocol):
    """Whatever gives trees, such as :class:`gramian.treebank.Treebank`."""

    def trees(self) -> Iterable[Tree]: ...


class NeuralExpert(Estimator):
    """Learns a span net from trees: a BiLSTM over words and characters under a tree CRF of all binarisations.

    Learning needs torch (``pip install 'gramian[neural]'``), running what was learnt does not. A share of the trees is held out and says
    which pass is the best, when to stop, and the temperature of the probabilities.

    Parameters
    ----------
    size : NetSize
    learning : Learning
    max_iter : int
        Passes over the trees at most; the rate falls towards the last.
    held_out : float
        Share of the trees, taken evenly, that is not learnt from; with 0 all passes are made and the last is taken.
    min_count : int
        Words and characters seen less often are not known by name.
    vectors : mapping of str to ndarray, optional
        Fixed vectors of words, all of one length, learnt from other text.
    encoder : str, optional
        Folder of a pre-trained encoder in Hugging Face's format, whose vectors stand beside the net's own; see
        :class:`gramian.neural.encoder.Encoder`. With ``Learning(encoder_rate=3e-5)`` it learns, too.
    pooling : {"first", "mean"}
        Whether a word's vector is that of its first piece in the encoder, or the mean of all.
    device : str
        A device of torch, such as ``"cpu"`` or ``"cuda:1"``; ``"auto"`` is a GPU if there is one.
    checkpoint : str, optional
        A file that holds everything after each pass, so that learning that was killed goes on; it is gone when all is done.
    random_state : int
        The same gives the same bytes on a CPU with the same number of threads.
    n_jobs : int, optional
        Threads on a CPU.
    verbose : bool

    Attributes
    ----------
    model_ : NeuralModel
    n_iter_ : int
        Passes made.
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

    _constraints: ClassVar[dict[str, Constraint]] = {
        "size": InstanceOf(NetSize),
        "learning": InstanceOf(Learning),
        "max_iter": Whole(1),
        "held_out": Number(0, 0.5),
        "min_count": Whole(1),
        "vectors": or_none(InstanceOf(Mapping)),
        "encoder": or_none(InstanceOf(str)),
        "pooling": OneOf(*POOLINGS),
        "device": InstanceOf(str),
        "checkpoint": or_none(InstanceOf(str)),
    }

    def __init__(
        self,
        size: NetSize = NetSize(),
        learning: Learning = Learning(),
        *,
        max_iter: int = 60,
        held_out: float = 0.05,
        min_count: int = 2,
        vectors: Mapping[str, npt.NDArray[np.floating[Any]]] | None = None,
        encoder: str | None = None,
        pooling: str = "first",
        device: str = "auto",
        checkpoint: str | None = None,
        random_state: int = 0,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.size, self.learning, self.max_iter, self.held_out = size, learning, max_iter, held_out
        self.min_count, self.vectors, self.device, self.checkpoint = min_count, vectors, device, checkpoint
        self.encoder, self.pooling = encoder, pooling
        self.random_state, self.n_jobs, self.verbose = random_state, n_jobs, verbose

    def fit(
        self, trees: _Trees | Iterable[Tree], y: object = None, *, judges: Iterable[Tree] | None = None
    ) -> Self:
        """Learn from trees in normal form (:func:`gramian.trees.normalise`).

        Parameters
        ----------
        trees : Treebank or iterable of Tree
        y : ignored
        judges : iterable of Tree, optional
            To be held out instead of a share of the trees.

        Returns
        -------
        self

        Raises
        ------
        gramian.errors.MissingExtraError
            If torch is not there, or transformers for an encoder.
        """
        with self._fitting() as report:
            try:
                from gramian.neural.net_trainer import best_device, train_net
            except ModuleNotFoundError as error:
                if error.name != "torch":
                    raise
                raise MissingExtraError("torch", "neural", "learning a neural expert") from None
            bank = [brackets(tree) for tree in _trees(trees) if not tree.is_empty]
            learnt, judging = (
                _parted(bank, self.held_out)
                if judges is None
                else (bank, [brackets(tree) for tree in judges if not tree.is_empty])
            )
            if not any(one.spans for one in learnt):
                raise InputError(
                    "there is no tree to learn from",
                    "treebank",
                    hint="look at the file with: gramian inspect",
                )
            fixed = _FixedVectors.of(self.vectors)
            inventory = Inventory.of(learnt, self.min_count, fixed.words)
            examples, held = ([inventory.example(one) for one in part] for part in (learnt, judging))
            device = best_device(self.device)
            digest = None if self.encoder is None else folder_digest(self.encoder)
            opened = (
                None
                if self.encoder is None
                else open_encoder(self.encoder, self.pooling, is_tuned=self.learning.encoder_rate > 0)
            )
            with report.stage("weights"):
                weights, history = train_net(
                    examples, held, inventory, size=self.size, learning=self.learning, max_iter=self.max_iter,
                    random_state=self.random_state, n_jobs=number_of_jobs(self.n_jobs), device=device,
                    checkpoint=self.checkpoint, vectors=fixed.table, encoder=opened,
                )  # fmt: skip
        half = {name: value.astype(np.float16) for name, value in weights.items()}
        encoder = None
        if self.encoder is not None and opened is not None and digest is not None:
            tuned = {
                name.removeprefix("tuned."): half.pop(name)
                for name in list(half)
                if name.startswith("tuned.")
            }
            encoder = Encoder(str(Path(self.encoder).resolve()), digest, opened.size, self.pooling, tuned)
        self.model_ = NeuralModel(inventory, half, history.temperature, encoder)
        self.n_iter_ = len(history.losses)
        report.facts |= {
            "device": device, "passes": self.n_iter_, "temperature": history.temperature,
            "loss a word": [round(value, 4) for value in history.losses],
            "F1 of held-out trees": [round(value, 2) for value in history.f1],
        }  # fmt: skip
        self.report_: dict[str, Any] = report.as_dict()
        return self

    def score(self, trees: _Trees | Iterable[Tree], y: object = None) -> float:
        """Return the F1 of labelled brackets, gold tags put in, in per cent, of the net alone."""
        gold = [tree for tree in _trees(trees) if not tree.is_empty]
        return GoldBrackets(gold).score([self.model_.parse(tree.words) for tree in gold]).f1_gold_tags


@dataclass(frozen=True)
class _FixedVectors:
    words: tuple[str, ...]
    table: npt.NDArray[np.float32] | None

    @classmethod
    def of(cls, vectors: Mapping[str, npt.NDArray[np.floating[Any]]] | None) -> _FixedVectors:
        if not vectors:
            return cls((), None)
        sizes = {np.shape(vector) for vector in vectors.values()}
        if len(sizes) != 1 or len(next(iter(sizes))) != 1:
            raise OptionError(f"vectors must be all of one length, got {sorted(sizes)[:3]}")
        words = tuple(sorted(vectors))
        return cls(words, np.stack([vectors[word] for word in words]).astype(np.float32))


def _trees(trees: _Trees | Iterable[Tree]) -> Iterable[Tree]:
    return trees.trees() if hasattr(trees, "trees") else trees


def _parted(bank: Sequence[SpanTree], share: float) -> tuple[list[SpanTree], list[SpanTree]]:
    """Return trees to learn from and trees to judge by, taken evenly; a handful is not parted."""
    every = round(1 / share) if share else 0
    if every == 0 or len(bank) < 2 * every:
        return list(bank), []
    held = set(range(every - 1, len(bank), every))
    return (
        [one for place, one in enumerate(bank) if place not in held],
        [bank[place] for place in sorted(held)],
    )
