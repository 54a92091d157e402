"""The log-linear models of this source tree against another's: processor time, numba compilations, and whether they learn the same.

python -m benchmarks.loglinear_speed TRAIN.mrg TRAIN.conllu --against OTHER/src [--sentences 300] [--repeats 3]

The span CRF with its tagger, the reranker, and arcs with their relations are learnt and used by either tree in processes of their own, in
turn; the least of some repeats counts, and a ratio below 1 says that this tree is faster. Compilations are those of a first, empty cache.
"""

import argparse
import hashlib
import inspect
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

ARGUMENTS = ("train.mrg", "train.conllu", "--against", "other/src")
_OWN = ("gramian.loglinear", "gramian.dependency.arc")


def passes(function: Any, count: int) -> dict[str, int]:
    """Return the option of an estimator that says how often it goes over its examples, whatever it is called."""
    known = inspect.signature(function).parameters
    return {next(name for name in ("max_iter", "epochs", "iterations") if name in known): count}


def digest(array: Any) -> str:
    return hashlib.sha256(array.tobytes()).hexdigest()[:12]


def cpu_seconds(task: Callable[[], Any], repeats: int = 1) -> float:
    """Return the least processor time of some repeats; as in :mod:`benchmarks.machine`, which another tree may not be able to import."""
    best = float("inf")
    for _ in range(repeats):
        began = time.process_time()
        task()
        best = min(best, time.process_time() - began)
    return best


def constituents(path: str, n: int, repeats: int) -> dict[str, Any]:
    """Learn and use a span CRF and a reranker."""
    from gramian.chart.chart_parser import ChartParser
    from gramian.experts import CRFExpert, MaxEntReranker, SpanCRF
    from gramian.experts.rerank_candidates import candidates, scored
    from gramian.treebank import Treebank
    from gramian.trees import HeadRules, annotation_scheme, normalise, read_trees

    trees = [normalise(tree, annotation_scheme("penn").options).tree for tree in read_trees(path)]
    trees = [tree for tree in trees if not tree.is_empty][:n]
    bank = Treebank.from_trees(trees)
    SpanCRF(**passes(SpanCRF, 1)).fit(Treebank.from_trees(trees[:5]))  # compiles
    found: dict[str, Any] = {}
    crf = SpanCRF(**passes(SpanCRF, 2))
    found["learn span CRF"] = cpu_seconds(lambda: crf.fit(bank))
    chart, model = ChartParser(crf.grammar_), crf.model_
    score = crf.grammar_.lexicon.score
    forests = [
        chart.forest([score(word, place == 0) for place, word in enumerate(tree.words)]) for tree in trees
    ]
    pairs = [
        (tree, list(tree.words), forest)
        for tree, forest in zip(trees, forests, strict=True)
        if forest is not None
    ]
    expert = CRFExpert(model, crf.grammar_)
    found["use span CRF"] = cpu_seconds(
        lambda: [expert.posterior(words, forest) for _, words, forest in pairs], repeats
    )
    found["tag"] = cpu_seconds(lambda: [model.views(words) for _, words, _ in pairs], repeats)
    judged = [scored(tuple(words), candidates(chart, forest, 20)[0], tree) for tree, words, forest in pairs]
    learner = MaxEntReranker(
        l2=(1.0,), base=(1.0,), heads=HeadRules.collins(), slots=1 << 18, **passes(MaxEntReranker, 10)
    )
    found["learn to rerank"] = cpu_seconds(lambda: learner.fit(judged))
    ranker = learner.model_
    found["rerank"] = cpu_seconds(lambda: [ranker.scores(one.words, one.trees) for one in judged], repeats)
    sums = [expert.posterior(words, forest).forest.item_posterior for _, words, forest in pairs]
    return {
        "seconds": found,
        "digests": [
            digest(model.weights),
            digest(model.tag_weights),
            digest(ranker.weights),
            *map(digest, sums),
        ],
    }


