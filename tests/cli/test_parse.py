"""``gramian parse``: one line out for one line in, whatever stands on it, and what is done is there."""

import io
import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gramian.trees import Tree

MODEL = str(Path(__file__).parents[1] / "unit" / "grammar" / "fixtures" / "version-1.grammar")


@pytest.fixture
def parse(gramian, monkeypatch):
    def call(text: str | bytes, *options: str, model: str | None = MODEL) -> tuple[int, str, str]:
        data = text.encode() if isinstance(text, str) else text
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        return gramian("parse", *(("-m", model) if model else ()), *options)

    return call


LINES = [
    "the dog barks .",
    "",
    "( dog ) -LRB-",
    "don't stop.",
    "   ",
    "x\u00a0y \u2028 z\x1cw",
    ".",
    "the dog",
]


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_line_for_a_line(parse, jobs):
    code, out, err = parse("\n".join(LINES), "--tokens", "--jobs", jobs)
    assert code == 0
    trees = out.split("\n")
    assert trees.pop() == ""
    assert len(trees) == len(LINES)
    for line, tree in zip(LINES, trees, strict=True):
        tokens = [token for token in line.split(" ") if token]
        if tokens:
            leaves = [part.rpartition(" ")[2] for part in tree.split(")") if " " in part]
            written = [token.replace("(", "-LRB-").replace(")", "-RRB-") for token in tokens]
            assert leaves == written
        else:
            assert tree == ""
    assert trees[0] == "(S (NP (DT the) (NN dog)) (VP (VB barks)) (. .))"
    assert "6 sentences in" in err
    assert "2 empty lines" in err


def test_text_is_cut_into_tokens(parse):
    _, out, err = parse("The dog doesn't bark.\n", "-q")
    assert Tree.parse(out).words == ("The", "dog", "does", "n't", "bark", ".")
    assert err == ""


def test_sentences_are_found_in_running_text(parse):
    text = "The dog barks. The cat\nsleeps! The dog?\n\nThe cat saw Mr. Fox.\n"
    code, out, err = parse(text, "--json")
    records = [json.loads(line) for line in out.splitlines()]
    assert (code, len(records)) == (0, 5)
    assert "5 sentences in" in err
    for record in records:
        assert record["words"] == [text[start:end] for start, end in record["offsets"]]
    assert records[-1]["offsets"][0] == [text.index("The cat saw"), text.index(" cat saw")]
    assert len(parse(text, "--lines")[1].splitlines()) == 4
    assert parse(text.replace("\n", "\r\n"), "--json", "-q")[1].count("\n") == 5


def test_long_text_is_held_no_longer_than_needed(parse):
    text = "The dog barks. " * 6000
    assert parse(text, "-q")[1] == "(S (NP (DT The) (NN dog)) (VP (VB barks)) (. .))\n" * 6000


def test_text_that_the_model_does_not_know_is_told_of(parse):
    strange = "Le chien aboie et la caravane passe sous les arbres\n"
    assert parse(strange * 2)[2].count("seems to be in another language than the model's") == 1
    assert "language" not in parse("the dog saw a cat and the dog barks with a saw\n")[2]
    assert parse(strange, "-q")[2] == ""


def test_doubt_is_shown(parse):
    """A glued root is sure of nothing, the phrases below it are."""
    text = "the dog saw barks the cat"
    whole = "(S (S (NP (DT the) (NN dog)) (VP (VB saw))) (VP (VB barks) (NP (DT the) (NN cat))))\n"
    _, out, err = parse(text)
    assert (out, "1 with a phrase below 80%" in err) == (whole, True)
    assert "below" not in parse("the dog saw a cat")[2]
    assert parse(text, "--pretty", "-q")[1].startswith("(S?\n  (S (NP")
    assert parse(text, "-q", "--set", "min_confidence=0.93")[1] == (
        "(S (NP (DT the) (NN dog)) (VB saw) (VP (VB barks) (NP (DT the) (NN cat))))\n"
    )
    spans = json.loads(parse(text, "-q", "--json", "--set", "min_confidence=1")[1])["spans"]
    assert [(span["label"], span["confidence"]) for span in spans][:2] == [("S", 0.0), ("NP", 1.0)]
    assert parse(text, "-q", "--set", "min_confidence=0")[1] == whole
    assert parse(text, "--k", "2", "--set", "min_confidence=0.5")[0] == 2


