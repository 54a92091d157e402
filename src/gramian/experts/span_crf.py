"""The span CRF: a log-linear model of binarised trees with surface features (Hall, Durrett and Klein 2014).

The score of a tree is the sum over its tags, phrases and rules of weights of hashed features, most of them of the
words at and around the ends of spans and split points. Weights climb the conditional log-likelihood of the
treebank's trees among those that a coarse grammar leaves; the gradient of an item or edge is its presence in the tree
minus its posterior, so that inside-outside over pruned forests is all that learning needs.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from gramian.base import Estimator, Report, number_of_jobs
from gramian.chart.chart_parser import ChartParser
from gramian.chart.forest import Pruning
from gramian.errors import InputError, OptionError
from gramian.experts import span_kernels as kernels
from gramian.experts import span_state_kernels as state_kernels
from gramian.experts.span_forests import Contexts, Skeleton, States, gold_forest, skeleton
from gramian.experts.span_model import SpanModel
from gramian.experts.span_templates import SPANS
from gramian.experts.tagger import fit_tagger, tag_held_out
from gramian.grammar import LPCFG
from gramian.grammar.lexicon import Lexicon, WordScores
from gramian.learn import PCFG
from gramian.loglinear.adagrad import ascend, new_tables
from gramian.loglinear.word_views import Views, WordForms, frequent_words
from gramian.treebank import Treebank
from gramian.value_types import Constraint, InstanceOf, Number, PowerOfTwo, Whole, or_none

Ints = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]

_SMALLEST = 0.005  # gradients below this are left alone
_RIGHT_TAG = 1e-3  # least probability of the right tag of a word seen once


class _Example(NamedTuple):
    """A training sentence: its forest, the items and edges of its tree, and how often it counts."""

    views: Views
    forest: Skeleton
    items: Ints
    edges: Ints
    weight: float = 1.0


class Gradients(NamedTuple):
    """What a training sentence says about the scores of its items, edges, states, and pairs of state and edge."""

    item: Floats
    edge: Floats
    state: Floats
    pair: Floats


class SpanCRF(Estimator):
    """Learns a log-linear model of trees with surface features.

    Parameters
    ----------
    max_iter : int
        Passes over the treebank.
    rate : float
        Length of the steps; each weight's own steps shorten as its gradients add up (AdaGrad).
    decay : float
        How strongly weights are drawn to zero (L2), each time they change.
    word_dropout : float
        Share of words that are known by their form alone (word dropout), drawn anew in each pass.
    cost : float
        What a wrong item adds to the score of a tree while learning (softmax-margin, Gimpel and Smith 2010).
    min_count : int
        Words seen less often are known by their form alone.
    slots : int
        Size of the table of weights; a power of two.
    batch : int
        Sentences whose gradients are taken before weights change.
    pruning : Pruning
        What the coarse grammar leaves out of the forests; the right tree is always kept.
    grammar : LPCFG, optional
        The coarse grammar, learnt from the same treebank; by default it is learnt along.
    random_state : int
    n_jobs : int, optional
        Threads; the model does not depend on their number.
    verbose : bool
        Whether progress is shown.

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

    _constraints: ClassVar[dict[str, Constraint]] = {
        "max_iter": Whole(1),
        "rate": Number(above=0),
        "decay": Number(0),
        "word_dropout": Number(0, 1),
        "cost": Number(0),
        "min_count": Whole(0),
        "slots": PowerOfTwo(1 << 12),
        "batch": Whole(1),
        "pruning": InstanceOf(Pruning),
        "grammar": or_none(InstanceOf(LPCFG)),
    }

    def __init__(
        self,
        *,
        max_iter: int = 4,
        rate: float = 0.1,
        decay: float = 0.0,
        word_dropout: float = 0.1,
        cost: float = 0.0,
        min_count: int = 3,
        slots: int = 1 << 21,
        batch: int = 2,
        pruning: Pruning = Pruning(edge=3e-5, split=0.0),
        grammar: LPCFG | None = None,
        random_state: int = 0,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.max_iter, self.rate, self.decay, self.word_dropout, self.cost = (
            max_iter,
            rate,
            decay,
            word_dropout,
            cost,
        )
        self.min_count, self.slots, self.batch = min_count, slots, batch
        self.pruning, self.grammar = pruning, grammar
        self.random_state, self.n_jobs, self.verbose = random_state, n_jobs, verbose

    def fit(self, treebank: Treebank, y: object = None) -> Self:
        """Learn from trees; `y` is ignored."""
        with self._fitting() as report:
            if treebank.n_trees == 0:
                raise InputError(
                    "there is no tree to learn from",
                    "treebank",
                    hint="look at the file with: gramian inspect",
                )
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
                "the coarse grammar has other symbols than the treebank; try: learning it from the same one"
            )
        with report.stage("tags"):
            counted = zip(bank.words, sentences.counts.tolist(), strict=True)
            forms = WordForms(frequent_words(counted, self.min_count))
            views = [forms.views(words) for words in sentences.words]
            right = tag_held_out(views, sentences.tags, n_tags, self.random_state)
            report.facts["tags guessed right"] = right
            fresh = [forms.views(words) for words in sentences.words]
            tagger = fit_tagger(fresh, sentences.tags, n_tags, self.random_state)
        with report.stage("forests"), ThreadPoolExecutor(number_of_jobs(self.n_jobs)) as pool:
            forest_of = _ForestMaker(self.grammar_, sentences, self.pruning)
            forests = list(
                (pool.map if number_of_jobs(self.n_jobs) > 1 else map)(forest_of, range(bank.n_trees))
            )
        with report.stage("weights"):
            weight = np.ones(bank.n_trees) if bank.weight is None else bank.weight
            rows = zip(views, forests, weight.tolist(), strict=True)
            examples = [_Example(view, *made, each) for view, made, each in rows]
            weights = self._climb(examples, bank)
        self.model_ = SpanModel(bank.symbols, bank.n_phrases, forms.frequent, tagger.weights, weights)

    def _climb(self, examples: list[_Example], bank: Treebank) -> npt.NDArray[np.float32]:
        """Return the mean of the weights over all steps."""
        contexts, n_phrases = Contexts(bank.symbols), bank.n_phrases
        tables = new_tables(
            self.slots, self.rate, smallest=_SMALLEST, decay=self.decay, square=1.0, floor=np.float32(0)
        )
        likelihoods: list[float] = []

        def drop_words(example: _Example, rng: np.random.Generator) -> Views:
            """Return views in which a share of the words is known by form alone."""
            if self.word_dropout == 0:
                return example.views
            views = example.views.copy()
            hit = rng.random(views.shape[1]) < self.word_dropout
            views[0, hit] = views[1, hit]
            return views

        def gradient(views: Views, example: _Example) -> tuple[float, States, Gradients]:
            _, forest, items, edges, weight = example
            states = contexts.states(forest)
            state_score, pair_score = kernels.score_forest(
                SPANS, views, forest, states, n_phrases, tables.weights
            )
            own_states, own_pairs = state_kernels.tree_states(forest, states, items, edges)
            tree_score = state_score[own_states].sum() + pair_score[own_pairs].sum()
            state_score += self.cost
            state_score[own_states] -= self.cost
            log_total, item, edge, _, state, pair = kernels.inside_outside(
                forest, states, n_phrases, state_score, pair_score
            )
            for posterior, own in ((item, items), (edge, edges), (state, own_states), (pair, own_pairs)):
                posterior *= -1
                posterior[own] += 1
                posterior *= weight
            return weight * (tree_score - log_total), states, Gradients(item, edge, state, pair)

        def climb(
            views: Views, example: _Example, found: tuple[float, States, Gradients], step: float
        ) -> None:
            log_likelihood, states, gradients = found
            likelihoods.append(log_likelihood)
            kernels.climb(SPANS, views, example.forest, states, n_phrases, gradients, step, tables)

        def told() -> str:
            mean = sum(likelihoods) / len(examples)
            likelihoods.clear()
            return f": log-likelihood {mean:.3f} a tree"

        return ascend(
            tables,
            examples,
            drop_words=drop_words,
            gradient=gradient,
            update=climb,
            max_iter=self.max_iter,
            random_state=self.random_state,
            batch=self.batch,
            n_jobs=number_of_jobs(self.n_jobs),
            details=told,
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
