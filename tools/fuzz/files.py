"""Files that are read back or come in bulk: compression bombs, pipes, corpora, manifests and plans, results of stopped commands.

Besides, what a text or a pattern may hold: words without end, tabs, expressions that make other engines hang.
"""

import gzip
import io
import json
import lzma
import os
import shutil
import tempfile
from collections import Counter
from contextlib import suppress
from pathlib import Path
from random import Random
from threading import Thread

from tools.fuzz.mutate import mutated
from tools.fuzz.texts import (
    SENTENCE,
    TREES,
    Make,
    Read,
    _fast,
    changed_json,
    from_seeds,
    record_line,
    tree_text,
)

UNITS = ("_", "a", "\t", " ", "\n", "a\t", "a..", "'s", "n't", '"', ".)", "a@b.", "www.", "http://", "。", "\u200d", "😀", "A. ",
         "x.\n", "((", "İ", "\u3000", "\r", "$1,", "--", "#", "Dr. ", "the dog\t", "\u00a0")  # fmt: skip
PATTERNS = (
    "NP < (PP < of)", "VP << /^VB/=verb !<< NP|PP", "__ <# (@NP=a $++ =a)", "S <+(VP) (NP ?[< DT | < NN])", "/(.*)/#1%x < /(.*)/#1%x",
    "NP <... { DT ; NN }", "_ROOT_ <<, ~a", "/^(a+)+$/i", '"." == *', "/((a*)*)*[^b-y]{2,40}$/",
)  # fmt: skip
SCRIPTS = (
    "NP=a < DT=b\n\ndelete b\nrelabel a NX\n", "S=a < NP=b\n\nmove b >-1 a\ninsert (X (Y=c z)) $+ b\n",
    "VP=a\n\nadjoin (VP (ADVP (RB so)) VP@) a\n\n% more\nNN=x\n\nrelabel x /^(.*)$/$1-$1/\n[if not exists x prune x]\n",
    "NP=a $+ VP=b\n\ncreateSubtree X a b\ncoindex a b\nexcise a a\nreplace b (Q q)\n",
)  # fmt: skip
_MOST = 1 << 21  # bytes of a bomb, which is refused at a limit of this size
_PIPE = 1 << 15


def long_text(random: Random) -> str:
    """Return words without end, between others."""
    parts = []
    for _ in range(random.choice((1, 1, 2, 5))):
        parts.append(random.choice(UNITS) * int(random.choice((1, 3, 50, 2000)) * random.uniform(0.5, 2)))
        parts.append(random.choice(("", " ", "\t", "the dog", "\n", "\n\n", 'He said: "no".')))
    return "".join(parts)


def words() -> tuple[Make, Read]:
    """Return running text, with segmenters and tokenizers by rule and learned."""
    from gramian.parsing.parser import load
    from gramian.text.rule_tokenizer import tokenize
    from gramian.text.sentence_segmenter import SentenceSegmenter
    from gramian.text.text_processor import sentences_in

    ready = load()
    assert ready.model.tokenize is not None

    def read(data: bytes) -> None:
        text = data.decode("utf-8", "replace")
        for segmenter in (SentenceSegmenter(), ready.segmenter):
            end = 0
            for sentence in sentences_in(text.splitlines(keepends=True), segmenter):
                assert sentence.start >= end
                end = sentence.start + len(sentence.text)
        for tokens in (tokenize(text), ready.model.tokenize(text[:20_000])):
            end = 0
            for token in tokens:
                assert 0 <= token.start <= token.end <= len(text)
                assert token.end >= end
                end = token.end

    return from_seeds(
        [long_text, "Dr. J. R. Smith's dog didn't go.\tIt slept.\n"], [unit.encode() for unit in UNITS]
    ), read


