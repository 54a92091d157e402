"""Edits of an annotation: each changes the tree at once, and decides what every later parse must respect."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from gramian.annotate.annotation import Annotation, build_tree
from gramian.chart.constraints import Span
from gramian.errors import OptionError

_LABEL = re.compile(r"[^\s()]{1,40}")


@dataclass(frozen=True)
class Edit:
    """One edit."""

    #: ``require`` keeps a phrase; ``release`` drops decisions about it; ``remove`` takes it out and forbids it; ``relabel`` gives it
    #: another `label`; ``retag`` fixes the tag of a word; ``add`` puts a phrase over words; ``attach`` makes a phrase or a word a child
    #: of the phrase `target`; ``split`` makes two phrases of one, the second from the word `at`
    action: str
    #: the phrase, with its label; of ``retag`` and for words that are attached, the span of the word
    node: Span
    label: str = ""
    target: Span | None = None
    at: int = 0


def apply_edit(annotation: Annotation, edit: Edit) -> Annotation:
    """Return the annotation after an edit, which is not parsed again.

    Examples
    --------
    >>> from gramian.trees import Tree
    >>> tree = Tree.parse("(S (NP (PRP I)) (VP (VBD saw) (NP (NN art)) (PP (IN in) (NP (NNP Rome)))))")
    >>> edited = apply_edit(Annotation(tree), Edit("attach", Span(3, 5, "PP"), target=Span(2, 3, "NP")))
    >>> print(edited.tree, *edited.required)
    (S (NP (PRP I)) (VP (VBD saw) (NP (NN art) (PP (IN in) (NP (NNP Rome)))))) NP 2-5
    """
    if edit.action not in _EDITS:
        raise OptionError(f"action is one of {', '.join(_EDITS)}, not {edit.action!r}")
    if not 0 <= edit.node.start < edit.node.end <= len(annotation.tree.words):
        raise OptionError(f"the span {edit.node} is not within the sentence")
    if edit.action in ("relabel", "retag", "add") and not _LABEL.fullmatch(edit.label):
        raise OptionError("a label has 1 to 40 characters, without spaces and brackets")
    if edit.action not in ("retag", "add", "attach", "release") and edit.node not in annotation.phrases:
        raise OptionError(f"the tree has no phrase {edit.node}; try: reload the page")
    return replace(_EDITS[edit.action](annotation, edit), done=False)


def _require(annotation: Annotation, edit: Edit) -> Annotation:
    return annotation.decided(required=[edit.node])


def _release(annotation: Annotation, edit: Edit) -> Annotation:
    required, forbidden = (
        tuple(span for span in spans if span != edit.node)
        for spans in (annotation.required, annotation.forbidden)
    )
    return replace(annotation, required=required, forbidden=forbidden)


def _remove(annotation: Annotation, edit: Edit) -> Annotation:
    phrases = annotation.phrases
    phrases.remove(edit.node)
    return _rebuilt(annotation, phrases, forbidden=[edit.node])


def _relabel(annotation: Annotation, edit: Edit) -> Annotation:
    phrases, new = annotation.phrases, replace(edit.node, label=edit.label)
    phrases[phrases.index(edit.node)] = new
    return _rebuilt(annotation, phrases, [new], [edit.node] if new != edit.node else [])


def _retag(annotation: Annotation, edit: Edit) -> Annotation:
    if edit.node.end - edit.node.start != 1:
        raise OptionError(f"a tag spans one word, unlike {edit.node}")
    fixed = {**dict(annotation.tags), edit.node.start: edit.label}
    tags = [fixed.get(index, tag) for index, tag in enumerate(annotation.tree.tags)]
    tree = build_tree(annotation.tree.words, tags, annotation.phrases)
    return replace(annotation, tags=tuple(sorted(fixed.items())), tree=tree)


def _add(annotation: Annotation, edit: Edit) -> Annotation:
    """Add a phrase, and drop those that it crosses; over words that are a phrase already it comes inside, or above where that is named
    as `target`.
    """
    new = Span(edit.node.start, edit.node.end, edit.label)
    old = annotation.phrases
    if new in old:
        return annotation.decided(required=[new])
    phrases = [span for span in old if not span.crosses(new)]
    same = [index for index, span in enumerate(phrases) if (span.start, span.end) == (new.start, new.end)]
    index = (
        phrases.index(edit.target) if edit.target in phrases else max(same, default=-1) + 1 or len(phrases)
    )
    phrases.insert(index, new)
    return _rebuilt(annotation, phrases, [new], [span for span in old if span.crosses(new)])


def _split(annotation: Annotation, edit: Edit) -> Annotation:
    node = edit.node
    if not node.start < edit.at < node.end:
        raise OptionError(f"{node} can be split before the words {node.start + 1} to {node.end - 1} only")
    halves = [replace(node, end=edit.at), replace(node, start=edit.at)]
    if (node.start, node.end) == (0, len(annotation.tree.words)):
        raise OptionError("the whole sentence cannot be split; try: add a phrase inside it")
    kept = [span for span in annotation.phrases if span != node and not any(map(span.crosses, halves))]
    kept = [*(half for half in halves if half not in kept), *kept]  # around what they contain
    return _rebuilt(annotation, sorted(kept, key=lambda span: (span.start, -span.end)), halves, [node])


def _attach(annotation: Annotation, edit: Edit) -> Annotation:
    """Move a phrase or a word below another phrase: the phrases it leaves shrink, those that it enters grow."""
    phrases, node, target = annotation.phrases, edit.node, edit.target
    if target is None or target not in phrases:
        raise OptionError("no target phrase; try: drag it onto a phrase")
    limit = phrases.index(node) if node in phrases else len(phrases)
    index = phrases.index(target)
    above_node = [number for number, span in enumerate(phrases[:limit]) if _contains(span, node)]
    above_target = [number for number, span in enumerate(phrases[:index]) if _contains(span, target)] + [
        index
    ]
    if limit in above_target or _contains(node, target):
        raise OptionError("a phrase cannot be attached inside itself")
    changed: dict[int, Span | None] = {}
    for number in above_node:
        if number not in above_target:
            changed[number] = _without(phrases[number], node)
    for number in above_target:
        if number not in above_node:
            changed[number] = _joined(phrases[number], node)
    result: list[Span] = []
    for number, span in enumerate(phrases):
        new = changed.get(number, span)
        if new is not None and not (number in changed and new in result + phrases):
            result.append(new)
    old = [phrases[number] for number in changed if number in above_node]
    required = [span for span in changed.values() if span is not None]
    return _rebuilt(annotation, sorted(result, key=lambda span: (span.start, -span.end)), required, old)


def _contains(outer: Span, inner: Span) -> bool:
    return outer.start <= inner.start and inner.end <= outer.end


def _without(span: Span, node: Span) -> Span | None:
    """Return what is left of a phrase without some words at its edge; None if they are in its middle, or all it has."""
    if span.start == node.start and node.end < span.end:
        return replace(span, start=node.end)
    if span.end == node.end and span.start < node.start:
        return replace(span, end=node.start)
    return None


def _joined(span: Span, node: Span) -> Span:
    if span.end != node.start and node.end != span.start:
        raise OptionError(f"{node} is not adjacent to {span}; try: attach what lies between first")
    return replace(span, start=min(span.start, node.start), end=max(span.end, node.end))


def _rebuilt(
    annotation: Annotation, phrases: list[Span], required: Sequence[Span] = (), forbidden: Sequence[Span] = ()
) -> Annotation:
    tree = build_tree(annotation.tree.words, annotation.tree.tags, phrases)
    return replace(annotation.decided(required, forbidden), tree=tree)


_EDITS: dict[str, Callable[[Annotation, Edit], Annotation]] = {
    "require": _require,
    "release": _release,
    "remove": _remove,
    "relabel": _relabel,
    "retag": _retag,
    "add": _add,
    "attach": _attach,
    "split": _split,
}
