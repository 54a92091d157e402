"""A corpus is parsed once, whatever its files look like and however often it is begun."""

import gzip
import json
import logging
import lzma
import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest
from tiny_grammar import FIXTURES

from gramian import __version__
from gramian.errors import InputError, OptionError
from gramian.io.output import writing
from gramian.io.reading import file_sha256
from gramian.pipelines import corpus_run, shard_work
from gramian.pipelines.corpus_run import parse_corpus
from gramian.pipelines.corpus_status import corpus_status
from gramian.pipelines.inputs import find_inputs
from gramian.pipelines.shard_work import Settings
from gramian.pipelines.storage import LocalStorage, RemoteStorage
from gramian.trees import read_conllu

MODEL = str(FIXTURES / "version-1.grammar")
TEXT = "The dog barks. The cat saw a dog.\n\nThe dog saw the cat.\n\nA cat barks.\n\nThe cat saw the dog. A dog barks.\n"
SENTENCES = ["The dog barks .", "The cat saw a dog .", "The dog saw the cat .", "A cat barks ."]


def settings(**changes):
    return Settings(MODEL, file_sha256(MODEL), **changes)


def parsed(corpus, output, *, shard_size=1 << 20, n_jobs=1, kind=None, force=False, **changes):
    arguments = [str(corpus)] if isinstance(corpus, str | Path) else list(map(str, corpus))
    inputs = find_inputs(arguments, str(output))
    return parse_corpus(
        inputs, str(output), settings(**changes), shard_size=shard_size, n_jobs=n_jobs, kind=kind, force=force
    )


def records(output, ending=".jsonl"):
    """Return the records of all shards, in the order of files and shards."""
    paths = sorted(path for path in Path(output).rglob(f"*{ending}") if path.is_file())
    return [json.loads(line) for path in paths for line in path.read_text("utf-8").splitlines()]


