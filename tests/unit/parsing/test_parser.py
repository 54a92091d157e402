"""The parser on a grammar written by hand: right where it can be reckoned, and an answer for everything."""

import copy
import multiprocessing
import pickle
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import count, islice
from math import inf, log
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gramian
from gramian.chart.chart_parser import ChartParser, Pruning
from gramian.chart.constraints import Constraints, Span
from gramian.errors import InputError, ModelFileError, OptionError
from gramian.parsing.limits import expected_seconds
from gramian.parsing.parser import Parser, load
from gramian.parsing.result import ParseResult
from gramian.parsing.sentences import ParseRequest
from gramian.parsing.words import WordTable
from gramian.text.rule_tokenizer import TextToken
from gramian.treebank.vocab import suffix_chain
from gramian.trees import Tree

FIXTURE = Path(__file__).parents[1] / "grammar" / "fixtures" / "version-1.grammar"
NO_PRUNING = Pruning(0.0, 0.0, 0.0, 0.0, split=0.0)
AMBIGUOUS = ["the", "dog", "saw", "a", "cat", "with", "a", "telescope", "."]


@pytest.mark.parametrize("sentence", [None, 3, b"the dog", [None], [["the"]]])
def test_what_is_no_sentence_is_refused(parser, sentence):
    with pytest.raises(InputError, match="a sentence is text, or tokens with or without tags"):
        parser.parse(sentence)


@pytest.fixture(scope="module")
def parser() -> Parser:
    return load(FIXTURE)


def leaves_fit(result, words) -> None:
    assert result.tree.words == tuple(words)
    assert len(result.confidences) == sum(1 for _ in result.tree.subtrees())
    assert all(-1e-6 <= sure <= 1 + 1e-4 for sure in result.confidences)
    assert Tree.parse(str(result.tree)) == result.tree


def test_several_sentences_in_one_text_cause_a_warning(parser):
    with pytest.warns(UserWarning, match="several sentences"):
        result = parser.parse("He slept. She ran.")
    assert result.words[-1] == "."
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parser.parse("the dog barks .")


def test_a_sentence_with_one_tree():
    result = load(FIXTURE, pruning=NO_PRUNING).parse("the dog barks .")
    assert str(result.tree) == "(S (NP (DT the) (NN dog)) (VP (VB barks)) (. .))"
    assert result.status == "parsed"
    # By hand, from the tables of tiny_grammar.py; only barks/VB leads to a tree. Words' frequencies are out of 45.
    the, dog, barks, stop = 10 / 16, np.array([1.6, 0.25]) * 4 / 10.2, 1.8 / 5.8, 8 / 9
    phrase = np.array([[0.6, 0.1], [0.05, 0.55]]) @ dog * the
    expected = 0.9 * 0.5 * stop * (np.array([0.7, 0.3]) @ phrase) * 0.3 * barks
    assert result.log_prob_words == pytest.approx(log(expected), rel=1e-5)
    np.testing.assert_allclose(result.confidences, 1.0, atol=1e-5)
    assert result.spans[1][:3] == ("NP", 0, 2)
    assert result.words == ("the", "dog", "barks", ".")
    assert result.offsets == ((0, 3), (4, 7), (8, 13), (14, 15))
    assert result.seconds > 0
    assert "<svg" in result._repr_svg_()


def test_best_trees(parser):
    result = parser.parse(AMBIGUOUS, k=5)
    trees = [alternative.tree for alternative in result.alternatives]
    assert trees[0] == result.tree == parser.parse(AMBIGUOUS).tree
    assert {str(tree) for tree in trees} >= {
        "(S (NP (DT the) (NN dog)) (VP (VB saw) (NP (DT a) (NN cat)) (PP (IN with) (NP (DT a) (NN telescope)))) (. .))",
        "(S (NP (DT the) (NN dog)) (VP (VB saw) (NP (NP (DT a) (NN cat)) (PP (IN with) (NP (DT a) (NN telescope))))) (. .))",
    }
    assert len(set(trees)) == len(trees)
    total = np.logaddexp.reduce([alternative.log_prob_tree for alternative in result.alternatives])
    # these few are nearly all of the probability
    assert total == pytest.approx(result.log_prob_words, abs=0.05)


