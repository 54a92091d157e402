"""Word error rate of next-tag prediction, with the tags of a treebank: n-grams, spectral automata, EM.

python -m benchmarks.automata_tags TRAIN DEV [--states 40] [--seeds 3]

TRAIN and DEV are CoNLL-U files with Penn tags, read as they are and as the twelve universal tags. Means are over seeds;
``gramian experiment wfa`` draws curves over many numbers of states.
"""

import argparse
import json
import time
from typing import Any

import numpy as np

from benchmarks import machine
from gramian.automata import PNFAEM, NGram, Sequences, SpectralWFA
from gramian.automata.sequence_learner import SequenceLearner
from gramian.automata.tagset import universal_tag
from gramian.evaluate.sequence_scores import next_symbol_scores
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
        summary[name] = {
            method: _scores(learners, train, dev)
            for method, learners in _learners(options.states, range(options.seeds)).items()
        }
    print(json.dumps({"benchmark": "automata_tags", **summary, "machine": machine.about()}))


def _learners(states: int, seeds: range) -> dict[str, list[SequenceLearner]]:
    """Return the learners of each method, one for each seed where chance matters."""
    n_grams = {
        name: [NGram(order, smoothing="none")]
        for order, name in enumerate(("unigram", "bigram", "trigram"), 1)
    }
    return {
        **n_grams,
        "spectral": [SpectralWFA(states, repair=None)],
        "spectral, scaled": [SpectralWFA(states, scaled=True, repair=None)],
        "spectral, EM": [SpectralWFA(states, repair="em", random_state=seed) for seed in seeds],
        "EM, 100 iterations": [PNFAEM(states, pseudo_count=1e-3, random_state=seed) for seed in seeds],
    }


def _scores(learners: list[SequenceLearner], train: Sequences, dev: Sequences) -> dict[str, Any]:
    began = time.process_time()
    models = [learner.fit(train).model_ for learner in learners]
    seconds = (time.process_time() - began) / len(learners)
    rates = [next_symbol_scores(model, dev).word_error_rate for model in models]
    return {
        "states": models[0].n_states,
        "word error rate": round(float(np.mean(rates)), 2),
        "of each seed": [round(rate, 2) for rate in rates],
        "cpu seconds": round(seconds, 2),
    }


if __name__ == "__main__":
    main()
