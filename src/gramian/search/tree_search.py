"""Search files of trees in batches, mostly without an object per node."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import islice

from gramian.errors import InputError
from gramian.pipelines.inputs import Input
from gramian.search.pattern import ROOT, NodePattern, names_in, needed_names, needs_captures, uses_heads
from gramian.search.pattern_parser import parse_pattern
from gramian.search.table_match import TableMatcher
from gramian.search.tree_files import StoredTree, stored_trees, tree_files, trees_in
from gramian.search.tree_match import Match, matches
from gramian.tasks.task_runner import stream_tasks
from gramian.trees import HeadRules, Tree
from gramian.trees.scheme import SCHEME_SAMPLE_SIZE, detect_scheme

_BATCH = 2000  # trees
_UNSAFE = set('"\\()')  # characters that brackets or JSON may escape
_LABEL = re.compile(r"\(([^\s()]+)")


@dataclass(frozen=True)
class SearchMatch:
    """A node that matches a pattern, and its position.

    Examples
    --------
    >>> match = SearchMatch("trees.mrg", 1, "(S (NP (NN Time)) (VP (VBZ flies)))", "(NP (NN Time))", 0, 1)
    >>> match.start, match.end
    (0, 1)
    """

    document: str  # identifier, or name of the file
    sentence: int  # position of the sentence in the document; line of a treebank
    tree: str  # the whole tree
    match: str  # the node in brackets
    start: int  # its first word
    end: int  # the word after its last one
    captures: dict[str, str] = field(default_factory=dict)  # the named nodes in brackets


@dataclass
class SearchCount:
    """Number of trees searched, of trees with a match and of matches; and the errors of skipped input."""

    trees: int = 0
    hits: int = 0
    matches: int = 0
    faults: list[str] = field(default_factory=list)
    unknown_names: set[str] | None = None  # names in the pattern that occur nowhere; None before the search
    labels: set[str] = field(default_factory=set)  # labels of the first trees

    def note(self, error: InputError) -> None:
        """Record the error of skipped input."""
        self.faults.append(str(error).partition("\n")[0])

    def add(self, other: SearchCount) -> None:
        """Add the counts of another search."""
        self.trees += other.trees
        self.hits += other.hits
        self.matches += other.matches
        self.faults += other.faults
        self.labels |= other.labels
        if self.unknown_names is not None and other.unknown_names is not None:
            self.unknown_names &= other.unknown_names
        elif self.unknown_names is None:
            self.unknown_names = other.unknown_names

    def warnings(self) -> list[str]:
        """Return a message for each name in the pattern that is neither a label nor a word of the trees."""
        messages = []
        for name in sorted(self.unknown_names or ()):
            similar = get_close_matches(name, sorted(self.labels), n=3, cutoff=0.4)
            hint = f"; labels like it: {', '.join(similar)}" if similar else ""
            messages.append(f"no label or word is {name}{hint}")
        return messages


def search_trees(
    source: str,
    pattern: str,
    *,
    head_rules: str = "auto",
    n_jobs: int = 1,
    tally: SearchCount | None = None,
) -> Iterator[SearchMatch]:
    """Yield the matching nodes of all trees of a source.

    Parameters
    ----------
    source : str
        A treebank or the output of ``gramian parse`` for a corpus: a file, folder, pattern with ``*`` or URL.
    pattern : str
        In the notation of Tregex and tgrep2.
    head_rules : str
        Table of head rules for ``<#`` and the like (:meth:`gramian.trees.HeadRules.named`); ``"auto"`` for that of the annotation scheme.
    n_jobs : int
        Number of processes; the order of matches does not depend on it.
    tally : SearchCount, optional
        Receives the counts.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "trees.mrg")
    ...     with open(path, "w") as file:
    ...         _ = file.write("(S (NP (DT the) (NN dog)) (VP (VBZ barks)))")
    ...     for match in search_trees(path, "NP $. (VP << /^VB/=verb)"):
    ...         print(match.document, match.sentence, match.match, match.captures)
    trees.mrg 1 (NP (DT the) (NN dog)) {'verb': '(VBZ barks)'}
    """
    return _searched(source, pattern, head_rules, n_jobs, tally or SearchCount(), counted_only=False)


def count(source: str, pattern: str, *, head_rules: str = "auto", n_jobs: int = 1) -> SearchCount:
    """Count the matching nodes without building them; see :func:`search_trees`.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from pathlib import Path
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "trees.mrg").write_text("(S (NP (NN Time)) (VP (VBZ flies)))")
    ...     print(count(folder, "S < NP").matches)
    1
    """
    tally = SearchCount()
    for _ in _searched(source, pattern, head_rules, n_jobs, tally, counted_only=True):
        pass
    return tally


def _head_rules(name: str, files: list[Input]) -> HeadRules:
    texts = stored_trees(files[0], lambda error: None)
    trees = (Tree.parse(tree.text) for text in texts for tree in trees_in(text, lambda error: None))
    sample = list(islice(trees, SCHEME_SAMPLE_SIZE))
    return HeadRules.select(name, detect_scheme(sample), trees=sample)


def _searched(
    source: str, pattern: str, head_rules: str, n_jobs: int, tally: SearchCount, counted_only: bool
) -> Iterator[SearchMatch]:
    parsed = parse_pattern(pattern)  # reports mistakes before any file is opened
    files = tree_files(source)
    rules = _head_rules(head_rules, files) if uses_heads(parsed) else None
    tasks = [
        _SearchTask(index, file, parsed, rules, counted_only, is_alone=len(files) == 1)
        for index, file in enumerate(files)
    ]
    if n_jobs == 1 or len(tasks) == 1:
        for task in tasks:
            yield from task.search(tally)
        return
    finished: dict[int, list[SearchMatch]] = {}
    next_index = 0
    for outcome in stream_tasks(_search_file, tasks, n_jobs=n_jobs):
        if outcome.error:
            raise InputError(outcome.error.strip().splitlines()[-1], outcome.task.file.name)
        finished[outcome.task.index], counts = outcome.value
        tally.add(counts)
        while next_index in finished:
            yield from finished.pop(next_index)
            next_index += 1


def _search_file(task: _SearchTask) -> tuple[list[SearchMatch], SearchCount]:
    tally = SearchCount()
    return list(task.search(tally)), tally


@dataclass(frozen=True)
class _SearchTask:
    index: int
    file: Input
    pattern: NodePattern
    rules: HeadRules | None
    counted_only: bool
    is_alone: bool  # of several files, one that cannot be read is left out

    def _trees(self, tally: SearchCount) -> Iterator[StoredTree]:
        try:
            yield from stored_trees(self.file, tally.note)
        except InputError as error:
            if self.is_alone:
                raise
            tally.note(error)

    def search(self, tally: SearchCount) -> Iterator[SearchMatch]:
        """Yield the matches in the file."""
        pattern = self.pattern
        matcher = None if needs_captures(pattern) else TableMatcher(pattern, self.rules)
        needed = [
            [f"({name} " for name in names] + [f" {name})" for name in names]
            for names in needed_names(pattern)
            if not any(_UNSAFE & set(name) for name in names)
        ]
        trees = self._trees(tally)
        unknown = names_in(pattern)
        while batch := list(islice(trees, _BATCH)):
            tally.trees += len(batch)
            unknown = {name for name in unknown if not _occurs(name, batch)}
            if unknown and not tally.labels:
                tally.labels = set(_LABEL.findall(" ".join(tree.text for tree in batch)))
            candidates = [
                tree
                for tree in batch
                if "\n" in tree.text or all(any(text in tree.text for text in texts) for texts in needed)
            ]
            if matcher is None:
                counts = [1] * len(candidates)
            else:
                candidates, counts = _counted(matcher, candidates, tally)
            for tree, number in zip(candidates, counts, strict=True):
                if not number:
                    continue
                if self.counted_only and matcher is not None:
                    tally.hits += 1
                    tally.matches += number
                    continue
                tree_matches = matches(pattern, Tree.parse(tree.text), self.rules)
                tally.hits += bool(tree_matches)
                tally.matches += len(tree_matches)
                yield from () if self.counted_only else (_search_match(tree, match) for match in tree_matches)
        tally.add(SearchCount(unknown_names=unknown))


def _occurs(name: str, batch: list[StoredTree]) -> bool:
    """Return whether a name may be a label or word of trees; one that brackets or JSON may escape is not looked for."""
    if name == ROOT or _UNSAFE & set(name):
        return True
    pattern = re.compile(rf"\({re.escape(name)}(?![^\s(])|\s{re.escape(name)}\)")
    return any(name in tree.text and pattern.search(tree.text) for tree in batch)


def _counted(
    matcher: TableMatcher, batch: list[StoredTree], tally: SearchCount
) -> tuple[list[StoredTree], list[int]]:
    """Return the trees of a batch one by one, and the number of matches in each."""
    counts = matcher.counts([stored.text for stored in batch])
    if counts is None:  # some trees are broken, or share a line
        batch = [tree for stored in batch for tree in trees_in(stored, tally.note)]
        counts = matcher.counts([stored.text for stored in batch])
        assert counts is not None
    return batch, counts.tolist()


def _search_match(stored: StoredTree, match: Match) -> SearchMatch:
    document, sentence = stored.position()
    captures = {name: str(tree) for name, (tree, _, _) in match.captures.items()}
    tree = stored.text.strip()
    return SearchMatch(document, sentence, tree, str(match.tree), match.start, match.end, captures)


def words_of(brackets: str) -> str:
    """Return the words of a node in brackets, separated by spaces."""
    return " ".join(Tree.parse(brackets).words)
