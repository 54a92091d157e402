"""``gramian train``: learn a grammar from a treebank."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, Any, Literal, TypeAlias

import typer

from gramian.cli.talk import say, telling_warnings
from gramian.errors import OptionError

if TYPE_CHECKING:
    from gramian.corpus import Treebank
    from gramian.corpus.tagged import TaggedWords
    from gramian.evaluate import BracketScores
    from gramian.grammar import LPCFG
    from gramian.trees import Tree

Method: TypeAlias = Literal[
    "best", "spectral-em", "spectral-cluster", "spectral-moments", "em", "split-merge", "pcfg"
]

_POLISHED = ("best", "spectral-em")
_CLUSTERED = (*_POLISHED, "spectral-cluster")
_SPECTRAL = (*_CLUSTERED, "spectral-moments")
_METHODS_WITH = {
    "allocation": (*_SPECTRAL, "em"), "growth": (*_SPECTRAL, "em"), "search": (*_SPECTRAL, "em"), "features": _SPECTRAL,
    "lexicon": _CLUSTERED, "merge": _POLISHED, "iterations": (*_POLISHED, "em"), "start": ("em",), "cycles": ("split-merge",),
}  # fmt: skip


def train(
    context: typer.Context,
    trees: str = typer.Argument(help="Bracketed trees: a file, a folder, or - for stdin."),
    output: str = typer.Option(..., "--output", "-o", help="Model file to write."),
    method: Method = typer.Option(
        "best",
        help="How the hidden states are found; best is spectral-em with its best settings, for two binarisations together.",
    ),
    states: int = typer.Option(0, min=0, help="The most states a label gets; 0 for the method's default."),
    allocation: Literal["root", "frequency", "all"] = typer.Option(
        "root", help="States by the root of a label's count, by its frequency, or the same for all."
    ),
    growth: float = typer.Option(0.25, min=0.0, help="With root: states per root of the count."),
    search: Literal["beam", "greedy"] | None = typer.Option(
        None,
        help="Search for the number of states of each label by F1 on trees held out, instead of --allocation alone.",
    ),
    budget: int = typer.Option(40, min=1, help="With --search: how many candidates are tried."),
    judge: str | None = typer.Option(
        None, help="With --search: trees that candidates are scored on; by default every tenth of TREES."
    ),
    features: Literal["rich", "paper", "plain"] | None = typer.Option(
        None, help="Feature set of the spectral methods; by default paper for moments, rich for the others."
    ),
    lexicon: Literal["auto", "suffix", "tag", "pos"] = typer.Option(
        "auto",
        help="What rare words are told apart by: shape and suffix, or their tag; auto is suffix for Penn-style English, else tag.",
    ),
    iterations: int = typer.Option(-1, min=-1, help="Steps of EM; -1 for the method's default."),
    cycles: int = typer.Option(4, min=1, help="With split-merge: how often every state is split."),
    merge: float = typer.Option(
        0.0, min=0.0, max=1.0, help="With spectral-em: share of similar states merged again."
    ),
    start: str | None = typer.Option(None, help="Model file from which em starts; random without it."),
    tagged: str | None = typer.Option(
        None,
        help="Tagged text (CoNLL-U, trees, or token/TAG pairs) whose words and tags the lexicon is to know.",
    ),
    dev: str | None = typer.Option(
        None, help="Trees to score the grammar on; its F1 is stored in the model."
    ),
    keep_best: bool = typer.Option(
        False, help="With --dev and EM: keep the step with the best F1, and stop when it falls."
    ),
    preset: str = typer.Option(
        "auto",
        help="Habits of the treebank: penn, icepahc, keyaki, ftb, cess, floresta, whole; auto tells them by its labels.",
    ),
    direction: Literal["right", "left", "head", "both"] | None = typer.Option(
        None,
        help="Binarisation: from where children are split off; right for one model, both in turn for several.",
    ),
    horizontal: int = typer.Option(0, min=0, help="How many siblings an intermediate label remembers."),
    vertical: int = typer.Option(1, min=1, help="1 for no context, 2 for the parent, ..."),
    heads: str = typer.Option(
        "auto", help="Head rules for features: auto, collins, left, right, none, or a file."
    ),
    models: int = typer.Option(
        0, min=0, help="Train so many models that differ and parse together; 0 for two with best, else one."
    ),
    noise: Literal["seeds", "dropout", "additive", "multiplicative", "mixed"] = typer.Option(
        "seeds", help="With --models: what makes them differ besides their binarisation."
    ),
    expert: bool = typer.Option(
        False,
        help="Also learn a span CRF, which looks at the words: more accurate, several times longer to learn, half as fast to parse with.",
    ),
    rerank: bool = typer.Option(
        False,
        help="Also learn to choose among the best trees by features of whole trees, from folds that models have not seen.",
    ),
    folds: int = typer.Option(
        5, min=2, help="With --rerank: all models are trained again so often, each time without one fold."
    ),
    calibrate: bool = typer.Option(
        False,
        help="Also learn, from trees held out, how far confidences can be trusted, and the weight of an expert: trains all twice.",
    ),
    skip_broken: bool = typer.Option(False, help="Leave out broken trees, and say how many."),
    seed: int = typer.Option(0, help="Same seed, same model file."),
    jobs: int = typer.Option(
        1, min=1, help="Threads, or with --models processes; the model does not depend on it."
    ),
    scheduler: str | None = typer.Option(
        None, help="With --models: address of a Dask scheduler whose workers train them (tcp://host:8786)."
    ),
    attribution: str | None = typer.Option(None, help="Whom to credit for the data; kept in the model."),
    full: bool = typer.Option(
        False, help="Keep whole rule tensors in 32 bits; by default they are of low rank, small and fast."
    ),
    dry_run: bool = typer.Option(
        False, help="Print what would be done, with an estimate of time and memory; learn nothing."
    ),
    quiet: bool = typer.Option(False, "--quiet", "-q", help="Say nothing but errors."),
) -> None:
    """Learn a grammar from bracketed trees and write it to a model file."""
    import json
    import time

    from gramian.corpus import Shape, Treebank
    from gramian.io.files import check_output, writing
    from gramian.trees import HeadRules
    from gramian.trees import preset as named_preset

    began = time.perf_counter()
    if not dry_run:
        check_output(output)
    if not models:
        models = 2 if method == "best" and direction in (None, "both") and not keep_best else 1
    several = models > 1 or expert or search or rerank or calibrate  # things to learn, each a task of its own
    _check_fitting(context, method, {
        "budget": ("--search", search), "judge": ("--search", search), "folds": ("--rerank", rerank),
        "noise": ("--models 2 or more", models > 1),
        "scheduler": ("--models 2 or more, --expert, --search, --rerank or --calibrate", several),
    })  # fmt: skip
    directions = _directions(direction, models)
    spooled = _spooled() if trees == "-" else None  # the trees are read more than once
    path = spooled.name if spooled else trees
    if preset == "auto":
        preset = _detected(path, quiet)
    shape = Shape(directions[0], horizontal, vertical)
    with telling_warnings(quiet):
        bank = Treebank.read(
            path, options=named_preset(preset), shape=shape,
            heads=HeadRules.named("collins" if heads == "auto" else heads) if directions[0] == "head" else None,
            broken="skip" if skip_broken else "raise",
        )  # fmt: skip
    options: dict[str, Any] = {
        "method": method, "n_states": states, "allocation": allocation, "growth": growth, "features": features,
        "lexicon": lexicon, "max_iter": iterations, "cycles": cycles, "merge": merge,
        "preset": preset, "direction": " ".join(directions), "horizontal": horizontal, "vertical": vertical,
        "heads": heads, "models": models, "noise": noise, "expert": expert, "rerank": folds if rerank else 0,
        "calibrate": calibrate, "seed": seed,
    }  # fmt: skip
    learner = _learner(options, start, jobs, not quiet)
    gold = None if dev is None else _gold(dev, preset)
    if hasattr(learner, "checkpoint") and models == 1 and not (expert or rerank or calibrate):
        learner.set_params(checkpoint=f"{output}.partial")
    if calibrate and (keep_best or start is not None or method == "pcfg"):
        raise OptionError(
            "--calibrate goes without --keep-best and --start, and with other methods than pcfg"
        )
    if keep_best:
        if gold is None or not hasattr(learner, "watch") or models > 1 or rerank:
            raise OptionError(
                "--keep-best needs --dev, a method with EM steps, and one model without --rerank"
            )
        from gramian.learn import Watch

        learner.set_params(watch=Watch(lambda step, make: _watched(step, make(), gold, jobs, quiet)))
    if not quiet:
        say(f"read {bank.n_trees:,} trees, {int(bank.lengths.sum()):,} words, {bank.n_symbols} labels and tags: "
            f"{time.perf_counter() - began:.1f} s")  # fmt: skip
    if dry_run:
        print(
            json.dumps(
                {
                    "options": options | _used(learner),
                    "estimate": _estimate(bank, learner, models * (1 + calibrate) * (folds if rerank else 1)),
                },
                indent=2,
            )
        )
        return
    data = {"source": trees, "trees": bank.n_trees, "words": int(bank.lengths.sum())}
    if tagged is not None:
        data["tagged text"] = tagged
    if attribution is not None:
        data["attribution"] = attribution
    words = _tagged_words(tagged, bank, quiet)
    if several:
        from gramian.cli.train_many import Bundle, member_tasks, train_many
        from gramian.learn.observations import head_rules

        head_rules(heads, bank)  # an error of theirs is better told now
        bundle = Bundle(
            trees=path, tagged=tagged, output=output, models=models, noise=noise, directions=directions, expert=expert,
            rerank=folds if rerank else 0, calibrate=calibrate,
            scheduler=scheduler, dev=dev, gold=gold, jobs=jobs, skip_broken=skip_broken, full=full, quiet=quiet,
            options=options, data=data,
        )  # fmt: skip
        if search:
            from gramian.cli.train_search import search_numbers

            numbers, options["search"] = search_numbers(
                member_tasks(bundle, learner, _used(learner))[0], method=search, budget=budget, judge=judge,
                output=output, jobs=jobs, scheduler=scheduler, quiet=quiet,
            )  # fmt: skip
            learner.set_params(n_states=numbers)
        if models > 1 or expert or rerank or calibrate:
            train_many(bundle, learner, _used(learner))
            return
    if words is None:
        learner.fit(bank)
    else:
        from gramian.learn import Observations

        learner.fit(Observations(bank, tagged=words))

    from gramian.grammar.compress.compact import compacted
    from gramian.parsing.model import Model
    from gramian.parsing.model_store import save_model

    report = dict(learner.report_)
    # What differs from run to run goes beside the model: the same seed gives the same model file.
    costs = {name: report.pop(name) for name in ("seconds", "peak memory (MB)")}
    grammar = learner.model_
    if not full:
        grammar, loss = compacted(grammar)
        report |= {"low rank": loss} if loss else {}
    metrics: dict[str, Any] = {}
    if gold is not None:
        scores = _scores(grammar, gold, jobs)
        metrics = {name: round(value, 3) for name, value in scores.as_dict().items()}
        metrics |= {"dev": dev, "signature": scores.signature()}
        if not quiet:
            say(
                f"{dev}: F1 {scores.f1:.2f}, with gold tags {scores.f1_gold_tags:.2f}, tagging {scores.tagging:.2f}"
            )
    told = {name: value for name, value in (options | _used(learner)).items() if name != "preset"}
    save_model(Model(grammar, told, data, metrics, report, preset=preset), output, half=not full)
    costs["seconds"]["all"] = round(time.perf_counter() - began, 3)
    with writing(f"{output}.log.json") as log:
        log.write(json.dumps(costs, indent=2) + "\n")
    if not quiet:
        say(f"wrote {output}: {time.perf_counter() - began:.1f} s in all")


def _check_fitting(context: typer.Context, method: str, partners: dict[str, tuple[str, object]]) -> None:
    """Raise an error if an option was given that would do nothing: of another method, or without its partner."""

    def given(name: str) -> bool:
        source = context.get_parameter_source(name)
        return source is not None and source.name == "COMMANDLINE"

    for name, methods in _METHODS_WITH.items():
        if given(name) and method not in methods:
            raise OptionError(f"--{name} goes with --method {' or '.join(methods)}, not {method}")
    for name, (partner, there) in partners.items():
        if given(name) and not there:
            raise OptionError(f"--{name} goes with {partner}")


def _learner(options: dict[str, Any], start: str | None, jobs: int, verbose: bool) -> Any:
    """Return the learner that a method names, with its own defaults where no option is given."""
    from gramian import learn

    method, states, iterations = options["method"], options["n_states"], options["max_iter"]
    common: dict[str, Any] = {"n_jobs": jobs, "verbose": verbose}
    if method == "pcfg":
        return learn.PCFG(**common)
    common["random_state"] = options["seed"]
    if states:
        common["n_states"] = states
    if method == "split-merge":
        return learn.SplitMerge(options["cycles"], **common)
    common |= {"allocation": options["allocation"], "growth": options["growth"]}
    if iterations >= 0 and method in ("best", "spectral-em", "em"):
        common["max_iter"] = iterations
    if start is not None:
        from gramian.parsing.model_store import load_model

        common["start"] = load_model(start).grammar
    if method == "em":
        return learn.EM(**common)
    usual = "paper" if method == "spectral-moments" else "rich"
    common["features"] = learn.Features(options["features"] or usual, heads=options["heads"])
    if method == "spectral-moments":
        return learn.SpectralMoments(**common)
    common["lexicon"] = options["lexicon"]
    if method == "spectral-cluster":
        return learn.SpectralClustering(**common)
    common["merge"] = options["merge"]
    return learn.SpectralEM(**({"n_states": 32} | common if method == "best" else common))


def _tagged_words(tagged: str | None, bank: Treebank, quiet: bool) -> TaggedWords | None:
    """Read tagged text, and tell how much of it the treebank's tags cover."""
    if tagged is None:
        return None
    from gramian.corpus.tagged import TaggedWords
    from gramian.trees.labels import split_chain

    words = TaggedWords.read(tagged)
    tags = {split_chain(symbol)[-1] for symbol in bank.symbols[bank.n_phrases :]}
    used = sum(count for (_, tag), count in words.count.items() if tag in tags)
    if not used:
        raise OptionError(
            f"{tagged}: none of its tags is one of the treebank's; try: text with the treebank's tags"
        )
    if not quiet:
        left_out = sum(words.count.values()) - used
        say(f"read {used:,} tagged words of {tagged}; {left_out:,} have tags that the treebank lacks")
    return words


