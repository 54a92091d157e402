import pytest
from hypothesis import given
from hypothesis import strategies as st

from gramian.errors import OptionError, ScoreError
from gramian.evaluate import COLLINS, METRICS, SPMRL, GoldBrackets, Parameters, Status, score
from gramian.trees import Tree, parse_bracketed

EVERYTHING = Parameters(name="everything")


def parse(*texts: str) -> list[Tree]:
    return parse_bracketed("\n".join(texts))


# -- figures computed by hand ----------------------------------------------------------------------------


def test_the_example_of_parseval() -> None:
    """X:abcd Y:bcd Z:cd in gold, X:abcd Y:cd in the candidate: 2/2 and 2/3 match, with labels 1/2 and 1/3."""
    gold = parse("(X (T a) (Y (T b) (Z (T c) (T d))))")
    candidate = parse("(X (T a) (T b) (Y (T c) (T d)))")
    scores = score(gold, candidate)
    assert scores.unlabelled_f1 == pytest.approx(80, abs=1e-12)
    assert scores.f1 == pytest.approx(40, abs=1e-12)
    assert (scores.precision, scores.recall) == pytest.approx((50, 100 / 3), abs=1e-12)


def test_sums_run_over_sentences_and_means_over_their_f1() -> None:
    gold = parse("(S (NP (N a) (N b)) (V c))", "(S (V d))")
    predicted = parse("(S (N a) (NP (N b) (V c)))", "(S (V d))")
    scores = score(gold, predicted)
    # First sentence 1 of 2 and 2 brackets, second 1 of 1 and 1.
    assert scores.f1 == pytest.approx(100 * 2 / 3, abs=1e-12)
    assert scores.mean_f1 == pytest.approx((50 + 100) / 2, abs=1e-12)
    assert scores.exact == 50
    assert scores.crossing == 0.5
    assert scores.share_crossing(0) == 50
    assert scores.share_crossing(2) == 100


def test_a_failed_parse_is_skipped_and_counted_as_empty_beside() -> None:
    gold = parse("(S (NP (N a)) (VP (V b)))", "(S (NP (N a)) (VP (V b)))")
    for failure in (None, Tree(""), Tree.parse("(())")):
        scores = score(gold, [gold[0], failure])
        assert (scores.sentences, scores.valid, scores.skipped, scores.errors) == (2, 1, 1, 0)
        assert scores.f1 == 100
        # 3 matched of 6 in gold and 3 predicted.
        assert scores.f1_failures == pytest.approx(100 * 2 * 3 / (6 + 3), abs=1e-12)
        assert scores.f1_gold_tags == scores.f1_failures


def test_a_mistagged_comma_drops_the_sentence_unless_gold_tags_are_used() -> None:
    gold = parse("(S (NP (N a)) (, ,) (VP (V b)))")
    predicted = parse("(S (NP (N a) (N ,)) (VP (V b)))")
    scores = score(gold, predicted)
    assert scores.rows[0].status is Status.ERROR
    assert scores.rows[0].message == "Length unmatch (2|3)"
    assert scores.f1 == 0
    assert scores.f1_failures == 0
    assert scores.f1_gold_tags == 100


def test_gold_tags_leave_the_right_words() -> None:
    """Once the full stop is a word and 'now' is none; with gold's tags 'now' counts and the stop does not."""
    gold = parse("(S (NP (N a)) (VP (V b) (ADVP (R now))) (. .))")
    predicted = parse("(S (NP (N a) (V b)) (VP (, now) (N .)))")
    row = score(gold, predicted).rows[0]
    assert row.status is Status.ERROR
    assert row.message == "Words unmatch (now|.)"
    # Spans over "a b now": gold S 0-3, NP 0-1, VP 1-3, ADVP 2-3; predicted S 0-3, NP 0-2, VP 2-3.
    assert (row.tagged_matched, row.tagged_gold, row.tagged_predicted) == (1, 4, 3)


