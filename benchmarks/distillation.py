"""What a small net gains from teachers on a pre-trained encoder: gold trees alone, silver trees, or the teachers' posteriors.

    python -m benchmarks.distillation TRAIN DEV --text FILE --encoder FOLDER --work FOLDER [--device cuda] [--part NAME ...]

Each teacher is trained without one fold of TRAIN. Their mean posteriors label the text (a file that the step `text` of `tools.english`
writes), and each fold is labelled by the teacher that has not seen it. Students of three seeds are trained on gold trees (`gold`), with
the teachers' trees of the text (`hard`), or with their posteriors of text and trees (`soft`). Parts: teacher-FOLD, soft, gold-SEED,
hard-SEED, soft-SEED, encoder-SEED (nets on the encoder, trained on all of TRAIN), grammars, score. Finished parts lie in the work
folder and are not repeated; `score` puts each net beside the grammars in `--full` (trained and written if missing), at the default weight.
"""

from __future__ import annotations

import argparse
import gzip
import json
import logging
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import machine

ARGUMENTS = ("train.mrg", "dev.mrg", "--text", "text.tsv.gz", "--encoder", "encoder", "--work", "work")
KINDS = ("gold", "hard", "soft", "encoder")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("train")
    parser.add_argument("dev")
    parser.add_argument("--text", type=Path)
    parser.add_argument("--genres", nargs="*", help="of the text that is learnt from; all without")
    parser.add_argument("--encoder")
    parser.add_argument("--vectors", type=Path, help="vectors of words, as tools.english writes them")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--full", help="model file of the grammars")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--folds", type=int, default=4)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--units", type=int, default=200, help="of a student's LSTM")
    parser.add_argument("--epochs", type=int, default=0, help="instead of the usual number")
    parser.add_argument("--batch-words", type=int, default=0, help="instead of the usual number")
    parser.add_argument("--part", nargs="+", help="parts to do; all without")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    options.work.mkdir(parents=True, exist_ok=True)
    parts = options.part or [
        *(f"teacher-{fold}" for fold in range(options.folds)), "soft",
        *(f"{kind}-{seed}" for kind in KINDS for seed in range(options.seeds)), "score",
    ]  # fmt: skip
    for part in parts:
        kind, _, number = part.partition("-")
        if part == "soft":
            label(options)
        elif part in ("grammars", "score"):
            score(options, only_grammars=part == "grammars")
        elif not net_file(options, part).exists():
            train_net(options, kind, int(number))


def gold_trees(options: argparse.Namespace) -> list[Any]:
    from gramian.training import TrainingData, TrainingSettings
    from gramian.training.training_data import normal_trees

    preset = TrainingData.read(options.train, TrainingSettings.of()).preset
    return [tree for tree in normal_trees(options.train, preset) if not tree.is_empty]


def net_file(options: argparse.Namespace, part: str) -> Path:
    return options.work / f"{part}.net"


def text_rows(options: argparse.Namespace) -> list[list[str]]:
    with gzip.open(options.text, "rt", encoding="utf-8") as lines:
        rows = [line.rstrip("\n").split("\t") for line in lines]
    return [row for row in rows if not options.genres or row[3] in options.genres]


def label(options: argparse.Namespace) -> None:
    from tools.english.soft_file import write_soft_trees

    from gramian.neural import NeuralModel
    from gramian.neural.distillation import distil
    from gramian.neural.net_trainer import best_device

    target = options.work / "soft.jsonl.gz"
    if target.exists():
        return
    trees, device = gold_trees(options), best_device(options.device)
    teachers = [NeuralModel.load(net_file(options, f"teacher-{fold}")) for fold in range(options.folds)]
    soft = []
    for fold, teacher in enumerate(teachers):
        soft += distil([teacher], [tree.words for tree in trees[fold :: options.folds]], device=device)
    rows = text_rows(options)
    phrases = [[tuple(map(int, span.split("-"))) for span in row[2].split()] for row in rows]
    tags = [row[1].split(" ") for row in rows]
    soft += distil(teachers, [row[0].split(" ") for row in rows], tags=tags, uncrossed=phrases, device=device)
    write_soft_trees(soft, target)


