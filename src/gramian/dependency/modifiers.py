"""From dependency trees to head-modifier sequences: what the automata of a grammar learn from.

Each word and the root give a left and a right sequence of modifiers, ordered from the head outwards
(Balle, Carreras, Luque & Quattoni 2014, figure 6).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from gramian.automata import Sequences
from gramian.dependency.crossing import marked_relations
from gramian.dependency.shag import LEFT, RIGHT
from gramian.errors import InputError, OptionError
from gramian.trees import Sentence, is_projective, lift

__all__ = ["HeadSequences", "ProjectiveTrees", "head_sequences", "projective"]

Head = tuple[str | None, int]


@dataclass(frozen=True)
class ProjectiveTrees:
    """Training sentences with projective trees; the relations of words that were lifted are marked.

    `lifted` and `skipped` count the sentences whose tree was not projective and was lifted, or left out.
    """

    sentences: tuple[Sentence, ...]
    heads: tuple[tuple[int, ...], ...]
    relations: tuple[tuple[str, ...], ...]
    lifted: int
    skipped: int


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
            kept.append((sentence, now, marked_relations(heads, now, relations)))
    if not kept:
        hint = "name a treebank with at least one projective tree"
        raise InputError("no sentence to learn from", hint=hint)
    words, trees, names = zip(*kept, strict=True)
    return ProjectiveTrees(words, trees, names, lifted, skipped)


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
