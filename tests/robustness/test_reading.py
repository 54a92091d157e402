"""What is read may come from a pipe, be a bomb, or have the wrong type: nothing is lost, and one file never stops the others."""

import datetime
import decimal
import gzip
import io
import json
import lzma
import os
import subprocess
import sys
import tracemalloc
from functools import cache
from pathlib import Path

import pytest

from gramian.errors import InputError
from gramian.pipelines.inputs import find_inputs
from gramian.trees import Tree

MODEL = str(Path(__file__).parents[1] / "unit" / "grammar" / "fixtures" / "version-1.grammar")
SENTENCES = ["the dog barks .", "the cat saw a dog .", "a cat barks ."] * 100
BRACKETS = "(S (NP (DT the) (NN dog)) (VP (VBZ barks)))\n"


def writer(pipe, text):
    """Write a text to a named pipe, in another process."""
    code = "import sys; open(sys.argv[1], 'w').write(sys.stdin.read())"
    process = subprocess.Popen([sys.executable, "-c", code, str(pipe)], stdin=subprocess.PIPE, text=True)
    process.stdin.write(text)
    process.stdin.close()
    return process


@pytest.mark.parametrize("way", ["fifo", "process substitution", "stdin"])
def test_parse_to_a_file_reads_all_of_a_pipe(tmp_path, way):
    text, output = "".join(f"{line}\n" for line in SENTENCES), tmp_path / "out.mrg"
    options = f"--tokens -q -m {MODEL} -o {output}"
    (tmp_path / "in.txt").write_text(text)
    source = {"fifo": f"{tmp_path}/pipe", "process substitution": f"<(cat {tmp_path}/in.txt)", "stdin": "-"}[
        way
    ]
    feed = {
        "fifo": f"mkfifo {tmp_path}/pipe; cat {tmp_path}/in.txt > {tmp_path}/pipe &",
        "stdin": f"cat {tmp_path}/in.txt |",
    }
    command = f"{feed.get(way, '')} {sys.executable} -m gramian parse {source} {options}"
    subprocess.run(["bash", "-c", command], check=True, timeout=120)
    assert output.read_text().count("\n") == len(SENTENCES)


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        (["inspect"], "100 trees"),
        (["convert", "--to", "tokens"], "the dog barks"),
        (["wfa", "train", "-o", "{out}", "--method", "ngram", "--states", "2", "-q"], ""),
    ],
)
def test_other_commands_read_all_of_a_pipe(gramian, tmp_path, command, shown):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    name, *options = [part.format(out=tmp_path / "model") for part in command]
    arguments = [name, options.pop(0), pipe, *options] if name == "wfa" else [name, pipe, *options]
    with writer(pipe, BRACKETS * 100):
        code, out, _ = gramian(*arguments)
    assert code == 0
    assert shown in out
    if name == "convert":
        assert out.count("\n") == 100


def test_pipes_of_a_corpus_are_skipped_or_fail_alone(gramian, tmp_path):
    corpus = tmp_path / "in"
    corpus.mkdir()
    (corpus / "a.txt").write_text("the dog barks .\n")
    os.mkfifo(corpus / "b.txt")
    code, _, err = gramian("parse", corpus, "--tokens", "-m", MODEL, "-o", f"{tmp_path}/one/")
    assert code == 0
    assert "b.txt: not a regular file" in err
    assert "1 sentence" in err
    code, _, err = gramian(
        "parse", corpus / "a.txt", corpus / "b.txt", "--tokens", "-m", MODEL, "-o", f"{tmp_path}/two/"
    )
    assert "b.txt: a pipe or device cannot be part of a corpus" in err
    assert "1 sentence" in err
    with pytest.raises(subprocess.TimeoutExpired):  # a pipe that nobody writes to is what hangs
        subprocess.run(["cat", str(corpus / "b.txt")], timeout=0.2, check=False)
    (corpus / "a.txt").write_text(BRACKETS)
    code, out, err = gramian("search", corpus, "NP")
    assert (code, out.count("(NP")) == (0, 1)


def test_search_leaves_out_what_it_cannot_read_of_several_files(gramian, tmp_path):
    (tmp_path / "a.mrg").write_text(BRACKETS)
    (tmp_path / "b.mrg.gz").write_bytes(packed("gz", 20 << 20))
    parquet_file(tmp_path / "c.parquet", {"tree": [b"(A a)"]})
    parquet_file(tmp_path / "d.parquet", {"tree": [BRACKETS.strip()], "sentence": [4]})
    for jobs in (1, 2):
        code, out, err = gramian("search", tmp_path, "NP", "--jobs", jobs)
        assert (code, out.count("(NP")) == (0, 2)
        assert "skipped: b.mrg.gz:1: the line is longer than 16 MB" in err
        assert "skipped: c.parquet: the column 'tree' holds values of type binary, not text" in err


