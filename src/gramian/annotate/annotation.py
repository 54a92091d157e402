"""A sentence with its tree, and what an annotator has decided about it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from gramian.chart.constraints import Span
from gramian.errors import OptionError
from gramian.trees import Tree
from gramian.trees.tree import phrase, preterminal


@dataclass(frozen=True)
class Annotation:
    """A tree and the decisions that hold for it."""

    tree: Tree
    #: required, forbidden: phrases that the annotator wants or does not want, each with its label
    required: tuple[Span, ...] = ()
    forbidden: tuple[Span, ...] = ()
    tags: tuple[tuple[int, str], ...] = ()  #: the words, counted from 0, whose tags the annotator has fixed
    done: bool = False  #: whether the annotator accepted the tree
    comment: str = ""

    @property
    def phrases(self) -> list[Span]:
        """The phrases of the tree, parents before children."""
        return phrases_of(self.tree)

    def is_met(self, tree: Tree) -> bool:
        """Whether a tree over the same words respects the decisions about phrases.

        Examples
        --------
        >>> tree = Tree.parse("(S (NP (NN rain)) (VP (VBZ falls)))")
        >>> Annotation(tree, forbidden=(Span(0, 1, "NP"),)).is_met(tree)
        False
        """
        present = set(phrases_of(tree))
        return present.issuperset(self.required) and present.isdisjoint(self.forbidden)

    def decided(self, required: Iterable[Span] = (), forbidden: Iterable[Span] = ()) -> Annotation:
        """Return the annotation with further decisions; earlier ones that contradict them are dropped."""
        wanted, unwanted = tuple(dict.fromkeys(required)), tuple(dict.fromkeys(forbidden))
        kept = [
            span
            for span in self.required
            if span not in unwanted and not any(span.crosses(new) for new in wanted)
        ]
        rejected = [span for span in self.forbidden if span not in wanted]
        return replace(
            self,
            required=tuple(dict.fromkeys((*kept, *wanted))),
            forbidden=tuple(dict.fromkeys((*rejected, *(span for span in unwanted if span not in wanted)))),
        )


def phrases_of(tree: Tree) -> list[Span]:
    """Return the phrases of a tree, parents before children.

    Examples
    --------
    >>> print(*phrases_of(Tree.parse("(S (NP (NN rain)) (VP (VBZ falls)))")), sep=", ")
    S 0-2, NP 0-1, VP 1-2
    """
    return [Span(start, end, label) for label, start, end in tree.spans(preterminals=False)]


def build_tree(words: Sequence[str], tags: Sequence[str], phrases: Iterable[Span]) -> Tree:
    """Build the tree of some phrases, of which none may cross another; phrases over the same words nest in the order given.

    Examples
    --------
    >>> print(build_tree(["rain", "falls"], ["NN", "VBZ"], [Span(0, 2, "S"), Span(1, 2, "VP"), Span(0, 1, "NP")]))
    (S (NP (NN rain)) (VP (VBZ falls)))
    """
    starting: list[list[Span]] = [[] for _ in words]
    for span in phrases:
        starting[span.start].append(span)
    open_phrases: list[tuple[Span, list[Tree]]] = [(Span(0, len(words) + 1), [])]
    for index, (word, tag) in enumerate(zip(words, tags, strict=True)):
        for span in sorted(starting[index], key=lambda span: -span.end):
            if span.end > open_phrases[-1][0].end:
                raise OptionError(
                    f"the phrases {open_phrases[-1][0]} and {span} cross; try: remove one first"
                )
            open_phrases.append((span, []))
        open_phrases[-1][1].append(preterminal(tag, word))
        while open_phrases[-1][0].end == index + 1:
            span, children = open_phrases.pop()
            open_phrases[-1][1].append(phrase(span.label or "", tuple(children)))
    [(_, roots)] = open_phrases
    if len(roots) != 1 or roots[0].word is not None:
        raise OptionError("the phrase over the whole sentence cannot be removed; try: relabel it")
    return roots[0]
