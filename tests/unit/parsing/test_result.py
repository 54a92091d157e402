"""What a result says about itself, and the forms it can be had in."""

from gramian.parsing.result import Alternative, ParseResult
from gramian.trees import HeadRules, Tree

TREE = Tree.parse("(S (NP (DT the) (NN dog)) (VP (VBZ barks)))")
RESULT = ParseResult(
    TREE, "parsed", -9.123456789, (1.0, 0.4123456, 0.1, 0.9, 0.8, 0.7), TREE.words,
    alternatives=(Alternative(TREE, -11.987654321),),
)  # fmt: skip


def test_confidence_is_that_of_the_least_confident_phrase():
    assert RESULT.confidence == 0.4123456  # tags do not count
    assert ParseResult(Tree(""), "empty", 0.0, (), ()).confidence == 1.0


def test_repr_is_short_and_rounded():
    assert repr(RESULT) == f"<ParseResult: {str(TREE)!r}, parsed, confidence 0.41>"
    assert repr(RESULT.alternatives[0]) == f"<Alternative: {str(TREE)!r}, log_prob_tree -11.99>"
    long = Tree("S", [TREE] * 50)
    sure = (1.0,) * len(list(long.subtrees()))
    assert len(repr(ParseResult(long, "parsed", 0.0, sure, long.words))) < 140


def test_conllu_by_the_scheme_of_the_labels():
    heads = [line.split("\t")[6] for line in RESULT.to_conllu().splitlines() if line]
    assert heads == ["2", "3", "0"]
    assert RESULT.to_conllu().endswith("\n\n")
    left = RESULT.to_conllu(HeadRules.named("left")).split("\t")
    assert left[6] == "0"
    french = Tree.parse("(SENT (PP (P avec) (NP (DET le) (NC chat))) (VN (V dort)))")
    result = ParseResult(french, "parsed", -1.0, (1.0,) * 8, french.words)
    assert [line.split("\t")[6] for line in result.to_conllu().splitlines() if line] == ["3", "3", "4", "0"]
    assert ParseResult(Tree(""), "empty", 0.0, (), ()).to_conllu() == ""
