"""A simulated annotator, who corrects a tree until it is the gold tree, and counts actions."""

from collections.abc import Callable
from dataclasses import replace

from gramian.annotate.annotation import Annotation, phrases_of
from gramian.annotate.edits import Edit, apply_edit
from gramian.chart.constraints import Span
from gramian.trees import Tree

_MOST = 10  # actions for each node; beyond, there is no progress

Revision = Callable[[Annotation], Annotation]


def next_edit(tree: Tree, gold: Tree) -> Edit | None:
    """Return the edit that an annotator makes next, or None if the tree is right.

    Phrases come first, from the top and left to right: one with the right words and a wrong label is relabelled, a missing one is added,
    one too many is removed. Tags follow.
    """
    present, right = phrases_of(tree), phrases_of(gold)
    missing, surplus = _difference(right, present), _difference(present, right)
    for span in missing:
        other = next(
            (phrase for phrase in surplus if (phrase.start, phrase.end) == (span.start, span.end)),
            None,
        )
        if other is not None and replace(other, label=span.label) not in present:
            return Edit("relabel", other, span.label or "")
        if span not in present:
            chain = [phrase for phrase in right if (phrase.start, phrase.end) == (span.start, span.end)]
            below = chain[chain.index(span) + 1 :]
            target = next((phrase for phrase in below if phrase in present), None)
            return Edit("add", span, span.label or "", target)
    if surplus:
        return Edit("remove", surplus[0])
    for index, (tag, wanted) in enumerate(zip(tree.tags, gold.tags, strict=True)):
        if tag != wanted:
            return Edit("retag", Span(index, index + 1), wanted)
    return None


def actions_to_gold(start: Tree, gold: Tree, revise: Revision | None = None) -> int | None:
    """Return how many actions make the gold tree of a first one, accepting it at the end included.

    `revise` parses again after every action; without it, the tree changes by actions only. None if the gold tree is out of reach.

    Examples
    --------
    >>> gold = Tree.parse("(S (NP (NN rain)) (VP (VBZ falls)))")
    >>> actions_to_gold(Tree.parse("(S (NN rain) (VBZ falls))"), gold)
    3
    >>> actions_to_gold(gold, gold)
    1
    """
    annotation, limit = Annotation(start), _MOST * sum(1 for _ in gold.subtrees())
    for count in range(1, limit + 1):
        edit = next_edit(annotation.tree, gold)
        if edit is None:
            return count if _same(annotation.tree, gold) else None
        annotation = apply_edit(annotation, edit)
        if revise is not None and edit.changes_structure:
            annotation = revise(annotation)
    return None


def actions_from_scratch(gold: Tree) -> int:
    """Return the actions of annotation without any proposal: one for each phrase and each tag, and one to accept the tree."""
    return 1 + sum(1 for _ in gold.subtrees())


def _difference(spans: list[Span], others: list[Span]) -> list[Span]:
    left = list(others)
    result = []
    for span in spans:
        if span in left:
            left.remove(span)
        else:
            result.append(span)
    return result


def _same(tree: Tree, gold: Tree) -> bool:
    return sorted(map(str, phrases_of(tree))) == sorted(map(str, phrases_of(gold))) and tree.tags == gold.tags
