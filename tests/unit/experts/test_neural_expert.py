"""Neural experts: learning needs torch, and is repeatable; running needs none, and says the same."""

import itertools
import logging
import subprocess
import sys
from contextlib import contextmanager

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from small_nets import QUICK, SMALL, made_up_trees

from gramian.errors import InputError, MissingExtraError, OptionError
from gramian.experts import NeuralExpert
from gramian.neural import NeuralModel
from gramian.neural.span_inventory import Inventory, brackets, cell, n_cells
from gramian.trees import Tree


def expert(**options):
    pytest.importorskip("torch")
    defaults = {"max_iter": 4, "device": "cpu", "held_out": 0.1}
    return NeuralExpert(SMALL, QUICK, **defaults | options)


@pytest.fixture(scope="module")
def learnt():
    return expert(max_iter=30).fit(made_up_trees(120))


def same_model(one, other):
    one, other = one.pack(), other.pack()
    return one.keys() == other.keys() and all(np.array_equal(one[name], other[name]) for name in one)


def test_learns_what_depends_on_words(learnt):
    assert learnt.score(made_up_trees(40, seed=5)) > 99
    assert learnt.n_iter_ == len(learnt.report_["F1 of held-out trees"])
    tree = learnt.model_.parse(["the", "dog", "sees", "the", "dog", "with", "a", "cat", "."])
    assert str(tree).startswith("(S (NP (DT the) (NN dog)) (VP (VBZ sees) (NP (NP (DT the) (NN dog)) (PP")


def test_same_seed_same_bytes():
    trees = made_up_trees(60)
    one, two, other = (expert(max_iter=2, random_state=seed).fit(trees).model_ for seed in (0, 0, 1))
    assert same_model(one, two)
    assert not same_model(one, other)


class Kill(Exception):
    pass


@contextmanager
def killed_after_two_passes():
    class KillAfterTwo(logging.Handler):
        def emit(self, record):
            if "pass 2 of" in record.getMessage():
                raise Kill

    log, handler = logging.getLogger("gramian"), KillAfterTwo()
    level = log.level
    log.setLevel(logging.INFO)
    log.addHandler(handler)
    try:
        with pytest.raises(Kill):
            yield
    finally:
        log.removeHandler(handler)
        log.setLevel(level)


def test_goes_on_after_a_kill(tmp_path):
    trees, file = made_up_trees(60), tmp_path / "run"
    whole = expert(max_iter=4).fit(trees)
    with killed_after_two_passes():
        expert(max_iter=4, checkpoint=str(file)).fit(trees)
    assert file.exists()
    resumed = expert(max_iter=4, checkpoint=str(file)).fit(trees)
    assert same_model(whole.model_, resumed.model_)
    assert resumed.report_["loss a word"] == whole.report_["loss a word"]
    assert not file.exists()


def test_what_was_learnt_from_other_trees_is_not_taken_up(tmp_path):
    trees, file = made_up_trees(60), tmp_path / "run"
    with killed_after_two_passes():
        expert(max_iter=4, checkpoint=str(file)).fit(trees)
    other = expert(max_iter=4, checkpoint=str(file)).fit(trees[:40])
    assert same_model(other.model_, expert(max_iter=4).fit(trees[:40]).model_)


def test_stops_when_held_out_trees_no_longer_gain():
    one = expert(max_iter=40).set_params(learning__patience=2).fit(made_up_trees(60))
    f1 = one.report_["F1 of held-out trees"]
    assert one.n_iter_ < 40
    assert max(f1) == f1[-3]


def test_judges_are_held_out_instead_of_a_share():
    trees, judges = made_up_trees(60), made_up_trees(20, seed=9)
    told = expert(held_out=0.0).fit(trees, judges=judges)
    assert len(told.report_["F1 of held-out trees"]) == told.n_iter_
    # The same trees in the same order are learnt from, whatever judges: the passes differ in which is taken only.
    alone = expert(held_out=0.0).fit(trees)
    assert told.report_["loss a word"] == alone.report_["loss a word"]
    assert alone.report_["F1 of held-out trees"] == []


def test_follows_scikit_learn():
    trees = made_up_trees(40)
    one = clone(expert(max_iter=1, held_out=0.0))
    assert one.get_params()["size__units"] == SMALL.units
    assert len(cross_val_score(one, trees, cv=2)) == 2
    for options, message in [
        ({"max_iter": 0}, "max_iter must be at least 1, got 0"),
        ({"size__units": 0}, "size.units must be at least 1, got 0"),
        ({"learning__dropout": 1}, "learning.dropout must be at least 0 and less than 1, got 1"),
        ({"vectors": {"a": np.zeros(2), "b": np.zeros(3)}}, "vectors must have the same length"),
    ]:
        with pytest.raises(OptionError, match=message):
            clone(one).set_params(**options).fit(trees)
    with pytest.raises(InputError, match="no trees to train on"):
        one.fit([])


