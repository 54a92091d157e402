"""Spectral learning of an automaton: seconds by stage, and how much faster than counting with dictionaries.

python -m benchmarks.automata_spectral STRINGS [--basis 500] [--states 40] [--sampled 40000]

STRINGS is a PAutomaC file or plain lines of symbols. With ``--sampled``, so many strings are drawn from a trigram model of
STRINGS and learnt instead. The reference counts the same Hankel blocks with Python dictionaries, in the same run, on a part
of the strings if there are many; the blocks are checked to be equal. Times are CPU seconds of one thread, after compilation.
"""

import argparse
import json
import time
from collections import Counter

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks import machine
from gramian.automata import Basis, BasisOptions, NGram, Sequences, SpectralWFA, hankel_blocks, read_strings
from gramian.automata.spectral import spectral_factors


def counted_with_dictionaries(sample: Sequences, basis: Basis) -> tuple[Counter, Counter]:
    """Count, at every cut of every string, the prefixes that end and the suffixes that begin there: uv, and usv."""
    prefixes = {string: i for i, string in enumerate(basis.prefixes)}
    suffixes = {string: i for i, string in enumerate(basis.suffixes)}
    longest = max(map(len, prefixes)), max(map(len, suffixes))
    matrix: Counter[tuple[int, int]] = Counter()
    stacked: Counter[tuple[object, int, int]] = Counter()
    for string in sample:
        before, after = [], []
        for cut in range(len(string) + 1):
            before.append(
                [
                    prefixes[u]
                    for n in range(min(cut, longest[0]) + 1)
                    if (u := string[cut - n : cut]) in prefixes
                ]
            )
            after.append(
                [
                    suffixes[v]
                    for n in range(min(len(string) - cut, longest[1]) + 1)
                    if (v := string[cut : cut + n]) in suffixes
                ]
            )
        for cut, left in enumerate(before):
            for u in left:
                for v in after[cut]:
                    matrix[u, v] += 1
                if cut < len(string):
                    for v in after[cut + 1]:
                        stacked[string[cut], u, v] += 1
    return matrix, stacked


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("strings")
    parser.add_argument("--basis", type=int, default=500)
    parser.add_argument("--states", type=int, default=40)
    parser.add_argument("--sampled", type=int)
    parser.add_argument("--reference", type=int, default=2000, help="strings that the reference counts")
    options = parser.parse_args()
    sample = read_strings(options.strings)
    if options.sampled:
        sample = NGram(3).fit(sample).model_.sample(options.sampled)
    part = sample.take(np.arange(min(options.reference, len(sample))))
    with threadpool_limits(1):
        learner = SpectralWFA(options.states, basis=BasisOptions(size=options.basis), repair=None)
        learner.fit(part)  # compiles
        whole = machine.cpu_seconds(lambda: learner.fit(sample), 3)
        stages = {}
        began = time.process_time()
        basis = Basis.frequent(sample, options.basis)
        stages["basis"], began = time.process_time() - began, time.process_time()
        blocks = hankel_blocks(sample, basis)
        stages["Hankel blocks"], began = time.process_time() - began, time.process_time()
        spectral_factors(blocks, options.states)
        stages["decomposition and operators"] = time.process_time() - began
        own = machine.cpu_seconds(lambda: hankel_blocks(part, basis), 3)
        began = time.process_time()
        matrix, stacked = counted_with_dictionaries(part, basis)
        reference = time.process_time() - began
    found = hankel_blocks(part, basis)
    dense = np.zeros(basis.shape)
    for place, count in matrix.items():
        dense[place] = count / len(part)
    np.testing.assert_allclose(found.matrix.toarray(), dense, rtol=1e-9, atol=1e-12)
    assert len(stacked) == found.stacked.nnz
    print(
        json.dumps(
            {
                "benchmark": "automata_spectral",
                "strings": len(sample),
                "symbols": len(sample.symbols),
                "alphabet": len(sample.alphabet),
                "basis": basis.shape,
                "states": options.states,
                "cpu seconds, strings to automaton": round(whole, 3),
                "cpu seconds by stage": {name: round(value, 3) for name, value in stages.items()},
                "Hankel blocks of a part": {
                    "strings": len(part),
                    "cpu seconds": round(own, 4),
                    "cpu seconds with dictionaries": round(reference, 3),
                    "ratio": round(reference / own, 1),
                },
                "peak megabytes": round(machine.peak_megabytes()),
                "machine": machine.about(),
            }
        )
    )


if __name__ == "__main__":
    main()
