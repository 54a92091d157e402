"""Head-modifier sequences of dependency trees, the training data of the automata of a grammar.

Each word and the root give a left and a right sequence of modifiers, ordered from the head outwards (Balle, Carreras, Luque & Quattoni
2014, figure 6). Crossing arcs of training trees are lifted, and the relation of a lifted word encodes its original head (the *head*
encoding of Nivre & Nilsson 2005): ``obj↑acl`` is an object whose original head has the relation ``acl`` and is a descendant of its new
head. After parsing, such words are lowered again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from gramian.automata import Sequences
from gramian.dependency.split_head_automata import LEFT, RIGHT
from gramian.errors import InputError, OptionError
from gramian.trees import Sentence, is_projective, lift

Head = tuple[str | None, int]

_MARK = "↑"


@dataclass(frozen=True)
class ProjectiveTrees:
    """Training sentences with projective trees; the relations of lifted words are marked."""

    sentences: tuple[Sentence, ...]
    heads: tuple[tuple[int, ...], ...]
    relations: tuple[tuple[str, ...], ...]
    lifted: int  # number of sentences with lifted arcs
    skipped: int  # number of omitted sentences with crossing arcs

    def joined(self, other: ProjectiveTrees) -> ProjectiveTrees:
        """Return these trees, then those of `other`; the counts are those of these trees."""
        return replace(
            self,
            sentences=self.sentences + other.sentences,
            heads=self.heads + other.heads,
            relations=self.relations + other.relations,
        )

    def with_sentences(self, sentences: Sequence[Sentence], *, add: bool) -> ProjectiveTrees:
        """Return the trees over other versions of their sentences, or, with `add`, over both versions."""
        if not add:
            return replace(self, sentences=tuple(sentences))
        return replace(
            self,
            sentences=(*self.sentences, *sentences),
            heads=self.heads * 2,
            relations=self.relations * 2,
        )


def projective(
    sentences: Sequence[Sentence], nonprojective: Literal["lift", "skip"] = "lift"
) -> ProjectiveTrees:
    """Lift crossing arcs, or omit the sentences that have them."""
    if nonprojective not in ("lift", "skip"):
        raise OptionError(f"nonprojective must be one of lift, skip, got {nonprojective!r}")
    projective_trees: list[tuple[Sentence, tuple[int, ...], tuple[str, ...]]] = []
    lifted = skipped = 0
    for sentence in sentences:
        heads, relations = sentence.heads, tuple(token.deprel for token in sentence.tokens)
        if is_projective(heads):
            projective_trees.append((sentence, heads, relations))
        elif nonprojective == "skip":
            skipped += 1
        else:
            lifted += 1
            lifted_heads = lift(heads)
            marked = tuple(
                name if head == lifted_head else f"{name}{_MARK}{relations[head - 1]}"
                for head, lifted_head, name in zip(heads, lifted_heads, relations, strict=True)
            )
            projective_trees.append((sentence, lifted_heads, marked))
    if not projective_trees:
        hint = "name a treebank with at least one projective tree"
        raise InputError("no training sentences", hint=hint)
    words, trees, names = zip(*projective_trees, strict=True)
    return ProjectiveTrees(words, trees, names, lifted, skipped)


def restored(
    heads: Sequence[int], relations: Sequence[str], *, lower: bool = True
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Attach marked words to a descendant of their head that has the encoded relation (unless not `lower`), and remove the marks.

    Descendants closer to the head are preferred, then those closer to the marked word; without a candidate the head stays.
    """
    plain = tuple(relation.partition(_MARK)[0] for relation in relations)
    if not lower or plain == tuple(relations):
        return tuple(heads), plain
    lowered = list(heads)
    for word, relation in enumerate(relations, 1):
        wanted = relation.partition(_MARK)[2]
        layer = [lowered[word - 1]] if wanted else []
        while layer:
            layer = [child for child, head in enumerate(lowered, 1) if head in layer and child != word]
            candidates = [child for child in layer if plain[child - 1] == wanted]
            if candidates:
                lowered[word - 1] = min(candidates, key=lambda child: (abs(child - word), child))
                break
    return tuple(lowered), plain


@dataclass(frozen=True)
class HeadSequences:
    """The symbols of a grammar, and the modifier sequences of each head symbol and direction; the root is the head None."""

    symbols: tuple[str, ...]
    samples: dict[Head, Sequences]


def head_sequences(
    symbols: Sequence[str], sentences: Sequence[Sequence[str]], trees: Sequence[Sequence[int]]
) -> HeadSequences:
    """Collect the head-modifier sequences of projective trees.

    Parameters
    ----------
    symbols : sequence of str
        All symbols of the grammar.
    sentences : sequence of sequences of str
        The symbols of each sentence.
    trees : sequence of sequences of int
        The heads of its words.
    """
    sequences: dict[Head, list[tuple[str, ...]]] = {(None, RIGHT): []}
    for words, heads in zip(sentences, trees, strict=True):
        sides: list[tuple[list[str], list[str]]] = [([], []) for _ in range(len(words) + 1)]
        for position, (word, head) in enumerate(zip(words, heads, strict=True), 1):
            sides[head][RIGHT if position > head else LEFT].append(word)
        sequences[None, RIGHT].append(tuple(sides[0][RIGHT]))
        for word, (left, right) in zip(words, sides[1:], strict=True):
            sequences.setdefault((word, LEFT), []).append(tuple(reversed(left)))
            sequences.setdefault((word, RIGHT), []).append(tuple(right))
    samples = {head: Sequences.from_strings(rows) for head, rows in sequences.items()}
    return HeadSequences(tuple(symbols), samples)