def outputs(folder):
    """Return the bytes of all outputs by name; manifests tell when, and are left out."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(Path(folder).rglob("*.*"))
        if path.is_file() and not path.name.endswith(".json")
    }


@pytest.fixture
def corpus(tmp_path):
    folder = tmp_path / "corpus"
    (folder / "deep").mkdir(parents=True)
    (folder / "a.txt").write_text(TEXT)
    (folder / "deep" / "b.txt.gz").write_bytes(gzip.compress(TEXT.encode()))
    (folder / "deep" / "c.txt.xz").write_bytes(lzma.compress(TEXT.encode()))
    (folder / ".hidden").write_text("nothing")
    return folder


def test_the_same_text_in_all_kinds_of_files(corpus, tmp_path):
    pyarrow = pytest.importorskip("pyarrow", reason="the extra 'corpora' is not installed")
    from pyarrow import parquet

    with writing(corpus / "d.txt.zst") as out:
        out.write(TEXT)
    (corpus / "e.jsonl").write_text(json.dumps({"name": "E", "body": TEXT}) + "\n\n")
    with gzip.open(corpus / "f.ndjson.gz", "wt") as file:
        file.write(json.dumps({"name": 6, "body": TEXT}) + "\n")
    parquet.write_table(pyarrow.table({"name": ["G"], "body": [TEXT]}), corpus / "g.parquet")
    report = parsed(corpus, tmp_path / "out", text_field="body", id_field="name")
    assert (report.files, report.shards, report.sentences, report.failures) == (7, 7, 42, [])
    found = records(tmp_path / "out")
    names = ["a.txt", "d.txt.zst", "deep/b.txt.gz", "deep/c.txt.xz", "E", "6", "G"]
    assert list(dict.fromkeys(one["document"] for one in found)) == names
    first = [{**one, "document": ""} for one in found[:6]]
    assert [{**one, "document": ""} for one in found] == 7 * first
    for one in first:
        assert [TEXT[start:end] for start, end in one["offsets"]] == one["words"]
        assert one["sentence"] == one["offsets"][0][0]
        assert one["status"] == "parsed"
        assert "seconds" not in one


def in_kind(folder, kind):
    """Write many short sentences as one file of a kind; return it, and what is to be said when it is parsed."""
    lines = SENTENCES * 5
    if kind == "conllu":
        blocks = []
        for number, line in enumerate(lines):
            head = f"# newdoc id = D{number // 6}\n" if number % 6 == 0 else ""
            words = "".join(
                f"{place}\t{word}" + "\t_" * 8 + "\n" for place, word in enumerate(line.split(), 1)
            )
            blocks.append(f"{head}# sent_id = s{number}\n{words}\n")
        (folder / "x.conllu").write_text("".join(blocks))
        return folder / "x.conllu", {}
    if kind == "parquet":
        pyarrow = pytest.importorskip("pyarrow", reason="the extra 'corpora' is not installed")
        from pyarrow import parquet

        parquet.write_table(pyarrow.table({"text": lines}), folder / "x.parquet", row_group_size=3)
        return folder / "x.parquet", {}
    if kind == "words":
        (folder / "x.jsonl").write_text("".join(json.dumps({"text": line.split()}) + "\n" for line in lines))
        return folder / "x.jsonl", {}
    if kind == "text":
        (folder / "x.txt").write_text("\r\n\r\n".join(lines).replace(" .", "."))
        return folder / "x.txt", {}
    if kind == "tagged":
        (folder / "x.txt").write_text("\n".join(lines).replace("dog", "dog/NN") + "\n")
        return folder / "x.txt", {"form": "tagged"}
    (folder / "x.txt").write_text("\n".join(lines) + "\n\n")
    return folder / "x.txt", {"form": kind}


@pytest.mark.parametrize("kind", ["text", "lines", "tokens", "conllu", "parquet", "words"])
def test_shards_give_what_the_whole_gives(kind, tmp_path):
    file, how = in_kind(tmp_path, kind)
    assert parsed(file, tmp_path / "whole", **how).shards == 1
    report = parsed(file, tmp_path / "cut", shard_size=60, **how)
    assert report.shards > 4
    whole = records(tmp_path / "whole")
    assert records(tmp_path / "cut") == whole
    assert [one["words"] for one in whole if one["words"]] == [line.split() for line in SENTENCES * 5]
    assert len({(one["document"], one["sentence"]) for one in whole}) == len(whole)
    if kind == "conllu":
        assert [one["sent_id"] for one in whole] == [f"s{number}" for number in range(20)]
        assert {one["document"] for one in whole} == {"D0", "D1", "D2", "D3"}
    if kind in ("tokens", "lines"):
        assert whole[-1]["status"] == "empty"
        assert [one["sentence"] for one in whole] == list(range(1, 22))


def test_a_paragraph_without_end_is_cut_at_a_line(tmp_path):
    (tmp_path / "x.txt").write_text("The dog barks. The cat barks.\n" * 100)
    assert parsed(tmp_path / "x.txt", tmp_path / "out", shard_size=60).shards == 7
    assert len(records(tmp_path / "out")) == 200


def told(caplog):
    found = [record.getMessage() for record in caplog.records if record.levelno >= logging.INFO]
    caplog.clear()
    return found


def test_what_is_done_is_kept_and_what_changed_is_done_again(corpus, tmp_path, caplog):
    caplog.set_level("INFO", "gramian")
    out = tmp_path / "out"
    assert parsed(corpus, out, shard_size=30).shards == 9
    whole, status = outputs(out), corpus_status(str(out))
    assert (status.done, status.shards, status.sentences, status.failures) == (9, 9, 18, [])
    assert status.bytes_done == status.bytes
    assert told(caplog) == []
    again = parsed(corpus, out, shard_size=30)
    assert (again.shards, again.kept_shards, again.kept_sentences) == (0, 9, 18)
    assert told(caplog) == ["reusing 9 finished shards with 18 sentences"]

    with (corpus / "a.txt").open("a") as file:  # more text: what was cut before it stands
        file.write("\nA dog barks.\n")
    (out / "deep/b.txt.gz/00001.jsonl").write_text("damaged")
    (corpus / "e.txt").write_text("The cat barks.")
    report = parsed(corpus, out, shard_size=30)
    assert (report.shards, report.kept_shards) == (4, 7)
    assert told(caplog) == [
        "reusing 5 finished shards with 10 sentences",
        "parsing again: 1 shard (its output is missing or damaged)",
        "reading again: 1 file (failed before, or changed)",
        "not read yet: 1 file",
    ]
    assert {name: outputs(out)[name] for name in whole if not name.startswith("a.txt/00002")} == {
        name: whole[name] for name in whole if not name.startswith("a.txt/00002")
    }

    report = parsed(corpus, out, shard_size=30, options={"decoder": "viterbi"}, force=True)
    assert (report.shards, report.kept_shards) == (11, 0)
    assert "parsing again: 11 shards (decoder is 'viterbi', was None)" in told(caplog)
    assert corpus_status(str(out)).done == 11
    report = parsed(
        corpus, out, shard_size=1 << 20, to="brackets", options={"decoder": "viterbi"}, force=True
    )
    assert (report.shards, report.sentences) == (4, 20)
    assert {Path(name).suffix for name in outputs(out)} == {".mrg"}


def test_another_version_and_another_model_keep_nothing(corpus, tmp_path, monkeypatch, caplog):
    caplog.set_level("INFO", "gramian")
    parsed(corpus / "a.txt", tmp_path / "out")
    monkeypatch.setattr("gramian.pipelines.manifest.__version__", "99.0")
    assert parsed(corpus / "a.txt", tmp_path / "out", force=True).shards == 1
    assert f"parsing again: 1 shard (version is '99.0', was '{__version__}')" in told(caplog)
    copy = tmp_path / "other.grammar"
    shutil.copy(FIXTURES / "version-1.grammar", copy)
    inputs = find_inputs([str(corpus / "a.txt")])
    with copy.open("ab") as file:
        file.write(b"")
    other = Settings(str(copy), "0" * 64)
    report = parse_corpus(inputs, str(tmp_path / "out"), other, force=True)
    assert "differs from that of the command" in report.failures[0]
    assert any("parsing again: 1 shard (model is '000000000000', was " in line for line in told(caplog))


def test_broken_files_are_told_of_with_their_place_and_the_rest_goes_on(corpus, tmp_path, caplog):
    caplog.set_level("INFO", "gramian")
    (corpus / "bad.gz").write_bytes(gzip.compress(TEXT.encode())[:-30])
    (corpus / "bad.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
    (corpus / "bad.parquet").write_bytes(b"PAR1 and no more")
    (corpus / "bad.jsonl").write_text(
        '{"text": "The dog barks."}\n{"tex\n[1]\n{"text": 3}\n{"text": ["a", "b c"]}\n'
    )
    (corpus / "bad.conllu").write_text("1\tThe\t_\n\n1\tdog" + "\t_" * 8 + "\n\n")
    (corpus / "latin.txt").write_bytes("A caf\xe9 dog barks.".encode("latin-1"))
    (tmp_path / "list").write_text(f"{corpus}\n{corpus}/missing.txt\n\n")
    report = parsed(["@" + str(tmp_path / "list")], tmp_path / "out")
    assert sorted(failure.partition(":")[0].rpartition("/")[2] for failure in report.failures) == [
        "bad.gz", "bad.parquet", "bad.png", "missing.txt",
    ]  # fmt: skip
    assert (report.sentences, report.faults, report.repaired) == (6 * 3 + 1 + 1 + 1, 5, 1)
    faults = [line for line in told(caplog) if line.startswith("skipped")]
    assert faults[0].startswith("skipped bad.conllu:1: 3 columns")
    assert [fault.partition(" ")[2][:12] for fault in faults[1:]] == [
        "bad.jsonl:2:", "bad.jsonl:3:", "bad.jsonl:4:", "bad.jsonl:5:",
    ]  # fmt: skip
    status = corpus_status(str(tmp_path / "out"))
    assert (len(status.failures), status.faults, status.done) == (4, 5, 6)
    assert any("bad.gz" in failure for failure in status.failures)
    with pytest.raises(InputError, match="No such file"):
        parsed(corpus / "missing.txt", tmp_path / "out")


@pytest.mark.parametrize("stop", [0, 1, 4])
def test_a_run_that_is_stopped_goes_on_to_the_same_bytes(corpus, tmp_path, stop, monkeypatch):
    parsed(corpus, tmp_path / "whole", shard_size=30)
    work, count = corpus_run.parse_shard, iter(range(stop))

    def stopped(task):
        if next(count, None) is None:
            raise KeyboardInterrupt
        return work(task)

    with monkeypatch.context() as patch:
        patch.setattr(corpus_run, "parse_shard", stopped)
        with pytest.raises(KeyboardInterrupt):
            parsed(corpus, tmp_path / "out", shard_size=30)
    status = corpus_status(str(tmp_path / "out"))
    assert (status.done, status.is_running) == (stop, False)
    report = parsed(corpus, tmp_path / "out", shard_size=30)
    assert (report.kept_shards, report.shards) == (stop, 9 - stop)
    assert outputs(tmp_path / "out") == outputs(tmp_path / "whole")
    assert not list((tmp_path / "out").glob(".*"))


def test_processes_give_the_same_bytes(corpus, tmp_path):
    parsed(corpus, tmp_path / "one", shard_size=30)
    report = parsed(corpus, tmp_path / "two", shard_size=30, n_jobs=2)
    assert report.sentences == 18
    assert outputs(tmp_path / "one") == outputs(tmp_path / "two")


def test_a_cluster_gives_the_same_bytes_and_tells_of_workers_that_come(corpus, tmp_path, monkeypatch, caplog):
    distributed = pytest.importorskip("distributed", reason="the extra 'cluster' is not installed")
    caplog.set_level("INFO", "gramian")
    monkeypatch.setattr("gramian.tasks.dask_pool._LOOK_AGAIN", 0.0)
    parsed(corpus, tmp_path / "one", shard_size=30)
    with distributed.LocalCluster(
        1, threads_per_worker=1, processes=False, dashboard_address=None
    ) as cluster:
        count = corpus_run._Run._count

        def more(run, made, place):
            if run._report.shards == 1:
                cluster.scale(2)
                cluster.wait_for_workers(2)
            count(run, made, place)

        monkeypatch.setattr(corpus_run._Run, "_count", more)
        inputs = find_inputs([str(corpus)])
        out = str(tmp_path / "out")
        where = {"scheduler": cluster.scheduler_address, "shard_size": 30}
        assert parse_corpus(inputs, out, settings(), **where).shards == 9
    assert outputs(out) == outputs(tmp_path / "one")
    assert any("has come; there are now 2" in line for line in told(caplog))


def test_a_process_loads_the_model_once(corpus, tmp_path, monkeypatch):
    loaded = []
    load = shard_work.load
    monkeypatch.setattr(
        shard_work, "load", lambda *given, **options: loaded.append(given) or load(*given, **options)
    )
    monkeypatch.setattr(shard_work, "_loaded", {})
    assert parsed(corpus, tmp_path / "out", shard_size=30).shards == 9
    assert len(loaded) == 1
    other = {"options": {"decoder": "viterbi"}, "force": True}
    assert parsed(corpus, tmp_path / "out", shard_size=30, **other).shards == 9
    assert len(loaded) == 2


def test_an_output_has_one_writer(corpus, tmp_path):
    out = LocalStorage(str(tmp_path / "out"))
    with out.locked():
        with pytest.raises(OptionError, match="another process is writing it"):
            parsed(corpus, tmp_path / "out")
        parsed(corpus, tmp_path / "elsewhere")


def test_a_file_that_changes_under_way_fails_and_is_done_by_the_next_run(tmp_path, monkeypatch):
    file = tmp_path / "x.txt"
    file.write_text("The dog barks.\n")
    work = corpus_run.parse_shard

    def changed(task):
        file.write_text("A cat barks. The dog barks.\n")
        return work(task)

    with monkeypatch.context() as patch:
        patch.setattr(corpus_run, "parse_shard", changed)
        assert "changed while it was parsed" in parsed(file, tmp_path / "out").failures[0]
    assert parsed(file, tmp_path / "out").sentences == 2


def test_a_worker_that_comes_late_harms_nothing(tmp_path):
    """What it writes has a name of its own, and nobody takes it for an output."""
    (tmp_path / "x.txt").write_text("The dog barks.\n")
    parsed(tmp_path / "x.txt", tmp_path / "out")
    whole = outputs(tmp_path / "out")
    (tmp_path / "out/.partial").mkdir()
    (tmp_path / "out/.partial/00000-00000000000000aa.jsonl").write_text("late")
    assert corpus_status(str(tmp_path / "out")).sentences == 1
    parsed(tmp_path / "x.txt", tmp_path / "out")
    assert outputs(tmp_path / "out") == whole


def test_the_formats_of_outputs_say_the_same(corpus, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet", reason="the extra 'corpora' is not installed")
    for to in ("jsonl", "brackets.gz", "conllu.xz", "parquet", "jsonl.zst"):
        parsed(corpus / "a.txt", tmp_path / to, to=to)
    [*found] = records(tmp_path / "jsonl")
    with gzip.open(tmp_path / "brackets.gz/a.txt/00000.mrg.gz", "rt") as file:
        assert file.read().splitlines() == [one["tree"] for one in found]
    rows = parquet.read_table(tmp_path / "parquet/a.txt/00000.parquet").to_pylist()
    rounded = {"confidence": 0, "exact_probability": 0, "spans": 0}
    absent = {"sent_id": None, "restored": None, "language": None}
    assert [row | rounded for row in rows] == [absent | one | rounded for one in found]
    assert [span["label"] for span in rows[0]["spans"]] == [span["label"] for span in found[0]["spans"]]
    sentences = list(read_conllu(tmp_path / "conllu.xz/a.txt/00000.conllu.xz"))
    assert [list(sentence.words) for sentence in sentences] == [one["words"] for one in found]
    assert [token.misc for token in sentences[1].tokens][:2] == [
        "start_char=15|end_char=18",
        "start_char=19|end_char=22",
    ]
    assert sentences[0].comments[:3] == (
        "# newdoc id = a.txt",
        "# sent_id = a.txt-0",
        "# text = The dog barks.",
    )
    assert "# status = parsed" in sentences[2].comments
    assert sentences[0].heads == (2, 3, 0, 3)
    assert (tmp_path / "jsonl.zst/a.txt/00000.jsonl.zst").stat().st_size > 0
    with pytest.raises(OptionError, match="to must be one of"):
        parsed(corpus, tmp_path / "x", to="parquet.gz")


def test_phrases_in_doubt_are_left_out(tmp_path):
    (tmp_path / "x.txt").write_text("the dog saw barks the cat")
    parsed(tmp_path / "x.txt", tmp_path / "out", min_confidence=1.0)
    [record] = records(tmp_path / "out")
    assert all(span["confidence"] in (0.0, 1.0) for span in record["spans"][:2])


def test_corpora_in_object_stores(corpus, tmp_path):
    fsspec = pytest.importorskip("fsspec", reason="the extra 'corpora' is not installed")
    memory = fsspec.filesystem("memory")
    for path in corpus.rglob("*.*"):
        if path.is_file():
            memory.pipe(f"/store/in/{path.relative_to(corpus)}", path.read_bytes())
    parsed(corpus, tmp_path / "out", shard_size=30)
    try:
        for run in (0, 9):
            report = parsed("memory://store/in", "memory://store/out", shard_size=30)
            assert (report.kept_shards, report.sentences + report.kept_sentences) == (run, 18)
        there = {name.removeprefix("/store/out/"): memory.cat(name) for name in memory.find("/store/out")}
        assert {name: data for name, data in there.items() if not name.endswith(".json")} == outputs(
            tmp_path / "out"
        )
        assert corpus_status("memory://store/out").done == 9
        assert [one.name for one in find_inputs(["memory://store/in/deep/*.gz"])] == ["b.txt.gz"]
        assert [one.name for one in find_inputs(["memory://store/in/a.txt"])] == ["a.txt"]
        memory.pipe("/store/out/.run.lock", b"elsewhere 7")
        with pytest.raises(OptionError, match=r"another process \(elsewhere 7\)"):
            parsed("memory://store/in", "memory://store/out")
        with pytest.raises(InputError, match="no such file or folder"):
            find_inputs(["memory://store/nowhere"])
    finally:
        memory.rm("/store", recursive=True)
    parsed(f"file://{corpus}", f"file://{tmp_path}/again", shard_size=30)
    assert outputs(tmp_path / "again") == outputs(tmp_path / "out")


def test_the_names_of_inputs(corpus, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def names(*arguments, output=""):
        return [one.name for one in find_inputs(arguments, output)]

    assert names("corpus") == names("corpus/") == ["a.txt", "deep/b.txt.gz", "deep/c.txt.xz"]
    assert names("corpus/*/*.gz") == ["deep/b.txt.gz"]
    assert names("corpus/**/*.xz", "corpus/a.txt") == ["a.txt", "deep/c.txt.xz"]
    assert names("corpus/a.txt", "corpus/a.txt") == ["a.txt"]
    assert names("corpus", output="corpus/deep") == ["a.txt"]
    (tmp_path / "other").mkdir()
    (tmp_path / "other/a.txt").write_text("x")
    assert names("other", "corpus/a.txt") == ["corpus/a.txt", "other/a.txt"]
    with pytest.raises(InputError, match="no file is called so"):
        names("corpus/*.none")
    (tmp_path / "empty").mkdir()
    with pytest.raises(OptionError, match="no input files"):
        names("empty")


def contents(folder):
    """Return the bytes of all files by name, hidden ones included."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(Path(folder).rglob("*"))
        if path.is_file()
    }


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"to": "brackets"}, "to is 'brackets', was 'jsonl'"),
        ({"options": {"decoder": "viterbi"}}, "decoder is 'viterbi', was None"),
        ({"form": "lines"}, "form is 'lines', was 'text'"),
        ({"kind": "jsonl"}, "kind is 'jsonl', was 'text'"),
        ({"shard_size": 99}, "shard_size is 99, was 1048576"),
        ({"min_confidence": 0.5}, "min_confidence is 0.5, was None"),
        ({"text_field": "body"}, "text_field is 'body', was 'text'"),
    ],
)
def test_results_of_other_options_are_not_replaced_without_force(corpus, tmp_path, changes, named):
    out = tmp_path / "out"
    parsed(corpus, out)
    before = contents(out)
    with pytest.raises(
        OptionError,
        match=r"out: has results of other options that would be replaced.*try: choose another folder, or pass --force",
    ) as caught:
        parsed(corpus, out, **changes)
    assert named in str(caught.value)
    assert contents(out) == before
    parsed(corpus, out, **changes, force=True)
    parsed(corpus, out, **changes)
    assert contents(out) != before


