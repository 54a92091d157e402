"""A simulated annotator, who corrects a tree until it is the gold tree; counts clicks.

A click chooses a node or a word, a label from a list, a key for a chosen node, or a suggestion; dragging counts as two. Whatever helps
the annotator counts the same with and without a parser: :data:`CLICKS` holds for both.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from gramian.annotate.annotation import Annotation, phrases_of
from gramian.annotate.edits import Edit, apply_edit
from gramian.annotate.proposals import Proposal, Proposer
from gramian.chart.constraints import Span
from gramian.errors import OptionError
from gramian.trees import Tree

CLICKS = {"add": 3, "relabel": 2, "retag": 2, "attach": 2, "remove": 1}
"""Clicks of each edit: the first and the last word and a label; a node and a label; a node and where it goes; a node."""
_SUGGESTED, _ACCEPT = 1, 1  # clicks
_MOST = 10  # edits for each node; beyond, there is no progress


class Effort(NamedTuple):
    """What it takes to make a gold tree of another tree, accepting it at the end included."""

    clicks: int
    actions: int


def effort(start: Tree, gold: Tree, proposer: Proposer | None = None) -> Effort | None:
    """Return the effort to make the gold tree of a first one; None if it is out of reach.

    Of all edits that bring the tree nearer to gold, the annotator makes the one that repairs most for each click, as seen before the
    sentence is parsed again. A proposer parses again after each edit, and suggests edits; without one, the tree changes by edits only.

    Examples
    --------
    >>> gold = Tree.parse("(S (NP (NN rain)) (VP (VBZ falls)))")
    >>> effort(Tree.parse("(S (NN rain) (VBZ falls))"), gold)
    Effort(clicks=7, actions=3)
    >>> effort(gold, gold)
    Effort(clicks=1, actions=1)
    """
    annotation = Annotation(start)
    proposal = Proposal(start) if proposer is None else proposer.assess(annotation)
    clicks = _ACCEPT
    for actions in range(1, _MOST * sum(1 for _ in gold.subtrees())):
        before = _distance(annotation.tree, gold)
        if before == 0:
            return Effort(clicks, actions)
        best: tuple[float, int, Annotation] | None = None
        for cost, edit in _useful_edits(annotation.tree, gold, proposal.suggestions):
            try:
                edited = apply_edit(annotation, edit)
            except OptionError:
                continue
            gain = (before - _distance(edited.tree, gold)) / cost
            if gain > 0 and (best is None or gain > best[0]):
                best = gain, cost, edited
        if best is None:
            return None
        _, cost, annotation = best
        clicks += cost
        if proposer is not None:
            annotation, proposal = proposer.revise(annotation)
    return None


def effort_from_scratch(gold: Tree) -> Effort:
    """Return the effort of annotation without any proposal: each phrase below the root is added, and each word tagged."""
    n_words, n_phrases = len(gold.words), len(phrases_of(gold)) - 1
    return Effort(_ACCEPT + CLICKS["add"] * n_phrases + CLICKS["retag"] * n_words, 1 + n_phrases + n_words)


def _useful_edits(tree: Tree, gold: Tree, suggestions: Sequence[Edit]) -> Iterator[tuple[int, Edit]]:
    """Yield edits that may bring a tree nearer to gold, with their clicks: suggestions, additions, removals, tags, and moves."""
    present, right = phrases_of(tree), phrases_of(gold)
    missing, surplus = _difference(right, present), _difference(present, right)
    for edit in suggestions:
        made = replace(edit.node, label=edit.label)
        if made in missing if edit.action != "retag" else edit.label == gold.tags[edit.node.start]:
            yield _SUGGESTED, edit
    edits: list[Edit] = []
    for span in missing:
        same = [other for other in surplus if (other.start, other.end) == (span.start, span.end)]
        edits += [Edit("relabel", other, str(span.label)) for other in same]
        chain = [phrase for phrase in right if (phrase.start, phrase.end) == (span.start, span.end)]
        below = [phrase for phrase in chain[chain.index(span) + 1 :] if phrase in present]
        edits.append(Edit("add", span, str(span.label), below[0] if below else None))
    edits += [Edit("remove", span) for span in surplus]
    for index, (tag, wanted) in enumerate(zip(tree.tags, gold.tags, strict=True)):
        if tag != wanted:
            edits.append(Edit("retag", Span(index, index + 1, tag), wanted))
    for node in present if missing and surplus else ():
        if node in right and _parent(present, node) != _parent(right, node):
            near = [span for span in present if span.end == node.start or span.start == node.end]
            edits += [Edit("attach", node, target=target) for target in (*_ancestors(present, node), *near)]
    for edit in edits:
        yield CLICKS[edit.action], edit


def _ancestors(phrases: Sequence[Span], node: Span) -> list[Span]:
    """Return the phrases around another, from the top; phrases come parents before children."""
    above = phrases[: phrases.index(node)]
    return [span for span in above if span.start <= node.start and node.end <= span.end]


def _parent(phrases: Sequence[Span], node: Span) -> list[Span]:
    return _ancestors(phrases, node)[-1:]


def _distance(tree: Tree, gold: Tree) -> int:
    """Return how far a tree is from gold: phrases missing, phrases too many, and twice the wrong tags.

    A wrong tag is like a phrase with a wrong label: one is too much, and one is missing.
    """
    present, right = phrases_of(tree), phrases_of(gold)
    wrong_tags = sum(tag != wanted for tag, wanted in zip(tree.tags, gold.tags, strict=True))
    return len(_difference(right, present)) + len(_difference(present, right)) + 2 * wrong_tags


def _difference(spans: list[Span], others: list[Span]) -> list[Span]:
    """Return the phrases that are not among others; a phrase that is there twice counts twice."""
    return list((Counter(spans) - Counter(others)).elements())
