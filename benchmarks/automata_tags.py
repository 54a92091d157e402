"""Word error rate of next-tag prediction, with the tags of a treebank: n-grams, spectral automata, EM.

python -m benchmarks.automata_tags TRAIN DEV [--states 40] [--seeds 3] [--curves]

TRAIN and DEV are CoNLL-U files with Penn tags, read as they are and as the twelve universal tags. With ``--curves``, all points of
error against states (bases and EM) are printed, one a line, before the summary. Means are over seeds.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from typing import Any

import numpy as np

from benchmarks import machine
from gramian.automata import Sequences
from gramian.automata.study import baseline_points, em_curve, spectral_curve, word_error_study
from gramian.automata.tagset import universal_tag
from gramian.trees import read_conllu

ARGUMENTS = ("train.conllu", "dev.conllu")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("train")
    parser.add_argument("dev")
    parser.add_argument("--states", type=int, default=40)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--curves", action="store_true")
    options = parser.parse_args()
    penn = [
        [[token.xpos for token in sentence.tokens] for sentence in read_conllu(path)]
        for path in (options.train, options.dev)
    ]
    few = [[[universal_tag(tag) for tag in row] for row in rows] for rows in penn]
    summary: dict[str, Any] = {}
    for train_rows, dev_rows in (few, penn):
        train = Sequences.from_strings(train_rows)
        dev = Sequences.from_strings(dev_rows, train.alphabet)
        name = f"{len(train.alphabet)} tags"
        if options.curves:
            for point in word_error_study(train, dev, n_jobs=1):
                print(json.dumps({"tags": len(train.alphabet), **dataclasses.asdict(point)}), flush=True)
        points = [[point] for point in baseline_points(train, dev)]
        points += [
            [point]
            for scaled in (False, True)
            for point in spectral_curve(train, dev, [options.states], scaled=scaled)
        ]
        points.append(
            [
                point
                for seed in range(options.seeds)
                for point in spectral_curve(train, dev, [options.states], repair="em", random_state=seed)
            ]
        )
        points.append(
            [
                point
                for seed in range(options.seeds)
                for point in em_curve(train, dev, [options.states], n_jobs=1, random_state=seed)
            ]
        )
        summary[name] = {
            group[0].curve: {
                "states": group[0].n_states,
                "word error rate": round(float(np.mean([point.word_error_rate for point in group])), 2),
                "of each seed": [round(point.word_error_rate, 2) for point in group],
                "cpu seconds": round(float(np.mean([point.seconds for point in group])), 2),
            }
            for group in points
        }
    print(json.dumps({"benchmark": "automata_tags", **summary, "machine": machine.about()}))


if __name__ == "__main__":
    main()
