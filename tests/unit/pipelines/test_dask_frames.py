"""Texts in bags and frames get the trees they would get anywhere."""

from __future__ import annotations

import pytest
from tiny_grammar import FIXTURES

import gramian
from gramian.errors import OptionError

MODEL = str(FIXTURES / "version-1.grammar")
TREE = "(S (NP (DT the) (NN dog)) (VP (VB barks)) (. .))"


def test_a_bag():
    dask_bag = pytest.importorskip("dask.bag", reason="the extra 'cluster' is not installed")
    documents = [
        "The dog barks. The cat barks.",
        {"id": 7, "text": "the dog barks."},
        ["the", "dog", "barks", "."],
    ]
    bag = dask_bag.from_sequence(documents, npartitions=1)
    found = gramian.parse_bag(bag, MODEL, decoder="viterbi").compute(scheduler="synchronous")
    places = [("1", 0), ("1", 15), ("7", 0), ("3", 1)]
    assert [(one["document"], one["sentence"]) for one in found] == places
    assert [one["tree"] for one in found][2:] == [TREE, TREE]
    bad = gramian.parse_bag(dask_bag.from_sequence([7], npartitions=1), MODEL)
    with pytest.raises(OptionError, match="a document must be a text"):
        bad.compute(scheduler="synchronous")


def test_frames():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pandas.DataFrame(
        {"number": [1, 2, 3], "said": ["the dog barks .", "", "the dog barks ."]}, index=[5, 6, 7]
    )
    found = gramian.parse_frame(frame, "said", MODEL)
    assert found["tree"].to_list() == [TREE, "", TREE]
    assert found["status"].to_list() == ["parsed", "empty", "parsed"]
    assert found["number"].to_list() == [1, 2, 3]
    with pytest.raises(OptionError, match="there is no column 'text' among number, said"):
        gramian.parse_frame(frame)
    dataframe = pytest.importorskip(
        "dask.dataframe", reason="dask's data frames are not installed", exc_type=ImportError
    )
    lazy = gramian.parse_frame(dataframe.from_pandas(frame, npartitions=2), "said", MODEL)
    assert lazy.compute(scheduler="synchronous")["tree"].to_list() == [TREE, "", TREE]
