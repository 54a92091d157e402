"""The span CRF: a log-linear model of binarised trees with surface features (Hall, Durrett and Klein 2014).

The score of a tree is the sum over its tags, phrases and rules of weights of hashed features, most of them of the
words at and around the ends of spans and split points. Weights climb the conditional log-likelihood of the
treebank's trees among those that a coarse grammar leaves; the slope of an item or edge is its presence in the tree
minus its posterior, so that inside-outside over pruned forests is all that learning needs.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from gramian.base import Report
from gramian.chart.chart_parser import ChartParser, Pruning
from gramian.corpus import Treebank
from gramian.errors import InputError, MissingExtraError, OptionError
from gramian.grammar import LPCFG
from gramian.grammar.lexicon import Lexicon, WordScores
from gramian.learn import PCFG
from gramian.loglinear import span_kernels as kernels
from gramian.loglinear import span_state_kernels as state_kernels
from gramian.loglinear.span_forests import Contexts, Skeleton, States, gold_forest, skeleton
from gramian.loglinear.span_model import SpanModel
from gramian.loglinear.tagger import fit_tagger, tag_held_out
from gramian.loglinear.word_views import Views, WordForms

try:
    from sklearn.base import BaseEstimator
except ModuleNotFoundError:  # pragma: no cover - only without the extra
    raise MissingExtraError("scikit-learn", "train", "learning a span CRF") from None

__all__ = ["SpanCRF"]

Ints = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]

_SMALLEST = 0.005  # slopes below this are left alone: they cost time and fill the table
_RIGHT_TAG = 1e-3  # least probability of the right tag of a word seen once


class _Example(NamedTuple):
    """A training sentence: its forest, and the items and edges of its tree."""

    views: Views
    forest: Skeleton
    items: Ints
    edges: Ints


class _Slopes(NamedTuple):
    """What a training sentence says about the scores of its items, edges, states, and pairs of state and edge."""

    log_likelihood: float
    states: States
    item: Floats
    edge: Floats
    state: Floats
    pair: Floats


class SpanCRF(BaseEstimator):  # type: ignore[misc]
    """Learns a log-linear model of trees with surface features.

    Parameters
    ----------
    epochs : int
        Passes over the treebank.
    rate : float
        Length of the steps; each weight's own steps shorten as its slopes add up (AdaGrad).
    decay : float
        How strongly weights are drawn to zero (L2), each time they change.
    forgetting : float
        Share of words that are known by their form alone, drawn anew in each pass.
    cost : float
        What a wrong item adds to the score of a tree while learning (softmax-margin, Gimpel and Smith 2010).
    min_count : int
        Words seen less often are known by their form alone.
    slots : int
        Size of the table of weights; a power of two.
    batch : int
        Sentences whose slopes are taken before weights change.
    pruning : Pruning
        What the coarse grammar leaves out of the forests; the right tree is always kept.
    grammar : LPCFG, optional
        The coarse grammar, learnt from the same treebank; by default it is learnt along.
    random_state : int
    jobs : int
        Threads; the model does not depend on their number.
    say : callable, optional
        Called with a line of text when something is worth telling.

    Attributes
    ----------
    model_ : SpanModel
    grammar_ : LPCFG
        The coarse grammar.
    report_ : dict

    Examples
    --------
    >>> from gramian.trees import Tree
    >>> bank = Treebank.from_trees([Tree.parse("(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)))")] * 3)
    >>> SpanCRF(epochs=2).fit(bank).model_.n_phrases
    3
    """

    def __init__(
        self, *, epochs: int = 4, rate: float = 0.1, decay: float = 0.0, forgetting: float = 0.1, cost: float = 0.0,
        min_count: int = 3, slots: int = 1 << 21, batch: int = 2, pruning: Pruning = Pruning(edge=3e-5),
        grammar: LPCFG | None = None, random_state: int = 0, jobs: int = 1, say: Callable[[str], None] | None = None,
    ) -> None:  # fmt: skip
        self.epochs, self.rate, self.decay, self.forgetting, self.cost = epochs, rate, decay, forgetting, cost
        self.min_count, self.slots, self.batch, self.pruning, self.grammar = (
            min_count,
            slots,
            batch,
            pruning,
            grammar,
        )
        self.random_state, self.jobs, self.say = random_state, jobs, say

    def fit(self, treebank: Treebank, y: object = None) -> Self:
        """Learn from trees.

        Parameters
        ----------
        treebank : Treebank
        y : ignored

        Returns
        -------
        self
        """
        self._check(treebank)
        report = Report(__name__)
        bank, n_tags = treebank, treebank.n_symbols - treebank.n_phrases
        sentences = _Sentences(bank)
        with report.stage("coarse grammar"):
            self.grammar_: LPCFG = self.grammar or PCFG().fit(bank).model_
        if self.grammar_.symbols != bank.symbols:
            raise OptionError(
                "the coarse grammar has other symbols than the treebank; try: learning it from the same one"
            )
        with report.stage("tags"):
            forms = WordForms(sentences.frequent(self.min_count))
            views = [forms.views(words) for words in sentences.words]
            report.facts["tags guessed right"] = tag_held_out(
                views, sentences.tags, n_tags, self.random_state
            )
            tagger = fit_tagger(
                [forms.views(words) for words in sentences.words], sentences.tags, n_tags, self.random_state
            )
        with ThreadPoolExecutor(self.jobs) as pool:
            apply: Any = pool.map if self.jobs > 1 else map
            with report.stage("forests"):
                forest_of = _ForestMaker(self.grammar_, sentences, self.pruning)
                examples = [
                    _Example(view, *made)
                    for view, made in zip(views, apply(forest_of, range(bank.n_trees)), strict=True)
                ]
            with report.stage("weights"):
                weights = self._climb(examples, bank, apply, report)
        self.model_ = SpanModel(bank.symbols, bank.n_phrases, forms.frequent, tagger.weights, weights)
        self.report_: dict[str, Any] = report.as_dict()
        return self

    def _check(self, treebank: Treebank) -> None:
        if treebank.n_trees == 0:
            raise InputError(
                "there is no tree to learn from", "treebank", hint="look at the file with: gramian inspect"
            )
        if self.slots < 1 << 12 or self.slots & (self.slots - 1):
            raise OptionError(f"slots is a power of two, 4096 or more, not {self.slots!r}")
        if treebank.n_symbols > 1024:
            raise OptionError(
                f"a span CRF has at most 1,024 symbols, not {treebank.n_symbols:,}; try: horizontal=0, vertical=1"
            )
        for name in ("epochs", "batch", "jobs"):
            if getattr(self, name) < 1:
                raise OptionError(f"{name} is 1 or more, not {getattr(self, name)!r}")

    def _climb(
        self, examples: list[_Example], bank: Treebank, apply: Any, report: Report
    ) -> npt.NDArray[np.float32]:
        """Return the mean of the weights over all steps."""
        contexts, n_phrases = Contexts(bank.symbols), bank.n_phrases
        weights, squares = np.zeros(self.slots, np.float32), np.ones(self.slots, np.float32)
        drift = np.zeros(self.slots)
        rng = np.random.default_rng(self.random_state)

        def slopes(views: Views, example: _Example) -> _Slopes:
            forest, items, edges = example.forest, example.items, example.edges
            states = contexts.states(forest)
            state_score, pair_score = kernels.score_forest(views, forest, states, n_phrases, weights)
            own_states, own_pairs = state_kernels.tree_states(forest, states, items, edges)
            tree_score = state_score[own_states].sum() + pair_score[own_pairs].sum()
            state_score += self.cost
            state_score[own_states] -= self.cost
            log_total, item, edge, _, state, pair = kernels.inside_outside(
                forest, states, n_phrases, state_score, pair_score
            )
            for slope, own in ((item, items), (edge, edges), (state, own_states), (pair, own_pairs)):
                slope *= -1
                slope[own] += 1
            return _Slopes(tree_score - log_total, states, item, edge, state, pair)

        step = 0
        for epoch in range(1, self.epochs + 1):
            order = rng.permutation(len(examples))
            log_likelihood = 0.0
            for start in range(0, len(order), self.batch):
                batch = [examples[number] for number in order[start : start + self.batch]]
                views = [_forgetful(example.views, self.forgetting, rng) for example in batch]
                # All slopes of a batch are known before the first weight changes.
                found = list(apply(slopes, views, batch))
                for view, example, slope in zip(views, batch, found, strict=True):
                    step += 1
                    log_likelihood += slope.log_likelihood
                    kernels.climb(
                        view, example.forest, slope.states, n_phrases, slope.item, slope.edge, slope.state,
                        slope.pair, _SMALLEST, self.rate, self.decay, float(step),
                        weights, squares, drift,
                    )  # fmt: skip
            report.say(
                f"pass {epoch} of {self.epochs}: log-likelihood {log_likelihood / len(examples):.3f} a tree"
            )
        drift /= step + 1
        return (weights - drift).astype(np.float32)


class _Sentences:
    """The words and tags of a treebank, sentence by sentence."""

    def __init__(self, bank: Treebank) -> None:
        self.bank = bank
        leaves = np.flatnonzero(bank.word >= 0)  # in the order of each sentence
        bounds = np.searchsorted(leaves, bank.tree_start)[1:-1]
        self.numbers = np.split(bank.word[leaves], bounds)
        self.words = [[bank.words[number] for number in row.tolist()] for row in self.numbers]
        self.tags = np.split((bank.label[leaves] - bank.n_phrases).astype(np.int32), bounds)
        self.counts = np.bincount(bank.word[leaves], minlength=len(bank.words))

    def frequent(self, min_count: int) -> list[str]:
        """Return lower-cased words that occur as often as `min_count`."""
        total: dict[str, int] = {}
        for word, count in zip(self.bank.words, self.counts.tolist(), strict=True):
            total[word.lower()] = total.get(word.lower(), 0) + count
        return [word for word, count in total.items() if count >= min_count]


class _ForestMaker:
    """Makes the forests that weights are learnt on: as they will be for new sentences, with the right tree put in."""

    def __init__(self, grammar: LPCFG, sentences: _Sentences, pruning: Pruning) -> None:
        self._chart, self._sentences, self._pruning = ChartParser(grammar), sentences, pruning
        self._known: dict[int, WordScores] = {}

    def __call__(self, tree: int) -> tuple[Skeleton, Ints, Ints]:
        rows = zip(self._sentences.numbers[tree].tolist(), self._sentences.tags[tree].tolist(), strict=True)
        scores = [self._scores(number, tag, place == 0) for place, (number, tag) in enumerate(rows)]
        forest = self._chart.forest(scores, self._pruning)
        return gold_forest(None if forest is None else skeleton(forest), self._sentences.bank, tree)

    def _scores(self, number: int, tag: int, initial: bool) -> WordScores:
        lexicon = self._chart.grammar.lexicon
        word = self._sentences.bank.words[number]
        if self._sentences.counts[number] > 1:
            found = self._known.get(number)
            if found is None:
                found = self._known[number] = lexicon.score(word, initial)
            return found
        return _as_unknown(lexicon, word, initial, tag)


def _as_unknown(lexicon: Lexicon, word: str, initial: bool, tag: int) -> WordScores:
    """Return the scores of a word seen once as if it were new, but for its right tag."""
    probability = lexicon.tag_probabilities(word, initial)
    probability[tag] = max(probability[tag], _RIGHT_TAG)
    tags = np.flatnonzero(probability >= lexicon.min_tag_probability).astype(np.int32)
    coarse = (probability[tags] / lexicon.tag_prior[tags]).astype(np.float32)
    return WordScores(tags, coarse, np.ones(int(lexicon.n_states[tags].sum()), np.float32))


def _forgetful(views: Views, share: float, rng: np.random.Generator) -> Views:
    """Return views in which a share of the words is known by form alone."""
    if share == 0:
        return views
    views = views.copy()
    hit = rng.random(views.shape[1]) < share
    views[0, hit] = views[1, hit]
    return views
