"""Word error rate of next-tag prediction, with the tags of a treebank: n-grams, spectral automata, EM.

python -m benchmarks.automata_tags TRAIN DEV [--states 40] [--seeds 3]

TRAIN and DEV are CoNLL-U files with Penn tags, read as they are and as the twelve universal tags. Means are over seeds;
``gramian experiment wfa`` draws curves over many numbers of states.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

import numpy as np

from benchmarks import machine
from gramian.automata import Sequences
from gramian.automata.tagset import universal_tag
from gramian.experiments.tag_study import baseline_points, em_curve, spectral_curve
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
