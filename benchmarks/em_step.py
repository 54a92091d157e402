"""One step of expectation-maximisation: seconds, cost per node, and how near the core's arithmetic limit it comes.

python -m benchmarks.em_step TREES [--states 16 32]

Multiply-adds counted: three for every cell of every node's rule tensor (inside, outside, counts), the least that dense tensors need.
"""

import argparse
import json
import time

import numpy as np

from benchmarks import machine
from gramian.learn import Observations
from gramian.learn.counting import random_counts
from gramian.learn.learner import Maximisation, allocate_states
from gramian.learn.smoothing import Smoothing
from gramian.learn.tables import Layout
from gramian.treebank import Treebank

ARGUMENTS = ("train.mrg",)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("trees")
    parser.add_argument("--states", type=int, nargs="+", default=[8, 16, 24])
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--limit", type=int, help="use only so many trees")
    options = parser.parse_args()
    bank = Treebank.read(options.trees)
    if options.limit:
        bank = bank.subset(np.arange(min(options.limit, bank.n_trees)))
    limit = machine.multiply_adds_per_second()
    rows = []
    for states in options.states:
        seen = Observations(bank)
        model = Maximisation(seen, Smoothing())
        n_states = allocate_states(seen.label_count, states)
        layout = Layout.of(seen.productions, n_states)
        counts = random_counts(seen, layout, 0)
        needed = 3 * float((seen.productions.binary_count * np.diff(layout.binary_start)).sum())
        needed += 3 * float((seen.productions.unary_count * np.diff(layout.unary_start)).sum())
        maximisation, expectation = [], []
        for _ in range(options.steps + 1):  # the first step compiles
            began = time.process_time()
            tables = model.tables(counts)
            middle = time.process_time()
            counts = seen.trees.expect(tables).counts
            maximisation.append(middle - began)
            expectation.append(time.process_time() - middle)
        step_e, step_m = min(expectation[1:]), min(maximisation[1:])
        rows.append(
            {
                "states at most": states,
                "states of a node": round(float(n_states[bank.label].mean()), 1),
                "cpu seconds": {"expectation": round(step_e, 3), "maximisation": round(step_m, 3)},
                "microseconds a node": round(1e6 * (step_e + step_m) / len(bank.label), 3),
                "multiply-adds": needed,
                "share of the arithmetic limit, expectation": round(needed / step_e / limit, 3),
            }
        )
    print(
        json.dumps(
            {
                "benchmark": "em_step",
                "trees": bank.n_trees,
                "nodes": len(bank.label),
                "multiply-adds a second, limit of one core": round(limit),
                "steps": rows,
                "peak megabytes": round(machine.peak_megabytes()),
                "machine": machine.about(),
            }
        )
    )


if __name__ == "__main__":
    main()