def dependencies(path: str, n: int, repeats: int) -> dict[str, Any]:
    """Learn and use factors of arcs, and relations."""
    import numpy as np

    from gramian.dependency.arc_models import fit_arc_scorer, fit_labeller
    from gramian.dependency.arc_tokens import TokenTable
    from gramian.dependency.head_automata import deterministic
    from gramian.dependency.head_sequences import head_sequences, projective
    from gramian.dependency.symbol_map import SymbolMap
    from gramian.trees import read_conllu

    trees = projective(list(read_conllu(path))[:n], "lift")
    mapping = SymbolMap.fit(trees.sentences)
    symbols = [mapping(sentence.tokens) for sentence in trees.sentences]
    grammar = deterministic(head_sequences(mapping.names, symbols, trees.heads), first=True).smoothed(0.1)
    table = TokenTable.fit(trees.sentences, mapping.column)
    tokens = [table.encode(sentence.tokens) for sentence in trees.sentences]
    heads = [np.asarray([-1, *tree], np.int32) for tree in trees.heads]
    coded = [grammar.encode(sentence) for sentence in symbols]

    def relations(count: int) -> Any:
        return fit_labeller(
            table,
            tokens[:count],
            heads[:count],
            trees.relations[:count],
            random_state=0,
            **passes(fit_labeller, 2),
        )

    def arcs(count: int) -> Any:
        return fit_arc_scorer(
            grammar,
            table,
            tokens[:count],
            coded[:count],
            heads[:count],
            random_state=0,
            **passes(fit_arc_scorer, 2),
        )

    relations(3).label(tokens[0], heads[0])  # compiles
    arcs(3)
    seconds = {
        "learn relations": cpu_seconds(lambda: relations(n), repeats),
        "learn arcs": cpu_seconds(lambda: arcs(n), repeats),
    }
    labeller, scorer = relations(n), arcs(n)
    seconds["score arcs"] = cpu_seconds(lambda: [scorer.factors(row) for row in tokens], repeats)
    seconds["label arcs"] = cpu_seconds(
        lambda: [labeller.label(row, tree) for row, tree in zip(tokens, heads, strict=True)], repeats
    )
    return {"seconds": seconds, "digests": [digest(labeller.weights), digest(scorer.weights)]}


def work(options: argparse.Namespace) -> dict[str, Any]:
    """Do everything once in this process."""
    from numba.core import event

    with event.install_recorder("numba:compile") as compiled:
        parts = [
            constituents(options.trees, options.sentences, options.repeats),
            dependencies(options.arcs, options.sentences, options.repeats),
        ]
    modules = [one.data["dispatcher"].py_func.__module__ for _, one in compiled.buffer if one.is_start]
    counts = Counter(module for module in modules if module.startswith(_OWN))
    return {
        "seconds": parts[0]["seconds"] | parts[1]["seconds"],
        "digests": parts[0]["digests"] + parts[1]["digests"],
        "compilations": counts,
    }


def main() -> None:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("trees")
    arguments.add_argument("arcs")
    arguments.add_argument("--against", help="the other tree's src")
    arguments.add_argument("--sentences", type=int, default=300)
    arguments.add_argument("--repeats", type=int, default=3)
    arguments.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.worker:
        print(json.dumps(work(options)))
        return
    from benchmarks import machine

    own = Path(__file__).parents[1]
    sources = {"this": str(own / "src"), "other": options.against}

    def run(source: str, cache: str) -> dict[str, Any]:
        command = [
            sys.executable,
            "-m",
            "benchmarks.loglinear_speed",
            options.trees,
            options.arcs,
            "--worker",
        ]
        command += ["--sentences", str(options.sentences), "--repeats", str(options.repeats)]
        path = os.pathsep.join([source, str(own)])
        environment = {**os.environ, "PYTHONPATH": path, "NUMBA_CACHE_DIR": cache}
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment)
        result: dict[str, Any] = json.loads(done.stdout)
        return result

    with tempfile.TemporaryDirectory() as folder:
        first = {name: run(source, f"{folder}/{name}") for name, source in sources.items()}
        best = {name: dict(one["seconds"]) for name, one in first.items()}
        for _ in range(options.repeats):
            for name, source in sources.items():
                for task, seconds in run(source, f"{folder}/{name}")["seconds"].items():
                    best[name][task] = min(best[name][task], seconds)
    compilations = {name: one["compilations"] for name, one in first.items()}
    result = {
        "benchmark": "loglinear_speed",
        "ratio": {task: round(best["this"][task] / best["other"][task], 2) for task in best["this"]},
        "cpu seconds": {
            name: {task: round(value, 4) for task, value in one.items()} for name, one in best.items()
        },
        "same": first["this"]["digests"] == first["other"]["digests"],
        "compilations": {name: sum(counts.values()) for name, counts in compilations.items()},
        "compilations by module": compilations,
        "machine": machine.about(),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
