"""Ids, labels, words and names of files may hold anything: they forge no line, and no terminal obeys them."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from xml.dom import minidom

import pytest

from gramian.automata import WFA
from gramian.automata.automaton_picture import to_svg
from gramian.errors import InputError
from gramian.trees import Tree, read_conllu

MODEL = str(Path(__file__).parents[1] / "unit" / "grammar" / "fixtures" / "version-1.grammar")
ID = "x\n1\tforged\t_\t_\t_\t_\t0\troot\t_\t_\n\n# evil = 1\x1b[31m\x85\u2028\r"
ODD = ("\x1b[31m", "\x7f", "\x9b31m", "\u2028", "\u202e")


def gramian(folder, *arguments):
    command = [sys.executable, "-m", "gramian", *map(str, arguments)]
    return subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True, timeout=120)


def on_terminal(folder, *arguments):
    """Run a command whose output is a terminal; return what this gets."""
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "gramian", *map(str, arguments)]
    with subprocess.Popen(command, cwd=folder, stdout=slave, stderr=slave, stdin=subprocess.DEVNULL):
        os.close(slave)
        received = b""
        try:
            while data := os.read(master, 1 << 16):
                received += data
        except OSError:
            pass  # the end, on Linux
    os.close(master)
    return received.decode()


def test_ids_forge_no_lines_of_conllu(tmp_path):
    records = [{"id": ID, "text": "the dog barks ."}, {"id": "second", "text": "a cat barks ."}]
    (tmp_path / "a.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in records))
    gramian(tmp_path, "parse", "a.jsonl", "-m", MODEL, "--to", "conllu", "-o", "out/")
    sentences = list(read_conllu(tmp_path / "out" / "a.jsonl" / "00000.conllu", arcs=False))
    assert [sentence.words for sentence in sentences] == [
        ("the", "dog", "barks", "."),
        ("a", "cat", "barks", "."),
    ]
    names = [comment.partition(" = ")[::2] for sentence in sentences for comment in sentence.comments]
    assert {name for name, _ in names} == {"# newdoc id", "# sent_id", "# text", "# status", "# confidence"}
    assert not any(character in value for _, value in names for character in "\x1b\x85\u2028\r")


def test_ids_end_no_line_of_json(tmp_path):
    (tmp_path / "a.jsonl").write_text(json.dumps({"id": ID, "text": "the dog barks ."}))
    gramian(tmp_path, "parse", "a.jsonl", "-m", MODEL, "-o", "out/")
    text = (tmp_path / "out" / "a.jsonl" / "00000.jsonl").read_text("utf-8")
    [line] = text.splitlines()
    assert json.loads(line)["document"] == ID
    (tmp_path / "b.txt").write_text("the \u2028dog\x85 barks .")
    done = gramian(tmp_path, "parse", "b.txt", "--tokens", "-m", MODEL, "--json")
    assert json.loads(done.stdout)["words"] == ["the", "\u2028dog\x85", "barks", "."]
    assert len(done.stdout.splitlines()) == 1


@pytest.mark.parametrize(
    "arguments",
    [["train", "{}", "-o", "m"], ["inspect", "{}"], ["search", "{}", "NP"], ["parse", "{}", "-m", MODEL]],
)
def test_names_of_files_and_labels_reach_no_terminal_raw(tmp_path, arguments):
    name = "evil\x1b[31m\nforged\x9b2J.txt"
    (tmp_path / name).write_text("(S (\x1b[31mNP a)\n(S (\x1b[2JNP a) (VP b))\n")
    arguments = [part.format(name) for part in arguments]
    assert "\x1b" not in gramian(tmp_path, *arguments).stderr
    shown = on_terminal(tmp_path, *arguments)
    assert "\x1b[31m" not in shown
    assert "\x1b[2J" not in shown
    assert "\x9b" not in shown


def test_ids_in_messages_are_one_line(tmp_path):
    (tmp_path / "a.jsonl").write_text(json.dumps({"id": "x\x1b[31m\nforged", "text": ["two words", "b"]}))
    done = gramian(tmp_path, "parse", "a.jsonl", "-m", MODEL, "-o", "out/")
    assert "skipped x\\x1b[31m\\nforged:1: " in done.stderr


def test_errors_show_no_control_characters():
    error = InputError("'\x1b' is odd", "a\x1bb\n", 3, 2, excerpt="(\x1b[31m a)", hint="remove it")
    assert str(error) == "a\\x1bb\\n:3: '\\x1b' is odd\n( [31m a)\n ^\ntry: remove it".replace(":3:", ":3:2:")


@pytest.mark.parametrize("odd", [*ODD, "<", "&", '"'])
def test_drawings_are_xml(odd):
    minidom.parseString(Tree("S", [Tree(f"N{odd}", word=f"a{odd}")]).svg())
    wfa = WFA([1.0], [0.5], [[[0.5]]], (f"a{odd}",))
    minidom.parseString(to_svg(wfa))
