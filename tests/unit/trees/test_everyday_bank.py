"""The bank of everyday sentences is whole, in plain Penn style: 200 trees of twenty kinds, and 100 of ten kinds that are hard to parse."""

from pathlib import Path

import pytest
from tools.english.kinds import HAND_MADE

from gramian import read_trees

DATA = Path(__file__).parents[2] / "data"
COMMON = frozenset(
    (
        "is",
        "are",
        "was",
        "do",
        "does",
        "did",
        "have",
        "has",
        "n't",
        "not",
        "'s",
        "'re",
        "said",
        "asked",
        "go",
        "come",
    )
)
LABELS = "ADJP ADVP CONJP FRAG INTJ LST NP PP PRN PRT QP S SBAR SBARQ SINV SQ VP WHADJP WHADVP WHNP WHPP"
PARTS = {"everyday": (20, 10), "everyday-weak": (10, 5), "everyday-unseen": (10, 5)}
"""Folders of the bank: kinds of sentences, and trees of each kind."""
BANK = [path for part in PARTS for path in sorted((DATA / part).glob("*.mrg"))]


@pytest.mark.parametrize("part", PARTS)
def test_number_of_kinds(part):
    assert len(list((DATA / part).glob("*.mrg"))) == PARTS[part][0]


@pytest.mark.parametrize("path", BANK, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_trees_have_known_labels(path):
    trees = list(read_trees(path))
    assert len(trees) == PARTS[path.parent.name][1]
    for tree in trees:
        assert {node.label for node in tree.subtrees() if not node.is_preterminal} <= set(LABELS.split(" "))


def test_no_sentence_is_in_the_trees_written_for_the_model():
    written = list(read_trees(HAND_MADE))
    bank = [words(tree) for path in BANK for tree in read_trees(path)]
    assert len(written) > 200
    assert {node.label for tree in written for node in tree.subtrees() if not node.is_preterminal} <= set(
        LABELS.split(" ")
    )
    assert not [tree for tree in written if any(len(words(tree) & other) > 2 for other in bank)]


def words(tree):
    """Return the content words of a tree."""
    content = zip(tree.words, tree.tags, strict=True)
    return {
        word.lower()
        for word, tag in content
        if tag[:2] in ("NN", "VB", "JJ", "RB") and word.lower() not in COMMON
    }


def test_no_sentence_is_both_seen_and_unseen():
    words = [tuple(tree.words) for path in BANK for tree in read_trees(path)]
    assert len(words) == len(set(words)) == 300
