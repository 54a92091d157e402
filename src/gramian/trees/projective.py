"""Projective dependency trees: the test, and lifting arcs until it holds.

Lifting follows Nivre and Nilsson (2005), without their encoding of where an arc was lifted from.
"""

from collections.abc import Sequence


def is_projective(heads: Sequence[int]) -> bool:
    """Tell whether the descendants of every word form a span together with it; heads are counted from 1, and 0 is the root.

    Examples
    --------
    >>> is_projective([2, 0, 2]), is_projective([3, 0, 2, 1])
    (True, False)
    """
    count = len(heads)
    sizes = [1] * (count + 1)
    first, last = list(range(count + 1)), list(range(count + 1))
    for word in _deepest_first(heads):
        head = heads[word - 1]
        if last[word] - first[word] + 1 != sizes[word]:
            return False
        sizes[head] += sizes[word]
        first[head] = min(first[head], first[word])
        last[head] = max(last[head], last[word])
    return True


def _deepest_first(heads: Sequence[int]) -> list[int]:
    """List the words so that dependents come before their heads."""
    dependents: list[list[int]] = [[] for _ in range(len(heads) + 1)]
    for word, head in enumerate(heads, 1):
        dependents[head].append(word)
    order: list[int] = []
    layer = dependents[0]
    while layer:
        order += layer
        layer = [below for word in layer for below in dependents[word]]
    return order[::-1]


def _crossed(heads: Sequence[int]) -> list[int]:
    """List the words whose arc passes over a word that their head does not dominate."""
    crossed = []
    for word, head in enumerate(heads, 1):
        if head == 0:
            continue
        for between in range(min(word, head) + 1, max(word, head)):
            ancestor = between
            while ancestor not in (0, head):
                ancestor = heads[ancestor - 1]
            if ancestor == 0:
                crossed.append(word)
                break
    return crossed


def lift(heads: Sequence[int]) -> tuple[int, ...]:
    """Make a dependency tree projective: as long as an arc is crossed, attach its word to the head's head.

    Shortest arcs go first, then leftmost ones. How many arcs were moved is the number of heads that differ.

    Examples
    --------
    >>> lift([3, 0, 2, 1])
    (2, 0, 2, 2)
    """
    lifted = list(heads)
    while crossed := _crossed(lifted):
        word = min(crossed, key=lambda word: (abs(word - lifted[word - 1]), word))
        lifted[word - 1] = lifted[lifted[word - 1] - 1]
    return tuple(lifted)