def test_results_of_another_model_or_version_are_not_replaced_without_force(corpus, tmp_path, monkeypatch):
    out = tmp_path / "out"
    parsed(corpus / "a.txt", out)
    before, inputs = contents(out), find_inputs([str(corpus / "a.txt")])
    with pytest.raises(OptionError, match=r"\(model is '000000000000', was '[0-9a-f]{12}'\)"):
        parse_corpus(inputs, str(out), Settings(MODEL, "0" * 64))
    monkeypatch.setattr("gramian.pipelines.manifest.__version__", "99.0")
    with pytest.raises(OptionError, match=r"\(version is '99.0', was '[^']*'\)"):
        parsed(corpus / "a.txt", out)
    assert contents(out) == before


def test_results_of_another_file_of_the_same_name_are_not_replaced_without_force(corpus, tmp_path):
    out, other = tmp_path / "out", tmp_path / "other" / "a.txt"
    parsed(corpus / "a.txt", out)
    before = contents(out)
    other.parent.mkdir()
    other.write_text("A dog barks.")
    with pytest.raises(OptionError, match=r"a.txt is '.*/other/a.txt', was '.*/corpus/a.txt'"):
        parsed(other, out)
    assert contents(out) == before
    assert parsed(other, out, force=True).sentences == 1


