"""``gramian sample``: trees drawn from a grammar."""

from __future__ import annotations

from itertools import islice

import typer

from gramian.cli.talk import counted, say


def sample(
    model: str | None = typer.Option(None, "--model", "-m", help="Model file; without it, the bundled one."),
    n: int = typer.Option(10, "-n", min=0, help="How many trees."),
    seed: int = typer.Option(0, min=0, help="Same seed, same trees."),
    max_length: int = typer.Option(200, min=1, help="Draw trees with more words anew."),
    output: str = typer.Option("-", "--output", "-o", help="Where to write; .gz and .xz are compressed."),
    quiet: bool = typer.Option(False, "--quiet", "-q", help="Say nothing but errors."),
) -> None:
    """Draw trees at random from the distribution of a grammar, one a line."""
    from gramian.grammar.sample import TreeSampler
    from gramian.io.files import writing
    from gramian.parsing.model_store import load_model

    sampler = TreeSampler(load_model(model).grammar, random_state=seed, max_length=max_length)
    with writing(output) as out:
        for tree in counted(islice(sampler, n), "trees"):
            out.write(f"{tree}\n")
    if sampler.rejected and not quiet:
        say(f"{sampler.rejected:,} trees of more than {max_length} words were drawn anew")
