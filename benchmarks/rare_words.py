"""Rare words by shape and suffix against rare words by tag (Narayan and Cohen 2016), for parsers that are given words, or tags too.

python -m benchmarks.rare_words TRAIN DEV [--trees 2000] [--sentences 300] [--states 16] [--method spectral-cluster]

Trees and sentences (of up to 40 words) are taken at equal distances. Four situations: words alone; the part of speech of words seen less
than 20 times is given; their whole tag, with its morphology; the tags of all words. Tags are gold's. F1 is labelled, with gold's tags in
the output; tagging stands beside it.
"""

import argparse
import json
import re
from typing import Any

from benchmarks import machine

ARGUMENTS = ("train.mrg", "dev.mrg")
RARE = 20  # words seen less often are rare, as in the paper

_PART = re.compile(r"[^-._=]+(?=[-._=])")


def part_of_speech(tag: str) -> str:
    """Return what stands before the first ``-``, ``.``, ``_`` or ``=`` (N-A, v_fin), or the beginning of a positional tag (ncms000)."""
    if part := _PART.match(tag):
        return part[0]
    return tag[:2] if len(tag) >= 4 and tag[-1].isdigit() and tag[:2].isalpha() else tag


def situations(tree: Any, count: dict[str, int], lexicon: Any) -> dict[str, list[Any]]:
    """Return a sentence as a parser may be given it."""
    found: dict[str, list[Any]] = {"words": [], "parts of speech": [], "rare tags": [], "all tags": []}
    for word, tag in zip(tree.words, tree.tags, strict=True):
        rare = count.get(word, 0) < RARE and tag in lexicon.tags
        scores = lexicon.score(word)
        likely = {
            lexicon.tags[number]: float(value * lexicon.tag_prior[number])
            for number, value in zip(scores.tags, scores.coarse, strict=True)
        }
        alike = [one for one in lexicon.tags if part_of_speech(one) == part_of_speech(tag)]
        found["words"].append(word)
        found["parts of speech"].append(
            (word, {one: likely.get(one, 1e-4) for one in alike}) if rare else word
        )
        found["rare tags"].append((word, tag) if rare else word)
        found["all tags"].append((word, tag) if tag in lexicon.tags else word)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("train")
    parser.add_argument("dev")
    parser.add_argument("--trees", type=int, default=2000)
    parser.add_argument("--sentences", type=int, default=300)
    parser.add_argument("--states", type=int, default=16)
    parser.add_argument("--method", choices=("spectral-cluster", "spectral-em"), default="spectral-cluster")
    parser.add_argument("--lexicons", nargs="+", default=["suffix", "tag"])
    options = parser.parse_args()

    import numpy as np

    from gramian.experiments.data import gold_trees, preset_of
    from gramian.experiments.measure import parse_and_score, settings_of, trained, training_data

    scheme = preset_of(options.train)
    trees = gold_trees(options.train, scheme)
    trees = trees[:: max(1, len(trees) // options.trees)][: options.trees]
    test = [tree for tree in gold_trees(options.dev, scheme) if tree.length <= 40]
    test = test[:: max(1, len(test) // options.sentences)][: options.sentences]
    data = training_data(trees)
    bank = data.bank
    number = np.bincount(bank.word[bank.word >= 0], minlength=len(bank.words)).tolist()
    count = dict(zip(bank.words, number, strict=True))
    rows: dict[str, Any] = {}
    for name in options.lexicons:
        settings = {
            "method": options.method,
            "states": options.states,
            "settings": {"lexicon": name, "compress": False},
        }
        model, seconds = trained(data, settings_of(settings, 0))
        grammar = model.grammar
        rows[name] = {"learning cpu seconds": round(seconds, 1)}
        given = [situations(tree.normal, count, grammar.lexicon) for tree in test]
        for situation in given[0]:
            result = parse_and_score(
                grammar, test, sentences=[one[situation] for one in given], scheme=scheme
            )
            rows[name][situation] = {"f1": round(result["f1"], 2), "tagging": round(result["tagging"], 2)}
    print(json.dumps({
        "benchmark": "rare words", "train": options.train, "preset": scheme, "trees": len(trees), "sentences": len(test),
        "method": options.method, "lexicons": rows, **machine.about(),
    }, indent=1))  # fmt: skip


if __name__ == "__main__":
    main()
