"""Which preset a treebank calls for, by labels of each scheme."""

import pytest

from gramian.trees import SCHEMES, AnnotationScheme, HeadRules, NormaliseOptions, Tree, normalise
from gramian.trees.glossary import entries
from gramian.trees.scheme import (
    DEFAULT_SCHEME,
    SchemeLanguage,
    detect_language,
    detect_scheme,
    find_scheme,
)

TREES = {
    "penn": "( (S (NP-SBJ-1 (DT the) (NN dog)) (VP (VBZ barks) (PP-LOC (IN in) (NP (NNP Rome))))))",
    "icepahc": "( (IP-MAT (NP-SBJ (PRO-N hann)) (VBDI sá) (NP-OB1 (N-A hund)) (. .)))",
    "keyaki": "( (IP-MAT (PP-SBJ (NP (N 犬)) (P が)) (VB 走り) (AXD た) (PU 。)))",
    "ftb": "( (SENT (NP-SUJ (DET le) (NC chien)) (VN (V dort)) (PONCT .)))",
    "cess": "( (S (sn-SUJ (espec.ms (da0ms0 el)) (grup.nom.ms (ncms000 perro))) (grup.verb (vmip3s0 duerme)) (Fp .)))",
    "floresta": "( (fcl-STA (np-SUBJ (art->N o) (n-H gato)) (v_fin-P dorme) (PU .)))",
}


@pytest.mark.parametrize("scheme", TREES)
def test_each_scheme_is_told(scheme):
    tree = Tree.parse(TREES[scheme])
    assert detect_scheme([tree]).name == scheme
    assert scheme in SCHEMES
    # One tree that looks like another scheme's does not decide.
    other = Tree.parse(TREES["cess" if scheme != "cess" else "ftb"])
    assert detect_scheme([tree] * 9 + [other]).name == scheme


def test_nothing_known_is_penn():
    assert detect_scheme([]).name == "penn"
    assert detect_scheme([Tree.parse("(X (Y (A a) (B b)) (A a))")]).name == "penn"


def test_only_the_beginning_is_read():
    def trees():
        for _ in range(400):
            yield Tree.parse(TREES["ftb"])
        raise AssertionError("the end of the file is not needed")

    assert detect_scheme(trees()).name == "ftb"


def test_language_by_scheme_and_by_words():
    assert detect_language([["il", "dort"]], SCHEMES["ftb"]) == "fr"
    indonesian = ["orang", "yang", "datang", "di", "kota"]
    assert detect_language([indonesian], SCHEMES["penn"]) == "id"
    assert detect_language([["a", "b"]], SCHEMES["penn"]) is None


@pytest.mark.parametrize("name", SCHEMES)
def test_every_record_has_its_data_files(name):
    """A record names a table of head rules and sections of the glossary that exist; all labels of a section belong to a record."""
    scheme = SCHEMES[name]
    sections = {entry.scheme for entry in entries()}
    assert scheme.name == name
    assert name in sections or not scheme.languages
    for language in scheme.languages:
        assert HeadRules.named(language.head_rules).searches
        assert not language.glossary or (language.glossary in sections and language.treebank)
    assert scheme.phrase_pattern or scheme is DEFAULT_SCHEME or not scheme.languages


def test_a_new_scheme_is_one_record(monkeypatch):
    """Detection, head rules, language and normal form of a scheme follow from its record alone."""
    record = AnnotationScheme(
        name="toy",
        treebanks="Toy",
        options=NormaliseOptions(phrase_cut="~"),
        languages=(SchemeLanguage("xx", "left"),),
        phrase_pattern=r"TOY\b",
    )
    monkeypatch.setattr("gramian.trees.scheme.SCHEMES", {**SCHEMES, "toy": record})
    tree = Tree.parse("(TOY~SBJ (A a) (B b))")
    scheme, trees = find_scheme([tree] * 5)
    assert scheme is record
    assert len(list(trees)) == 5
    assert str(normalise(tree, scheme.options).tree) == "(TOY (A a) (B b))"
    assert HeadRules.select("auto", scheme)(tree) == 0
    assert detect_language([tree.words], scheme) == "xx"
