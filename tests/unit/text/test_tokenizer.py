"""Words are cut as the treebank that was learnt from cuts them."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gramian.errors import OptionError
from gramian.text.detokenizer import ORTHOGRAPHIES, Orthography, detokenize
from gramian.text.feature_scores import FeatureScores
from gramian.text.rule_tokenizer import TextToken, TokenizedText
from gramian.text.text_training import learn_tokenizer, tokenization_f1
from gramian.text.tokenizer import Tokenizer


def learnt(sentences: list[str], language: str) -> Tokenizer:
    """Learn from sentences whose words have spaces between."""
    orthography = ORTHOGRAPHIES.get(language, Orthography())
    written = [detokenize(words, ["X"] * len(words), orthography) for words in map(str.split, sentences)]
    return learn_tokenizer(written * 3, orthography.boundary_mark)


def words(tokenizer: Tokenizer, text: str) -> list[str]:
    return [token.word for token in tokenizer.tokenize(text)]


FRENCH = learnt(
    [
        "L' eau de l' hiver est froide , n' est -ce pas ?",
        "M. Dupont dit qu' il vient parce_que l' ami dort .",
        "Viendra -t-il d' abord aujourd'_hui , M. Dupont ?",
        "Elle n' a qu' un ami ; dort -il ?",
    ],
    "fr",
)


def test_elision_clitics_abbreviations_and_compounds():
    assert words(FRENCH, "L'ami dort parce que M. Dupont n'est -ce pas?") == [
        "L'", "ami", "dort", "parce_que", "M.", "Dupont", "n'", "est", "-ce", "pas", "?",
    ]  # fmt: skip
    assert words(FRENCH, "Parce que l’eau dort-il") == ["Parce_que", "l’", "eau", "dort", "-il"]
    assert words(FRENCH, "aujourd'hui") == ["aujourd'_hui"]


def test_places_go_back_to_the_text():
    text = "  L'ami  dort parce que…"
    for word, start, end in FRENCH.tokenize(text):
        assert word.replace("_", " ") == text[start:end]


def test_contractions_stand_for_their_words():
    tokenizer = learnt(["a casa de a Ana", "em o fim de o dia", "vai a a casa", "a Ana vai"], "pt")
    assert words(tokenizer, "Da Ana ao fim do dia: à CASA DA Ana no fim")[:2] == ["De", "a"]
    assert words(tokenizer, "no fim da casa") == ["em", "o", "fim", "de", "a", "casa"]
    assert [token[1:] for token in tokenizer.tokenize("da casa")] == [(0, 2), (0, 2), (3, 7)]


def test_marks_of_cuts_inside_words():
    stems = ["hest", "dag", "veg", "arm", "stein", "hring"]
    tokenizer = learnt([f"sá {stem}$ $inn og {stem}" for stem in stems] + ["hann kom inn"], "is")
    assert words(tokenizer, "steinninn og dagur, hringinn")[-2:] == ["hring$", "$inn"]


def test_scripts_without_spaces():
    tokenizer = learnt(
        ["猫 が いる 。", "犬 も いる 。", "猫 も 犬 が 好き だ 。", "犬 が 猫 を 見 た 。"], "ja"
    )
    assert tokenizer.dense
    assert words(tokenizer, "犬がいる。") == ["犬", "が", "いる", "。"]


def test_what_stays_whole():
    text = "see https://a.org/x?y=1 @maria #theatre a.b@c.org 👍🏽 :-)"
    assert words(FRENCH, text)[1:] == text.split()[1:]


def test_quotes_as_in_the_treebank():
    penn = learnt(["`` We know '' , she said .", "He said `` no '' ."], "en")
    assert words(penn, '"We know", she said.')[:4] == ["``", "We", "know", "''"]
    assert '"' in words(learnt(['" We know " , she said .'], "en"), '"We know", she said.')


@given(st.text(alphabet="aB l'’.,-_$ 1\n\u3042", max_size=30))
def test_no_character_is_lost(text):
    for tokenizer in (FRENCH, Tokenizer(FeatureScores.of({}))):
        tokens = tokenizer.tokenize(text)
        spans = [(token.start, token.end) for token in tokens]
        assert spans == sorted(spans)
        assert "".join(text[start:end] for start, end in spans).split() == "".join(
            text.split()
        ).split() or any("_" in token.word for token in tokens)


def test_how_much_is_right_is_measured_on_sentences_held_out():
    known = [TokenizedText("l'eau", [TextToken("l'", 0, 2), TextToken("eau", 2, 5)])]
    other = [TokenizedText("d'eau", [TextToken("d'eau", 0, 5)])]
    assert learn_tokenizer(known * 60).f1 == 1.0
    assert learn_tokenizer(known * 54 + other * 6).f1 == 0.0
    assert tokenization_f1(FRENCH, known) == 1.0


def test_copies_and_bad_values():
    assert words(pickle.loads(pickle.dumps(FRENCH)), "l'ami") == ["l'", "ami"]
    with pytest.raises(OptionError, match="f1 must be between 0 and 1"):
        Tokenizer(FRENCH.scores, f1=2.0)
    with pytest.raises(OptionError, match="at least one word"):
        Tokenizer(FRENCH.scores, contractions=("du",), expansions=("",))
    with pytest.raises(OptionError, match="in order"):
        FeatureScores(np.array([2, 1], np.uint32), np.ones(2, np.float32))
    with pytest.raises(OptionError, match="weights has shape"):
        FeatureScores(np.array([1], np.uint32), np.ones(2, np.float32))
