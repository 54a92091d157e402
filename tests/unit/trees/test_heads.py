"""Head rules and the dependency trees that follow, on cases from the rules' own definition."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tree_strategies import trees

from gramian.errors import InputError
from gramian.trees import SCHEMES, HeadRules, Tree, head_positions, to_dependencies

COLLINS = HeadRules.collins()


@pytest.mark.parametrize(
    ("table", "tree", "heads"),
    [
        ("french", "(SENT (NP-SUJ (DET Le) (NC roi)) (VN (V a) (VPP vu)) (PP-MOD (P la) (NP (NC nuit))) (PONCT !))", [2, 4, 4, 0, 6, 4, 4]),
        ("french", "(SENT (NP-SUJ (NC chat)) (VN (V est)) (AP-ATS (ADJ noir)))", [3, 3, 0]),
        ("french", "(NP (NC chat) (COORD (CC et) (NP (NC chien))))", [0, 3, 1]),
        ("spanish", "(S (sn (espec (da0ms0 el)) (grup.nom (ncms000 oso))) (grup.verb (vaip3s0 ha) (vmp00sm ido)) (Fp .))", [2, 4, 4, 0, 4]),
        ("portuguese", "(fcl (np (art o) (n rei)) (vp (v_fin foi) (v_pcp visto)) (pp (prp em) (np (n casa))))", [2, 4, 4, 0, 6, 4]),
        ("icelandic", "(IP (NP (NPR-N Kalman)) (BEDI var) (VAN kallaður) (PP (P af) (NP (PRO-D þeim))))", [3, 3, 0, 5, 3]),
        ("japanese", "(IP (PP (NP (N 猫)) (P が)) (VB 鳴い) (AXD た) (PU 。))", [3, 1, 0, 3, 3]),
        ("indonesian", "(S (NP (NNO kucing) (ADJ besar)) (VP (VBT makan) (NP (NNO ikan))) (PUN .))", [3, 1, 0, 3, 3]),
    ],
)  # fmt: skip
def test_content_words_are_heads_outside_english(table, tree, heads):
    rules = HeadRules.named(table)
    found = to_dependencies(Tree.parse(tree), rules)
    assert list(found.heads) == heads
    assert rules.fit([Tree.parse(tree)]) == 1.0


def test_rules_are_found_by_scheme_and_by_fit():
    french, indonesian = Tree.parse("(NP (DET le) (NC chat))"), Tree.parse("(NP (NNO kucing) (ADJ besar))")
    assert HeadRules.select("auto", SCHEMES["ftb"]) == HeadRules.named("french")
    assert HeadRules.select("auto", SCHEMES["penn"], trees=[Tree.parse("(NP (DT the) (NN cat))")]) == COLLINS
    assert HeadRules.select("auto", SCHEMES["penn"], trees=[indonesian]) == HeadRules.named("indonesian")
    assert COLLINS.fit([french]) == 0.0
    assert COLLINS.fit([]) == 1.0
    assert "-" in SCHEMES["ftb"].options.phrase_cut
    assert HeadRules.named("french").keep_functions(SCHEMES["ftb"].options).phrase_cut == "="
    assert COLLINS.keep_functions(SCHEMES["penn"].options) == SCHEMES["penn"].options


@pytest.mark.parametrize(
    ("tree", "head"),
    [
        ("(S (NP (NN a)) (VP (VB b)) (. .))", 1),
        ("(S (NP-SBJ-1 (NN a)) (VP-TPC (VB b)))", 1),
        ("(VP (MD will) (VP (VB go)))", 0),
        ("(VP (TO to) (VP (VB go)))", 0),
        ("(PP (IN in) (NP (NN a)))", 0),
        ("(NP (DT the) (NN dog) (NN house))", 2),
        ("(NP (NP (DT the) (NN dog)) (PP (IN of) (NP (NN war))))", 0),
        ("(NP (NP (NN dog)) (POS 's))", 1),
        ("(NP (NNP Ann) (POS 's))", 1),
        ("(NP (DT the) (JJ rich))", 1),
        ("(NP ($ $) (CD 5))", 0),
        ("(NP (NN dogs) (CC and) (NNS cats))", 0),
        ("(NP (JJ old) (NN dog) (CC and) (NN cat))", 1),
        ("(S (S (NN a)) (CC and) (S (NN b)))", 0),
        ("(VP (VBD ran) (CC and) (VBD hid))", 0),
        ("(SBAR (WHNP (WP who)) (S (VP (VBD ran))))", 0),
        ("(NML (NN bone) (HYPH -) (NN marrow))", 2),
        ("(UCP (ADJP (JJ a)) (CC and) (NP (NN b)))", 0),
        ("(FRAG (NP (NN a)) (. .))", 0),
        ("(UNHEARD (A a) (B b) (, ,))", 1),
        ("(X (, ,) (. .))", 1),
    ],
)
def test_collins(tree, head):
    assert COLLINS(Tree.parse(tree)) == head


def test_searches_of_a_table():
    rules = HeadRules.from_text(
        """
        # comment
        A left  x y
        B right x y
        C left-any  x y
        D right-any x y
        E last x
        E left y
        * default left
        * never n
        * coordination c
        """
    )

    def head(text: str) -> int:
        label, *children = text.split()
        return rules(Tree(label, [Tree(child, word="w") for child in children]))

    assert head("A y x x") == 1
    assert head("B x x y") == 1
    assert head("C z y x") == 1
    assert head("D x y z") == 1
    assert head("E y x") == 1
    assert head("E x y z") == 1
    assert head("A z z") == 0
    assert head("B z z") == 1
    assert head("OTHER z z") == 0
    assert head("OTHER n z") == 1
    assert head("OTHER n n") == 0
    assert head("B y c x") == 0


@pytest.mark.parametrize(("name", "head"), [("left", 0), ("right", 2)])
def test_sides(name, head):
    assert HeadRules.named(name)(Tree.parse("(X (A a) (B b) (C c))")) == head


def test_a_table_is_read_from_a_file(tmp_path):
    path = tmp_path / "rules.heads"
    path.write_text("X left B\n")
    assert HeadRules.named(str(path))(Tree.parse("(X (A a) (B b) (C c))")) == 1


@pytest.mark.parametrize("line", ["NP", "NP up NN", "* left NN"])
def test_a_wrong_line_is_named(line):
    with pytest.raises(InputError, match="needs one of") as caught:
        HeadRules.from_text(f"# fine\n{line}\n", "rules")
    assert caught.value.line == 2


def test_dependencies():
    tree = Tree.parse(
        "(S (NP-SBJ (DT the) (NN dog)) (VP (VBZ sees) (NP (PRP me)) (PP (IN in) (NP (NN bed)))) (. .))"
    )
    sentence = to_dependencies(tree, COLLINS)
    assert [(token.form, token.xpos, token.head, token.deprel) for token in sentence.tokens] == [
        ("the", "DT", 2, "DT"),
        ("dog", "NN", 3, "NP-SBJ"),
        ("sees", "VBZ", 0, "root"),
        ("me", "PRP", 3, "NP"),
        ("in", "IN", 3, "PP"),
        ("bed", "NN", 5, "NP"),
        (".", ".", 3, "."),
    ]


@given(
    trees.filter(lambda tree: tree.words and not any(node.is_empty for node in tree.subtrees())),
    st.booleans(),
)
def test_dependencies_are_projective_trees(tree, left):
    rules = HeadRules.named("left" if left else "right")
    sentence = to_dependencies(tree, rules)
    assert sentence.words == tree.words
    assert sentence.heads.count(0) == 1
    assert sentence.is_projective
    positions = head_positions(tree, rules)
    for position, (_, start, end) in zip(positions, tree.spans(), strict=True):
        assert position == (start if left else end - 1)


def test_depth_has_no_limit():
    tree = Tree.parse("(X (A a) " * 10_000 + "(B b)" + ")" * 10_000)
    assert to_dependencies(tree, HeadRules.named("left")).heads == tuple(range(10_001))


def test_an_empty_tree_has_no_head():
    with pytest.raises(InputError, match="no head word"):
        to_dependencies(Tree(""), COLLINS)