def test_a_list_that_contains_itself_is_refused(gramian, tmp_path):
    first, second = tmp_path / "l.txt", tmp_path / "m.txt"
    first.write_text(f"@{second}\n")
    second.write_text(f"@{first}\n")
    with pytest.raises(InputError, match="this list of files contains itself"):
        find_inputs([f"@{first}"])
    code, _, err = gramian("parse", f"@{first}", "-m", MODEL, "-o", f"{tmp_path}/out/")
    assert code == 2
    assert "l.txt: this list of files contains itself" in err


PACKERS = {
    "gz": gzip.compress,
    "xz": lambda content: lzma.compress(content, preset=0),
    "zst": lambda content: pytest.importorskip("backports.zstd").compress(content),
}


@cache
def packed(pack, size):
    return PACKERS[pack](b"(" * size)


@pytest.mark.parametrize("pack", PACKERS)
@pytest.mark.parametrize(
    "arguments",
    [
        ["train", "{file}", "-o", "{out}"],
        ["train", "{good}", "-o", "{out}", "--tagged-corpus", "{file}"],
        ["parse", "{file}", "-m", MODEL, "-o", "{out}"],
        ["parse", "{file}", "-m", MODEL, "--tokens"],
        ["search", "{file}", "NP"],
        ["eval", "{file}", "{file}"],
        ["eval", "{good}", "{file}", "--calibration"],
        ["eval", "{good}", "{good}", "--prm", "{file}"],
        ["convert", "{file}", "--to", "tokens"],
        ["inspect", "{file}"],
        ["split", "{file}", "-o", "{out}"],
        ["wfa", "train", "{file}", "-o", "{out}", "--format", "strings"],
        ["dep", "train", "{file}", "-o", "{out}"],
    ],
    ids=lambda arguments: " ".join(part for part in arguments if "{" not in part and "/" not in part),
)
def test_an_endless_line_is_refused_by_every_command_in_little_memory(
    gramian, tmp_path, arguments, pack, monkeypatch
):
    monkeypatch.setenv("GRAMIAN_MAX_LINE", "1M")
    file, good = tmp_path / f"bomb.txt.{pack}", tmp_path / "good.mrg"
    file.write_bytes(packed(pack, 160 << 20))
    good.write_text(BRACKETS * 9)
    names = {"file": file, "good": good, "out": tmp_path / "out"}
    tracemalloc.start()
    code, _, err = gramian(*[part.format(**names) for part in arguments])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (
        f"{file}:1: the line is longer than 1 MB" in err
        or f"{file.name}:1: the line is longer than 1 MB" in err
    )
    assert code == 2
    assert peak < 120 << 20  # less than the line alone; most of it is code that is loaded


def test_a_bomb_in_a_corpus_fails_alone(gramian, tmp_path):
    corpus = tmp_path / "in"
    corpus.mkdir()
    (corpus / "a.txt").write_text("the dog barks .\n")
    (corpus / "b.txt.gz").write_bytes(gzip.compress(b"x" * (20 << 20)))
    (corpus / "c.jsonl.gz").write_bytes(gzip.compress(b'{"text": "' + b"x" * (20 << 20) + b'"}'))
    code, _, err = gramian("parse", corpus, "-m", MODEL, "-o", f"{tmp_path}/out/", "--lines")
    assert code == 0
    assert "b.txt.gz:1: the line is longer than 16 MB" in err
    assert "c.jsonl.gz:1: the line is longer than 16 MB" in err
    assert "1 sentence in 1 shard" in err


def parquet_file(path, columns, **options):
    pyarrow = pytest.importorskip("pyarrow", reason="the extra 'corpora' is not installed")
    from pyarrow import parquet

    parquet.write_table(pyarrow.table(columns), path, **options)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"text": [b"the dog"]}, "the column 'text' holds values of type binary, not text"),
        (
            {"text": [datetime.date(2020, 1, 1)]},
            "the column 'text' holds values of type date32[day], not text",
        ),
        (
            {"text": [decimal.Decimal("1.5")]},
            "the column 'text' holds values of type decimal128(2, 1), not text",
        ),
        ({"text": [{"a": 1}]}, "the column 'text' holds values of type struct"),
        ({"text": [[1, 2]]}, "the column 'text' holds values of type list<element: int64>, not text"),
        (
            {"text": ["the dog"], "id": [b"x"]},
            "the column 'id' holds values of type binary, neither text nor whole numbers",
        ),
        ({"body": ["the dog"]}, "there is no column 'text' among body"),
    ],
)
def test_a_table_of_other_types_fails_alone(gramian, tmp_path, columns, message):
    corpus = tmp_path / "in"
    corpus.mkdir()
    (corpus / "a.txt").write_text("the dog barks .\n")
    parquet_file(corpus / "b.parquet", columns)
    code, _, err = gramian("parse", corpus, "--lines", "-m", MODEL, "-o", f"{tmp_path}/out/")
    assert code == 0
    assert f"b.parquet: {message}" in err
    assert "1 sentence in 1 shard" in err


