"""``gramian sample``: trees drawn from a grammar."""

from itertools import islice

import typer

from gramian.cli.console import counting, say
from gramian.cli.options import FORCE, MODEL, QUIET, SEED, TEXT_OUTPUT
from gramian.errors import counted


def sample(
    model: str | None = MODEL,
    n: int = typer.Option(10, "-n", min=0, help="Number of trees."),
    seed: int = SEED,
    max_length: int = typer.Option(200, min=1, help="Reject trees with more words."),
    output: str = TEXT_OUTPUT,
    force: bool = FORCE,
    quiet: bool = QUIET,
) -> None:
    """Sample random trees from a grammar."""
    from gramian.grammar.tree_sampling import TreeSampler
    from gramian.io.output import write_lines
    from gramian.parsing.model_store import load_model

    sampler = TreeSampler(load_model(model).grammar, random_state=seed, max_length=max_length)
    write_lines(counting(islice(sampler, n), "trees"), output)
    if sampler.rejected and not quiet:
        say(f"drawn anew, for more than {max_length} words: {counted(sampler.rejected, 'tree')}")
