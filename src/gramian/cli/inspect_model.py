"""``gramian inspect MODEL``: how a model was learnt, from what and how well, and what the states of a label are."""

from __future__ import annotations

import json
import os
import shutil
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from gramian.cli.talk import say

if TYPE_CHECKING:
    from gramian.grammar.describe import Share, SymbolDescription
    from gramian.parsing.model import Model

_LONGEST_HEADER = 1 << 28
_SPECTRUM = 6  # singular values shown
_LEAST = 0.005  # shares that round to 0 % are not shown
_EPSILONS = (0.1, 1e-3, 1e-6)  # errors of probabilities for which guarantees are shown


def read_header(file: str) -> dict[str, str] | None:
    """Return the metadata of a safetensors file, or None if it is none; nothing else of it is read."""
    if not os.path.isfile(file):
        return None
    with open(file, "rb") as stream:
        start = stream.read(9)
        size = int.from_bytes(start[:8], "little")
        if len(start) < 9 or start[8:] != b"{" or size > _LONGEST_HEADER:
            return None
        try:
            header = json.loads(start[8:] + stream.read(size - 1))
        except ValueError:
            return {}  # cut short: whoever reads all of it will say so
    metadata = header.get("__metadata__", {})
    return metadata if isinstance(metadata, dict) else {}


def inspect_model(file: str, metadata: Mapping[str, str], label: str | None, top: int, as_json: bool) -> None:
    """Print what a model file holds; with a label, what its states are."""
    if "gramian-automata" in metadata:
        _print_other(file, metadata["gramian-automata"], label, as_json)
        return
    from gramian.parsing.model_store import load_model

    model = load_model(file)
    if label is not None:
        _print_label(model, label, top, as_json)
        return
    facts = _facts(file, model, metadata)
    if as_json:
        print(json.dumps(facts, ensure_ascii=False))
    else:
        _print_facts(facts, top)


# -- the whole model -------------------------------------------------------------------------------------------------


def _facts(file: str, model: Model, metadata: Mapping[str, str]) -> dict[str, Any]:
    from gramian.trees.labels import is_intermediate

    grammar = model.grammar
    report = dict(model.report)
    spectra = report.pop("singular values", {})
    symbols = [
        {
            "symbol": name.removeprefix("/"),
            "kind": "tag" if name.startswith("/") else "phrase",
            **about,
            "singular values": spectra.get(name, []),
        }
        for name, about in report.pop("symbols", {}).items()
    ]
    low_rank = _low_rank(model, report.pop("low rank", {}))
    report |= _costs(file) | ({"kinds": list(model.kinds)} if model.kinds else {})
    return {
        "format": "grammar",
        "file": file,
        "bytes": os.path.getsize(file),
        "gramian": json.loads(metadata["gramian"]).get("gramian"),
        "data": dict(model.data),
        "options": dict(model.options) | ({} if model.preset is None else {"preset": model.preset}),
        "metrics": dict(model.metrics),
        "size": {
            "grammars": len(model.grammars),
            "expert": model.expert is not None,
            "expert weight": model.expert_weight,
            "reranker": model.reranker is not None,
            "calibrated": bool(model.calibration),
            "phrases": grammar.n_phrases,
            "intermediate": sum(map(is_intermediate, grammar.symbols)),
            "tags": grammar.n_symbols - grammar.n_phrases,
            "states": int(grammar.n_states.sum()),
            "binary rules": len(grammar.binary_rules),
            "unary rules": len(grammar.unary_rules),
            "rule parameters": len(grammar.binary)
            + len(grammar.unary)
            + (0 if grammar.factors is None else len(grammar.factors.values)),
            "words": len(grammar.lexicon.words),
            "probabilities": grammar.is_probabilistic,
        },
        "low rank": low_rank,
        "report": report,
        "symbols": sorted(symbols, key=lambda symbol: -symbol.get("count", 0)),
    }


