"""One run of a constituency experiment: learn from some trees, parse others, score; with processor time."""

import time
import warnings
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from gramian.evaluate import CNF, COLLINS, SPMRL, GoldBrackets, Parameters, chomsky_normal_form
from gramian.experiments.data import GoldTree
from gramian.grammar import LPCFG
from gramian.learn.state_search import ClusterCache, FoundStates
from gramian.parsing.model import Model
from gramian.parsing.parser import Parser
from gramian.parsing.parser_settings import parser_options
from gramian.training import TrainingData, TrainingRun, TrainingSettings
from gramian.training.papers import PAPERS
from gramian.trees import Tree, annotation_scheme
from gramian.trees.tree import with_words

FALLBACKS = ("glued", "parts", "flat")
"""The status of trees that no grammar derives."""

LABELS = {
    "pcfg": "no states (PCFG)",
    "thesis": "clustering, the thesis's setting",
    "spectral-cluster": "clustering",
    "spectral-moments": "moments",
    "pivot": "pivots and convex EM",
    "em": "EM from a random start",
    "spectral-em": "clustering, then EM",
    "split-merge": "split-merge",
    "best": "the default of gramian train",
}
"""What reports call the methods."""


def settings_of(settings: dict[str, Any], seed: int) -> TrainingSettings:
    """Return the training settings of a cell of an experiment; each of its seeds has seeds of its own for its models.

    A cell has ``method``, which may be the name of a paper; ``states``, ``models`` of several, and ``settings``: any others by name.
    """
    method = settings["method"]
    models = settings.get("models", 2 if method == "best" else 1)
    given = {"n_states": settings.get("states"), "ensemble_size": models, "random_state": seed * models}
    given |= {"preset": "whole", "language": "none", "paper" if method in PAPERS else "method": method}
    given |= settings.get("settings", {})
    return TrainingSettings.of({name: value for name, value in given.items() if value is not None})


def parsing_of(method: str) -> dict[str, Any]:
    """Return the arguments of a parser that decodes and prunes as a paper does; none where a method is no paper's."""
    return parser_options(PAPERS[method].parsing)[1] if method in PAPERS else {}


def training_data(
    trees: Sequence[GoldTree], settings: TrainingSettings = TrainingSettings(preset="whole")
) -> TrainingData:
    """Return some trees, to learn from."""
    return TrainingData.read([tree.normal for tree in trees], settings)


def trained(train: Sequence[GoldTree] | TrainingData, settings: TrainingSettings) -> tuple[Model, float]:
    """Return what settings make of some trees, and the processor seconds of learning."""
    _warm(settings.method)
    data = train if isinstance(train, TrainingData) else training_data(train, settings)
    run = TrainingRun(data, settings)
    with warnings.catch_warnings():
        # The same number of states for all labels is more than some have different nodes.
        warnings.filterwarnings("ignore", "Number of distinct clusters")
        model = run.run()
    return model, run.costs["seconds"]["processor"]


def train_and_score(
    train: Sequence[GoldTree] | TrainingData,
    test: Sequence[GoldTree],
    settings: dict[str, Any],
    seed: int,
    scheme: str = "penn",
) -> dict[str, Any]:
    """Learn, parse and score; TrainingData are for trainings that share what learners derive from the trees.

    Settings are those of :func:`settings_of`, and ``tags``: "gold" gives the parser the words' tags. The settings of a paper prune and
    decode as it does. `scheme` names the annotation scheme of the treebank; Penn's are scored without punctuation.
    """
    model, learnt = trained(train, settings_of(settings, seed))
    how = {"scheme": scheme, **parsing_of(settings["method"])}
    result = parse_and_score(model, test, gold_tags=settings.get("tags") == "gold", **how)
    return result | {
        "training_seconds": round(learnt, 3),
        "trees": model.data["trees"],
        "states": int(model.grammar.n_states.sum()),
        "most_states": int(model.grammar.n_states.max()),
        "candidates": model.options.get("search", {}).get("candidates", 0),
    }


