"""What a survey counts, on a treebank small enough to count by hand."""

import io

import pytest

from gramian.errors import InputError
from gramian.trees import read_conllu, read_trees
from gramian.trees.survey import survey_dependencies, survey_trees
from gramian.trees.treebank_reading import detect_format

TREES = """\
( (S (NP-SBJ (PRP I)) (VP (VBP see) (NP (NP (DT a) (NN dog)) (PP (IN in) (NP (-NONE- *)))))))
( (S (NP-SBJ (PRP I)) (VP (VBP see) (S (S (A a) (B b)) (C c)))))
( (FRAG (PP (NN Yes))))
()
( (S (X[1] (A a)) (S (A a) (A a)) (PRP (A a) (A a)) (A a)))
( (S (A a) (A a) (A a) (A a) (A a) (A a)))
"""


def test_trees():
    survey = survey_trees(read_trees(io.StringIO(TREES)))
    assert (survey.trees, survey.words, survey.empty_elements, survey.empty_trees) == (6, 23, 1, 1)
    assert survey.roots == {"S": 4, "FRAG": 1, "": 1}
    assert (survey.lengths.longest, survey.lengths.longest_line, survey.lengths.one_word) == (6, 5, 1)
    assert survey.lengths.mean == pytest.approx(23 / 6, rel=1e-12)
    assert (survey.vocabulary, survey.seen_once) == (8, 5)
    assert survey.separators == {"-": 1, "[": 1}
    # S over S once below VP; FRAG over PP; NP-SBJ, PP, NP, X[1] over a tag.
    assert (survey.unary_phrases, survey.same_unaries, survey.unary_tags) == (1, 0, 5)
    assert (survey.widest, survey.highest) == (6, 7)
    assert survey.repeated == 1
    odd = {label.label: (label.why, label.count, label.line) for label in survey.odd_labels}
    assert odd["PRP"] == ("both phrase and tag", 1, 1)
    assert odd["X[1]"] == ("unusual characters", 1, 5)
    assert odd["FRAG"] == ("a phrase seen nowhere else", 1, 3)
    assert "NP" not in odd


def test_dependencies():
    row = "{}\t{}\t_\tX\t{}\t_\t{{}}\tdep\t_\t_\n"
    rows = row.format(1, "a", "Y") + row.format(2, "b", "Z") + row.format(3, "c", "Z") + "\n"
    text = rows.format(3, 0, 2) + rows.format(2, 0, 2) + rows.format(0, 0, 2) + rows.format("_", "_", "_")
    survey = survey_dependencies(read_conllu(io.StringIO(text)))
    assert (survey.sentences, survey.words) == (4, 12)
    assert (survey.non_projective, survey.first_non_projective) == (1, 1)
    assert (survey.several_roots, survey.without_heads) == (1, 1)
    assert survey.upos == {"X": 12}
    assert survey.xpos == {"Z": 8, "Y": 4}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("( (S (A a)))", "brackets"),
        ("\n\n (S\t(A a))", "brackets"),
        ("junk (S (A a))", "brackets"),
        ("# text\n1\ta", "conllu"),
        ("1\t(\t_\t_", "conllu"),
        ("", "brackets"),
    ],
)
def test_formats(text, kind):
    source, found = detect_format(io.BytesIO(text.encode()))
    assert found == kind
    assert source.read().decode() == text


def test_neither_format(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("dear diary\n")
    with pytest.raises(InputError, match="neither bracketed trees nor CoNLL-U"):
        detect_format(path)
