"""How well each learner's grammar parses: mean F1 over seeds, predicted tags, EVALB with COLLINS.prm.

python -m benchmarks.accuracy TRAIN DEV [--methods pcfg spectral-cluster spectral-moments single best] [--seeds 3] [--preset penn]

``best`` is what ``gramian train`` does without options: two grammars, one a binarisation. ``single`` is one of these (``--models 1``),
``many`` is ``--models 8``, ``expert`` is ``--expert``; ``rerank`` and ``expert-rerank`` are ``best`` and ``expert`` with ``--rerank``.
Times are CPU seconds of this process, reading apart.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks import machine

if TYPE_CHECKING:
    from gramian.parsing.model import Model

ARGUMENTS = ("train.mrg", "dev.mrg")

PLAIN = ("pcfg", "spectral-cluster", "spectral-moments", "split-merge", "spectral-em")
BUNDLES = {"single": 1, "best": 2, "many": 8, "expert": 2, "rerank": 2, "expert-rerank": 2}
FOLDS = 5  # of reranking


def learner(method: str, states: int | None, seed: int, lexicon: Any) -> Any:
    from gramian import learn

    most = {} if states is None else {"n_states": states}
    return {
        "pcfg": lambda: learn.PCFG(),
        "spectral-cluster": lambda: learn.SpectralClustering(random_state=seed, lexicon=lexicon, **most),
        "spectral-moments": lambda: learn.SpectralMoments(random_state=seed, **most),
        "split-merge": lambda: learn.SplitMerge(random_state=seed, **most),
        "spectral-em": lambda: learn.SpectralEM(random_state=seed, lexicon=lexicon, **most),
    }[method]()


def task(
    trees: str, preset: str, states: int, lexicon: str, seed: int, direction: str, name: str
) -> dict[str, Any]:
    """Return the task of training a member."""
    from gramian.training.members import data_key

    return {
        "trees": trees, "tagged": None, "data": [data_key(trees)], "preset": preset, "horizontal": 0, "vertical": 1, "skip_broken": False,
        "heads": "auto", "member": {"seed": seed, "direction": direction}, "learner": name,
        "parameters": {"n_states": states, "lexicon": lexicon} if name == "SpectralEM" else {}, "compact": True,
    }  # fmt: skip


@cache
def member(*what: Any) -> tuple[Any, float]:
    """Return what a member's training returns, and its CPU seconds; members are shared between methods."""
    from gramian.training.members import train_member

    began = time.process_time()
    return train_member(task(*what)), time.process_time() - began


def reranker(members: list[tuple[Any, ...]], symbols: Any) -> tuple[Any, float]:
    """Return a reranker of members that are trained on folds, and the CPU seconds of all that."""
    from gramian.learn.observations import head_rules
    from gramian.loglinear import MaxEntReranker
    from gramian.loglinear.loglinear_store import rounded
    from gramian.loglinear.rerank_candidates import CANDIDATES
    from gramian.loglinear.rerank_scored import read_candidates
    from gramian.training.folds import held_out
    from gramian.training.reranking import fold_candidates

    began = time.process_time()
    found = held_out(fold_candidates, {"k": CANDIDATES}, [task(*what) for what in members], FOLDS)
    learner = MaxEntReranker(heads=head_rules("auto", symbols))
    learner.fit([one for fold in found for one in read_candidates(fold)])
    return rounded(learner.model_), time.process_time() - began


def bundle(method: str, options: argparse.Namespace, seed: int) -> tuple[Model, float]:
    """Return the model of a method that has several members, and the CPU seconds of learning it."""
    from gramian.parsing.model import Model
    from gramian.training.members import expert_of, model_of

    size, states = BUNDLES[method], options.states or 32
    first = 0 if method == "many" else 2 * seed
    common = (options.train, options.preset, states, options.lexicon)
    members = [
        (*common, first + number, ("right", "left")[number % 2], "SpectralEM") for number in range(size)
    ]
    grammars = [model_of(member(*what)[0]).grammar for what in members]
    if method.startswith("expert"):
        members.insert(0, (*common, seed, "right", "SpanCRF"))
    seconds = sum(member(*what)[1] for what in members)
    model = Model(
        grammars[0], others=tuple(grammars[1:]),
        expert=expert_of(member(*members[0])[0]) if method.startswith("expert") else None,
    )  # fmt: skip
    if method.endswith("rerank"):
        learnt, took = reranker(members, grammars[0])
        model, seconds = replace(model, reranker=learnt), seconds + took
    return model, seconds


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
    from gramian.corpus import Treebank
    from gramian.evaluate import GoldBrackets
    from gramian.parsing.model import Model
    from gramian.trees import normalise, preset, read_trees

    bank = Treebank.read(options.train, options=preset(options.preset))
    gold = [(tree, normalise(tree, preset(options.preset)).tree) for tree in read_trees(options.dev)]
    gold = [pair for pair in gold if not pair[1].is_empty][: options.most]
    # Penn trees are scored as they stand in the file, as EVALB has them; other schemes in their normal form.
    brackets = GoldBrackets([pair[options.preset != "penn"] for pair in gold])
    rows = {}
    for method in options.methods:
        runs = []
        for seed in range(1 if method in ("pcfg", "spectral-moments", "many") else options.seeds):
            if method in BUNDLES:
                model, learnt = bundle(method, options, seed)
            else:
                began = time.process_time()
                model = Model(learner(method, options.states, seed, options.lexicon).fit(bank).model_)
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
        "benchmark": "accuracy", "train": options.train, "dev": options.dev, "sentences": len(gold), "trees": bank.n_trees,
        "methods": rows, "signature": brackets.score([None] * len(gold)).signature("f1_gold_tags"), **machine.about(),
    }, indent=1))  # fmt: skip


if __name__ == "__main__":
    main()
