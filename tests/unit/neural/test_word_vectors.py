"""Vectors of words: words in the same places are alike, and the decomposition is that of dense algebra."""

import numpy as np
import pytest

from gramian.errors import InputError
from gramian.neural.word_vectors import read_vectors, word_vectors


def text(n=300, seed=0):
    rng = np.random.default_rng(seed)
    nouns, verbs = ["cat", "Dog", "bird", "fish"], ["sees", "hears", "likes"]
    return [
        [
            "the",
            str(rng.choice(nouns)),
            str(rng.choice(verbs)),
            "a",
            str(rng.choice(nouns)),
            "in",
            "1984",
            ".",
        ]
        for _ in range(n)
    ]


def test_words_in_the_same_places_are_alike():
    vectors = word_vectors(text(), n_dims=4)
    assert set(vectors) == {
        "the",
        "cat",
        "dog",
        "bird",
        "fish",
        "sees",
        "hears",
        "likes",
        "a",
        "in",
        "0000",
        ".",
    }
    for vector in vectors.values():
        assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)
    assert vectors["sees"] @ vectors["hears"] > 0.95
    assert vectors["cat"] @ vectors["dog"] > 0.95
    assert vectors["cat"] @ vectors["sees"] < 0.5


def test_agrees_with_dense_algebra():
    words = [["x"] * 0 + list(one) for one in ("abcab", "bca", "cabbage", "abc")] * 4
    vectors = word_vectors(words, n_dims=2, min_count=8)
    known = sorted({w for s in words for w in s if sum(t.count(w) for t in words) >= 8})
    assert set(vectors) == set(known)
    kinds = [*known, "rare", "edge"]
    joint = np.zeros((len(known), 4, len(kinds)))
    for sentence in words:
        row = ["edge", "edge", *(w if w in known else "rare" for w in sentence), "edge", "edge"]
        for place in range(2, len(row) - 2):
            if row[place] in known:
                for slot, offset in enumerate((-2, -1, 1, 2)):
                    joint[known.index(row[place]), slot, kinds.index(row[place + offset])] += 1
    joint = joint.reshape(len(known), -1)
    here, there = joint.sum(1, keepdims=True), np.maximum(joint.sum(0, keepdims=True), 1)
    left = np.linalg.svd(np.sqrt(joint) / (here * there) ** 0.25, full_matrices=False)[0][:, :2]
    left /= np.linalg.norm(left, axis=1, keepdims=True)
    found = np.stack([vectors[word] for word in known])
    np.testing.assert_allclose(found @ found.T, left @ left.T, atol=1e-4)


def test_same_text_same_vectors_and_too_little_text_is_refused():
    one, other = word_vectors(text(), n_dims=3), word_vectors(text(), n_dims=3)
    assert all(np.array_equal(one[word], other[word]) for word in one)
    with pytest.raises(InputError, match="too few for vectors of 64 numbers"):
        word_vectors(text(3))


def test_vectors_are_read_from_the_text_format_of_word2vec(tmp_path):
    path = tmp_path / "a.vec"
    path.write_text("3 2\nThe 0.5 1\nthe 7 7\ndog -1 2e-3\n", encoding="utf-8")
    vectors = read_vectors(path)
    assert {word: vector.tolist() for word, vector in vectors.items()} == {
        "the": [0.5, 1.0],
        "dog": [-1.0, np.float32(2e-3)],
    }
    assert list(read_vectors(path, limit=1)) == ["the"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("the 1 2\ndog 1\n", r"a.vec:2: a word is not followed by 2 numbers"),
        ("the 1 x\n", r"a.vec:1: a word is not followed by 2 numbers"),
        ("the 1 nan\n", r"a.vec:1: a word is not followed by 2 numbers"),
        ("the\n", r"a.vec:1: a word is not followed by numbers"),
        ("", r"a.vec: no vectors"),
    ],
)
def test_broken_vectors_are_refused(tmp_path, text, message):
    path = tmp_path / "a.vec"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        read_vectors(path)
