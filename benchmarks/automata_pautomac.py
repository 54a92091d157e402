"""How near the true distribution a learner comes on PAutomaC problems: the gap of perplexities, and its geometric mean.

python -m benchmarks.automata_pautomac FOLDER [--problems 3 24 42] [--method best] [--states auto] [--set completion.least=2] [--seed 0]

FOLDER holds ``N.pautomac.train``, ``N.pautomac.test`` and ``N.pautomac_solution.txt`` for each problem N. Learning sees the
train file only; what is left open is chosen on a slice of it. Times are CPU seconds.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np

from benchmarks import machine
from gramian.automata import read_strings
from gramian.automata.methods import METHODS, learner_of, method_settings
from gramian.automata.string_formats import read_solution
from gramian.evaluate.sequence_scores import pautomac_score
from gramian.settings import read_settings


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--problems", type=int, nargs="+")
    parser.add_argument("--method", choices=METHODS, default="best")
    parser.add_argument("--states", default="auto")
    parser.add_argument("--set", dest="assignments", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    problems = options.problems or sorted(
        int(path.name.split(".")[0]) for path in options.folder.glob("*.pautomac.train")
    )
    states = "auto" if options.states == "auto" else int(options.states)
    settings = read_settings(options.assignments, None, method_settings(), "wfa train")
    rows = []
    for problem in problems:
        train, test = (
            read_strings(options.folder / f"{problem}.pautomac.{part}") for part in ("train", "test")
        )
        began = time.process_time()
        learner = learner_of(
            options.method, states, settings=settings, n_jobs=options.jobs, random_state=options.seed
        )
        model = learner.fit(train).model_
        seconds = time.process_time() - began
        solution = read_solution(options.folder / f"{problem}.pautomac_solution.txt")
        score = pautomac_score(model, test, solution)
        rows.append(
            {
                "problem": problem,
                "perplexity": round(score.perplexity, 4),
                "target": round(score.target, 4),
                "gap": round(score.gap, 5),
                "cpu seconds": round(seconds, 1),
            }
        )
        print(json.dumps(rows[-1]), flush=True)
    gaps = np.array([row["gap"] for row in rows])
    print(
        json.dumps(
            {
                "benchmark": "automata_pautomac",
                "method": options.method,
                "states": states,
                "settings": settings,
                "seed": options.seed,
                "problems": len(rows),
                "geometric mean gap": round(float(np.exp(np.log(gaps).mean())), 5),
                "largest gap": float(gaps.max()),
                "machine": machine.about(),
            }
        )
    )


if __name__ == "__main__":
    main()
