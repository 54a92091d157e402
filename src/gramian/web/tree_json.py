"""Trees and parses as JSON holds them, and what differs between two trees."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from math import isfinite
from typing import Any

from gramian.evaluate import score
from gramian.trees import Tree


def finite(value: float) -> float | None:
    """Return a number, or None where JSON has none for it."""
    return value if isfinite(value) else None


def nodes(
    tree: Tree, confidences: Sequence[float] | None = None, differs: Sequence[bool] | None = None
) -> list[dict[str, Any]]:
    """List the nodes of a tree, parents before children and left before right.

    Examples
    --------
    >>> nodes(Tree.parse("(NP (NN time))"), [0.5, 1.0])[1]
    {'label': 'NN', 'start': 0, 'end': 1, 'parent': 0, 'word': 'time', 'confidence': 1.0, 'differs': False}
    """
    listed: list[dict[str, Any]] = []
    spans = tree.spans()
    stack = [(tree, -1)]
    while stack:
        node, parent = stack.pop()
        label, start, end = next(spans)
        place = len(listed)
        listed.append(
            {
                "label": label,
                "start": start,
                "end": end,
                "parent": parent,
                "word": node.word,
                "confidence": None if confidences is None else confidences[place],
                "differs": False if differs is None else differs[place],
            }
        )
        stack.extend((child, place) for child in node.children[::-1])
    return listed


def compare(tree: Tree, other: Tree, *, scored: bool = False) -> dict[str, Any]:
    """Say which nodes of a tree lack in another over the same words (``differs``, one bool a node), and the other way round (``missing``).

    With `scored` the other is gold, and ``scores`` has F1 in percent with its signature.

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
    answer: dict[str, Any] = {"differs": differs, "missing": missing}
    if scored:
        found = score([other], [tree])
        answer["scores"] = {"f1": finite(found.f1_gold_tags), "signature": found.signature("f1_gold_tags")}
    return answer


def _keys(tree: Tree) -> Iterator[tuple[bool, str, int, int]]:
    for node, (label, start, end) in zip(tree.subtrees(), tree.spans(), strict=True):
        yield node.word is not None, label, start, end
