"""``gramian wfa``: learn weighted automata and other sequence models from strings, and use them."""

import json
import math
from typing import Any, Literal

import typer

from gramian.cli.console import say, showing_progress
from gramian.cli.options import (
    ALL_JOBS,
    AS_JSON,
    FORCE,
    MODEL_OUTPUT,
    QUIET,
    SEED,
    TEXT_OUTPUT,
    WAY,
    command_group,
    new_model,
)
from gramian.cli.settings_options import (
    CONFIG,
    SEED_SETTING,
    SET,
    Settings,
    chosen_settings,
    list_settings_option,
    settings_command,
)
from gramian.cli.wfa_exchange import convert, extract
from gramian.cli.wfa_input import Layout, Tags, read_sample
from gramian.errors import OptionError

app = command_group("wfa", "Train, apply, evaluate and draw weighted automata.")
app.command()(extract)
app.command()(convert)

_MODEL = typer.Argument(help="Model file of 'gramian wfa train'.")
_FILE = typer.Argument(
    help="Strings: PAutomaC or SPiCe, plain lines of symbols, trees or CoNLL-U (their tags); - for stdin."
)
_LAYOUT = typer.Option("auto", "--format", help="Input format.")
_TAGS = typer.Option(
    "xpos", help="Tags of a treebank: a column of CoNLL-U, or universal: Penn tags reduced to twelve."
)
_STOP = "<stop>"


def _train_settings() -> Settings:
    from gramian.automata.methods import METHODS, method_settings
    from gramian.settings import Setting
    from gramian.training.papers import paper_setting
    from gramian.value_types import OneOf

    description = "Training method; best averages the models that predict best."
    method = Setting("method", OneOf(*METHODS), "best", description)
    return {"method": method, "paper": paper_setting("wfa train"), **method_settings()}


@app.command(cls=settings_command(_train_settings))
def train(
    file: str = _FILE,
    output: str = MODEL_OUTPUT,
    states: str | None = typer.Option(
        None, help="Number of states (n-grams: the order), or auto.", metavar="INTEGER"
    ),
    method: str | None = typer.Option(
        None,
        help="Training method; best averages the models that predict best.",
        metavar="best|spectral|em|spectral-em|quadratic|convex|ngram",
    ),
    seed: str | None = SEED_SETTING,
    layout: Layout = _LAYOUT,
    tags: Tags = _TAGS,
    jobs: int | None = ALL_JOBS,
    force: bool = FORCE,
    quiet: bool = QUIET,
    assignments: list[str] = SET,
    config: str | None = CONFIG,
    list_settings: bool = list_settings_option(_train_settings),
) -> None:
    """Learn a sequence model from strings."""
    from time import monotonic

    from gramian.automata.methods import learner_of
    from gramian.training.papers import with_paper

    given = {"n_states": states, "method": method, "random_state": seed}
    chosen = chosen_settings(given, assignments, config, _train_settings, "wfa train")
    chosen = with_paper(chosen, "wfa train")
    learner = learner_of(
        chosen.pop("method", "best"), chosen.pop("n_states", "auto"), settings=chosen, n_jobs=jobs or -1
    )
    with new_model(output, force):
        sample = read_sample(file, layout, tags)
        started = monotonic()
        if not quiet:
            say(f"{len(sample):,} strings, {len(sample.symbols):,} symbols of {len(sample.alphabet)} kinds")
        with showing_progress(quiet):
            model = learner.fit(sample).model_
        model.save(output)
    if not quiet:
        say(f"{_words(model)}; {monotonic() - started:.1f} s; written to {output}")


@app.command()
def score(
    model: str = _MODEL,
    file: str = _FILE,
    log: bool = typer.Option(False, "--log", help="Print natural logarithms."),
    layout: Layout = _LAYOUT,
    tags: Tags = _TAGS,
) -> None:
    """Print the probability or weight of each string."""
    from gramian.automata import load_sequence_model

    loaded = load_sequence_model(model)
    sample = read_sample(file, layout, tags)
    for value in (loaded.log_score(sample) if log else loaded.score(sample)).tolist():
        print(f"{value:.10g}")


@app.command()
def predict(
    model: str = _MODEL,
    file: str = _FILE,
    top: int = typer.Option(5, "--top", "-k", min=1, help="Number of symbols per prefix."),
    as_json: bool = AS_JSON,
    layout: Layout = _LAYOUT,
    tags: Tags = _TAGS,
) -> None:
    """Predict the next symbol of each prefix.

    The best come first, with their scores; <stop> is the end.
    """
    import numpy as np

    from gramian.automata import load_sequence_model

    loaded = load_sequence_model(model)
    sample = read_sample(file, layout, tags)
    names = [*map(str, loaded.alphabet), _STOP]
    for number in range(len(sample)):
        row = loaded.next_scores(sample.take([number]))[-1]
        best = np.argsort(-row, kind="stable")[:top].tolist()
        if as_json:
            print(json.dumps([{"symbol": names[i], "score": _number(row[i])} for i in best]))
        else:
            print("\t".join(f"{names[i]} {row[i]:.4g}" for i in best))


@app.command()
def sample(
    model: str = _MODEL,
    number: int = typer.Option(10, "--number", "-n", min=1, help="Number of strings."),
    seed: int = SEED,
    max_length: int = typer.Option(10_000, min=1, help="Cut longer strings."),
    numbered: bool = typer.Option(False, help="Write the PAutomaC format."),
) -> None:
    """Sample random strings from a model that is a distribution."""
    from gramian.automata import load_sequence_model
    from gramian.automata.string_formats import format_string

    loaded = load_sequence_model(model)
    if numbered and loaded.alphabet != tuple(range(len(loaded.alphabet))):
        raise OptionError("--numbered: the symbols of this model are not 0, 1, 2, ...; try: without it")
    drawn = loaded.sample(number, random_state=seed, max_length=max_length)
    if numbered:
        print(len(drawn), len(loaded.alphabet))
    for string in drawn:
        print(format_string(string, numbered=numbered))


