"""A search through files of trees: batch by batch, most of it without making one object per node."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

from gramian.errors import InputError
from gramian.pipelines.inputs import Input
from gramian.search.pattern import has_backreference, needed_names, parse_pattern
from gramian.search.table_match import TableMatcher
from gramian.search.tree_files import StoredTree, stored_trees, tree_files, trees_in
from gramian.search.tree_match import Match, matches
from gramian.tasks.task_runner import stream_tasks
from gramian.trees import Tree

_BATCH = 2000  # trees
_UNSAFE = set('"\\()')  # characters that may be written in another way


@dataclass(frozen=True)
class Found:
    """A node that a pattern fits, and where it is.

    Attributes
    ----------
    document : str
        Its id, or the name of its file.
    sentence : int
        Where the sentence is in it; of a file of trees, the line.
    tree : str
        The whole tree.
    match : str
        The node, in brackets.
    start, end : int
        Its words in the sentence.
    captures : dict of str to str
        What the pattern's names stand for, in brackets.
    """

    document: str
    sentence: int
    tree: str
    match: str
    start: int
    end: int
    captures: dict[str, str] = field(default_factory=dict)


@dataclass
class SearchCount:
    """How many trees were looked at, how many have a match, how many matches there are; and what was left out."""

    trees: int = 0
    hits: int = 0
    matches: int = 0
    faults: list[str] = field(default_factory=list)

    def note(self, error: InputError) -> None:
        """Count what was left out."""
        self.faults.append(str(error).partition("\n")[0])

    def add(self, other: SearchCount) -> None:
        """Count what another has counted."""
        self.trees += other.trees
        self.hits += other.hits
        self.matches += other.matches
        self.faults += other.faults


def search_trees(
    source: str, pattern: str, *, n_jobs: int = 1, tally: SearchCount | None = None
) -> Iterator[Found]:
    """Yield the nodes of all trees of a source that a pattern fits.

    Parameters
    ----------
    source : str
        A treebank, what ``gramian parse`` wrote of a corpus, or one file of either: a file, folder, pattern with ``*`` or URL.
    pattern : str
        See :mod:`gramian.search.pattern`.
    n_jobs : int
        Processes; the order does not depend on it.
    tally : SearchCount, optional
        Is told how many trees there were.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "trees.mrg")
    ...     with open(path, "w") as file:
    ...         _ = file.write("(S (NP (DT the) (NN dog)) (VP (VBZ barks)))")
    ...     for found in search_trees(path, "NP $. (VP << /^VB/=verb)"):
    ...         print(found.document, found.sentence, found.match, found.captures)
    trees.mrg 1 (NP (DT the) (NN dog)) {'verb': '(VBZ barks)'}
    """
    return _searched(source, pattern, n_jobs, tally or SearchCount(), counted_only=False)


def count(source: str, pattern: str, *, n_jobs: int = 1) -> SearchCount:
    """Count the nodes that a pattern fits, as :func:`search_trees` finds them, without looking at each."""
    tally = SearchCount()
    for _ in _searched(source, pattern, n_jobs, tally, counted_only=True):
        pass
    return tally


def _searched(
    source: str, pattern: str, n_jobs: int, tally: SearchCount, counted_only: bool
) -> Iterator[Found]:
    parse_pattern(pattern)  # what cannot be read is told before anything is opened
    files = tree_files(source)
    tasks = [
        _SearchTask(place, file, pattern, counted_only, len(files) == 1) for place, file in enumerate(files)
    ]
    if n_jobs == 1 or len(tasks) == 1:
        for task in tasks:
            yield from task.found(tally)
        return
    waiting: dict[int, list[Found]] = {}
    place = 0
    for outcome in stream_tasks(_search_file, tasks, n_jobs=n_jobs):
        if outcome.error:
            raise InputError(outcome.error.strip().splitlines()[-1], outcome.task.file.name)
        found, counts = outcome.value
        tally.add(counts)
        waiting[outcome.task.place] = found
        while place in waiting:
            yield from waiting.pop(place)
            place += 1


def _search_file(task: _SearchTask) -> tuple[list[Found], SearchCount]:
    tally = SearchCount()
    return list(task.found(tally)), tally


@dataclass(frozen=True)
class _SearchTask:
    place: int
    file: Input
    pattern: str
    counted_only: bool
    is_alone: bool  # of several files, one that cannot be read is left out

    def _trees(self, tally: SearchCount) -> Iterator[StoredTree]:
        try:
            yield from stored_trees(self.file, tally.note)
        except InputError as error:
            if self.is_alone:
                raise
            tally.note(error)

    def found(self, tally: SearchCount) -> Iterator[Found]:
        """Yield what is found in one file."""
        pattern = parse_pattern(self.pattern)
        exact = not has_backreference(pattern)
        matcher = TableMatcher(pattern) if exact else None
        needed = [
            [f"({name} " for name in names] + [f" {name})" for name in names]
            for names in needed_names(pattern)
            if not any(_UNSAFE & set(name) for name in names)
        ]
        trees = self._trees(tally)
        while batch := list(islice(trees, _BATCH)):
            tally.trees += len(batch)
            hopeful = [
                one for one in batch if all(any(text in one.text for text in texts) for texts in needed)
            ]
            if matcher is None:
                counts = [1] * len(hopeful)
            else:
                hopeful, counts = _counted(matcher, hopeful, tally)
            for one, number in zip(hopeful, counts, strict=True):
                if not number:
                    continue
                if self.counted_only and exact:
                    tally.hits += 1
                    tally.matches += number
                    continue
                found = matches(pattern, Tree.parse(one.text))
                tally.hits += bool(found)
                tally.matches += len(found)
                yield from () if self.counted_only else (_found(one, match) for match in found)


def _counted(
    matcher: TableMatcher, batch: list[StoredTree], tally: SearchCount
) -> tuple[list[StoredTree], list[int]]:
    """Return the trees of a batch, each for itself, and how many nodes the pattern fits in each."""
    counts = matcher.counts([one.text for one in batch])
    if counts is None:  # some are broken, or stand several on a line
        batch = [tree for one in batch for tree in trees_in(one, tally.note)]
        counts = matcher.counts([one.text for one in batch])
        assert counts is not None
    return batch, counts.tolist()


def _found(stored: StoredTree, match: Match) -> Found:
    document, sentence = stored.place()
    captures = {name: str(tree) for name, (tree, _, _) in match.captures.items()}
    return Found(document, sentence, stored.text.strip(), str(match.tree), match.start, match.end, captures)


def words_of(brackets: str) -> str:
    """Return the words of a node in brackets, with spaces between."""
    return " ".join(Tree.parse(brackets).words)
