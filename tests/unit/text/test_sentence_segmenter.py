"""Running text is cut into sentences where a reader would cut it."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gramian.text.feature_scores import FeatureScores
from gramian.text.sentence_segmenter import SentenceSegmenter, gaps
from gramian.text.text_training import learn_segmenter


def parts(text: str, segmenter: SentenceSegmenter | None = None) -> list[str]:
    return [text[start:end] for start, end in (segmenter or SentenceSegmenter()).segment(text)]


@pytest.mark.parametrize(
    "sentences",
    [
        ["I came.", "I saw.", "I conquered."],
        ["Mr. J. Fox met Dr. Lee at 5 p.m. in St. Ives.", "They talked."],
        ['"Stop!"', "The guard shouted."],
        ["It rose by 3.5 to 4.25.", "Nobody cared..."],
        ["What now?", "Go!", "(He left.)", "She stayed."],
        ["Visit www.example.org.", "Write to a@b.org."],
    ],
)
def test_sentences_of_a_line(sentences):
    assert parts(" ".join(sentences)) == sentences


def test_line_breaks_of_wrapped_text_end_nothing():
    text = "This is a line that was broken because it\nhad grown too long for\nits page. A second sentence."
    assert parts(text.replace("for\n", "for the very narrow\n")) == [
        "This is a line that was broken because it\nhad grown too long for the very narrow\nits page.",
        "A second sentence.",
    ]


def test_headings_items_and_empty_lines_end_sentences():
    text = "A Title\nThe text begins here and it goes on for quite a while\n\nno capital here\n- one item\n- another item"
    assert parts(text) == [
        "A Title",
        "The text begins here and it goes on for quite a while",
        "no capital here",
        "- one item",
        "- another item",
    ]


def test_scripts_without_spaces():
    assert parts("\u732b\u304c\u3044\u308b\u3002\u72ac\u3082\u3044\u308b\u3002") == [
        "\u732b\u304c\u3044\u308b\u3002",
        "\u72ac\u3082\u3044\u308b\u3002",
    ]


def test_lines_that_are_not_wrapped_end_sentences():
    assert parts("the dog barks\nthe cat sleeps on the mat\nyes") == [
        "the dog barks",
        "the cat sleeps on the mat",
        "yes",
    ]
    long = "the dog barks at the cat that sleeps on the mat"
    assert parts(f"{long}\nthe cat\na dog\nyes") == [long, "the cat", "a dog", "yes"]


def test_marks_alone_begin_no_sentence():
    assert parts("He left . . . Then she came .") == ["He left . . .", "Then she came ."]


@given(st.text(alphabet="aB .!?\n\"'()1-\u3002\t", max_size=60))
def test_nothing_but_white_space_is_lost(text):
    spans = SentenceSegmenter().segment(text)
    assert all(before.end <= after.start for before, after in pairwise(spans))
    assert "".join("".join(text[start:end].split()) for start, end in spans) == "".join(text.split())


def test_what_is_learnt_goes_beyond_rules():
    document = ["we saw the cat", "The abbr. Cat slept", "the dog ran", "The abbr. Dog sat"] * 30
    segmenter = learn_segmenter([document])
    text = "we saw the dog The abbr. Cat ran"
    assert parts(text, segmenter) == ["we saw the dog", "The abbr. Cat ran"]
    assert parts(text) != parts(text, segmenter)
    assert learn_segmenter([["one sentence only"]]).scores is None


@pytest.mark.parametrize(
    "sentences",
    [
        ["Dr. J. R. Smith arrived.", "He sat down."],
        ["It costs $5.", "Then we left."],
        ["It rose by 3.5%.", "Analysts cheered."],
        ["We live in the U.S.", "It is large."],
        ["She left.", "J.K. Rowling wrote it."],
        ["He came at 5 a.m.", "Then he slept."],
        ["The U.S. Senate met Prof. A. B. Lee at 5 p.m. on Monday."],
        ["It ended in 1999.", "In 2000 it began."],
        ["See Fig. 3 and No. 5 of it."],
    ],
)
def test_initials_titles_amounts_and_acronyms(sentences):
    """Rules decide, whatever the scores of a model are."""
    text = " ".join(sentences)
    for weight in (-9.0, 9.0):
        scores = FeatureScores.of({"bias": weight})
        assert any(gap.certain is not None for gap in gaps(text))
        cuts = {span.end for span in SentenceSegmenter(scores).segment(text)}
        assert all((gap.end in cuts) == gap.certain for gap in gaps(text) if gap.certain is not None)
    ends = {len(" ".join(sentences[: n + 1])) for n in range(len(sentences))}
    assert all((gap.end in ends) == gap.certain for gap in gaps(text) if gap.certain is not None)


@pytest.mark.parametrize("line", ["Mill to Close After Long Strike", "MILL TO CLOSE AFTER LONG STRIKE"])
def test_headlines_end_where_their_line_ends(line):
    ends_anywhere = SentenceSegmenter(FeatureScores.of({"bias": 1.0}))
    assert parts(f"{line}\nIt is old.", ends_anywhere)[0] == line
    assert len(parts("we met Mill owners Then we left", ends_anywhere)) > 1