def test_samples(parser):
    """Drawn trees come as often as the list of best trees says."""
    size = 2000
    probability = {
        one.tree: np.exp(one.log_prob_tree - parser.parse(AMBIGUOUS).log_prob_words)
        for one in parser.parse(AMBIGUOUS, k=4).alternatives
    }
    drawn = parser.sample(AMBIGUOUS, size, random_state=1)
    for tree, expected in probability.items():
        share = sum(one.tree == tree for one in drawn) / size
        assert share == pytest.approx(expected, abs=5 * (expected * (1 - expected) / size) ** 0.5 + 1e-3)
    by_tree = {one.tree: one.log_prob_tree for one in drawn}
    best = parser.parse(AMBIGUOUS, k=2).alternatives[0]
    assert by_tree[best.tree] == pytest.approx(best.log_prob_tree, abs=1e-3)
    assert drawn == parser.sample(AMBIGUOUS, size, random_state=1)
    low = ParseRequest(AMBIGUOUS, Constraints(required=(Span(3, 8, "NP"),)))
    assert all(("NP", 3, 8) in list(one.tree.spans()) for one in parser.sample(low, 20, random_state=2))
    makeshift = parser.sample(". .", 2, random_state=3)
    assert [one.tree for one in makeshift] == [parser.parse(". .").tree] * 2


@pytest.mark.parametrize(
    "decoder",
    ["max-rule-product", "max-rule-sum", "max-marginal-sum", "max-recall", "variational", "viterbi"],
)
def test_decoders(parser, decoder):
    result = parser.parse(AMBIGUOUS, decoder=decoder)
    leaves_fit(result, AMBIGUOUS)
    assert load(FIXTURE, decoder=decoder).parse(AMBIGUOUS).tree == result.tree


def test_tokens_are_never_cut(parser):
    words = ["don't", "a.b", '"', "(", "x\u00a0y", "-LRB-"]
    result = parser.parse(words)
    leaves_fit(result, ["don't", "a.b", '"', "(", "x\u00a0y", "("])
    assert result.offsets is None
    assert str(result.tree).count("-LRB-") == 2
    result = parser.parse([TextToken("the", 5, 8), TextToken("dog", 10, 13)])
    assert result.offsets == ((5, 8), (10, 13))


def test_a_model_says_how_text_is_cut(parser):
    by_spaces = Parser(replace(parser.model, tokens="spaces"))
    assert by_spaces.parse("the dog's.").words == ("the", "dog's.")
    assert parser.parse("the dog's.").words == ("the", "dog", "'s", ".")


@pytest.mark.parametrize(("word", "known"), [("—", "--"), ("{", "-LCB-"), ("it’s", "it's"), ("1\\/2", "1/2")])
def test_other_ways_to_write_a_known_word(parser, word, known):
    grammar = parser.model.grammar
    words = tuple(known if old == "the" else old for old in grammar.lexicon.words)
    other = Parser(replace(grammar, lexicon=replace(grammar.lexicon, words=words)))
    result = other.parse([word, "dog", "barks"])
    assert result.tree.tags == ("DT", "NN", "VB")
    assert result.log_prob_words == pytest.approx(
        parser.parse(["the", "dog", "barks"]).log_prob_words, rel=1e-6
    )


# -- tags from outside -----------------------------------------------------------------------------------------------


def test_given_tags(parser):
    words = ["the", "saw", "saw", "a", "dog"]
    assert parser.parse(list(zip(words, ("DT", "NN", "VB", "DT", "NN"), strict=True))).tree.tags[2] == "VB"
    result = parser.parse([("glorp", "DT"), ("zig", "NN"), ("zag", "VB")])  # unknown words
    assert (result.tree.tags, result.status) == (("DT", "NN", "VB"), "parsed")
    result = parser.parse([("dog", "DT"), ("the", "NN"), ("cat", "VB")])  # never seen so
    assert (result.tree.tags, result.status) == (("DT", "NN", "VB"), "parsed")
    mixed = parser.parse([("dog", "DT"), "cat", ("dog", "VB")])
    assert mixed.tree.tags == ("DT", "NN", "VB")


def test_given_tags_of_words_written_another_way(parser):
    """A word with its tag has the states of the word as the grammar writes it, wherever it stands."""
    grammar = parser.model.grammar
    names = tuple("it's" if old == "dog" else old for old in grammar.lexicon.words)
    other = Parser(replace(grammar, lexicon=replace(grammar.lexicon, words=names)))
    curly, straight = (
        other.parse([("the", "DT"), (word, "NN"), ("barks", "VB")]) for word in ("it’s", "it's")
    )
    assert curly.log_prob_words == straight.log_prob_words
    assert curly.tree.words == ("the", "it’s", "barks")
    table = WordTable(other.model.grammar.lexicon)
    for word in ("it’s", "it's", "saw"):  # its only tag is given, or one of two
        free, tagged = table.look_up(word, False), table.restrict(table.look_up(word, False), {"NN": 1.0})
        of_noun = free.scores.states[:2]
        np.testing.assert_array_equal(tagged.scores.states, of_noun)