def _spooled() -> IO[bytes]:
    """Return a file with all of stdin; it goes away when it is closed."""
    import shutil
    import sys
    import tempfile

    file = tempfile.NamedTemporaryFile(prefix="stdin-", suffix=".mrg")  # noqa: SIM115 - open as long as it is read
    shutil.copyfileobj(sys.stdin.buffer, file)
    file.flush()
    return file


def _detected(path: str, quiet: bool) -> str:
    """Return the preset that the labels of a treebank call for."""
    from gramian.trees import read_trees
    from gramian.trees.scheme import detect_preset

    found = detect_preset(read_trees(path, broken="skip", on_skip=lambda _: None, on_join=lambda _: None))
    if not quiet and found != "penn":
        say(f"its labels look like those of --preset {found}")
    return found


def _directions(direction: str | None, models: int) -> tuple[Any, ...]:
    """Return the binarisations that the models have in turn."""
    if direction == "both" or (direction is None and models > 1):
        if models == 1:
            raise OptionError("--direction both goes with --models 2 or more")
        return ("right", "left")
    return (direction or "right",)


def _used(learner: Any) -> dict[str, Any]:
    """Return the learner's parameters that a file can hold."""
    return {
        name: value
        for name, value in learner.plain_params().items()
        if name not in ("verbose", "watch__score", "watch", "start", "n_jobs", "checkpoint")
    }


