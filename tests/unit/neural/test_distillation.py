"""Mean posteriors of several nets equal those that each model computes without torch; dependencies lower what crosses them."""

from __future__ import annotations

import numpy as np
import pytest
from small_nets import QUICK, SMALL, made_up_trees

from gramian.experts import NeuralExpert

pytest.importorskip("torch")

from gramian.neural.distillation import LEAST_SHARE, distil
from gramian.neural.span_inventory import cell


@pytest.fixture(scope="module")
def teachers():
    """Two nets whose inventories differ: the second has seen no verb without a subject."""
    every = made_up_trees(40)
    short = [tree for tree in every if "sleep" not in tree.words]
    return [
        NeuralExpert(SMALL, QUICK, max_iter=8, held_out=0, device="cpu", random_state=seed).fit(trees).model_
        for seed, trees in enumerate((every, short))
    ]


def mean_posteriors(teachers, words):
    """The same from the models' own arithmetic, by span and chain, and by word and tag."""
    spans, tags = {}, {}
    n = len(words)
    for teacher in teachers:
        chances, tag_chances = teacher.chains(words)
        for width in range(1, n + 1):
            for start in range(n - width + 1):
                row = chances[cell(n, start, start + width)]
                for chain, share in zip(teacher.inventory.chains, row.tolist(), strict=True):
                    key = (start, start + width, chain)
                    spans[key] = spans.get(key, 0.0) + share / len(teachers)
        for word, row in enumerate(tag_chances.tolist()):
            for tag, share in zip(teacher.inventory.tags, row, strict=True):
                tags[word, tag] = tags.get((word, tag), 0.0) + share / len(teachers)
    return spans, tags


def test_posteriors_are_the_mean_of_the_models(teachers):
    assert teachers[0].inventory.chains != teachers[1].inventory.chains
    sentences = [tree.words for tree in made_up_trees(9, seed=5)]
    for words, soft in zip(sentences, distil(teachers, sentences), strict=True):
        assert soft.words == words
        spans, tags = mean_posteriors(teachers, words)
        given = {span[:3]: span[3] for span in soft.spans}
        for key, share in spans.items():
            assert given.get(key, 0.0) == pytest.approx(share if key in given else 0.0, abs=2e-3)
            assert key in given or share < LEAST_SHARE + 2e-3
        for word, tag, share in soft.tags:
            assert share == pytest.approx(tags[word, tag], abs=2e-3)


def test_spans_that_cross_a_phrase_are_less_likely(teachers):
    words = next(tree.words for tree in made_up_trees(30, seed=2) if len(tree.words) >= 5)
    [free] = distil(teachers, [words])
    [bound] = distil(teachers, [words], uncrossed=[[(0, 2)]])

    def mass(soft):
        return sum(share for first, last, _, share in soft.spans if first == 1 and last > 2)

    assert mass(bound) < mass(free)


def test_given_tags_count_as_much_as_the_teachers(teachers):
    words = made_up_trees(1, seed=3)[0].words
    [free] = distil(teachers, [words])
    tag = teachers[0].inventory.tags[0]
    [given] = distil(teachers, [words], tags=[[tag] * len(words)])
    shares = {(word, name): share for word, name, share in free.tags}
    for word, name, share in given.tags:
        expected = shares.get((word, name), 0.0) / 2 + (name == tag) / 2
        assert share == pytest.approx(expected, abs=LEAST_SHARE)
    assert np.isclose(sum(share for *_, share in given.tags), len(words), atol=0.1)