def test_windows_lines_and_no_last_newline(parse):
    assert parse("the dog\r\n\r\nthe cat", "--tokens")[1].split("\n")[1:3] == ["", "(NP (DT the) (NN cat))"]
    assert parse("", "--tokens")[1] == ""


def test_a_very_long_line(parse):
    long = "o" * 100
    code, out, _ = parse(f"{long} " * 800 + "\ncat\n", "--tokens", "--set", "max_length=20")
    assert code == 0
    first, second = out.splitlines()
    assert first.count(f" {long})") == 800
    assert second.count("cat") == 1


def test_tagged(parse):
    assert (
        parse("dog/DT saw/NN 1/2/VB", "--set", "format=tagged")[1]
        == "(S (NP (DT dog) (NN saw)) (VP (VB 1/2)))\n"
    )
    for bad in ("dog", "dog/", "/NN", "/"):
        code, out, err = parse(f"the/DT dog/NN\nthe/DT {bad}\n", "--set", "format=tagged")
        assert (code, out.count("\n")) == (2, 1)
        assert f"<stdin>:2: {bad!r}" in err


def test_json(parse):
    _, out, _ = parse("the dog\n\n", "--lines", "--json", "--k", "2")
    first, empty = map(json.loads, out.splitlines())
    assert first["tree"] == "(NP (DT the) (NN dog))"
    assert first["status"] == "parsed"
    assert first["words"] == ["the", "dog"]
    assert first["offsets"] == [[0, 3], [4, 7]]
    assert first["log_prob"] < 0
    assert first["alternatives"][0]["tree"] == first["tree"]
    assert [span["label"] for span in first["spans"]] == ["NP", "DT", "NN"]
    assert (empty["status"], empty["tree"], empty["spans"]) == ("empty", "", [])
    flat = json.loads(parse("the dog\n", "--json", "--set", "max_seconds=1e-9")[1])
    assert (flat["status"], flat["log_prob"]) == ("flat", None)


def test_pretty_and_best(parse):
    assert (
        parse("the dog\n\nthe cat\n", "--lines", "--pretty")[1]
        == "(NP (DT the) (NN dog))\n\n\n(NP (DT the) (NN cat))\n\n"
    )
    _, out, _ = parse("the dog saw a cat with a saw\nthe dog\n", "--k", "2")
    first, second, _ = out.split("\n\n")
    assert len(set(first.splitlines())) == 2
    assert second.splitlines()[0] == "(NP (DT the) (NN dog))"


WEIRD = [
    b"a b", b"\0 x\0y z", b"c\rd e", b"\x01 f", b"\tg\th\t", b"", b" \t ", b"\x0b\x0c", b"<\xc2\xa0>", b"( [ ] -RRB-",
    b"\xff\xfe z", b"\xe2\x80\xa8 q", b"\xed\xa0\x80", b"\\ / | @ ^ %", b"-LRB- -NONE- -DFL-", b"the dog",
]  # fmt: skip


def test_a_line_for_a_line_whatever_its_bytes(parse):
    for options in (("--lines",), ("--tokens",), ("--tokens", "--jobs", "3"), ("--lines", "--json")):
        code, out, err = parse(b"\n".join(WEIRD) + b"\n", *options)
        assert (code, out.count("\n")) == (0, len(WEIRD))
        assert "3 lines had bytes that are not UTF-8" in err
        assert out.split("\n")[-2].replace("tree", "").find("(NP (DT the) (NN dog))") >= 0
    trees = parse(b"\n".join(WEIRD), "--tokens")[1].split("\n")
    for line, tree in zip(WEIRD, trees, strict=False):
        text = line.decode("utf-8", "replace").replace("\0", "\ufffd")
        tokens = [token for token in re.split("[ \t\r\x0b\x0c]", text) if token]
        leaves = re.findall(r" ([^ ()]+)\)", tree)
        assert leaves == [token.replace("(", "-LRB-").replace(")", "-RRB-") for token in tokens]


