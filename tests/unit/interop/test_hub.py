"""Models in the layout of the Hub: saved with a card, loaded from a folder and from the Hub's cache, without a network."""

import shutil
from types import SimpleNamespace

import pytest
from tiny_grammar import tiny_model
from tools.languages import LANGUAGES, ROOT

import gramian
from gramian.errors import InputError
from gramian.interop.hub import load_from_hub, model_card, model_facts, save_folder, save_to_hub
from gramian.parsing.model_store import load_model

WORDS = ["the", "dog", "barks", "."]


@pytest.fixture
def offline(tmp_path, monkeypatch):
    """The library with an empty cache, cut off from the network."""
    hub = pytest.importorskip("huggingface_hub", reason="the extra 'hub' is not installed")
    constants = pytest.importorskip("huggingface_hub.constants")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    return hub


def test_a_folder_in_the_layout_of_the_hub(tmp_path):
    model = tiny_model()
    save_folder(model, tmp_path / "repository", "me/tiny", "CC0-1.0")
    loaded = load_from_hub(str(tmp_path / "repository"), decoder="viterbi")
    assert loaded.parse(WORDS).tree == gramian.Parser(model, decoder="viterbi").parse(WORDS).tree
    assert sorted(path.name for path in (tmp_path / "repository").iterdir()) == ["README.md", "model.grammar"]


@pytest.mark.parametrize("code", LANGUAGES)
def test_the_package_of_a_language_has_the_card_of_its_model(code):
    package = ROOT / "models" / f"gramian-{code}"
    model = load_model(package / f"gramian_{code}" / "model.grammar")
    assert model_facts(model, LANGUAGES[code].licence) in (package / "README.md").read_text("utf-8")


def test_a_model_that_the_cache_has(tmp_path, offline, monkeypatch):
    commit = "0" * 40
    cached = tmp_path / "cache" / "models--me--tiny"
    (cached / "refs").mkdir(parents=True)
    (cached / "refs" / "main").write_text(commit)
    save_folder(tiny_model(), cached / "snapshots" / commit, "me/tiny", "CC0-1.0")
    download = offline.hf_hub_download
    monkeypatch.setattr(
        offline,
        "hf_hub_download",
        lambda *args, **kwargs: download(*args, cache_dir=tmp_path / "cache", **kwargs),
    )
    assert load_from_hub("me/tiny").parse(WORDS).tree.words == tuple(WORDS)
    assert load_from_hub("me/tiny", revision=commit).model.language == tiny_model().language
    with pytest.raises(InputError, match="me/other: cannot be loaded from the Hub"):
        load_from_hub("me/other")


def test_saving_uploads_the_model_with_its_card(tmp_path, offline, monkeypatch):
    class Api:
        def __init__(self, **options):
            assert options["token"] == "secret"

        def create_repo(self, repository, *, private, exist_ok):
            assert (repository, private, exist_ok) == ("me/tiny", True, True)

        def upload_folder(self, *, repo_id, folder_path, commit_message):
            shutil.copytree(folder_path, tmp_path / repo_id)
            return SimpleNamespace(commit_url="https://hub/me/tiny/commit/1")

    monkeypatch.setattr(offline, "HfApi", Api)
    parser = gramian.Parser(tiny_model())
    assert save_to_hub(parser, "me/tiny", licence="CC0-1.0", private=True, token="secret").endswith(
        "commit/1"
    )
    assert load_from_hub(str(tmp_path / "me/tiny")).parse(WORDS).tree == parser.parse(WORDS).tree


def test_the_card_is_made_from_the_metadata():
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    model = gramian.load().model
    _, header, body = model_card(model, "me/english", "CC-BY-SA-4.0").split("---\n", 2)
    facts = yaml.safe_load(header)
    assert (facts["language"], facts["license"], facts["library_name"]) == ("en", "cc-by-sa-4.0", "gramian")
    [result] = facts["model-index"][0]["results"]
    assert result["metrics"][0] == {"type": "F1", "value": model.metrics["f1"]}
    assert model.data["attribution"] in body
    assert model.metrics["signature"] in body