def test_traces_and_function_tags_fall_out_of_gold() -> None:
    gold = parse("( (S (NP-SBJ-1 (N a)) (VP (V b) (NP (-NONE- *-1)))))")
    predicted = parse("(S (NP (N a)) (VP (V b)))")
    scores = score(gold, predicted)
    assert (scores.f1, scores.f1_gold_tags, scores.tagging) == (100, 100, 100)
    assert scores.rows[0].length == 2
    assert scores.rows[0].gold == 3


def test_traces_fall_out_of_gold_tags_whatever_the_parameters_say() -> None:
    gold = parse("(S (NP (N a)) (VP (V b) (NP (-NONE- *))))")
    predicted = parse("(S (NP (N a)) (VP (V b)))")
    scores = score(gold, predicted, EVERYTHING)
    assert scores.rows[0].message == "Length unmatch (3|2)"
    assert scores.f1_gold_tags == 100


@pytest.mark.parametrize("ours", ["( {})", "(TOP {})", "(ROOT {})", "( (TOP {}))", "{}", "(S1 {})"])
@pytest.mark.parametrize("theirs", ["{}", "( {})", "(ROOT {})", "(TOP {})", "(VROOT {})"])
def test_the_outer_bracket_never_counts(ours: str, theirs: str) -> None:
    tree = "(S (NP (N a)) (VP (V b)))"
    scores = score(parse(ours.format(tree)), parse(theirs.format(tree)))
    assert scores.f1 == 100
    assert scores.rows[0].gold == scores.rows[0].predicted == 3


def test_tags_and_not_words_decide_what_is_punctuation() -> None:
    tree = parse("(S (N a) (PONCT ,))")
    assert score(tree, tree).rows[0].words == 2
    tree = parse("(S (N a) (, x))")
    assert score(tree, tree).rows[0].words == 1
    assert score(tree, tree, SPMRL).rows[0].words == 2


def test_labels_equal_to_each_other_match() -> None:
    gold, predicted = parse("(S (PRT (R a)) (V b))"), parse("(S (ADVP (R a)) (V b))")
    assert score(gold, predicted).f1 == 100
    assert score(gold, predicted, SPMRL).f1 == 50


def test_scores_by_label() -> None:
    gold = parse("(S (NP (N a)) (VP (V b) (NP (N c))))", "(S (NP (N a)) (PRT (R b)))", "(S (NP (N a)))")
    predicted = [*parse("(S (NP (N a)) (NP (V b) (N c)))", "(S (NP (N a)) (ADVP (R b)))"), None]
    labels = GoldBrackets(gold).by_label(predicted)
    counts = {
        name: (part.gold, part.predicted, part.gold_matched, part.predicted_matched)
        for name, part in labels.items()
    }
    assert counts == {
        "NP": (3, 3, 2, 2),
        "S": (2, 2, 2, 2),
        "PRT": (1, 0, 1, 0),
        "VP": (1, 0, 0, 0),
        "ADVP": (0, 1, 0, 1),
    }
    assert list(labels) == ["NP", "S", "PRT", "VP", "ADVP"]
    assert labels["NP"].f1 == pytest.approx(200 / 3, abs=1e-12)
    assert labels["VP"].f1 == 0


def test_scores_by_length() -> None:
    short, long = "(S (N a) (N b))", "(S (N a) (N b) (. .))"
    scores = score(parse(short, long, long), [*parse(short, long), None])
    assert [row.length for row in scores.rows] == [2, 3, 3]
    parts = scores.by_length(2)
    assert {name: part.sentences for name, part in parts.items()} == {"1-2": 1, "3-4": 2}
    assert scores.up_to(2).sentences == 1
    assert "|len:3-4|" in parts["3-4"].signature()
    assert "|len:<=2|" in scores.up_to(2).signature()


def test_signatures_tell_figures_apart() -> None:
    tree = parse("(S (N a))")
    scores = score(tree, tree)
    signatures = {name: scores.signature(name) for name in METRICS}
    assert len(set(signatures.values())) == len(METRICS)
    assert "|failures:empty|" in signatures["f1_failures"]
    assert "|tags:gold|" in signatures["f1_gold_tags"]
    assert signatures["unlabelled_f1"].count("labels:") == 1
    with pytest.raises(OptionError, match="unknown metric 'f2'"):
        scores.value("f2")


