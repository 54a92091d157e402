"""What all learners of grammars share, the maximisation step among it, and the simplest of them."""

from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from gramian.base import Estimator, Report, estimator, number_of_jobs
from gramian.errors import InputError
from gramian.grammar import LPCFG
from gramian.learn.counting import count_productions
from gramian.learn.lexicon_counts import LEXICON, LexiconChoice, StateScores
from gramian.learn.observations import Observations, head_rules
from gramian.learn.smoothing import NO_SMOOTHING, Smoothing, estimate_rules, raise_to_floor, state_shares
from gramian.learn.tables import LatentTables, tables_of
from gramian.learn.tree_inference import Expectation
from gramian.treebank import Shape, Treebank
from gramian.treebank.productions import Counts
from gramian.trees import HeadRules, Tree
from gramian.value_types import Either, MappingOf, Number, OneOf, Whole, check_value, option

Allocation: TypeAlias = Literal["root", "frequency", "all"]

States: TypeAlias = int | Mapping[str, int]
"""The most states of a symbol, or the number of each, by the names that reports have; symbols that are not named get one."""

STATES = Either(Whole(1), MappingOf(Whole(1)))
ALLOCATION = OneOf(*get_args(Allocation))
GROWTH = Number(0)


def allocate_states(
    counts: Counts, n_states: int, allocation: Allocation = "root", growth: float = 0.25
) -> npt.NDArray[np.int32]:
    """Return the number of states of each symbol, at most `n_states`, given how often it occurs.

    ``"root"``: `growth` times the square root of the count. ``"frequency"``: one up to 50 occurrences, all from 500 on, linear between
    (Narayan and Cohen 2015). ``"all"``: every symbol gets `n_states`.
    """
    check_value("n_states", n_states, STATES)
    check_value("allocation", allocation, ALLOCATION)
    check_value("growth", growth, GROWTH)
    count = np.asarray(counts, np.float64)
    if allocation == "all":
        number = np.full(len(count), n_states)
    elif allocation == "frequency":
        number = np.ceil((count - 50) / (450 / max(n_states - 2, 1))) + 1
        number = np.where(count <= 50, 1, np.where(count >= 500, n_states, number))
    else:
        number = np.minimum(np.rint(growth * np.sqrt(count)), count // 10)
    return np.clip(number, 1, n_states).astype(np.int32)


@dataclass(frozen=True, eq=False)
class Maximisation:
    """Turns latent counts over a treebank into tables for the next expectation step, or into a grammar."""

    seen: Observations
    smoothing: Smoothing
    lexicon: LexiconChoice = "auto"
    device: str | None = None

    def expect(self, counts: LatentTables, n_jobs: int = 1) -> Expectation:
        """Return what an expectation step finds under the tables that counts make."""
        return self.seen.expect(self.tables(counts), n_jobs, self.device)

    def _rules(self, counts: LatentTables) -> LatentTables:
        if self.device is None:
            return estimate_rules(counts, self.smoothing)
        return self.seen.on_device(self.device).estimate_rules(counts, self.smoothing)

    def tables(self, counts: LatentTables) -> LatentTables:
        """Return what an expectation step needs."""
        rules = self._rules(counts)
        rules.lexical[:] = self.seen.lexical(self.lexicon).state_scores(counts).pairs
        return rules

    def grammar(self, counts: LatentTables) -> LPCFG:
        """Return the grammar."""
        rules, lexical = self._rules(counts), self.seen.lexical(self.lexicon)
        scores = lexical.state_scores(counts)
        if self.smoothing.floor > 0:
            raise_to_floor(rules, counts, self.smoothing.floor)
            lexical.raise_to_floor(scores, counts.layout, self.smoothing.floor)
        return made_grammar(self.seen, rules, scores, self.lexicon, state_shares(counts))


def made_grammar(
    seen: Observations,
    rules: LatentTables,
    scores: StateScores,
    lexicon: LexiconChoice,
    state_prior: npt.NDArray[np.float64],
    **weights: Any,
) -> LPCFG:
    """Return the grammar with these tables of rules and scores of words; `weights` are those of an :class:`LPCFG` of operators."""
    before, after = seen.boundaries
    n_states = rules.layout.n_states
    return LPCFG(
        symbols=seen.bank.symbols,
        n_phrases=seen.bank.n_phrases,
        n_states=n_states,
        state_prior=state_prior.astype(np.float32),
        root=rules.root.astype(np.float32, copy=False),
        binary_rules=seen.productions.binary,
        binary=rules.binary.astype(np.float32, copy=False),
        unary_rules=seen.productions.unary,
        unary=rules.unary.astype(np.float32, copy=False),
        before=before,
        after=after,
        lexicon=seen.lexical(lexicon).build(scores, n_states),
        **weights,
    )


@estimator
class Learner(Estimator):
    """Base of the learners: trees go in, ``model_`` and ``report_`` come out.

    Examples
    --------
    >>> from gramian.learn import PCFG
    >>> isinstance(PCFG(), Learner), PCFG().get_params()["verbose"]
    (True, False)
    """

    _: KW_ONLY
    lexicon: LexiconChoice = option(LEXICON, default="auto")
    """"suffix": states of rare words are shrunk towards those of words that look alike. "tag": rare words are told apart by their tag
    alone. "pos": likewise, and nothing is smoothed. "signature": like "pos", by tag, shape and suffix. "auto": by suffix in
    Penn-style English, by tag elsewhere."""
    n_jobs: int | None = None
    """Threads, -1 for all processors; the grammar does not depend on it."""
    verbose: bool = False
    """Whether progress, which is logged under "gramian", is shown on stderr."""

    def fit(self, trees: Treebank | Observations | Iterable[Tree], y: object = None) -> Self:
        """Learn a grammar.

        Parameters
        ----------
        trees : Treebank, Observations or iterable of Tree
            Observations are shared by learners that see the same treebank.
        """
        with self._fitting() as report:
            seen = Observations.of(trees)
            if seen.bank.n_trees == 0:
                hint = "look at the file with: gramian inspect"
                raise InputError("no trees to train on", "treebank", hint=hint)
            self.model_: LPCFG = self._learn(seen, report)
        self.shape_: Shape = seen.bank.shape
        count, states = seen.label_count.tolist(), self.model_.n_states.tolist()
        report.facts["symbols"] = {
            seen.name(number): {"count": count[number], "states": states[number]}
            for number in np.argsort(-seen.label_count, kind="stable").tolist()
        }
        self.report_: dict[str, Any] = report.as_dict()
        return self

    def score(self, trees: Treebank | Observations | Iterable[Tree], y: object = None) -> float:
        """Return the mean log-likelihood of trees, down to their tags; higher is better.

        Parameters
        ----------
        trees : Treebank, Observations or iterable of Tree
            What the grammar was not learnt from. Trees are binarised as those that it was learnt from.
        """
        if not isinstance(trees, Treebank | Observations):
            rules = head_rules("auto", self.model_) or HeadRules.collins()
            heads = rules if self.shape_.direction == "head" else None
            trees = Treebank.from_trees(trees, shape=self.shape_, heads=heads)
        return mean_log_likelihood(self.model_, Observations.of(trees), self._threads)

    def _learn(self, seen: Observations, report: Report) -> LPCFG:
        raise NotImplementedError

    @property
    def _threads(self) -> int:
        return number_of_jobs(self.n_jobs)

    def identity(self) -> str:
        """Return a text of those parameters that what is learnt step by step depends on."""
        ignored = ("verbose", "n_jobs", "device", "watch", "checkpoint", "max_iter")
        params = self.get_params(deep=False).items()
        return repr(sorted(((name, value) for name, value in params if name not in ignored), key=str))


@estimator
class LatentLearner(Learner):
    """Base of the learners of latent states that allocate these by the counts of symbols."""

    n_states: States = option(STATES, default=16)
    """The most states a symbol gets; or the number of each, by name."""
    _: KW_ONLY
    allocation: Allocation = option(ALLOCATION, default="root")
    """Whether the number of states of a label grows with the root of its count, or with its frequency, or is the same for all labels."""
    growth: float = option(GROWTH, default=0.25)
    """With allocation by root: states per root of the count; see :func:`allocate_states`."""
    random_state: int = option(Whole(0), default=0)

    def allocate(self, seen: Observations) -> npt.NDArray[np.int32]:
        """Return the number of states of each symbol: as named, or as :func:`allocate_states` says."""
        if not isinstance(self.n_states, Mapping):
            return allocate_states(seen.label_count, self.n_states, self.allocation, self.growth)
        symbols = range(seen.bank.n_symbols)
        return np.array([self.n_states.get(seen.name(symbol), 1) for symbol in symbols], np.int32)


def mean_log_likelihood(grammar: LPCFG, seen: Observations, n_jobs: int = 1) -> float:
    """Return the mean log-likelihood of observed trees under a grammar."""
    tables = tables_of(grammar, seen.bank, seen.productions)
    return float(seen.expect(tables, n_jobs).log_likelihood.mean())


@estimator
class PCFG(Learner):
    """The grammar without latent states: relative frequencies.

    Examples
    --------
    >>> from gramian.trees import Tree
    >>> trees = [Tree.parse("(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)))")] * 3
    >>> PCFG().fit(trees).model_.n_states.max()
    np.int32(1)
    """

    def _learn(self, seen: Observations, report: Report) -> LPCFG:
        with report.stage("counts"):
            counts = count_productions(seen)
        with report.stage("grammar"):
            return Maximisation(seen, NO_SMOOTHING, self.lexicon).grammar(counts)
