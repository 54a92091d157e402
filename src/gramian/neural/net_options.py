"""The size of a span net and how it is trained: two option objects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy.typing as npt

from gramian.value_types import Number, Whole, option, options

_SHARE = Number(0, below=1)


@options
class NetSize:
    """Units of the parts of a span net."""

    word: int = option(Whole(1), default=100)
    """Length of the vector of a word."""
    char: int = option(Whole(1), default=32)
    """Length of the vector of a character."""
    char_units: int = option(Whole(1), default=50)
    """Units of the LSTM over the characters of a word, in each direction."""
    layers: int = option(Whole(1), default=2)
    """Layers of the LSTM over words."""
    units: int = option(Whole(1), default=200)
    """Units of the LSTM over words, in each direction."""
    hidden: int = option(Whole(1), default=250)
    """Units of the layer between fenceposts and the scores of labels."""
    tag_hidden: int = option(Whole(1), default=100)
    """Units of the layer between words and the scores of tags."""

    @classmethod
    def of(cls, weights: Mapping[str, npt.NDArray[Any]]) -> NetSize:
        """Return the size of the net that weights are of; LookupError if one is missing that tells it."""
        return cls(
            word=weights["word.weight"].shape[-1],
            char=weights["char.weight"].shape[-1],
            char_units=weights["char_lstm.weight_hh_l0"].shape[-1],
            layers=n_layers(weights),
            units=weights["lstm.0.weight_hh_l0"].shape[-1],
            hidden=weights["right.bias"].shape[-1],
            tag_hidden=weights["tag_hidden.bias"].shape[-1],
        )


def n_layers(weights: Mapping[str, npt.NDArray[Any]]) -> int:
    """Return the number of layers of the LSTM over words that weights are of."""
    return sum(name.startswith("lstm.") and name.endswith(".weight_ih_l0") for name in weights)


@options
class Learning:
    """How the weights of a net are trained."""

    rate: float = option(Number(above=0), default=2e-3)
    """Learning rate of Adam after the first `warm_up` steps; it falls to a hundredth along half a cosine."""
    warm_up: int = option(Whole(1), default=200)
    """Steps until the full rate is reached."""
    batch_words: int = option(Whole(1), default=400)
    """About how many words the sentences of a step have."""
    clip: float = option(Number(above=0), default=5.0)
    """The longest gradient."""
    average: float = option(_SHARE, default=0.998)
    """Decay of the running average of weights at each step; the average is what is kept."""
    tag_share: float = option(Number(0), default=1.0)
    """Weight of the tags in the loss beside the trees."""
    unknown: float = option(Number(0), default=2.0)
    """A word seen `c` times is made unknown with probability ``unknown / (unknown + c)``."""
    word_dropout: float = option(_SHARE, default=0.2)
    """How often each vector of a word is left out: the learnt one, the fixed one, and that of its characters."""
    dropout: float = option(_SHARE, default=0.4)
    """Of the inputs and outputs of the LSTM's layers: the same units in all words of a sentence."""
    recurrent_dropout: float = option(_SHARE, default=0.0)
    """Of the weights between an LSTM's states."""
    hidden_dropout: float = option(_SHARE, default=0.3)
    """Of the layers before the scores."""
    encoder_rate: float = option(Number(0), default=0.0)
    """Learning rate of an encoder's weights; 0 leaves it as it is."""
    patience: int = option(Whole(1), default=15)
    """Epochs without a better F1 of the held-out trees after which training stops."""
