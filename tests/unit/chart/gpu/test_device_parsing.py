"""Parsing on a device: the same trees and confidences as on the CPU, batch by batch, on torch's own CPU device."""

import subprocess
import sys

import numpy as np
import pytest

import gramian
from gramian.chart.constraints import Constraints
from gramian.chart.forest import Pruning
from gramian.cli import main
from gramian.errors import OptionError
from gramian.experts import ExpertPart
from gramian.grammar.tree_sampling import TreeSampler
from gramian.learn import EM, PCFG, SpectralMoments
from gramian.neural import NeuralModel
from gramian.neural.span_inventory import Inventory, brackets
from gramian.neural.span_scores import weight_shapes
from gramian.parsing.calibration import Calibration, Curve
from gramian.parsing.model import Model
from gramian.parsing.parser import Parser
from gramian.parsing.sentences import ParseRequest
from gramian.treebank import Shape, Treebank
from gramian.trees import Tree

pytest.importorskip("torch").set_num_threads(1)

EXACT = Pruning(beam=0, guess=0, item=1e-7, edge=1e-8, fine=0)
TREES = [
    Tree.parse(text)
    for text in [
        "(S (NP (DT the) (NN cat)) (VP (VBZ sees) (NP (NP (DT a) (NN dog)) (PP (IN in) (NP (NN town))))) (. .))",
        "(S (NP (DT a) (NN dog)) (VP (VBZ sees) (NP (DT the) (NN cat)) (PP (IN in) (NP (NN town)))) (. .))",
        "(S (NP (NN town)) (VP (VBZ sees)) (. .))",
        "(S (S (NP (PRP it)) (VP (VBZ sleeps))) (CC and) (S (NP (DT the) (JJ big) (NN dog)) (VP (VBZ sees) (NP (PRP it)))) (. .))",
        "(FRAG (NP (DT the) (JJ big) (NN town)))",
    ]
] * 12
"""Trees with ambiguity, chains and a root of one word's width."""


def grammar(direction="right", seed=0):
    bank = Treebank.from_trees(TREES, shape=Shape(direction=direction))
    return EM(n_states=3, allocation="all", max_iter=3, random_state=seed).fit(bank).model_


def drawn_net(seed=0):
    """A net of drawn weights."""
    inventory = Inventory.of([brackets(tree) for tree in TREES], 1, ())
    sizes = {"word.weight": 5, "vector.weight": 0, "char.weight": 3, "right.bias": 6, "tag_hidden.bias": 4}
    sizes |= {"char_lstm.weight_hh_l0": 2, "lstm.0.weight_hh_l0": 4, "lstm.0.weight_ih_l0": 9}
    rng = np.random.default_rng(seed)
    shapes = weight_shapes(inventory, {name: np.empty((1, size)) for name, size in sizes.items()})
    weights = {name: rng.normal(size=shape).astype(np.float16) for name, shape in shapes.items()}
    return NeuralModel(inventory, weights, 1.3)


@pytest.fixture(scope="module")
def sentences():
    """Sentences of the grammar, of many lengths, among them some with words that it does not know."""
    drawn = TreeSampler(grammar(), random_state=1, max_length=12)
    trees = iter(drawn)
    found = [list(next(trees).words) for _ in range(30)]
    found[3][0] = "Unknown"
    found[7][-1] = "zzz"
    return found


