import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from gramian.cli import app

BLOCK = """# sent_id = {number}
# text = {noun} sleep .
1-2\tThe{noun}\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No
1\tThe\tthe\tDET\tDT\t_\t2\tdet\t_\t_
2\t{noun}\t{noun}\tNOUN\tNNS\tNumber=Plur\t3\tnsubj\t_\t_
3\tsleep\tsleep\tVERB\tVBP\t_\t0\troot\t0:root\tSpaceAfter=No
3.1\tghost\t_\t_\t_\t_\t_\t_\t_\t_
4\t.\t.\tPUNCT\t.\t_\t3\tpunct\t_\t_

"""
NOUNS = ["dogs", "cats", "birds", "men"]
TREEBANK = "".join(BLOCK.format(number=number, noun=NOUNS[number % 4]) for number in range(20))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dep")
    (folder / "train.conllu").write_text(TREEBANK, encoding="utf-8")
    result = run("train", folder / "train.conllu", "-o", folder / "model", "--set", "epochs=2", "--seed", "3")
    assert result.exit_code == 0, result.output
    return folder


def run(*arguments, text=None):
    return CliRunner().invoke(app, ["dep", *map(str, arguments)], input=text)


def fails(gramian, *arguments):
    code, _, err = gramian("dep", *arguments)
    assert code == 2
    return err


def test_text_is_parsed_and_learnt_from(folder):
    (folder / "text.txt").write_text("The dogs sleep. The men sleep.\n", encoding="utf-8")
    options = ("--set", "epochs=1", "--set", "min_confidence=0", "-j", "1")
    result = run(
        "train", folder / "train.conllu", "-o", folder / "self", "--text", folder / "text.txt", *options
    )
    assert result.exit_code == 0, result.output
    assert " parsed sentences; " in result.stderr
    assert " 0 parsed sentences; " not in result.stderr


def test_vectors_of_words_are_read_from_a_file(folder, gramian):
    pytest.importorskip("torch")
    (folder / "words.vec").write_text("2 2\nthe 1 0\ndogs 0 1\n", encoding="utf-8")
    arguments = ("train", folder / "train.conllu", "-o", folder / "neural", "--vectors", folder / "words.vec")
    error = fails(gramian, *map(str, arguments))
    assert "try: adding --neural" in error
    small = ("--set", "epochs=1", "--set", "net.epochs=1", "--set", "net.units=4", "--tags", "gold")
    result = run(*arguments, "--neural", *small)
    assert result.exit_code == 0, result.output
    from gramian.dependency import DependencyParser

    assert DependencyParser.load(folder / "neural").net.inventory.words.vector_words == ("dogs", "the")


def test_train_says_what_it_did(folder):
    result = run("train", folder / "train.conllu", "-o", folder / "other", "--method", "det+f")
    assert "20 sentences, 80 words, 0 with crossing arcs lifted" in result.stderr
    assert result.stdout == ""
    quiet = run(
        "train",
        folder / "train.conllu",
        "-o",
        folder / "other",
        "--method",
        "det+f",
        "--force",
        "--quiet",
        "-j",
        "1",
    )
    assert (quiet.exit_code, quiet.output) == (0, "")


def test_parse_keeps_all_but_the_arcs(folder):
    result = run("parse", "-m", folder / "model", text=TREEBANK)
    assert result.exit_code == 0, result.output
    assert result.stdout == TREEBANK.replace("\t0:root\t", "\t_\t")
    assert "20 sentences" in result.stderr


@pytest.mark.parametrize("head", ["_", "0", "4", "99", "nonsense"])
def test_parse_never_reads_heads(folder, head):
    lines = [line.split("\t") for line in TREEBANK.splitlines()]
    for columns in lines:
        if len(columns) == 10 and columns[0].isdecimal():
            columns[6:9] = head, "x", "x"
    text = "".join("\t".join(columns) + "\n" for columns in lines)
    result = run("parse", "-m", folder / "model", text=text)
    assert result.exit_code == 0, result.output
    assert result.stdout == run("parse", "-m", folder / "model", text=TREEBANK).stdout


@pytest.mark.parametrize("text", ["", "\n", "\n\n  \n"])
def test_nothing_to_parse_is_no_error(folder, text):
    result = run("parse", "-m", folder / "model", text=text)
    assert (result.exit_code, result.stdout) == (0, ""), result.output
    assert "0 sentences" in result.stderr


def test_tags_and_forms_that_training_never_saw_are_parsed(folder):
    row = "\t_\tQQ\tQQ\t_\t_\t_\t_\t_\n"
    text = f"\n\n1\tx{row}2\tthe{row}3-4\tz{row}3\t日本{row}4\t😀{row}"
    result = run("parse", "-m", folder / "model", text=text)
    assert result.exit_code == 0, result.output
    rows = [line.split("\t") for line in result.stdout.splitlines() if line]
    words = [columns for columns in rows if columns[0].isdecimal()]
    assert [columns[1] for columns in words] == ["x", "the", "日本", "😀"]
    assert sum(columns[6] == "0" for columns in words) == 1
    assert "the model knows 0% of the tags" in result.stderr
    again = run("parse", "-m", folder / "model", text=TREEBANK)
    assert "of the tags" not in again.stderr


