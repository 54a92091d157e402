"""Attachment score against the number of states: the data of figures 8 to 10 of Balle et al. (2014).

Figure 8 has the basis of symbols, with and without discarding of small singular values, beside the deterministic
baselines; figure 9 extended bases of several sizes; figure 10 EM after several numbers of steps. A variant is a name
of :data:`VARIANTS`; one of them with a number of states is a point.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from time import process_time

from gramian.dependency.half_constituents import decode
from gramian.dependency.head_automata import (
    HeadBasis,
    backoff,
    deterministic,
    expectation_maximisation,
    spectral,
)
from gramian.dependency.modifiers import head_sequences, projective
from gramian.dependency.shag import SHAG
from gramian.dependency.symbols import SymbolChoice, SymbolMap
from gramian.errors import OptionError
from gramian.evaluate.attachments import attachment_scores
from gramian.trees import Sentence

__all__ = ["VARIANTS", "AttachmentPoint", "Variant", "attachment_point"]


@dataclass(frozen=True)
class Variant:
    """A way to learn the automata.

    Attributes
    ----------
    figure : int
        The figure of the paper whose curve it is.
    learn : callable
        From sequences to a grammar; called with ``n_states`` and ``random_state`` where they change anything.
    states : int or None
        The number of states it always has, if it cannot be chosen.
    has_seed : bool
        Whether anything is left to chance.
    """

    figure: int
    learn: Callable[..., SHAG]
    states: int | None = None
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


@dataclass(frozen=True)
class AttachmentPoint:
    """One learnt grammar on a curve.

    Attributes
    ----------
    variant : str
    n_states : int
        The most states an automaton could have.
    uas : float
        Words with the right head, in percent, punctuation included.
    backed_off : int
        Test sentences whose marginals were no distribution, so that DET+F had to help.
    seconds : float
        Processor time of learning the automata.
    """

    variant: str
    n_states: int
    uas: float
    backed_off: int
    seconds: float


def attachment_point(
    variant: str,
    n_states: int,
    train: Sequence[Sentence],
    test: Sequence[Sentence],
    *,
    symbols: SymbolChoice = "auto",
    single_root: bool = False,
    random_state: int = 0,
) -> AttachmentPoint:
    """Learn one grammar and score it.

    Parameters
    ----------
    variant : str
        A name of :data:`VARIANTS`.
    n_states : int
        The most states an automaton may have; the baselines have their own.
    train, test : sequences of Sentence
    symbols : "auto", "upos", "xpos" or callable
        See :class:`~gramian.dependency.SymbolOptions`.
    single_root : bool
        Whether exactly one word is attached to the root; as published, any number may be.
    random_state : int

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
    trees = projective(train)
    mapping = SymbolMap.fit(trees.sentences, symbols)
    rows = [mapping(sentence.tokens) for sentence in trees.sentences]
    sequences = head_sequences(mapping.names, rows, trees.heads)
    options = {"n_states": n_states} if chosen.states is None else {}
    if chosen.has_seed:
        options["random_state"] = random_state
    began = process_time()
    grammar = chosen.learn(sequences, **options)
    seconds = process_time() - began
    fallback = backoff(sequences)
    found = [
        decode(grammar, fallback, grammar.encode(mapping(sentence.tokens)), single_root=single_root)
        for sentence in test
    ]
    parsed = [sentence.with_heads(one.heads.tolist()) for sentence, one in zip(test, found, strict=True)]
    uas = attachment_scores(test, parsed).uas
    backed_off = sum(one.backed_off for one in found)
    return AttachmentPoint(variant, chosen.states or n_states, uas, backed_off, seconds)
