"""How well each split head-automata grammar parses: UAS and LAS over all words, means over seeds.

python -m benchmarks.dependency_accuracy TRAIN DEV [--methods det det+f symbols spectral em conditional] [--seeds 3] [--states 10]

``conditional`` is what ``gramian dep train`` does without options; ``symbols`` is the spectral method with the basis of
symbols and a mass of 0.0005. As published, the baselines may attach several words to the root. Times are CPU seconds.
"""

import argparse
import json
import time
from collections import Counter
from typing import Any

import numpy as np

from benchmarks import machine
from gramian.dependency import HeadBasis, SHAGParser
from gramian.evaluate.attachments import attachment_scores
from gramian.trees import read_conllu

ARGUMENTS = ("train.conllu", "dev.conllu")

METHODS: dict[str, dict[str, Any]] = {
    "det": {"method": "det", "single_root": False},
    "det+f": {"method": "det+f", "single_root": False},
    "symbols": {"method": "spectral", "basis": HeadBasis("symbols", mass=0.0005)},
    "spectral": {"method": "spectral"},
    "em": {"method": "em"},
    "conditional": {"method": "conditional"},
}
SEEDED = ("em", "conditional")


def main() -> None:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("train")
    arguments.add_argument("dev")
    arguments.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    arguments.add_argument("--seeds", type=int, default=1)
    arguments.add_argument("--states", type=int, default=10)
    options = arguments.parse_args()
    train, dev = list(read_conllu(options.train)), list(read_conllu(options.dev))
    for method in options.methods:
        scores, seconds, ways = [], [], Counter[str]()
        for seed in range(options.seeds if method in SEEDED else 1):
            began = time.process_time()
            learner = SHAGParser(**METHODS[method], n_states=options.states, n_jobs=1, random_state=seed).fit(
                train
            )
            seconds.append(time.process_time() - began)
            parses = list(learner.model_.parse_many(dev))
            ways.update(parse.status for parse in parses)
            scores.append(attachment_scores(dev, [parse.sentence() for parse in parses]))
        result = {
            "benchmark": "dependency_accuracy", "method": method, "train": options.train, "dev": options.dev,
            **{name: round(float(np.mean([score.value(name) for score in scores])), 2)
               for name in ("uas", "las", "uas_no_punctuation", "las_no_punctuation")},
            "uas of each seed": [round(score.uas, 2) for score in scores],
            "training, cpu seconds": round(min(seconds), 1), "status": dict(ways), "signature": scores[0].signature("las"),
        }  # fmt: skip
        print(json.dumps(result), flush=True)
    print(json.dumps({"machine": machine.about()}))


if __name__ == "__main__":
    main()