def test_what_failed_may_be_tried_with_other_options(corpus, tmp_path):
    """There is no result to lose."""
    out = tmp_path / "out"
    report = parse_corpus(find_inputs([str(corpus / "a.txt")]), str(out), Settings(MODEL, "0" * 64))
    assert report.failures
    assert parsed(corpus / "a.txt", out).sentences == 6


def victim_of(tmp_path):
    """Make a folder that a bad name leads to, as its name stands in a shard's folder OUT/a.txt."""
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "dear.jsonl").write_text("mine")
    return victim


def changed_document(path, **changes):
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


@pytest.mark.parametrize(
    "name",
    ["../../victim", "../../victim/dear.jsonl", "/etc/passwd", "00000.jsonl/../../../victim", "00001.jsonl", "notes.txt", "", ".", "..",
     "00000.jsonl.exe", "00000.jsonl\n", "C:\\victim"],
)  # fmt: skip
def test_a_manifest_names_no_other_file(corpus, tmp_path, name):
    victim, out = victim_of(tmp_path), tmp_path / "out"
    parsed(corpus / "a.txt", out)
    manifest = out / "a.txt" / "00000.manifest.json"
    changed_document(manifest, result=json.loads(manifest.read_text())["result"] | {"output": name})
    with pytest.raises(
        InputError,
        match=r"00000.manifest.json: invalid manifest: field 'result.output' must be the name of an output of shard 0",
    ):
        parsed(corpus / "a.txt", out, to="brackets", force=True)
    with pytest.raises(InputError, match=r"field 'result\.output'"):
        corpus_status(str(out))
    assert (victim / "dear.jsonl").read_text() == "mine"
    assert (out / "a.txt" / "00000.jsonl").exists()


