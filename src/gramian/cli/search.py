"""``gramian search``: find the nodes of a treebank or parsed corpus that match a pattern."""

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
    from gramian.search.tree_search import SearchMatch

_MAX_FAULTS = 10


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
    """Search trees for a pattern.

    Every match is printed with its document, its place and the node in brackets, with tabs between. The place is the character at
    which the sentence begins, or its line. How many trees were looked at is said at the end.
    """
    from gramian.search import tree_search

    if sum((count, whole, as_json, tally is not None)) > 1:
        raise OptionError("--count, --whole, --json and --tally are mutually exclusive")
    if tally is not None and f"={tally}" not in pattern:
        raise OptionError(f"the pattern names no node {tally!r}; try: NP={tally}")
    search_count = tree_search.SearchCount()
    if count:
        search_count = tree_search.count(source, pattern, n_jobs=jobs)
        print(search_count.matches)
    else:
        matches = islice(tree_search.search_trees(source, pattern, n_jobs=jobs, tally=search_count), limit)
        if tally is not None:
            captured = (match.captures[tally] for match in matches if tally in match.captures)
            numbers = Counter(map(tree_search.words_of, captured))
            for words, number in sorted(numbers.items(), key=lambda item: (-item[1], item[0])):
                print(f"{number}\t{words}")
        else:
            _print(matches, whole, as_json)
    if not quiet:
        for fault in search_count.faults[:_MAX_FAULTS]:
            say(f"skipped: {fault}")
        if limit is not None and search_count.matches >= limit:
            say(f"stopped after {counted(limit, 'node')}")
            return
        say(
            f"{counted(search_count.matches, 'node')} in {search_count.hits:,} of {counted(search_count.trees, 'tree')}"
        )


def _print(matches: Iterator[SearchMatch], whole: bool, as_json: bool) -> None:
    last_printed = None
    for match in matches:
        if as_json:
            print_json(vars(match))
        elif not whole:
            print(match.document, match.sentence, match.match, sep="\t")
        elif (match.document, match.sentence, match.tree) != last_printed:
            last_printed = match.document, match.sentence, match.tree
            print(match.tree)
