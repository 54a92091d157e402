"""What a training learns about text, and what a model file keeps of it."""

import numpy as np
import pytest

import gramian
from gramian.errors import InputError, OptionError
from gramian.parsing.model_store import load_model, save_model
from gramian.text.text_training import learn_scores, learn_text_processor
from gramian.training import TrainingRun, TrainingSettings
from gramian.training.setting_groups import check_settings
from gramian.trees import Tree

TREES = [
    Tree.parse(f"(S (NP (DT The) (NN {noun})) (VP (VBZ does) (RB n't) (VP (VB {verb}))) (. .))")
    for noun in ("dog", "cat", "cow")
    for verb in ("bark", "sleep", "run")
] * 4


@pytest.fixture(scope="module")
def model():
    return TrainingRun(TREES, TrainingSettings.of(method="pcfg")).run()


def test_a_model_reads_the_text_of_its_treebank(model):
    results = gramian.Parser(model).parse_text("The dog doesn't run. The cat doesn't bark.")
    assert [str(result.tree).count("n't") for result in results] == [1, 1]
    assert (model.language, model.data["language"]) == ("en", "en")
    assert model.text.tokenizer.f1 == 1.0


def test_processor_survives_a_file(model, tmp_path):
    path = tmp_path / "my.grammar"
    save_model(model, path, half=True)
    loaded = load_model(path)
    text = "The cow doesn't bark."
    assert loaded.tokenize(text) == model.tokenize(text)
    assert loaded.text.segmenter.segment(text * 2) == model.text.segmenter.segment(text * 2)
    assert loaded.language == "en"
    save_model(loaded, tmp_path / "again.grammar", half=True)
    assert (tmp_path / "again.grammar").read_bytes() == path.read_bytes()


def test_nothing_is_learnt_where_nothing_is_wanted():
    assert TrainingRun(TREES, TrainingSettings.of(method="pcfg", language="none")).run().text is None
    with pytest.raises(OptionError, match="spacing_conllu requires another language than none"):
        check_settings(TrainingSettings.of(language="none", spacing_conllu="x.conllu"))
    with pytest.raises(OptionError, match="language must be a code"):
        learn_text_processor(TREES, "English")


def test_text_with_spaces_as_they_were(tmp_path):
    rows = [
        "1\tdu\t_\t_\t_\t_\t2\tdep\t_\t_",
        "2\tvin\t_\t_\t_\t_\t0\troot\t_\tSpaceAfter=No",
        "3\t!\t_\t_\t_\t_\t2\tdep\t_\t_",
        "",
    ]
    path = tmp_path / "text.conllu"
    path.write_text("\n".join(["1-2\tduvin\t_\t_\t_\t_\t_\t_\t_\t_", *rows, *rows, ""]), encoding="utf-8")
    processor = learn_text_processor(TREES, "en", path)
    assert [token.word for token in processor.tokenizer.tokenize("du vin!")] == ["du", "vin", "!"]
    bare = tmp_path / "bare.conllu"
    bare.write_text(path.read_text(encoding="utf-8").replace("SpaceAfter=No", "_"), encoding="utf-8")
    with pytest.raises(InputError, match="SpaceAfter=No"):
        learn_text_processor(TREES, "en", bare)


def test_an_example_counts_as_often_as_it_was_seen():
    once = [(["dot", "capital"], True, 3), (["dot", "small"], False, 3), (["small", "rare"], False, 1)]
    counted = learn_scores(once)
    repeated = learn_scores([(*one[:2], 1) for one in once for _ in range(one[2])])
    assert np.array_equal(counted.hashes, repeated.hashes)
    np.testing.assert_allclose(counted.weights, repeated.weights, atol=2e-3)
    assert len(counted.hashes) == 3, "what was seen once is left out"
    assert learn_scores([(["dot"], True, 5)]) is None