DOCUMENTS = ("run.json", "a.txt/plan.json", "a.txt/00000.manifest.json")


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"null", b"3", b'"text"', b"{}", b"\xff", b"[" * 50_000, b'{"a": NaN}']
)
@pytest.mark.parametrize("document", DOCUMENTS)
def test_an_invalid_document_is_an_error_of_one_line(corpus, tmp_path, document, content):
    out = tmp_path / "out"
    parsed(corpus / "a.txt", out)
    before = contents(out)
    (out / document).write_bytes(content)
    with pytest.raises(InputError) as caught:
        corpus_status(str(out))
    first, *rest = str(caught.value).splitlines()
    assert first.startswith(f"{out}/{document}: invalid ")
    assert rest == ["try: remove it, and run the command again"]
    if document != "run.json":  # which a run writes anew
        with pytest.raises(InputError):
            parsed(corpus / "a.txt", out)
        (out / document).unlink()
    report = parsed(corpus / "a.txt", out)
    assert report.sentences + report.kept_sentences == 6
    assert outputs(out) == {name: data for name, data in before.items() if not name.endswith(".json")}


def invalid(out):
    """Return why a document of an output is invalid; None if all are valid."""
    try:
        corpus_status(str(out))
    except InputError as error:
        return str(error)
    return None


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_field_of_a_document_is_checked(corpus, tmp_path, document):
    """Each field, one after the other, gets values of other types."""
    out = tmp_path / "out"
    parsed(corpus / "a.txt", out)
    path = out / document
    whole = json.loads(path.read_text())
    refused = 0
    for name in whole:
        for value in (None, -1, [], {}, [[]], {"a": []}, 10**30, True):
            path.write_text(json.dumps(whole | {name: value}))
            problem = invalid(out)
            assert problem is None or f"field '{name}" in problem
            refused += problem is not None
    assert refused >= 5 * len(whole)


