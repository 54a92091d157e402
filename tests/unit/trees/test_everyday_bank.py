"""The bank of everyday sentences is whole: twenty kinds of ten trees, in plain Penn style."""

from __future__ import annotations

from pathlib import Path

import pytest

from gramian import read_trees

BANK = sorted((Path(__file__).parents[2] / "data" / "everyday").glob("*.mrg"))
LABELS = "ADJP ADVP CONJP FRAG INTJ LST NP PP PRN PRT QP S SBAR SBARQ SINV SQ VP WHADJP WHADVP WHNP WHPP"


def test_there_are_twenty_kinds():
    assert len(BANK) == 20


@pytest.mark.parametrize("path", BANK, ids=lambda path: path.stem)
def test_ten_trees_with_known_labels(path):
    trees = list(read_trees(path))
    assert len(trees) == 10
    for tree in trees:
        assert {node.label for node in tree.subtrees() if not node.is_preterminal} <= set(LABELS.split(" "))