def test_statistics_sum_up_to_the_figures() -> None:
    gold = parse("(S (NP (N a)) (, ,) (VP (V b)))", "(S (NP (N a)) (VP (V b)))", "(S (N a))")
    predicted = [*parse("(S (NP (N a) (N ,)) (VP (V b)))", "(S (VP (N a)) (VP (V b)))"), None]
    scores = score(gold, predicted)
    for name in METRICS:
        above, below = (sum(column) for column in zip(*scores.statistics(name), strict=True))
        assert scores.value(name) == pytest.approx(100 * above / below, rel=1e-12)


# -- what does not fit -----------------------------------------------------------------------------------


def test_another_word_is_an_error_with_its_place() -> None:
    gold = parse("(S (N a))", "(S (N a) (-NONE- *) (N b))")
    with pytest.raises(
        ScoreError,
        match=r"^sentence 2 \(line 2 of the prediction\): word 2 is 'b' in gold, 'c' in the prediction$",
    ):
        score(gold, parse("(S (N a))", "(S (N a) (N c))"))
    with pytest.raises(
        ScoreError,
        match=r"^sentence 2 \(line 2 .*\): the prediction ends after 1 of 2 words, before 'b'$",
    ):
        score(parse("(S (N x))", "(S (N a) (N b))"), parse("(S (N x))", "(S (N a))"))
    with pytest.raises(
        ScoreError,
        match=r"^sentence 2 \(line 2 .*\): the prediction continues after gold's 2 words with 'c'$",
    ):
        score(gold, parse("(S (N a))", "(S (N a) (N b) (N c))"))


def test_another_order_is_an_error_that_says_so() -> None:
    gold = parse("(S (N a))", "(S (N b))", "(S (N c))")
    with pytest.raises(
        ScoreError, match=r"sentence 2 \(line 2 of the prediction\) has the words of sentence 3 in gold"
    ):
        score(gold, parse("(S (N a))", "(S (N c))", "(S (N b))"))


def test_another_number_is_an_error_that_names_the_first_difference() -> None:
    gold = parse("(S (N a))", "(S (N b))", "(S (N c))")
    with pytest.raises(ScoreError, match="gold has 3 trees, the prediction 2; the first 2 agree"):
        score(gold, gold[:2])
    with pytest.raises(
        ScoreError, match=r"gold has 3 trees, the prediction 2; sentence 2 \(line 2 .* words of sentence 3"
    ):
        score(gold, parse("(S (N a))", "(S (N c))"))


def test_escapes_are_the_same_word() -> None:
    gold = parse("(S (-LRB- -LRB-) (N 1\\/2) (N -LCB-))")
    predicted = [Tree("S", [Tree("-LRB-", word="("), Tree("N", word="1/2"), Tree("N", word="{")])]
    assert score(gold, predicted).f1 == 100


def test_prepared_gold_keeps_its_parameters() -> None:
    tree = parse("(S (N a) (, b))")
    gold = GoldBrackets(tree, SPMRL)
    assert score(gold, tree).parameters is SPMRL
    assert score(gold, tree, SPMRL).rows[0].words == 2
    with pytest.raises(OptionError, match="other parameters"):
        score(gold, tree, COLLINS)


def test_deep_trees_and_long_sentences() -> None:
    deep = Tree("N", word="a")
    for _ in range(10_000):
        deep = Tree("S", [deep])
    scores = score([deep], [deep])
    assert (scores.f1, scores.rows[0].gold) == (100, 10_000)
    words = [Tree("N", word=str(number)) for number in range(5_000)]
    flat = Tree("S", words)
    left = words[0]
    for word in words[1:]:
        left = Tree("S", [left, word])
    row = score([flat], [left]).rows[0]
    assert (row.matched, row.gold, row.predicted, row.crossing) == (1, 1, 4_999, 0)


# -- properties ------------------------------------------------------------------------------------------

LABELS = st.sampled_from(["S", "NP", "VP", "ADVP", "PRT", "NP-SBJ", "TOP"])
TAGS = st.sampled_from(["N", "V", ",", ".", "''"])