def train_net(options: argparse.Namespace, kind: str, number: int) -> None:
    from tools.english.soft_file import read_soft_trees

    from gramian.experts import NeuralExpert
    from gramian.neural import Learning, NetSize, NeuralModel
    from gramian.neural.neural_model import most_likely_tree

    trees = gold_trees(options)
    vectors = None
    if options.vectors:
        with np.load(options.vectors) as table:
            vectors = dict(zip(table["words"].tolist(), table["vectors"].astype(np.float32), strict=True))
    n_words = sum(len(tree.words) for tree in trees)
    common = {
        "vectors": vectors, "device": options.device, "n_jobs": options.jobs, "verbose": True, "random_state": number,
        "checkpoint": str(options.work / f"{kind}-{number}.partial"),
    }  # fmt: skip
    small = 400 if n_words < 200_000 else 1000
    batch_words = options.batch_words or small
    if kind in ("teacher", "encoder"):
        learning = Learning(batch_words=batch_words, rate=2e-3, encoder_rate=1e-4, average=0.99)
        net = NeuralExpert(
            learning=learning,
            max_iter=options.epochs or 18,
            encoder=options.encoder,
            pooling="mean",
            **common,
        )
        kept = [
            tree for place, tree in enumerate(trees) if kind == "encoder" or place % options.folds != number
        ]
        net.fit(kept)
    elif kind == "gold":
        net = NeuralExpert(
            NetSize(units=options.units),
            Learning(batch_words=batch_words),
            max_iter=options.epochs or 60,
            **common,
        )
        net.fit(trees)
    else:
        soft = list(read_soft_trees(options.work / "soft.jsonl.gz"))
        held, kept = trees[19::20], [tree for place, tree in enumerate(trees, 1) if place % 20]
        held_words = {tree.words for tree in held}
        text = soft[len(trees) :]
        soft = [tree for tree in soft[: len(trees)] if tree.words not in held_words] + text
        copies = max(1, round(sum(len(tree.words) for tree in text) / n_words / 2))
        if kind == "hard":
            inventory = NeuralModel.load(net_file(options, "teacher-0")).inventory
            silver = [most_likely_tree(tree, inventory) for tree in text]
            kept, soft = [*kept * copies, *silver], []
        else:
            kept = kept * copies
        learning = Learning(batch_words=options.batch_words or 2000, rate=0.003, dropout=0.33)
        net = NeuralExpert(NetSize(units=options.units), learning, max_iter=options.epochs or 15, **common)
        net.fit(kept, judges=held, soft_trees=soft)
    net.model_.save(net_file(options, f"{kind}-{number}"))


def score(options: argparse.Namespace, only_grammars: bool = False) -> None:
    from gramian.evaluate import GoldBrackets
    from gramian.experts import ExpertPart
    from gramian.neural import NeuralModel
    from gramian.parsing.model_store import load_model, save_model
    from gramian.parsing.parser import Parser
    from gramian.training import TrainingData, TrainingSettings
    from gramian.training.members import member_tasks, whole_model
    from gramian.training.training_data import normal_trees

    data = TrainingData.read(options.train, TrainingSettings.of())
    if options.full and Path(options.full).exists():
        full = load_model(options.full)
    else:
        tasks = list(member_tasks(TrainingSettings.of(), data))
        full = whole_model(tasks, [task.run(data) for task in tasks])
        if options.full:
            save_model(full, options.full)
    if only_grammars:
        return
    gold = [tree for tree in normal_trees(options.dev, data.preset) if not tree.is_empty]
    brackets, sentences = GoldBrackets(gold), [list(tree.words) for tree in gold]

    def figures(trees: list[Any]) -> dict[str, float]:
        scores = brackets.score(trees)
        return {
            "f1": round(scores.f1, 2), "f1 to 40 words": round(scores.up_to(40).f1, 2),
            "f1 gold tags": round(scores.f1_gold_tags, 2), "tagging": round(scores.tagging, 2),
        }  # fmt: skip

    rows: dict[str, Any] = {
        "grammars": figures([result.tree for result in Parser(full).parse_many(sentences)])
    }
    for kind in KINDS:
        found = []
        for file in sorted(options.work.glob(f"{kind}-*.net")):
            net = NeuralModel.load(file)
            parser = Parser(replace(full, experts=(ExpertPart("neural", net),)))
            row = {
                "alone": figures([net.parse(words) for words in sentences]),
                "beside grammars": figures([result.tree for result in parser.parse_many(sentences)]),
            }
            rows[file.stem] = row
            found.append(row)
        for place in ("alone", "beside grammars") if found else ():
            rows[f"mean of {kind}, {place}"] = {
                name: round(float(np.mean([row[place][name] for row in found])), 2)
                for name in found[0][place]
            }
    print(json.dumps({
        "benchmark": "distillation", "train": options.train, "dev": options.dev, "sentences": len(gold), "rows": rows,
        "signature": brackets.score([None] * len(gold)).signature("f1_gold_tags"), **machine.about(),
    }, indent=1))  # fmt: skip


if __name__ == "__main__":
    main()
