"""A neural expert beside grammars: in the parser, in model files, and in training."""

import json
import pickle
import sys
from dataclasses import replace

import numpy as np
import pytest
from safetensors import safe_open

import gramian
from gramian.chart.forest import Pruning
from gramian.cli import main
from gramian.errors import InputError, MissingExtraError, ModelFileError, OptionError
from gramian.experts import EXPERT_KINDS, ExpertPart, LabelExpert, NeuralExpert
from gramian.learn import PCFG
from gramian.neural import NeuralModel
from gramian.neural.span_inventory import Inventory, brackets
from gramian.neural.span_scores import weight_shapes
from gramian.parsing.model import Model
from gramian.parsing.model_store import load_model, save_model
from gramian.parsing.parser import Parser
from gramian.training import TrainingData, TrainingSettings
from gramian.training.members import member_tasks
from gramian.training.selftraining.silver_trees import SilverTrees
from gramian.training.setting_groups import check_settings
from gramian.training.training_methods import recorded_options
from gramian.treebank import Treebank
from gramian.trees import Tree

TREES = [
    Tree.parse(text)
    for text in [
        "(S (NP (DT the) (NN cat)) (VP (VBZ sees) (NP (NP (DT a) (NN dog)) (PP (IN in) (NP (NN town))))) (. .))",
        "(S (NP (DT a) (NN dog)) (VP (VBZ sees) (NP (DT the) (NN cat)) (PP (IN in) (NP (NN town)))) (. .))",
        "(S (NP (NN town)) (VP (VBZ sees)) (. .))",
    ]
] * 10
WORDS = ["the", "dog", "sees", "a", "cat", "in", "town", "."]
TINY = {
    "neural.size.word": 8, "neural.size.char": 4, "neural.size.char_units": 4, "neural.size.layers": 1, "neural.size.units": 8,
    "neural.size.hidden": 8, "neural.size.tag_hidden": 8, "neural.learning.rate": 0.02, "neural.learning.warm_up": 5,
    "neural.max_iter": 2,
}  # fmt: skip


def drawn_net(seed=0):
    """A net of drawn weights, without torch."""
    inventory = Inventory.of([brackets(tree) for tree in TREES], 1, ())
    sizes = {"word.weight": 5, "vector.weight": 0, "char.weight": 3, "right.bias": 6, "tag_hidden.bias": 4}
    sizes |= {"char_lstm.weight_hh_l0": 2, "lstm.0.weight_hh_l0": 4, "lstm.0.weight_ih_l0": 9}
    rng = np.random.default_rng(seed)
    shapes = weight_shapes(inventory, {name: np.empty((1, size)) for name, size in sizes.items()})
    return NeuralModel(
        inventory, {name: rng.normal(size=shape).astype(np.float16) for name, shape in shapes.items()}
    )


@pytest.fixture(scope="module")
def model():
    return Model(PCFG().fit(Treebank.from_trees(TREES)).model_, (ExpertPart("neural", drawn_net()),))


class HandMade:
    """A net that says what it is told to; it knows a phrase and a tag of one name, and a label that no grammar has."""

    label_names = ("NN", "S", "X", "DT", "NN")
    n_phrase_labels = 3

    def labels(self, words):
        n_cells = len(words) * (len(words) + 1) // 2
        return np.arange(n_cells * 5, dtype=np.float32).reshape(n_cells, 5) / 1000

    def labels_and_known_share(self, words):
        return self.labels(words), 0.5


def test_labels_go_by_kind_and_name(model):
    forest = Parser(model.grammar).forest(WORDS)
    judged = LabelExpert(HandMade(), model.grammar).posterior(WORDS, forest).forest
    labels, told = forest.labels, HandMade().labels(WORDS)
    assert judged.label_posterior.shape == forest.label_posterior.shape
    assert judged.label_posterior.dtype == np.float32
    known = {("S", True): 1, ("DT", False): 3, ("NN", False): 4}
    for place, name in enumerate(labels.names):
        column = known.get((name, place < labels.n_phrase_labels))
        expected = np.zeros(len(told)) if column is None else told[:, column]
        np.testing.assert_array_equal(judged.label_posterior[:, place], expected)
    np.testing.assert_array_equal(judged.edge_posterior, forest.edge_posterior)


