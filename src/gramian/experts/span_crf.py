"""The span CRF: a log-linear model of binarised trees with surface features (Hall, Durrett and Klein 2014).

The score of a tree is the sum over its tags, phrases and rules of weights of hashed features, most of them of the
words at and around the ends of spans and split points. Training maximises the conditional log-likelihood of the
treebank's trees among those that a coarse grammar leaves; the gradient of an item or edge is its presence in the tree
minus its posterior, so that inside-outside over pruned forests is all that training needs.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import KW_ONLY
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from gramian.base import Estimator, Report, estimator, number_of_jobs
from gramian.chart.chart_parser import ChartParser
from gramian.chart.forest import Pruning
from gramian.errors import InputError, OptionError
from gramian.experts import span_kernels as kernels
from gramian.experts import span_kernels as state_kernels
from gramian.experts.span_forests import Contexts, Skeleton, States, gold_forest, skeleton
from gramian.experts.span_model import SpanModel, fit_tagger, tag_held_out
from gramian.experts.span_templates import SPANS
from gramian.grammar import LPCFG
from gramian.grammar.lexicon import WordScores
from gramian.learn import PCFG
from gramian.loglinear.adagrad import ascend, new_tables
from gramian.loglinear.word_views import Views, WordForms, frequent_words
from gramian.treebank import Treebank
from gramian.value_types import InstanceOf, Number, PowerOfTwo, Whole, option, or_none

Ints = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]

_SMALLEST = 0.005  # gradients below this are left alone
_GOLD_TAG = 1e-3  # least probability of the gold tag of a word seen once


class _Example(NamedTuple):
    """A training sentence: its forest, the items and edges of its tree, and how often it counts."""

    views: Views
    forest: Skeleton
    items: Ints
    edges: Ints
    weight: float = 1.0


class Gradients(NamedTuple):
    """Gradients of the log-likelihood of a sentence by the scores in its forest."""

    item: Floats  # (n_items,)
    edge: Floats  # (n_edges,)
    state: Floats  # (n_states,)
    pair: Floats  # (n_pairs,): of a state with an edge of its item


@estimator
class SpanCRF(Estimator):
    """Learns a log-linear model of trees with surface features.

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
    >>> SpanCRF(max_iter=2).fit(bank).model_.n_phrases
    3
    """

    _: KW_ONLY
    max_iter: int = option(Whole(1), default=4)
    """Epochs."""
    rate: float = option(Number(above=0), default=0.1)
    """Learning rate of AdaGrad."""
    decay: float = option(Number(0), default=0.0)
    """Strength of L2 regularisation, applied whenever a weight changes."""
    word_dropout: float = option(Number(0, 1), default=0.1)
    """Share of words that are represented by their form alone, drawn anew in each epoch."""
    cost: float = option(Number(0), default=0.0)
    """Added to the score of a wrong item during training (softmax-margin, Gimpel and Smith 2010)."""
    min_count: int = option(Whole(0), default=3)
    """Words seen less often are represented by their form alone."""
    slots: int = option(PowerOfTwo(1 << 12), default=1 << 21)
    """Size of the table of weights; a power of two."""
    batch: int = option(Whole(1), default=2)
    """Sentences whose gradients are computed before weights change."""
    pruning: Pruning = option(InstanceOf(Pruning), default=Pruning(edge=3e-5, split=0.0))
    """Of the forests by the coarse grammar; the gold tree is always kept."""
    grammar: LPCFG | None = option(or_none(InstanceOf(LPCFG)), default=None)
    """The coarse grammar, learnt from the same treebank; by default a PCFG."""
    random_state: int = 0
    n_jobs: int | None = None
    """Threads; the model does not depend on their number."""
    verbose: bool = False
    """Show progress."""

    def fit(self, treebank: Treebank, y: object = None) -> Self:
        """Learn from trees; `y` is ignored."""
        with self._fitting() as report:
            if treebank.n_trees == 0:
                hint = "look at the file with: gramian inspect"
                raise InputError("no trees to train on", "treebank", hint=hint)
            if treebank.n_symbols > 1024:
                raise OptionError(
                    f"a span CRF has at most 1,024 symbols, got {treebank.n_symbols:,}; try: horizontal=0, vertical=1"
                )
            self._learn(treebank, report)
            self.report_: dict[str, Any] = report.as_dict()
        return self

    def _learn(self, bank: Treebank, report: Report) -> None:
        n_tags = bank.n_symbols - bank.n_phrases
        sentences = _Sentences(bank)
        with report.stage("coarse grammar"):
            self.grammar_: LPCFG = self.grammar or PCFG().fit(bank).model_
        if self.grammar_.symbols != bank.symbols:
            raise OptionError(
                "the coarse grammar and the treebank have different symbols; try: the same treebank"
            )
        with report.stage("tags"):
            counted = zip(bank.words, sentences.counts.tolist(), strict=True)
            forms = WordForms(frequent_words(counted, self.min_count))
            views = [forms.views(words) for words in sentences.words]
            share_correct = tag_held_out(views, sentences.tags, n_tags, self.random_state)
            report.facts["tags guessed right"] = share_correct
            untagged = [forms.views(words) for words in sentences.words]
            tagger = fit_tagger(untagged, sentences.tags, n_tags, self.random_state)
        n_jobs = number_of_jobs(self.n_jobs)
        with report.stage("forests"), ThreadPoolExecutor(n_jobs) as pool:
            gold_forest_of = _ForestMaker(self.grammar_, sentences, self.pruning)
            forests = list((pool.map if n_jobs > 1 else map)(gold_forest_of, range(bank.n_trees)))
        with report.stage("weights"):
            tree_weights = np.ones(bank.n_trees) if bank.weight is None else bank.weight
            examples = [
                _Example(sentence_views, forest, items, edges, weight)
                for sentence_views, (forest, items, edges), weight in zip(
                    views, forests, tree_weights.tolist(), strict=True
                )
            ]
            weights = self._fit_weights(examples, bank)
        self.model_ = SpanModel(bank.symbols, bank.n_phrases, forms.frequent, tagger.weights, weights)

    def _fit_weights(self, examples: list[_Example], bank: Treebank) -> npt.NDArray[np.float32]:
        """Return the mean of the weights over all steps."""
        contexts, n_phrases = Contexts(bank.symbols), bank.n_phrases
        tables = new_tables(
            self.slots, self.rate, smallest=_SMALLEST, decay=self.decay, square=1.0, floor=np.float32(0)
        )
        log_likelihoods: list[float] = []

        def drop_words(example: _Example, rng: np.random.Generator) -> Views:
            if self.word_dropout == 0:
                return example.views
            views = example.views.copy()
            dropped = rng.random(views.shape[1]) < self.word_dropout
            views[0, dropped] = views[1, dropped]
            return views

        def gradient(views: Views, example: _Example) -> tuple[float, States, Gradients]:
            """Return the log-likelihood of a tree, and its gradient: presence in the tree minus posterior."""
            forest, items, edges = example.forest, example.items, example.edges
            states = contexts.states(forest)
            state_score, pair_score = kernels.score_forest(
                SPANS, views, forest, states, n_phrases, tables.weights
            )
            tree_states, tree_pairs = state_kernels.tree_states(forest, states, items, edges)
            tree_score = state_score[tree_states].sum() + pair_score[tree_pairs].sum()
            state_score += self.cost
            state_score[tree_states] -= self.cost
            log_total, item, edge, _, state, pair = kernels.inside_outside(
                forest, states, n_phrases, state_score, pair_score
            )
            for posterior, present in (
                (item, items), (edge, edges), (state, tree_states), (pair, tree_pairs),
            ):  # fmt: skip
                posterior *= -1
                posterior[present] += 1
                posterior *= example.weight
            return example.weight * (tree_score - log_total), states, Gradients(item, edge, state, pair)

        def update(
            views: Views, example: _Example, result: tuple[float, States, Gradients], step: float
        ) -> None:
            log_likelihood, states, gradients = result
            log_likelihoods.append(log_likelihood)
            kernels.climb(SPANS, views, example.forest, states, n_phrases, gradients, step, tables)

        def details() -> str:
            mean = sum(log_likelihoods) / len(examples)
            log_likelihoods.clear()
            return f": log-likelihood {mean:.3f} a tree"

        return ascend(
            tables,
            examples,
            drop_words=drop_words,
            gradient=gradient,
            update=update,
            max_iter=self.max_iter,
            random_state=self.random_state,
            batch=self.batch,
            n_jobs=number_of_jobs(self.n_jobs),
            details=details,
        )


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


class _ForestMaker:
    """Makes the forests of training sentences: pruned like those of new sentences, with the gold tree put in."""

    def __init__(self, grammar: LPCFG, sentences: _Sentences, pruning: Pruning) -> None:
        self._chart, self._sentences, self._pruning = ChartParser(grammar), sentences, pruning
        self._lexicon = grammar.lexicon
        self._cache: dict[int, WordScores] = {}

    def __call__(self, tree: int) -> tuple[Skeleton, Ints, Ints]:
        rows = zip(self._sentences.numbers[tree].tolist(), self._sentences.tags[tree].tolist(), strict=True)
        scores = [self._scores(number, tag, index == 0) for index, (number, tag) in enumerate(rows)]
        forest = self._chart.forest(scores, self._pruning)
        return gold_forest(None if forest is None else skeleton(forest), self._sentences.bank, tree)

    def _scores(self, number: int, tag: int, initial: bool) -> WordScores:
        """Return the scores of the tags of a word; those of a word seen once are as if it were new, but for its gold tag."""
        word, lexicon = self._sentences.bank.words[number], self._lexicon
        if self._sentences.counts[number] > 1:
            if number not in self._cache:
                self._cache[number] = lexicon.score(word, initial)
            return self._cache[number]
        probability = lexicon.tag_probabilities(word, initial)
        probability[tag] = max(probability[tag], _GOLD_TAG)
        tags = np.flatnonzero(probability >= lexicon.min_tag_probability).astype(np.int32)
        coarse = (probability[tags] / lexicon.tag_prior[tags]).astype(np.float32)
        return WordScores(tags, coarse, np.ones(int(lexicon.n_states[tags].sum()), np.float32))
