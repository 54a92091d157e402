"""How near the true distribution a learner comes on PAutomaC problems: the gap of perplexities, and its geometric mean.

python -m benchmarks.automata_pautomac FOLDER [--problems 3 24 42] [--method best] [--states auto] [--complete 2] [--seed 0]

FOLDER holds ``N.pautomac.train``, ``N.pautomac.test`` and ``N.pautomac_solution.txt`` for each problem N. Learning sees the
train file only; what is left open is chosen on a slice of it. Times are CPU seconds.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np

from benchmarks import machine
from gramian.automata import read_strings
from gramian.automata.methods import METHODS, MethodOptions, learn
from gramian.automata.string_formats import read_solution
from gramian.evaluate.sequence_scores import pautomac_score


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--problems", type=int, nargs="+")
    parser.add_argument("--method", choices=METHODS, default="best")
    parser.add_argument("--states", default="auto")
    parser.add_argument("--complete", type=int, help="fill in Hankel cells of strings seen less often")
    parser.add_argument("--penalty", type=float, help="of completion, or of convex learning")
    parser.add_argument("--basis-size", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    problems = options.problems or sorted(
        int(path.name.split(".")[0]) for path in options.folder.glob("*.pautomac.train")
    )
    states = "auto" if options.states == "auto" else int(options.states)
    rows = []
    for problem in problems:
        train, test = (
            read_strings(options.folder / f"{problem}.pautomac.{part}") for part in ("train", "test")
        )
        began = time.process_time()
        chosen = MethodOptions(
            basis_size=options.basis_size, complete=options.complete, penalty=options.penalty
        )
        model = learn(
            train, options.method, states, options=chosen, n_jobs=options.jobs, random_state=options.seed
        )
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
                "complete": options.complete,
                "penalty": options.penalty,
                "basis size": options.basis_size,
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
