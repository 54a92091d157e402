"""The recipes of ``docs/howto/engines.md``, each against the real engine, where it is installed: ``make test-all`` installs all."""

import sys

import pytest
from tiny_grammar import FIXTURES

import gramian

MODEL = str(FIXTURES / "version-1.grammar")
TREE = "(S (NP (DT the) (NN dog)) (VP (VB barks)) (. .))"
TEXTS = ["the dog barks .", None, "the dog barks ."] * 4
TREES = [TREE, None, TREE] * 4
MISSING = "is not installed; try: make test-all"


@pytest.fixture(scope="module")
def table():
    pyarrow = pytest.importorskip("pyarrow", reason=f"pyarrow {MISSING}")
    return pyarrow.table({"id": list(range(len(TEXTS))), "text": TEXTS})


def trees(rows):
    """Return the trees in the order of the rows, and check that exactly the texts without one have an error."""
    rows = sorted(rows, key=lambda row: row["id"])
    assert all((row["tree"] is None) == (row["error"] is not None) for row in rows)
    return [row["tree"] for row in rows]


def test_ray(table):
    ray = pytest.importorskip("ray", reason=f"ray {MISSING}")
    data = pytest.importorskip("ray.data", reason=f"ray[data] {MISSING}")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        parsed = data.from_arrow(table).map_batches(
            gramian.RowParser(MODEL), batch_format="pyarrow", batch_size=5
        )
        assert trees(parsed.take_all()) == TREES
    finally:
        ray.shutdown()


def test_spark(table, monkeypatch):
    pytest.importorskip("pyspark", reason=f"pyspark {MISSING}")
    from pyspark.sql import SparkSession

    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    try:
        frame = session.createDataFrame(
            [(row["id"], row["text"]) for row in table.to_pylist()], "id long, text string"
        )
        parse = gramian.RowParser(MODEL)
        schema = "id long, text string, tree string, status string, confidence double, log_prob double, error string"
        parsed = frame.mapInPandas(lambda frames: map(parse, frames), schema)
        assert trees([row.asDict() for row in parsed.collect()]) == TREES
    finally:
        session.stop()


def test_hugging_face_datasets(table):
    datasets = pytest.importorskip("datasets", reason=f"datasets {MISSING}")
    parsed = datasets.Dataset(table).map(gramian.RowParser(MODEL), batched=True, batch_size=5)
    assert trees(parsed.to_list()) == TREES


def test_polars(table):
    polars = pytest.importorskip("polars", reason=f"polars {MISSING}")
    parsed = polars.from_arrow(gramian.RowParser(MODEL)(polars.from_arrow(table).to_arrow()))
    assert trees(parsed.to_dicts()) == TREES


def test_duckdb(table):
    duckdb = pytest.importorskip("duckdb", reason=f"duckdb {MISSING}")
    connection = duckdb.connect()
    batches = connection.from_arrow(table).to_arrow_reader(5)
    parse = gramian.RowParser(MODEL)
    import pyarrow

    parsed = pyarrow.Table.from_batches([batch for rows in batches for batch in parse(rows).to_batches()])
    found = connection.from_arrow(parsed).filter("error IS NULL").aggregate("count(*), min(tree)").fetchall()
    assert found == [(8, TREE)]
    assert trees(parsed.to_pylist()) == TREES