def test_given_tags_of_a_first_word_know_that_it_is_the_first(parser):
    lexicon = parser.model.grammar.lexicon
    names, states = [], []
    for initial, values in ((False, [1.5, 0.4]), (True, [0.3, 1.8])):
        names.append(f"3 {suffix_chain('Zork', initial)[-1]}")
        states += values
    assert len(set(names)) == 2
    table = WordTable(replace(lexicon, classes=tuple(names), class_states=np.array(states, np.float32)))
    for initial, values in ((False, [1.5, 0.4]), (True, [0.3, 1.8])):
        tagged = table.restrict(table.look_up("Zork", initial), {"NN": 1.0})
        np.testing.assert_allclose(tagged.scores.states, values)


def test_tags_that_do_not_help(parser):
    result = parser.parse([("the", "FOO"), ("dog", "BAR"), ("barks", "VB")])  # tags that the grammar lacks
    assert result.tree.tags == ("DT", "NN", "VB")
    result = parser.parse([("the", "VB"), ("dog", "VB"), ("barks", "DT")])  # tags that lead to no tree
    leaves_fit(result, ["the", "dog", "barks"])
    assert result.status == "glued"


def test_tag_lattices(parser):
    def tags(first: float) -> tuple[str, ...]:
        lattice = [("the", {"DT": 1.0}), ("x", {"NN": 1.0}), ("y", {"VB": first, "NN": 1 - first})]
        return parser.parse(lattice).tree.tags

    assert tags(0.99) == ("DT", "NN", "VB")
    weights = [("x", {"NN": inf, "VB": -1.0, "DT": float("nan")}), ("y", {})]
    leaves_fit(parser.parse(weights), ["x", "y"])


# -- always an answer ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sentence", "status"),
    [
        ("", "empty"), ("  ", "empty"), (".", "glued"), ("dog", "parsed"), ("zxq", "parsed"), ("with", "glued"),
        ("the the the", "glued"), ("( ( (", "glued"), ("dog . . dog", "glued"), ("barks the", "glued"),
    ],
)  # fmt: skip
def test_statuses(parser, sentence, status):
    result = parser.parse(sentence)
    assert result.status == status
    leaves_fit(result, sentence.split()) if sentence.split() else None
    assert result.tree.is_empty == (status == "empty")


def test_glue_keeps_what_can_be_parsed(parser):
    result = parser.parse([".", "the", "dog", "barks", ".", "."], k=2)
    assert str(result.tree).startswith("(S (. .) (S (NP (DT the) (NN dog)) (VP (VB barks)")
    assert result.status == "glued"
    assert result.confidences[0] == 0.0
    assert result.confidences[2] > 0.5
    assert result.alternatives[0].tree == result.tree
    assert result.alternatives[1].tree.words == result.words


def test_wider_beam():
    picky = load(FIXTURE, pruning=Pruning(1e-3, 2.0, 1e-5))  # no posterior is 2
    result = picky.parse(AMBIGUOUS)
    assert result.status == "wide"
    assert result.tree == load(FIXTURE).parse(AMBIGUOUS).tree


def test_long_sentences(parser):
    words = ("the dog saw " + "a cat with " * 99 + "a telescope .").split()
    assert len(words) == 303
    result = parser.parse(words)
    assert result.status == "parsed"
    leaves_fit(result, words)
    assert -inf < result.log_prob_words < 0


def test_max_length(parser):
    words = ["the", "dog", "barks", ".", "a", "cat", "saw", "the", "dog", ",", "a", "cat", "barks"]
    result = load(FIXTURE, max_length=6).parse(words)
    assert result.status == "parts"
    leaves_fit(result, words)
    assert str(result.tree.children[0]) == str(parser.parse("the dog barks .").tree)
    assert load(FIXTURE, max_length=13).parse(words).tree == parser.parse(words).tree


