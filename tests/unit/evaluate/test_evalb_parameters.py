from pathlib import Path

import pytest

from gramian.errors import InputError
from gramian.evaluate import COLLINS, SPMRL, Parameters

COLLINS_FILE = """\
## a comment
DEBUG 0
MAX_ERROR 25
CUTOFF_LEN 40
LABELED 1

DELETE_LABEL TOP
DELETE_LABEL -NONE-
DELETE_LABEL ,
DELETE_LABEL :
DELETE_LABEL ``
DELETE_LABEL ''
DELETE_LABEL .
DELETE_LABEL_FOR_LENGTH -NONE-
EQ_LABEL ADVP PRT
# EQ_WORD  Example example
"""


def read(folder: Path, text: str) -> Parameters:
    path = folder / "some.prm"
    path.write_text(text, encoding="utf-8")
    return Parameters.from_file(path)


def test_a_file_that_repeats_collins_is_collins(tmp_path: Path) -> None:
    parameters = read(tmp_path, COLLINS_FILE)
    assert parameters == COLLINS
    assert parameters.name == "collins"
    assert parameters.max_errors == 25


def test_another_file_is_named_after_itself_and_its_content(tmp_path: Path) -> None:
    first = read(tmp_path, COLLINS_FILE + "DELETE_LABEL ?\n")
    second = read(tmp_path, COLLINS_FILE + "DELETE_LABEL !\n")
    assert first.name.startswith("some#")
    assert first.name != second.name
    assert first.signature != second.signature
    assert read(tmp_path, "DELETE_LABEL ?\n" + COLLINS_FILE).name == first.name


def test_every_keyword_is_read(tmp_path: Path) -> None:
    parameters = read(tmp_path, "LABELED 0\nCUTOFF_LEN 70\nQUOTE_LABEL POS\nEQ_WORD colour color\n")
    assert not parameters.labelled
    assert parameters.cutoff == 70
    assert parameters.quotes == {"POS"}
    assert parameters.words_equal("color", "colour")
    assert not parameters.words_equal("color", "colours")
    assert parameters.deleted == frozenset()


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("DELETE_LABELS TOP", "unknown keyword 'DELETE_LABELS'"),
        ("EQ_LABEL ADVP", "EQ_LABEL needs two values, got 1"),
        ("DELETE_LABEL", "DELETE_LABEL needs one value, got 0"),
        ("CUTOFF_LEN forty", "CUTOFF_LEN needs a whole number, got 'forty'"),
    ],
)
def test_a_faulty_line_is_named(tmp_path: Path, line: str, fault: str) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, f"LABELED 1\n{line}\n")
    assert str(caught.value).startswith(f"{tmp_path / 'some.prm'}:2: {fault}\n{line}\n")


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.prm: cannot be opened"):
        Parameters.from_file(tmp_path / "none.prm")
    (tmp_path / "binary.prm").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="this is UTF-16, not UTF-8"):
        Parameters.from_file(tmp_path / "binary.prm")


@pytest.mark.parametrize(
    ("label", "bare"),
    [("NP", "NP"), ("NP-SBJ-1", "NP"), ("NP=2", "NP"), ("SBAR=1-2", "SBAR"), ("-LRB-", ""), ("TOP", None)],
)
def test_labels_are_cut_as_evalb_cuts_them(label: str, bare: str | None) -> None:
    assert COLLINS.bracket_label(label) == bare


def test_a_label_equal_to_a_deleted_one_is_deleted() -> None:
    parameters = Parameters(deleted=frozenset({"PRT"}), equal_labels=frozenset({("ADVP", "PRT")}))
    assert parameters.bracket_label("ADVP-LOC") is None


def test_signatures_say_what_happens_to_labels_and_punctuation() -> None:
    assert COLLINS.signature == "prm:collins|labels:cut,ADVP=PRT|punct:deleted"
    assert SPMRL.signature == "prm:spmrl|labels:cut|punct:kept"
