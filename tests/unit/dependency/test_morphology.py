"""Tags, features and lemmas predicted from forms."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gramian.dependency import SHAGParser
from gramian.dependency.conllu_text import conllu_sentences, fit_word_splitter
from gramian.dependency.lemma_rules import apply_rule, is_rule, lemma_rule
from gramian.dependency.morphology import fit_morphological_tagger, tag_held_out_sentences
from gramian.dependency.word_classifier import CONTEXT
from gramian.errors import OptionError
from gramian.text.text_training import learn_conllu_processor
from gramian.trees import Sentence, Token

NOUNS = ["dog", "cat", "bird", "cow", "fox", "hen", "pig", "goat", "duck", "frog"]
VERBS = ["walk", "talk", "jump", "climb", "snort", "yawn", "paint", "knock"]


def words(text: str) -> Sentence:
    return Sentence(tuple(Token(number, form) for number, form in enumerate(text.split(), 1)))


def annotated() -> list[Sentence]:
    """Return "the dog walked" and "the dogs can walk" for all nouns and verbs."""
    sentences = []
    for noun in NOUNS:
        for verb in VERBS:
            the = Token(1, "The", "the", "DET", "DT", head=2, deprel="det")
            one = Token(2, noun, noun, "NOUN", "NN", "Number=Sing", 3, "nsubj")
            walked = Token(3, f"{verb}ed", verb, "VERB", "VBD", "Tense=Past", 0, "root")
            sentences.append(Sentence((the, one, walked)))
            more = replace(one, form=f"{noun}s", xpos="NNS", feats="Number=Plur", head=4)
            can = Token(3, "can", "can", "AUX", "MD", head=4, deprel="aux")
            walk = Token(4, verb, verb, "VERB", "VB", "VerbForm=Inf", 0, "root")
            sentences.append(Sentence((the, more, can, walk)))
    return sentences


@pytest.fixture(scope="module")
def tagger():
    return fit_morphological_tagger(annotated())


def test_new_words_get_tags_features_and_lemmas_by_their_endings(tagger):
    tagged = tagger.tag(words("The wugs can gribble")).tokens
    assert [token.upos for token in tagged] == ["DET", "NOUN", "AUX", "VERB"]
    assert (tagged[1].xpos, tagged[1].feats, tagged[1].lemma) == ("NNS", "Number=Plur", "wug")
    past = tagger.tag(words("The wug gribbled")).tokens[2]
    assert (past.upos, past.feats, past.lemma) == ("VERB", "Tense=Past", "gribbl")


def test_what_stands_inside_a_new_word_decides_between_features():
    # "-ma-" between stem and ending negates, as in Turkish; the last six letters do not tell.
    stems = ["gel", "bak", "yaz", "kal", "sor", "dur", "bul", "geç", "koş", "tut", "kır", "sat", "çal", "bin"]
    sentences = [
        Sentence((Token(1, f"{stem}{inside}dıkları", stem, "VERB", feats=f"Polarity={value}"),))
        for stem in stems
        for inside, value in (("", "Pos"), ("", "Pos"), ("ma", "Neg"))
    ]
    tagger = fit_morphological_tagger(sentences)
    new_words = ["vermadıkları", "verdıkları", "yatmadıkları", "kıldıkları"]
    tags = [tagger.tag(words(form)).tokens[0].feats for form in new_words]
    assert tags == ["Polarity=Neg", "Polarity=Pos", "Polarity=Neg", "Polarity=Pos"]
    old = replace(tagger, has_stems=False)  # as a file of an older version has it
    assert {old.tag(words(form)).tokens[0].upos for form in new_words} == {"VERB"}


def test_the_context_decides_between_the_tags_of_a_word():
    # "duck" is a noun after "the", a verb after "can".
    noun = [Token(1, "the", upos="DET"), Token(2, "duck", upos="NOUN")]
    verb = [Token(1, "can", upos="AUX"), Token(2, "duck", upos="VERB")]
    tagger = fit_morphological_tagger([Sentence(tuple(noun)), Sentence(tuple(verb))] * 10)
    assert [token.upos for token in tagger.tag(words("can duck")).tokens] == ["AUX", "VERB"]
    assert [token.upos for token in tagger.tag(words("the duck")).tokens] == ["DET", "NOUN"]


def test_held_out_tags_come_from_taggers_that_have_not_seen_the_sentence():
    sentences = annotated()
    odd = Sentence((Token(1, "zyx", upos="INTJ", head=0, deprel="root"),))
    held_out = tag_held_out_sentences([*sentences, odd])
    assert held_out[-1].tokens[0].upos != "INTJ"  # nobody else has this tag
    assert [sentence.words for sentence in held_out[:-1]] == [sentence.words for sentence in sentences]
    assert held_out[0].tokens[1].upos == "NOUN"
    assert tag_held_out_sentences([odd]) == [odd]


def test_classes_are_candidates_only(tagger):
    # "can" is frequent: its only class in training is its only candidate.
    (number,) = tagger.tagger.classify([("can", "")], CONTEXT)
    assert tagger.tags[number] == "AUX\tMD\t_"


@given(st.text("aAbBİıß'", min_size=1, max_size=6), st.text("aAbBİıß'", min_size=1, max_size=6))
def test_the_rule_of_a_pair_gives_its_lemma(form, lemma):
    rule = lemma_rule(form, lemma)
    assert is_rule(rule)
    assert apply_rule(rule, form) == lemma


def test_rules_of_words_alike_are_the_same():
    assert lemma_rule("walked", "walk") == lemma_rule("Jumped", "jump")
    assert lemma_rule("Paris", "Paris") != lemma_rule("The", "the")
    assert apply_rule(lemma_rule("ungood", "good"), "unsure") == "sure"
    assert not is_rule("lower\x1f-1\x1f\x1f0\x1f")
    assert not is_rule("walk")


def test_parsers_tag_words_without_tags_and_keep_given_ones(tmp_path):
    learner = SHAGParser(n_states=2, max_iter=2, start="random", epochs=2).fit(annotated())
    parse = learner.parse(words("The cow walked"))
    assert [token.upos for token in parse.words.tokens] == ["DET", "NOUN", "VERB"]
    assert parse.heads == (2, 3, 0)
    given = Sentence(tuple(replace(token, upos="X") for token in words("The cow walked").tokens))
    assert [token.upos for token in learner.parse(given).words.tokens] == ["X"] * 3
    retagged = learner.model_.parse(given, retag=True).words.tokens
    assert [token.upos for token in retagged] == ["DET", "NOUN", "VERB"]
    learner.save(tmp_path / "model")
    from gramian.dependency import DependencyParser

    assert DependencyParser.load(tmp_path / "model").parse(words("The cow walked")) == parse


def test_gold_and_mixed_tags():
    options = {"n_states": 2, "max_iter": 2, "start": "random", "epochs": 1}
    gold = SHAGParser(tags="gold", **options).fit(annotated()).model_
    assert gold.tagger is None
    mixed = SHAGParser(tags="mixed", **options).fit(annotated()).model_
    assert mixed.tagger is not None
    assert mixed.about["sentences"] == gold.about["sentences"] == len(annotated())
    assert SHAGParser("det", **options).fit(annotated()).model_.tagger is None


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("candidates", lambda numbers: numbers + 10_000),
        ("offsets", lambda numbers: numbers * 0),
        ("parts", lambda numbers: numbers + 10_000),
        ("coarse", lambda numbers: numbers - 1),
        ("weights", lambda weights: weights[:-1]),
    ],
)
def test_classes_that_do_not_fit_are_refused(tagger, part, change):
    # Kernels index without looking.
    with pytest.raises(ValueError, match="required"):
        replace(tagger.tagger, **{part: change(getattr(tagger.tagger, part))})
    with pytest.raises(ValueError, match="word classes"):
        replace(tagger, rules=tagger.rules[:-1])


def test_the_context_decides_whether_a_form_is_one_word():
    # "des" is "de les" after "près", and a determiner after "a".
    near = Sentence(
        (Token(1, "près"), Token(2, "de"), Token(3, "les"), Token(4, "lacs")),
        extras=((1, "2-3\tdes" + "\t_" * 8),),
    )
    has = Sentence((Token(1, "a"), Token(2, "des"), Token(3, "lacs")))
    splitter = fit_word_splitter([near, has] * 5)
    assert splitter.forms == ("des",)
    assert splitter.split(["a", "des", "oies"]) == {1: ["des"]}
    assert splitter.split(["près", "Des", "oies"]) == {1: ["De", "les"]}
    assert splitter.split(["rien"]) == {}
    assert fit_word_splitter([near] * 5) is None
    processor = learn_conllu_processor([near, has] * 5)
    first, second = conllu_sentences(["près des lacs\n", "\n", "a des lacs\n"], processor, splitter)
    assert first.words == ("près", "de", "les", "lacs")
    assert first.extras[0][1].startswith("2-3\tdes\t")
    assert second.words == ("a", "des", "lacs")


def test_self_training_adds_confident_parses_of_text():
    options = {"n_states": 2, "max_iter": 2, "start": "random", "epochs": 1, "n_jobs": 1}
    text = ["The wugs can gribble\n", "\n", "The wug gribbled\n"]
    every = SHAGParser(**options, min_confidence=0.0).fit(annotated(), text=text).model_
    assert every.about["parsed_sentences"] == 2
    assert every.about["sentences"] == len(annotated())
    assert "gribble" not in every.table.values[1]  # words must occur twice
    twice = SHAGParser(**options, min_confidence=0.0).fit(annotated(), text=text * 2).model_
    assert "gribble" in twice.table.values[1]
    with pytest.raises(OptionError, match="cannot read text"):
        SHAGParser(tags="gold", **options).fit(annotated(), text=text)
