"""``gramian train --models N``: several models that differ, in one file."""

from __future__ import annotations

import json
import shutil
import time
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from gramian.cli.talk import say
from gramian.errors import OptionError

if TYPE_CHECKING:
    from gramian.parsing.model import Model
    from gramian.training import Member
    from gramian.trees import Tree


@dataclass(frozen=True)
class Bundle:
    """What ``gramian train`` was asked for, where several models are concerned."""

    trees: str
    tagged: str | None
    output: str
    models: int
    noise: str
    directions: tuple[str, ...]
    expert: bool
    rerank: int
    calibrate: bool
    scheduler: str | None
    dev: str | None
    gold: list[Tree] | None
    jobs: int
    skip_broken: bool
    full: bool
    quiet: bool
    options: dict[str, Any]
    data: dict[str, Any]


def member_tasks(bundle: Bundle, learner: Any, parameters: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the task of each grammar for :func:`gramian.training.members.train_member`."""
    from gramian.training import plan_members
    from gramian.training.members import data_key

    options = bundle.options
    common = {
        "trees": bundle.trees, "tagged": bundle.tagged,
        "data": [data_key(path) for path in (bundle.trees, bundle.tagged) if path],
        "skip_broken": bundle.skip_broken, "learner": type(learner).__name__,
        "parameters": parameters, "compact": not bundle.full,
    } | {name: options[name] for name in ("preset", "horizontal", "vertical", "heads")}  # fmt: skip
    members = plan_members(bundle.models, bundle.noise, bundle.directions, options["seed"])
    return [common | {"member": asdict(member)} for member in members]


def train_many(bundle: Bundle, learner: Any, parameters: dict[str, Any]) -> None:
    """Train all models, those already finished excepted, and write them to one file."""
    from gramian.io.files import writing
    from gramian.parsing.model_store import save_model
    from gramian.training import Member, train_member
    from gramian.training.calibrate import calibrate
    from gramian.training.members import whole_model
    from gramian.training.parallel import Outcome, run_tasks

    began = time.perf_counter()
    if bundle.models > 1 and not hasattr(learner, "random_state"):
        raise OptionError(
            f"method {bundle.options['method']} always gives the same model; try: without --models"
        )
    if bundle.noise != "seeds" and not hasattr(learner, "clustering"):
        raise OptionError(
            f"--noise {bundle.noise} goes with the methods best, spectral-em and spectral-cluster"
        )
    options = bundle.options
    tasks = member_tasks(bundle, learner, parameters)
    members = [Member(**task["member"]) for task in tasks]
    if bundle.expert:  # takes longest
        tasks.insert(0, tasks[0] | {"learner": "SpanCRF", "parameters": {}})
    done = 0

    def watch(outcome: Outcome) -> None:
        nonlocal done
        done += 1
        if not bundle.quiet:
            how = "kept from before" if outcome.kept else f"{outcome.seconds:.1f} s"
            what = f"model {done} of {len(tasks)}" if done <= len(tasks) else "on trees held out"
            say(f"{what}: {how}")

    folder = f"{bundle.output}.members"
    tell = say if not (bundle.quiet or bundle.scheduler or bundle.jobs > 1) else None
    outcomes = run_tasks(
        partial(train_member, say=tell) if tell else train_member,
        tasks, jobs=bundle.jobs, scheduler=bundle.scheduler, folder=folder, watch=watch,
    )  # fmt: skip
    model = replace(
        whole_model(tasks, [outcome.value for outcome in outcomes]),
        options={name: value for name, value in (options | parameters).items() if name != "preset"},
        preset=options["preset"], data=bundle.data,
    )  # fmt: skip
    if bundle.calibrate:
        model = calibrate(
            model, tasks, jobs=bundle.jobs, scheduler=bundle.scheduler, folder=folder, watch=watch, say=tell
        )
    if bundle.rerank:
        from gramian.cli.train_rerank import with_reranker

        model = with_reranker(model, tasks, bundle)
    if bundle.gold is not None:
        model = _scored(model, members, bundle)
    save_model(model, bundle.output, half=not bundle.full)
    costs = {
        "seconds": {
            "models": round(sum(one.seconds for one in outcomes), 3), "all": round(time.perf_counter() - began, 3),
        },
        "peak memory (MB)": max(one.value.get("peak memory (MB)", 0) for one in outcomes),
    }  # fmt: skip
    with writing(f"{bundle.output}.log.json") as log:
        log.write(json.dumps(costs, indent=2) + "\n")
    shutil.rmtree(folder)
    if not bundle.quiet:
        say(f"wrote {bundle.output}: {time.perf_counter() - began:.1f} s in all")


def _scored(model: Model, members: list[Member], bundle: Bundle) -> Model:
    """Parse the trees to score on with each model and with all; note scores and disagreement."""
    from gramian.evaluate import GoldBrackets
    from gramian.parsing.model import Model
    from gramian.parsing.parser import Parser
    from gramian.training import disagreement

    assert bundle.gold is not None
    words = [list(tree.words) for tree in bundle.gold]
    scorer = GoldBrackets(bundle.gold)
    parses = [
        [result.tree for result in Parser(Model(grammar)).parse_many(words, n_jobs=bundle.jobs)]
        for grammar in model.grammars
    ]
    single = [scorer.score(trees).f1_gold_tags for trees in parses]
    scores = scorer.score([result.tree for result in Parser(model).parse_many(words, n_jobs=bundle.jobs)])
    if not bundle.quiet:
        for member, value in zip(members, single, strict=True):
            say(f"{bundle.dev}: F1 with gold tags {value:.2f}, {member.kind} {member.seed}")
        say(
            f"{bundle.dev}: F1 {scores.f1:.2f}, with gold tags {scores.f1_gold_tags:.2f}, tagging {scores.tagging:.2f}, all together"
        )
    report = dict(model.report)
    report["members"] = [
        about | {"f1_gold_tags": round(value, 3)}
        for about, value in zip(report["members"], single, strict=True)
    ]
    report["disagreement"] = disagreement(parses)
    metrics: dict[str, Any] = {name: round(value, 3) for name, value in scores.as_dict().items()}
    metrics |= {"dev": bundle.dev, "signature": scores.signature()}
    return replace(model, metrics=metrics, report=report)