def test_several_sentences_fill_a_table_with_what_each_says(model):
    short, parser = ["town", "sees", "."], Parser(model.grammar)
    expert, sentences = (
        LabelExpert(model.expert("neural").model, model.grammar),
        [WORDS, ["okapi", "sees", "."], short],
    )
    forests = [parser.forest(words) for words in (WORDS, short, short)]
    first = np.cumsum([0, *(len(words) * (len(words) + 1) // 2 for words in sentences)]).tolist()
    table = np.zeros((first[-1], len(forests[0].labels.names)), np.float32)
    spans = np.zeros(first[-1], np.float32)
    weights = expert.fill(sentences, table, first, spans)
    assert (spans >= table[:, : forests[0].labels.n_phrase_labels].max(axis=1) - 1e-6).all()
    assert weights[0] == 0.5 > weights[1]
    assert weights == [
        expert.posterior(words, forest).weight for words, forest in zip(sentences, forests, strict=True)
    ]
    for words, forest, begin, end in zip(sentences, forests, first[:-1], first[1:], strict=True):
        judged = expert.posterior(words, forest).forest
        np.testing.assert_allclose(table[begin:end], judged.label_posterior, rtol=1e-5, atol=1e-7)


def test_parses_with_all_cells_open_where_closed_cells_leave_no_tree(model, monkeypatch):
    sentences = [WORDS, ["okapi", "sees", "."], WORDS[:4]]
    opened = list(Parser(model, pruning=Pruning(close=0)).parse_many(sentences))
    calls = []

    def closed(brackets, spans, first, weights, close):
        calls.append(close)
        return np.zeros(len(brackets), np.uint8)

    monkeypatch.setattr("gramian.chart.chart_parser.open_cells", closed)
    for result, expected in zip(Parser(model).parse_many(sentences), opened, strict=True):
        assert (result.tree, result.status) == (expected.tree, expected.status)
        np.testing.assert_allclose(result.confidences, expected.confidences, rtol=1e-5)
    assert opened[0].status == "parsed"
    assert calls[0] == 1.0


def test_what_it_says_counts_for_half_less_for_unknown_words(model):
    net, grammar = model.expert("neural").model, model.grammar
    alone = Parser(grammar).forest(WORDS)
    judged = LabelExpert(net, grammar).posterior(WORDS, alone).forest
    assert net.labels_and_known_share(WORDS)[1] == 1
    assert EXPERT_KINDS["neural"].weight == 0.5
    both = Parser(model, combination="sum").forest(WORDS)
    np.testing.assert_allclose(
        both.label_posterior, (alone.label_posterior + judged.label_posterior) / 2, atol=1e-6
    )
    told = Parser(model.with_weights({"neural": 0.25}), combination="sum").forest(WORDS)
    expected = 0.75 * alone.label_posterior + 0.25 * judged.label_posterior
    np.testing.assert_allclose(told.label_posterior, expected, atol=1e-6)
    strange = ["the", "okapi", *WORDS[2:]]
    alone = Parser(grammar).forest(strange)
    weight = 0.5 * (7 / 8) ** 4
    judged = LabelExpert(net, grammar).posterior(strange, alone).forest
    found = Parser(model, combination="sum").forest(strange)
    expected = (1 - weight) * alone.label_posterior + weight * judged.label_posterior
    np.testing.assert_allclose(found.label_posterior, expected, atol=1e-6)
    for weight in (2.0, "much"):
        with pytest.raises(OptionError, match="weight of an expert must be between 0 and 1"):
            model.with_weights({"neural": weight})


def test_a_parser_that_has_used_it_can_be_pickled(model):
    parser = Parser(model)
    result = parser.parse(["the", "dog", "barks"])
    copy = pickle.loads(pickle.dumps(parser))
    assert str(copy.parse(["the", "dog", "barks"]).tree) == str(result.tree)


def header_of(path):
    with safe_open(path, "numpy") as file:
        return json.loads(file.metadata()["gramian"])


def test_a_model_file_holds_it(gramian, model, tmp_path):
    path, again = tmp_path / "one.model", tmp_path / "two.model"
    save_model(model.with_weights({"neural": 0.4}), path)
    found = load_model(path)
    assert found.expert("neural").weight == 0.4
    assert header_of(path)["version"] == 4
    save_model(found, again)
    assert again.read_bytes() == path.read_bytes()
    np.testing.assert_array_equal(
        found.expert("neural").model.labels(WORDS), model.expert("neural").model.labels(WORDS)
    )
    one, two = (Parser(each.with_weights({"neural": None})).parse(WORDS) for each in (model, found))
    assert (one.tree, one.confidences) == (two.tree, two.confidences)
    save_model(replace(found, experts=()), again)
    save_model(Model(model.grammar), path)
    assert again.read_bytes() == path.read_bytes()
    assert header_of(path)["version"] == 1
    save_model(model, path)
    out = gramian("inspect", str(path))[1]
    assert "a grammar and a neural expert" in out


def test_what_could_not_be_loaded_is_not_saved(model, tmp_path):
    net = model.expert("neural").model
    damaged = replace(net, weights={**net.weights, "tag.bias": net.weights["tag.bias"][:-1]})
    with pytest.raises(OptionError, match=r"of its neural, .* tag\.bias has shape"):
        save_model(replace(model, experts=(ExpertPart("neural", damaged),)), tmp_path / "damaged.model")
    with pytest.raises(OptionError, match=r"tag\.bias has shape"):
        damaged.save(tmp_path / "damaged.net")
    assert not list(tmp_path.iterdir())
    net.save(tmp_path / "net")
    np.testing.assert_array_equal(NeuralModel.load(tmp_path / "net").labels(WORDS), net.labels(WORDS))
    with pytest.raises(ModelFileError, match="this file is a neural expert, not a grammar"):
        load_model(tmp_path / "net")


def test_which_experts_settings_ask_for():
    for given, expected, noted in [
        (False, [], False),
        (True, ["expert"], True),
        ("crf", ["expert"], True),
        ("neural", ["neural"], "neural"),
        ("both", ["neural", "expert"], "both"),
    ]:
        settings = TrainingSettings.of(expert=given)
        tasks = member_tasks(settings, TrainingData.read(TREES, settings))
        assert [task.method for task in tasks] == [*expected, "best", "best"]
        assert recorded_options(settings)["expert"] == noted
    with pytest.raises(
        OptionError, match="expert must be one of none, crf, neural, both or true or false, got 'neurl'"
    ):
        check_settings(TrainingSettings.of(expert="neurl"))


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], False),
        (["--expert"], True),
        (["--expert", "--seed", "1"], True),
        (["--expert", "crf"], True),
        (["--expert=neural"], "neural"),
        (["--expert", "both"], "both"),
    ],
)
def test_the_option_of_the_command(arguments, expected, tmp_path, capsys, monkeypatch):
    file = tmp_path / "trees.mrg"
    file.write_text("\n".join(map(str, TREES)))
    command = ["gramian", "train", "-q", "--dry-run", "-o", str(tmp_path / "a.model")]
    for order in ([str(file), *arguments], [*arguments, str(file)]):
        monkeypatch.setattr(sys, "argv", [*command, *order])
        with pytest.raises(SystemExit) as stop:
            main()
        assert not stop.value.code
        assert json.loads(capsys.readouterr().out)["options"]["expert"] == expected