def test_says_what_to_install_without_torch(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    for name in [
        name
        for name in sys.modules
        if name.startswith("gramian.neural.net") and name != "gramian.neural.net_options"
    ]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "gramian.neural.span_tree_crf", raising=False)
    with pytest.raises(MissingExtraError, match=r"gramian\[neural\]"):
        NeuralExpert(SMALL, QUICK, max_iter=1).fit(made_up_trees(4))


SENTENCES = [
    ["the"],
    ["the", "cat"],
    ["the", "dog", "hears", "a", "Zebra-1999", "with", "the", "extraordinarilylongwordthatneverends", "."],
    ["dog"] * 23,
]


def drawn_net(seed=0, vectors=None, layers=2):
    """A net of drawn weights, as torch has it and as it runs without."""
    torch = pytest.importorskip("torch")
    from dataclasses import replace

    from gramian.neural.net import SpanNet

    trees = [brackets(tree) for tree in made_up_trees(20)]
    words = () if vectors is None else ("cat", "zebra-0000")
    inventory = Inventory.of(trees, 2, words)
    torch.manual_seed(seed)
    net = SpanNet(inventory, replace(SMALL, layers=layers), QUICK, vectors).eval()
    for weight in net.parameters():
        weight.data += 0.3 * torch.randn_like(weight)
    half = {name: value.numpy().astype(np.float16) for name, value in net.state_dict().items()}
    net.load_state_dict({name: torch.from_numpy(value.astype(np.float32)) for name, value in half.items()})
    return net, NeuralModel(inventory, half)


def unlabelled(inventory, words):
    return inventory.example(brackets(Tree.parse("(S " + " ".join(f"(NN {word})" for word in words) + ")")))


@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("vectors", [None, np.ones((2, 7), np.float32)])
def test_without_torch_as_with_it(layers, vectors):
    net, model = drawn_net(vectors=vectors, layers=layers)
    import torch

    from gramian.neural.net import Sentences

    sentences = Sentences([unlabelled(model.inventory, words) for words in SENTENCES], model.inventory)
    batch = sentences.batch(range(len(SENTENCES)))
    with torch.no_grad():
        scores, chances = net(batch), net.posteriors(batch, temperature=1.5)
    longest = int(batch.lengths.max())
    for row, number in enumerate(batch.numbers.tolist()):
        words = SENTENCES[number]
        n = len(words)
        cells = [
            cell(longest, start, start + width) for width in range(1, n + 1) for start in range(n - width + 1)
        ]
        [read] = model._scorer.read([words])
        spans, tags = model._scorer.scores(read.states)
        np.testing.assert_allclose(spans, scores.spans[row, cells].numpy(), atol=1e-4, rtol=1e-4)
        np.testing.assert_allclose(tags, scores.tags[row, :n].numpy(), atol=1e-4, rtol=1e-4)
        spans, tags = NeuralModel(model.inventory, model.weights, 1.5).chains(words)
        np.testing.assert_allclose(spans, chances.spans[row, cells].numpy(), atol=1e-4)
        np.testing.assert_allclose(tags, chances.tags[row, :n].numpy(), atol=1e-4)


def all_trees(start, end):
    if end - start == 1:
        return [frozenset({(start, end)})]
    return [
        left | right | {(start, end)}
        for middle in range(start + 1, end)
        for left, right in itertools.product(all_trees(start, middle), all_trees(middle, end))
    ]


def test_labels_are_those_of_all_labelled_trees():
    _, model = drawn_net(3)
    words = ["the", "dog", "sees"]
    [read] = model._scorer.read([words])
    spans, _ = model._scorer.scores(read.states)
    scores = np.pad(spans, ((0, 0), (0, 1))).astype(np.float64)  # the last: no label
    n_chains = scores.shape[1] - 1
    expected, total = np.zeros((n_cells(3), n_chains + 1)), 0.0
    for tree in all_trees(0, 3):
        cells = [cell(3, *span) for span in tree]
        for chains in itertools.product(range(n_chains + 1), repeat=len(cells)):
            weight = np.exp(scores[cells, chains].sum())
            total += weight
            expected[cells, chains] += weight
    chances, _ = model.chains(words)
    np.testing.assert_allclose(chances, (expected / total)[:, :-1], atol=1e-6)
    table = model.labels(words)
    assert table.shape == (6, len(model.label_names))
    np.testing.assert_allclose(
        table[:, : model.n_phrase_labels], chances @ model.inventory.membership, atol=1e-6
    )
    np.testing.assert_allclose(table[:3, model.n_phrase_labels :].sum(1), 1, atol=1e-5)
    assert not table[3:, model.n_phrase_labels :].any()


