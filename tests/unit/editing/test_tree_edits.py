"""Every operation of edit scripts, by hand; what scripts may not do; and the command."""

import pytest

from gramian import edit_trees
from gramian.editing.edit_script import parse_script
from gramian.editing.tree_edits import EditCount
from gramian.errors import InputError
from gramian.trees import Tree

TREE = "(S (NP (DT the) (NN dog)) (VP (VBD saw) (NP (PRP me))) (. .))"


@pytest.mark.parametrize(
    ("pattern", "operations", "after"),
    [
        ("NP=n < PRP", "relabel n PRO", "(S (NP (DT the) (NN dog)) (VP (VBD saw) (PRO (PRP me))) (. .))"),
        ("/^VB/=n", "relabel n /^VB(.*)$/V-$1/", "(S (NP (DT the) (NN dog)) (VP (V-D saw) (NP (PRP me))) (. .))"),
        ("/^(.)P$/#1%x=n > S=s", "relabel n ={s}%{x}", "(S (SN (DT the) (NN dog)) (SV (VBD saw) (NP (PRP me))) (. .))"),
        ("NP=n < PRP", "relabel n /PRO/", "(S (NP (DT the) (NN dog)) (VP (VBD saw) (PRO (PRP me))) (. .))"),
        ("NP=n < PRP", r"relabel n /(N)P/a\/$1/", "(S (NP (DT the) (NN dog)) (VP (VBD saw) (a/N (PRP me))) (. .))"),
        ("NP=n < PRP=p", "excise n n", "(S (NP (DT the) (NN dog)) (VP (VBD saw) (PRP me)) (. .))"),
        ("VP=v < (NP=n < PRP)", "excise v n", "(S (NP (DT the) (NN dog)) (PRP me) (. .))"),
        ("DT=d", "delete d", "(S (NP (NN dog)) (VP (VBD saw) (NP (PRP me))) (. .))"),
        ("PRP=p", "prune p", "(S (NP (DT the) (NN dog)) (VP (VBD saw)) (. .))"),
        ("S=s", "delete s", "()"),
        ("NN=n !$- JJ", "insert (JJ old) $+ n", "(S (NP (DT the) (JJ old) (NN dog)) (VP (VBD saw) (NP (PRP me))) (. .))"),
        ("VP=v !< ADVP", "insert (ADVP (RB=r now)) >-1 v\nrelabel r RBX",
         "(S (NP (DT the) (NN dog)) (VP (VBD saw) (NP (PRP me)) (ADVP (RBX now))) (. .))"),
        ("NP=n >2 VP", "insert (X x) >1 n\nmove n $- n", None),
        ("NP=n >2 VP=v", "move n $- v", "(S (NP (DT the) (NN dog)) (VP (VBD saw)) (NP (PRP me)) (. .))"),
        ("DT=d $+ NN", "move d >2 n", None),
        ("NP=n < PRP $ VBD=v", "replace v n", "(S (NP (DT the) (NN dog)) (VP (NP (PRP me)) (NP (PRP me))) (. .))"),
        ("PRP=p !< us", "replace p (PRP us)", "(S (NP (DT the) (NN dog)) (VP (VBD saw) (NP (PRP us))) (. .))"),
        ("NP=n < PRP !> NP", "adjoin (NP (X x) NP@) n", "(S (NP (DT the) (NN dog)) (VP (VBD saw) (NP (X x) (NP (PRP me)))) (. .))"),
        ("VP=n !< X", "adjoinH (Q (X x) R@) n", "(S (NP (DT the) (NN dog)) (VP (X x) (R (VBD saw) (NP (PRP me)))) (. .))"),
        ("VP=n !> Q", "adjoinF (Q (X x) R@) n", "(S (NP (DT the) (NN dog)) (Q (X x) (VP (VBD saw) (NP (PRP me)))) (. .))"),
        ("NP=a > S $+ VP=b", "createSubtree CL a b", "(S (CL (NP (DT the) (NN dog)) (VP (VBD saw) (NP (PRP me)))) (. .))"),
        ("PRP=a !>> X", "createSubtree (X (Y=y Z@)) a\nif exists y relabel y W",
         "(S (NP (DT the) (NN dog)) (VP (VBD saw) (NP (X (W (Z (PRP me)))))) (. .))"),
        ("NP=a .. /^NP$/=b", "[coindex a b]", "(S (NP-1 (DT the) (NN dog)) (VP (VBD saw) (NP-1 (PRP me))) (. .))"),
        ("NP=a ?< PRP=p", "if exists p relabel a PRO", "(S (NP (DT the) (NN dog)) (VP (VBD saw) (PRO (PRP me))) (. .))"),
        ("NP=a ?< PRP=p", "[if not exists p relabel a X]", "(S (X (DT the) (NN dog)) (VP (VBD saw) (NP (PRP me))) (. .))"),
    ],
)  # fmt: skip
def test_operations(pattern, operations, after):
    script = f"% a comment\n\n{pattern}\n\n{operations}\n"
    if after is None:
        with pytest.raises(InputError):
            list(edit_trees([Tree.parse(TREE)], script, change_words=True))
        return
    counts: list[EditCount] = []
    [edited] = edit_trees([Tree.parse(TREE)], script, change_words=True, counts=counts)
    assert str(edited) == after
    assert counts[0].trees == 1