def parse_and_score(
    model: Model | LPCFG,
    test: Sequence[GoldTree],
    *,
    gold_tags: bool = False,
    sentences: Sequence[Any] | None = None,
    scheme: str = "penn",
    repeats: int = 1,
    **options: Any,
) -> dict[str, Any]:
    """Parse the words of gold trees, and score with gold's tags in the output, so that no sentence is dropped.

    The parser is given words, or words with gold's tags, or `sentences`. Of several `repeats` the least time counts. Further options
    are the parser's.
    """
    gold = [tree.normal for tree in test]
    if sentences is None:
        sentences = [
            list(zip(tree.words, tree.tags, strict=True)) if gold_tags else list(tree.words) for tree in gold
        ]
    parser = Parser(model, max_seconds=None, **options)
    parser.parse(sentences[0])
    times = []
    for _ in range(repeats):
        began = time.process_time()
        results = [parser.parse(sentence) for sentence in sentences]
        times.append(time.process_time() - began)
    parsed = min(times)
    return {
        **score_trees([result.tree for result in results], test, scheme),
        "fallback": sum(result.status in FALLBACKS for result in results),
        "parsing_seconds": round(parsed, 3),
        "milliseconds": round(1000 * parsed / len(test), 3),
    }


def score_trees(predicted: Sequence[Tree], test: Sequence[GoldTree], scheme: str = "penn") -> dict[str, Any]:
    """Score trees of the words of gold trees, with gold's tags put in."""
    gold = [tree.normal for tree in test]
    scorer = GoldBrackets([tree.scored for tree in test], scoring(scheme))
    parses = list(zip(predicted, gold, strict=True))
    scores = scorer.score([with_words(parse, parse.words, tree.tags) for parse, tree in parses])
    tags = [pair for parse, tree in parses for pair in zip(parse.tags, tree.tags, strict=True)]
    binary = GoldBrackets([chomsky_normal_form(tree) for tree in gold], CNF)
    cnf_scores = binary.score([chomsky_normal_form(tree) for tree in predicted])
    figures = {"f1": (scores, "f1")}
    figures |= {f"cnf_{name}": (cnf_scores, name) for name in ("mean_unlabelled_f1", "mean_f1")}
    return {
        **{full: round(of.value(name), 4) for full, (of, name) in figures.items()},
        "exact": round(scores.exact, 4),
        "tagging": round(100 * sum(ours == tag for ours, tag in tags) / len(tags), 4),
        "sentences_parsed": len(test),
        "signature": scores.signature("f1")
        .replace("tags:predicted", "tags:gold")
        .replace("failures:empty", "failures:fallback trees, which count"),
        "sentences": {
            full: [[round(part, 5) for part in pair] for pair in of.statistics(name)]
            for full, (of, name) in figures.items()
        },
    }


def scoring(scheme: str) -> Parameters:
    """Return how trees of an annotation scheme are scored."""
    return COLLINS if annotation_scheme(scheme).scoring == "collins" else SPMRL


def transferred(states: FoundStates, source: ClusterCache, target: ClusterCache) -> tuple[int, ...]:
    """Return the numbers of states found on a part of a treebank for the whole of it; symbols that the part lacks keep their own."""
    names = [source.seen.name(symbol) for symbol in range(source.seen.bank.n_symbols)]
    chosen = dict(zip(names, states.n_states, strict=True))
    return tuple(chosen.get(target.seen.name(symbol), default) for symbol, default in enumerate(target.start))


@cache
def _warm(method: Any) -> None:
    """Load compiled code before the clock runs."""
    texts = (
        "(S (NP (DT the) (NN cat)) (VP (VBZ sees) (NP (DT a) (NN dog))))",
        "(S (NP (PRP it)) (VP (VBZ runs)))",
    )
    small: dict[str, Any] = {"cycles": 1} if method == "split-merge" else {}
    trees = [Tree.parse(text) for text in texts] * 60
    TrainingRun(trees, TrainingSettings.of(small, method=method, n_states=2)).run()


def chosen(trees: Sequence[GoldTree], number: int, seed: int) -> tuple[list[GoldTree], list[GoldTree]]:
    """Return `number` trees drawn at random, and all others in random order."""
    order = np.random.default_rng(seed).permutation(len(trees))
    return [trees[i] for i in order[:number]], [trees[i] for i in order[number:]]
