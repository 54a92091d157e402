import pytest

from gramian.dependency.symbol_map import SymbolMap
from gramian.errors import OptionError
from gramian.trees import Sentence, Token


def words(*rows: tuple[str, str, str]) -> Sentence:
    return Sentence(
        tuple(Token(i, form, upos=upos, xpos=xpos) for i, (form, upos, xpos) in enumerate(rows, 1))
    )


TRAIN = [words(("The", "DET", "DT"), ("dog", "NOUN", "NN"), ("the", "DET", "DT"), ("dogs", "NOUN", "NNS"))]


def test_auto_takes_xpos_where_it_says_something():
    assert SymbolMap.fit(TRAIN).column == "xpos"
    bare = [words(("a", "DET", "_"), ("b", "NOUN", "_"))]
    assert SymbolMap.fit(bare).column == "upos"
    many = [words(*((f"w{i}", "NOUN", f"tag{i}") for i in range(101)))]
    assert SymbolMap.fit(many).column == "upos"


def test_new_symbols_are_unknown():
    mapping = SymbolMap.fit(TRAIN, "xpos")
    assert mapping.names == ("DT", "NN", "NNS", "<unknown>")
    assert mapping(words(("he", "PRON", "PRP"), ("dog", "NOUN", "NN")).tokens) == ["<unknown>", "NN"]


def test_xpos_falls_back_to_upos():
    mapping = SymbolMap.fit([*TRAIN, words(("he", "PRON", "_"))], "xpos")
    assert mapping(words(("she", "PRON", "_")).tokens) == ["PRON"]


def test_frequent_words_are_symbols_of_their_own():
    mapping = SymbolMap.fit(TRAIN, "upos", frequent_words=1)
    assert mapping(TRAIN[0].tokens) == ["DET/the", "NOUN", "DET/the", "NOUN"]
    assert mapping(words(("a", "DET", "DT")).tokens) == ["DET"]


def test_buckets_refine_tags_by_form():
    mapping = SymbolMap.fit(TRAIN, "upos", buckets=1000)
    first, second, third, fourth = mapping(TRAIN[0].tokens)
    assert first == third  # same tag and lower-cased form
    assert second != fourth
    assert second.startswith("NOUN#")


def test_a_function_chooses():
    mapping = SymbolMap.fit(TRAIN, lambda token: token.form[0])
    assert mapping(words(("door", "X", "X"), ("zoo", "X", "X")).tokens) == ["d", "<unknown>"]


def test_a_wrong_choice_is_refused():
    with pytest.raises(OptionError, match="symbols"):
        SymbolMap.fit(TRAIN, "lemma")  # type: ignore[arg-type]