def test_a_line_without_ten_columns_is_named(gramian, folder):
    broken = folder / "short.conllu"
    broken.write_text("\n\n1\ta\t_\tDET\n", encoding="utf-8")
    message = fails(gramian, "parse", broken, "-m", folder / "model")
    assert f"{broken}:3" in message
    assert "ten columns" in message
    assert "--skip-broken" not in message


def test_parse_to_a_file_with_confidence(folder):
    target = folder / "out.conllu"
    result = run(
        "parse",
        folder / "train.conllu",
        "-m",
        folder / "model",
        "-o",
        target,
        "--confidence",
        "--jobs",
        "2",
    )
    assert result.exit_code == 0, result.output
    assert target.read_text(encoding="utf-8").count("Confidence=") == 80


def test_strict_tells_of_sentences_that_were_cut(folder):
    quiet = run("parse", "-m", folder / "model", "--max-length", "3", text=TREEBANK)
    strict = run("parse", "-m", folder / "model", "--max-length", "3", "--strict", text=TREEBANK)
    assert (quiet.exit_code, strict.exit_code) == (0, 1)
    assert "20 cut" in strict.stderr


def test_eval_prints_the_four_scores(folder):
    predicted = folder / "predicted.conllu"
    predicted.write_text(
        TREEBANK.replace("2\tdet", "3\tdet", 5).replace("\tpunct", "\tother"), encoding="utf-8"
    )
    scores = json.loads(run("eval", folder / "train.conllu", predicted, "--json").stdout)
    # 80 words, 20 of them punctuation: 5 wrong heads, 20 wrong relations of punctuation
    assert scores["uas"] == pytest.approx(100 * 75 / 80, abs=1e-9)
    assert scores["las"] == pytest.approx(100 * 55 / 80, abs=1e-9)
    assert scores["uas_no_punctuation"] == pytest.approx(100 * 55 / 60, abs=1e-9)
    assert scores["las_no_punctuation"] == pytest.approx(100 * 55 / 60, abs=1e-9)
    assert scores["conll18"]["UAS"]["f1"] == pytest.approx(100 * 75 / 80, abs=1e-9)
    assert "93.75" in run("eval", folder / "train.conllu", predicted).stdout


def test_eval_aligns_other_words_by_their_characters(folder):
    predicted = folder / "joined.conllu"
    # In 5 of 20 sentences, "sleep." is one token: 3 of 4 words are left, 2 of them aligned.
    start = TREEBANK.index("3\tsleep")
    whole = TREEBANK[start : TREEBANK.index("\n\n") + 1]
    joined = "3\tsleep.\tsleep\tVERB\tVBP\t_\t0\troot\t0:root\t_\n"
    predicted.write_text(TREEBANK.replace(whole, joined, 5), encoding="utf-8")
    scores = json.loads(run("eval", folder / "train.conllu", predicted, "--json").stdout)
    assert "uas" not in scores
    words = scores["conll18"]["Words"]
    assert words["precision"] == pytest.approx(100 * 70 / 75, abs=1e-9)
    assert words["recall"] == pytest.approx(100 * 70 / 80, abs=1e-9)


def test_draw_shows_an_automaton(folder):
    drawn = run("draw", "NNS", "left", "-m", folder / "model", "--treebank", folder / "train.conllu")
    assert drawn.exit_code == 0, drawn.output
    assert drawn.stdout.startswith("<svg")
    assert "DT" in drawn.stdout
    own = run("draw", "NNS", "left", "-m", folder / "model", "--format", "dot", "-o", folder / "nns.dot")
    assert own.exit_code == 0, own.output
    assert (folder / "nns.dot").read_text(encoding="utf-8").startswith("digraph")
    assert run("draw", "ROOT", "right", "-m", folder / "model").exit_code == 0


def test_draw_refuses_what_it_cannot_show(gramian, folder):
    assert "no symbol 'XX'" in fails(gramian, "draw", "XX", "left", "-m", folder / "model")


def test_bad_input_is_one_message(gramian, folder):
    assert "no such model file" in fails(gramian, "parse", "-m", folder / "nothing")
    broken = folder / "broken.conllu"
    broken.write_text(TREEBANK + "1\tword\n", encoding="utf-8")
    message = fails(gramian, "parse", broken, "-m", folder / "model", "-o", folder / "never")
    assert f"{broken}:181" in message
    assert not (folder / "never").exists()
    message = fails(gramian, "train", broken, "-o", folder / "never")
    assert "--skip-broken" in message
    assert not (folder / "never").exists()
    message = fails(gramian, "eval", folder / "train.conllu", folder / "model")
    assert "binary" in message or "UTF-8" in message


def test_headless_treebanks_cannot_be_learnt(gramian, folder):
    bare = folder / "bare.conllu"
    bare.write_text("1\ta\t_\tX\t_\t_\t_\t_\t_\t_\n\n", encoding="utf-8")
    assert "has no head" in fails(gramian, "train", bare, "-o", folder / "never")


