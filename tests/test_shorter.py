"""The English model of fewer words says of the others what it said before."""

from dataclasses import replace

import numpy as np
import pytest
from tools.english.shorter import shorter_lexicon, shorter_net

from gramian import load


@pytest.fixture(scope="module")
def model():
    return load().model


def test_a_shorter_lexicon_scores_other_words_as_before(model):
    lexicon = model.grammar.lexicon
    count = lexicon.word_count.copy()
    dropped = [place for place, word in enumerate(lexicon.words) if word.startswith("s")]
    count[dropped] = 0
    short = shorter_lexicon(replace(lexicon, word_count=count))
    assert len(short.words) == np.count_nonzero(count) < len(lexicon.words)
    for word in ("the", "cells", "can", "Zeus"):
        before, after = lexicon.score(word), short.score(word)
        for name in ("tags", "coarse", "states"):
            np.testing.assert_array_equal(getattr(before, name), getattr(after, name))
    guessed = lexicon.tag_probabilities("stones")
    assert len(short.score("stones").tags) == np.count_nonzero(guessed >= lexicon.min_tag_probability)


def test_a_shorter_net_scores_other_words_as_before(model):
    net = model.expert("neural").model
    words = set(net.inventory.words) - {"stones"}
    short = shorter_net(net, words)
    assert short.inventory.words == tuple(word for word in net.inventory.words if word != "stones")
    same, other = ["the", "cells", "can", "divide"], ["the", "stones", "can", "divide"]
    np.testing.assert_array_equal(net.labels(same), short.labels(same))
    assert not np.array_equal(net.labels(other), short.labels(other))
