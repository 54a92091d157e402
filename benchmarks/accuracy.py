"""How well each learner's grammar parses: mean F1 over seeds, predicted tags, EVALB with COLLINS.prm.

python -m benchmarks.accuracy TRAIN DEV [--methods pcfg spectral-cluster spectral-moments best] [--seeds 3] [--preset penn]

``best`` is what ``gramian train`` does without options. Times are CPU seconds of this process, reading apart.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import numpy as np

from benchmarks import machine

ARGUMENTS = ("train.mrg", "dev.mrg")

METHODS = ("pcfg", "spectral-cluster", "spectral-moments", "split-merge", "spectral-em", "best")


def learner(method: str, states: int | None, seed: int) -> Any:
    from gramian import learn

    most = {} if states is None else {"states": states}
    return {
        "pcfg": lambda: learn.PCFG(),
        "spectral-cluster": lambda: learn.SpectralClustering(random_state=seed, **most),
        "spectral-moments": lambda: learn.SpectralMoments(random_state=seed, **most),
        "split-merge": lambda: learn.SplitMerge(random_state=seed, **most),
        "spectral-em": lambda: learn.SpectralEM(random_state=seed, **most),
        "best": lambda: learn.SpectralEM(random_state=seed, **({"states": 32} | most)),
    }[method]()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("train")
    parser.add_argument("dev")
    parser.add_argument(
        "--methods",
        nargs="+",
        choices=METHODS,
        default=["pcfg", "spectral-cluster", "spectral-moments", "best"],
    )
    parser.add_argument(
        "--states", type=int, help="the most states of a label, instead of each method's default"
    )
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--preset", default="penn")
    parser.add_argument("--most", type=int, help="score on so many sentences of DEV only")
    options = parser.parse_args()

    from gramian import Parser
    from gramian.corpus import Treebank
    from gramian.evaluate import GoldBrackets
    from gramian.trees import normalise, preset, read_trees

    bank = Treebank.read(options.train, options=preset(options.preset))
    gold = [(tree, normalise(tree, preset(options.preset)).tree) for tree in read_trees(options.dev)]
    gold = [pair for pair in gold if not pair[1].is_empty][: options.most]
    # Penn trees are scored as they stand in the file, as EVALB has them; other schemes in their normal form.
    brackets = GoldBrackets([pair[options.preset != "penn"] for pair in gold])
    rows = {}
    for method in options.methods:
        runs = []
        for seed in range(1 if method in ("pcfg", "spectral-moments") else options.seeds):
            began = time.process_time()
            grammar = learner(method, options.states, seed).fit(bank).grammar_
            learnt = time.process_time() - began
            parse = Parser(grammar)
            parse.parse(list(gold[0][1].words))
            began = time.process_time()
            results = [parse.parse(list(tree.words)) for _, tree in gold]
            parsed = time.process_time() - began
            scores = brackets.score([result.tree for result in results])
            short = scores.up_to(40)
            runs.append({
                "f1": scores.f1, "f1 to 40 words": short.f1, "f1 gold tags": scores.f1_gold_tags,
                "f1 gold tags to 40 words": short.f1_gold_tags, "tagging": scores.tagging,
                "not parsed": sum(result.status not in ("parsed", "wide") for result in results),
                "learning cpu seconds": learnt, "sentences per cpu second": len(gold) / parsed,
            })  # fmt: skip
        rows[method] = {name: round(float(np.mean([run[name] for run in runs])), 2) for name in runs[0]}
        rows[method]["f1 of each seed"] = [round(run["f1 gold tags to 40 words"], 2) for run in runs]
    print(json.dumps({
        "benchmark": "accuracy", "train": options.train, "dev": options.dev, "sentences": len(gold), "trees": bank.n_trees,
        "methods": rows, "signature": brackets.score([None] * len(gold)).signature("f1_gold_tags"), **machine.about(),
    }, indent=1))  # fmt: skip


if __name__ == "__main__":
    main()
