"""``gramian split``: a treebank cut into train, dev and test."""

from contextlib import ExitStack
from itertools import accumulate, pairwise
from pathlib import Path
from random import Random
from typing import Any, Literal

import typer

from gramian.cli.console import counting, say, say_skipped
from gramian.cli.options import FORCE, SKIP_BROKEN
from gramian.errors import OptionError


def split(
    file: str = typer.Argument(help="Trees or CoNLL-U: a file, a folder, or - for stdin."),
    output: str = typer.Option(..., "--output", "-o", help="Output folder for train, dev and test."),
    train: float = typer.Option(80, min=0, help="Share of train; shares are relative to their sum."),
    dev: float = typer.Option(10, min=0, help="Share of dev."),
    test: float = typer.Option(10, min=0, help="Share of test."),
    seed: int | None = typer.Option(
        None, min=0, max=2**32 - 1, help="Split at random with this seed; by default the order is kept."
    ),
    compress: bool = typer.Option(False, "--compress", help="Write .gz files."),
    force: bool = FORCE,
    skip_broken: bool = SKIP_BROKEN,
) -> None:
    """Split a treebank into train, dev and test.

    Trees are taken in order or at random; within a part the order is kept.
    """
    from gramian.io.output import check_folder, check_output, writing
    from gramian.trees import read_conllu, read_trees
    from gramian.trees.treebank_reading import detect_format

    shares = {"train": train, "dev": dev, "test": test}
    if sum(shares.values()) <= 0:
        raise OptionError("at least one of --train, --dev, --test must be more than 0")
    check_folder(output)
    source, kind = detect_format(file)
    suffix = (".conllu" if kind == "conllu" else ".mrg") + (".gz" if compress else "")
    paths = {part: Path(output, part + suffix) for part, share in shares.items() if share > 0}
    for path in paths.values():
        if path.exists():
            check_output(path, force=force)
    broken: Literal["skip", "raise"] = "skip" if skip_broken else "raise"
    read: Any = read_conllu if kind == "conllu" else read_trees
    noun = "sentences" if kind == "conllu" else "trees"
    texts = [f"{item}\n" for item in counting(read(source, broken=broken, on_skip=say_skipped), noun)]
    order = list(range(len(texts)))
    if seed is not None:
        Random(seed).shuffle(order)
    parts = _cut(order, {part: shares[part] for part in paths})
    Path(output).mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        for part, path in paths.items():
            out = stack.enter_context(writing(path))
            for index in sorted(parts[part]):
                out.write(texts[index])
    for part, path in paths.items():
        say(f"{path}: {len(parts[part]):,}")


def _cut(order: list[int], shares: dict[str, float]) -> dict[str, list[int]]:
    """Cut a list into consecutive parts whose sizes follow the shares as nearly as whole numbers allow."""
    reached = list(accumulate(shares.values(), initial=0.0))
    ends = [round(len(order) * share / reached[-1]) for share in reached]
    return {part: order[start:end] for part, (start, end) in zip(shares, pairwise(ends), strict=True)}
