"""A model whose rules are of low rank: all its grammars made small, and what is known of the error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any, Literal

import numpy as np

from gramian.errors import OptionError
from gramian.grammar.compress import lowrank
from gramian.grammar.compress.bound import guarantee
from gramian.grammar.compress.shared import compress_shared
from gramian.parsing.model import Model
from gramian.parsing.model_store import rounded


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
    found = []
    for grammar in model.grammars:
        if shared and rank != "auto":
            one = compress_shared(grammar, rank)
        else:
            signed = options.get("signed", False) or not grammar.is_probabilistic
            one = lowrank.compress(grammar, rank, **{**options, "signed": signed})
        found.append(lowrank.compared(grammar, rounded(Model((one.grammar,))).grammar) if half else one)
    facts = _together([one.summary() for one in found])
    if (gate := options.get("gate")) is not None:
        measure = options.get("measure", "relative")
        errors = np.concatenate([one.error(measure) for one in found])
        facts["gate"] = {"limit": gate, "measure": measure, "rules beyond": int((errors > gate).sum())}
        facts["gate"]["largest error"] = float(errors.max(initial=0.0))
    # The error of what the model came from adds to that of what was done to it now.
    facts["gamma"] += model.report.get("low rank", {}).get("gamma", 0.0)
    report = {**model.report, "low rank": facts}
    # Scores of the model are not those of the smaller one.
    return replace(model, grammars=tuple(one.grammar for one in found), metrics={}, report=report)


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
