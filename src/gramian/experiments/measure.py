"""One run of a constituency experiment: learn from some trees, parse others, score; with processor time."""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from gramian import learn
from gramian.corpus import Shape, Treebank
from gramian.evaluate import COLLINS, SPMRL, GoldBrackets
from gramian.experiments.data import GoldTree
from gramian.grammar import LPCFG
from gramian.grammar.compress.compact import compacted
from gramian.learn.search import ClusterCache, FoundStates, search_states
from gramian.parsing.model import Model
from gramian.parsing.parser import Parser
from gramian.trees import HeadRules, Tree, preset
from gramian.trees.tree import phrase, preterminal

__all__ = [
    "LABELS",
    "METRICS",
    "chosen",
    "cluster_cache",
    "compact",
    "expected_seconds",
    "held_out",
    "learner",
    "many_and_score",
    "observed",
    "parse_and_score",
    "search_by_f1",
    "several",
    "train_and_score",
    "transferred",
    "treebank",
]

METRICS = ("f1", "mean_unlabelled_f1", "mean_f1")
"""The figures whose sentences are kept, for tests of significance."""

LABELS = {
    "pcfg": "no states (PCFG)",
    "thesis": "clustering, the thesis's setting",
    "spectral-cluster": "clustering",
    "spectral-moments": "moments",
    "em": "EM from a random start",
    "spectral-em": "clustering, then EM",
    "split-merge": "split-merge",
    "best": "the default of gramian train",
}
"""What reports call the methods."""


def learner(method: str, states: int | None = None, seed: int = 0, **options: Any) -> learn.Learner:
    """Return a learner by its method's name, as ``gramian train`` has them, and ``"thesis"``."""
    if method == "pcfg":
        return learn.PCFG(**options)
    options = {"random_state": seed} | ({} if states is None else {"n_states": states}) | options
    kinds: dict[str, Any] = {
        "thesis": learn.SpectralClustering.thesis_setting, "spectral-cluster": learn.SpectralClustering,
        "spectral-moments": learn.SpectralMoments, "em": learn.EM, "spectral-em": learn.SpectralEM,
        "split-merge": learn.SplitMerge,
    }  # fmt: skip
    made: learn.Learner = kinds[method]().set_params(**options)
    return made


def expected_seconds(method: str, states: int, trees: int, test: int) -> float:
    """Guess the processor time of a run; what really passes soon corrects the guess."""
    costs = {
        "pcfg": 0.5e-3, "thesis": 0.9e-3 + 1.2e-4 * states, "spectral-cluster": 1.1e-3 + 4e-5 * states,
        "spectral-moments": 1.1e-3 + 1e-4 * states, "em": 1e-3 + 2.5e-4 * states, "spectral-em": 1.1e-3 + 5e-5 * states,
        "split-merge": 1.2e-2, "best": 2.2e-3 + 1e-4 * states,
    }  # fmt: skip
    per_sentence = 3e-3 + (5e-5 * states**2 if method in ("thesis", "spectral-moments") else 5e-5 * states)
    return 1 + trees * costs[method] + test * per_sentence


def train_and_score(
    train: Sequence[GoldTree],
    test: Sequence[GoldTree],
    settings: dict[str, Any],
    seed: int,
    scheme: str = "penn",
    seen: learn.Observations | None = None,
) -> dict[str, Any]:
    """Learn, parse and score.

    Parameters
    ----------
    train, test : sequence of GoldTree
    settings : dict
        ``method``, ``states``, ``options`` (of the learner), ``shape`` (direction, horizontal, vertical), and ``tags``:
        "gold" gives the parser the words' tags; "both" of method "best" also parses words alone, for figures that begin
        with ``words_``.
    seed : int
    scheme : str
        The habits of the treebank; Penn's are scored without punctuation.
    seen : Observations, optional
        What learners derive from the trees, where it is shared.
    """
    method, states = settings["method"], settings.get("states")
    options = dict(settings.get("options", {}))
    tags = settings.get("tags") == "gold"
    if method == "best":
        return many_and_score(train, test, settings, seed, scheme)
    shape = Shape(*settings.get("shape", ()))
    heads = HeadRules.collins() if shape.direction == "head" else None
    source = treebank(train, shape=shape, heads=heads) if seen is None else seen
    bank = source.bank if isinstance(source, learn.Observations) else source
    _warm(method)
    began = time.process_time()
    with warnings.catch_warnings():
        # The same number of states for all labels is more than some have different nodes.
        warnings.filterwarnings("ignore", "Number of distinct clusters")
        fitted = learner(method, states, seed, **options).fit(source)
    learnt = time.process_time() - began
    grammar = fitted.model_ if method == "thesis" else compact(fitted.model_)
    result = parse_and_score(grammar, test, gold_tags=tags, scheme=scheme)
    return result | {
        "training_seconds": round(learnt, 3),
        "trees": bank.n_trees,
        "states": int(grammar.n_states.sum()),
        "most_states": int(grammar.n_states.max()),
    }


