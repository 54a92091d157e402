"""One iteration of EM for automata, against hmmlearn on the same strings.

python -m benchmarks.automata_em STRINGS [--states 20] [--strings 5000] [--iterations 5]

hmmlearn (``pip install hmmlearn``) has no final weights, so it learns the strings with a STOP symbol at their end; empty strings
are left out for both. "factored" is the same kind of model, a hidden Markov model; "joint" is the richer one that gramian
learns unless asked otherwise. Times are CPU seconds an iteration of one thread, after compilation.
"""

import argparse
import json
import time

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks import machine
from gramian.automata import PNFAEM, Sequences, read_strings
from gramian.automata.prefix_forest import PrefixForest


def with_hmmlearn(sample: Sequences, states: int, iterations: int, implementation: str) -> float:
    """Return the CPU seconds of an iteration."""
    from hmmlearn.hmm import CategoricalHMM

    stop = len(sample.alphabet)
    text = np.insert(sample.symbols, sample.offsets[1:], stop)[:, None]
    model = CategoricalHMM(
        states,
        n_iter=iterations,
        tol=-np.inf,
        n_features=stop + 1,
        random_state=0,
        implementation=implementation,
    )
    began = time.process_time()
    model.fit(text, sample.lengths + 1)
    assert model.monitor_.iter == iterations
    return (time.process_time() - began) / iterations


def with_gramian(sample: Sequences, states: int, iterations: int, structure: str) -> tuple[float, float]:
    """Return the CPU seconds of an iteration, and of what comes before: merging equal strings and prefixes."""

    def seconds(number: int) -> float:
        learner = PNFAEM(states, max_iter=number, tolerance=-1e300, structure=structure, n_jobs=1)
        began = time.process_time()
        learner.fit(sample)
        assert len(learner.log_likelihoods_) == number
        return time.process_time() - began

    seconds(1)  # compiles
    once = min(seconds(1) for _ in range(3))
    step = (seconds(iterations + 1) - once) / iterations
    return step, once - step


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("strings")
    parser.add_argument("--states", type=int, default=20)
    parser.add_argument("--strings", dest="number", type=int, default=5000)
    parser.add_argument("--iterations", type=int, default=5)
    options = parser.parse_args()
    sample = read_strings(options.strings)
    sample = sample.take(np.flatnonzero(sample.lengths > 0)[: options.number])
    with threadpool_limits(1):
        timed = {
            structure: with_gramian(sample, options.states, 4 * options.iterations, structure)
            for structure in ("joint", "factored")
        }
        peer = {
            implementation: with_hmmlearn(sample, options.states, options.iterations, implementation)
            for implementation in ("log", "scaling")
        }
    own = {structure: step for structure, (step, _) in timed.items()}
    print(
        json.dumps(
            {
                "benchmark": "automata_em",
                "strings": len(sample),
                "symbols": len(sample.symbols),
                "distinct prefixes": PrefixForest.from_sample(sample).n_nodes,
                "states": options.states,
                "iterations of hmmlearn": options.iterations,
                "cpu seconds before the first iteration": round(timed["factored"][1], 4),
                "cpu seconds an iteration": {name: round(value, 5) for name, value in own.items()},
                "cpu seconds an iteration, hmmlearn": {name: round(value, 4) for name, value in peer.items()},
                "ratio, hmmlearn log over factored": round(peer["log"] / own["factored"], 1),
                "ratio, hmmlearn scaling over factored": round(peer["scaling"] / own["factored"], 1),
                "ratio, hmmlearn log over joint": round(peer["log"] / own["joint"], 1),
                "machine": machine.about(),
            }
        )
    )


if __name__ == "__main__":
    main()
