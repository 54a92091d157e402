"""The metrics of CoNLL 2018 on cases worked by hand."""

import pytest

from gramian.errors import ScoreError
from gramian.evaluate import conll_scores
from gramian.trees import Sentence, Token


def sentence(*rows: str, extras: tuple[tuple[int, str], ...] = ()) -> Sentence:
    """Return words given as "form lemma UPOS FEATS head relation"."""
    tokens = []
    for number, row in enumerate(rows, 1):
        form, lemma, upos, feats, head, deprel = row.split()
        tokens.append(Token(number, form, lemma, upos, "_", feats, int(head), deprel))
    return Sentence(tuple(tokens), extras=extras)


def joined(first: int, last: int, form: str) -> tuple[int, str]:
    return first - 1, f"{first}-{last}\t{form}" + "\t_" * 8


# She has seen the cats . -- content words: She, seen, cats; function words: has (of seen), the (of cats)
GOLD = sentence(
    "She she PRON Case=Nom 3 nsubj",
    "has have AUX VerbForm=Fin 3 aux",
    "seen see VERB VerbForm=Part 0 root",
    "the the DET _ 5 det",
    "cats cat NOUN Number=Plur 3 obj",
    ". . PUNCT _ 3 punct",
)


def changed(number: int, **columns: object) -> Sentence:
    from dataclasses import replace

    tokens = tuple(replace(token, **columns) if token.id == number else token for token in GOLD.tokens)
    return Sentence(tokens)


def f1(gold: list[Sentence], system: list[Sentence]) -> dict[str, float]:
    return {name: round(score.f1, 3) for name, score in conll_scores(gold, system).items()}


def test_the_same_file_scores_100():
    assert set(f1([GOLD], [GOLD]).values()) == {100.0}


def test_a_wrong_tag_of_a_function_word_costs_mlas_of_its_head():
    scores = f1([GOLD], [changed(4, upos="PRON")])
    assert scores["UPOS"] == scores["AllTags"] == round(500 / 6, 3)
    assert scores["UAS"] == scores["LAS"] == scores["CLAS"] == scores["BLEX"] == 100.0
    assert scores["MLAS"] == round(200 / 3, 3)  # "cats" is wrong because of "the"


def test_a_wrong_head_of_punctuation_costs_uas_and_las_only():
    scores = f1([GOLD], [changed(6, head=5)])
    assert scores["UAS"] == scores["LAS"] == round(500 / 6, 3)
    assert scores["CLAS"] == scores["MLAS"] == scores["BLEX"] == 100.0


def test_lemmas_count_in_blex_and_only_where_gold_has_them():
    scores = f1([GOLD], [changed(5, lemma="cats")])
    assert (scores["Lemmas"], scores["BLEX"]) == (round(500 / 6, 3), round(200 / 3, 3))
    without = changed(5, lemma="_")
    assert f1([without], [GOLD])["Lemmas"] == 100.0
    assert f1([GOLD], [without])["Lemmas"] == round(500 / 6, 3)


def test_subtypes_and_features_of_one_language_are_not_compared():
    system = changed(1, deprel="nsubj:pass", feats="Case=Nom|Dialect=Odd")
    assert set(f1([GOLD], [system]).values()) == {100.0}
    scores = f1([GOLD], [changed(1, feats="_")])
    assert (scores["UFeats"], scores["MLAS"]) == (round(500 / 6, 3), round(200 / 3, 3))


def test_a_function_relation_that_became_a_content_relation_counts_as_a_predicted_content_word():
    scores = conll_scores([GOLD], [changed(4, deprel="nmod")])
    clas = scores["CLAS"]
    assert (clas.correct, clas.gold, clas.system) == (3, 3, 4)
    assert scores["MLAS"].correct == 2  # "cats" has lost its function word


def test_other_tokens_are_aligned_by_characters():
    # Gold "do n't go", system "don't go": of three gold words and two system words only "go" is aligned.
    gold = sentence("do do AUX _ 3 aux", "n't not PART _ 3 advmod", "go go VERB _ 0 root")
    system = sentence("don't do AUX _ 2 aux", "go go VERB _ 0 root")
    scores = conll_scores([gold], [system])
    words, uas = scores["Words"], scores["UAS"]
    assert (words.correct, words.gold, words.system) == (1, 3, 2)
    assert (uas.correct, uas.precision, uas.recall, uas.f1) == (1, 50.0, pytest.approx(100 / 3), 40.0)
    assert uas.accuracy == 100.0
    assert scores["Sentences"].f1 == 100.0


def test_a_head_outside_the_alignment_is_wrong():
    gold = sentence("do do AUX _ 0 root", "n't not PART _ 1 advmod", "go go VERB _ 1 xcomp")
    system = sentence("don't do AUX _ 0 root", "go go VERB _ 1 xcomp")
    assert conll_scores([gold], [system])["UAS"].correct == 0


def test_sentences_split_elsewhere_still_compare_words():
    gold = [sentence("a a X _ 0 root"), sentence("b b X _ 0 root", "c c X _ 1 dep")]
    system = [sentence("a a X _ 0 root", "b b X _ 1 dep"), sentence("c c X _ 0 root")]
    scores = conll_scores(gold, system)
    assert scores["Sentences"].correct == 0
    assert (scores["Tokens"].f1, scores["Words"].f1) == (100.0, 100.0)
    assert scores["UAS"].correct == 1  # "a" is a root in both


def test_words_of_a_contraction_are_aligned_by_their_forms():
    # Gold: du = de + le, written in one token; the system: du = de + la. The common subsequence is "de".
    words = "de de ADP _ 3 case", "le le DET _ 3 det", "chat chat NOUN _ 0 root"
    gold = sentence(*words, extras=(joined(1, 2, "du"),))
    other = sentence(words[0], words[1].replace("le", "la"), words[2], extras=(joined(1, 2, "du"),))
    scores = conll_scores([gold], [other])
    assert (scores["Tokens"].correct, scores["Tokens"].gold) == (2, 2)
    assert (scores["Words"].correct, scores["Words"].gold, scores["Words"].system) == (2, 3, 3)
    whole = sentence("du du ADP _ 2 case", "chat chat NOUN _ 0 root")
    assert conll_scores([gold], [whole])["Words"].correct == 1
    assert conll_scores([gold], [whole])["Tokens"].f1 == 100.0


def test_a_contraction_covers_what_the_other_file_writes_as_words():
    # Gold writes "vámo" + "nos" as two tokens; the system has one contraction with these words.
    words = "vamos ir VERB _ 0 root", "nos nós PRON _ 1 obj"
    gold = sentence(*words)
    system = sentence(*words, extras=(joined(1, 2, "vamosnos"),))
    scores = conll_scores([gold], [system])
    assert (scores["Tokens"].correct, scores["Words"].correct, scores["LAS"].correct) == (0, 2, 2)


def test_other_text_is_named():
    other = sentence("She she PRON _ 0 root")
    with pytest.raises(ScoreError, match=r"after 3 characters.*gold continues 'hasseenthecats\.'.*''"):
        conll_scores([GOLD], [other])


def test_files_without_heads_have_no_correct_arcs():
    bare = Sentence(tuple(Token(token.id, token.form, token.lemma, token.upos) for token in GOLD.tokens))
    scores = conll_scores([GOLD], [bare])
    assert (scores["UPOS"].f1, scores["UAS"].correct, scores["LAS"].correct) == (100.0, 0, 0)