MODELS = {
    "one grammar": lambda: Model(grammar()),
    "same rules": lambda: Model((grammar(), grammar(seed=5))),
    "two binarisations": lambda: Model((grammar(), grammar("left", 2), grammar(seed=3))),
    "a net": lambda: Model(grammar(), (ExpertPart("neural", drawn_net(), 0.4),)),
    "all": lambda: Model((grammar(), grammar("left", 2)), (ExpertPart("neural", drawn_net()),)),
    "curves": lambda: Model(
        grammar(), calibration={"product": Calibration(Curve(0.5, 0.7, 0.1), Curve(shift=-1.0))}
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_results_are_those_of_the_cpu(name, sentences):
    model = MODELS[name]()
    expected = list(Parser(model, pruning=EXACT).parse_many(sentences))
    found = list(Parser(model, pruning=EXACT, device="cpu").parse_many(sentences))
    assert [one.status for one in found] == [one.status for one in expected]
    for one, other in zip(found, expected, strict=True):
        assert one.words == other.words
        assert one.log_prob_words == pytest.approx(other.log_prob_words, rel=1e-4)
        if one.tree == other.tree:
            np.testing.assert_allclose(one.confidences, other.confidences, atol=2e-3)
    assert sum(one.tree == other.tree for one, other in zip(found, expected, strict=True)) >= 29  # ties


def test_batches_do_not_change_results(sentences, monkeypatch):
    parser = Parser(MODELS["two binarisations"](), pruning=EXACT, device="cpu")
    whole = list(parser.parse_many(sentences))
    assert whole == list(parser.parse_many(sentences))
    monkeypatch.setattr("gramian.parsing.device_parsing._AHEAD", 4)
    monkeypatch.setattr("gramian.chart.gpu.torch_backend._MOST_SENTENCES", 2)
    parts = list(parser.parse_many(iter(sentences)))
    assert [one.tree for one in parts] == [one.tree for one in whole]
    for one, other in zip(parts, whole, strict=True):
        np.testing.assert_allclose(one.confidences, other.confidences, atol=1e-4)


def test_results_come_in_order_while_the_device_works(sentences, monkeypatch):
    parser = Parser(Model(grammar()), pruning=EXACT, device="cpu")
    monkeypatch.setattr("gramian.parsing.device_parsing._FIRST", 2)
    monkeypatch.setattr("gramian.parsing.device_parsing._AHEAD", 8)
    expected = list(parser.parse_many(sentences))
    answers = iter(([False] * 5 + [True]) * 1000)  # each pause is long enough for some results and sentences
    monkeypatch.setattr("gramian.chart.gpu.torch_backend.Pause.is_over", property(lambda self: next(answers)))
    given = []

    def asked():
        for words in sentences:
            given.append(words)
            yield words

    found = []
    for result in parser.parse_many(asked()):
        found.append(result)
        assert len(given) - len(found) < 3 * 8
    assert [one.words for one in found] == [tuple(one) for one in sentences]
    assert [one.tree for one in found] == [one.tree for one in expected]
    assert list(parser.parse_many([])) == []


def test_what_the_device_does_not_parse_is_parsed_here():
    model = Model(grammar())
    odd = [[], ["cat", "cat", "cat"], [("the", "DT"), ("sees", "NN")], "the dog sleeps.", ["town"]]
    odd.append(ParseRequest(list(TREES[1].words), Constraints.containing(TREES[1])))
    here, there = Parser(model, pruning=EXACT), Parser(model, pruning=EXACT, device="cpu")
    expected, found = (list(one.parse_many(odd)) for one in (here, there))
    assert [one.tree for one in found] == [one.tree for one in expected]
    assert [one.status for one in found] == [one.status for one in expected]
    assert {"empty", "glued", "parsed"} <= {one.status for one in found}
    assert found[3].offsets == expected[3].offsets
    short = Parser(model, pruning=EXACT, device="cpu", max_length=4)
    assert [one.status for one in short.parse_many([TREES[0].words])] == ["parts"]


def test_many_trees_and_other_decoders(sentences):
    model = Model((grammar(), grammar(seed=4)))
    here, there = Parser(model, pruning=EXACT), Parser(model, pruning=EXACT, device="cpu")
    for options in ({"k": 3}, {"decoder": "max-rule-product"}, {"decoder": "viterbi"}):
        for one, other in zip(
            here.parse_many(sentences[:8], **options), there.parse_many(sentences[:8], **options), strict=True
        ):
            assert one.tree == other.tree
            logs = [[each.log_prob_tree for each in result.alternatives] for result in (one, other)]
            np.testing.assert_allclose(*logs, rtol=1e-4)
    with pytest.raises(OptionError, match="k must be at least 1"):
        list(there.parse_many(sentences[:1], k=0))


def test_experts_that_read_forests_and_operators(sentences):
    from gramian.experts import SpanCRF

    crf = SpanCRF(max_iter=1).fit(Treebank.from_trees(TREES)).model_
    moments = SpectralMoments(n_states=2, allocation="all").fit(Treebank.from_trees(TREES)).model_
    for model in (Model(grammar(), (ExpertPart("crf", crf),)), Model(moments)):
        here, there = Parser(model, pruning=EXACT), Parser(model, pruning=EXACT, device="cpu")
        trees = [[one.tree for one in parser.parse_many(sentences[:8])] for parser in (here, there)]
        assert trees[0] == trees[1]


def test_a_grammar_without_states_or_pairs():
    trees = [Tree.parse("(NP (NN dog))"), Tree.parse("(NP (NN cat))")]
    parser = Parser(PCFG().fit(Treebank.from_trees(trees)).model_, device="cpu")
    assert [str(one.tree) for one in parser.parse_many([["dog"], ["cat"]])] == [
        "(NP (NN dog))",
        "(NP (NN cat))",
    ]


def test_words_are_forgotten_when_they_are_too_many(sentences, monkeypatch):
    parser = Parser(Model(grammar()), device="cpu")
    before = list(parser.parse_many(sentences))
    monkeypatch.setattr("gramian.chart.gpu.word_rows._MOST_ENTRIES", 0)
    assert [one.tree for one in parser.parse_many(sentences)] == [one.tree for one in before]


def test_a_device_that_is_not_there():
    with pytest.raises(OptionError, match=r"device must be .*, got 'abacus'"):
        Parser(Model(grammar()), device="abacus")


def test_what_is_missing_is_named():
    code = (
        "import sys; from gramian.errors import MissingExtraError; from gramian.learn import EM, PCFG\n"
        "from gramian.parsing.parser import Parser; from gramian.trees import Tree\n"
        "sys.modules['torch'] = None; trees = [Tree.parse('(S (NP (NN dog)) (VP (VBZ barks)))')] * 3\n"
        "for work in (lambda: Parser(PCFG().fit(trees).model_, device='cpu'), lambda: EM(device='cpu').fit(trees)):\n"
        "    try:\n        work()\n    except MissingExtraError as error:\n        print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    line = "a device needs torch, which is not installed; try: pip install 'gramian[neural]'\n"
    assert done.stdout == 2 * line


def test_the_command_and_load_take_a_device(tmp_path, capsys, monkeypatch):
    path, text = tmp_path / "one.grammar", tmp_path / "text"
    Parser(Model(grammar())).save(path)
    text.write_text("the dog sees a cat .\n\nit sleeps .\n", encoding="utf-8")
    printed = []
    for options in ([], ["--set", "device=cpu"]):
        command = ["gramian", "parse", str(text), "-m", str(path), "--tokens", "--quiet", *options]
        monkeypatch.setattr(sys, "argv", command)
        with pytest.raises(SystemExit) as stop:
            main()
        assert not stop.value.code
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1] != ""
    assert gramian.load(path, device="cpu").device == "cpu"


def test_nothing_of_torch_is_imported_without_a_device():
    code = (
        "import sys; from gramian.learn import PCFG; from gramian.parsing.parser import Parser; from gramian.trees import Tree\n"
        "grammar = PCFG().fit([Tree.parse('(S (NP (NN dog)) (VP (VBZ barks)))')]).model_\n"
        "list(Parser(grammar).parse_many([['dog', 'barks']])); print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_training_takes_a_device():
    from gramian.training import TrainingSettings
    from gramian.training.setting_groups import check_settings

    assert TrainingSettings.of(method="em", device="cpu").learner_parameters()["device"] == "cpu"
    with pytest.raises(OptionError, match="device requires method"):
        check_settings(TrainingSettings.of(method="pcfg", device="cpu"))
    here = EM(n_states=2, allocation="all", max_iter=3).fit(TREES)
    there = EM(n_states=2, allocation="all", max_iter=3, device="cpu").fit(TREES)
    assert there.report_["log-likelihood"] == pytest.approx(here.report_["log-likelihood"], rel=1e-4)


def test_training_refuses_a_device_before_it_reads_a_tree():
    with pytest.raises(OptionError, match=r"^device must be .*, got 'abacus'"):
        gramian.train("nowhere.mrg", expert="neural", device="abacus")
