"""The search for numbers of states (Narayan and Cohen 2016) as ``search.method`` asks for it: candidates are scored by F1.

Sentences are given, or are every tenth of the treebank, which candidates are then not learnt from: treebanks are put together from
texts of different kinds, and numbers of states that suit the last text need not suit the others. On a cluster every candidate is an
independent task; a worker decomposes the treebank once.
"""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, lru_cache
from typing import Any

from gramian.errors import InputError
from gramian.evaluate import COLLINS, GoldBrackets, Parameters
from gramian.grammar import LPCFG
from gramian.learn import SpectralClustering
from gramian.learn.state_search import Assignment, ClusterCache, FoundStates, search_states
from gramian.parsing.parser import Parser
from gramian.parsing.parser_settings import parser_options
from gramian.tasks.task_runner import run_tasks
from gramian.training.papers import PUBLISHED_PARSING
from gramian.training.training_data import Fold, TrainingData
from gramian.training.training_settings import TrainingSettings
from gramian.trees import Tree

_TENTH = Fold(9, 10, spread=True)
_JUDGES = 500  # sentences that a candidate is scored on
_MOST_STATES = 32  # of a label: whole rule tensors grow with their cube


def f1_score(
    gold: Sequence[Tree], parameters: Parameters = COLLINS, parsing: str = "default"
) -> Callable[[LPCFG], float]:
    """Return a score for :func:`gramian.learn.state_search.search_states`: the labelled F1 of trees under gold tags.

    `parsing` is "default", or "published" for the pruning and the decoder of the papers.
    """
    scorer = GoldBrackets(gold, parameters)
    sentences = [list(tree.words) for tree in gold]
    options = parser_options(PUBLISHED_PARSING)[1] if parsing == "published" else {}

    def score(grammar: LPCFG) -> float:
        parser = Parser(grammar, max_seconds=None, **options)  # making it compact takes longer than it saves
        return scorer.score([result.tree for result in parser.parse_many(sentences)]).f1_gold_tags

    return score


class StateSearch:
    """A search for the numbers of states whose grammar parses some sentences best.

    Candidates are clustered with those parameters of the settings' estimator that clustering has, and scored on the judges, by default
    every tenth tree, which they are then not learnt from; `most` is how many judges are used. A symbol has at most `largest` states, by
    default twice as many as the learner begins with, but not more than 32 unless it has these.
    """

    def __init__(
        self,
        data: TrainingData,
        settings: TrainingSettings,
        judges: Sequence[Tree] | None = None,
        *,
        largest: int | None = None,
        most: int = _JUDGES,
        parameters: Parameters = COLLINS,
    ) -> None:
        gold = data.trees(_TENTH) if judges is None else judges
        if not gold:
            judge = settings.search.trees or "judges"
            raise InputError("no trees to score candidates on", judge, hint="more trees")
        self.data, self.fold = data, _TENTH if judges is None else None
        self.judges, self.parameters = list(gold[:: -(-len(gold) // most)]), parameters
        self.learner, self.parsing = clustering(settings), settings.search.parsing
        states = self.learner.n_states
        start = states if isinstance(states, int) else max(states.values())
        self.largest = largest or max(start, min(2 * start, _MOST_STATES))

    @cached_property
    def key(self) -> str:
        """A hash of what scores depend on."""
        text = "\n".join(map(str, self.judges))
        description = repr((self.learner, self.fold, self.largest, self.parameters, self.parsing, text))
        return f"{self.data.key} {hashlib.sha256(description.encode()).hexdigest()[:24]}"

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StateSearch) and self.key == other.key

    @property
    def cache(self) -> ClusterCache:
        """What candidates are made from."""
        return _candidate_maker(self)[0]

    def score(self, assignment: Assignment) -> float:
        """Return what a candidate is worth."""
        cache, score = _candidate_maker(self)
        return score(cache.grammar(assignment))

    def run(self, *, scheduler: str | None = None, **options: Any) -> FoundStates:
        """Search here, or on the workers of a Dask scheduler; options as for :func:`search_states`."""

        def on_cluster(assignments: Sequence[Assignment]) -> Iterable[float]:
            outcomes = run_tasks(_scored, assignments, shared=self, scheduler=scheduler)
            return [outcome.value for outcome in outcomes]

        cache, score = _candidate_maker(self)
        score_all = on_cluster if scheduler else None
        return search_states(cache, score, score_all=score_all, judge=self.key, **options)

    def names(self, states: FoundStates) -> dict[str, int]:
        """Return numbers of states by the names of symbols, where they are more than one."""
        seen = self.cache.seen
        return {seen.name(symbol): number for symbol, number in enumerate(states.n_states) if number > 1}


def clustering(settings: TrainingSettings) -> SpectralClustering:
    """Return the clustering that has the parameters of the settings' estimator."""
    made = SpectralClustering()
    known, parameters = (estimator.get_params(deep=False) for estimator in (made, settings.estimator()))
    return made.set_params(**{name: value for name, value in parameters.items() if name in known})


def _scored(assignment: Assignment, search: StateSearch) -> float:
    return search.score(assignment)


@lru_cache(maxsize=1)
def _candidate_maker(search: StateSearch) -> tuple[ClusterCache, Callable[[LPCFG], float]]:
    """Return what candidates are made from, and their score; kept for the next candidate, in whatever process."""
    seen = search.data.observations(fold=search.fold)
    return ClusterCache(search.learner, seen, search.largest), f1_score(
        search.judges, search.parameters, search.parsing
    )
