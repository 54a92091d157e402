import json
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

GOLD = """\
( (S (NP-SBJ (PRP we)) (VP (VBP eat) (NP (JJ red) (NNS apples))) (. .)) )
( (S (NP-SBJ (NNP Ann)) (, ,) (VP (VBZ sings) (NP (-NONE- *)))) )
( (FRAG (NP (-LRB- -LRB-) (NN x) (-RRB- -RRB-))) )
"""
PRED = """\
(ROOT (S (NP (PRP we)) (VP (VBP eat) (JJ red) (NNS apples)) (. .)))
(ROOT (S (NP (NNP Ann)) (NN ,) (VP (VBZ sings))))
()
"""
KEYS = {"sentences", "errors", "skipped", "recall", "precision", "f1", "exact", "tagging"}
BESIDE = {"f1_gold_tags", "f1_failures", "mean_f1", "unlabelled_f1"}


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    gold, pred = tmp_path / "gold.mrg", tmp_path / "pred.mrg"
    gold.write_text(GOLD, encoding="utf-8")
    pred.write_text(PRED, encoding="utf-8")
    return str(gold), str(pred)


@pytest.fixture
def evaluate(gramian):
    return partial(gramian, "eval")


def test_json_has_the_promised_words(files, evaluate) -> None:
    code, out, _ = evaluate(*files, "--json")
    report = json.loads(out)
    assert code == 0
    assert set(report["all"]) >= KEYS | BESIDE
    assert set(report["all"]) == set(report["len40"])
    assert report["signature"].startswith("f1|prm:collins|")
    scores = report["all"]
    # Sentence 1: 3 of 4 brackets, 3 predicted. Sentence 2: dropped, but with gold's tags 3 of 3 brackets, 3
    # predicted. Sentence 3: failed, 2 brackets in gold.
    assert (scores["sentences"], scores["errors"], scores["skipped"]) == (3, 1, 1)
    assert (scores["recall"], scores["precision"]) == (75, 100)
    assert scores["f1"] == pytest.approx(100 * 6 / 7, abs=1e-9)
    assert scores["f1_failures"] == pytest.approx(100 * 6 / (9 + 3), abs=1e-9)
    assert scores["f1_gold_tags"] == pytest.approx(100 * 12 / (9 + 6), abs=1e-9)
    assert (scores["exact"], scores["tagging"]) == (0, 100)


def test_a_table_for_people(files, evaluate) -> None:
    code, out, err = evaluate(*files, "--by-label", "--by-length")
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert (code, err) == (0, "")
    assert lines[0] == "all len40"
    assert "F1 85.71 85.71" in lines
    assert "1-10 3 2 75.00 100.00 85.71 80.00 0.00" in lines
    assert "NP 2 1 50.00 100.00 66.67" in lines
    assert lines[-1].startswith("signature f1|prm:collins|")


def test_a_listing_as_evalb_prints_it(files, evaluate) -> None:
    _, out, _ = evaluate(*files, "--per-sentence")
    lines = out.splitlines()
    assert lines[3] == "   1    5    0   75.00 100.00     3      4    3      0      4     4   100.00"
    assert lines[4] == "   2    3    1    0.00   0.00     0      0    0      0      0     0     0.00"
    assert "Bracketing FMeasure       =  85.71" in lines


def test_json_holds_all_that_is_asked_for(files, evaluate) -> None:
    options = (
        "--json",
        "--by-label",
        "--by-length",
        "--per-sentence",
        "--compare",
        files[0],
        "--samples",
        "50",
    )
    report = json.loads(evaluate(*files, *options)[1])
    assert report["by_label"]["NP"]["recall"] == 50
    assert report["by_length"]["1-10"]["sentences"] == 3
    assert [row["status"] for row in report["per_sentence"]] == [0, 1, 2]
    comparison = report["compare"]["f1_gold_tags"]
    assert comparison["bootstrap"]["second"] == comparison["randomisation"]["second"] == 100
    assert comparison["bootstrap"]["difference"] == pytest.approx(-20, abs=1e-9)
    assert 0 < comparison["randomisation"]["p_value"] <= 1


