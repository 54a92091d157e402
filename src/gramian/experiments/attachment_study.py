"""Attachment score against the number of states: the data of figures 8 to 10 of Balle et al. (2014).

Figure 8 has the basis of symbols, with and without discarding of small singular values, beside the deterministic
baselines; figure 9 extended bases of several sizes; figure 10 EM after several numbers of steps. A variant is a name
of :data:`VARIANTS`; one of them with a number of states is a point. As published, marginals are decoded as they are, whether they are a
distribution or not; how many sentences have some that are not is told, and a DET+F grammar helps there if asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from time import process_time
from typing import Any, NamedTuple

from gramian.dependency.half_constituents import decode
from gramian.dependency.head_automata import (
    HeadBasis,
    backoff,
    deterministic,
    expectation_maximisation,
    spectral,
)
from gramian.dependency.modifiers import HeadSequences, head_sequences, projective
from gramian.dependency.split_head_automata import SHAG
from gramian.dependency.symbols import SymbolChoice, SymbolMap
from gramian.errors import OptionError
from gramian.evaluate.attachments import attachment_scores
from gramian.trees import Sentence


class Variant(NamedTuple):
    """A way to learn the automata: from sequences, and from ``n_states`` and ``random_state`` where they change anything."""

    figure: int  # of the paper, whose curve it is
    learn: Callable[..., SHAG]
    states: int | None = None  # the number it always has, if it cannot be chosen
    has_seed: bool = False


VARIANTS: dict[str, Variant] = {
    "DET": Variant(8, deterministic, states=1),
    "DET+F": Variant(8, partial(deterministic, first=True), states=2),
    **{
        f"symbols, mass {mass:g}": Variant(8, partial(spectral, basis=HeadBasis("symbols", mass=mass)))
        for mass in (0.0, 0.0001, 0.0005, 0.001)
    },
    **{
        f"extended, factor {factor:g}": Variant(9, partial(spectral, basis=HeadBasis(cut_factor=factor)))
        for factor in (1.0, 2.0, 5.0, 10.0)
    },
    **{
        f"EM, {steps} steps": Variant(10, partial(expectation_maximisation, max_iter=steps), has_seed=True)
        for steps in (10, 25, 50, 100)
    },
}


class AttachmentPoint(NamedTuple):
    """One learnt grammar on a curve."""

    variant: str
    n_states: int  # the most an automaton could have
    uas: float  # words with the right head, in percent, punctuation included
    improper: int  # test sentences whose marginals were no distribution, where DET+F helps if it may
    seconds: float  # processor time of learning the automata


def read_sequences(train: Sequence[Sentence], symbols: SymbolChoice) -> tuple[SymbolMap, HeadSequences]:
    """Return the symbols of a treebank, and the modifiers of its heads; crossing arcs are lifted."""
    trees = projective(train)
    mapping = SymbolMap.fit(trees.sentences, symbols)
    rows = [mapping(sentence.tokens) for sentence in trees.sentences]
    return mapping, head_sequences(mapping.names, rows, trees.heads)


def attachment_point(
    variant: str,
    n_states: int,
    train: Sequence[Sentence],
    test: Sequence[Sentence],
    *,
    symbols: SymbolChoice = "auto",
    single_root: bool = False,
    helped: bool = False,
    random_state: int = 0,
) -> AttachmentPoint:
    """Learn one grammar of a variant and score it; as published, any number of words may be attached to the root.

    `helped`: where marginals are no distribution, the mean of them and of a smoothed DET+F grammar's is decoded.

    Examples
    --------
    >>> from gramian.trees import Token
    >>> dogs_bark = Sentence((Token(1, "dogs", upos="N", head=2), Token(2, "bark", upos="V", head=0)))
    >>> attachment_point("DET", 1, [dogs_bark], [dogs_bark]).uas
    100.0
    """
    if variant not in VARIANTS:
        raise OptionError(f"variant must be one of {'; '.join(VARIANTS)}, got {variant!r}")
    chosen = VARIANTS[variant]
    mapping, sequences = read_sequences(train, symbols)
    options = {"n_states": n_states} if chosen.states is None else {}
    if chosen.has_seed:
        options["random_state"] = random_state
    began = process_time()
    grammar = chosen.learn(sequences, **options)
    seconds = process_time() - began
    uas, improper = _scored(grammar, mapping, backoff(sequences) if helped else None, test, single_root)
    return AttachmentPoint(variant, chosen.states or n_states, uas, improper, seconds)


def attachment_by_steps(
    n_states: int,
    steps: Iterable[int],
    train: Sequence[Sentence],
    test: Sequence[Sentence],
    *,
    symbols: SymbolChoice = "auto",
    single_root: bool = False,
    random_state: int = 0,
) -> dict[int, float]:
    """Return the attachment score after each of some numbers of EM steps: the data of figure 9b."""
    mapping, sequences = read_sequences(train, symbols)
    found: dict[int, float] = {}
    how: dict[str, Any] = {"n_states": n_states, "random_state": random_state}
    grammar, done = None, 0
    for step in sorted(set(steps)):
        grammar = expectation_maximisation(sequences, max_iter=step - done, start=grammar or "random", **how)
        found[step] = _scored(grammar, mapping, None, test, single_root)[0]
        done = step
    return found


def _scored(
    grammar: SHAG, mapping: SymbolMap, helper: SHAG | None, test: Sequence[Sentence], single_root: bool
) -> tuple[float, int]:
    """Return the attachment score, and how many sentences have marginals that are no distribution."""
    found = [
        decode(grammar, helper, grammar.encode(mapping(sentence.tokens)), single_root=single_root)
        for sentence in test
    ]
    parsed = [sentence.with_heads(one.heads.tolist()) for sentence, one in zip(test, found, strict=True)]
    return attachment_scores(test, parsed).uas, sum(not one.is_distribution for one in found)
