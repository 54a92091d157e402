"""The tokeniser: as NLTK's on ordinary sentences, its own way where that is said, and nothing lost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gramian.errors import OptionError
from gramian.text.rule_tokenizer import TextToken, tokenize

ORDINARY = """
The old man the boat.
"Don't go," Mr. Fox's aunt said (twice).
They can't, won't and shouldn't do it; I'd say so.
He cannot, but he's gonna, isn't he?
It cost $1,000.50 (about 900 euros) at 10:30 a.m. on Jan. 5, 1999.
The dogs' bowls -- all three -- were empty...
"Well," he said, "that's it!"
In the U.S., prices rose 5.3%.
He paid 3/4 of it, i.e. 75% & more.
A well-known co-op; the rock'n'roll era.
[See note 3] {or not} <maybe>
Who's there? We'll see, they've gone, you're late, I'm here.
Wait... what?!
The company (NYSE: XYZ) fell.
He said "no". She said "yes."
O'Brien's car is John and Mary's #1 hit.
``Yes,'' he said.
It's 5 o'clock, isn't it.
a, b, and c: d
No final stop
Hello. There is more. End.
Mr. Smith's "so-called" friend -- Dr. Jones -- left.
Items 1, 2 and 3:
He ran 3,5 km, at 12:05.
I wanna go, gimme that, lemme see, gotta run.
She said, 'I can't.'
That was (in 1999).
"""


def words(text: str) -> list[str]:
    return [token.word for token in tokenize(text)]


def test_as_nltk_does():
    from nltk.tokenize import NLTKWordTokenizer

    oracle = NLTKWordTokenizer()
    for sentence in ORDINARY.strip().splitlines():
        assert words(sentence) == oracle.tokenize(sentence)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("See https://a.example/b?c=d&e, or mail x.y@z.example.", "See https://a.example/b?c=d&e , or mail x.y@z.example ."),
        ("AT&T and R&D are fine & good", "AT&T and R&D are fine & good"),
        # Versions of NLTK differ in these.
        ("She asked: \"Is it 'true'?\"", "She asked : `` Is it ' true ' ? ''"),
        ("'Hello,' she said.", "' Hello , ' she said ."),
        ("\"'So it goes,'\" he wrote.", "`` ' So it goes , ' '' he wrote ."),
        ("We don’t know the dogs’ names", "We do n’t know the dogs ’ names"),
        ("You shouldn't've gone", "You should n't 've gone"),
        ("'Tis so, 'twas so", "'T is so , 't was so"),
        ("back in the '90s, take 'em", "back in the '90s , take 'em"),
        ("“Quoted” — and so on…", "“ Quoted ” — and so on …"),
        ("a---b", "a --- b"),
        ("''", "''"),
        ("'", "'"),
        ("x\u00a0y\0z", "x y z"),
        ("", ""),
        (" \n ", ""),
        ('He said ("no")', "He said ( `` no '' )"),
    ],
)  # fmt: skip
def test_its_own_way(text, expected):
    assert words(text) == expected.split()


def test_offsets():
    assert tokenize('He\'s "in".') == [
        TextToken("He", 0, 2), TextToken("'s", 2, 4), TextToken("``", 5, 6), TextToken("in", 6, 8), TextToken("''", 8, 9),
        TextToken(".", 9, 10),
    ]  # fmt: skip


@given(
    st.text(st.sampled_from("ab'’\"`.,:;-&@/()[]1 \nTNt“”…—$%?!") | st.characters(exclude_categories=["Cs"]))
)
def test_nothing_is_lost(text):
    tokens = tokenize(text)
    end = 0
    for token in tokens:
        assert end <= token.start < token.end
        assert text[end : token.start].replace("\0", "").strip() == ""
        assert token.word == text[token.start : token.end] or text[token.start : token.end] == '"'
        assert token.word
        assert not any(character.isspace() or character == "\0" for character in token.word)
        end = token.end
    assert text[end:].replace("\0", "").strip() == ""


def test_spaces_only():
    assert tokenize("don't  stop.", "spaces") == [TextToken("don't", 0, 5), TextToken("stop.", 7, 12)]
    with pytest.raises(OptionError, match="'penn' or 'spaces'"):
        tokenize("a", "words")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Thanks @maria for #theatre!", ["Thanks", "@maria", "for", "#theatre", "!"]),
        ("ask info@example.org, see https://a.org/b?c=1.", ["ask", "info@example.org", ",", "see", "https://a.org/b?c=1", "."]),
        ("No. #5 @ 3", ["No.", "#", "5", "@", "3"]),
        ("great 👍🏽🎉 :-) <3", ["great", "👍🏽", "🎉", ":-)", "<3"]),
        ("We don’t know it’s Ann’s.", ["We", "do", "n’t", "know", "it", "’s", "Ann", "’s", "."]),
    ],
)  # fmt: skip
def test_what_people_write_today(text, words):
    assert [token.word for token in tokenize(text)] == words
