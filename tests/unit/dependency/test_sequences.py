import pytest
from hypothesis import given
from hypothesis import strategies as st

from gramian.dependency.head_sequences import head_sequences, projective, restored
from gramian.dependency.split_head_automata import LEFT, RIGHT
from gramian.errors import InputError, OptionError
from gramian.trees import Sentence, Token


def sentence(heads: list[int | None]) -> Sentence:
    return Sentence(tuple(Token(number, "w", head=head) for number, head in enumerate(heads, 1)))


def test_modifiers_are_read_from_the_head_outwards():
    # a b H c d, all modifiers of H
    found = head_sequences(tuple("abcdH"), [list("abHcd")], [[3, 3, 0, 3, 3]]).samples
    assert list(found["H", LEFT]) == [("b", "a")]
    assert list(found["H", RIGHT]) == [("c", "d")]
    assert list(found[None, RIGHT]) == [("H",)]
    assert (None, LEFT) not in found


def test_every_word_gives_two_sequences():
    trees = [[2, 0, 2], [0], [0, 1, 1]]
    words = [["x"] * len(tree) for tree in trees]
    found = head_sequences(("x",), words, trees).samples
    assert len(found["x", LEFT]) == len(found["x", RIGHT]) == 7
    assert len(found[None, RIGHT]) == 3


def test_crossing_arcs_are_lifted_or_skipped():
    crossed, straight = sentence([3, 0, 2, 1]), sentence([2, 0])
    lifted = projective([crossed, straight])
    assert (lifted.lifted, lifted.skipped, lifted.heads) == (1, 0, ((2, 0, 2, 2), (2, 0)))
    skipped = projective([crossed, straight], "skip")
    assert (skipped.lifted, skipped.skipped, skipped.heads) == (0, 1, ((2, 0),))


def test_nothing_to_learn_from_is_an_error():
    with pytest.raises(InputError, match="no training sentences"):
        projective([sentence([3, 0, 2, 1])], "skip")
    with pytest.raises(InputError, match="no head"):
        projective([sentence([None, None])])
    with pytest.raises(OptionError, match="nonprojective"):
        projective([sentence([0])], "bend")  # type: ignore[arg-type]


def test_lifted_words_say_where_they_came_from():
    names = ["obj", "root", "acl", "det"]
    crossed = Sentence(
        tuple(
            Token(i, "a", head=head, deprel=name)
            for i, (head, name) in enumerate(zip([3, 0, 2, 1], names, strict=True), 1)
        )
    )
    trees = projective([crossed])
    assert trees.relations == (("obj↑acl", "root", "acl", "det↑obj"),)
    assert restored(trees.heads[0], trees.relations[0]) == ((3, 0, 2, 1), tuple(names))


@given(st.integers(1, 8), st.randoms(use_true_random=False))
def test_restored_heads_are_a_tree_whatever_the_marks(words, random):
    heads = [0, *(random.randrange(1, word) for word in range(2, words + 1))]
    relations = [random.choice("ab") + random.choice(["", "↑a", "↑b"]) for _ in heads]
    now, plain = restored(heads, relations)
    assert set(plain) <= {"a", "b"}
    for word in range(1, words + 1):
        steps = 0
        while word:
            word, steps = now[word - 1], steps + 1
            assert steps <= words
    unmarked = [relation.partition("↑")[0] for relation in relations]
    assert restored(heads, unmarked) == (tuple(heads), tuple(unmarked))