def several(
    train: Sequence[GoldTree],
    models: int,
    states: int,
    seed: int,
    *,
    both: bool = True,
    seen: Sequence[learn.Observations] | None = None,
    **options: Any,
) -> tuple[list[LPCFG], float]:
    """Learn grammars that parse together: with seeds of their own, and in turn of either binarisation; return them and the time."""
    _warm("spectral-em")
    banks: Sequence[Treebank | learn.Observations] = seen or [
        treebank(train, shape=shape) for shape in [Shape("right"), Shape("left")][: 1 + both]
    ]
    grammars, seconds = [], 0.0
    for number in range(models):
        began = time.process_time()
        fitted = learner("spectral-em", states, seed * models + number, **options).fit(
            banks[number % len(banks)]
        )
        seconds += time.process_time() - began
        grammars.append(compact(fitted.model_))
    return grammars, seconds


def many_and_score(
    train: Sequence[GoldTree],
    test: Sequence[GoldTree],
    settings: dict[str, Any],
    seed: int,
    scheme: str,
    seen: Sequence[learn.Observations] | None = None,
) -> dict[str, Any]:
    """Learn several grammars (``models`` of the settings; two are what ``gramian train`` does by default), parse with all, and score."""
    (first, *others), learnt = several(train, settings.get("models", 2), settings["states"], seed, seen=seen)
    model, tags = Model(first, others=tuple(others)), settings.get("tags")
    result = parse_and_score(model, test, gold_tags=tags in ("gold", "both"), scheme=scheme)
    if tags == "both":
        words = parse_and_score(model, test, scheme=scheme)
        result |= {f"words_{name}": words[name] for name in (*METRICS, "tagging", "fallback", "milliseconds")}
    return result | {
        "training_seconds": round(learnt, 3),
        "states": int(first.n_states.sum()),
        "trees": len(train),
    }


def compact(grammar: LPCFG) -> LPCFG:
    """Return a grammar as a model file has it: its rules of low rank, if it has probabilities."""
    return compacted(grammar)[0] if grammar.n_states.max() > 1 else grammar


def treebank(trees: Sequence[GoldTree], **options: Any) -> Treebank:
    """Return the arrays of some trees."""
    return Treebank.from_trees((tree.normal for tree in trees), options=preset("whole"), **options)


def observed(trees: Sequence[GoldTree], **options: Any) -> learn.Observations:
    """Return what learners derive from some trees."""
    bank = treebank(trees, **options)
    return learn.Observations(bank)


