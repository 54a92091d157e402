"""``gramian search``: find the nodes of a treebank or parsed corpus that match a pattern."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

import typer

from gramian.cli.console import print_json, say
from gramian.cli.options import HEAD_RULES, QUIET, jobs_option
from gramian.errors import OptionError, counted

if TYPE_CHECKING:
    from gramian.search.tree_search import SearchMatch

_MAX_FAULTS = 10


def search(
    source: str = typer.Argument(
        help="Trees: bracket files, output of gramian parse (brackets, JSON lines, Parquet), or a folder or URL with such files."
    ),
    pattern: str = typer.Argument(
        help="Pattern in the notation of Tregex and tgrep2, such as 'NP < (PP < of)': < parent of, << above, $ sister of, . before."
    ),
    count: bool = typer.Option(False, "--count", help="Print only the number of matching nodes."),
    whole: bool = typer.Option(False, "--whole", help="Print each matching tree once, as a whole."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object per match."),
    tally: str | None = typer.Option(
        None, metavar="NAME", help="Print the words of the node =NAME in the pattern with their counts."
    ),
    limit: int | None = typer.Option(None, min=1, help="Stop after this number of matches."),
    head_rules: str = HEAD_RULES,
    jobs: int = jobs_option("Number of processes; the result is the same."),
    quiet: bool = QUIET,
) -> None:
    """Search trees for a pattern.

    Each match is one line with the document, the position of the sentence (its first character, or its line) and the node in brackets,
    separated by tabs. stderr gets the number of trees searched and the names in the pattern that occur in none of them.
    """
    from gramian.search import tree_search
    from gramian.search.pattern import pattern_nodes
    from gramian.search.pattern_parser import parse_pattern

    if sum((count, whole, as_json, tally is not None)) > 1:
        raise OptionError("--count, --whole, --json and --tally are mutually exclusive")
    if tally is not None and tally not in {node.capture for node in pattern_nodes(parse_pattern(pattern))}:
        raise OptionError(f"the pattern has no node named {tally!r}; try: NP={tally}")
    search_count = tree_search.SearchCount()
    if count:
        search_count = tree_search.count(source, pattern, head_rules=head_rules, n_jobs=jobs)
        print(search_count.matches)
    else:
        matches = islice(
            tree_search.search_trees(source, pattern, head_rules=head_rules, n_jobs=jobs, tally=search_count),
            limit,
        )
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
        for warning in search_count.warnings():
            say(warning)
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
