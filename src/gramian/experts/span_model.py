"""What a span CRF has learnt, the tagger whose guesses it sees, and the posteriors that it gives beside a grammar."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gramian import __version__
from gramian.chart.combine import ExpertPosterior, label_numbers, sentence_weight
from gramian.chart.forest import Forest
from gramian.errors import OptionError, counted
from gramian.experts import span_kernels as kernels
from gramian.experts.expert_part import EXPERT_KINDS
from gramian.experts.span_forests import Contexts, Skeleton, likely_part
from gramian.experts.span_templates import SPANS, TAGGER
from gramian.grammar import LPCFG
from gramian.io import model_files
from gramian.io.array_table import validate
from gramian.io.tensors import Tensors, pack_strings, pack_weights, unpack_strings, unpack_weights
from gramian.loglinear.adagrad import mean_weights
from gramian.loglinear.word_views import PADDING, TAG, Views, WordForms

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False, repr=False)
class SpanModel:
    """Weights of hashed features of labels, tags and rules in their sentence.

    Examples
    --------
    >>> from gramian.experts import SpanCRF
    >>> from gramian.treebank import Treebank
    >>> from gramian.trees import Tree
    >>> SpanCRF(max_iter=1).fit(Treebank.from_trees([Tree.parse("(S (NP (DT the) (NN dog)) (VP (VBZ barks)))")] * 4)).model_.symbols
    ('NP', 'S', 'VP', 'DT', 'NN', 'VBZ')
    """

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
        raise ValueError("duplicate symbol")
    tables = {name: unpack_weights(tensors, name) for name in ("tag_weights", "weights")}
    validate("expert", tables, tags=len(symbols) - n_phrases)
    return SpanModel(symbols, n_phrases, frequent, **tables)


model_files.register("expert", model_files.SPAN_CRF, _pack, _unpack)


_LEAST_POSTERIOR = 1e-5  # of the grammar; what has less is not looked at


class CRFExpert:
    """A span CRF that reads the forests of one grammar; safe to share between threads.

    Parameters
    ----------
    grammar : LPCFG
        Learnt from the same treebank, binarised in the same way.
    weight : float
        Beside grammars; see :class:`gramian.chart.combine.Expert`.

    Examples
    --------
    >>> from gramian.chart.chart_parser import ChartParser
    >>> from gramian.treebank import Treebank
    >>> from gramian.experts import SpanCRF
    >>> from gramian.trees import Tree
    >>> bank = Treebank.from_trees([Tree.parse("(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)))")])
    >>> crf = SpanCRF(max_iter=1).fit(bank)
    >>> chart, words = ChartParser(crf.grammar_), ["the", "cat", "sleeps"]
    >>> forest = chart.forest([crf.grammar_.lexicon.score(word) for word in words])
    >>> CRFExpert(crf.model_, crf.grammar_).posterior(words, forest).forest.root_posterior.max()
    np.float32(1.0)
    """

    name = "crf"

    def __init__(self, model: SpanModel, grammar: LPCFG, weight: float = EXPERT_KINDS["crf"].weight) -> None:
        self.model, self.weight = model, weight
        numbers = label_numbers(model.symbols, model.n_phrases)
        keys = label_numbers(grammar.symbols, grammar.n_phrases)
        unknown = [symbol for is_phrase, symbol in keys if (is_phrase, symbol) not in numbers]
        if unknown:
            raise OptionError(
                f"the span CRF does not know the grammar's symbol {unknown[0]!r}; "
                "try: training both on the same treebank with the same binarisation"
            )
        self._symbol = np.array([numbers[key] for key in keys], np.int32)

    def posterior(self, words: Sequence[str], forest: Forest) -> ExpertPosterior | None:
        """Return a forest with this model's posteriors instead of the grammar's; None if it has no tree.

        What the grammar gives next to no posterior is not looked at, and has none here either.
        """
        part, items, edges = likely_part(forest, _LEAST_POSTERIOR)
        posteriors = self.model.posteriors(words, part._replace(item_symbol=self._symbol[part.item_symbol]))
        if posteriors.log_total == -np.inf:
            return None
        item, root = np.zeros((2, len(forest.item_symbol)), np.float32)
        edge = np.zeros(len(forest.edge_left), np.float32)
        item[items], root[items], edge[edges] = posteriors.item, posteriors.root, posteriors.edge
        judged = replace(
            forest, item_posterior=item, edge_posterior=edge, root_posterior=root, labels_over_spans=None
        )
        return ExpertPosterior(judged, sentence_weight(self.weight, self.model.known_share(words)))


Ints = npt.NDArray[np.int32]

_PASSES = 5
_SLOTS = 1 << 20


@dataclass(frozen=True, eq=False)
class Tagger:
    """Weights of hashed features, a power of two of them."""

    n_tags: int
    weights: npt.NDArray[np.float32]

    def tag(self, views: Views) -> None:
        """Fill the row of tags of a sentence's views."""
        kernels.tag_sentence(TAGGER, views, self.n_tags, self.weights)


class Lesson(NamedTuple):
    """Sentences side by side."""

    views: Views
    tags: Ints  # the right tag of each column
    starts: npt.NDArray[np.int64]  # where each sentence's columns begin


def fit_tagger(views: Sequence[Views], tags: Sequence[Ints], n_tags: int, random_state: int) -> Tagger:
    """Learn a tagger from sentences and the numbers of their tags; from none, one that knows nothing."""
    weights, drift, step = np.zeros(_SLOTS, np.float32), np.zeros(_SLOTS), 0
    if not views:
        return Tagger(n_tags, weights)
    starts = np.zeros(len(views) + 1, np.int64)
    np.cumsum([view.shape[1] for view in views], out=starts[1:])
    padded = np.concatenate([np.pad(row, PADDING) for row in tags])
    lesson = Lesson(np.concatenate(views, axis=1), padded, starts)
    rng = np.random.default_rng(random_state)
    for _ in range(_PASSES):
        order = rng.permutation(len(views))
        step = kernels.learn_tags(TAGGER, lesson, order, n_tags, weights, drift, step)
    return Tagger(n_tags, mean_weights(weights, drift, max(step, 1)))


def tag_held_out(
    views: Sequence[Views], tags: Sequence[Ints], n_tags: int, random_state: int, folds: int = 4
) -> float:
    """Fill the row of tags of each sentence's views by taggers that have not seen it; return the share that is right."""
    fold_of = np.arange(len(views)) * folds // max(len(views), 1)
    n_right = n_words = 0
    for fold in range(folds):
        seen = np.flatnonzero(fold_of != fold).tolist()
        tagger = fit_tagger([views[p] for p in seen], [tags[p] for p in seen], n_tags, random_state)
        for index in np.flatnonzero(fold_of == fold).tolist():
            tagger.tag(views[index])
            n_right += int((views[index][TAG, PADDING:-PADDING] - 1 == tags[index]).sum())
            n_words += len(tags[index])
    return n_right / max(n_words, 1)
