"""Trees and parses as JSON holds them, and what differs between two trees."""

from collections import Counter
from collections.abc import Iterator, Sequence
from math import isfinite
from typing import Any, TypeAlias

from gramian.evaluate import score
from gramian.trees import Tree

_Key: TypeAlias = tuple[bool, str, int, int]  # whether it is a tag, label, first word, end


def finite(value: float) -> float | None:
    """Return a number, or None where JSON has none for it."""
    return value if isfinite(value) else None


def nodes(
    tree: Tree,
    confidences: Sequence[float] | None = None,
    differs: Sequence[bool] | None = None,
    moved: Sequence[bool] | None = None,
) -> list[dict[str, Any]]:
    """List the nodes of a tree, parents before children and left before right.

    Examples
    --------
    >>> nodes(Tree.parse("(NP (NN time))"), [0.5, 1.0])[1]
    {'label': 'NN', 'start': 0, 'end': 1, 'parent': 0, 'word': 'time', 'confidence': 1.0, 'differs': False, 'moved': False}
    """
    listed: list[dict[str, Any]] = []
    spans = tree.spans()
    stack = [(tree, -1)]
    while stack:
        node, parent = stack.pop()
        label, start, end = next(spans)
        index = len(listed)
        listed.append(
            {
                "label": label,
                "start": start,
                "end": end,
                "parent": parent,
                "word": node.word,
                "confidence": None if confidences is None else confidences[index],
                "differs": False if differs is None else differs[index],
                "moved": False if moved is None else moved[index],
            }
        )
        stack.extend((child, index) for child in node.children[::-1])
    return listed


def compare(tree: Tree, other: Tree, *, scored: bool = False) -> dict[str, Any]:
    """Compare a tree with another over the same words.

    ``differs`` has one bool per node: the other tree does not have it. ``missing`` lists the nodes that only the
    other tree has. ``moved`` has one bool per node: both trees have it, but below different parents. With `scored` the other is gold, and
    ``scores`` has F1 in percent with its signature.

    Examples
    --------
    >>> one, two = Tree.parse("(S (NP (NN a)) (VP (VB b)))"), Tree.parse("(S (NP (NN a)) (X (VB b)))")
    >>> compare(one, two)["differs"], compare(one, two)["missing"]
    ([False, False, False, True, False], [{'label': 'X', 'start': 1, 'end': 2, 'tag': False}])
    """
    left = Counter(_keys(other))
    differs = []
    for key in _keys(tree):
        differs.append(left[key] == 0)
        left[key] -= not differs[-1]
    missing = [
        {"label": label, "start": start, "end": end, "tag": is_tag}
        for (is_tag, label, start, end), count in left.items()
        for _ in range(count)
    ]
    attached = set(_attachments(other))
    moved = [
        not new and attachment not in attached
        for new, attachment in zip(differs, _attachments(tree), strict=True)
    ]
    answer: dict[str, Any] = {"differs": differs, "missing": missing, "moved": moved}
    if scored:
        scores = score([other], [tree])
        answer["scores"] = {"f1": finite(scores.f1_gold_tags), "signature": scores.signature("f1_gold_tags")}
    return answer


def mark_first(records: Sequence[dict[str, Any]]) -> None:
    """Mark in the first of two trees, too, what the second does not have, or has below another parent; of more than two, nothing."""
    if len(records) != 2 or not all(record["tree"] for record in records):
        return
    first, second = (Tree.parse(record["tree"]) for record in records)
    if first.words != second.words:
        return
    against = compare(first, second)
    for node, differs, moved in zip(records[0]["nodes"], against["differs"], against["moved"], strict=True):
        node.update(differs=differs, moved=moved)


def _attachments(tree: Tree) -> Iterator[tuple[_Key, _Key | None]]:
    """Yield each node with its parent."""
    keys = list(_keys(tree))
    for key, node in zip(keys, nodes(tree), strict=True):
        yield key, None if node["parent"] < 0 else keys[node["parent"]]


def _keys(tree: Tree) -> Iterator[_Key]:
    for node, (label, start, end) in zip(tree.subtrees(), tree.spans(), strict=True):
        yield node.word is not None, label, start, end
