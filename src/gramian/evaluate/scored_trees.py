"""Trees as scores see them: words, tags, and brackets over the words that count.

A tree becomes an `Outline`; deleting some of its leaves leaves `Remains`, whose phrases are spans over the
leaves that stay; the phrases that count are its `SentenceBrackets`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from gramian.evaluate.parameters import Parameters
from gramian.trees.normalise import EMPTY_TAG, ROOT_LABELS
from gramian.trees.tree import Tree


class LabelMapping(dict[str, str | None]):
    """Labels of phrases -> labels to compare, None for those that do not count; filled when first asked."""

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters

    def __missing__(self, label: str) -> str | None:
        self[label] = result = self.parameters.bracket_label(label)
        return result


@dataclass(frozen=True, slots=True)
class Outline:
    """A tree taken apart: all leaves, traces too; phrases, parents before children, with their first leaf and the one after the last.

    An outermost bracket that only wraps the sentence is no phrase.
    """

    words: list[str]
    tags: list[str]
    labels: list[str]
    starts: list[int]
    ends: list[int]

    @classmethod
    def of(cls, tree: Tree | None) -> Outline:
        """Take a tree apart; None and the empty tree have nothing."""
        words: list[str] = []
        tags: list[str] = []
        labels: list[str] = []
        starts: list[int] = []
        ends: list[int] = []
        stack: list[Tree | int] = [] if tree is None else [tree]
        while stack:
            node = stack.pop()
            if isinstance(node, int):  # the end of that phrase
                ends[node] = len(words)
            elif node.word is None:
                stack.append(len(labels))
                stack.extend(node.children[::-1])
                labels.append(node.label)
                starts.append(len(words))
                ends.append(0)
            else:
                words.append(node.word)
                tags.append(node.label)
        wrappers = 0
        while wrappers < len(labels) and labels[wrappers] in ROOT_LABELS and ends[wrappers] == len(words):
            wrappers += 1
        return cls(words, tags, labels[wrappers:], starts[wrappers:], ends[wrappers:])

    @property
    def tokens(self) -> list[str]:
        """The words that are no traces."""
        if EMPTY_TAG not in self.tags:
            return self.words
        return [word for word, tag in zip(self.words, self.tags, strict=True) if tag != EMPTY_TAG]


class SentenceBrackets:
    """The brackets of a sentence that count: by span, their labels, outermost first."""

    __slots__ = ("_reach", "count", "spans")

    def __init__(self, spans: dict[tuple[int, int], list[str]]) -> None:
        self.spans = spans
        self.count = sum(map(len, spans.values()))
        self._reach: tuple[list[int], list[int]] | None = None

    def matched(self, predicted: SentenceBrackets, parameters: Parameters) -> tuple[int, int]:
        """Count the brackets also in `predicted`: under `parameters`, and with labels ignored."""
        labelled = unlabelled = 0
        ours = self.spans
        for span, labels in predicted.spans.items():
            if (gold := ours.get(span)) is not None:
                unlabelled += min(len(gold), len(labels))
                if gold == labels:
                    labelled += len(gold)
                else:
                    labelled += sum(1 for _ in pairs(gold, labels, parameters))
        return labelled, unlabelled

    def crossing(self, predicted: SentenceBrackets) -> int:
        """Count the brackets of `predicted` that overlap one of these, neither inside the other."""
        least_start, greatest_end = self._reaches()
        crossing = 0
        for (start, end), labels in predicted.spans.items():
            if end - start > 1 and (start, end) not in self.spans:
                # A bracket of ours that crosses has one end at a boundary strictly inside the span.
                inside = slice(start + 1, end)
                if (
                    min(least_start[inside], default=start) < start
                    or max(greatest_end[inside], default=end) > end
                ):
                    crossing += len(labels)
        return crossing

    def _reaches(self) -> tuple[list[int], list[int]]:
        """Return the least start of brackets ending, the greatest end of those starting, at each place."""
        if self._reach is None:
            length = max((end for _, end in self.spans), default=0)
            least_start, greatest_end = list(range(length + 1)), list(range(length + 1))
            for start, end in self.spans:
                least_start[end] = min(least_start[end], start)
                greatest_end[start] = max(greatest_end[start], end)
            self._reach = least_start, greatest_end
        return self._reach


def pairs(gold: Sequence[str], predicted: Sequence[str], parameters: Parameters) -> Iterator[tuple[str, int]]:
    """Pair the labels over one span: each gold label takes the first free predicted one equal to it, given by its place."""
    free = list(enumerate(predicted))
    for label in gold:
        for number, (index, other) in enumerate(free):
            if not parameters.labelled or parameters.labels_equal(label, other):
                del free[number]
                yield label, index
                break


class Remains:
    """What deletion leaves of an outline: the leaves that stay, and where each phrase starts and ends among them."""

    __slots__ = ("ends", "leaves", "outline", "starts")

    def __init__(self, outline: Outline, keep: Sequence[bool]) -> None:
        before = list(accumulate(keep, initial=0))
        self.outline = outline
        self.leaves = [leaf for leaf, stays in enumerate(keep) if stays]
        self.starts = [before[start] for start in outline.starts]
        self.ends = [before[end] for end in outline.ends]

    def brackets(self, labels: LabelMapping) -> SentenceBrackets:
        """Return the phrases that count: not empty, their label not deleted."""
        spans: dict[tuple[int, int], list[str]] = {}
        for label, start, end in zip(self.outline.labels, self.starts, self.ends, strict=True):
            if start != end and (bare := labels[label]) is not None:
                spans.setdefault((start, end), []).append(bare)
        return SentenceBrackets(spans)

    @property
    def words(self) -> list[str]:
        """The words that stay."""
        words = self.outline.words
        return [words[leaf] for leaf in self.leaves]

    @property
    def tags(self) -> list[str]:
        """Their tags."""
        tags = self.outline.tags
        return [tags[leaf] for leaf in self.leaves]

    def insert(self, leaf: int, position: int) -> None:
        """Put a leaf back at a position among those that stay."""
        outline = self.outline
        self.leaves.insert(position, leaf)
        opened = bisect_right(outline.starts, leaf)
        for phrase in range(len(self.starts)):
            if phrase >= opened:
                self.starts[phrase] += 1
                self.ends[phrase] += 1
            elif outline.ends[phrase] > leaf:
                self.ends[phrase] += 1


_MARKS = frozenset({"'", '"', "/"})


@dataclass(slots=True)
class _Mark:
    leaf: int
    tag: str
    deleted: bool
    position: int  # among the leaves that stay


def restore_quotes(gold: Remains, predicted: Remains, parameters: Parameters) -> None:
    """Put back quotation marks that a wrong tag deleted in one of two trees, as EVALB does under QUOTE_LABEL.

    Marks are paired by their position among the leaves that stay. Where the tags of a pair differ and just
    one of them is deleted, its mark is put back, and later marks of that tree move on by one.
    """
    ours, theirs = _marks(gold, parameters), _marks(predicted, parameters)
    for index, mark in enumerate(theirs):
        position = mark.position
        for other_index, other in enumerate(ours):
            if other.position != position or other.tag == mark.tag or other.deleted == mark.deleted:
                continue
            if other.deleted:
                tree, chosen, moved = gold, other, ours[other_index:]
            else:
                tree, chosen, moved = predicted, mark, theirs[index:]
            tree.insert(chosen.leaf, chosen.position)
            for later in moved:
                later.position += 1


def _marks(remains: Remains, parameters: Parameters) -> list[_Mark]:
    outline = remains.outline
    marks: list[_Mark] = []
    position = 0
    for leaf, (word, tag) in enumerate(zip(outline.words, outline.tags, strict=True)):
        deleted = tag in parameters.deleted
        if word in _MARKS and tag in parameters.quotes:
            marks.append(_Mark(leaf, tag, deleted, position))
        position += not deleted
    return marks