def test_gradient_of_the_loss_agrees_with_finite_differences():
    net, model = drawn_net(1)
    import torch

    from gramian.neural.net import Sentences

    net.double()
    examples = [model.inventory.example(brackets(tree)) for tree in made_up_trees(3, seed=2)]
    batch = Sentences(examples, model.inventory).batch(range(3))
    learnt = [weight for weight in net.parameters() if weight.requires_grad]
    gradient = torch.autograd.grad(net.loss(batch), learnt)
    torch.manual_seed(0)
    for _ in range(3):
        way = [torch.randn_like(weight) for weight in learnt]
        losses = []
        for step in (1e-5, -2e-5):
            with torch.no_grad():
                for weight, one in zip(learnt, way, strict=True):
                    weight += step * one
                losses.append(float(net.loss(batch)))
        with torch.no_grad():
            for weight, one in zip(learnt, way, strict=True):
                weight += 1e-5 * one
        expected = sum(float((one * other).sum()) for one, other in zip(gradient, way, strict=True))
        assert (losses[0] - losses[1]) / 2e-5 == pytest.approx(expected, rel=1e-4)


def test_model_survives_packing(learnt):
    model = learnt.model_
    tensors = model.pack()
    again = NeuralModel.unpack(tensors)
    assert same_model(model, again)
    words = ["a", "Bird", "sleeps"]
    np.testing.assert_array_equal(model.labels(words), again.labels(words))
    assert model.labels_and_known_share(["the", "okapi"])[1] == 0.5
    for name, bad in [
        ("weights.label.weight", tensors["weights.label.weight"][:-1]),
        ("weights.lstm.1.weight_ih_l0", tensors["weights.lstm.1.weight_ih_l0"][:, :-1]),
        ("weights.lstm.0.weight_hh_l0", tensors["weights.lstm.0.weight_hh_l0"].astype(np.float32)),
        ("weights.tag.bias", tensors["weights.tag.bias"] * np.float16(np.nan)),
        ("text.words", tensors["text.words"][:-9]),
        ("text.tags", tensors["text.tags"][:0]),
        ("temperature", np.array([0.0], np.float32)),
        ("temperature", np.array([np.nan], np.float32)),
    ]:
        with pytest.raises((LookupError, TypeError, ValueError)):
            NeuralModel.unpack(tensors | {name: bad})
    for name in tensors:
        with pytest.raises((LookupError, TypeError, ValueError)):
            NeuralModel.unpack({other: value for other, value in tensors.items() if other != name})


def test_runs_where_there_is_no_torch_and_no_scikit_learn(learnt, tmp_path):
    np.savez(tmp_path / "model.npz", **learnt.model_.pack())
    code = (
        "import sys; sys.modules['torch'] = sys.modules['sklearn'] = None; import numpy as np\n"
        "from gramian.neural import NeuralModel\n"
        f"model = NeuralModel.unpack(dict(np.load({str(tmp_path / 'model.npz')!r})))\n"
        "print(model.parse(['the', 'cat', 'hears', 'the', 'dog', '.']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("(S (NP (DT the) (NN cat))")


def test_sentences_before_change_nothing(learnt):
    """Words are read together where they are new together, and remembered: neither shows."""
    words = ["the", "Okapi", "sees", "a", "birdcage", "."]
    one, other = (NeuralModel.unpack(learnt.model_.pack()) for _ in range(2))
    for word in reversed(words):
        other.labels([word])
    np.testing.assert_array_equal(one.labels(words), other.labels(words))
    np.testing.assert_array_equal(one.labels(words), one.labels(words))


def test_sentences_read_together_say_the_same_to_the_bit(learnt):
    texts = [["the", "dog", "sees", "a", "cat", "."], ["birds"], ["the", "Okapi", "sees", "it"]]
    one, other = (NeuralModel.unpack(learnt.model_.pack()) for _ in range(2))
    for words, found in zip(texts, other.read(texts), strict=True):
        [alone] = one.read([words])
        for ours, theirs in zip(alone, found, strict=True):
            np.testing.assert_array_equal(ours, theirs)
