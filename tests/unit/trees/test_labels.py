"""Labels of binarised trees, composed and taken apart."""

from hypothesis import given
from hypothesis import strategies as st
from tree_strategies import labels

from gramian.trees.labels import (
    annotated_label,
    chain_label,
    escape_label,
    intermediate_label,
    is_intermediate,
    split_chain,
    unescape_label,
)


@given(labels)
def test_escapes_are_undone(label):
    assert unescape_label(escape_label(label)) == label
    assert not set(escape_label(label)) & set("@|^[],")


@given(st.lists(labels, min_size=1, max_size=4), st.lists(labels, max_size=3))
def test_chains_are_taken_apart_whatever_the_context(chain, ancestors):
    label = annotated_label(
        chain_label([escape_label(one) for one in chain]), [escape_label(one) for one in ancestors]
    )
    assert split_chain(label) == chain
    assert not is_intermediate(label)


def test_intermediate_labels():
    assert intermediate_label("X") == "@X"
    assert intermediate_label("X", ["A"]) == "@X[A]"
    assert annotated_label(intermediate_label("X", ["A", "B"]), ["P", "G"]) == "@X[A,B]^P^G"
    assert is_intermediate("@X")
    assert not is_intermediate(escape_label("@X"))
