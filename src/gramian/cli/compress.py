"""``gramian compress``: a model whose rules are of low rank, smaller and faster (Cohen and Collins 2012)."""

from typing import Any, Literal

import typer

from gramian.cli.console import print_json, say, showing_progress
from gramian.cli.options import AS_JSON, FORCE, JOBS, MODEL_OUTPUT, SEED, new_model
from gramian.errors import OptionError


def compress(
    file: str = typer.Argument(
        metavar="MODEL", help="Model file, preferably trained with --set compress=false."
    ),
    output: str = MODEL_OUTPUT,
    rank: str = typer.Option(
        "auto", help="Rank of the rules: a number, or auto for the lowest rank within the gate."
    ),
    gate: float | None = typer.Option(
        None,
        min=0.0,
        help="Largest error of a rule; rules beyond it stay whole. Default: 1e-3 with auto, otherwise none.",
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
    starts: int = typer.Option(2, min=1, help="With --signed: number of restarts of least squares."),
    full: bool = typer.Option(False, "--full", help="Store 32-bit numbers instead of 16-bit numbers."),
    epsilon: float = typer.Option(1e-3, help="Error for which the guarantee is printed."),
    seed: int = SEED,
    jobs: int = JOBS,
    force: bool = FORCE,
    as_json: bool = AS_JSON,
) -> None:
    """Compress the rule tensors of a model.

    Each tensor becomes a sum of few products. Prints size, error and predicted speed.
    """
    import os

    from gramian.parsing.model_facts import compress_model, guarantees
    from gramian.parsing.model_store import load_model, save_model

    products: int | Literal["auto"] = "auto" if rank == "auto" else _rank(rank)
    if not epsilon > 0:
        raise OptionError(f"--epsilon must be more than 0, got {epsilon!r}")
    model = load_model(file)
    if any(grammar.factors is not None for grammar in model.grammars):
        say(f"{file}: rules are of low rank already; try: a model of 'gramian train --set compress=false'")
    options: dict[str, Any] = {"gate": gate, "measure": measure, "signed": signed, "starts": starts}
    options |= {"random_state": seed, "n_jobs": jobs}
    with new_model(output, force), showing_progress(quiet=False):
        small = compress_model(model, products, shared=shared, half=not full, **options)
        save_model(small, output, half=not full)
    facts = dict(small.report["low rank"])
    facts["bytes"] = {"before": os.path.getsize(file), "after": os.path.getsize(output)}
    facts["guarantee"] = next(iter(guarantees(small, [epsilon])), None)
    if as_json:
        print_json({"model": file, "output": output, **facts})
    else:
        _print(output, small.grammar.is_probabilistic, facts)


def _rank(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < int(text) <= 4096):
        raise OptionError(f"--rank must be a number from 1 to 4096, or auto, got {text!r}")
    return int(text)


def _print(output: str, is_probabilistic: bool, facts: dict[str, Any]) -> None:
    numbers, sizes, ranks = facts["rule parameters"], facts["bytes"], dict(facts["rules by rank"])
    whole = ranks.pop("whole", 0)
    low = sum(ranks.values())
    print(f"{output}: {low:,} of {low + whole:,} rules are of low rank ({facts['factors']})")
    if ranks:
        print("  rank       " + ", ".join(f"{rank}: {count:,}" for rank, count in ranks.items()))
    print(
        f"  size       {numbers['before']:,} -> {numbers['after']:,} parameters of rules; "
        f"{sizes['before'] / 1e6:,.2f} -> {sizes['after'] / 1e6:,.2f} MB"
    )
    loss = f"{facts['loss']:.3g} nats a sentence" if is_probabilistic else f"{facts['loss']:.3g}"
    print(f"  error      expected loss {loss}; largest error of a rule (gamma) {facts['gamma']:.3g}")
    if gate := facts.get("gate"):
        within_gate = f"all rules are within {gate['limit']:g}"
        if beyond := gate["rules beyond"]:
            share = gate["largest error"] / gate["limit"] if gate["limit"] else float("inf")
            within_gate = (
                f"{beyond:,} rules are beyond {gate['limit']:g} after rounding to 16 bits, at most {gate['largest error']:.3g}, "
                f"{share:.3g} times the gate; try: --full"
            )
        print(f"  gate       {within_gate}")
    if sure := facts["guarantee"]:
        within = f"trees up to depth {sure['depth']}, sentences up to {sure['length']} words"
        within = within if sure["depth"] else "nothing, the bound is loose"
        print(f"  guarantee  within {sure['epsilon']:g}: {within}")
    print(f"  speed      fine pass about {facts['predicted speed-up']:.1f} times as fast (predicted)")
