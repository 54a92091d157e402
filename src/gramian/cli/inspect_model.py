"""``gramian inspect MODEL``: how a model was learnt, from what and how well, and what the states of a label are."""

from __future__ import annotations

import os
import shutil
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from gramian.cli.console import print_json, say
from gramian.errors import counted

if TYPE_CHECKING:
    from gramian.grammar.describe import Share, SymbolDescription
    from gramian.parsing.model import Model

_SPECTRUM = 6  # singular values shown
_LEAST = 0.005  # shares that round to 0 % are not shown


def inspect_model(file: str, metadata: Mapping[str, str], label: str | None, top: int, as_json: bool) -> None:
    """Print what a model file holds; with a label, what its states are."""
    if "gramian-automata" in metadata:
        _print_other(file, metadata["gramian-automata"], label, as_json)
        return
    from gramian.parsing.model_facts import model_facts
    from gramian.parsing.model_store import load_model

    model = load_model(file)
    if label is not None:
        _print_label(model, label, top, as_json)
        return
    facts = model_facts(file, model, metadata)
    if as_json:
        print_json(facts)
    else:
        _print_facts(facts, top)


# -- the whole model -------------------------------------------------------------------------------------------------


def _print_facts(facts: dict[str, Any], top: int) -> None:
    data, size, report = dict(facts["data"]), facts["size"], facts["report"]
    model_kind = f"{size['grammars']} grammars" if size["grammars"] > 1 else "a grammar"
    more = {"expert": " and a span CRF", "neural": " and a neural expert", "reranker": " and a reranker"}
    more |= {"calibrated": ", calibrated"}
    model_kind += "".join(text for name, text in more.items() if size[name])
    print(
        f"{facts['file']}: {model_kind}, {facts['bytes'] / 1e6:,.1f} MB, written by gramian {facts['gramian']}"
    )
    credit = data.pop("attribution", None)
    _row("data", [_fact(name, value) for name, value in data.items()])
    _row("credit", [credit] if credit else [])
    if encoder := size["encoder"]:
        _row("needs", [f"torch, transformers and the encoder in {encoder}"])
    options = dict(facts["options"])
    search = options.pop("search", None)
    for name in ("n_states", "states"):  # the latter in older files
        if isinstance(options.get(name), dict):
            options[name] = "searched"
    _row("options", [_fact(name, value) for name, value in sorted(options.items()) if value is not None])
    _row("scores", [_fact(name, value) for name, value in facts["metrics"].items()])
    kind = ""
    if not size["probabilities"]:
        signed = (facts["low rank"] or {}).get("factors") == "signed"
        kind = f" ({'signed factors' if signed else 'observable operators'}, which are no probabilities)"
    phrases, tags, states = (counted(size[f"{noun}s"], noun) for noun in ("phrase", "tag", "state"))
    _row("symbols", [f"{phrases} ({size['intermediate']} of them intermediate)", tags, states + kind])
    rules = f"{size['binary rules']:,} of two children", f"{size['unary rules']:,} over a tag"
    _row("rules", [*rules, counted(size["rule parameters"], "parameter")])
    if low := facts["low rank"]:
        _print_low_rank(low, size["binary rules"])
    _row("words", [f"{size['words']:,}"])
    _row("seconds", [f"{stage} {took:,.1f}" for stage, took in report.pop("seconds", {}).items()])
    if steps := report.pop("log-likelihood", []):
        count = counted(len(steps), "step")
        _row("EM", [f"log-likelihood from {steps[0]:,.0f} to {steps[-1]:,.0f} in {count}"])
    plain = [_fact(name, value) for name, value in report.items() if not isinstance(value, list | dict)]
    _row("report", plain)
    if search:
        _print_search(search)
    if members := report.get("members"):
        _print_members(members, report.get("disagreement"))
    if facts["symbols"]:
        _print_symbols(facts["symbols"], top, facts["file"])


def _print_low_rank(low: dict[str, Any], rules: int) -> None:
    names = {"loss": "expected loss", "gamma": "largest error (gamma)"}
    names["predicted speed-up"] = "predicted speed-up"
    errors = [f"{name} {low[key]:.3g}" for key, name in names.items() if key in low]
    _row("low rank", [f"{low['rules']:,} of {rules:,} rules", f"rank up to {low['largest rank']}", *errors])
    sure = [
        f"within {guarantee['epsilon']:g}: trees up to depth {guarantee['depth']}, sentences up to {guarantee['length']} words"
        for guarantee in low["guarantees"]
        if guarantee["depth"]
    ]
    if low["guarantees"]:
        _row("guarantee", sure or [f"nothing within {low['guarantees'][0]['epsilon']:g}: the bound is loose"])


def _print_symbols(symbols: list[dict[str, Any]], top: int, file: str) -> None:
    """Print counts, states and singular values of the most frequent labels."""
    from gramian.trees.labels import unescape_label

    print(f"\n  {'label':<12} {'count':>9}  {'states':>6}  singular values (the largest = 1)")
    for symbol in symbols[:top]:
        name = unescape_label(symbol["symbol"]) + (" (tag)" if symbol["kind"] == "tag" else "")
        values = symbol["singular values"]
        spectrum = " ".join(f"{value / values[0]:.2f}" for value in values[:_SPECTRUM] if values[0] > 0)
        print(f"  {name:<12} {symbol['count']:>9,}  {symbol['states']:>6}  {spectrum}".rstrip())
    if len(symbols) > top:
        print(f"  and {len(symbols) - top} more (--top)")
    example = next((symbol for symbol in symbols if symbol["states"] > 1), symbols[0])
    say(f"try: gramian inspect {file} --label '{unescape_label(example['symbol'])}'")