def test_without_torch_nothing_is_learnt(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match=r"torch.*gramian\[neural\]"):
        gramian.train(TREES, expert="neural")


def test_from_trees_to_a_parser(tmp_path):
    pytest.importorskip("torch")
    options = {"n_states": 2, "max_iter": 1, "ensemble_size": 1}
    parser = gramian.train(TREES, expert="neural", settings=TINY, device="cpu", **options)
    assert parser.model.expert("crf") is None
    parser.save(tmp_path / "a.model")
    found = gramian.load(tmp_path / "a.model")
    tree = Tree.parse("(S (NP (DT the) (NN dog)) (VP (VBZ sees)) (. .))")
    one, two = (each.parse(list(tree.words)) for each in (parser, found))
    assert (one.tree, two.tree) == (tree, tree)
    np.testing.assert_allclose(one.confidences, two.confidences, atol=1e-3)  # the grammar is rounded
    again = gramian.train(TREES, expert="neural", settings=TINY, device="cpu", **options)
    again.save(tmp_path / "b.model")
    assert (tmp_path / "b.model").read_bytes() == (tmp_path / "a.model").read_bytes()
    without = gramian.train(TREES, **options)
    assert without.model.expert("neural") is None
    assert without.parse(WORDS).confidences != parser.parse(WORDS).confidences


