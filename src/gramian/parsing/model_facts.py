"""What there is to know about a model file: how it was learnt, from what, how well, and how large it is."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gramian.io.header import grammar_header
from gramian.io.schema import read_document
from gramian.parsing.compression import guarantees
from gramian.parsing.model import Model
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
            **about,
            "singular values": spectra.get(name, []),
        }
        for name, about in report.pop("symbols", {}).items()
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
