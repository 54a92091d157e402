"""``gramian train --rerank``: learn to choose among the best trees of a model, from folds that it has not seen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gramian.cli.talk import say

if TYPE_CHECKING:
    from gramian.cli.train_many import Bundle
    from gramian.parsing.model import Model


def with_reranker(model: Model, tasks: list[dict[str, Any]], bundle: Bundle) -> Model:
    """Train the same members on folds of the treebank, rank their parses of the rest, and add what is learnt to the model."""
    from dataclasses import replace

    from gramian.learn.observations import head_rules
    from gramian.loglinear import MaxEntReranker
    from gramian.loglinear.loglinear_store import rounded
    from gramian.loglinear.rerank_candidates import CANDIDATES
    from gramian.loglinear.rerank_scored import read_candidates
    from gramian.training.folds import held_out
    from gramian.training.parallel import Outcome
    from gramian.training.reranking import fold_candidates

    folds, done = bundle.rerank, 0

    def watch(outcome: Outcome) -> None:
        nonlocal done
        done += 1
        if not bundle.quiet:
            how = "kept from before" if outcome.kept else f"{outcome.seconds:.1f} s"
            number = outcome.task.get("fold", outcome.task.get("members", [{}])[0].get("fold"))[0] + 1
            what = "model" if "fold" in outcome.task else "parses"
            say(f"fold {number} of {folds}, {what}: {how} ({done} of {folds * (len(tasks) + 1)})")

    found = held_out(
        fold_candidates, {"k": CANDIDATES, "expert_weight": model.expert_weight}, tasks, folds, jobs=bundle.jobs,
        scheduler=bundle.scheduler, folder=f"{bundle.output}.members", watch=watch,
    )  # fmt: skip
    reranker = MaxEntReranker(
        heads=head_rules(bundle.options["heads"], model.grammar), verbose=not bundle.quiet
    )
    reranker.fit([sentence for fold in found for sentence in read_candidates(fold)])
    report = {
        name: value for name, value in reranker.report_.items() if name not in ("seconds", "peak memory (MB)")
    }
    return replace(
        model,
        reranker=rounded(reranker.model_),
        report=dict(model.report) | {"reranker": report | {"folds": folds}},
    )