def test_parsing_does_not_import_the_learners(folder):
    code = (
        "import sys; from gramian.cli import app; "
        f"app(['dep', 'parse', {str(folder / 'train.conllu')!r}, '-m', {str(folder / 'model')!r}], standalone_mode=False); "
        "print('sklearn' in sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1] == "False"


def test_marginals_as_they_are(folder):
    """A word of a tag that no head takes has no tree under the grammar: helped, or told to be improper."""
    lonely = "1\tx\t_\tX\tX\t_\t0\troot\t_\t_\n\n"
    (folder / "lonely.conllu").write_text(lonely)
    assert run("train", folder / "lonely.conllu", "-o", folder / "lonely", "--method", "det").exit_code == 0
    two = "1\tx\t_\tX\tX\t_\t_\t_\t_\t_\n2\tx\t_\tX\tX\t_\t_\t_\t_\t_\n\n"
    assert "1 backed off" in run("parse", "-m", folder / "lonely", text=two).stderr
    assert "1 improper" in run("parse", "-m", folder / "lonely", "--no-backoff", text=two).stderr


TEXT = "The dogs sleep. The men sleep.\n\nThe cats sleep.\n"


def test_text_becomes_annotated_sentences(folder):
    (folder / "text.txt").write_text(TEXT, encoding="utf-8")
    result = run("parse", folder / "text.txt", "-m", folder / "model")
    assert result.exit_code == 0, result.output
    assert result.stdout == run("parse", "-m", folder / "model", text=TEXT).stdout
    blocks = result.stdout.strip().split("\n\n")
    assert [block.splitlines()[1] for block in blocks] == [
        "# text = The dogs sleep.",
        "# text = The men sleep.",
        "# text = The cats sleep.",
    ]
    rows = [line.split("\t") for line in blocks[1].splitlines()[2:]]
    # "Themen" was one token of the treebank, but here it has a space: no multiword token
    assert [row[:9] for row in rows] == [
        ["1", "The", "the", "DET", "DT", "_", "2", "det", "_"],
        ["2", "men", "men", "NOUN", "NNS", "Number=Plur", "3", "nsubj", "_"],
        ["3", "sleep", "sleep", "VERB", "VBP", "_", "0", "root", "_"],
        ["4", ".", ".", "PUNCT", ".", "_", "3", "punct", "_"],
    ]
    assert rows[2][9].startswith("SpaceAfter=No|Confidence=")
    assert rows[0][9].startswith("Confidence=")


def test_an_argument_that_is_no_file_is_parsed_as_text(folder):
    result = run("parse", "The dogs sleep.", "-m", folder / "model")
    assert result.exit_code == 0, result.output
    assert result.stdout == run("parse", "-m", folder / "model", text="The dogs sleep.").stdout
    assert "no file has this name: parsing the argument as text" in result.stderr


def test_words_without_tags_are_tagged_and_tags_can_be_replaced(folder):
    bare = TREEBANK.replace("DET\tDT", "_\t_").replace("Number=Plur", "_")
    assert "\tDET\tDT\t" in run("parse", "-m", folder / "model", text=bare).stdout
    wrong = TREEBANK.replace("VERB\tVBP", "NOUN\tNN")
    assert "NOUN\tNN\t" in run("parse", "-m", folder / "model", text=wrong).stdout
    assert "NOUN\tNN\t" not in run("parse", "-m", folder / "model", "--retag", text=wrong).stdout


def test_a_model_of_gold_tags_reads_no_text(gramian, folder):
    (folder / "text.txt").write_text(TEXT, encoding="utf-8")
    options = ("-o", folder / "gold", "--tags", "gold", "--set", "epochs=1", "--force")
    assert run("train", folder / "train.conllu", *options).exit_code == 0
    message = fails(gramian, "parse", folder / "text.txt", "-m", folder / "gold")
    assert "--tags predicted" in message
    assert "no tagger" in fails(gramian, "parse", "--retag", "-m", folder / "gold")


def test_known_heads_are_obeyed_and_calibration_is_scored(folder):
    known = TREEBANK.replace("2\tdet\t_\t_", "_\t_\t_\tHead=4", 1)
    known = "\n".join(known.split("\n\n")[0].split("\n")) + "\n\n"
    blank = (
        known.replace("\t3\tnsubj", "\t_\t_").replace("\t0\troot", "\t_\t_").replace("\t3\tpunct", "\t_\t_")
    )
    rows = run("parse", "-m", folder / "model", "--constraints", text=blank).stdout.splitlines()
    assert "1\tThe\tthe\tDET\tDT\t_\t4\t" in "\n".join(rows)
    run(
        "parse", folder / "train.conllu", "-m", folder / "model", "-o", folder / "sure.conllu", "--confidence"
    )
    scores = json.loads(run("eval", folder / "train.conllu", folder / "sure.conllu", "--json").stdout)
    assert 0.0 <= scores["ece"] < 20.0
    assert "calibration error" in run("eval", folder / "train.conllu", folder / "sure.conllu").stdout