def test_a_line_of_five_thousand_words(parse):
    code, out, err = parse(
        "the dog saw a cat , " * 833 + "a b\nthe dog\n", "--tokens", "--set", "max_seconds=2"
    )
    assert code == 0
    first, second = out.splitlines()
    assert len(re.findall(r" [^ ()]+\)", first)) == 5000
    assert second == "(NP (DT the) (NN dog))"
    assert "1 split" in err


def test_records(parse):
    """Tags, lattices and constraints from JSON lines."""
    ambiguous = ["the", "dog", "saw", "a", "cat", "with", "a", "telescope", "."]
    lines = [
        {"tokens": ambiguous, "required": [[3, 8, "NP"]]}, {"tokens": ambiguous, "forbidden": [[3, 8]]},
        {"tokens": ambiguous, "uncrossed": [[2, 5]]}, {"tokens": ["x", "y"], "tags": [None, {"VB": 0.99, "NN": 0.01}]},
        {"text": "the dog barks."}, {"tokens": []},
    ]  # fmt: skip
    code, out, _ = parse("\n\n".join(map(json.dumps, lines)) + "\n", "--set", "format=records")
    assert code == 0
    low, _, high, _, inside, _, tagged, _, text, _, nothing, _ = out.split("\n")
    assert "(NP (NP (DT a) (NN cat)) (PP" in low
    assert "(NP (NP (DT a) (NN cat)) (PP" not in high
    assert "(NP (DT a) (NN cat)) (PP" in inside
    assert "(NP (NP" not in inside
    assert tagged == "(S (NP (NN x)) (VP (VB y)))"
    assert text.endswith("(. .))")
    assert nothing == ""


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("the dog", "not JSON"), ("[1]", "'tokens' or 'text'"), ('{"text": "a", "tokens": ["a"]}', "'tokens' or 'text'"),
        ('{"tokens": ["a"], "tag": 1}', "'tag' is not a key"), ('{"tokens": "a b"}', "list of words"),
        ('{"text": "a", "tags": ["X"]}', "without other keys"), ('{"tokens": ["a"], "tags": []}', "one entry for each"),
        ('{"tokens": ["a"], "tags": [3]}', "3 is not a tag"), ('{"tokens": ["a"], "required": [[0]]}', "is not a span"),
        ('{"tokens": ["a"], "required": [[0, 2]]}', "not within"), ('{"tokens": ["a"], "forbidden": [[0, 1, "Q"]]}', "no phrase 'Q'"),
    ],
)  # fmt: skip
def test_bad_records(parse, line, message):
    code, out, err = parse('{"tokens": ["dog"]}\n' + line + "\n", "--set", "format=records")
    assert (code, out.count("\n")) == (2, 1)
    assert "<stdin>:2: " in err
    assert message in err


def test_pruning_from_the_command_line(parse):
    line = "the dog saw a cat with a telescope .\n"
    nothing = [f"--set=pruning.{name}=0" for name in ("beam", "item", "edge", "fine", "split")]
    assert parse(line, *nothing)[1] == parse(line)[1]
    assert parse(line, "--set", "pruning.split=0")[1] == parse(line)[1]
    code, _, err = parse(line, "--set", "pruning.item=2", "--set", "strict=true")  # no posterior is 2
    assert (code, "1 with a wider beam" in err) == (1, True)


