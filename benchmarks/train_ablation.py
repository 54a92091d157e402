"""What each part of spectral clustering is worth: F1 when one thing at a time is changed.

python -m benchmarks.train_ablation TRAIN DEV [--quick] [--seeds 3]

F1 is EVALB's with gold tags in the output, so that no sentence is dropped; ``gold tags given`` parses with them as well.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from itertools import islice
from typing import Any

import numpy as np

from benchmarks import machine
from gramian.evaluate import GoldBrackets
from gramian.parsing.parser import Parser
from gramian.training import TrainingData, TrainingRun, TrainingSettings
from gramian.treebank import Shape
from gramian.trees import Tree, annotation_scheme, normalise, read_trees

ARGUMENTS = ("train.mrg", "dev.mrg", "--quick")


@dataclass(frozen=True)
class Change:
    """One row of the table: what differs from the usual settings."""

    part: str
    name: str
    options: dict[str, Any] = field(default_factory=dict)
    shape: Shape = field(default_factory=Shape)
    method: str = "spectral-cluster"
    gold_tags: bool = False


def changes(states: int) -> Iterator[Change]:
    yield Change("usual", "usual settings")
    yield Change("features", "paper (8 + 8 templates)", {"features.templates": "paper"})
    yield Change("features", "plain (4 + 4 templates)", {"features.templates": "plain"})
    yield Change("features", "no head rules", {"heads": "none"})
    yield Change("scaling", "features not scaled", {"features.scaling": False})
    yield Change("scaling", "projections raw, as in the paper", {"clustering.projection": "raw"})
    none = {"smoothing.rule": 0.0, "smoothing.state": 0.0, "smoothing.sister_share": 0.0}
    yield Change("smoothing", "none", none)
    yield Change("smoothing", "no share of sisters", {"smoothing.sister_share": 0.0})
    yield Change("smoothing", "share of sisters only", none | {"smoothing.sister_share": 0.02})
    yield Change("states", "by frequency", {"allocation": "frequency"})
    yield Change("states", "the same for all labels", {"allocation": "all"})
    yield Change("states", f"half as many ({states // 2})", {"n_states": states // 2})
    yield Change("states", f"twice as many ({states * 2})", {"n_states": states * 2})
    yield Change("states", "soft", {"clustering.soft": 4.0})
    yield Change("binarisation", "left", shape=Shape("left"))
    yield Change("binarisation", "head outward", shape=Shape("head"))
    yield Change("binarisation", "one sibling remembered", shape=Shape("right", 1))
    yield Change("binarisation", "parent remembered", shape=Shape("right", 0, 2))
    yield Change("tags", "gold tags given", gold_tags=True)
    plain = {
        "features.templates": "plain",
        "features.scaling": False,
        "clustering.projection": "raw",
        "allocation": "all",
    }
    yield Change(
        "thesis",
        "plain features, raw, unsmoothed, same states for all, gold tags",
        none | plain,
        gold_tags=True,
    )
    yield Change("method", "no states (PCFG)", method="pcfg")
    yield Change("method", "moments", method="spectral-moments")
    yield Change("method", "clustering, then EM", method="spectral-em")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("train")
    parser.add_argument("dev")
    parser.add_argument("--quick", action="store_true", help="2,000 trees, 200 sentences, one seed, 8 states")
    parser.add_argument("--states", type=int)
    parser.add_argument("--seeds", type=int)
    parser.add_argument("--longest", type=int, default=40, help="leave out longer sentences of DEV")
    parser.add_argument("--preset", default="penn")
    parser.add_argument("--only", nargs="+", help="only these parts of the table (and the usual settings)")
    options = parser.parse_args()
    states = options.states or (8 if options.quick else 16)
    seeds = range(options.seeds or (1 if options.quick else 3))
    normal = annotation_scheme(options.preset).options
    gold = [normalise(tree, normal).tree for tree in read_trees(options.dev)]
    gold = [tree for tree in gold if 1 <= len(tree.words) <= options.longest][
        : 200 if options.quick else None
    ]
    scorer = GoldBrackets(gold)
    banks: dict[Shape, TrainingData] = {}
    rows: list[dict[str, Any]] = []
    for change in changes(states):
        if options.only and change.part not in ("usual", *options.only):
            continue
        if change.shape not in banks:
            banks.clear()  # one is enough at a time
            banks[change.shape] = training_data(
                options.train, change.shape, options.preset, 2000 if options.quick else None
            )
        row = measured(change, banks[change.shape], gold, scorer, states, seeds)
        rows.append({**row, "difference": round(row["f1"] - (rows[0]["f1"] if rows else row["f1"]), 2)})
        print(
            f"{row['part']:<13} {row['change']:<42} {row['f1']:6.2f} {rows[-1]['difference']:+6.2f}",
            file=sys.stderr,
            flush=True,
        )
    result = {
        "benchmark": "train_ablation",
        "states": states,
        "seeds": len(seeds),
        "dev sentences": len(gold),
    }
    print(
        json.dumps({**result, "rows": rows, "signature": signature(scorer, gold), "machine": machine.about()})
    )


def training_data(path: str, shape: Shape, preset: str, limit: int | None) -> TrainingData:
    binarisation = {f"binarisation.{name}": value for name, value in asdict(shape).items()}
    settings = TrainingSettings.of(preset=preset, ensemble_size=1, heads="collins", **binarisation)
    return TrainingData.read(islice(read_trees(path), limit) if limit else path, settings)


def measured(
    change: Change,
    data: TrainingData,
    gold: list[Tree],
    scorer: GoldBrackets,
    states: int,
    seeds: range,
) -> dict[str, Any]:
    found, seconds = [], []
    for seed in seeds:
        settings = TrainingSettings.of(
            {"heads": "collins", **change.options},
            method=change.method,
            n_states=states,
            language="none",
            random_state=seed,
            compress=False,
        )
        run = TrainingRun(data, settings)
        model = run.run()
        seconds.append(run.costs["seconds"]["processor"])
        sentences = [
            list(zip(tree.words, tree.tags, strict=True)) if change.gold_tags else list(tree.words)
            for tree in gold
        ]
        scores = scorer.score([result.tree for result in Parser(model).parse_many(sentences)])
        found.append(scores)
        if change.method == "pcfg":
            break
    f1 = [scores.f1_gold_tags for scores in found]
    return {
        "part": change.part,
        "change": change.name,
        "f1": round(float(np.mean(f1)), 2),
        "of each seed": [round(value, 2) for value in f1],
        "mean unlabelled f1": round(
            float(np.mean([scores.as_dict()["mean_unlabelled_f1"] for scores in found])), 2
        ),
        "tagging": round(float(np.mean([scores.tagging for scores in found])), 2),
        "training cpu seconds": round(float(np.mean(seconds)), 1),
    }


def signature(scorer: GoldBrackets, gold: list[Tree]) -> str:
    return scorer.score(gold).signature("f1_gold_tags")


if __name__ == "__main__":
    main()
