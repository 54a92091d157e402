"""Universal Dependencies of Penn-style trees, compared with annotations made by hand after the English guidelines."""

import pytest

from gramian.parsing.result import ParseResult
from gramian.trees import HeadRules, Tree, to_dependencies
from gramian.trees.universal import to_universal

# A tree, and for each word its UPOS, head and relation.
ANNOTATED = {
    "(S (NP (PRP She)) (VP (VBD gave) (NP (DT the) (NN dog)) (NP (DT a) (NN bone)) (NP (NN yesterday))) (. .))": (
        "PRON 2 nsubj, VERB 0 root, DET 4 det, NOUN 2 iobj, DET 6 det, NOUN 2 obj, NOUN 2 obl:unmarked, PUNCT 2 punct"
    ),
    "(S (NP (DT The) (NN house)) (VP (VBD was) (VP (VBN sold) (PP (IN by) (NP (PRP$ her) (NN aunt))))) (. .))": (
        "DET 2 det, NOUN 4 nsubj:pass, AUX 4 aux:pass, VERB 0 root, ADP 7 case, PRON 7 nmod:poss, NOUN 4 obl:agent, PUNCT 4 punct"
    ),
    "(S (NP (EX There)) (VP (VBZ is) (NP (DT a) (NN cat)) (PP (IN in) (NP (DT the) (NN box)))) (. .))": (
        "PRON 2 expl, VERB 0 root, DET 4 det, NOUN 2 nsubj, ADP 7 case, DET 7 det, NOUN 2 obl, PUNCT 2 punct"
    ),
    "(SBARQ (WHNP (WP What)) (SQ (VBZ is) (NP (PRP$ your) (NN name))) (. ?))": (
        "PRON 0 root, AUX 1 cop, PRON 4 nmod:poss, NOUN 1 nsubj, PUNCT 1 punct"
    ),
    "(S (NP (NNP Tom) (CC and) (NNP Ann)) (VP (VP (VBD sang)) (, ,) (VP (VBD danced)) (CC and) (VP (VBD left))) (. .))": (
        "PROPN 4 nsubj, CCONJ 3 cc, PROPN 1 conj, VERB 0 root, PUNCT 6 punct, VERB 4 conj, CCONJ 8 cc, VERB 4 conj, PUNCT 4 punct"
    ),
    "(S (NP (PRP I)) (VP (VBP want) (S (NP (PRP him)) (VP (TO to) (VP (VB sleep))))) (. .))": (
        "PRON 2 nsubj, VERB 0 root, PRON 2 obj, PART 5 mark, VERB 2 xcomp, PUNCT 2 punct"
    ),
    "(S (NP (PRP He)) (VP (VBZ says) (SBAR (IN that) (S (NP (PRP it)) (VP (MD may) (RB not) (VP (VB rain)))))) (. .))": (
        "PRON 2 nsubj, VERB 0 root, SCONJ 7 mark, PRON 7 nsubj, AUX 7 aux, PART 7 advmod, VERB 2 ccomp, PUNCT 2 punct"
    ),
    "(NP (NP (DT the) (NN man)) (SBAR (WHNP (WP who)) (S (VP (VBZ knows) (NP (NP (NNP Ann) (POS 's)) (NN boss))))))": (
        "DET 2 det, NOUN 0 root, PRON 4 nsubj, VERB 2 acl:relcl, PROPN 7 nmod:poss, PART 5 case, NOUN 4 obj"
    ),
    "(S (SBAR (IN Because) (S (NP (PRP it)) (VP (VBD rained)))) (, ,) (NP (PRP we)) (VP (VBD gave) (PRT (RP up))) (. .))": (
        "SCONJ 3 mark, PRON 3 nsubj, VERB 6 advcl, PUNCT 3 punct, PRON 6 nsubj, VERB 0 root, ADP 6 compound:prt, PUNCT 6 punct"
    ),
    "(S (NP (QP (RB About) (CD ten)) (JJ old) (NN stone) (NNS walls)) (VP (VBP are) (ADJP (JJ wet))) (. .))": (
        "ADV 2 advmod, NUM 5 nummod, ADJ 5 amod, NOUN 5 compound, NOUN 7 nsubj, AUX 7 cop, ADJ 0 root, PUNCT 7 punct"
    ),
    "(SQ (VBD Did) (NP (PRP you)) (VP (VB see) (NP (NP (DT the) (NN door)) (PP (IN of) (NP (DT the) (NN car))))) (. ?))": (
        "AUX 3 aux, PRON 3 nsubj, VERB 0 root, DET 5 det, NOUN 3 obj, ADP 8 case, DET 8 det, NOUN 5 nmod, PUNCT 3 punct"
    ),
    "(S (NP (NNP Dr.) (NNP Ann) (NNP Lee)) (VP (VBD came) (PP (IN at) (NP (CD 8) (NN pm)))) (. .))": (
        "PROPN 2 nmod:desc, PROPN 4 nsubj, PROPN 2 flat, VERB 0 root, ADP 6 case, NUM 4 obl, NOUN 6 nmod:unmarked, PUNCT 4 punct"
    ),
    "(S (NP (NP (NNS Cats)) (CONJP (RB as) (RB well) (IN as)) (NP (NNS dogs))) (VP (VBP sleep) (PP (JJ due) (PP (TO to) (NP (NN it))))))": (
        "NOUN 6 nsubj, ADV 5 cc, ADV 2 fixed, ADP 2 fixed, NOUN 1 conj, VERB 0 root, ADJ 9 case, ADP 7 fixed, NOUN 6 obl"
    ),
    "(SBARQ (WHNP (WP What)) (SQ (VP (VBZ is) (NP (DT the) (NN price)))) (. ?))": (
        "PRON 0 root, AUX 1 cop, DET 4 det, NOUN 1 nsubj, PUNCT 1 punct"
    ),
    "(S (NP (PRP It)) (VP (VBZ is) (ADJP (JJ nice)) (S (VP (TO to) (VP (VB see) (NP (PRP you)))))) (. .))": (
        "PRON 3 expl, AUX 3 cop, ADJ 0 root, PART 5 mark, VERB 3 csubj, PRON 5 obj, PUNCT 3 punct"
    ),
    "(S (NP (DT The) (NN point)) (VP (VBZ is) (SBAR (IN that) (S (NP (PRP he)) (VP (VBD lied))))) (. .))": (
        "DET 2 det, NOUN 6 nsubj:outer, AUX 6 cop, SCONJ 6 mark, PRON 6 nsubj, VERB 0 root, PUNCT 6 punct"
    ),
    "(S (NP (DT This)) (VP (VBZ is) (SBAR (WHNP (WP what)) (S (NP (PRP I)) (VP (VBD saw))))) (. .))": (
        "PRON 3 nsubj, AUX 3 cop, PRON 0 root, PRON 5 nsubj, VERB 3 acl:relcl, PUNCT 3 punct"
    ),
    "(SINV (`` ``) (S (NP (PRP It)) (VP (VBZ rains))) (, ,) ('' '') (VP (VBD said)) (NP (NNP Tom)) (. .))": (
        "PUNCT 3 punct, PRON 3 nsubj, VERB 6 ccomp, PUNCT 3 punct, PUNCT 3 punct, VERB 0 root, PROPN 6 nsubj, PUNCT 6 punct"
    ),
}