def test_strict(parse):
    assert parse("the dog barks\n", "--set", "strict=true")[0] == 0
    code, out, err = parse(". .\n", "--set", "strict=true")
    assert (code, out.count("\n")) == (1, 1)
    assert "1 with phrases forced together" in err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--tokens", "--set", "format=tagged"], "mutually exclusive: tagged and tokens"),
        (["--tokens", "--lines"], "mutually exclusive: lines and tokens"),
        (["--set", "pruning.items=1"], "did you mean pruning.item?"), (["--set", "pruning.item=-1"], "must be at least 0"),
        (["--prune", "item=1"], "try: --set pruning.item=VALUE"), (["--decoder", "viterbi"], "try: --set decoder=VALUE"),
        (["--tagged"], "try: --set format=tagged"), (["--records"], "try: --set format=records"), (["--strict"], "try: --set strict=VALUE"),
        (["--language", "fr"], "try: --model"), (["--to", "jsonl"], "require an output folder; try: -o OUT/"),
        (["--set", "corpus.shard_size=3"], "require an output folder"), (["--json", "--pretty"], "mutually exclusive"),
        (["--set", "decoder=viterbi", "--k", "3"], "viterbi"), (["no-such-file"], "no-such-file"),
    ],
)  # fmt: skip
def test_bad_options(parse, options, message):
    code, out, err = parse("the dog\n", *options)
    assert (code, out) == (2, "")
    assert message in err
    assert "Traceback" not in err


def test_bad_input(parse, tmp_path):
    code, out, err = parse("the dog\n".encode("utf-16"), "--tokens")
    assert (code, out) == (2, "")
    assert "<stdin>:1: this is UTF-16" in err
    (tmp_path / "bad").write_text("nonsense")
    code, _, err = parse("the dog\n", model=str(tmp_path / "bad"))
    assert code == 2
    assert err.startswith(f"gramian: {tmp_path / 'bad'}: not a model file")


@pytest.mark.parametrize(("jobs", "written", "done"), [("1", 3, 3), ("2", 64, 16)])
def test_interrupted(jobs, written, done):
    """Ctrl-C leaves what was done, on whole lines. With one thread, a line in gets its line out at once."""
    command = [sys.executable, "-c", "from gramian.cli import main; main()"]
    command += ["parse", "-m", MODEL, "--tokens", "--jobs", jobs]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # also where these tests run in the background
    ) as process:  # fmt: skip
        assert process.stdin
        assert process.stdout
        assert process.stderr
        lines, answer = ["the dog\n"] * written, "(NP (DT the) (NN dog))\n"
        if jobs == "1":
            for line in lines:
                process.stdin.write(line)
                assert process.stdout.readline() == answer
        else:
            process.stdin.writelines(lines)
            assert [process.stdout.readline() for _ in range(done)] == [answer] * done
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        assert process.stdout.read() == ""
        assert f"{done} sentences in" in process.stderr.read()


def test_trees_where_a_model_is_wanted(parse, tmp_path):
    file = tmp_path / "train.mrg"
    for text, held, command in (
        ("( (S (NP (NNS dogs)) (VP (VBP bark))))\n", "trees in brackets", "train"),
        ("\n\ufeff(S (NP (NNS dogs)) (VP (VBP bark)))\n", None, ""),
        (
            "# text = dogs\n1\tdogs\tdog\tNOUN\tNNS\t_\t0\troot\t_\t_\n\n",
            "dependency trees in CoNLL-U",
            "dep train",
        ),
    ):
        file.write_text(text)
        code, out, err = parse("the dog\n", model=str(file))
        assert (code, out) == (2, "")
        if held is None:
            assert "not a model file" in err
            continue
        assert err == (
            f"gramian: {file}: holds {held}, not a model; try: use a file that 'gramian train' wrote, "
            f"or train one on it: gramian {command} {file} -o MODEL\n"
        )


def test_one_sentence_is_one(parse):
    _, _, err = parse("the dog\n\n", "--tokens")
    assert err.startswith("1 sentence in ")
    assert err.endswith(", 1 empty line\n")
