"""The language of a sentence is told from its script and function words, within the sentence."""

from __future__ import annotations

import pytest

from gramian.text.language import UNDETERMINED, foreign_language

SENTENCES = {
    "fr": "Le chat est sur la table .",
    "de": "Ich habe das nicht gewusst , aber es ist gut .",
    "es": "No me gusta la casa de los vecinos .",
    "it": "Non è una cosa che si fa con gli amici .",
    "nl": "Het is niet de eerste keer dat ik het zie .",
    "hu": "Az a ház , ami ott van , nem az enyém .",
    "ru": "Он не знал , что это было так .",
    "zh": "他 在 家里 吃饭 。",
    "ja": "猫 が 家 に いる 。",
    "ko": "나는 집에 있다 .",
    "el": "Το σπίτι είναι μεγάλο .",
    "ar": "هذا بيت كبير .",
}


@pytest.mark.parametrize("language", SENTENCES)
def test_foreign_sentences(language):
    words = SENTENCES[language].split()
    assert foreign_language(words, "en") == language
    assert foreign_language(words, language) is None


@pytest.mark.parametrize(
    "sentence",
    [
        "The chef de cuisine and the maître d' left .",
        "We saw Les Misérables at the Teatro alla Scala .",
        "An man die war hat .",
        "42 , 17 !",
        "",
        "α and β are angles of the triangle .",
        "Mr. Müller met Señora García in São Paulo .",
    ],
)
def test_english_sentences(sentence):
    assert foreign_language(sentence.split(), "en") is None


def test_the_vocabulary_decides_where_function_words_are_few():
    words = ["Kesin", "bir", "dille", "reddedildi"]
    assert foreign_language(words, "en") is None
    assert foreign_language(words, "en", lambda _: False) == "tr"
    assert foreign_language(["Quux", "blorgle", "fnord", "zyx"], "en", lambda _: False) == UNDETERMINED
    assert foreign_language(["Quux", "blorgle", "fnord", "zyx"], "en", lambda word: word > "n") is None


def test_models_of_unknown_language_go_by_their_vocabulary():
    words = ["un", "deux", "trois", "quatre", "cinq", "six", "sept", "huit"]
    assert foreign_language(words, None, lambda _: False) == UNDETERMINED
    assert foreign_language(words, None, lambda _: True) is None
    assert foreign_language(words[:7], None, lambda _: False) is None
