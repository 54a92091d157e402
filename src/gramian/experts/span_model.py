"""What a span CRF has learnt, and the posteriors that it gives to the items and edges of a forest."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gramian import __version__
from gramian.errors import counted
from gramian.experts import span_kernels as kernels
from gramian.experts.span_forests import Contexts, Skeleton
from gramian.experts.span_templates import SPANS
from gramian.experts.tagger import Tagger
from gramian.io import model_files
from gramian.io.array_table import validate
from gramian.io.tensors import Tensors, pack_strings, pack_weights, unpack_strings, unpack_weights
from gramian.loglinear.word_views import Views, WordForms

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False, repr=False)
class SpanModel:
    """Weights of hashed features of labels, tags and rules in their sentence."""

    symbols: tuple[str, ...]  #: of the binarised treebank: phrases, then tags
    n_phrases: int
    #: lower-cased words that have features of their own; others are known by their form
    frequent: tuple[str, ...]
    tag_weights: Floats  #: of the tagger whose guesses the features see
    weights: Floats  #: one a slot; their number is a power of two

    def __repr__(self) -> str:
        sizes = {"symbol": self.symbols, "frequent word": self.frequent, "weight": self.weights}
        return f"<SpanModel: {', '.join(counted(len(part), name) for name, part in sizes.items())}>"

    @cached_property
    def _forms(self) -> WordForms:
        return WordForms(self.frequent)

    @cached_property
    def _tagger(self) -> Tagger:
        return Tagger(len(self.symbols) - self.n_phrases, self.tag_weights)

    @cached_property
    def _contexts(self) -> Contexts:
        return Contexts(self.symbols)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file of its own, whole or not at all; equal models give equal bytes."""
        model_files.save("expert", self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> SpanModel:
        """Read a file that :meth:`save` wrote; ModelFileError if it is missing, damaged, no span CRF, or of a newer format."""
        return model_files.load(path, "expert")

    def views(self, words: Sequence[str]) -> Views:
        """Return the views of the words of a sentence, with the tags that the tagger predicts."""
        views = self._forms.views(words)
        self._tagger.tag(views)
        return views

    def posteriors(self, words: Sequence[str], forest: Skeleton) -> SpanPosteriors:
        """Return the posteriors of all items and edges of a forest whose symbols are numbered as in `symbols`."""
        states = self._contexts.states(forest)
        scores = kernels.score_forest(SPANS, self.views(words), forest, states, self.n_phrases, self.weights)
        log_total, *tables, _, _ = kernels.inside_outside(forest, states, self.n_phrases, *scores)
        return SpanPosteriors(float(log_total), *(table.astype(np.float32) for table in tables))

    def known_share(self, words: Sequence[str]) -> float:
        """Return the share of the words that have features of their own."""
        known = self._forms.known
        return sum(word.lower() in known for word in words) / max(len(words), 1)


class SpanPosteriors(NamedTuple):
    """Posteriors of a forest's items and edges under a span CRF."""

    log_total: (
        float  # logarithm of the sum over all trees of their exponentiated scores; -inf if there is no tree
    )
    item: Floats  # (n_items,)
    edge: Floats  # (n_edges,)
    root: Floats  # (n_items,): of each item as the root


def _pack(model: SpanModel) -> tuple[dict[str, Any], Tensors]:
    """Return what a file holds: weights in half precision, zeros left out."""
    tensors: Tensors = {
        "n_phrases": np.array([model.n_phrases], np.int32),
        "symbols": pack_strings(model.symbols),
        "frequent": pack_strings(model.frequent),
    }
    tensors |= pack_weights("tag_weights", model.tag_weights) | pack_weights("weights", model.weights)
    return {"gramian": __version__}, tensors


def _unpack(_: dict[str, Any], tensors: Tensors) -> SpanModel:
    (n_phrases,) = tensors["n_phrases"].tolist()
    if not isinstance(n_phrases, int):
        raise TypeError(f"{n_phrases!r} phrases")
    symbols, frequent = unpack_strings(tensors["symbols"]), unpack_strings(tensors["frequent"])
    if not 0 < n_phrases < len(symbols) <= 1024:
        raise ValueError(f"{n_phrases} phrases among {len(symbols)} symbols")
    if len(set(symbols[:n_phrases])) + len(set(symbols[n_phrases:])) < len(symbols):
        raise ValueError("a symbol stands twice")
    tables = {name: unpack_weights(tensors, name) for name in ("tag_weights", "weights")}
    validate("expert", tables, tags=len(symbols) - n_phrases)
    return SpanModel(symbols, n_phrases, frequent, **tables)


model_files.register("expert", model_files.SPAN_CRF, _pack, _unpack)