@st.composite
def bracketing(draw: st.DrawFn, leaves: list[Tree]) -> Tree:
    """Put random phrases over leaves."""
    parts = leaves
    for label, first, width in draw(
        st.lists(st.tuples(LABELS, st.integers(0, 6), st.integers(1, 4)), max_size=7)
    ):
        start = first % len(parts)
        parts = [*parts[:start], Tree(label, parts[start : start + width]), *parts[start + width :]]
    return Tree(draw(LABELS), parts)


@st.composite
def tree_pairs(draw: st.DrawFn, same_tags: bool) -> tuple[Tree, Tree]:
    count = draw(st.integers(1, 7))
    gold = [Tree(draw(TAGS), word=f"w{number}") for number in range(count)]
    other = gold if same_tags else [Tree(draw(TAGS), word=leaf.word) for leaf in gold]
    return draw(bracketing(gold)), draw(bracketing(other))


@given(st.lists(tree_pairs(same_tags=True), min_size=1, max_size=4))
def test_a_tree_agrees_with_itself(pairs: list[tuple[Tree, Tree]]) -> None:
    trees = [gold for gold, _ in pairs]
    scores = score(trees, trees)
    assert scores.errors == 0
    for row in scores.rows:
        assert row.matched == row.gold == row.predicted == row.unlabelled_matched == row.tagged_matched
        assert row.crossing == 0
    if any(row.gold for row in scores.rows):
        for name in (
            "recall",
            "precision",
            "f1",
            "exact",
            "tagging",
            "mean_f1",
            "f1_gold_tags",
            "f1_failures",
        ):
            assert scores.value(name) == pytest.approx(100, abs=1e-9)


@given(st.lists(tree_pairs(same_tags=False), min_size=1, max_size=4))
def test_swapping_the_sides_swaps_precision_and_recall(pairs: list[tuple[Tree, Tree]]) -> None:
    gold, predicted = [list(side) for side in zip(*pairs, strict=True)]
    there, back = score(gold, predicted), score(predicted, gold)
    for row, other in zip(there.rows, back.rows, strict=True):
        if row.status is Status.VALID and other.status is Status.VALID:
            assert (row.matched, row.gold, row.predicted) == (other.matched, other.predicted, other.gold)
            assert row.unlabelled_matched == other.unlabelled_matched >= row.matched
    if all(row.status is Status.VALID for row in (*there.rows, *back.rows)):
        assert (there.recall, there.precision) == (back.precision, back.recall)
        assert there.f1 == pytest.approx(back.f1, abs=1e-9)


@given(tree_pairs(same_tags=True))
def test_crossing_is_what_its_definition_says(pair: tuple[Tree, Tree]) -> None:
    gold, predicted = pair
    keep = [tag not in COLLINS.deleted for tag in gold.tags]

    def spans(tree: Tree) -> list[tuple[int, int]]:
        found = [
            (sum(keep[:start]), sum(keep[:end]))
            for label, start, end in tree.spans(preterminals=False)
            if label != "TOP"
        ]
        return [span for span in found if span[0] < span[1]]

    ours = spans(gold)
    crossing = sum(
        any(a < start < b < end or start < a < end < b for a, b in ours) for start, end in spans(predicted)
    )
    assert score([gold], [predicted]).rows[0].crossing == crossing


@given(tree_pairs(same_tags=False))
def test_gold_tags_drop_no_sentence(pair: tuple[Tree, Tree]) -> None:
    """Putting gold's tags into the tree by hand gives the same counts."""
    gold, predicted = pair
    tags = iter(gold.tags)

    def retagged(tree: Tree) -> Tree:
        if tree.word is not None:
            return Tree(next(tags), word=tree.word)
        return Tree(tree.label, [retagged(child) for child in tree.children])

    by_hand = score([gold], [retagged(predicted)]).rows[0]
    row = score([gold], [predicted]).rows[0]
    assert by_hand.status is not Status.ERROR
    if by_hand.status is Status.VALID:
        assert (row.tagged_matched, row.tagged_gold, row.tagged_predicted) == (
            by_hand.matched,
            by_hand.gold,
            by_hand.predicted,
        )
