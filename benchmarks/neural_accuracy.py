"""How well neural experts parse, alone and beside the two grammars of ``best``: one net or several, that differ by seed.

python -m benchmarks.neural_accuracy TRAIN DEV --nets a.safetensors b.safetensors ... [--crf] [--full FILE] [--rest FILE]

Nets are files of ``NeuralModel.save``, learnt from TRAIN with every 20th tree held out (``NeuralExpert(held_out=0.05)``). Their weight
beside the grammars is chosen on these trees, with grammars learnt without them, never on DEV; with ``--usual`` it is the usual one.
``--full`` and ``--rest`` are files that keep both pairs of grammars: read if they are there, else written. With ``--crf`` a span CRF is
learnt, too, and put beside grammars and beside both. F1 is EVALB's with COLLINS.prm.
"""

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import machine

ARGUMENTS = ("train.mrg", "dev.mrg", "--nets", "net.safetensors")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("train")
    parser.add_argument("dev")
    parser.add_argument("--nets", nargs="+", required=True)
    parser.add_argument("--crf", action="store_true")
    parser.add_argument("--full")
    parser.add_argument("--rest")
    parser.add_argument(
        "--usual", action="store_true", help="do not choose weights, which needs grammars of their own"
    )
    parser.add_argument("--preset", default="auto")
    parser.add_argument("--most", type=int, help="score on so many sentences of DEV only")
    options = parser.parse_args()

    from gramian.evaluate import GoldBrackets
    from gramian.experts import EXPERT_KINDS, ExpertPart
    from gramian.neural import NeuralModel
    from gramian.parsing.model_store import load_model, save_model
    from gramian.parsing.parser import Parser
    from gramian.training import TrainingData, TrainingSettings
    from gramian.training.calibrate import WeightsTask
    from gramian.training.members import member_tasks, whole_model
    from gramian.training.training_data import Fold, normal_trees

    fold = Fold(19, 20, spread=True)
    data = TrainingData.read(options.train, TrainingSettings.of(preset=options.preset))
    spent: dict[str, float] = {}

    def grammars(file: str | None, without: Fold | None) -> Any:
        if file and Path(file).exists():
            return load_model(file)
        expert = "crf" if options.crf and without is None else "none"
        tasks = [
            replace(task, fold=without) for task in member_tasks(TrainingSettings.of(expert=expert), data)
        ]
        results = [task.run(data) for task in tasks]
        if without is None:
            spent.update({"span CRF" if "expert" in one else "grammars": one["processor"] for one in results})
        model = whole_model(tasks, results)
        if file:
            save_model(model, file)
        return model

    full = grammars(options.full, None)
    rest = None if options.usual else grammars(options.rest, fold)
    gold = [tree for tree in normal_trees(options.dev, data.preset) if not tree.is_empty][: options.most]
    brackets, sentences = GoldBrackets(gold), [list(tree.words) for tree in gold]

    def figures(parse: Any) -> dict[str, float]:
        parse(sentences[:1])
        began = time.process_time()
        trees = parse(sentences)
        took = time.process_time() - began
        scores = brackets.score(trees)
        short = scores.up_to(40)
        return {
            "f1": round(scores.f1, 2), "f1 to 40 words": round(short.f1, 2), "f1 gold tags": round(scores.f1_gold_tags, 2),
            "tagging": round(scores.tagging, 2), "sentences per cpu second": round(len(trees) / took, 1),
        }  # fmt: skip

    def beside(model: Any) -> dict[str, float]:
        parser = Parser(model)
        return figures(lambda some: [one.tree for one in parser.parse_many(some)])

    usual, crf, full = EXPERT_KINDS["neural"], full.expert("crf"), replace(full, experts=())
    rows: dict[str, Any] = {"grammars": beside(full)}
    if crf is not None:
        rows["grammars and span CRF"] = beside(replace(full, experts=(crf,)))
    for file in options.nets:
        net = NeuralModel.load(file)
        weight, by_weight = usual.weight, {}
        if rest is not None:
            parts = (*rest.experts, ExpertPart("neural", net))
            held = WeightsTask(kind="neural").work(replace(rest, experts=parts), data.trees(fold))
            by_weight = dict(zip(usual.tried_weights, np.round(held, 2).tolist(), strict=True))
            weight = max(by_weight, key=lambda one: (by_weight[one], -abs(one - usual.weight)))
        part = ExpertPart("neural", net, weight)
        rows[Path(file).stem] = {
            "weight": weight,
            "held-out f1 by weight": by_weight,
            "alone": figures(lambda some, net=net: [net.parse(words) for words in some]),
            "beside grammars": beside(replace(full, experts=(part,))),
        }
        if crf is not None:
            both = replace(full, experts=(crf, part))
            rows[Path(file).stem]["beside grammars and span CRF"] = beside(both)
    for place in ("alone", "beside grammars", "beside grammars and span CRF")[: 2 + (crf is not None)]:
        found = [rows[Path(file).stem][place] for file in options.nets]
        rows[f"mean {place}"] = {
            name: round(float(np.mean([one[name] for one in found])), 2) for name in found[0]
        }
    print(json.dumps({
        "benchmark": "neural accuracy", "train": options.train, "dev": options.dev, "sentences": len(gold),
        "trees": data.bank.n_trees, "rows": rows, "learning cpu seconds": spent,
        "signature": brackets.score([None] * len(gold)).signature("f1_gold_tags"),
        **machine.about(),
    }, indent=1))  # fmt: skip


if __name__ == "__main__":
    main()