@app.command()
def draw(
    model: str = _MODEL,
    output: str = TEXT_OUTPUT,
    force: bool = FORCE,
    picture: Literal["svg", "tikz", "dot", "openfst", "hankel"] = typer.Option(
        "svg",
        "--format",
        help="Output format; hankel is an SVG picture of the Hankel matrix.",
    ),
    size: int = typer.Option(8, min=1, max=60, help="Hankel matrix: number of rows and columns."),
    counted: bool = typer.Option(
        False, "--counted", help="Hankel matrix: show counts of --strings instead of model scores."
    ),
    clusters: int | None = typer.Option(
        None, min=1, help="Draw a deterministic approximation with at most this number of states."
    ),
    way: Literal["own", "published"] = WAY,
    strings: str | None = typer.Option(
        None, help="Strings that determine the approximation; by default, strings sampled from the model."
    ),
    threshold: float = typer.Option(0.05, min=0.0, help="Omit transitions up to this weight."),
    tags: Tags = _TAGS,
) -> None:
    """Draw an automaton.

    Large models and mixtures are drawn as a small deterministic approximation. OpenFST text holds the whole model unless
    --clusters asks for the approximation.
    """
    from gramian.automata import load_sequence_model
    from gramian.automata.automaton_picture import to_svg, to_tikz
    from gramian.automata.dfa import dfa_approximation, typical_strings
    from gramian.automata.exchange import to_dot, to_openfst
    from gramian.automata.hankel_picture import hankel_to_svg, picture_blocks
    from gramian.automata.mixture import Mixture
    from gramian.io.output import check_output, is_written_through, write_lines

    beside = output != "-" and not is_written_through(output)
    if picture == "openfst" and beside:
        check_output(f"{output}.symbols", force=force)
    loaded = load_sequence_model(model)
    large = isinstance(loaded, Mixture) or getattr(loaded, "n_states", 0) > 40
    if clusters is None and large and picture not in ("openfst", "hankel"):
        clusters = 10
        say("a large model: drawing a deterministic approximation of 10 clusters (see --clusters)")
    if picture == "hankel" or clusters is not None:
        sample = typical_strings(loaded) if strings is None else read_sample(strings, "auto", tags)
    machine: Any = loaded
    if clusters is not None and picture != "hankel":
        approximation = dfa_approximation(loaded, sample, clusters, way=way)
        say(f"approximation: {approximation}")
        machine = approximation.machine
    if picture == "hankel":
        text = hankel_to_svg(picture_blocks(loaded, sample, size, counted=counted))
    elif picture == "openfst":
        compiled = to_openfst(machine)
        text = compiled.transitions
        if beside:
            write_lines([compiled.symbols], f"{output}.symbols")
    else:
        text = {"dot": to_dot, "svg": to_svg, "tikz": to_tikz}[picture](machine, threshold)
    write_lines([text], output)


@app.command("eval")
def evaluate(
    model: str = _MODEL,
    test: str = _FILE,
    solution: str | None = typer.Option(
        None, help="PAutomaC: file with the true probabilities of the test strings."
    ),
    targets: str | None = typer.Option(None, help="SPiCe: file with the targets of the test prefixes."),
    as_json: bool = AS_JSON,
    layout: Layout = _LAYOUT,
    tags: Tags = _TAGS,
) -> None:
    """Score a model on strings.

    Prints the PAutomaC perplexity with --solution, NDCG with --targets, otherwise perplexity and error rate.
    """
    from gramian.automata import load_sequence_model
    from gramian.automata.string_formats import read_solution, read_targets
    from gramian.evaluate.sequence_scores import ndcg, next_symbol_scores, pautomac_score

    if solution is not None and targets is not None:
        raise OptionError("--solution and --targets are mutually exclusive")
    loaded = load_sequence_model(model)
    sample = read_sample(test, layout, tags)
    figures: dict[str, Any]
    if solution is not None:
        result = pautomac_score(loaded, sample, read_solution(solution))
        figures = {name: getattr(result, name) for name in ("perplexity", "target", "gap")}
        figures |= {"strings": len(sample), "not_positive": result.not_positive}
        figures["signature"] = result.signature()
    elif targets is not None:
        answers = read_targets(targets)
        if len(answers) == len(sample) + 1:  # as in some of SPiCe's own files
            say(f"{len(answers)} targets for {len(sample)} prefixes: the last target is left out")
            del answers[-1]
        figures = {"ndcg5": ndcg(loaded, sample, answers), "prefixes": len(sample)}
    else:
        scores = next_symbol_scores(loaded, sample)
        names = ("perplexity", "word_error_rate", "log_likelihood", "events")
        figures = {name: getattr(scores, name) for name in names}
        figures["signature"] = scores.signature("perplexity,wer")
    if as_json:
        print(json.dumps({name: _number(value) for name, value in figures.items()}))
        return
    for name, value in figures.items():
        print(f"{name:16} {value:.6g}" if isinstance(value, float) else f"{name:16} {value}")


def _words(model: Any) -> str:
    from gramian.automata.mixture import Mixture

    if isinstance(model, Mixture):
        sizes = sorted({part.n_states for part in model.parts})
        return f"mixture of {len(model.parts)} automata of {', '.join(map(str, sizes))} states"
    return f"automaton of {model.n_states} states"


def _number(value: Any) -> Any:
    """Return what JSON can hold: infinities and NaN become null."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
