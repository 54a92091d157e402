"""Attachment score against the number of states: the data of figures 8 to 10 of Balle et al. (2014).

Figure 8 has the basis of symbols, with and without discarding of small singular values, beside the deterministic
baselines; figure 9 extended bases of several sizes; figure 10 EM after several numbers of steps. A variant is a name
of :data:`VARIANTS`; one of them with a number of states is a point.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from time import process_time

from gramian.dependency.dependency_decode import decode
from gramian.dependency.head_automata import (
    HeadBasis,
    backoff,
    deterministic,
    expectation_maximisation,
    spectral,
)
from gramian.dependency.modifiers import HeadSequences, head_sequences, projective
from gramian.dependency.shag import SHAG
from gramian.dependency.symbols import SymbolChoice, SymbolMap
from gramian.errors import OptionError
from gramian.evaluate.attachments import attachment_scores
from gramian.trees import Sentence

__all__ = ["VARIANTS", "AttachmentPoint", "Variant", "attachment_point", "attachment_study"]


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
    states : int
        The most states an automaton could have.
    uas : float
        Words with the right head, in percent, punctuation included.
    backed_off : int
        Test sentences whose marginals were no distribution, so that DET+F had to help.
    seconds : float
        Processor time of learning the automata.
    """

    variant: str
    states: int
    uas: float
    backed_off: int
    seconds: float


def attachment_point(
    variant: str,
    states: int,
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
    states : int
        The most states an automaton may have; the baselines have their own.
    train, test : sequences of Sentence
    symbols : "auto", "upos", "xpos" or callable
        See :class:`~gramian.dependency.SHAGParser`.
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
    return _point(variant, states, _prepared(train, symbols), test, single_root, random_state)


def attachment_study(
    train: Sequence[Sentence],
    test: Sequence[Sentence],
    *,
    states: Sequence[int] = (1, 2, 3, 5, 7, 9, 12, 15, 20),
    variants: Sequence[str] = tuple(VARIANTS),
    symbols: SymbolChoice = "auto",
    single_root: bool = False,
    random_state: int = 0,
) -> Iterator[AttachmentPoint]:
    """Yield the points of the figures, variant by variant; other parameters as for :func:`attachment_point`."""
    prepared = _prepared(train, symbols)
    for variant in variants:
        for number in states if _variant(variant).states is None else states[:1]:
            yield _point(variant, number, prepared, test, single_root, random_state)


@dataclass(frozen=True)
class _Prepared:
    mapping: SymbolMap
    sequences: HeadSequences
    backoff: SHAG


def _prepared(train: Sequence[Sentence], symbols: SymbolChoice) -> _Prepared:
    trees = projective(train)
    mapping = SymbolMap.fit(trees.sentences, symbols)
    rows = [mapping(sentence.tokens) for sentence in trees.sentences]
    sequences = head_sequences(mapping.names, rows, trees.heads)
    return _Prepared(mapping, sequences, backoff(sequences))


def _variant(name: str) -> Variant:
    if name not in VARIANTS:
        raise OptionError(f"variant must be one of {'; '.join(VARIANTS)}, got {name!r}")
    return VARIANTS[name]


def _point(
    name: str,
    states: int,
    prepared: _Prepared,
    test: Sequence[Sentence],
    single_root: bool,
    random_state: int,
) -> AttachmentPoint:
    variant = _variant(name)
    options = {"n_states": states} if variant.states is None else {}
    if variant.has_seed:
        options["random_state"] = random_state
    began = process_time()
    grammar = variant.learn(prepared.sequences, **options)
    seconds = process_time() - began
    trees, backed_off = [], 0
    for sentence in test:
        encoded = grammar.encode(prepared.mapping(sentence.tokens))
        found = decode(grammar, prepared.backoff, encoded, single_root=single_root)
        backed_off += found.backed_off
        trees.append(sentence.with_heads(found.heads.tolist()))
    return AttachmentPoint(
        name, variant.states or states, attachment_scores(test, trees).uas, backed_off, seconds
    )
