"""What rules of low rank save in the fine pass as states become more, and what they cost in F1.

python -m benchmarks.lowrank_parse TRAIN DEV [--states 8 16 32 64] [--ranks auto 8] [--gates 1e-2 1e-3] [--shared 256] [--keep FOLDER]

Learns a grammar for each number of states and parses DEV with whole rule tensors (the dense kernel) and with rules of low rank, in the
same run and with the same coarse pass. Processor time of the fine pass alone; exponents are fitted in the logarithms of states and time.
"""

import argparse
import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import machine
from gramian.chart import batch_kernels, fine_kernels
from gramian.evaluate import GoldBrackets
from gramian.grammar import LPCFG
from gramian.grammar.compress.lowrank import compress
from gramian.grammar.compress.shared import compress_shared
from gramian.learn import SpectralEM
from gramian.parsing.model import Model
from gramian.parsing.model_store import load_model, save_model
from gramian.parsing.parser import Parser
from gramian.treebank import Treebank
from gramian.trees import Tree, annotation_scheme, normalise, read_trees

ARGUMENTS = ("train.mrg", "dev.mrg")


@contextmanager
def timed_passes(spent: Counter[str]) -> Iterator[None]:
    """Add the processor time of both passes to `spent`, as long as this lasts."""
    coarse, fine = batch_kernels.pruned_forests, fine_kernels.fine_forests

    def timed(function: Callable[..., Any], name: str) -> Callable[..., Any]:
        def run(*arguments: Any) -> Any:
            began = time.thread_time()
            result = function(*arguments)
            spent[name] += time.thread_time() - began
            return result

        return run

    batch_kernels.pruned_forests, fine_kernels.fine_forests = timed(coarse, "coarse"), timed(fine, "fine")
    try:
        yield
    finally:
        batch_kernels.pruned_forests, fine_kernels.fine_forests = coarse, fine


def learnt(options: argparse.Namespace, states: int) -> LPCFG:
    """Return a grammar of so many states, from the folder of those kept if it is there."""
    path = None if options.keep is None else Path(options.keep, f"m{states}.model")
    if path is not None and path.exists():
        return load_model(path).grammar
    bank = Treebank.read(options.train, options=annotation_scheme(options.preset).options)
    grammar = SpectralEM(n_states=states, max_iter=options.iterations).fit(bank).model_
    if path is not None:
        save_model(Model(grammar), path)
    return grammar


def parsed(grammar: LPCFG, gold: list[Tree], scorer: GoldBrackets, repeats: int) -> dict[str, Any]:
    """Time the passes over all sentences, and score the trees."""
    parser = Parser(Model(grammar))
    sentences = [list(tree.words) for tree in gold]
    parser.parse(sentences[0])  # compiles
    best: Counter[str] = Counter()
    for _ in range(repeats):
        spent: Counter[str] = Counter()
        with timed_passes(spent):
            began = time.thread_time()
            results = list(parser.parse_many(sentences))
            spent["all"] = time.thread_time() - began
        best = Counter({name: min(best.get(name, np.inf), spent[name]) for name in ("coarse", "fine", "all")})
    score = scorer.score([result.tree for result in results])
    return {
        **{f"{name} ms": round(1e3 * value / len(gold), 4) for name, value in best.items()},
        "f1": round(score.f1, 2), "f1_gold_tags": round(score.f1_gold_tags, 2),
    }  # fmt: skip


def compressions(grammar: LPCFG, options: argparse.Namespace) -> dict[str, Any]:
    """Return what makes each variant of the grammar."""
    made: dict[str, Any] = {}
    for rank in options.ranks:
        for gate in options.gates or [None]:
            name = f"rank {rank}" + ("" if gate is None else f", gate {gate:g}")
            made[name] = partial(compress, grammar, rank if rank == "auto" else int(rank), gate=gate)
    for rank in options.shared:
        made[f"shared {rank}"] = partial(compress_shared, grammar, rank)
    return made


def main() -> None:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("train")
    arguments.add_argument("dev")
    arguments.add_argument("--states", type=int, nargs="+", default=[8, 16, 32, 64])
    arguments.add_argument("--ranks", nargs="+", default=["auto"])
    arguments.add_argument(
        "--gates", type=float, nargs="*", help="largest errors of a rule; by default that of compress"
    )
    arguments.add_argument(
        "--shared", type=int, nargs="*", default=[], help="ranks of one decomposition for all rules"
    )
    arguments.add_argument("--iterations", type=int, default=4, help="steps of EM after clustering")
    arguments.add_argument("--max-words", type=int, default=40)
    arguments.add_argument("--limit", type=int, help="use only so many sentences")
    arguments.add_argument("--repeats", type=int, default=2)
    arguments.add_argument("--preset", default="penn")
    arguments.add_argument("--keep", metavar="FOLDER", help="keep the grammars there, and use those that are")
    options = arguments.parse_args()

    trees = [
        normalise(tree, annotation_scheme(options.preset).options).tree for tree in read_trees(options.dev)
    ]
    gold = [tree for tree in trees if not tree.is_empty and len(tree.words) <= options.max_words]
    gold = gold[: options.limit]
    scorer = GoldBrackets(gold)
    rows: list[dict[str, Any]] = []
    for states in options.states:
        grammar = learnt(options, states)
        exact = parsed(grammar, gold, scorer, options.repeats)
        rows.append({"states": states, "rules": "whole", **exact})
        for name, make in compressions(grammar, options).items():
            began = time.process_time()
            small = make()
            seconds = time.process_time() - began
            low = parsed(small.grammar, gold, scorer, options.repeats)
            rows.append({
                "states": states, "rules": name, **low,
                "fine, times faster": round(exact["fine ms"] / low["fine ms"], 2),
                "all, times faster": round(exact["all ms"] / low["all ms"], 2),
                "predicted": round(small.speed, 2),
                "f1 lost": round(exact["f1"] - low["f1"], 2),
                "f1_gold_tags lost": round(exact["f1_gold_tags"] - low["f1_gold_tags"], 2),
                "loss": round(small.loss, 4), "gamma": small.gamma,
                "parameters": small.parameters, "seconds to compress": round(seconds, 2),
            })  # fmt: skip
    exponents = {}
    for name in dict.fromkeys(row["rules"] for row in rows):
        points = [(row["states"], row["fine ms"]) for row in rows if row["rules"] == name]
        if len(points) > 1:
            exponents[name] = round(float(np.polyfit(*np.log(np.array(points)).T, 1)[0]), 2)
    result = {
        "benchmark": "lowrank_parse", "sentences": len(gold),
        "words a sentence": round(sum(len(tree.words) for tree in gold) / len(gold), 1),
        "exponent of fine time in states": exponents, "rows": rows,
        "peak megabytes": round(machine.peak_megabytes()), "machine": machine.about(),
    }  # fmt: skip
    print(json.dumps(result))


if __name__ == "__main__":
    main()