@pytest.mark.parametrize("text", ANNOTATED)
def test_annotated_sentences(text):
    tokens = to_universal(Tree.parse(text)).tokens
    found = [f"{token.upos} {token.head} {token.deprel}" for token in tokens]
    assert found == ANNOTATED[text].split(", ")


@pytest.mark.parametrize(
    "text",
    ["(X (-LRB- -LRB-) (-RRB- -RRB-))", "(FRAG (CC and) (CC or) (CC but))", "(NP (NP (NP (NN a))))", "(VP (VBZ is))",
     "(Q (Z a) (Z b) (Z c))", "(ADJP (JJR more) (PP (IN than) (SBAR (WHNP (WP what)) (S (NP (PRP it)) (VP (VBD was))))))",
     "(NP (NP (JJR more) (IN than)) (PP (JJ due) (TO to)) (CC as) (RB well) (IN as))"],
)  # fmt: skip
def test_odd_trees_have_one_root_and_no_cycle(text):
    tokens = to_universal(Tree.parse(text)).tokens
    heads = [token.head for token in tokens]
    assert heads.count(0) == 1
    for number in range(1, len(heads) + 1):
        seen = set()
        while number:
            assert number not in seen
            seen.add(number)
            number = heads[number - 1]


def test_results_and_rules_by_name():
    tree = Tree.parse("(S (NP (DT the) (NN dog)) (VP (VBZ barks)))")
    result = ParseResult(tree, "parsed", -9.5, (1.0,) * 6, tree.words)
    assert [line.split("\t")[7] for line in result.to_conllu().splitlines() if line] == [
        "det",
        "nsubj",
        "root",
    ]
    collins = result.to_conllu(HeadRules.collins())
    assert [line.split("\t")[7] for line in collins.splitlines() if line] == ["DT", "NP", "root"]
    named = to_dependencies(tree, HeadRules.named("english"))
    assert [token.deprel for token in named.tokens] == ["det", "nsubj", "root"]
