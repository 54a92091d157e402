"""``gramian wfa extract`` and ``gramian wfa convert``: automata of black boxes, and of and for other tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import typer

from gramian.cli.console import say, showing_progress
from gramian.cli.options import FORCE, MODEL_OUTPUT, QUIET, SEED, TEXT_OUTPUT, new_model
from gramian.cli.wfa_input import Tags
from gramian.errors import InputError, OptionError

if TYPE_CHECKING:
    from gramian.automata import SequenceModel, Sequences
    from gramian.automata.extraction import BlackBox


def extract(
    source: str = typer.Argument(
        help="A model of gramian, a network in an .onnx file, or MODULE:FUNCTION or FILE.py:FUNCTION."
    ),
    output: str = MODEL_OUTPUT,
    alphabet: str | None = typer.Option(None, help="Symbols, separated by commas; 0..N for numbers."),
    strings: str | None = typer.Option(None, help="Relevant strings; their symbols are the alphabet."),
    tags: Tags = typer.Option("xpos", help="Tags of --strings, if it is a treebank."),
    exact: bool = typer.Option(
        False, "--exact", help="Learn the minimal acceptor of strings with scores above 0.5."
    ),
    states: int | None = typer.Option(
        None, min=1, help="Maximum number of states; by default, as many as reduce the error."
    ),
    queries: int = typer.Option(20_000, min=1, help="Maximum number of queries."),
    tolerance: float = typer.Option(
        1e-6, min=0.0, help="Stop when no test string differs by more than this share of the largest score."
    ),
    probes: int = typer.Option(
        1000, min=2, help="Number of test strings; half of them are only used for the report."
    ),
    max_length: int = typer.Option(12, min=1, help="Maximum length of random test strings."),
    start_symbol: int | None = typer.Option(None, min=0, help="ONNX: start symbol of each string."),
    stop_symbol: int | None = typer.Option(None, min=0, help="ONNX: stop symbol of each string."),
    seed: int = SEED,
    force: bool = FORCE,
    quiet: bool = QUIET,
) -> None:
    """Extract an automaton from a function of strings by queries.

    The result is a weighted automaton by spectral learning with a growing basis, or with --exact an acceptor by L*. MODULE:FUNCTION runs
    code: the function takes a list of tuples of symbols and returns as many numbers.
    """
    from gramian.automata.black_boxes import find_function, onnx_black_box
    from gramian.automata.extraction import extract as extract_automaton
    from gramian.automata.extraction import extract_acceptor
    from gramian.cli.wfa_input import read_sample

    sample: Sequences | None = None if strings is None else read_sample(strings, "auto", tags)
    symbols: tuple[str | int, ...] = sample.alphabet if sample is not None else ()
    if alphabet is not None:
        symbols = _symbols(alphabet)
    with new_model(output, force):
        if ":" in source or source.endswith(".onnx"):
            if not symbols:
                raise OptionError("the alphabet is unknown; try: --alphabet a,b or --strings FILE")
            ends = [[] if symbol is None else [symbol] for symbol in (start_symbol, stop_symbol)]
            is_onnx = source.endswith(".onnx")
            score: BlackBox = (
                onnx_black_box(source, symbols, start=ends[0], stop=ends[1])
                if is_onnx
                else find_function(source)
            )
        else:
            model = _load(source)
            score, symbols = model.score, symbols or model.alphabet
            sample = sample or model.sample(2 * probes, random_state=seed, max_length=50 * max_length)
        shared: dict[str, Any] = {
            "strings": sample,
            "n_probes": probes,
            "max_length": max_length,
            "random_state": seed,
        }
        with showing_progress(quiet):
            if exact:
                result = extract_acceptor(score, symbols, max_states=states or 200, **shared)
            else:
                result = extract_automaton(
                    score, symbols, n_states=states, tolerance=tolerance, max_queries=queries, **shared
                )
        result.model.save(output)
    if not quiet:
        say(f"{result}; written to {output}")


def convert(
    file: str = typer.Argument(
        help="A model of gramian, a machine of PAutomaC, JSON of FlexFringe, or DOT of an acceptor (AALpy)."
    ),
    output: str = TEXT_OUTPUT,
    to: Literal["model", "pautomac", "flexfringe", "aalpy"] = typer.Option(
        "model", "--to", help="Output format."
    ),
    force: bool = FORCE,
) -> None:
    """Convert an automaton to or from the format of another tool."""
    from gramian.automata.exchange import exported
    from gramian.io.output import write_lines

    model = _load(file)
    if to == "model":
        with new_model(output, force):
            model.save(output)
        return
    write_lines([exported(model, to)], output)


def _load(path: str) -> SequenceModel:
    """Read a model of gramian, or an automaton in another format."""
    from gramian.automata import load_sequence_model
    from gramian.automata.exchange import read_automaton

    try:
        with open(path, "rb") as file:
            start = file.read(64)
    except OSError as error:
        raise InputError.of_system(error, "opened", path) from None
    # ours begin with the length of a header
    is_text = start[8:9] != b"{" and start.lstrip().startswith((b"I:", b"{", b"digraph"))
    return read_automaton(path) if is_text else load_sequence_model(path)


def _symbols(text: str) -> tuple[str | int, ...]:
    """Return the symbols of a list with commas, or the numbers of a range with two dots."""
    first, dots, last = text.partition("..")
    if dots and first.isdecimal() and last.isdecimal() and int(last) < 1_000_000:
        return tuple(range(int(first), int(last) + 1))
    names = [name.strip() for name in text.split(",")]
    return tuple(int(name) for name in names) if all(name.isdecimal() for name in names) else tuple(names)
