"""What there is to know about a model file, and models made smaller: all their grammars with rules of low rank, and the error of that."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from gramian.errors import OptionError
from gramian.grammar.compress import lowrank
from gramian.grammar.compress.lowrank import guarantee
from gramian.grammar.compress.shared import compress_shared
from gramian.io.header import grammar_header
from gramian.io.schema import read_document
from gramian.parsing.model import Model
from gramian.parsing.model_store import rounded
from gramian.trees.labels import is_intermediate

_EPSILONS = (0.1, 1e-3, 1e-6)  # errors of probabilities for which guarantees are given


def model_facts(file: str, model: Model, metadata: Mapping[str, str]) -> dict[str, Any]:
    """Return all of it, as JSON holds it; `metadata` is what :func:`~gramian.io.header.read_header` found in the file."""
    grammar, crf, net = model.grammar, model.expert("crf"), model.expert("neural")
    factors = 0 if grammar.factors is None else len(grammar.factors.values)
    report = dict(model.report)
    spectra = report.pop("singular values", {})
    symbols = [
        {
            "symbol": name.removeprefix("/"),
            "kind": "tag" if name.startswith("/") else "phrase",
            **facts_of_symbol,
            "singular values": spectra.get(name, []),
        }
        for name, facts_of_symbol in report.pop("symbols", {}).items()
    ]
    report.pop("low rank", None)
    report |= _costs(file) | ({"kinds": list(model.kinds)} if model.kinds else {})
    return {
        "format": "grammar",
        "file": file,
        "bytes": os.path.getsize(file),
        "gramian": grammar_header(file, metadata).get("gramian"),
        "data": dict(model.data),
        "options": dict(model.options) | ({} if model.preset is None else {"preset": model.preset}),
        "metrics": dict(model.metrics),
        "size": {
            "grammars": len(model.grammars),
            "expert": crf is not None,
            "expert weight": crf and crf.weight,
            "neural": net is not None,
            "neural weight": net and net.weight,
            "encoder": getattr(getattr(net and net.model, "encoder", None), "path", None),
            "reranker": model.reranker is not None,
            "calibrated": bool(model.calibration),
            "phrases": grammar.n_phrases,
            "intermediate": sum(map(is_intermediate, grammar.symbols)),
            "tags": grammar.n_symbols - grammar.n_phrases,
            "states": int(grammar.n_states.sum()),
            "binary rules": len(grammar.binary_rules),
            "unary rules": len(grammar.unary_rules),
            "rule parameters": len(grammar.binary) + len(grammar.unary) + factors,
            "words": len(grammar.lexicon.words),
            "probabilities": grammar.is_probabilistic,
        },
        "low rank": _low_rank(model),
        "report": report,
        "symbols": sorted(symbols, key=lambda symbol: -symbol.get("count", 0)),
    }


def _low_rank(model: Model) -> dict[str, Any] | None:
    """Return how many rules are of low rank, and what is known of their errors; None if all are whole."""
    factors = model.grammar.factors
    if factors is None:
        return None
    return {
        "rules": int((factors.rank > 0).sum()),
        "largest rank": int(factors.rank.max()),
        **model.report.get("low rank", {}),
        "guarantees": guarantees(model, _EPSILONS),
    }


def _costs(file: str) -> dict[str, Any]:
    """Return what training cost, from the file that it leaves beside the model."""
    try:
        text = Path(f"{file}.log.json").read_bytes()
    except OSError:
        return {}
    hint = "removing it: it only tells what training cost"
    return read_document(dict[str, Any], text, f"{file}.log.json", name="log of a training", hint=hint)


def compress_model(
    model: Model,
    rank: int | Literal["auto"] = "auto",
    *,
    shared: bool = False,
    half: bool = True,
    **options: Any,
) -> Model:
    """Return a model whose rules are of low rank; its report tells how many, and the error, under ``"low rank"``.

    If `shared`, all rules have one decomposition, which takes no `options` of :func:`~gramian.grammar.compress.lowrank.compress`; if
    `half`, the error is that of a file of 16-bit numbers. With a gate, ``"gate"`` tells how many rules are beyond it, which rounding
    alone brings about, and the largest error.
    """
    if shared and (options.get("signed") or options.get("gate") is not None or rank == "auto"):
        raise OptionError("--shared takes a --rank such as 256, and neither --gate nor --signed")
    compressed = []
    for grammar in model.grammars:
        if shared and rank != "auto":
            result = compress_shared(grammar, rank)
        else:
            signed = options.get("signed", False) or not grammar.is_probabilistic
            result = lowrank.compress(grammar, rank, **{**options, "signed": signed})
        compressed.append(
            lowrank.compared(grammar, rounded(Model((result.grammar,))).grammar) if half else result
        )
    facts = _together([result.summary() for result in compressed])
    if (gate := options.get("gate")) is not None:
        measure = options.get("measure", "relative")
        errors = np.concatenate([result.error(measure) for result in compressed])
        facts["gate"] = {"limit": gate, "measure": measure, "rules beyond": int((errors > gate).sum())}
        facts["gate"]["largest error"] = float(errors.max(initial=0.0))
    # The error of what the model came from adds to that of what was done to it now.
    facts["gamma"] += model.report.get("low rank", {}).get("gamma", 0.0)
    report = {**model.report, "low rank": facts}
    # Scores of the model are not those of the smaller one.
    return replace(model, grammars=tuple(result.grammar for result in compressed), metrics={}, report=report)


def guarantees(model: Model, epsilons: Sequence[float]) -> list[dict[str, Any]]:
    """Return up to which trees and sentences probabilities are sure to be within each error; nothing if no error is known."""
    gamma = model.report.get("low rank", {}).get("gamma", 0.0)
    states = int(max(grammar.n_states.max() for grammar in model.grammars))
    sizes = states, model.grammar.n_symbols
    return [asdict(guarantee(gamma, *sizes, epsilon)) for epsilon in epsilons] if gamma > 0 else []


def _together(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the facts of several grammars in one: sums of sizes, the largest gamma, the mean of the rest."""
    whole = dict(parts[0])
    for name in ("rules by rank", "rule parameters"):
        keys = dict.fromkeys(key for part in parts for key in part[name])
        whole[name] = {key: sum(part[name].get(key, 0) for part in parts) for key in keys}
    whole["gamma"] = max(part["gamma"] for part in parts)
    for name, digits in (("loss", 6), ("predicted speed-up", 2)):
        whole[name] = round(sum(part[name] for part in parts) / len(parts), digits)
    return whole