def test_a_comparison_for_people(files, evaluate) -> None:
    _, out, _ = evaluate(*files, "--compare", files[1], "--samples", "50")
    row = next(
        line for line in out.splitlines() if line.startswith("F1, gold tags") and line.endswith("1.0000")
    )
    assert row.split()[-7:] == ["80.00", "80.00", "+0.00", "+0.00", "+0.00", "1.0000", "1.0000"]


def test_a_parameter_file(files, evaluate, tmp_path: Path) -> None:
    prm = tmp_path / "cut.prm"
    prm.write_text("CUTOFF_LEN 3\nLABELED 1\nDELETE_LABEL -NONE-\nDELETE_LABEL_FOR_LENGTH -NONE-\n")
    code, out, _ = evaluate(*files, "--prm", str(prm), "--json")
    report = json.loads(out)
    assert code == 0
    assert report["len3"]["sentences"] == 2
    assert report["all"]["errors"] == 0
    assert "prm:cut#" in report["signature"]
    assert json.loads(evaluate(*files, "--prm", "spmrl", "--json")[1])["all"]["errors"] == 0


def test_many_errors_are_said_aloud(files, evaluate, tmp_path: Path) -> None:
    prm = tmp_path / "strict.prm"
    prm.write_text("MAX_ERROR 0\nDELETE_LABEL -NONE-\nDELETE_LABEL ,\n")
    _, _, err = evaluate(*files, "--prm", str(prm))
    assert err == "gramian: dropped for a wrong tag, and counted by 'gold tags': 1 sentence\n"


def test_labels_that_are_never_predicted_are_said_aloud(files, evaluate) -> None:
    Path(files[0]).write_text("(S.x (NP.m (N a) (N b)) (V c))\n")
    Path(files[1]).write_text("(S (NP (N a) (N b)) (V c))\n")
    _, _, err = evaluate(*files)
    assert err == (
        "gramian: 100% of gold's brackets have labels that are never predicted (NP.m, S.x); "
        "are the labels of both cut alike?\n"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            PRED.replace("apples", "pears"),
            "sentence 1 (line 1 of the prediction): word 4 is 'apples' in gold, 'pears'",
        ),
        (PRED[: PRED.index("()")], "gold has 3 trees, the prediction 2; the first 2 agree in their words"),
        (
            "\n".join(reversed(PRED.splitlines())),
            "sentence 3 (line 3 of the prediction) has the words of sentence 1",
        ),
    ],
)
def test_what_does_not_fit_is_an_error(files, evaluate, text: str, message: str) -> None:
    Path(files[1]).write_text(text, encoding="utf-8")
    code, out, err = evaluate(*files)
    assert (code, out) == (2, "")
    assert err.startswith(f"gramian: {files[1]} does not fit {files[0]}: ")
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no tree"),
        (b"(S (NN a)", "never closed"),
        (b"\x1f\x8b\x08\x00", "pred.mrg"),
        (b"\xff\xfe\x00", "pred.mrg"),
    ],
)
def test_a_broken_file_is_an_error(files, evaluate, content: bytes, message: str) -> None:
    Path(files[1]).write_bytes(content)
    code, out, err = evaluate(*files)
    assert (code, out) == (2, "")
    assert message in err
    assert "Traceback" not in err
    assert "--skip-broken" not in err


