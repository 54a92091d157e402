"""How large a net is, and how it is learnt: two small option objects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gramian.value_types import Constraint, Number, Whole

_SHARE = Number(0, below=1)


@dataclass(frozen=True)
class NetSize:
    """Units of the parts of a span net.

    Attributes
    ----------
    word, char, char_units : int
        Length of the vectors of words and of characters, and units of the characters' LSTM in each direction.
    layers, units : int
        Of the LSTM over words; units in each direction.
    hidden : int
        Of the layer between fenceposts and the scores of labels.
    tag_hidden : int
        Of the layer between words and the scores of tags.
    """

    word: int = 100
    char: int = 32
    char_units: int = 50
    layers: int = 2
    units: int = 200
    hidden: int = 250
    tag_hidden: int = 100

    _constraints: ClassVar[dict[str, Constraint]] = {
        name: Whole(1) for name in ("word", "char", "char_units", "layers", "units", "hidden", "tag_hidden")
    }


@dataclass(frozen=True)
class Learning:
    """How the weights of a net are found.

    Attributes
    ----------
    rate : float
        Length of Adam's steps after the first `warm_up` steps; it falls to a hundredth along half a cosine.
    warm_up : int
        Steps until the full rate is reached.
    batch_words : int
        About how many words the sentences of a step have.
    clip : float
        The longest gradient.
    average : float
        How much of the running average of weights stays at each step; the average is what is kept.
    tag_share : float
        What the tags count in the loss beside the trees.
    unknown : float
        A word seen `c` times is made unknown with probability ``unknown / (unknown + c)``.
    word_dropout : float
        How often each vector of a word is left out: the learnt one, the fixed one, and that of its characters.
    dropout : float
        Of the inputs and outputs of the LSTM's layers: the same units in all words of a sentence.
    recurrent_dropout : float
        Of the weights between an LSTM's states.
    hidden_dropout : float
        Of the layers before the scores.
    encoder_rate : float
        Length of the steps of an encoder's weights; 0 leaves it as it is.
    patience : int
        Passes without a better F1 of the held-out trees after which learning stops.
    """

    rate: float = 2e-3
    warm_up: int = 200
    batch_words: int = 400
    clip: float = 5.0
    average: float = 0.998
    tag_share: float = 1.0
    unknown: float = 2.0
    word_dropout: float = 0.2
    dropout: float = 0.4
    recurrent_dropout: float = 0.0
    hidden_dropout: float = 0.3
    encoder_rate: float = 0.0
    patience: int = 15

    _constraints: ClassVar[dict[str, Constraint]] = {
        **{name: Number(above=0) for name in ("rate", "clip")},
        **{name: Whole(1) for name in ("warm_up", "batch_words", "patience")},
        **{name: Number(0) for name in ("tag_share", "unknown", "encoder_rate")},
        **dict.fromkeys(
            ("average", "word_dropout", "dropout", "recurrent_dropout", "hidden_dropout"), _SHARE
        ),
    }
