"""Which preset a treebank calls for, by labels of each scheme."""

from __future__ import annotations

import pytest

from gramian.trees import PRESETS, Tree
from gramian.trees.scheme import detect_preset

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
    assert detect_preset([tree]) == scheme
    assert scheme in PRESETS
    # One tree that looks like another scheme's does not decide.
    other = Tree.parse(TREES["cess" if scheme != "cess" else "ftb"])
    assert detect_preset([tree] * 9 + [other]) == scheme


def test_nothing_known_is_penn():
    assert detect_preset([]) == "penn"
    assert detect_preset([Tree.parse("(X (Y (A a) (B b)) (A a))")]) == "penn"


def test_only_the_beginning_is_read():
    def trees():
        for _ in range(400):
            yield Tree.parse(TREES["ftb"])
        raise AssertionError("the end of the file is not needed")

    assert detect_preset(trees()) == "ftb"
