import json
import sys
from dataclasses import replace

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file
from toy_treebank import toy_sentences

from gramian.dependency import DependencyParser, SHAGParser
from gramian.dependency.arc_net_scores import NetArcScorer, NetArcScores, NetInventory
from gramian.dependency.held_out_scores import ArcTraining, with_chosen_weights
from gramian.dependency.shag_parser import ArcNetOptions
from gramian.errors import MissingExtraError, ModelFileError
from gramian.io.model_files import checksum
from gramian.trees import Sentence

TRAIN, TEST = toy_sentences(80, seed=1), toy_sentences(30, seed=2)
QUICK = {"n_states": 3, "max_iter": 5, "start": "random", "epochs": 1, "tags": "gold", "n_jobs": 1}
OPTIONS = ArcNetOptions(
    count=2, epochs=12, layers=2, units=10, hidden=14, relation_hidden=8, rate=1e-2, batch_words=100
)


@pytest.fixture(scope="module")
def parser() -> DependencyParser:
    pytest.importorskip("torch")
    learner = SHAGParser(**QUICK, neural=True, net=OPTIONS)
    return learner.fit(TRAIN).model_


def net_without_training(n_relations: int = 3) -> NetArcScorer:
    rng = np.random.default_rng(0)
    inventory = NetInventory.of(TRAIN)
    sizes = {"lstm.0": (12, 5), "char_lstm": (4, 3)}
    shapes = {
        "word.weight": (inventory.words.n_words, 4),
        "vector.weight": (1, 0),
        "char.weight": (inventory.words.n_characters, 4),
        "morphology.weight": (len(inventory.morphology) + 1, 2),
        "arc_sides.weight": (14, 10),
        "arc_sides.bias": (14,),
        "arc.weight": (7, 7),
        "arc.bias": (7,),
        "relation_sides.weight": (12, 10),
        "relation_sides.bias": (12,),
        "relation.weight": (n_relations * 7, 7),
    }
    for name, (inputs, units) in sizes.items():
        for direction in ("l0", "l0_reverse"):
            shapes |= {
                f"{name}.weight_ih_{direction}": (4 * units, inputs),
                f"{name}.weight_hh_{direction}": (4 * units, units),
                f"{name}.bias_ih_{direction}": (4 * units,),
                f"{name}.bias_hh_{direction}": (4 * units,),
            }
    weights = {name: rng.normal(size=shape).astype(np.float16) for name, shape in shapes.items()}
    return NetArcScorer(inventory, n_relations, (weights,))


def test_a_sentence_has_the_same_scores_alone_and_beside_others():
    net = net_without_training()
    for sentence, scores in zip(TEST[:8], net.read(TEST[:8]), strict=True):
        np.testing.assert_array_equal(net.read([sentence])[0].heads, scores.heads)


def test_names_are_those_that_occur_twice():
    inventory = NetInventory.of([TRAIN[0]])
    assert "U DET" in inventory.morphology
    bare = replace(TRAIN[0].tokens[0], upos="NEW", xpos="NEW", lemma="new")
    assert inventory.morphology_numbers(bare) == ()


def test_factors_and_scores_of_the_net_are_combined_with_their_weights():
    net = replace(net_without_training(), arc_weight=0.5, factor_weight=2.0)
    factors = np.array([[0.0, 0.2, 1.0], [0.0, 0.0, 0.5], [0.0, 1.0, 0.0]])
    scores = np.array([[1, 0.3, 0.4], [1, 1, 0.6], [1, 0.7, 1]], np.float32)
    combined = net.combined(factors, NetArcScores(scores, ()))
    expected = factors**2 * np.exp(scores / 2)
    np.testing.assert_allclose(combined[:, 1:], expected[:, 1:] / expected[:, 1:].max(axis=0), rtol=1e-6)
    assert not combined[:, 0].any()


def arc_training() -> ArcTraining:
    parser = SHAGParser(**QUICK).fit(TRAIN).model_
    return ArcTraining(
        parser.grammar,
        TRAIN,
        [parser.grammar.encode(parser.symbols(sentence.tokens)) for sentence in TRAIN],
        [np.asarray([-1, *sentence.heads], np.int32) for sentence in TRAIN],
        [[token.deprel for token in sentence.tokens] for sentence in TRAIN],
        parser.labeller.relations,
        "xpos",
        len(TRAIN),
        len(TRAIN),
        max_iter=1,
        random_state=0,
        n_jobs=1,
    )


