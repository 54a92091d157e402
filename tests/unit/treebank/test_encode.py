"""Bracket text as token codes."""

from gramian.treebank.encode import TokenCodes


def test_labels_words_and_closing_brackets_have_codes():
    codes = TokenCodes()
    assert codes.encode("(NP (DT the) ( NN cat))").tolist() == [0, 2, 1, -1, 4, 3, -1, -1]
    assert (codes.labels, codes.words) == (["NP", "DT", "NN"], ["the", "cat"])


def test_words_under_one_tag_are_joined():
    codes = TokenCodes()
    tokens, joined = codes.join_words(codes.encode("(NNP New York)"))
    assert (tokens.tolist(), codes.words[2], joined) == ([0, 5, -1], "New_York", ["New York"])