def test_a_net_learns_from_text_too(tmp_path):
    pytest.importorskip("torch")
    teacher = tmp_path / "teacher.grammar"
    gramian.train(TREES, method="pcfg").save(teacher)
    (tmp_path / "some.tok").write_text("the gnu sees .\nthe dog sees the gnu .\n" * 20)
    options = {"n_states": 2, "max_iter": 1, "ensemble_size": 1, "expert": "neural", "device": "cpu"}
    plain = gramian.train(TREES, settings=TINY, **options).model.expert("neural").model
    taught = (
        gramian.train(
            TREES, settings={"silver.teacher": str(teacher), **TINY}, text=tmp_path / "some.tok", **options
        )
        .model.expert("neural")
        .model
    )
    assert "gnu" not in plain.inventory.words
    assert "gnu" in taught.inventory.words


def test_trees_of_the_treebank_come_as_often_as_text_has_words(monkeypatch):
    seen = {}
    monkeypatch.setattr(
        NeuralExpert, "fit", lambda self, trees, judges: seen.update(trees=trees, judges=judges)
    )
    data = TrainingData.read(TREES, TrainingSettings())
    silver = [(1.0, str(tree)) for tree in TREES] * 3
    data = replace(data, silver=SilverTrees.of(silver))
    [task, *_] = member_tasks(TrainingSettings.of({"neural.held_out": 0.1}, expert="neural"), data)
    task._learn_net(NeuralExpert(held_out=0.1), data)
    assert seen["judges"] == TREES[9::10]
    learnt = [tree for place, tree in enumerate(TREES, 1) if place % 10]
    assert seen["trees"] == [*learnt * 3, *TREES * 3]


def test_brackets_cost_less_beside_a_net(model):
    assert Parser(model).recall_penalty == 0.4
    assert Parser(replace(model, experts=())).recall_penalty == 0.5
    assert Parser(model, recall_penalty=0.5).recall_penalty == 0.5


def test_many_sentences_are_parsed_as_each_alone(model):
    parser = Parser(model)
    sentences = [WORDS, [], "the cat sees the dog", WORDS[:2], *[WORDS[2:]] * 9]
    alone = [parser.parse(one) for one in sentences]
    for many in (sentences, iter(sentences)):  # read ahead, or as they come
        for one, other in zip(parser.parse_many(many), alone, strict=True):
            assert (one.tree, one.confidences) == (other.tree, other.confidences)
    results = parser.parse_many([WORDS, ["no word"], WORDS])
    assert next(results).tree == alone[0].tree
    with pytest.raises(InputError, match="is not a word"):
        next(results)
