"""A pre-trained encoder of the user's own beside the net's vectors: a tiny one is made on the spot."""

import shutil
import subprocess
import sys
from dataclasses import asdict, replace

import numpy as np
import pytest
from small_nets import QUICK, SMALL, made_up_trees

from gramian.errors import InputError, ModelFileError, OptionError
from gramian.experts import NeuralExpert
from gramian.neural import NeuralModel
from gramian.neural.encoder import Encoder, folder_digest, open_encoder
from gramian.training import TrainingSettings
from gramian.training.setting_groups import check_settings

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

PIECES = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "the",
    "dog",
    "cat",
    "Bird",
    "see",
    "hear",
    "##s",
    "with",
    "a",
    "sleep",
    "to",
    ".",
]
WORDS = ("the", "dog", "sees", "a", "Bird", ".")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A BERT of one layer with 16 numbers that reads 12 pieces at once."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    pieces = Tokenizer(models.WordPiece({one: place for place, one in enumerate(PIECES)}, unk_token="[UNK]"))
    pieces.pre_tokenizer = pre_tokenizers.Whitespace()
    pieces.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    path = tmp_path_factory.mktemp("encoder")
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=pieces, unk_token="[UNK]", pad_token="[PAD]", cls_token="[CLS]", sep_token="[SEP]"
    )
    fast.save_pretrained(path)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        config = transformers.BertConfig(
            vocab_size=len(PIECES), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
            max_position_embeddings=12,
        )  # fmt: skip
        transformers.BertModel(config).save_pretrained(path)
    return path


def learner(folder, rate=0.0, **options):
    learning = replace(QUICK, encoder_rate=rate)
    defaults = {"max_iter": 8, "device": "cpu", "held_out": 0.1, "encoder": str(folder)}
    return NeuralExpert(SMALL, learning, **defaults | options)


@pytest.fixture(scope="module")
def learnt(folder):
    return learner(folder).fit(made_up_trees(80)).model_


@pytest.fixture(scope="module")
def tuned(folder):
    return learner(folder, rate=1e-3, max_iter=2, pooling="mean").fit(made_up_trees(40)).model_


def test_vectors_are_those_of_pieces(folder):
    model = transformers.AutoModel.from_pretrained(folder)
    ids = torch.tensor([[2, 4, 5, 8, 10, 13 - 1, 7, 15, 3]])  # "sees" has two pieces
    with torch.no_grad():
        rows = model(input_ids=ids).last_hidden_state[0].numpy()
    first, mean = (open_encoder(folder, pooling).one(WORDS) for pooling in ("first", "mean"))
    assert first.shape == (len(WORDS) + 2, 16)
    assert not first[[0, -1]].any()
    np.testing.assert_allclose(first[1:-1], rows[[1, 2, 3, 5, 6, 7]], atol=1e-5)
    np.testing.assert_allclose(mean[3], rows[3:5].mean(0), atol=1e-5)


def test_a_batch_says_what_sentences_say_alone(folder):
    encoder = open_encoder(folder, "mean", is_tuned=True)
    table = encoder([WORDS, ("a", "cat")], len(WORDS)).detach().numpy()
    np.testing.assert_allclose(table[0], encoder.one(WORDS), atol=1e-5)
    np.testing.assert_allclose(table[1, :4], encoder.one(("a", "cat")), atol=1e-5)
    assert not table[1, 3:].any()


def test_long_sentences_are_read_in_stretches(folder):
    encoder = open_encoder(folder)
    words = ("the", "sees") * 9  # 27 pieces; ten, of seven words, fit beside the two at the ends
    vectors = encoder.one(words)
    assert vectors[1:-1].any(1).all()
    np.testing.assert_allclose(vectors[1:8], encoder.one(words[:7])[1:-1], atol=1e-5)


def test_net_runs_as_it_learnt(learnt, monkeypatch):
    """NumPy and torch say the same, and what the encoder says matters."""
    from gramian.neural.net import Sentences, SpanNet
    from gramian.neural.span_inventory import brackets

    encoder = learnt.encoder.opened
    net = SpanNet(learnt.inventory, SMALL, QUICK, encoder=encoder).eval()
    net.load_state_dict({name: torch.from_numpy(np.float32(value)) for name, value in learnt.weights.items()})
    [tree] = made_up_trees(1, seed=9)
    batch = Sentences([learnt.inventory.example(brackets(tree))], learnt.inventory).batch([0])
    with torch.no_grad():
        expected = net.posteriors(batch, learnt.temperature).spans[0].numpy()
    spans, _ = learnt.chains(tree.words)
    np.testing.assert_allclose(spans, expected, atol=2e-3)  # the encoder's vectors are halves while learning
    assert learnt.labels_and_known_share(["okapi"])[1] == 1
    monkeypatch.setattr(Encoder, "vectors", lambda _, words: np.zeros((len(words) + 2, 16), np.float32))
    assert not np.allclose(learnt.chains(tree.words)[0], spans, atol=1e-2)