def _estimate(bank: Treebank, learner: Any, models: int) -> dict[str, float]:
    """Guess memory and time from the numbers of nodes and cells."""
    import numpy as np

    from gramian.corpus.productions import Productions
    from gramian.learn.states import allocate_states
    from gramian.learn.tables import Layout

    productions = Productions.of(bank)
    count = np.bincount(bank.label, minlength=bank.n_symbols)
    states = getattr(learner, "n_states", 1)
    n_states = allocate_states(
        count, states, getattr(learner, "allocation", "all"), getattr(learner, "growth", 0.25)
    )
    layout = Layout.of(productions, n_states)
    work = float((productions.binary_count * np.diff(layout.binary_start)).sum())
    steps = getattr(learner, "max_iter", 0)
    features = 0.0 if states == 1 else 1.2e-5 * len(bank.label)
    cells = int(layout.binary_start[-1])
    return {
        "cells": cells,
        "seconds": round(models * (2 + features + steps * (1e-6 * len(bank.label) + 3 * work / 1e10)), 1),
        "megabytes": round(
            300 + 20 * cells / 1e6 + len(bank.label) * (400 + 12 * float(n_states[bank.label].mean())) / 1e6
        ),
    }


def _gold(dev: str, preset: str) -> list[Tree]:
    """Read the trees to score on."""
    from gramian.trees import normalise, read_trees
    from gramian.trees import preset as named_preset

    trees = (normalise(tree, named_preset(preset)).tree for tree in read_trees(dev))
    return [tree for tree in trees if not tree.is_empty]


def _scores(grammar: LPCFG, gold: list[Tree], jobs: int) -> BracketScores:
    """Parse the words of gold trees and score the result."""
    from gramian.evaluate import GoldBrackets
    from gramian.parsing.model import Model
    from gramian.parsing.parser import Parser

    parser = Parser(Model(grammar))
    predicted = [
        result.tree for result in parser.parse_many([list(tree.words) for tree in gold], n_jobs=jobs)
    ]
    return GoldBrackets(gold).score(predicted)


def _watched(step: int, grammar: LPCFG, gold: list[Tree], jobs: int, quiet: bool) -> float:
    """Return the F1 that decides which step is kept."""
    value = _scores(grammar, gold, jobs).f1_gold_tags
    if not quiet:
        say(f"step {step}: F1 {value:.2f}")
    return value
