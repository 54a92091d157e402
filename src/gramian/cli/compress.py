"""``gramian compress``: a model whose rules are of low rank, smaller and faster (Cohen and Collins 2012)."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Literal

import typer

from gramian.cli.talk import say
from gramian.errors import OptionError

if TYPE_CHECKING:
    from gramian.grammar import LPCFG
    from gramian.grammar.compress.lowrank import Compression


def compress(
    file: str = typer.Argument(metavar="MODEL", help="Model file; best one of 'gramian train --full'."),
    output: str = typer.Option(..., "--output", "-o", help="Model file to write."),
    rank: str = typer.Option(
        "auto", help="Products a rule is made of: a number, or auto for the fewest within the gate."
    ),
    gate: float | None = typer.Option(
        None, min=0.0, help="Largest error of a rule; rules beyond it stay whole. With auto 1e-3, else none."
    ),
    measure: Literal["relative", "absolute"] = typer.Option(
        "relative", help="What the gate bounds: error weighted by frequency, or the Frobenius norm."
    ),
    signed: bool = typer.Option(
        False, "--signed", help="Factors of any sign by least squares, as in the paper; not probabilities."
    ),
    shared: bool = typer.Option(
        False, "--shared", help="One decomposition for all rules; --rank is its size, such as 256."
    ),
    starts: int = typer.Option(2, min=1, help="With --signed: how often least squares begin anew."),
    full: bool = typer.Option(False, "--full", help="Numbers of 32 bits in the file; by default 16."),
    epsilon: float = typer.Option(1e-3, help="Error of a probability for which the guarantee is printed."),
    seed: int = typer.Option(0, min=0, help="Same seed, same model file."),
    jobs: int = typer.Option(1, min=1, help="Threads; the model does not depend on it."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object, with everything."),
) -> None:
    """Make the rule tensors of a model sums of few products; print size, error and predicted speed."""
    import json
    import os
    from dataclasses import asdict, replace

    from gramian.grammar.compress import lowrank
    from gramian.grammar.compress.bound import guarantee
    from gramian.grammar.compress.shared import compress_shared
    from gramian.io.files import check_output
    from gramian.parsing.model_store import load_model, save_model

    check_output(output)
    products = _rank(rank)
    if not epsilon > 0:
        raise OptionError(f"--epsilon is more than 0, not {epsilon!r}")
    if shared and (signed or gate is not None or products == "auto"):
        raise OptionError("--shared takes a --rank such as 256, and neither --gate nor --signed")
    model = load_model(file)
    if any(grammar.factors is not None for grammar in model.grammars):
        say(f"{file}: rules are of low rank already; try: a model of 'gramian train --full'")

    def compressed(grammar: LPCFG) -> Compression:
        if shared and products != "auto":
            found = compress_shared(grammar, products, progress=_progress("products"))
        else:
            found = lowrank.compress(
                grammar, products, gate=gate, measure=measure, signed=signed or not grammar.is_probabilistic,
                starts=starts, random_state=seed, n_jobs=jobs, progress=_progress("rules"),
            )  # fmt: skip
        return found if full else lowrank.compared(grammar, _rounded(found.grammar))

    found = [compressed(grammar) for grammar in model.grammars]
    about = _together([one.summary() for one in found])
    # The error of what MODEL came from adds to that of what was done to it now.
    about["gamma"] += model.report.get("low rank", {}).get("gamma", 0.0)
    report = {**model.report, "low rank": about}
    first, *others = (one.grammar for one in found)
    # Scores of MODEL are not those of what is written.
    save_model(
        replace(model, grammar=first, others=tuple(others), metrics={}, report=report), output, half=not full
    )
    about["bytes"] = {"before": os.path.getsize(file), "after": os.path.getsize(output)}
    sizes = int(max(one.grammar.n_states.max() for one in found)), first.n_symbols
    about["guarantee"] = asdict(guarantee(about["gamma"], *sizes, epsilon)) if about["gamma"] > 0 else None
    if as_json:
        print(json.dumps({"model": file, "output": output, **about}, ensure_ascii=False))
    else:
        _print(output, first.is_probabilistic, about)


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


def _rank(text: str) -> int | Literal["auto"]:
    if text == "auto":
        return "auto"
    if not (text.isascii() and text.isdigit() and 0 < int(text) <= 4096):
        raise OptionError(f"--rank is a number from 1 to 4096, or auto, not {text!r}")
    return int(text)


def _progress(noun: str) -> Any:
    """Return what shows a running count on stderr if that is a terminal."""
    if not sys.stderr.isatty():
        return None

    def show(done: int, total: int) -> None:
        print(f"\r{done:,} of {total:,} {noun}\033[K", end="", file=sys.stderr, flush=True)
        if done + 50 >= total:
            print("\r\033[K", end="", file=sys.stderr, flush=True)

    return show


def _rounded(grammar: LPCFG) -> LPCFG:
    """Return the grammar as it comes back from a file of 16-bit numbers."""
    from gramian.parsing.model import Model
    from gramian.parsing.model_store import rounded

    return rounded(Model(grammar)).grammar


def _print(output: str, is_probabilistic: bool, about: dict[str, Any]) -> None:
    numbers, sizes, ranks = about["rule parameters"], about["bytes"], dict(about["rules by rank"])
    whole = ranks.pop("whole", 0)
    low = sum(ranks.values())
    print(f"{output}: {low:,} of {low + whole:,} rules are of low rank ({about['factors']})")
    if ranks:
        print("  rank       " + ", ".join(f"{rank}: {count:,}" for rank, count in ranks.items()))
    print(
        f"  size       {numbers['before']:,} -> {numbers['after']:,} parameters of rules; "
        f"{sizes['before'] / 1e6:,.2f} -> {sizes['after'] / 1e6:,.2f} MB"
    )
    loss = f"{about['loss']:.3g} nats a sentence" if is_probabilistic else f"{about['loss']:.3g}"
    print(f"  error      expected loss {loss}; largest error of a rule (gamma) {about['gamma']:.3g}")
    if sure := about["guarantee"]:
        within = f"trees up to depth {sure['depth']}, sentences up to {sure['length']} words"
        print(
            f"  guarantee  within {sure['epsilon']:g}: {within if sure['depth'] else 'nothing, the bound is loose'}"
        )
    print(f"  speed      fine pass about {about['predicted speed-up']:.1f} times as fast (predicted)")