def _print_search(search: dict[str, Any]) -> None:
    """Print the candidates of a search for numbers of states that were better than all before them."""
    tried = f"{search['method']}, {search['candidates']} candidates"
    print(f"\n  search for states ({tried}), F1 on {search['judge']}")
    print(f"  {'candidate':>9}  {'changed':<20} {'states':>6}  {'F1':>6}")
    for number, symbol, states, score in search["steps"]:
        print(f"  {number:>9}  {symbol or 'start':<20} {states:>6}  {score:>6.2f}")


def _print_members(members: list[dict[str, Any]], disagreement: list[list[float]] | None) -> None:
    """Print what each of several grammars is, how well it parses alone, and how its trees differ from the others'."""
    title = "disagreement with each (100 - F1)" if disagreement else ""
    rows = [("grammar", "binarised", "noise", "seed", "F1 alone", title)]
    for number, member in enumerate(members):
        noise = f"{member['noise']} {member['noise_level']:g}" if member["noise"] else "none"
        alone = f"{member['f1_gold_tags']:.2f}" if "f1_gold_tags" in member else ""
        apart = " ".join(f"{value:5.1f}" for value in disagreement[number]) if disagreement else ""
        rows.append((str(number + 1), member["direction"], noise, str(member["seed"]), alone, apart))
    print()
    for row_number, binarised, noise, seed, alone, apart in rows:
        print(f"  {row_number:>7}  {binarised:<9}  {noise:<20}  {seed:>4}  {alone:>8}  {apart}".rstrip())


def _print_other(file: str, text: str, label: str | None, as_json: bool) -> None:
    """Print the header of a model that is no grammar of trees."""
    from gramian.errors import ModelFileError, OptionError
    from gramian.io.schema import SchemaError, as_document, parse_document

    try:
        header = parse_document(dict[str, Any], text)
        kind = as_document(str, header.pop("kind", None), "kind")
    except SchemaError as error:
        raise ModelFileError(f"{file}: invalid model header: {error}; try: copy the file again") from None
    if label is not None:
        raise OptionError(f"{file}: --label requires a constituency model, and this is a {kind} model")
    if as_json:
        print_json({"format": kind, "file": file, "bytes": os.path.getsize(file), **header})
        return
    print(f"{file}: a {kind} model, {os.path.getsize(file) / 1e6:,.1f} MB")
    for name, value in header.items():
        parts = value if isinstance(value, dict) else {"": value}
        _row(name, [_fact(key, part) for key, part in parts.items()])


# -- the states of a label -------------------------------------------------------------------------------------------


def _print_label(model: Model, label: str, top: int, as_json: bool) -> None:
    from gramian.grammar.describe import Describer, symbols_named

    numbers = symbols_named(model.grammar, label)
    describer = Describer(model.grammar)
    described = [describer.describe(number, top=min(top, 5)) for number in numbers]
    if as_json:
        print_json([asdict(symbol) for symbol in described])
        return
    for index, symbol in enumerate(described):
        _print_symbol(symbol, "\n" if index else "")


def _print_symbol(symbol: SymbolDescription, before: str) -> None:
    states = counted(len(symbol.states), "state")
    print(f"{before}{symbol.symbol}: a {symbol.kind} of {states}, {100 * symbol.share:.1f} % of all nodes")
    for state in symbol.states:
        lines = {
            "rules": _shares(state.rules),
            "words": _shares(state.words),
            "places": _shares(state.contexts),
            "as in": "  |  ".join(state.examples),
        }
        head = f"{state.state:>4}  {100 * state.share:>5.1f} %"
        for name, text in lines.items():
            if text:
                print(_cut(f"{head:<14}{name:<8}{text}"))
                head = ""


def _shares(shares: Sequence[Share]) -> str:
    return ", ".join(f"{part.name} {100 * part.share:.0f}%" for part in shares if part.share >= _LEAST)


# -- text ------------------------------------------------------------------------------------------------------------


def _fact(name: str, value: Any) -> str:
    if isinstance(value, bool | None):
        text = {True: "yes", False: "no", None: "none"}[value]
    elif isinstance(value, int | float):
        text = f"{value:,}"
    elif isinstance(value, list | tuple | dict):
        text = f"{len(value):,} of them" if len(value) > 8 else ", ".join(map(str, value))
    else:
        text = str(value)
    return f"{name} {text}".strip()


def _row(name: str, parts: Sequence[str]) -> None:
    """Print facts under a name, over as many lines as they need."""
    text = "; ".join(parts)
    if text:
        whole: dict[str, Any] = {"break_long_words": False, "break_on_hyphens": False}
        print(textwrap.fill(f"  {name:<10} {text}", _width(), subsequent_indent=" " * 13, **whole))


def _cut(text: str) -> str:
    return text if len(text) <= _width() else text[: _width() - 1] + "…"


def _width() -> int:
    return max(60, shutil.get_terminal_size((110, 24)).columns)