def test_memory_and_time_cut_then_flatten(parser):
    words = ("the dog saw " + "a cat with " * 30 + "a telescope .").split()
    statuses = []
    for limit in (1 << 30, 1 << 23, 1 << 17, 1):
        result = load(FIXTURE, max_memory=limit).parse(words)
        leaves_fit(result, words)
        statuses.append(result.status)
    assert statuses == ["parsed", "parsed", "parts", "flat"]
    result = load(FIXTURE, max_seconds=1e-9).parse(words)
    assert (result.status, result.log_prob_words) == ("flat", -inf)
    assert result.tree.tags[:3] == ("DT", "NN", "VB")
    assert load(FIXTURE, max_seconds=1e-9).parse([("dog", "FOO"), ("dog", "(")]).tree.tags == ("FOO", "NN")


def test_little_time_narrows_the_beam(parser):
    words = ("the dog saw " + "a cat with " * 30 + "a telescope .").split()
    needed = expected_seconds(parser.pruning, len(words), len(parser.model.grammar.binary_rules))
    result = load(FIXTURE, max_seconds=0.99 * needed).parse(words)
    assert result.status == "narrow"
    leaves_fit(result, words)


def test_a_slow_clock_changes_no_tree(monkeypatch):
    """What is begun depends on the cost foretold; time that passes stops only what takes far too long, and status says so."""
    words = ("the dog saw " + "a cat with " * 30 + "a telescope .").split()
    sentences = [words, ["the", "dog", "the", "cat"], AMBIGUOUS, ["with", "with", "."], words * 3]
    options = {"max_seconds": 0.05, "max_length": 60}
    usual = [load(FIXTURE, **options).parse(sentence) for sentence in sentences]
    assert {result.status for result in usual} >= {"parts", "glued", "parsed"}
    now = count(0, 2)  # two seconds pass whenever somebody looks
    monkeypatch.setattr("gramian.parsing.limits.thread_time", lambda: next(now))
    slow = [load(FIXTURE, **options).parse(sentence) for sentence in sentences]
    assert [(result.tree, result.status) for result in slow] == [
        (result.tree, result.status) for result in usual
    ]
    now = count(0, 1000)
    monkeypatch.setattr("gramian.parsing.limits.thread_time", lambda: next(now))
    late = [load(FIXTURE, **options).parse(sentence) for sentence in sentences]
    assert [result.status for result in late] == ["stopped", "stopped", "parsed", "stopped", "stopped"]
    for result in late:
        leaves_fit(result, result.words)


def test_a_sample_is_drawn_from_one_forest(parser, monkeypatch):
    calls = []
    forests = ChartParser.forests
    monkeypatch.setattr(
        ChartParser, "forests", lambda self, *arguments: calls.append(1) or forests(self, *arguments)
    )
    assert len(parser.sample(AMBIGUOUS, 3, random_state=0)) == 3
    assert len(calls) == 1


@pytest.mark.parametrize("option", ["max_length", "max_seconds", "max_memory"])
def test_limits_are_positive(option):
    with pytest.raises(OptionError, match=option):
        load(FIXTURE, **{option: 0})


WORD = st.text(
    st.sampled_from("abS'\"`.,()[]{}<>-/\\*|@^%1") | st.characters(exclude_categories=["Cs", "Z", "Cc"]),
    min_size=1,
)
KNOWN = st.sampled_from(["the", "a", "dog", "cat", "telescope", "saw", "barks", "with", ".", "("])


@settings(max_examples=150)
@given(st.lists(WORD | KNOWN, max_size=12))
def test_any_tokens(words):
    result = SHARED.parse(words)
    expected = [word.replace("-LRB-", "(").replace("-RRB-", ")") for word in words]
    if words:
        leaves_fit(result, expected)
    assert (result.status == "empty") == (not words)


@settings(max_examples=100)
@given(st.text(max_size=60))
def test_any_text(text):
    result = SHARED.parse(text)
    assert len(result.words) == len(result.offsets or ())
    if result.words:
        leaves_fit(result, result.words)


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(KNOWN, st.sampled_from(["DT", "NN", "VB", "IN", ".", "", "X", "a b", "("])), max_size=8
    )
)
def test_any_tags(tagged):
    result = SHARED.parse(tagged)
    if tagged:
        leaves_fit(result, [word for word, _ in tagged])


SHARED = load(FIXTURE)


# -- what is known before --------------------------------------------------------------------------------------------


NP_OVER_VP = Constraints(required=(Span(0, 2, "NP"), Span(0, 2, "VP")))