def test_scores_are_those_of_models_that_have_not_seen_a_sentence():
    training = arc_training()
    assert replace(training, n_gold=40).held_out_parts(2) == [[], []]  # of few trees none are held out
    fold, other_fold = training.held_out_parts(2)
    assert fold == list(range(8))
    assert other_fold == list(range(8, 16))
    twice = replace(training, sentences=[*TRAIN, *TRAIN])  # two versions of each sentence
    assert twice.held_out_parts(1) == [[*range(8), *range(80, 88)]]
    _, second = training.scores(fold)[:2]
    changed = [TEST[0] if index == fold[0] else sentence for index, sentence in enumerate(TRAIN)]
    relations = [[token.deprel for token in sentence.tokens] for sentence in changed]
    trees = [np.asarray([-1, *sentence.heads], np.int32) for sentence in changed]
    [_, other] = replace(training, sentences=changed, trees=trees, relations=relations).scores(fold)[:2]
    np.testing.assert_array_equal(second.factors, other.factors)
    np.testing.assert_array_equal(second.relations, other.relations)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_weights_of_the_net_follow_from_how_good_it_is(sign, monkeypatch):
    training = arc_training()
    [fold] = training.held_out_parts(1)
    scores, sentences = training.scores(fold), [TRAIN[index] for index in fold]
    row_of = {sentence.words: row for sentence, row in zip(sentences, scores, strict=True)}

    def read(_, sentences):
        """Give gold heads and relations a high score, or a low one."""
        results = []
        for sentence in sentences:
            row = row_of[sentence.words]
            table = np.zeros((len(row.tree), len(row.tree)), np.float32)
            table[row.tree[1:], np.arange(1, len(row.tree))] = 5.0 * sign
            results.append(NetArcScores(table, (row.targets,)))
        return results

    def relation_scores(net, scores, _):
        return 5.0 * sign * np.eye(net.n_relations)[scores.sides[0]]

    monkeypatch.setattr(NetArcScorer, "read", read)
    monkeypatch.setattr(NetArcScorer, "relation_scores", relation_scores)
    base = net_without_training(len(training.names))
    net, factors = with_chosen_weights(base, training.grammar, [sentences], scores)
    assert net.arc_weight == (1.25 if sign > 0 else 0.0)
    assert sign > 0 or net.relation_weight == 0.0
    assert [table.shape for table in factors] == [row.factors.shape for row in scores]


def test_numpy_agrees_with_torch(parser):
    torch = pytest.importorskip("torch")
    from gramian.dependency.arc_net import ArcNet, ArcSentences, arc_example

    sentences = TEST[:6]
    assert len(parser.net.weights) == 2
    net = replace(parser.net, weights=parser.net.weights[1:])
    examples = [
        arc_example(net.inventory, sentence, sentence.heads, [0] * len(sentence)) for sentence in sentences
    ]
    counts = [1] * (len(net.inventory.morphology) + 1)
    inventory, n_relations = net.inventory.words, net.n_relations
    module = ArcNet(
        inventory, OPTIONS.size, OPTIONS.learning, None, counts=counts, n_relations=n_relations
    ).eval()
    weights = {name: torch.from_numpy(np.float32(value)) for name, value in net.weights[0].items()}
    module.load_state_dict(weights)
    batch = ArcSentences(examples, inventory).batch(range(6))
    with torch.no_grad():
        scores, sides = module(batch)
        relation_scores = module.relation_scores(sides, batch.heads).numpy()
    for row, number in enumerate(batch.words.numbers.tolist()):
        n, heads = len(sentences[number]), np.asarray(sentences[number].heads, np.int32)
        [ours] = net.read([sentences[number]])
        expected = scores.numpy()[row, :n, : n + 1].T
        present = expected > -1000  # words are not their own heads
        np.testing.assert_allclose(ours.heads[:, 1:][present], expected[present], atol=2e-4)
        relations = replace(net, relation_weight=1.0).relation_scores(ours, heads)
        np.testing.assert_allclose(relations, relation_scores[row, :n], atol=2e-4)


def test_an_ensemble_scores_the_mean_of_its_nets(parser):
    sentence, heads = TEST[0], np.asarray(TEST[0].heads, np.int32)
    members = [replace(parser.net, weights=(weights,)) for weights in parser.net.weights]
    [whole] = parser.net.read([sentence])
    rows = [member.read([sentence])[0] for member in members]
    np.testing.assert_allclose(whole.heads, (rows[0].heads + rows[1].heads) / 2, rtol=1e-6)
    relations = [member.relation_scores(row, heads) for member, row in zip(members, rows, strict=True)]
    np.testing.assert_allclose(
        parser.net.relation_scores(whole, heads), np.mean(relations, axis=0), rtol=1e-5
    )