def test_one_file_may_be_stdin(files) -> None:
    command = [sys.executable, "-m", "gramian.cli", "eval", files[0], "-", "--json"]
    code = "import sys; from gramian.cli import main; sys.argv[0] = 'gramian'; main()"
    result = subprocess.run(
        [sys.executable, "-c", code, *command[3:]], input=PRED, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["all"]["sentences"] == 3


def test_two_files_cannot_be_stdin(evaluate) -> None:
    code, _, err = evaluate("-", "-")
    assert (code, err) == (2, "gramian: only one of the files can be stdin\n")


PARSES = """\
{"tree": "(S (NP (PRP we)) (VP (VBP eat) (JJ red) (NNS apples)) (. .))", "spans": [0.9, 0.8, 0.7, 0.6, 0.9, 0.3, 0.9, 1]}
{"tree": "(S (NP (NNP Ann)) (, ,) (VP (VBZ sings)))", "spans": [0.9, 0.8, 0.7, 0.5, 0.9, 0.8]}
{"tree": "", "spans": []}
"""


@pytest.fixture
def parses(tmp_path: Path) -> Path:
    rows = [json.loads(line) for line in PARSES.splitlines()]
    for row in rows:
        row["spans"] = [{"confidence": sure} for sure in row["spans"]]
    path = tmp_path / "parsed.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_confidences_are_held_against_gold(files, parses, evaluate) -> None:
    code, out, err = evaluate(files[0], str(parses), "--calibration", "--json")
    report = json.loads(out)
    assert (code, err) == (0, "")
    assert (report["all"]["valid"], report["all"]["skipped"]) == (2, 1)
    # Phrases: all of 0.9, 0.8, 0.6, 0.9, 0.8, 0.9 are right.
    found = report["calibration"]["phrases"]
    assert (found["count"], found["right"]) == (6, 1)
    assert found["ece"] == pytest.approx((0.1 + 0.2 + 0.4 + 0.1 + 0.2 + 0.1) / 6, abs=1e-9)
    assert report["calibration"]["tags"]["count"] == 6
    _, out, _ = evaluate(files[0], str(parses), "--calibration")
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert "calibration error (ECE) 0.1833 0.2833" in lines
    assert "0.60-0.60 1 0.600 1.000" in lines


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("(S (NP (PRP we)))", "not a parse"),
        ('{"tree": "(S (X a))"}', "not a parse"),
        ('{"tree": "(S (X a)", "spans": []}', "malformed"),
        ('{"tree": "(S (X a))", "spans": [{"confidence": 1}]}', "one for each node"),
        ('{"tree": "(S (X a))", "spans": [{"confidence": 1}, {"confidence": 2}]}', "between 0 and 1"),
        ("[1]", "not a parse"),
    ],
)
def test_what_holds_no_confidences_is_refused(files, parses, evaluate, line, fault) -> None:
    parses.write_text(f"{PARSES.splitlines()[2]}\n{line}\n", encoding="utf-8")
    code, out, err = evaluate(files[0], str(parses), "--calibration")
    assert (code, out) == (2, "")
    assert f"{parses}:2" in err
    assert fault in err


def test_binary_trees_have_equal_precision_and_recall(files, evaluate, tmp_path) -> None:
    gold, pred = tmp_path / "cnf.gold", tmp_path / "cnf.pred"
    gold.write_text("(S (NP (PRP we)) (VP (VBP eat) (NP (JJ red) (NNS apples))) (. .))\n", encoding="utf-8")
    pred.write_text("(S (NP (PRP we)) (VP (VBP eat) (JJ red) (NNS apples)) (. .))\n", encoding="utf-8")
    code, out, _ = evaluate(str(gold), str(pred), "--cnf", "--json")
    found = json.loads(out)
    # Gold: S 0-5, @S 0-4, VP 1-4, NP 2-4; predicted: S 0-5, @S 0-4, VP 1-4, @VP 1-3.
    assert code == 0
    assert [found["all"][name] for name in ("recall", "precision", "f1", "unlabelled_f1")] == [75.0] * 4
    assert "prm:cnf" in found["signature"]
    assert "punct:kept" in found["signature"]
    code, _, err = evaluate(*files, "--cnf", "--calibration")
    assert code == 2
    assert "mutually exclusive" in err