def compressed() -> tuple[Make, Read]:
    """Return compressed text, damaged, nested and beyond measure, read from a file or through a pipe."""
    from gramian.io.decompression import zstd_library
    from gramian.io.reading import LINE_LIMIT, open_text, peek_text

    os.environ[LINE_LIMIT] = "1M"
    zstd = zstd_library("fuzz")
    packers = (
        lambda data: gzip.compress(data, 1),
        lambda data: lzma.compress(data, preset=0),
        lambda data: zstd.compress(data),
    )

    def make(random: Random) -> bytes:
        unit = random.choice(
            (b"\0", b"(", b"a", b"a b\n", b"\n", b"(S (A a))\n", record_line(random) + b"\n")
        )
        data = unit * random.choice((0, 1, 100, _MOST // len(unit) if random.random() < 0.1 else 1000))
        for _ in range(random.choice((1, 1, 1, 2, 3))):
            data = random.choice(packers)(data)
            if random.random() < 0.3:
                data += random.choice((data, b"\0" * 9, b"junk"))
        return (
            mutated(random, data, [b"\x1f\x8b", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd"])
            if random.random() < 0.6
            else data
        )

    def read(data: bytes) -> None:
        if len(data) % 3:
            with open_text(io.BytesIO(data), repair=len(data) % 2 == 0) as lines:
                for line in lines:
                    assert line
            return
        there, here = os.pipe()
        with open(there, "rb") as pipe, open(here, "wb") as end:

            def send() -> None:
                with suppress(OSError):
                    end.write(data)
                    end.close()

            thread = Thread(target=send)
            thread.start()
            try:
                source, _ = peek_text(pipe)
                with open_text(source, repair=True) as lines:
                    for line in lines:
                        assert line
            finally:
                pipe.close()
                thread.join()

    return make, read


def corpus() -> tuple[Make, Read]:
    """Return files of a corpus of every kind, cut into shards and read again."""
    from gramian.parsing.parser import load
    from gramian.pipelines.inputs import Input
    from gramian.pipelines.shard_plan import InputLayout, make_plan
    from gramian.pipelines.shard_reading import ShardReader

    folder, ready = Path(tempfile.mkdtemp(dir=_fast())), load()
    table = io.BytesIO()
    import pyarrow
    from pyarrow import parquet

    parquet.write_table(
        pyarrow.table({"text": ["I came. I saw.", None, "x" * 99] * 9, "id": list(range(27))}), table
    )

    def make(random: Random) -> bytes:
        kind = random.choice(("txt", "jsonl", "conllu", "csv", "parquet"))
        if kind == "parquet":
            data = mutated(random, table.getvalue(), [b"PAR1"])
        elif kind == "jsonl":
            data = b"\n".join(record_line(random) for _ in range(random.choice((1, 3, 9))))
            data = mutated(random, data, [b'"text"', b'"id"', b"[" * 2000]) if random.random() < 0.5 else data
        else:
            text = {"conllu": SENTENCE * 3, "csv": 'id;text\n7;"It rains; ""she"" reads."\n8;\n'}.get(
                kind
            ) or long_text(random)
            data = mutated(random, text.encode(), [b"# newdoc id = a\n", b"\n\n", b"\t", b'"', b";", b"text"])
        return f"{kind}\n".encode() + data

    def read(made: bytes) -> None:
        kind, _, data = made.partition(b"\n")
        name = f"in.{kind.decode()}"
        (folder / name).write_bytes(data)
        source = Input(str(folder / name), name, len(data), "x")
        layout = InputLayout(
            kind=source.kind, form="text", text_field="text", id_field="id", shard_size=1 + len(data) // 3
        )
        plan = make_plan(source, layout)
        reader = ShardReader(source, layout, ready, lambda error: None)
        for shard in plan.shards:
            for piece in reader.pieces(shard):
                assert piece.place >= 0

    return make, read


def documents() -> tuple[Make, Read]:
    """Return an output of a corpus with a changed record, plan or manifest; what lies outside must stay as it is."""
    from gramian.io.reading import file_sha256
    from gramian.parsing.model import Model
    from gramian.parsing.model_store import save_model
    from gramian.pipelines.corpus_run import parse_corpus
    from gramian.pipelines.corpus_status import corpus_status
    from gramian.pipelines.inputs import find_inputs
    from gramian.pipelines.shard_work import Settings
    from tools.fuzz.models import _grammars

    root = Path(tempfile.mkdtemp(dir=_fast()))
    (root / "in").mkdir()
    (root / "in" / "a.txt").write_text("the dog\n")
    (root / "in" / "b.txt").write_text("the cat\n")
    (root / "victim").mkdir()
    (root / "victim" / "00000.jsonl").write_text("mine")
    model = str(root / "one.grammar")
    save_model(Model(_grammars()[0]), model)
    settings = Settings(model=model, model_sha256=file_sha256(model), form="lines")
    inputs = find_inputs([str(root / "in")])
    parse_corpus(inputs, str(root / "whole"), settings, kind="text")
    names = ["run.json", "a.txt/plan.json", "a.txt/00000.manifest.json"]
    values = {name: json.loads((root / "whole" / name).read_text()) for name in names}
    odd = (
        "../../victim",
        "../victim/00000.jsonl",
        str(root / "victim"),
        "..",
        "/",
        "00001.jsonl",
        "a\0b",
        "\x1b[2J",
    )

    def make(random: Random) -> bytes:
        name = random.choice(names)
        value = changed_json(random, values[name])
        if name == names[2] and random.random() < 0.3:
            value = values[name] | {"result": values[name]["result"] | {"output": random.choice(odd)}}
        data = json.dumps(value).encode("utf-8", "surrogatepass")
        data = (
            mutated(random, data, [b'"output"', b"../", b"null", b"[" * 2000])
            if random.random() < 0.4
            else data
        )
        return name.encode() + b"\n" + data

    def read(made: bytes) -> None:
        name, _, data = made.partition(b"\n")
        out = root / "out"
        shutil.rmtree(out, ignore_errors=True)
        shutil.copytree(root / "whole", out)
        if name.decode("utf-8", "replace") in names:
            (out / name.decode()).write_bytes(data)
        try:
            corpus_status(str(out))
        finally:
            try:
                parse_corpus(inputs, str(out), settings, kind="text", force=len(data) % 2 == 0)
            finally:
                assert (root / "victim" / "00000.jsonl").read_text() == "mine"
                assert (root / "in" / "a.txt").exists()

    return make, read


def stopped() -> tuple[Make, Read]:
    """Return what a stopped command has left: records beside an output, and results of tasks."""
    from gramian.io.resume import resumed
    from gramian.tasks.task_runner import Outcome, TaskFolder

    root = Path(tempfile.mkdtemp(dir=_fast()))
    (root / "in.txt").write_text("a\nb\n")
    output = root / "out.mrg"
    with suppress(KeyboardInterrupt), resumed(str(output), [str(root / "in.txt")], {}) as (stream, _):
        stream.write("(A a)\n")
        stream.write("(B b)\n")
        stream.flush()
        raise KeyboardInterrupt
    [partial] = root.glob(".*.partial")
    store = TaskFolder(root / "tasks", result=dict[str, float])
    store.keep(Outcome("task", {"x": 0.5}))
    seeds = partial.read_bytes(), store.file("task").read_bytes()

    def make(random: Random) -> bytes:
        kind = random.randrange(2)
        data = seeds[kind]
        if kind and random.random() < 0.5:
            data = json.dumps(changed_json(random, json.loads(data))).encode("utf-8", "surrogatepass")
        return b"%d" % kind + mutated(random, data, [b"6 ", b"\n", b'"checksum"', b"[" * 3000])

    def read(data: bytes) -> None:
        if data[:1] == b"1":
            store.file("task").write_bytes(data[1:])
            found = store.find("task")
            assert found is None or isinstance(found.value, dict)
            return
        output.unlink(missing_ok=True)
        partial.write_bytes(data[1:])
        records = ("(A a)\n", "(B b)\n")
        with resumed(str(output), [str(root / "in.txt")], {}) as (stream, count):
            assert count <= len(data)
            for record in records[count:]:
                stream.write(record)
        assert output.exists()

    return make, read


def patterns() -> tuple[Make, Read]:
    """Return patterns over trees, with expressions that make backtracking engines hang."""
    from gramian.search.pattern import needs_captures
    from gramian.search.pattern_parser import parse_pattern
    from gramian.search.table_match import TableMatcher
    from gramian.search.tree_match import matches
    from gramian.trees import HeadRules, Tree, read_trees

    trees = [*read_trees(io.StringIO(TREES[0] + TREES[1] + TREES[5]))]
    trees.append(Tree.parse(f"(NP (NN {'a' * 300}) (NP (DT the) (NN b)))"))
    rules = HeadRules.collins()
    tokens = [
        b"<",
        b"<<",
        b"$++",
        b"!",
        b"?",
        b"[",
        b"]",
        b"|",
        b"=a",
        b"~a",
        b"#1%x",
        b"@NP",
        b"/(a|a)*$/",
        b"<+(",
        b"{",
        b";",
        b"__",
    ]

    def read(data: bytes) -> None:
        pattern = parse_pattern(data.decode("utf-8", "replace")[:4000])
        counts = [len(matches(pattern, tree, rules)) for tree in trees]
        if not needs_captures(pattern):
            assert TableMatcher(pattern, rules).counts(list(map(str, trees))).tolist() == counts

    return from_seeds([*PATTERNS, *PATTERNS, tree_text], tokens), read


def scripts() -> tuple[Make, Read]:
    """Return scripts that edit trees; no word is lost unless this is asked for."""
    from gramian.editing.tree_edits import edit_trees
    from gramian.trees import Tree, read_trees

    trees = [Tree.parse("(S (NP (DT the) (NN dog)) (VP (VBZ barks) (NP (NN a))))")]
    tokens = [
        b"delete ",
        b"relabel ",
        b"move ",
        b">1 ",
        b"$+ ",
        b"(X ",
        b"=a",
        b"@",
        b"if exists ",
        b"\n\n",
        b"createSubtree ",
        b"%{x}",
    ]

    def read(data: bytes) -> None:
        for tree in edit_trees(trees, data.decode("utf-8", "replace"), change_words=len(data) % 2 == 0):
            assert tree.is_empty or list(read_trees(io.StringIO(str(tree)))) == [tree]
            assert len(data) % 2 == 0 or not Counter(trees[0].words) - Counter(tree.words)

    return from_seeds([*SCRIPTS, *PATTERNS[:2]], tokens), read