@pytest.mark.parametrize(
    ("script", "what"),
    [
        ("DT=d\n\ndelete d", "deletes or changes the word 'the'"),
        ("the=d\n\nrelabel d a", "deletes or changes the word 'the'"),
        ("NP=n\n\ninsert (X x) >1 n", "still applies after [0-9]+ edits"),
        ("S=n !> __\n\ninsert n >1 n", "copies add more than 20,000 nodes"),
        ("NP=n < PRP=p\n\nmove p $+ n", "NP is left without children"),
        ("NN=n\n\ninsert (X x) >1 n", "gets another child beside its word"),
        ("NP=n ?< JJ=j\n\nrelabel j X", "no node named j"),
        ("NP=n\n\nmove n >1 n", "below or beside itself"),
        ("DT=n\n\ninsert (X x) >4 n", "no position for child 4"),
        ("S=n\n\ninsert (X x) $+ n", "is the root"),
        ("S=n\n\nexcise n n", "several children"),
    ],
)
def test_edits_that_are_refused(script, what):
    with pytest.raises(InputError, match=what) as caught:
        list(edit_trees([Tree.parse(TREE)], script))
    assert caught.value.hint or caught.value.what.startswith("rule at line 1")


def test_empty_elements_are_no_words():
    tree = Tree.parse("(S (NP (-NONE- *)) (VP (VB go)))")
    assert str(next(edit_trees([tree], "-NONE-=e\n\nprune e"))) == "(S (VP (VB go)))"


@pytest.mark.parametrize(
    ("script", "line", "what"),
    [
        ("", None, "no rules"),
        ("NP=n\n", 1, "without operations"),
        ("%\nNP <\n\ndelete x", 2, "a node is missing"),
        ("NP=n\n\ndelete m", 3, "no node is named 'm'"),
        ("NP=n\n\nvanish n", 3, "unknown operation 'vanish'"),
        ("NP=n\n\nrelabel n", 3, "a label is missing"),
        ("NP=n\n\nrelabel n /(/x/", 3, "invalid regular expression"),
        ("NP=n\n\ninsert X < n", 3, "is not a position"),
        ("NP=n\n\ndelete n\nadjoin (X Y) n", 4, "needs one foot"),
        ("NP=n\n\nadjoin (X@) n", 3, "below the root"),
        ("NP=n\n\n[delete n", 3, "']' is missing"),
        ("NP=n\n\ninsert " + "(X " * 3000 + " $+ n", 3, "deeper than 100"),
        ("NP=n\n\nexcise n n n", 3, "unexpected text"),
        ("NP=n\n\nif n delete n", 3, "'exists' is missing"),
        ("NP=n\n\nif not n delete n", 3, "'exists' is missing"),
        ("NP=n\n\ncreateSubtree X n n n", 3, "takes one node"),
    ],
)
def test_scripts_that_cannot_be_read(script, line, what):
    with pytest.raises(InputError, match=what) as caught:
        parse_script(script, "x.edit")
    assert (caught.value.source, caught.value.line) == ("x.edit", line)


@pytest.fixture
def command(gramian, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.mrg").write_text(f"{TREE}\n(NP (PRP you))\n")

    def call(script, *arguments):
        (tmp_path / "x.edit").write_text(script)
        return gramian("edit", "x.mrg", "x.edit", *arguments)

    return call


RULES = "NP=n < PRP\n\nrelabel n PRO\n\nS=s <# VP\n\nrelabel s SENT\n"


def test_the_command(command, tmp_path):
    code, out, err = command(RULES)
    assert (code, out.splitlines()[1]) == (0, "(PRO (PRP you))")
    assert err == "2 edits in 2 trees: NP=n < PRP\n1 edit in 1 tree: S=s <# VP\n2 trees written\n"
    code, out, _ = command(RULES, "--dry-run", "-o", "y.mrg")
    assert "-(NP (PRP you))\n+(PRO (PRP you))" in out
    assert not (tmp_path / "y.mrg").exists()


def test_a_rule_that_deletes_words_writes_nothing(command, tmp_path):
    code, _, err = command("you=y\n\nprune y", "-o", "y.mrg")
    assert code == 2
    assert err.startswith(
        "gramian: x.mrg:2: rule at line 1 deletes or changes the word 'you'\ntry: pass --change-words"
    )
    assert not (tmp_path / "y.mrg").exists()
    assert command("you=y\n\nprune y", "-o", "y.mrg", "--change-words")[0] == 0
    assert (tmp_path / "y.mrg").read_text() == f"{TREE}\n()\n"