def test_constraints(parser):
    low = parser.parse(AMBIGUOUS, constraints=Constraints(required=(Span(3, 8, "NP"),)))
    high = parser.parse(AMBIGUOUS, constraints=Constraints(forbidden=(Span(3, 8),)))
    assert ("NP", 3, 8) in list(low.tree.spans())
    assert ("PP", 5, 8) in list(high.tree.spans())
    assert ("NP", 3, 8) not in list(high.tree.spans())
    glued = parser.parse(["the", "dog", "the", "cat"], constraints=Constraints(required=(Span(2, 4, "NP"),)))
    assert str(glued.tree) == "(S (NP (DT the) (NN dog)) (NP (DT the) (NN cat)))"
    impossible = parser.parse(["the", "dog"], constraints=NP_OVER_VP)
    assert (impossible.status, impossible.tree.words) == ("flat", ("the", "dog"))
    with pytest.raises(OptionError, match="not within"):
        parser.parse(["the", "dog"], constraints=Constraints(required=(Span(0, 3),)))


def test_constraints_of_many_sentences(parser):
    known = ParseRequest(AMBIGUOUS, Constraints(required=(Span(3, 8, "NP"),)))
    first, second = parser.parse_many([known, AMBIGUOUS], n_jobs=2)
    assert first.tree == parser.parse(AMBIGUOUS, constraints=known.constraints).tree
    assert second.tree == parser.parse(AMBIGUOUS).tree != first.tree


def test_constraints_within_parts():
    words = ["the", "dog", "barks", ".", "a", "cat", "saw", "the", "dog", "with", "a", "saw"]
    constraints = Constraints(required=(Span(7, 12, "NP"), Span(2, 9)))
    result = load(FIXTURE, max_length=8).parse(words, constraints=constraints)
    assert result.status == "parts"
    assert ("NP", 7, 12) in list(result.tree.spans())


# -- many sentences --------------------------------------------------------------------------------------------------

SENTENCES = [
    "the dog barks .", AMBIGUOUS, "", "the saw saw a saw", "zxq zxq", "with with .", [("dog", "VB"), ("cat", "NN")],
    "a cat saw a dog with a telescope with a saw", ". .", "the the",
] * 4  # fmt: skip


def facts(result) -> tuple:
    return result.tree, result.status, result.log_prob_words, result.confidences, result.words, result.offsets


def test_eight_threads_give_what_one_gives():
    serial = [facts(result) for result in load(FIXTURE).parse_many(SENTENCES)]
    shared = load(FIXTURE)  # with nothing remembered yet
    start = threading.Barrier(8)

    def work(shift: int) -> list[tuple]:
        start.wait()
        order = [(place + shift) % len(SENTENCES) for place in range(len(SENTENCES))]
        found = {place: facts(shared.parse(SENTENCES[place])) for place in order}
        return [found[place] for place in range(len(SENTENCES))]

    with ThreadPoolExecutor(8) as pool:
        for parallel in pool.map(work, range(0, 40, 5)):
            assert parallel == serial
    assert [facts(result) for result in shared.parse_many(SENTENCES, n_jobs=8)] == serial


@pytest.mark.parametrize("jobs", [1, 3])
def test_many_are_parsed_as_they_come(parser, jobs):
    taken = count()
    endless = (f"the dog{next(taken)}" for _ in count())
    results = parser.parse_many(endless, n_jobs=jobs)
    assert [len(result.words) for result in islice(results, 5)] == [2] * 5
    assert next(taken) <= 200
    results.close()


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_error_comes_at_its_place(parser, jobs):
    results = parser.parse_many(["dog"] * 20 + [["two words"]], n_jobs=jobs)
    assert [result.status for result in islice(results, 20)] == ["parsed"] * 20
    with pytest.raises(InputError, match="'two words', is not a word"):
        next(results)

    def broken():
        yield from ["dog"] * 20
        raise EOFError

    results = parser.parse_many(broken(), n_jobs=jobs)
    assert [result.status for result in islice(results, 20)] == ["parsed"] * 20
    with pytest.raises(EOFError):
        next(results)


def test_bad_options(parser):
    with pytest.raises(OptionError, match="decoder must be one of"):
        parser.parse("a", decoder="best")
    with pytest.raises(OptionError, match="decoder must be one of"):
        load(FIXTURE, decoder="best")
    with pytest.raises(OptionError, match="k must be at least 1"):
        parser.parse("a", k=0)
    with pytest.raises(OptionError, match="n_jobs must be at least 1"):
        parser.parse_many([], n_jobs=0)
    with pytest.raises(InputError, match="token 2, ''"):
        parser.parse(["a", ""])
    with pytest.raises(ModelFileError):
        load("no such file")