def test_only_what_was_written_is_removed(corpus, tmp_path):
    """Files of the user beside the results stay, whatever their names, when shards are fewer and results are replaced."""
    out, folder = tmp_path / "out", tmp_path / "out" / "a.txt"
    assert parsed(corpus / "a.txt", out, shard_size=30).shards == 3
    mine = [
        ".partial/notes",
        "a.txt/00002.notes",
        "a.txt/2024.data/x.jsonl",
        "a.txt/00007.jsonl",
        "a.txt/00000.mrg.old",
    ]
    for name in mine:
        (out / name).parent.mkdir(exist_ok=True, parents=True)
        (out / name).write_text("mine")
    (out / ".partial" / "00000-0123456789abcdef.jsonl").write_text("of a run that was killed")
    assert parsed(corpus / "a.txt", out, to="brackets", force=True).shards == 1
    assert {name: (out / name).read_text() for name in mine} == dict.fromkeys(mine, "mine")
    assert sorted(path.name for path in folder.glob("0*")) == [
        "00000.manifest.json", "00000.mrg", "00000.mrg.old", "00002.notes", "00007.jsonl",
    ]  # fmt: skip
    assert [path.name for path in (out / ".partial").iterdir()] == ["notes"]


@pytest.mark.parametrize("where", ["a.txt", ".partial"])
def test_nothing_is_written_behind_a_link_that_leaves_the_output(corpus, tmp_path, where):
    victim, out = victim_of(tmp_path), tmp_path / "out"
    out.mkdir()
    (out / where).symlink_to(victim)
    (victim / "00000-0123456789abcdef.jsonl").write_text("mine")
    with pytest.raises(InputError, match="a symbolic link leads out of"):
        parsed(corpus / "a.txt", out)
    assert sorted(path.name for path in victim.iterdir()) == ["00000-0123456789abcdef.jsonl", "dear.jsonl"]


