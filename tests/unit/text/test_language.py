"""The language of a sentence is told from its script and function words, within the sentence."""

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


SHORT = {
    "de": [
        "Der Hund schläft im Garten .",
        "Wir fahren morgen nach Berlin .",
        "Die Kinder spielen auf der Straße .",
    ],
    "fr": ["J'aime le café .", "Peux-tu m'aider ?", "Le train arrive à huit heures ."],
    "es": ["El perro duerme en el jardín .", "Mañana vamos a Madrid .", "¿ Dónde está la estación ?"],
    "it": ["Dov'è la stazione ?", "Il treno arriva alle otto .", "Oggi fa molto bello ."],
    "nl": ["Waar is het station ?", "De hond slaapt in de tuin .", "Kun je me helpen ?"],
    "pt": ["Você pode me ajudar ?", "Eu gosto de café .", "Onde fica a estação ?"],
}
IN_ENGLISH_TOO = {
    "de",
    "garten",
    "die",
    "la",
    "in",
    "is",
    "me",
    "station",
    "train",
    "a",
    "no",
    "berlin",
    "madrid",
    "fa",
    "i",
    "m",
}


@pytest.mark.parametrize(
    ("language", "sentence"), [(code, text) for code, texts in SHORT.items() for text in texts]
)
def test_short_sentences_with_few_function_words(language, sentence):
    words = sentence.split()
    assert foreign_language(words, "en", IN_ENGLISH_TOO.__contains__) == language
    assert foreign_language(words, language, lambda _: True) is None


def test_words_that_a_tokenizer_has_split_are_read_as_they_were_written():
    tokens, chunks = (
        ["Der", "Hund", "schläft", "i", "m", "Garten", "."],
        ["Der", "Hund", "schläft", "im", "Garten."],
    )
    assert foreign_language(tokens, "en", IN_ENGLISH_TOO.__contains__, chunks=chunks) == "de"


@pytest.mark.parametrize(
    "sentence",
    [
        "Mail : anna@example.com",
        "See http://www.example.es/de/la.html",
        "E2f3 and Rb expression in SACs",
        "He commits no tort .",
    ],
)
def test_addresses_and_rare_words_are_not_foreign(sentence):
    english = {"mail", "see", "and", "expression", "in", "he", "no"}
    assert foreign_language(sentence.split(), "en", english.__contains__) is None
