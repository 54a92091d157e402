"""``gramian search``: the trees of a treebank or of a parsed corpus that have what a pattern asks for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

import typer

from gramian.cli.console import print_json, say
from gramian.cli.options import QUIET
from gramian.errors import OptionError, counted

if TYPE_CHECKING:
    from gramian.search.tree_search import PatternMatch

_MOST_FAULTS = 10


def search(
    source: str = typer.Argument(
        help="Trees: a bracket file, what parse wrote as brackets, JSON or Parquet, or a folder or URL with such files."
    ),
    pattern: str = typer.Argument(
        help="What is looked for, such as 'NP < (PP < of)': < parent of, << above, $ sister of, . before; see the docs."
    ),
    count: bool = typer.Option(False, "--count", help="Print only how many nodes match."),
    whole: bool = typer.Option(False, "--whole", help="Print whole trees, each once."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object a match."),
    tally: str | None = typer.Option(
        None, metavar="NAME", help="Print what =NAME in the pattern stands for, in words, and how often."
    ),
    limit: int | None = typer.Option(None, min=1, help="Stop after so many matches."),
    jobs: int = typer.Option(
        1, "--jobs", "-j", min=1, max=1024, help="Processes; the result does not depend on it."
    ),
    quiet: bool = QUIET,
) -> None:
    """Print every node that a pattern fits: document, place, and the node in brackets, with tabs between.

    The place is the character at which the sentence begins, or its line. How many trees were looked at is said at the end.
    """
    from gramian.search import tree_search

    if sum((count, whole, as_json, tally is not None)) > 1:
        raise OptionError("matches are printed as --count, --whole, --json or --tally, not two of them")
    if tally is not None and f"={tally}" not in pattern:
        raise OptionError(f"nothing in the pattern is called {tally!r}; try: NP={tally}")
    seen = tree_search.SearchCount()
    if count:
        seen = tree_search.count(source, pattern, n_jobs=jobs)
        print(seen.matches)
    else:
        found = islice(tree_search.search_trees(source, pattern, n_jobs=jobs, tally=seen), limit)
        if tally is not None:
            numbers = Counter(
                tree_search.words_of(one.captures[tally]) for one in found if tally in one.captures
            )
            for words, number in sorted(numbers.items(), key=lambda item: (-item[1], item[0])):
                print(f"{number}\t{words}")
        else:
            _print(found, whole, as_json)
    if not quiet:
        for fault in seen.faults[:_MOST_FAULTS]:
            say(f"left out: {fault}")
        if limit is not None and seen.matches >= limit:
            say(f"stopped after {counted(limit, 'node')}")
            return
        say(f"{counted(seen.matches, 'node')} in {seen.hits:,} of {counted(seen.trees, 'tree')}")


def _print(found: Iterator[PatternMatch], whole: bool, as_json: bool) -> None:
    before = None
    for one in found:
        if as_json:
            print_json(vars(one))
        elif not whole:
            print(one.document, one.sentence, one.match, sep="\t")
        elif (one.document, one.sentence, one.tree) != before:
            before = one.document, one.sentence, one.tree
            print(one.tree)