def test_the_net_learns_heads_and_relations():
    pytest.importorskip("torch")
    from gramian.dependency.arc_net import fit_net_arc_scorer

    training = arc_training()
    learning = replace(OPTIONS.learning, dropout=0.0, hidden_dropout=0.0, word_dropout=0.0, average=0.9)
    net = fit_net_arc_scorer(
        training, training.held_out_parts(1), size=OPTIONS.size, learning=learning, max_iter=30
    )
    right_heads, right_relations = [], []
    for sentence, scores in zip(TEST, net.read(TEST), strict=True):
        heads = np.asarray(sentence.heads, np.int32)
        arcs = scores.heads[:, 1:].copy()
        arcs[np.arange(1, len(heads) + 1), np.arange(len(heads))] = -np.inf
        right_heads += (arcs.argmax(axis=0) == heads).tolist()
        best = net.relation_scores(scores, heads).argmax(axis=1)
        gold = [token.deprel for token in sentence.tokens]
        right_relations += [training.names[number] == name for number, name in zip(best, gold, strict=True)]
    assert np.mean(right_heads) > 0.85
    assert np.mean(right_relations) > 0.9


def test_long_sentences_and_constraints_take_the_net(parser):
    parse = parser.parse(TEST[0], max_length=3)
    assert parse.status == "cut"
    assert parse.heads.count(0) == 1
    assert list(parser.parse_many([Sentence(()), TEST[0]]))[1].heads == parser.parse(TEST[0]).heads


def test_the_same_seed_gives_the_same_file_and_loading_changes_nothing(parser, tmp_path):
    parser.save(tmp_path / "a.dep")
    loaded = DependencyParser.load(tmp_path / "a.dep")
    loaded.save(tmp_path / "b.dep")
    assert (tmp_path / "a.dep").read_bytes() == (tmp_path / "b.dep").read_bytes()
    learner = SHAGParser(**QUICK, neural=True, net=OPTIONS)
    learner.fit(TRAIN).model_.save(tmp_path / "c.dep")
    assert (tmp_path / "a.dep").read_bytes() == (tmp_path / "c.dep").read_bytes()
    for ours, theirs in zip(parser.parse_many(TEST), loaded.parse_many(TEST), strict=True):
        assert (ours.heads, ours.relations, ours.confidences) == (
            theirs.heads,
            theirs.relations,
            theirs.confidences,
        )


@pytest.mark.parametrize("change", ["shape", "missing", "more", "weight", "type"])
def test_a_net_that_does_not_fit_is_refused(tmp_path, change):
    base = SHAGParser(**QUICK).fit(TRAIN).model_
    path = tmp_path / "model.dep"
    replace(base, net=net_without_training(len(base.labeller.relations))).save(path)
    assert DependencyParser.load(path).net is not None
    with safe_open(path, "np") as file:
        header = json.loads(file.metadata()["gramian-automata"])
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    name = "net.weights.0.arc.bias"
    if change == "shape":
        tensors[name] = tensors[name][1:]
    elif change == "missing":
        del tensors[name]
    elif change == "more":
        tensors["net.weights.0.other"] = tensors[name]
    elif change == "type":
        tensors[name] = tensors[name].astype(np.float32)
    else:
        header["net"]["arc_weight"] = "heavy"
    header["checksum"] = checksum(header, tensors)
    save_file(tensors, path, {"gramian-automata": json.dumps(header)})
    with pytest.raises(ModelFileError):
        DependencyParser.load(path)


def test_training_names_the_missing_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "gramian.dependency.arc_net", raising=False)
    with pytest.raises(MissingExtraError, match="torch"):
        SHAGParser(**QUICK, neural=True).fit(TRAIN[:60])


def test_a_file_with_one_net_of_an_older_version_loads(tmp_path):
    base = SHAGParser(**QUICK).fit(TRAIN).model_
    path = tmp_path / "model.dep"
    replace(base, net=net_without_training(len(base.labeller.relations))).save(path)
    parse = DependencyParser.load(path).parse(TEST[0])
    with safe_open(path, "np") as file:
        header = json.loads(file.metadata()["gramian-automata"])
        tensors = {name.replace("weights.0.", "weights."): file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    header["checksum"] = checksum(header, tensors)
    save_file(tensors, path, {"gramian-automata": json.dumps(header)})
    assert DependencyParser.load(path).parse(TEST[0]).confidences == parse.confidences