def _low_rank(model: Model, stored: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return how many rules are of low rank, and what is known of their errors; None if all are whole."""
    from gramian.grammar.compress.bound import guarantee

    grammar = model.grammar
    if grammar.factors is None:
        return None
    gamma, states = stored.get("gamma"), int(grammar.n_states.max())
    return {
        "rules": int((grammar.factors.rank > 0).sum()),
        "largest rank": int(grammar.factors.rank.max()),
        **stored,
        "guarantees": [
            asdict(guarantee(gamma, states, grammar.n_symbols, epsilon)) for epsilon in _EPSILONS if gamma
        ],
    }


def _costs(file: str) -> dict[str, Any]:
    """Return what training cost, from the file that it leaves beside the model."""
    try:
        with open(f"{file}.log.json", encoding="utf-8") as log:
            costs = json.load(log)
    except (OSError, ValueError):
        return {}
    return costs if isinstance(costs, dict) else {}


def _print_facts(facts: dict[str, Any], top: int) -> None:
    from gramian.trees.labels import unescape_label

    data, size, report = dict(facts["data"]), facts["size"], facts["report"]
    what = f"{size['grammars']} grammars" if size["grammars"] > 1 else "a grammar"
    what += " and a span CRF" if size["expert"] else ""
    what += " and a reranker" if size["reranker"] else ""
    what += ", calibrated" if size["calibrated"] else ""
    print(f"{facts['file']}: {what}, {facts['bytes'] / 1e6:,.1f} MB, written by gramian {facts['gramian']}")
    if data:
        credit = data.pop("attribution", None)
        _row("data", [_fact(name, value) for name, value in data.items()])
        if credit:
            _row("credit", [credit])
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
    _row("symbols", [f"{size['phrases']} phrases ({size['intermediate']} of them intermediate)", f"{size['tags']} tags",
                     f"{size['states']:,} states{kind}"])  # fmt: skip
    _row("rules", [f"{size['binary rules']:,} of two children", f"{size['unary rules']:,} over a tag",
                   f"{size['rule parameters']:,} parameters"])  # fmt: skip
    if low := facts["low rank"]:
        _row("low rank", [f"{low['rules']:,} of {size['binary rules']:,} rules", f"rank up to {low['largest rank']}", *(
            f"{name} {low[key]:.3g}" for key, name in (("loss", "expected loss"), ("gamma", "largest error (gamma)"),
                                                       ("predicted speed-up", "predicted speed-up")) if key in low)])  # fmt: skip
        if low["guarantees"]:
            sure = [f"within {one['epsilon']:g}: trees up to depth {one['depth']}, sentences up to {one['length']} words"
                    for one in low["guarantees"] if one["depth"]]  # fmt: skip
            _row("guarantee", sure or [f"nothing within {_EPSILONS[0]:g}: the bound is loose"])
    _row("words", [f"{size['words']:,}"])
    seconds = report.pop("seconds", {})
    _row(
        "seconds",
        [f"{stage} {took:,.1f}" for stage, took in seconds.items()],
    )
    if steps := report.pop("log-likelihood", []):
        _row("EM", [f"log-likelihood from {steps[0]:,.0f} to {steps[-1]:,.0f} in {len(steps)} steps"])
    _row(
        "report", [_fact(name, value) for name, value in report.items() if not isinstance(value, list | dict)]
    )
    if search:
        _print_search(search)
    if members := report.get("members"):
        _print_members(members, report.get("disagreement"))
    listed = facts["symbols"][:top]
    if listed:
        print(f"\n  {'label':<12} {'count':>9}  {'states':>6}  singular values (the largest = 1)")
        for symbol in listed:
            name = unescape_label(symbol["symbol"]) + (" (tag)" if symbol["kind"] == "tag" else "")
            values = symbol["singular values"]
            spectrum = " ".join(f"{value / values[0]:.2f}" for value in values[:_SPECTRUM] if values[0] > 0)
            print(f"  {name:<12} {symbol['count']:>9,}  {symbol['states']:>6}  {spectrum}".rstrip())
        if len(facts["symbols"]) > top:
            print(f"  and {len(facts['symbols']) - top} more (--top)")
        example = next((symbol for symbol in facts["symbols"] if symbol["states"] > 1), listed[0])
        say(f"try: gramian inspect {facts['file']} --label '{unescape_label(example['symbol'])}'")


def _print_search(search: dict[str, Any]) -> None:
    """Print the candidates of a search for numbers of states that were better than all before them."""
    print(
        f"\n  search for states ({search['method']}, {search['candidates']} candidates), F1 on {search['judge']}"
    )
    print(f"  {'candidate':>9}  {'changed':<20} {'states':>6}  {'F1':>6}")
    for number, symbol, states, score in search["steps"]:
        print(f"  {number:>9}  {symbol or 'start':<20} {states:>6}  {score:>6.2f}")


def _print_members(members: list[dict[str, Any]], disagreement: list[list[float]] | None) -> None:
    """Print what each of several grammars is, how well it parses alone, and how much its trees differ from the others'."""
    print(
        f"\n  {'grammar':>7}  {'binarised':<9}  {'noise':<20}  {'seed':>4}  {'F1 alone':>8}"
        + ("  disagreement with each (100 - F1)" if disagreement else "")
    )
    for number, member in enumerate(members):
        noise = f"{member['noise']} {member['noise_level']:g}" if member["noise"] else "none"
        alone = f"{member['f1_gold_tags']:.2f}" if "f1_gold_tags" in member else ""
        row = " ".join(f"{value:5.1f}" for value in disagreement[number]) if disagreement else ""
        print(
            f"  {number + 1:>7}  {member['direction']:<9}  {noise:<20}  {member['seed']:>4}  {alone:>8}  {row}".rstrip()
        )


def _print_other(file: str, text: str, label: str | None, as_json: bool) -> None:
    """Print the header of a model that is no grammar of trees."""
    from gramian.errors import ModelFileError, OptionError

    try:
        header = json.loads(text)
        kind = header.pop("kind")
    except (ValueError, AttributeError, KeyError):
        raise ModelFileError(f"{file}: the header of the model is damaged; try: copying it again") from None
    if label is not None:
        raise OptionError(f"{file}: --label is for grammars of trees, and this is a {kind} model")
    if as_json:
        print(
            json.dumps(
                {"format": kind, "file": file, "bytes": os.path.getsize(file), **header}, ensure_ascii=False
            )
        )
        return
    print(f"{file}: a {kind} model, {os.path.getsize(file) / 1e6:,.1f} MB")
    for name, value in header.items():
        if isinstance(value, dict):
            _row(name, [_fact(key, part) for key, part in value.items()])
        else:
            _row(name, [_fact("", value)])


# -- the states of a label -------------------------------------------------------------------------------------------


def _print_label(model: Model, label: str, top: int, as_json: bool) -> None:
    from gramian.grammar.describe import describe, symbols_named

    found = [
        describe(model.grammar, number, top=min(top, 5)) for number in symbols_named(model.grammar, label)
    ]
    if as_json:
        print(json.dumps([asdict(symbol) for symbol in found], ensure_ascii=False))
        return
    for place, symbol in enumerate(found):
        if place:
            print()
        _print_symbol(symbol)


def _print_symbol(symbol: SymbolDescription) -> None:
    count = len(symbol.states)
    print(
        f"{symbol.symbol}: a {symbol.kind} of {count} state{'s' * (count > 1)}, {100 * symbol.share:.1f} % of all nodes"
    )
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
        indent = " " * 13
        print(
            textwrap.fill(
                f"  {name:<10} {text}",
                _width(),
                subsequent_indent=indent,
                break_long_words=False,
                break_on_hyphens=False,
            )
        )


def _cut(text: str) -> str:
    return text if len(text) <= _width() else text[: _width() - 1] + "…"


def _width() -> int:
    return max(60, shutil.get_terminal_size((110, 24)).columns)
