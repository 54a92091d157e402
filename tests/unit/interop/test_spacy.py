"""The spaCy component in real pipelines: tokens stay, every sentence has its tree, attributes agree with the parser."""

import pickle
import subprocess
import sys
from pathlib import Path

import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokens import Doc

import gramian
from gramian.errors import InputError, OptionError
from gramian.trees import Tree

MODEL = str(Path(__file__).parents[1] / "grammar" / "fixtures" / "version-1.grammar")
TREE = "(S (NP (DT the) (NN dog)) (VP (VB barks)) (. .))"


def pipeline(**config):
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    nlp.add_pipe("gramian", config={"model": MODEL, **config})
    return nlp


@pytest.fixture(scope="module")
def nlp():
    return pipeline()


@pytest.fixture(scope="module")
def parser():
    return gramian.load(MODEL)


def test_the_entry_point_is_enough():
    code = (
        "import sys, spacy; nlp = spacy.blank('en'); assert 'numba' not in sys.modules; nlp.add_pipe('sentencizer'); "
        f"nlp.add_pipe('gramian', config={{'model': {MODEL!r}}}); print(list(nlp('the dog barks .').sents)[0]._.parse_string)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == TREE + "\n"


def test_gramian_does_not_load_spacy():
    code = "import sys, gramian, gramian.interop, gramian.parsing.parser; print('spacy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_attributes_by_hand(nlp):
    doc = nlp("the dog barks .")
    (sentence,) = doc.sents
    assert sentence._.parse_string == TREE
    assert sentence._.labels == ("S",)
    assert sentence._.parent is None
    assert sentence._.parse_status == "parsed"
    assert [part.text for part in sentence._.children] == ["the dog", "barks", "."]
    assert [part.text for part in sentence._.constituents] == [
        "the dog barks .", "the dog", "the", "dog", "barks", ".",
    ]  # fmt: skip
    dog, barks = doc[1], doc[2]
    assert (dog._.labels, dog._.parse_string, dog._.parent.text) == ((), "(NN dog)", "the dog")
    assert (barks._.labels, barks._.parse_string, barks._.parent) == (("VP",), "(VP (VB barks))", sentence)
    assert list(doc[1:2]._.children) == []
    assert doc[0:2]._.labels == ("NP",)
    assert doc[0:2]._.parent == sentence


def test_confidences_are_the_parsers(nlp, parser):
    doc = nlp("the dog barks .")
    uppermost: dict[tuple[int, int], float] = {}
    for _, start, end, sure in parser.parse(["the", "dog", "barks", "."]).spans:
        uppermost.setdefault((start, end), sure)
    assert len(uppermost) == 6
    for (start, end), sure in uppermost.items():
        assert doc[start:end]._.confidence == pytest.approx(sure, rel=1e-12)
    assert doc[1]._.confidence == doc[1:2]._.confidence


def test_sentences_and_white_space(nlp):
    doc = nlp("  the dog barks. \n\n The  dog\tbarks.\n")
    words = [[token.text for token in sentence if not token.is_space] for sentence in doc.sents]
    assert words == [["the", "dog", "barks", "."], ["The", "dog", "barks", "."], []]
    *sentences, empty = doc.sents
    assert (empty._.labels, empty._.parse_string, empty._.parse_status) == ((), "", "empty")
    for sentence in sentences:
        assert sentence._.labels == ("S",)
        assert all(not part[0].is_space and not part[-1].is_space for part in sentence._.constituents)
    white = next(token for token in doc if token.is_space)
    assert (white._.labels, white._.parse_string, white._.confidence) == ((), "", 0.0)


@pytest.mark.parametrize("text", ["", " ", "\n\n \t", ".", "dog"])
def test_little_or_nothing(nlp, text):
    for sentence in nlp(text).sents:
        assert len(Tree.parse(sentence._.parse_string or "()").words) == len(text.split())


WORDS = st.sampled_from(
    ["the", "dog", "barks", ".", "(", ")", "\n", " ", "\u00a0", "New York", '"', "-LRB-", "x\0y", "o)o"]
)


@given(words=st.lists(WORDS, max_size=9), starts=st.sets(st.integers(1, 8)))
def test_no_token_is_changed(words, starts, nlp, parser):
    doc = Doc(
        nlp.vocab, words=words, sent_starts=[place == 0 or place in starts for place in range(len(words))]
    )
    before = [token.text for token in doc]
    nlp.get_pipe("gramian")(doc)
    assert [token.text for token in doc] == before == words
    for sentence in doc.sents:
        kept = [token.text for token in sentence if token.text.strip()]
        tree = Tree.parse(sentence._.parse_string) if kept else Tree("")
        in_brackets = [word.replace(" ", "_").replace("\0", "_") for word in kept]
        assert [word.replace("-LRB-", "(") for word in in_brackets] == list(tree.words)
        constituents = list(sentence._.constituents)
        assert len({(part.start, part.end) for part in constituents}) == len(constituents)
        for part in constituents:
            assert part._.parse_string in sentence._.parse_string
            for child in part._.children:
                assert child._.parent == part
                assert child in constituents
        if '"' not in kept and kept:
            expected = parser.parse(in_brackets)
            assert tree == expected.tree
            assert sentence._.parse_status == expected.status


def test_double_quotes_are_read_by_their_side(nlp, parser):
    doc = nlp('the "dog" barks .')
    (sentence,) = doc.sents
    assert sentence._.parse_string.replace(' "', " ''") == str(
        parser.parse(["the", "``", "dog", "''", "barks", "."]).tree
    ).replace("``", "''")


def test_what_is_no_phrase(nlp):
    doc = nlp("the dog barks .")
    with pytest.raises(InputError, match=r"'dog barks' is not a phrase.*\ntry: take a sentence"):
        _ = doc[1:3]._.labels
    with pytest.raises(InputError, match="not a phrase"):
        _ = nlp("the dog barks. the dog barks.")[0:8]._.labels


def test_what_is_missing_is_said():
    nlp = spacy.blank("en")
    with pytest.raises(InputError, match="has not been parsed"):
        _ = nlp("the dog")[0]._.labels
    nlp.add_pipe("gramian", config={"model": MODEL})
    with pytest.raises(InputError, match=r'no sentence boundaries\ntry: add them.*"sentencizer"'):
        nlp("the dog barks .")
    with pytest.raises(InputError, match="no sentence boundaries"):
        list(nlp.pipe(["the dog barks ."]))
    missed = []
    nlp.set_error_handler(lambda name, component, docs, error: missed.append((name, docs[0].text)))
    assert list(nlp.pipe(["the dog barks ."])) == []
    assert missed == [("gramian", "the dog barks .")]
    with pytest.raises(OptionError, match="decoder must be one of"):
        spacy.blank("en").add_pipe("gramian", config={"model": MODEL, "decoder": "best"})


def test_tokens_changed_afterwards(nlp):
    doc = nlp("the dog barks .")
    with doc.retokenize() as retokeniser:
        retokeniser.merge(doc[0:2])
    with pytest.raises(InputError, match="merged or split after"):
        _ = doc[0]._.labels


@pytest.mark.parametrize("jobs", [1, 2])
def test_many_documents_come_in_order(jobs):
    texts = ["the dog barks. the cat barks.", "", "the cat", "  ", *["the dog barks."] * 40]
    docs = list(pipeline(n_jobs=jobs).pipe(texts, batch_size=7))
    assert [doc.text for doc in docs] == texts
    assert [len(list(doc.sents)) for doc in docs[:4]] == [2, 0, 1, 1]
    assert docs[0]._.gramian == pipeline()(texts[0])._.gramian
    assert all(next(doc.sents)._.parse_string == TREE for doc in docs[4:])


def test_documents_and_pipelines_are_kept(nlp, tmp_path):
    doc = nlp("the dog barks .")
    read = Doc(nlp.vocab).from_bytes(doc.to_bytes())
    assert next(read.sents)._.parse_string == TREE
    assert read[0:2]._.confidence == doc[0:2]._.confidence
    nlp.to_disk(tmp_path / "pipeline")
    assert next(spacy.load(tmp_path / "pipeline")("the dog barks .").sents)._.parse_string == TREE
    assert next(pickle.loads(pickle.dumps(nlp.get_pipe("gramian")))(doc).sents)._.parse_string == TREE


def test_no_problem_is_seen_by_spacy(nlp):
    assert nlp.analyze_pipes()["problems"] == {"sentencizer": [], "gramian": []}
