"""Arcs that cross, in a parser that knows none: pseudo-projective parsing (Nivre & Nilsson 2005).

Training trees are lifted until no arc crosses. The relation of a lifted word then says what it was lifted from: ``obj↑acl`` is
an object whose head, a clause with the relation ``acl``, is somewhere below the word it now hangs on. After parsing, such
words go down again. This is their *head* encoding.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["marked_relations", "restored"]

_MARK = "↑"


def marked_relations(
    heads: Sequence[int], lifted: Sequence[int], relations: Sequence[str]
) -> tuple[str, ...]:
    """Return the relations of a lifted tree."""
    return tuple(
        relation if head == now else f"{relation}{_MARK}{relations[head - 1]}"
        for head, now, relation in zip(heads, lifted, relations, strict=True)
    )


def restored(heads: Sequence[int], relations: Sequence[str]) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Return heads and relations with marked words hung on the nearest word below their head that has the named relation.

    Words nearer to the head go first, then those nearer to the marked word; where there is none, the word stays.
    """
    plain = tuple(relation.partition(_MARK)[0] for relation in relations)
    if plain == tuple(relations):
        return tuple(heads), plain
    now = list(heads)
    for word, relation in enumerate(relations, 1):
        wanted = relation.partition(_MARK)[2]
        layer = [now[word - 1]] if wanted else []
        while layer:
            layer = [below for below, head in enumerate(now, 1) if head in layer and below != word]
            found = [below for below in layer if plain[below - 1] == wanted]
            if found:
                now[word - 1] = min(found, key=lambda below: (abs(below - word), below))
                break
    return tuple(now), plain
