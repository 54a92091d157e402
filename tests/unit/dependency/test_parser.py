import json

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file
from sklearn.base import clone
from toy_treebank import toy_sentences

from gramian.dependency import DependencyParser, HeadBasis, SHAGParser, SymbolOptions
from gramian.errors import InputError, ModelFileError, OptionError
from gramian.io.model_files import checksum
from gramian.trees import Sentence, Token, is_projective

TRAIN, TEST = toy_sentences(200, seed=1), toy_sentences(60, seed=2)
QUICK = {"n_states": 3, "max_iter": 5, "start": "random", "epochs": 2}


@pytest.fixture(scope="module")
def learner() -> SHAGParser:
    return SHAGParser(**QUICK).fit(TRAIN)


@pytest.fixture(scope="module")
def parser(learner) -> DependencyParser:
    return learner.model_


def test_factors_see_the_words_that_tags_hide(learner):
    # "with" and "of" have the same tags; automata over tags alone cannot tell where the phrase goes.
    assert learner.score(toy_sentences(600, seed=3)) > 0.985
    assert SHAGParser("em", **QUICK).fit(TRAIN).score(TEST) < 0.98


@pytest.mark.parametrize("method", ["em", "spectral", "det", "det+f"])
def test_every_method_parses(method):
    learner = SHAGParser(method, **QUICK).fit(TRAIN)
    assert learner.score(TEST) > 0.7
    for parse in learner.model_.parse_many(TEST[:10]):
        assert is_projective(parse.heads)
        assert parse.heads.count(0) == 1


def test_words_of_the_automata_can_be_refined():
    symbols = SHAGParser("det+f", symbols=SymbolOptions(frequent_words=3)).fit(TRAIN).model_.symbols.names
    assert sum("/" in name for name in symbols) == 3
    assert SHAGParser("det+f", symbols=SymbolOptions(buckets=3)).fit(TRAIN).model_.symbols.buckets == 3
    refined = SHAGParser("det+f", symbols=SymbolOptions(lambda token: f"{token.upos} {token.form}")).fit(
        TRAIN
    )
    assert "NOUN dog" in refined.model_.grammar.symbols
    assert refined.score(TEST) > 0.9


def test_result_has_arcs_relations_and_confidences(parser):
    parse = parser.parse(TEST[0])
    assert parse.status == "parsed"
    assert len(parse.heads) == len(parse.relations) == len(parse.confidences) == len(TEST[0])
    assert all(0.0 <= value <= 1.0 for value in parse.confidences)
    assert parse.relations[parse.heads.index(0)] == "root"


def test_arcs_of_the_input_are_not_looked_at(parser):
    blank = Sentence(tuple(Token(t.id, t.form, upos=t.upos, xpos=t.xpos) for t in TEST[0].tokens))
    assert parser.parse(blank).heads == parser.parse(TEST[0]).heads


def test_output_keeps_everything_but_the_arcs(parser):
    source = Sentence(
        (
            Token(1, "the", "the", "DET", "DT", "Definite=Def", 1, "old", "1:old", "SpaceAfter=No"),
            Token(2, "dog", "dog", "NOUN", "NN", "_", 1, "old", "_", "_"),
        ),
        ("# sent_id = 7",),
        ((0, "1-2\tthedog\t_\t_\t_\t_\t_\t_\t_\t_"),),
    )
    lines = str(parser.parse(source).sentence(confidence=True)).splitlines()
    assert lines[0] == "# sent_id = 7"
    assert lines[1].startswith("1-2\tthedog")
    columns = lines[2].split("\t")
    assert columns[:6] == ["1", "the", "the", "DET", "DT", "Definite=Def"]
    assert columns[6:9] == ["2", "det", "_"]
    assert columns[9].startswith("SpaceAfter=No|Confidence=")
    assert lines[3].split("\t")[9].startswith("Confidence=")


@pytest.mark.parametrize("decoder", ["mbr", "viterbi"])
def test_threads_keep_order_and_results(parser, decoder):
    one = list(parser.parse_many(TEST * 3, decoder=decoder))
    three = list(parser.parse_many(iter(TEST * 3), n_jobs=3, decoder=decoder))
    assert one == three
    assert [parse.words for parse in three] == TEST * 3


def test_long_sentences_are_cut(parser):
    words = TEST[0].tokens + TEST[1].tokens + TEST[2].tokens
    long = Sentence(tuple(Token(i, t.form, upos=t.upos, xpos=t.xpos) for i, t in enumerate(words, 1)))
    parse = parser.parse(long, max_length=len(TEST[0]))
    assert parse.status == "cut"
    assert len(parse.heads) == len(long)
    assert parse.heads.count(0) == 1
    assert is_projective(parse.heads)
    assert parse.heads[: len(TEST[0])] == parser.parse(TEST[0]).heads


def test_marginals_that_are_no_distribution_back_off():
    # DET on trees where X never has a modifier: a sentence of two X has no tree.
    lonely = [Sentence((Token(1, "x", upos="X", head=0, deprel="root"),))]
    learner = SHAGParser("det").fit(lonely)
    two = Sentence((Token(1, "x", upos="X"), Token(2, "x", upos="X")))
    parse = learner.parse(two)
    assert parse.status == "backed off"
    assert learner.model_.parse(two, backoff=False).status == "improper"
    assert sorted(parse.heads) in ([0, 1], [0, 2])
    assert learner.parse(lonely[0]).status == "parsed"


