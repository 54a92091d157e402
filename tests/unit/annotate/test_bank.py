"""Banks on disk: nothing is lost, nothing is overwritten unseen, and broken files are named."""

import json
import os
import signal
import subprocess
import sys

import pytest

from gramian.annotate.annotation import Annotation
from gramian.annotate.bank import AnnotationBank, RevisionConflict
from gramian.annotate.proposals import LabelSet
from gramian.chart.constraints import Span
from gramian.errors import InputError, OptionError
from gramian.trees import Tree

WORDS = ("Anna", "(", "slept", ")")
TREE = Tree("S", [Tree("NP", [Tree("NNP", word="Anna")]), *(Tree("X", word=word) for word in WORDS[1:])])
STATE = Annotation(
    TREE, (Span(0, 1, "NP"),), (Span(0, 2, "VP"),), ((1, "X"),), done=True, comment="zwei\nZeilen"
)


@pytest.fixture
def folder(tmp_path):
    with AnnotationBank(tmp_path / "bank", LabelSet(("S", "NP"), ("X", "NNP"))) as bank:
        assert bank.add([WORDS, ("-LRB-",), WORDS]) == ["00001", "00002"]
        bank.save("anna", "00001", Annotation(TREE), revision=0)
        bank.save("anna", "00001", STATE, revision=1, before=Annotation(TREE))
    return tmp_path / "bank"


def test_what_was_saved_is_read_back(folder):
    with AnnotationBank(folder) as bank:
        stored = bank.find("anna", "00001")
        assert stored.annotation == STATE
        assert stored.revision == 2
        assert [state.tree for state in stored.history] == [TREE]
        assert bank.labels == LabelSet(("S", "NP"), ("X", "NNP"))
        assert bank.sentences == {"00001": WORDS, "00002": ("(",)}
        assert bank.add([("new",)]) == ["00003"]
        assert bank.trees() == {"00001": TREE}
        undone = bank.undo("anna", "00001", revision=2)
        assert undone.annotation == Annotation(TREE, comment=STATE.comment)
        with pytest.raises(OptionError, match="nothing to undo"):
            bank.undo("anna", "00001", revision=3)


def test_a_change_from_an_old_revision_is_refused(folder):
    with AnnotationBank(folder) as bank:
        for revision in (0, 1, 3):
            with pytest.raises(RevisionConflict, match="changed elsewhere"):
                bank.save("anna", "00001", Annotation(TREE), revision=revision)
            with pytest.raises(RevisionConflict):
                bank.undo("anna", "00001", revision=revision)
        assert bank.find("anna", "00001").annotation == STATE
        bank.save("ben", "00001", Annotation(TREE), revision=0)  # each annotator has files of their own
        assert bank.annotators == ["anna", "ben"]


def test_one_process_at_a_time(folder):
    code = "import sys; from gramian.annotate.bank import AnnotationBank; AnnotationBank(sys.argv[1])"
    with AnnotationBank(folder):
        done = subprocess.run([sys.executable, "-c", code, folder], capture_output=True, text=True)
        assert "another process" in done.stderr
    assert subprocess.run([sys.executable, "-c", code, folder]).returncode == 0


def test_a_killed_process_loses_nothing(folder):
    code = (
        "import sys; from gramian.annotate.bank import AnnotationBank\n"
        "bank = AnnotationBank(sys.argv[1]); state = bank.find('anna', '00001')\n"
        "while True:\n"
        "    state = bank.save('anna', '00001', state.annotation, revision=state.revision)\n"
        "    print(state.revision, flush=True)"
    )
    process = subprocess.Popen([sys.executable, "-c", code, folder], stdout=subprocess.PIPE, text=True)
    for _ in range(50):
        last = int(process.stdout.readline())
    process.send_signal(signal.SIGKILL)
    rest = process.stdout.read().split()
    process.wait()
    with AnnotationBank(folder) as bank:
        stored = bank.find("anna", "00001")
    assert stored.revision >= max([last, *map(int, rest[:-1])])
    assert stored.annotation == STATE


@pytest.mark.parametrize(
    ("file", "change", "message"),
    [
        ("bank.json", {"format": 2}, "format 2"),
        ("bank.json", {"tags": []}, "field 'tags'"),
        ("bank.json", {"phrases": "S"}, "field 'phrases'"),
        ("anna/00001.json", {"tree": "(S (NN x))"}, "over the words"),
        ("anna/00001.json", {"tree": 3}, "field 'tree'"),
        ("anna/00001.json", {"required": ["NP 0-9"]}, "'NP 0-9' is not a phrase"),
        ("anna/00001.json", {"forbidden": ["NP 1-1"]}, "'NP 1-1' is not a phrase"),
        ("anna/00001.json", {"tags": {"7": "X"}}, "no word 7"),
        ("anna/00001.json", {"tags": {"-1": "X"}}, "field 'tags"),
        ("anna/00001.json", {"required": ["NP 0 - 1"]}, r"field 'required\[0\]'"),
        ("anna/00001.json", {"revision": True}, "field 'revision'"),
        ("anna/00001.json", {"history": [[]]}, r"field 'history\[0\]'"),
        ("anna/00001.json", {"done": 1}, "field 'done'"),
    ],
)
def test_broken_files_are_named(folder, file, change, message):
    path = folder / file
    path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), **change}), "utf-8")
    with pytest.raises(InputError, match=message) as caught:
        AnnotationBank(folder)
    assert os.path.basename(file) in str(caught.value)
    path.write_bytes(b"{")
    with pytest.raises(InputError, match="not JSON"):
        AnnotationBank(folder)


def test_other_folders_are_left_alone(tmp_path, folder):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").write_text("mine")
    with pytest.raises(OptionError, match="neither empty nor an annotation bank"):
        AnnotationBank(tmp_path / "other")
    with AnnotationBank(folder) as bank:
        for name in ("../x", "", ".git", "a/b", "NUL", "x" * 40):
            with pytest.raises(OptionError, match="name of an annotator"):
                bank.save(name, "00001", Annotation(TREE), revision=0)
        with pytest.raises(OptionError, match="no sentence"):
            bank.save("anna", "../../x", Annotation(TREE), revision=0)
        with pytest.raises(OptionError, match="other words"):
            bank.save("anna", "00002", Annotation(TREE), revision=0)
