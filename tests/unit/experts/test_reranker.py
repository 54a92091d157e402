"""Learning to rerank: the gradient of the likelihood, what is learnt, and how a parser uses it."""

import json
from dataclasses import replace

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file

from gramian import Parser
from gramian.chart.tree_arrays import to_tree
from gramian.errors import InputError, ModelFileError, OptionError
from gramian.experts import MaxEntReranker, RerankModel
from gramian.experts.rerank_candidates import DENSE, candidates, read_candidates
from gramian.experts.reranker import ExampleArrays, Examples, log_likelihood
from gramian.io import model_files
from gramian.learn import PCFG
from gramian.parsing.model import Model
from gramian.parsing.model_store import load_model, save_model
from gramian.training.folds import CandidatesTask
from gramian.treebank import Treebank
from gramian.trees import HeadRules, Tree


def random_examples(seed: int) -> Examples:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 6, size=8)
    n = int(sizes.sum())
    features = rng.integers(0, 7, size=n)
    counts = np.stack([rng.integers(0, 4, size=n), np.full(n, 5), np.full(n, 5)], axis=1)
    arrays = ExampleArrays(
        np.cumsum([0, *sizes]),
        np.cumsum([0, *features]),
        rng.integers(0, 12, size=features.sum()).astype(np.int32),
        rng.integers(-3, 4, size=features.sum()).astype(np.int8),
        rng.normal(size=(n, 2)),
    )
    return Examples(arrays, counts.astype(np.int32))


def plain_likelihood(weights: np.ndarray, examples: Examples) -> float:
    """Add up the log-probability of best candidates, one sentence after the other."""
    total = 0.0
    for first, last in zip(examples.sentence_start[:-1], examples.sentence_start[1:], strict=True):
        scores, f1 = [], []
        for candidate in range(first, last):
            score = float(examples.arrays.dense[candidate] @ weights[12:])
            for place in range(*examples.arrays.tree_first[candidate : candidate + 2]):
                score += weights[examples.arrays.feature[place]] * examples.arrays.value[place]
            scores.append(score)
            matched, predicted, gold = examples.counts[candidate]
            f1.append(2 * matched / (predicted + gold))
        chance = np.exp(scores) / np.exp(scores).sum()
        total += np.log(sum(p for p, value in zip(chance, f1, strict=True) if value == max(f1)))
    return total


@pytest.mark.parametrize("seed", range(5))
def test_the_gradient_is_that_of_the_likelihood(seed):
    examples = random_examples(seed)
    rng = np.random.default_rng(seed)
    weights, l2 = rng.normal(size=14), rng.uniform(0.1, 2, size=14)
    value, gradient = log_likelihood(weights, examples, l2)
    expected = plain_likelihood(weights, examples) - 0.5 * l2 @ weights**2
    np.testing.assert_allclose(value, expected, rtol=1e-10)
    step = 1e-6
    for place in range(14):
        up, down = weights.copy(), weights.copy()
        up[place] += step
        down[place] -= step
        rise = log_likelihood(up, examples, l2)[0] - log_likelihood(down, examples, l2)[0]
        np.testing.assert_allclose(gradient[place], rise / (2 * step), rtol=1e-4, atol=1e-6)


def test_parts_and_choices():
    examples = random_examples(3)
    weights = np.random.default_rng(0).normal(size=14)
    whole = examples.scores(weights)
    cut = int(examples.sentence_start[5])
    parts = [examples.part(0, 5), examples.part(5, 8)]
    np.testing.assert_array_equal(np.concatenate([part.scores(weights) for part in parts]), whole)
    assert [len(part) for part in parts] == [5, 3]
    matched = 0
    for first, last in zip(parts[1].sentence_start[:-1], parts[1].sentence_start[1:], strict=True):
        matched += examples.counts[cut + first + np.argmax(whole[cut:][first:last]), 0]
    np.testing.assert_allclose(parts[1].f1(whole[cut:]), 100 * matched / 15, rtol=1e-12)
    assert examples.f1(examples.best) >= examples.f1(whole)


# A grammar without states cannot know that things are seen with telescopes and have hats.
NOUNS = ("man", "woman", "child", "king", "queen", "sailor", "clown", "judge")


def attached(subject: str, thing: str, tool: str) -> Tree:
    prepositional = f"(PP (IN with) (NP (DT a) (NN {tool})))"
    if tool == "telescope":
        after = f"(NP (DT the) (NN {thing})) {prepositional}"
    else:
        after = f"(NP (NP (DT the) (NN {thing})) {prepositional})"
    return Tree.parse(f"(S (NP (DT the) (NN {subject})) (VP (VBZ sees) {after}) (. .))")


@pytest.fixture(scope="module")
def fold():
    pairs = [(one, two) for one in NOUNS for two in NOUNS if one != two]
    trees = [
        attached(one, two, "hat" if place % 3 else "telescope") for place, (one, two) in enumerate(pairs)
    ]
    return Model(PCFG().fit(Treebank.from_trees(trees[::2])).model_), trees[1::2]


@pytest.fixture(scope="module")
def learnt(fold):
    sentences = list(read_candidates(CandidatesTask(k=5).work(*fold)))
    return MaxEntReranker(l2=(0.1, 1.0), heads=HeadRules.collins(), least=1, slots=1 << 14).fit(sentences)


