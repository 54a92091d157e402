"""``gramian train``: learn a grammar from a treebank. Its options are the fields of :class:`gramian.training.recipe.Recipe`."""

from __future__ import annotations

import inspect
from dataclasses import fields
from typing import Any, Literal, get_args

import typer

from gramian.cli.console import say, showing_progress, telling_warnings
from gramian.cli.options import FORCE, QUIET, GroupedCommand, jobs_option, new_model
from gramian.errors import counted
from gramian.training.option_rules import GROUPS
from gramian.training.recipe import Recipe

# Options that do not have the name of the recipe's field.
_CALLED = {"n_states": "states", "max_iter": "iterations", "random_state": "seed"}


def train(
    context: typer.Context,
    trees: str = typer.Argument(help="Bracketed trees: a file, a folder, or - for stdin."),
    output: str = typer.Option(..., "--output", "-o", help="Model file to write."),
    dev: str | None = typer.Option(
        None, help="Trees to score the grammar on; its F1 is stored in the model."
    ),
    jobs: int = jobs_option("Threads, or with --models processes; the model does not depend on it."),
    scheduler: str | None = typer.Option(
        None, help="With --models: address of a Dask scheduler whose workers train them (tcp://host:8786)."
    ),
    dry_run: bool = typer.Option(
        False, help="Print what would be done, with an estimate of time and memory; learn nothing."
    ),
    preset_paper: Literal["thesis", "clustering", "moments"] | None = typer.Option(
        None,
        help="Set all options as a paper has them, but for those that are given: a thesis; clustering as in Narayan and Cohen "
        "(2016); moments as in Cohen et al. (2013).",
        rich_help_panel=GROUPS["research"],
    ),
    force: bool = FORCE,
    quiet: bool = QUIET,
    **options: Any,
) -> None:
    """Learn a grammar from bracketed trees and write it to a model file."""
    import json
    import time

    from gramian.interruption import kept_meanwhile
    from gramian.io.header import grammar_header, read_header
    from gramian.io.output import check_output, is_written_through, writing
    from gramian.parsing.model_store import save_model
    from gramian.training import TrainingData, TrainingRun

    began = time.perf_counter()
    if not dry_run:
        check_output(output, force=True)  # whether it may be replaced is known when the data are read
    beside = not is_written_through(output)  # whether there is a file, beside which other things can be kept
    recipe = _recipe(context, options, preset_paper)
    with showing_progress(quiet):
        with telling_warnings(quiet):
            data = TrainingData.read(trees, recipe)
        kept = output if beside else None
        run = TrainingRun(data, recipe, dev=dev, n_jobs=jobs, scheduler=scheduler, checkpoint=kept)
        if not quiet:
            trees_and_words = f"{counted(data.bank.n_trees, 'tree')}, {counted(data.n_words, 'word')}"
            took = f"{time.perf_counter() - began:.1f} s"
            say(f"read {trees_and_words}, {data.bank.n_symbols} labels and tags: {took}")
        if dry_run:
            print(json.dumps({"options": run.recipe.options(), "estimate": run.estimate()}, indent=2))
            return
        with (
            new_model(output, force or run.would_make(grammar_header(output, read_header(output)))),
            kept_meanwhile(f"what is finished is kept beside {output}, and the same command goes on"),
        ):
            model = run.learn()
            if dev is not None and beside:  # it may be stopped while it is scored
                save_model(model, output, half=not recipe.full)
            save_model(run.scored(model), output, half=not recipe.full)
            if beside:
                with writing(f"{output}.log.json") as log:
                    log.write(json.dumps(run.costs, indent=2) + "\n")
                run.clean()
    if not quiet:
        say(f"wrote {output}: {time.perf_counter() - began:.1f} s in all")


def _with_options_of_recipes() -> inspect.Signature:
    """Return the signature of the command: its own parameters, and one for every field of a recipe."""
    own = inspect.signature(train)
    *first, _ = own.parameters.values()
    more = []
    for one in fields(Recipe):
        if about := one.metadata:
            heading = GROUPS.get(about["group"])
            option = typer.Option(
                one.default,
                help=about["help"],
                min=about["least"],
                max=about["most"],
                rich_help_panel=heading,
            )
            kind = about["kind"] if one.default is not None else about["kind"] | None
            name = _CALLED.get(one.name, one.name)
            more.append(
                inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=option, annotation=kind)
            )
    order = [None, *GROUPS.values()]
    named = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in (*first, *more)]
    parameters = sorted(named, key=lambda one: order.index(getattr(one.default, "rich_help_panel", None)))
    return own.replace(parameters=parameters)


class TrainCommand(GroupedCommand):
    """Takes ``--expert`` with none of its values behind it for ``--expert crf``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments."""
        kinds = get_args(next(one.metadata["kind"] for one in fields(Recipe) if one.name == "expert"))
        told = [
            word if word != "--expert" or behind in kinds else "--expert=crf"
            for word, behind in zip(args, [*args[1:], None], strict=True)
        ]
        return super().parse_args(ctx, told)


train.__signature__ = _with_options_of_recipes()  # type: ignore[attr-defined]


def _recipe(context: typer.Context, options: dict[str, Any], paper: str | None) -> Recipe:
    """Return the recipe that options stand for, if they go together."""
    from gramian.parsing.model_store import load_model
    from gramian.training.papers import paper_recipe

    fields_of = {called: name for name, called in _CALLED.items()}
    if options["start"] is not None:
        options["start"] = load_model(options["start"]).grammar
    values = {fields_of.get(name, name): value for name, value in options.items()}
    sources = {name: context.get_parameter_source(name) for name in context.params}
    told = [name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"]
    given = [fields_of.get(name, name) for name in told]
    if paper is None:
        recipe = Recipe(**values)
    else:
        recipe = paper_recipe(paper, **{name: value for name, value in values.items() if name in given})
    recipe.check(
        given,
        dev=context.params["dev"] is not None,
        scheduler=context.params["scheduler"] is not None,
        spell=lambda name: f"--{_CALLED.get(name, name).replace('_', '-')}",
    )
    return recipe
