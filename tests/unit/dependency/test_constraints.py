"""Known and forbidden heads, and trees with crossing arcs."""

from itertools import product

import numpy as np
import pytest
from toy_treebank import toy_sentences

from gramian.dependency import ArcConstraints, SHAGParser, arc_calibration
from gramian.dependency.arc_calibration import ArcCalibration
from gramian.dependency.spanning_trees import maximum_spanning_tree
from gramian.errors import InputError
from gramian.trees import Sentence, Token, is_projective

SENTENCE = toy_sentences(5, seed=2)[0]


@pytest.fixture(scope="module")
def parser():
    return (
        SHAGParser(n_states=2, max_iter=2, start="random", epochs=1, tags="gold")
        .fit(toy_sentences(60, seed=1))
        .model_
    )


def reaches_root(heads: tuple[int, ...], word: int) -> bool:
    for _ in heads:
        word = heads[word - 1] if word else 0
    return word == 0


@pytest.mark.parametrize("single_root", [True, False])
def test_the_spanning_tree_is_the_best_of_all_trees(single_root):
    rng = np.random.default_rng(0)
    for size in (1, 2, 3, 4, 5):
        trees = [
            heads
            for heads in product(range(size + 1), repeat=size)
            if all(reaches_root(heads, word) for word in range(1, size + 1))
            and (heads.count(0) == 1 or not single_root)
        ]
        for _ in range(8):
            scores = rng.normal(size=(size + 1, size + 1))
            totals = [scores[heads, range(1, size + 1)].sum() for heads in trees]
            found = tuple(maximum_spanning_tree(scores, single_root=single_root).tolist())
            assert found == trees[int(np.argmax(totals))]


def test_arcs_may_cross_with_mst():
    scores = np.full((5, 5), -10.0)
    scores[0, 2] = scores[2, 4] = scores[4, 1] = scores[1, 3] = 1.0
    heads = maximum_spanning_tree(scores).tolist()
    assert heads == [4, 0, 1, 2]
    assert not is_projective(heads)


def test_decoding_without_crossing_arcs_agrees_where_none_cross(parser):
    for sentence in toy_sentences(20, seed=3):
        assert parser.parse(sentence, decoder="mst").heads.count(0) == 1


@pytest.mark.parametrize("decoder", ["mbr", "mst", "viterbi"])
def test_every_possible_head_can_be_required_and_every_arc_forbidden(parser, decoder):
    free = parser.parse(SENTENCE, decoder=decoder)
    for head in (0, *range(2, len(SENTENCE) + 1)):
        parse = parser.parse(SENTENCE, decoder=decoder, constraints=ArcConstraints({1: head}))
        assert parse.heads[0] == head
        assert parse.confidences[0] == pytest.approx(1.0, abs=1e-9)
    for word, head in enumerate(free.heads, 1):
        parse = parser.parse(SENTENCE, decoder=decoder, constraints=ArcConstraints({}, {word: [head]}))
        assert parse.heads[word - 1] != head


def test_what_cannot_be_satisfied_is_an_error(parser):
    with pytest.raises(InputError, match="no projective tree"):
        parser.parse(SENTENCE, constraints=ArcConstraints({1: 2, 2: 1}))
    with pytest.raises(InputError, match="word 1 must name another word"):
        parser.parse(SENTENCE, constraints=ArcConstraints({1: 1}))
    with pytest.raises(InputError, match="word 1 must name another word"):
        parser.parse(SENTENCE, constraints=ArcConstraints({}, {1: [99]}))
    with pytest.raises(InputError, match="takes no constraints"):
        parser.parse(SENTENCE, max_length=2, constraints=ArcConstraints({1: 2}))


def test_constraints_of_misc(parser):
    tokens = list(SENTENCE.tokens)
    tokens[0] = Token(1, tokens[0].form, upos="X", xpos="X", misc="SpaceAfter=No|Head=3")
    sentence = Sentence(tuple(tokens))
    (parse,) = parser.parse_many([sentence], constraints=ArcConstraints.of)
    assert parse.heads[0] == 3
    with pytest.raises(InputError, match="several known heads"):
        ArcConstraints.of(Sentence((Token(1, "a", misc="Head=0,2"), Token(2, "b"))))


def test_calibration_brings_confidences_to_the_share_of_correct_arcs():
    # Marginals of 0.9 that are right 6 times in 10: the fitted sigmoid maps them to 0.6, and keeps the order.
    marginals = np.repeat([0.9, 0.99], [1000, 1000])
    outcomes = np.arange(2000) % 10 < np.repeat([6, 8], [1000, 1000])
    fitted = arc_calibration._fit(marginals, outcomes)
    np.testing.assert_allclose(fitted(np.array([0.9, 0.99])), [0.6, 0.8], rtol=0, atol=0.005)
    assert fitted(np.array([1.0])) == 1.0
    assert arc_calibration._fit(marginals, outcomes >= 0) == ArcCalibration()
