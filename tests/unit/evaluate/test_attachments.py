from dataclasses import replace

import pytest

from gramian.errors import OptionError, ScoreError
from gramian.evaluate import attachment_scores, paired_bootstrap
from gramian.evaluate.attachments import is_punctuation
from gramian.trees.conllu import Sentence, Token

GOLD = Sentence(
    (
        Token(1, "Dogs", upos="NOUN", head=2, deprel="nsubj:pass"),
        Token(2, "bark", upos="VERB", head=0, deprel="root"),
        Token(3, "loudly", upos="ADV", head=2, deprel="advmod"),
        Token(4, ".", upos="PUNCT", head=2, deprel="punct"),
    )
)


def test_heads_and_relations_with_and_without_punctuation() -> None:
    predicted = GOLD.with_heads([2, 0, 2, 3], ["nsubj", "root", "advmod", "punct"])
    scores = attachment_scores([GOLD], [predicted])
    # Right heads: Dogs, bark, loudly; right relations with them: bark, loudly.
    assert scores.as_dict() == {
        "sentences": 1,
        "words": 4,
        "uas": 75.0,
        "las": 50.0,
        "uas_no_punctuation": 100.0,
        "las_no_punctuation": pytest.approx(200 / 3, abs=1e-12),
    }
    assert attachment_scores([GOLD], [predicted], subtypes=False).las == 75
    assert "relations:full" in scores.signature("las")
    assert "relations:none" in scores.signature("uas")
    assert "punct:deleted" in scores.signature("uas_no_punctuation")
    with pytest.raises(OptionError, match="unknown metric"):
        scores.value("f1")


def test_bare_heads_have_neither_relations_nor_punctuation() -> None:
    scores = attachment_scores([[2, 0, 2], [0]], [[3, 0, 2], [0]])
    assert scores.uas == scores.las == scores.value("uas_no_punctuation") == 75
    assert not scores.labelled


def test_bare_heads_against_sentences() -> None:
    scores = attachment_scores([GOLD], [[2, 0, 2, 3]])
    assert (scores.uas, scores.value("uas_no_punctuation")) == (75, 100)


def test_statistics_feed_the_tests_of_differences() -> None:
    perfect = attachment_scores([[2, 0]] * 20, [[2, 0]] * 20)
    half = attachment_scores([[2, 0]] * 20, [[0, 0]] * 20)
    outcome = paired_bootstrap(perfect.statistics("uas"), half.statistics("uas"), samples=199)
    assert (outcome.first, outcome.second, outcome.p_value) == (100, 50, 1 / 200)


@pytest.mark.parametrize(
    ("token", "expected"),
    [
        (Token(1, ",", upos="PUNCT"), True),
        (Token(1, "%", upos="SYM"), False),
        (Token(1, "``", upos="``"), True),
        (Token(1, "(", upos="_"), True),
        (Token(1, "«", upos="PU"), True),
        (Token(1, "a.", upos="_"), False),
    ],
)
def test_what_is_punctuation(token: Token, expected: bool) -> None:
    assert is_punctuation(token) is expected


def test_sentences_that_do_not_fit_are_named() -> None:
    with pytest.raises(ScoreError, match="gold has 2 sentences, the prediction 1"):
        attachment_scores([GOLD, GOLD], [GOLD])
    with pytest.raises(ScoreError, match="sentence 1 has 4 words in gold, 1 in the prediction"):
        attachment_scores([GOLD], [[0]])
    other = Sentence((*GOLD.tokens[:2], replace(GOLD.tokens[2], form="softly"), GOLD.tokens[3]))
    with pytest.raises(
        ScoreError, match="sentence 1: word 3 is 'loudly' in gold, 'softly' in the prediction"
    ):
        attachment_scores([GOLD], [other])
    with pytest.raises(ScoreError, match="no sentence"):
        attachment_scores([], [])