def test_a_reranker_learns_what_the_model_cannot_know(fold, learnt):
    held_out = learnt.report_["held out"]
    assert held_out["first"] < 100
    assert held_out["best"] == max(held_out["chosen"].values()) == 100
    parser = Parser(Model(fold[0].grammar, reranker=model_files.rounded("reranker", learnt.model_)))
    plain = Parser(fold[0])
    new = [attached("sailor", "sailor", tool) for tool in ("telescope", "hat")]
    assert [str(parser.parse(list(tree.words)).tree) for tree in new] == [str(tree) for tree in new]
    assert [str(plain.parse(list(tree.words)).tree) for tree in new] != [str(tree) for tree in new]


def test_it_does_not_matter_how_often_candidates_can_be_gone_through(fold, learnt):
    once = read_candidates(CandidatesTask(k=5).work(*fold))
    other = MaxEntReranker(l2=(0.1, 1.0), heads=HeadRules.collins(), least=1, slots=1 << 14).fit(once)
    assert np.array_equal(other.model_.weights, learnt.model_.weights)
    assert other.report_["held out"] == learnt.report_["held out"]


def test_a_parser_may_do_without_its_reranker(fold, learnt):
    model = Model(fold[0].grammar, reranker=model_files.rounded("reranker", learnt.model_))
    words = list(attached("king", "king", "hat").words)
    base = Parser(fold[0]).parse(words, k=4)
    off, on = Parser(model, rerank=False).parse(words, k=4), Parser(model).parse(words, k=4)
    assert off.alternatives == base.alternatives
    assert on.tree == on.alternatives[0].tree != base.tree
    # fewer than k differ, and all are told with their own probability
    assert set(on.alternatives) == set(base.alternatives)
    sure = dict(zip(base.tree.spans(), base.confidences, strict=True))
    for span, value in zip(on.tree.spans(), on.confidences, strict=True):
        assert sure.get(span, value) == value
    other = Parser(model, decoder="max-rule-product").parse(words)
    assert other.tree == Parser(fold[0], decoder="max-rule-product").parse(words).tree


def test_candidates_are_trees_of_the_forest(fold):
    forest = Parser(fold[0]).forest(fold[1][0].words)
    found, decoded = candidates(forest, 10)
    trees = [to_tree(forest, one, fold[1][0].words) for one in decoded]
    assert len({str(tree) for tree in trees}) == len(found) > 1
    for number, tree in enumerate(trees):
        here = slice(found.tree_start[number], found.tree_start[number + 1])
        assert [found.names[label] for label in found.label[here]] == [node.label for node in tree.subtrees()]
        assert found.arity[here].tolist() == [len(node.children) for node in tree.subtrees()]
        assert found.dense[number, DENSE.index("phrases")] == sum(
            bool(node.children) for node in tree.subtrees()
        )
    # Grammar without states: log-posteriors of rules are sums over rules, and posteriors of brackets are between 0 and 1.
    assert (np.diff(found.dense[:, 0]) <= 1e-6).all()


def test_a_model_file_holds_a_reranker(fold, learnt, tmp_path):
    model = Model(fold[0].grammar, reranker=model_files.rounded("reranker", learnt.model_))
    save_model(model, tmp_path / "model")
    again = load_model(tmp_path / "model")
    found = again.reranker
    assert isinstance(found, RerankModel)
    assert (found.k, found.frequent, found.heads) == (
        learnt.model_.k,
        learnt.model_.frequent,
        HeadRules.collins(),
    )
    np.testing.assert_allclose(found.weights, learnt.model_.weights, rtol=1e-3, atol=1e-6)
    save_model(Model(fold[0].grammar), tmp_path / "plain")
    assert load_model(tmp_path / "plain").reranker is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("k", np.array([0])), ("dense", np.zeros(2, np.float32)), ("base", np.array([np.nan], np.float32)),
        ("weights.mask", np.zeros(100, np.uint8)),
        ("weights", np.zeros(0, np.float16)), ("heads", np.frombuffer(b"[1]", np.uint8)),
    ],
)  # fmt: skip
def test_a_damaged_reranker_is_told(fold, learnt, tmp_path, name, value):
    path = tmp_path / "model"
    save_model(Model(fold[0].grammar, reranker=learnt.model_), path)
    with safe_open(path, "numpy") as file:
        header = json.loads(file.metadata()["gramian"])
        tensors = {part: file.get_tensor(part) for part in file.keys()}  # noqa: SIM118
    tensors[f"reranker/{name}"] = value
    header["checksum"] = model_files.checksum(header, tensors)
    save_file(tensors, path, {"gramian": json.dumps(header)})
    with pytest.raises(ModelFileError, match="reranker"):
        load_model(path)


def test_a_reranker_that_could_not_be_loaded_is_not_saved(fold, learnt, tmp_path):
    for wrong in ({"k": 0}, {"base": np.nan}, {"weights": learnt.model_.weights[:-1]}):
        with pytest.raises(OptionError, match="reranker"):
            save_model(Model(fold[0].grammar, reranker=replace(learnt.model_, **wrong)), tmp_path / "model")
    assert not any(tmp_path.iterdir())


def test_a_share_of_another_shape_is_the_same_share(fold, learnt):
    _, flat = model_files.pack("reranker", learnt.model_)
    again = model_files.unpack("reranker", {}, flat | {"base": flat["base"].reshape(1, 1)})
    assert again.base == model_files.unpack("reranker", {}, flat).base


def test_bad_options_are_told(fold):
    sentences = list(read_candidates(CandidatesTask(k=2).work(*fold)))
    with pytest.raises(OptionError, match="power of two"):
        MaxEntReranker(slots=5000).fit(sentences)
    with pytest.raises(OptionError, match="l2"):
        MaxEntReranker(l2=(0.0,)).fit(sentences)
    with pytest.raises(InputError, match="two sentences"):
        MaxEntReranker().fit(sentences[:1])
