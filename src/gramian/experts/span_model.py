"""What a span CRF has learnt, and its use: the posteriors it gives to the items and edges of a chart's forest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from gramian.chart.forest import Forest
from gramian.errors import OptionError, counted
from gramian.experts import span_kernels as kernels
from gramian.experts.span_forests import Contexts, Skeleton, likely_part, skeleton
from gramian.experts.span_templates import SPANS
from gramian.experts.tagger import Tagger
from gramian.grammar import LPCFG
from gramian.loglinear.word_views import Views, WordForms

Floats = npt.NDArray[np.float32]

_LIKELY = 1e-5  # least posterior of what is worth a look


@dataclass(frozen=True, eq=False, repr=False)
class SpanModel:
    """Weights of hashed features of labels, tags and rules in their sentence.

    Attributes
    ----------
    symbols : tuple of str
        Of the binarised treebank: phrases, then tags.
    n_phrases : int
    frequent : tuple of str
        Lower-cased words that have features of their own; others are known by their form.
    tag_weights : ndarray of float32
        Of the tagger whose guesses the features see.
    weights : ndarray of float32
        One a slot; their number is a power of two.
    """

    symbols: tuple[str, ...]
    n_phrases: int
    frequent: tuple[str, ...]
    tag_weights: Floats
    weights: Floats

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

    def views(self, words: Sequence[str]) -> Views:
        """Return what the features see of a sentence."""
        views = self._forms.views(words)
        self._tagger.tag(views)
        return views

    def posteriors(self, words: Sequence[str], forest: Skeleton) -> SpanPosteriors:
        """Return the posteriors of all items and edges of a forest whose symbols are numbered as in `symbols`."""
        states = self._contexts.states(forest)
        scores = kernels.score_forest(SPANS, self.views(words), forest, states, self.n_phrases, self.weights)
        log_total, *tables, _, _ = kernels.inside_outside(forest, states, self.n_phrases, *scores)
        return SpanPosteriors(float(log_total), *(table.astype(np.float32) for table in tables))


@dataclass(frozen=True)
class SpanPosteriors:
    """What a span CRF expects of a sentence.

    Attributes
    ----------
    log_total : float
        Logarithm of the sum over all trees of their exponentiated scores; -inf if there is no tree.
    item, edge, root : ndarray of float32
        Posterior of each item and edge of the forest, and of each item as the root.
    """

    log_total: float
    item: Floats
    edge: Floats
    root: Floats


class CRFExpert:
    """A span CRF that reads the forests of one grammar; safe to share between threads.

    Parameters
    ----------
    model : SpanModel
    grammar : LPCFG
        Learnt from the same treebank, binarised in the same way.

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
    >>> CRFExpert(crf.model_, crf.grammar_).posteriors(words, forest).root.max()
    np.float32(1.0)
    """

    def __init__(self, model: SpanModel, grammar: LPCFG) -> None:
        self.model = model
        numbers = {(place >= model.n_phrases, symbol): place for place, symbol in enumerate(model.symbols)}
        keys = [(place >= grammar.n_phrases, symbol) for place, symbol in enumerate(grammar.symbols)]
        strange = [symbol for is_tag, symbol in keys if (is_tag, symbol) not in numbers]
        if strange:
            raise OptionError(
                f"the span CRF does not know the grammar's symbol {strange[0]!r}; "
                "try: learning both from the same treebank, binarised in the same way"
            )
        self._symbol = np.array([numbers[key] for key in keys], np.int32)

    def posteriors(self, words: Sequence[str], forest: Forest) -> SpanPosteriors:
        """Return the posteriors of the items and edges of a chart's forest, in their order; words are as the treebank writes them."""
        frame = skeleton(forest)
        return self.model.posteriors(words, frame._replace(item_symbol=self._symbol[frame.item_symbol]))

    def known_share(self, words: Sequence[str]) -> float:
        """Return the share of the words that have features of their own."""
        known = self.model._forms.known
        return sum(word.lower() in known for word in words) / max(len(words), 1)

    def forest(self, words: Sequence[str], forest: Forest) -> Forest | None:
        """Return a forest with this model's posteriors instead of the grammar's; None if it has no tree.

        What the grammar gives next to no posterior is not looked at, and has none here either.
        """
        part, items, edges = likely_part(forest, _LIKELY)
        found = self.model.posteriors(words, part._replace(item_symbol=self._symbol[part.item_symbol]))
        if found.log_total == -np.inf:
            return None
        whole = np.zeros((2, len(forest.item_symbol)), np.float32)
        whole[0, items], whole[1, items] = found.item, found.root
        edge = np.zeros(len(forest.edge_left), np.float32)
        edge[edges] = found.edge
        return replace(
            forest,
            item_posterior=whole[0],
            edge_posterior=edge,
            root_posterior=whole[1],
            labels_over_spans=None,
        )