def test_unknown_tags_and_forms_parse(parser):
    odd = Sentence(tuple(Token(i, f"§{i}", upos="NEW", xpos="NEW") for i in range(1, 6)))
    assert is_projective(parser.parse(odd).heads)


def test_same_seed_same_file_whatever_the_threads(tmp_path):
    for name, jobs in (("a", 1), ("b", 2)):
        SHAGParser(**QUICK, n_jobs=jobs, random_state=4).fit(TRAIN[:50]).save(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_saved_parsers_parse_alike(parser, tmp_path):
    parser.save(tmp_path / "model")
    loaded = DependencyParser.load(tmp_path / "model")
    assert list(loaded.parse_many(TEST)) == list(parser.parse_many(TEST))
    assert loaded.about == parser.about


def test_functions_must_be_given_again(tmp_path):
    def first_letter(token: Token) -> str:
        return token.form[0]

    SHAGParser("det+f", symbols=SymbolOptions(first_letter)).fit(TRAIN).save(tmp_path / "model")
    with pytest.raises(OptionError, match="symbols=function"):
        DependencyParser.load(tmp_path / "model")
    assert DependencyParser.load(tmp_path / "model", symbols=first_letter).parse(TEST[0]).heads


def test_damaged_and_foreign_files_are_refused(parser, tmp_path):
    with pytest.raises(ModelFileError, match="no such"):
        DependencyParser.load(tmp_path / "nothing")
    parser.save(tmp_path / "model")
    data = (tmp_path / "model").read_bytes()
    for name, content in {"empty": b"", "cut": data[: len(data) // 2], "text": b"hello " * 100}.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ModelFileError, match="gramian dep train"):
            DependencyParser.load(tmp_path / name)
    from gramian.automata import WFA

    WFA([1.0], [1.0], np.zeros((1, 1, 1)), ("a",)).save(tmp_path / "wfa")
    with pytest.raises(ModelFileError, match="not a dependency parser"):
        DependencyParser.load(tmp_path / "wfa")


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("grammar.rows", lambda rows: rows + 1000),
        ("grammar.initial", lambda initial: initial[:-1]),
        ("backoff.operators", lambda operators: operators.astype(np.float32)),
        ("arc_weights", lambda weights: weights[:-1]),
        ("grammar.states", lambda states: states * 0),
    ],
)
def test_parts_that_do_not_fit_are_refused(parser, tmp_path, name, change):
    # Kernels index without looking, so a file must not bring indices out of range.
    parser.save(tmp_path / "model")
    with safe_open(tmp_path / "model", "numpy") as file:
        header = json.loads(file.metadata()["gramian-automata"])
        arrays = {part: file.get_tensor(part) for part in file.keys()}  # noqa: SIM118
    arrays[name] = change(arrays[name])
    header["checksum"] = checksum(header, arrays)
    save_file(arrays, tmp_path / "bad", {"gramian-automata": json.dumps(header)})
    with pytest.raises(ModelFileError, match=f"required: ({name}|tables of weights)"):
        DependencyParser.load(tmp_path / "bad")


def test_header_can_be_read_without_the_package(parser, tmp_path):
    parser.save(tmp_path / "model")
    data = (tmp_path / "model").read_bytes()
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    assert "dependency-parser" in str(header["__metadata__"])


def test_estimator_conventions():
    learner = SHAGParser(n_states=4, epochs=2)
    assert clone(learner).get_params() == learner.get_params()
    assert learner.set_params(n_states=5, basis__mass=0.1).n_states == 5
    assert learner.basis == HeadBasis(mass=0.1)
    assert not hasattr(learner, "model_")


@pytest.mark.parametrize(
    "wrong",
    [
        {"method": "neural"},
        {"n_states": 0},
        {"epochs": 0},
        {"smoothing": 0.0},
        {"start": "zero"},
        {"symbols": "lemma"},
        {"symbols": SymbolOptions("lemma")},
        {"symbols": SymbolOptions(buckets=-1)},
        {"max_iter": 0},
        {"nonprojective": "bend"},
        {"basis": "wide"},
        {"basis": HeadBasis("wide")},
        {"basis": HeadBasis(cut_factor=0)},
    ],
)
def test_wrong_options_are_refused(wrong):
    with pytest.raises(OptionError):
        SHAGParser(**wrong).fit(TRAIN[:5])


def test_wrong_calls_are_refused(parser):
    with pytest.raises(OptionError, match="decoder"):
        parser.parse(TEST[0], decoder="beam")
    with pytest.raises(OptionError, match="max_length"):
        parser.parse(TEST[0], max_length=0)
    with pytest.raises(OptionError, match="n_jobs must be at least 1, got 0"):
        parser.parse_many(TEST, n_jobs=0)
    with pytest.raises(InputError, match="no head"):
        SHAGParser("det").fit([Sentence((Token(1, "a"),))])
