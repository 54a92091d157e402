"""From dependency trees to head-modifier sequences: what the automata of a grammar learn from.

Each word and the root give a left and a right sequence of modifiers, ordered from the head outwards
(Balle, Carreras, Luque & Quattoni 2014, figure 6). Arcs must not cross: training trees are lifted until none does, and the relation of
a lifted word then says what it was lifted from (the *head* encoding of Nivre & Nilsson 2005). ``obj↑acl`` is an object whose head, a
clause with the relation ``acl``, is somewhere below the word it now hangs on. After parsing, such words go down again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from gramian.automata import Sequences
from gramian.dependency.split_head_automata import LEFT, RIGHT
from gramian.errors import InputError, OptionError
from gramian.trees import Sentence, is_projective, lift

Head = tuple[str | None, int]

_MARK = "↑"


@dataclass(frozen=True)
class ProjectiveTrees:
    """Training sentences with projective trees; the relations of words that were lifted are marked."""

    sentences: tuple[Sentence, ...]
    heads: tuple[tuple[int, ...], ...]
    relations: tuple[tuple[str, ...], ...]
    lifted: int  # sentences whose arcs crossed and were lifted
    skipped: int  # or that were left out


def projective(
    sentences: Sequence[Sentence], nonprojective: Literal["lift", "skip"] = "lift"
) -> ProjectiveTrees:
    """Make all trees projective, or leave out those that are not."""
    if nonprojective not in ("lift", "skip"):
        raise OptionError(f"nonprojective must be one of lift, skip, got {nonprojective!r}")
    kept: list[tuple[Sentence, tuple[int, ...], tuple[str, ...]]] = []
    lifted = skipped = 0
    for sentence in sentences:
        heads, relations = sentence.heads, tuple(token.deprel for token in sentence.tokens)
        if is_projective(heads):
            kept.append((sentence, heads, relations))
        elif nonprojective == "skip":
            skipped += 1
        else:
            lifted += 1
            now = lift(heads)
            marked = tuple(
                name if head == above else f"{name}{_MARK}{relations[head - 1]}"
                for head, above, name in zip(heads, now, relations, strict=True)
            )
            kept.append((sentence, now, marked))
    if not kept:
        hint = "name a treebank with at least one projective tree"
        raise InputError("no sentence to learn from", hint=hint)
    words, trees, names = zip(*kept, strict=True)
    return ProjectiveTrees(words, trees, names, lifted, skipped)


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


@dataclass(frozen=True)
class HeadSequences:
    """All symbols of a grammar, and the modifier sequences of each head symbol and direction; the root is the head None."""

    symbols: tuple[str, ...]
    samples: dict[Head, Sequences]


def head_sequences(
    symbols: Sequence[str], sentences: Sequence[Sequence[str]], trees: Sequence[Sequence[int]]
) -> HeadSequences:
    """Cut projective trees into head-modifier sequences, given all symbols, those of each sentence, and the heads of its words."""
    found: dict[Head, list[tuple[str, ...]]] = {(None, RIGHT): []}
    for words, heads in zip(sentences, trees, strict=True):
        sides: list[tuple[list[str], list[str]]] = [([], []) for _ in range(len(words) + 1)]
        for position, (word, head) in enumerate(zip(words, heads, strict=True), 1):
            sides[head][RIGHT if position > head else LEFT].append(word)
        found[None, RIGHT].append(tuple(sides[0][RIGHT]))
        for word, (left, right) in zip(words, sides[1:], strict=True):
            found.setdefault((word, LEFT), []).append(tuple(reversed(left)))
            found.setdefault((word, RIGHT), []).append(tuple(right))
    return HeadSequences(tuple(symbols), {head: Sequences.from_strings(rows) for head, rows in found.items()})
