"""How well each learner's grammar parses: mean F1 over seeds, predicted tags, EVALB with COLLINS.prm.

python -m benchmarks.accuracy TRAIN DEV [--methods pcfg spectral-cluster spectral-moments single best] [--seeds 3] [--preset penn]

``best`` is what ``gramian train`` does without options: two grammars, one a binarisation. ``single`` is one of these
(``--ensemble-size 1``), ``many`` is ``--ensemble-size 8``, ``expert`` is ``--expert``;
``rerank`` and ``expert-rerank`` are ``best`` and ``expert`` with ``--rerank``.
Times are CPU seconds of this process, reading apart.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks import machine

if TYPE_CHECKING:
    from gramian.training import TrainingSettings

ARGUMENTS = ("train.mrg", "dev.mrg")

PLAIN = ("pcfg", "spectral-cluster", "spectral-moments", "split-merge", "spectral-em")
BUNDLES: dict[str, dict[str, Any]] = {
    "single": {"ensemble_size": 1},
    "best": {},
    "many": {"ensemble_size": 8},
    "expert": {"expert": True},
    "rerank": {"rerank": True},
    "expert-rerank": {"expert": True, "rerank": True},
}


def settings_of(method: str, options: argparse.Namespace, seed: int) -> TrainingSettings:
    """Return what is to be trained; seeds of two grammars do not overlap."""
    from gramian.training import TrainingSettings

    common = {"preset": options.preset, "n_states": options.states}
    if method in BUNDLES:
        return TrainingSettings.of(
            lexicon=options.lexicon, random_state=2 * seed, **common, **BUNDLES[method]
        )
    lexicon = {"lexicon": options.lexicon} if method in ("spectral-cluster", "spectral-em") else {}
    return TrainingSettings.of(method=method, random_state=seed, compress=False, **common, **lexicon)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("train")
    parser.add_argument("dev")
    parser.add_argument(
        "--methods",
        nargs="+",
        choices=(*PLAIN, *BUNDLES),
        default=["pcfg", "spectral-cluster", "spectral-moments", "single", "best"],
    )
    parser.add_argument(
        "--states", type=int, help="the most states of a label, instead of each method's default"
    )
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--preset", default="penn")
    parser.add_argument("--lexicon", default="auto", help="what rare words are told apart by: suffix or tag")
    parser.add_argument("--most", type=int, help="score on so many sentences of DEV only")
    options = parser.parse_args()

    from gramian import Parser
    from gramian.evaluate import GoldBrackets
    from gramian.training import TrainingData, TrainingRun, TrainingSettings
    from gramian.trees import annotation_scheme, normalise, read_trees

    data = TrainingData.read(options.train, TrainingSettings.of(preset=options.preset))
    gold = [
        (tree, normalise(tree, annotation_scheme(options.preset).options).tree)
        for tree in read_trees(options.dev)
    ]
    gold = [pair for pair in gold if not pair[1].is_empty][: options.most]
    # Penn trees are scored as they stand in the file, as EVALB has them; other schemes in their normal form.
    brackets = GoldBrackets([pair[options.preset != "penn"] for pair in gold])
    rows = {}
    for method in options.methods:
        runs = []
        for seed in range(1 if method in ("pcfg", "spectral-moments", "many") else options.seeds):
            began = time.process_time()
            model = TrainingRun(data, settings_of(method, options, seed)).run()
            learnt = time.process_time() - began
            parse = Parser(model)
            parse.parse(list(gold[0][1].words))
            began = time.process_time()
            results = [parse.parse(list(tree.words)) for _, tree in gold]
            parsed = time.process_time() - began
            scores = brackets.score([result.tree for result in results])
            short = scores.up_to(40)
            runs.append({
                "f1": scores.f1, "f1 to 40 words": short.f1, "f1 gold tags": scores.f1_gold_tags,
                "f1 gold tags to 40 words": short.f1_gold_tags, "tagging": scores.tagging,
                "not parsed": sum(result.status not in ("parsed", "wide") for result in results),
                "learning cpu seconds": learnt, "sentences per cpu second": len(gold) / parsed,
            })  # fmt: skip
        rows[method] = {name: round(float(np.mean([run[name] for run in runs])), 2) for name in runs[0]}
        rows[method]["f1 of each seed"] = [round(run["f1 gold tags to 40 words"], 2) for run in runs]
    print(json.dumps({
        "benchmark": "accuracy", "train": options.train, "dev": options.dev, "sentences": len(gold), "trees": data.bank.n_trees,
        "methods": rows, "signature": brackets.score([None] * len(gold)).signature("f1_gold_tags"), **machine.about(),
    }, indent=1))  # fmt: skip


if __name__ == "__main__":
    main()
