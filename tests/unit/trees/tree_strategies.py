"""Trees drawn by hypothesis: any labels and words that bracket text can hold."""

from hypothesis import strategies as st

from gramian.trees import Tree

_CHARACTERS = st.one_of(
    st.sampled_from("ABSNPV@|^[],%-=#+2Cé語　."),
    st.characters(exclude_characters=" \t\n\r\f\v()\0", exclude_categories=("Cs",)),
)
labels = st.text(_CHARACTERS, min_size=1, max_size=5)
words = st.one_of(
    st.text(_CHARACTERS, min_size=1, max_size=6),
    st.text(st.sampled_from("()-LRB"), min_size=1, max_size=12),
)
preterminals = st.builds(lambda label, word: Tree(label, word=word), labels, words)
_nodes = st.recursive(
    st.one_of(preterminals, st.just(Tree(""))),
    lambda parts: st.builds(Tree, labels, st.lists(parts, min_size=1, max_size=5)),
    max_leaves=25,
)
trees = st.one_of(_nodes, st.builds(Tree, st.just(""), st.lists(_nodes, min_size=1, max_size=5)))
labelled_trees = st.recursive(
    preterminals,
    lambda parts: st.builds(Tree, labels, st.lists(parts, min_size=1, max_size=5)),
    max_leaves=25,
)