def parse_and_score(
    model: Model | LPCFG,
    test: Sequence[GoldTree],
    *,
    gold_tags: bool = False,
    sentences: Sequence[Any] | None = None,
    scheme: str = "penn",
    **options: Any,
) -> dict[str, Any]:
    """Parse the words of gold trees, and score with gold's tags in the output, so that no sentence is dropped.

    The parser is given words, or words with gold's tags, or `sentences`. Further options are the parser's.
    """
    gold = [tree.normal for tree in test]
    if sentences is None:
        sentences = [
            list(zip(tree.words, tree.tags, strict=True)) if gold_tags else list(tree.words) for tree in gold
        ]
    parser = Parser(model, max_seconds=None, **options)
    parser.parse(sentences[0])
    began = time.process_time()
    results = [parser.parse(sentence) for sentence in sentences]
    parsed = time.process_time() - began
    scorer = GoldBrackets([tree.scored for tree in test], COLLINS if scheme == "penn" else SPMRL)
    retagged = [_with_tags(result.tree, tree.tags) for result, tree in zip(results, gold, strict=True)]
    scores = scorer.score(retagged)
    correct = [
        (sum(a == b for a, b in zip(result.tree.tags, tree.tags, strict=True)), len(tree.tags))
        for result, tree in zip(results, gold, strict=True)
    ]
    statuses = Counter(result.status for result in results)
    return {
        **{name: round(scores.value(name), 4) for name in METRICS},
        "exact": round(scores.exact, 4),
        "tagging": round(100 * sum(right for right, _ in correct) / sum(words for _, words in correct), 4),
        "fallback": sum(statuses[status] for status in ("glued", "parts", "flat")),
        "parsing_seconds": round(parsed, 3),
        "milliseconds": round(1000 * parsed / len(test), 3),
        "sentences_parsed": len(test),
        "signature": scores.signature("f1").replace("tags:predicted", "tags:gold"),
        "sentences": {
            name: [[round(part, 5) for part in pair] for pair in scores.statistics(name)] for name in METRICS
        },
    }


def cluster_cache(
    trees: Sequence[GoldTree],
    clusters: learn.Learner,
    largest: int,
    seen: learn.Observations | None = None,
) -> ClusterCache:
    """Return the projected nodes of some trees, to be clustered into any number of states."""
    assert isinstance(clusters, learn.SpectralClustering)
    return ClusterCache(clusters, observed(trees) if seen is None else seen, largest)


def search_by_f1(cache: ClusterCache, judges: Sequence[GoldTree], scheme: str, **options: Any) -> FoundStates:
    """Search for the numbers of states whose grammar parses some sentences best."""
    gold = GoldBrackets([tree.scored for tree in judges], COLLINS if scheme == "penn" else SPMRL)
    sentences = [list(tree.normal.words) for tree in judges]

    def score(grammar: LPCFG) -> float:
        parser = Parser(grammar, max_seconds=None)  # making it compact would take longer than it saves
        return gold.score([parser.parse(words).tree for words in sentences]).f1_gold_tags

    return search_states(cache, score, **options)


def held_out(trees: Sequence[GoldTree], most: int) -> tuple[list[GoldTree], list[GoldTree]]:
    """Return trees to learn candidates of a search from, and every tenth to score them on, at most so many."""
    judges = list(trees[9::10] or trees[-1:])
    every = -(-len(judges) // most)
    return [tree for number, tree in enumerate(trees) if number % 10 != 9], judges[::every]


def transferred(found: FoundStates, source: ClusterCache, target: ClusterCache) -> tuple[int, ...]:
    """Return the numbers of states found on a part of a treebank for the whole of it; symbols that the part lacks keep their own."""
    names = [source.seen.name(symbol) for symbol in range(source.seen.bank.n_symbols)]
    chosen = dict(zip(names, found.n_states, strict=True))
    return tuple(chosen.get(target.seen.name(symbol), own) for symbol, own in enumerate(target.start))


def _with_tags(tree: Tree, tags: Sequence[str]) -> Tree:
    """Return a tree with other tags."""
    left = iter(tags)

    def rebuilt(node: Tree) -> Tree:
        if node.is_preterminal:
            return preterminal(next(left), node.words[0])
        return phrase(node.label, tuple([rebuilt(child) for child in node.children]))

    return rebuilt(tree)


@cache
def _warm(method: str) -> None:
    """Load compiled code before the clock runs."""
    texts = (
        "(S (NP (DT the) (NN cat)) (VP (VBZ sees) (NP (DT a) (NN dog))))",
        "(S (NP (PRP it)) (VP (VBZ runs)))",
    )
    small: dict[str, Any] = {"cycles": 1} if method == "split-merge" else {}
    learner(method, 2, **small).fit(Treebank.from_trees([Tree.parse(text) for text in texts] * 60))


def chosen(trees: Sequence[GoldTree], number: int, seed: int) -> tuple[list[GoldTree], list[GoldTree]]:
    """Return `number` trees drawn at random, and all others in random order."""
    order = np.random.default_rng(seed).permutation(len(trees))
    return [trees[i] for i in order[:number]], [trees[i] for i in order[number:]]
