"""``gramian edit``: rewrite the trees of a treebank by a script."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import unified_diff
from itertools import chain, islice
from typing import TYPE_CHECKING

import typer

from gramian.cli.console import counting, say, say_skipped
from gramian.cli.options import FORCE, HEAD_RULES, QUIET, SKIP_BROKEN, TEXT_OUTPUT
from gramian.errors import InputError, counted

if TYPE_CHECKING:
    from gramian.trees import Tree


def edit(
    file: str = typer.Argument(help="Trees in brackets: a file, a folder, or - for stdin."),
    script: str = typer.Argument(help="Rules in the notation of Tsurgeon: patterns, each with operations."),
    output: str = TEXT_OUTPUT,
    force: bool = FORCE,
    dry_run: bool = typer.Option(False, "--dry-run", help="Print a diff and write nothing."),
    change_words: bool = typer.Option(
        False, "--change-words", help="Allow rules to delete or change words, which is otherwise an error."
    ),
    head_rules: str = HEAD_RULES,
    skip_broken: bool = SKIP_BROKEN,
    quiet: bool = QUIET,
) -> None:
    """Edit trees by rules: relabel, move, insert or delete nodes.

    A rule is applied to a tree until it changes nothing. The output has one tree a line, in the order of the input; stderr gets the
    number of edits of each rule.
    """
    from gramian.editing.edit_script import read_script
    from gramian.editing.tree_edits import EditCount, edit_trees
    from gramian.io.output import writing
    from gramian.trees import HeadRules, read_trees
    from gramian.trees.scheme import SCHEME_SAMPLE_SIZE, detect_scheme

    rules = read_script(script)
    counts: list[EditCount] = []
    on_skip = (lambda error: None) if quiet else say_skipped
    trees = read_trees(file, broken="skip" if skip_broken else "raise", on_skip=on_skip)
    sample = list(islice(trees, SCHEME_SAMPLE_SIZE))
    heads = HeadRules.select(head_rules, detect_scheme(sample), trees=sample)
    originals: list[Tree] = []

    def remembered(trees: Iterator[Tree]) -> Iterator[Tree]:
        for tree in trees:
            originals[:] = [tree]
            yield tree

    n_trees = 0
    try:
        with writing("-" if dry_run else output) as out:
            edited = edit_trees(
                remembered(counting(chain(sample, trees), "trees")),
                rules,
                head_rules=heads,
                change_words=change_words,
                counts=counts,
            )
            for tree in edited:
                n_trees += 1
                if not dry_run:
                    out.write(f"{tree}\n")
                elif tree != originals[0]:
                    out.write(_difference(originals[0], tree))
    except InputError as error:
        error.source = file if error.source == "<string>" else error.source
        raise
    if not quiet:
        for rule, count in zip(rules, counts, strict=True):
            say(f"{counted(count.edits, 'edit')} in {counted(count.trees, 'tree')}: {rule.text}")
        say(f"{counted(n_trees, 'tree')} {'read' if dry_run else 'written'}")


def _difference(before: Tree, after: Tree) -> str:
    """Return a diff of two trees, indented."""
    name = f"tree at line {before.line}"
    lines = unified_diff(before.pretty().split("\n"), after.pretty().split("\n"), name, name, lineterm="")
    return "\n".join(lines) + "\n"