def test_public_names():
    assert gramian.load is load
    assert gramian.Parser is Parser


def test_brackets_cost_what_the_penalty_says(parser):
    """Without a penalty every bracket that has any probability is worth having; one that is too dear leaves the fewest."""
    counts = [
        len(Parser(parser.model, recall_penalty=penalty).parse(AMBIGUOUS).spans)
        for penalty in (0.0, 0.5, 5.0)
    ]
    assert counts == sorted(counts, reverse=True)
    with pytest.raises(OptionError, match=r"^recall_penalty must be at least 0, got -1"):
        Parser(parser.model, recall_penalty=-1)


def test_errors_of_sentences_are_raised_or_stand_in_their_places():
    shared = load(FIXTURE)
    crossing = Constraints(required=(Span(0, 2), Span(1, 3)))
    bad = [["two words"], 5, [("dog", "NN"), 7], ParseRequest(AMBIGUOUS, crossing)]
    mixed = ["the dog barks .", bad[0], "", *bad[1:], ["a", "saw"]]
    for found in (
        shared.parse_batch(mixed, on_error="return"),
        list(shared.parse_many(mixed, on_error="return")),
        list(shared.parse_many(iter(mixed), on_error="return")),
        list(shared.parse_many(mixed, n_jobs=2, on_error="return")),
    ):
        assert [type(one) for one in found] == [
            ParseResult, InputError, ParseResult, InputError, InputError, OptionError, ParseResult,
        ]  # fmt: skip
        assert facts(found[-1]) == facts(shared.parse(["a", "saw"]))
    with pytest.raises(InputError, match="int"):
        shared.parse_batch(["the dog barks .", 5])
    stream = shared.parse_many(mixed)
    assert next(stream).status == "parsed"
    with pytest.raises(InputError, match="white space"):
        next(stream)
    with pytest.raises(OptionError, match="on_error"):
        shared.parse_batch([], on_error="ignore")


def test_requests_of_a_batch_have_wishes_of_their_own():
    shared = load(FIXTURE)
    low = Constraints(required=(Span(3, 8, "NP"),))
    wishes = [
        ParseRequest(AMBIGUOUS, decoder="viterbi", k=1), AMBIGUOUS, ParseRequest(AMBIGUOUS, k=3), ParseRequest(AMBIGUOUS, low),
    ]  # fmt: skip
    alone = [
        shared.parse(AMBIGUOUS, decoder="viterbi"), shared.parse(AMBIGUOUS, k=2), shared.parse(AMBIGUOUS, k=3),
        shared.parse(AMBIGUOUS, k=2, constraints=low),
    ]  # fmt: skip
    found = shared.parse_batch(wishes, k=2)
    assert [len(one.alternatives) for one in found[:3]] == [0, 2, 2]
    assert found[3].tree != found[1].tree
    assert list(map(facts, found)) == list(map(facts, alone))
    with pytest.raises(OptionError, match="viterbi"):
        shared.parse_batch(wishes, k=2, decoder="viterbi")


def test_text_of_several_sentences_is_warned_of():
    shared = load(FIXTURE)
    with pytest.warns(UserWarning, match="parse_text"):
        shared.parse("The dog barks. The cat saw a dog.")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        shared.parse("The dog barks.")
        shared.parse(["The", "dog", "barks", ".", "The", "cat", "barks", "."])
        shared.parse_batch(["The dog barks. The cat saw a dog."])


def test_parsers_are_copied_and_pickled():
    one = load(FIXTURE, decoder="max-rule-product", max_length=8, max_seconds=3.0, recall_penalty=0.3)
    expected = list(map(facts, one.parse_many(SENTENCES[:10])))
    for other in (copy.copy(one), copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
        assert (other.decoder, other.limits, other.recall_penalty) == (one.decoder, one.limits, 0.3)
        assert list(map(facts, other.parse_many(SENTENCES[:10]))) == expected
    assert copy.copy(one).model is one.model
    # nothing that was remembered goes along
    assert len(pickle.dumps(one)) < 1.2 * len(pickle.dumps(load(FIXTURE)))


def test_parsers_go_to_processes_that_are_spawned():
    one = load(FIXTURE)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        found = pool.map(one.parse, SENTENCES[:3])
    assert list(map(facts, found)) == [facts(one.parse(sentence)) for sentence in SENTENCES[:3]]


def test_unknown_options_of_load_are_named():
    with pytest.raises(OptionError, match="there is no setting 'decodr'; did you mean decoder"):
        load(FIXTURE, decodr="viterbi")