def test_texts_and_lists_of_every_kind_are_read(gramian, tmp_path):
    pyarrow = pytest.importorskip("pyarrow", reason="the extra 'corpora' is not installed")
    texts = ["the dog barks .", None, "a cat barks ."]
    for name, kind in (
        ("a", pyarrow.string()),
        ("b", pyarrow.large_string()),
        ("c", pyarrow.dictionary(pyarrow.int8(), pyarrow.string())),
    ):
        parquet_file(tmp_path / f"{name}.parquet", {"id": [7, 8, None], "text": pyarrow.array(texts, kind)})
    parquet_file(tmp_path / "d.parquet", {"text": [["the", "dog"], None, ["a", "cat"]]})
    code, _, err = gramian("parse", tmp_path, "--lines", "-m", MODEL, "-o", f"{tmp_path}/out/")
    assert code == 0, err
    found = [json.loads(line) for path in sorted(tmp_path.glob("out/*/*.jsonl")) for line in path.open()]
    expected = [row for name in "abc" for row in (("7", texts[0]), (f"{name}.parquet:3", texts[2]))]
    expected += [("d.parquet:1", "the dog"), ("d.parquet:3", "a cat")]
    assert [(record["document"], " ".join(Tree.parse(record["tree"]).words)) for record in found] == expected


def test_a_table_that_repeats_a_long_text_takes_little_memory(tmp_path, monkeypatch):
    from gramian.pipelines.parquet_rows import ParquetRows

    pyarrow = pytest.importorskip("pyarrow", reason="the extra 'corpora' is not installed")
    long = "x" * (1 << 18)
    for values, column in (([long] * 4000, "text"), ([[long, "y"]] * 4000, "words")):
        file = tmp_path / f"{column}.parquet"
        parquet_file(file, {column: values}, compression="none")
        del values
        before = pyarrow.total_allocated_bytes()
        with file.open("rb") as stream:
            for (value,) in ParquetRows(stream, "x", column, lists=True, hint="").rows():
                assert pyarrow.total_allocated_bytes() - before < 16 << 20
                assert value == (long if column == "text" else [long, "y"])
        monkeypatch.setenv("GRAMIAN_MAX_LINE", "100K")
        with file.open("rb") as stream, pytest.raises(InputError, match=r"x:1: the row is longer than"):
            next(ParquetRows(stream, "x", column, lists=True, hint="").rows())
        monkeypatch.delenv("GRAMIAN_MAX_LINE")


def test_a_table_that_grows_beyond_measure_is_refused(tmp_path):
    from gramian.pipelines.parquet_rows import ParquetRows

    file = tmp_path / "bomb.parquet"
    parquet_file(file, {"text": ["x" * (70 << 20)]}, compression="zstd")
    assert file.stat().st_size < 1 << 17
    with file.open("rb") as stream, pytest.raises(InputError, match="more than 250 times as large"):
        next(ParquetRows(stream, "bomb", "text", hint="").rows())


def test_damaged_tables_are_refused(tmp_path):
    from gramian.pipelines.parquet_rows import ParquetRows

    parquet_file(tmp_path / "a.parquet", {"text": ["the dog barks"] * 1000})
    whole = (tmp_path / "a.parquet").read_bytes()
    for damaged in (whole[:-9], whole[:4] + b"x" * 40 + whole[44:], whole[:100], b"PAR1" * 9):
        with pytest.raises(InputError):
            list(ParquetRows(io.BytesIO(damaged), "a", "text", hint="").rows())


def test_no_bit_of_the_metadata_of_a_table_ends_the_process(tmp_path):
    """pyarrow aborts where it looks at the sizes of a column whose statistics are damaged."""
    from gramian.pipelines.parquet_rows import ParquetRows

    parquet_file(tmp_path / "a.parquet", {"text": ["the dog", None, "barks"] * 3})
    whole = (tmp_path / "a.parquet").read_bytes()
    start = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    n_refused = 0
    for bit in range(8 * start, 8 * (start + 64)):
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        try:
            list(ParquetRows(io.BytesIO(damaged), "a", "text", hint="").rows())
        except InputError:
            n_refused += 1
    assert n_refused > 64