def test_documents_that_are_links_are_replaced_and_not_followed(corpus, tmp_path):
    victim, out = victim_of(tmp_path) / "dear.jsonl", tmp_path / "out"
    (out / "a.txt").mkdir(parents=True)
    for name in ("run.json", "a.txt/00000.jsonl"):
        (out / name).symlink_to(victim)
    assert parsed(corpus / "a.txt", out).sentences == 6
    assert victim.read_text() == "mine"
    assert not (out / "a.txt" / "00000.jsonl").is_symlink()


@pytest.mark.parametrize("name", ["../x", "a/../../x", "/etc/x", "a\0b", "..", "a\\..\\..\\x"])
def test_names_stay_below_the_root(tmp_path, name):
    for storage in (
        LocalStorage(str(tmp_path)),
        *([RemoteStorage("memory://root")] if find_spec("fsspec") else []),
    ):
        for work in (storage.entry, storage.open, storage.read, storage.create, storage.remove):
            with pytest.raises(InputError, match="leads out of the folder"):
                work(name)
        with pytest.raises(InputError, match="leads out of the folder"):
            storage.write(name, b"")
        with pytest.raises(InputError, match="leads out of the folder"):
            storage.move("x", name)


def test_a_result_that_is_replaced_keeps_its_mode(corpus, tmp_path):
    parsed(corpus / "a.txt", tmp_path / "out")
    result = tmp_path / "out" / "a.txt" / "00000.jsonl"
    result.chmod(0o600)
    parsed(corpus / "a.txt", tmp_path / "out", options={"decoder": "viterbi"}, force=True)
    assert result.stat().st_mode & 0o777 == 0o600
