"""Texts in bags and frames get the trees they would get anywhere."""

import pickle

import pytest
from tiny_grammar import FIXTURES

import gramian
from gramian.errors import OptionError
from gramian.pipelines import row_parser

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
    [bad] = gramian.parse_bag(dask_bag.from_sequence([7], npartitions=1), MODEL).compute(
        scheduler="synchronous"
    )
    assert bad["document"] == "1"
    assert "a sentence is text, or tokens" in bad["error"]


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


ROWS = [
    {"id": 1, "text": "the dog barks ."},
    {"id": 2, "text": None},
    {"id": 3, "text": "the dog barks . The dog barks ."},
    {"id": 4, "text": ""},
]


@pytest.mark.parametrize("kind", ["rows", "columns", "arrow", "batch", "pandas"])
@pytest.mark.parametrize("split", [False, True])
def test_every_kind_of_batch_gets_the_same_columns(kind, split):
    pyarrow = pytest.importorskip("pyarrow", reason="the extra 'corpora' is not installed")
    parse = pickle.loads(pickle.dumps(gramian.RowParser(MODEL, split=split)))
    table = pyarrow.Table.from_pylist(ROWS)
    batch = {
        "rows": ROWS,
        "columns": table.to_pydict(),
        "arrow": table,
        "batch": table.to_batches()[0],
        "pandas": table.to_pandas() if kind == "pandas" else None,
    }[kind]
    parsed = parse(batch)
    if kind == "columns":
        parsed = pyarrow.table(parsed)
    if kind == "pandas":
        parsed = pyarrow.Table.from_pandas(parsed, preserve_index=False)
    rows = parsed if kind == "rows" else parsed.to_pylist()
    assert [row["id"] for row in rows] == ([1, 2, 3, 3] if split else [1, 2, 3, 4])
    assert rows[0]["tree"] == TREE
    assert rows[0]["error"] is None
    assert rows[1]["tree"] is None
    assert "a sentence is text" in rows[1]["error"]
    if split:
        assert [row["sentence"] for row in rows] == [0, 0, 0, 16]
        assert rows[3]["tree"] == TREE.replace("the", "The")
    else:
        assert rows[3]["status"] == "empty"


def test_the_model_is_loaded_once_in_a_process(monkeypatch):
    loads = []
    row_parser._loaded.cache_clear()
    load = row_parser.load
    monkeypatch.setattr(
        row_parser, "load", lambda *args, **kwargs: loads.append(args) or load(*args, **kwargs)
    )
    for _ in range(3):
        pickle.loads(pickle.dumps(gramian.RowParser(MODEL)))(ROWS)
    assert len(loads) == 1