@pytest.mark.parametrize("which", ["learnt", "tuned"])
def test_model_is_stored_with_what_it_needs(which, request, tmp_path):
    model = request.getfixturevalue(which)
    model.save(tmp_path / "net")
    again = NeuralModel.load(tmp_path / "net")
    np.testing.assert_array_equal(again.labels(WORDS), model.labels(WORDS))
    assert again.encoder.about() == model.encoder.about()
    assert bool(again.encoder.weights) == (which == "tuned")
    tensors = model.pack()
    for bad in (b"[]", b"{}", tensors["text.encoder"].tobytes().replace(b"16", b"17")):
        with pytest.raises((LookupError, TypeError, ValueError, AttributeError)):
            NeuralModel.unpack(tensors | {"text.encoder": np.frombuffer(bad, np.uint8)})


def test_what_is_tuned_differs_and_is_repeatable(folder, tuned):
    original = transformers.AutoModel.from_pretrained(folder).state_dict()
    assert tuned.encoder.weights.keys() == original.keys()
    assert any(not np.allclose(value, original[name]) for name, value in tuned.encoder.weights.items())
    again = learner(folder, rate=1e-3, max_iter=2, pooling="mean").fit(made_up_trees(40)).model_
    assert all(np.array_equal(value, again.pack()[name]) for name, value in tuned.pack().items())


def test_encoder_that_is_missing_moved_or_another(folder, learnt, tmp_path, monkeypatch):
    def with_path(path):
        about = learnt.encoder.about() | {"path": str(path)}
        return Encoder(**about)

    with pytest.raises(ModelFileError, match=r"the encoder of the model is missing.*GRAMIAN_ENCODER"):
        with_path(tmp_path / "nowhere").vectors(WORDS)
    moved = shutil.copytree(folder, tmp_path / "moved")
    monkeypatch.setenv("GRAMIAN_ENCODER", str(moved))
    np.testing.assert_array_equal(
        with_path(tmp_path / "nowhere").vectors(WORDS), learnt.encoder.vectors(WORDS)
    )
    (moved / "config.json").write_text((moved / "config.json").read_text() + "\n")
    with pytest.raises(ModelFileError, match="not the files of the encoder"):
        with_path(moved).vectors(WORDS)


def test_folders_without_an_encoder(tmp_path):
    with pytest.raises(InputError, match="contains no encoder"):
        learner(tmp_path).fit(made_up_trees(10))
    (tmp_path / "config.json").write_text("{}")
    assert len(folder_digest(tmp_path)) == 64
    with pytest.raises(InputError, match="contains no encoder that transformers can read"):
        open_encoder(tmp_path)


def test_without_transformers_the_extra_is_named(learnt, tmp_path):
    learnt.save(tmp_path / "net")
    code = (
        "import sys; sys.modules['transformers'] = None\n"
        "from gramian.neural import NeuralModel\n"
        f"NeuralModel.load({str(tmp_path / 'net')!r}).parse(['the', 'cat'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "MissingExtraError: a model with a pre-trained encoder needs transformers" in done.stderr
    assert "pip install 'gramian[encoder]'" in done.stderr


def test_settings_take_an_encoder_beside_a_neural_expert():
    both = {"neural.encoder": "folder", "neural.learning.encoder_rate": 3e-5}
    settings = TrainingSettings.of(both, expert="neural")
    check_settings(settings)
    assert settings.expert_parameters() == {"neural": {"encoder": "folder", "learning__encoder_rate": 3e-5}}
    with pytest.raises(OptionError, match="the neural expert require expert neural or both"):
        check_settings(TrainingSettings.of({"neural.encoder": "folder"}))
    with pytest.raises(OptionError, match=r"encoder_rate requires neural\.encoder"):
        check_settings(TrainingSettings.of({"neural.learning.encoder_rate": 1e-5}, expert="neural"))


def test_from_the_command_line(gramian, folder, tmp_path):
    def run(*arguments):
        code, out, _ = gramian(*arguments)
        assert code == 0
        return out

    sizes = {f"size.{name}": value for name, value in asdict(SMALL).items()}
    rates = {f"learning.{name}": value for name, value in asdict(QUICK).items()}
    small = [f"--set=neural.{name}={value}" for name, value in {**sizes, **rates, "max_iter": 2}.items()]
    trees, model = tmp_path / "trees.mrg", tmp_path / "a.model"
    trees.write_text("\n".join(map(str, made_up_trees(40))))
    options = [
        "--ensemble-size",
        1,
        "--states",
        2,
        "--set",
        f"max_iter={1}",
        "--language",
        "none",
        "-q",
        *small,
    ]
    run("train", trees, "--expert", "neural", "--set", f"neural.encoder={folder}", "-o", model, *options)
    shown = " ".join(run("inspect", model).split())  # lines are wrapped
    assert f"torch, transformers and the encoder in {folder}" in shown
    (tmp_path / "a.tok").write_text("the dog sees a cat .\n")
    assert run("parse", "-m", model, "--tokens", tmp_path / "a.tok").startswith("(S ")
