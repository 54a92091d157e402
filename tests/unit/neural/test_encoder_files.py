"""Which files of an encoder's folder are read, and when: neither torch nor transformers is needed for that."""

import json
import os
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from gramian.errors import InputError, ModelFileError
from gramian.io.schema import SchemaError, parse_document
from gramian.neural.encoder import Encoder, EncoderRecord, folder_digest, open_encoder

FILES = {
    "config.json": "{}",
    "tokenizer.json": "{}",
    "vocab.txt": "[UNK]",
    "model-00001-of-00002.safetensors": "one",
    "model-00002-of-00002.safetensors": "two",
    "model.safetensors.index.json": json.dumps(
        {"weight_map": {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}}
    ),
}
OTHERS = (
    "secret.json",
    "notes.txt",
    "keys.bin",
    "adapter_config.json",
    "README.md",
    "modeling_evil.py",
    "config.json.bak",
)


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "encoder"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text)
    for name in OTHERS:
        (folder / name).write_text("private")
    (folder / "deep").mkdir()
    (folder / "deep" / "config.json").write_text("private")
    os.mkfifo(folder / "merges.txt")
    return folder


@pytest.fixture
def given(monkeypatch):
    """Put a class in the place of the encoder at work, which notes what it is given."""
    seen = []

    class WordEncoder:
        def __init__(self, folder, pooling, weights, is_tuned, *, name):
            self.files = {path.name: path.read_text() for path in Path(folder).iterdir()}
            self.folder, self.name = Path(folder), name
            seen.append(self)

        def one(self, words):
            return np.zeros((len(words) + 2, 3), np.float32)

    module = ModuleType("gramian.neural.word_encoder")
    module.WordEncoder = WordEncoder
    monkeypatch.setitem(sys.modules, "gramian.neural.word_encoder", module)
    return seen


@pytest.fixture
def opened(monkeypatch):
    """Note the names of files that are opened."""
    names = []
    real = Path.open

    def noting(path, *arguments, **options):
        names.append(path.name)
        return real(path, *arguments, **options)

    monkeypatch.setattr(Path, "open", noting)
    return names


def test_exactly_the_files_that_were_hashed_are_passed_on(folder, given, opened):
    encoder = Encoder(str(folder), folder_digest(folder), 3)
    assert set(opened) == FILES.keys()
    opened.clear()
    encoder.vectors(("a",))
    [work] = given
    assert work.files == FILES
    assert work.name == str(folder)
    assert set(opened) == FILES.keys()
    assert not work.folder.exists()  # the links go when all is read
    open_encoder(folder)  # to be learnt with: the same files
    assert given[1].files == FILES


@pytest.mark.parametrize("name", FILES)
def test_nothing_is_passed_on_where_a_file_differs(folder, given, name):
    encoder = Encoder(str(folder), folder_digest(folder), 3)
    (folder / name).write_text((folder / name).read_text() + " ")
    with pytest.raises(ModelFileError, match="not the files of the encoder"):
        encoder.vectors(("a",))
    assert given == []


@pytest.mark.parametrize(
    "name", ["tokenizer_config.json", "spiece.model", "pytorch_model.bin", "special_tokens_map.json"]
)
def test_a_file_that_was_added_and_would_be_loaded_is_noticed(folder, given, name):
    encoder = Encoder(str(folder), folder_digest(folder), 3)
    (folder / name).write_text("{}")
    with pytest.raises(ModelFileError, match="not the files of the encoder"):
        encoder.vectors(("a",))
    assert given == []


def test_a_file_of_another_name_changes_nothing(folder, given):
    encoder = Encoder(str(folder), folder_digest(folder), 3)
    (folder / "secret.json").write_text("changed")
    encoder.vectors(("a",))
    assert len(given) == 1


@pytest.mark.parametrize(
    "file", ["../secret.safetensors", "/etc/passwd", "deep/config.json", "model-00003-of-00003.safetensors"]
)
def test_an_index_of_weights_names_files_of_the_encoder_alone(folder, given, file):
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": file}}))
    with pytest.raises(InputError, match="which is no file of the encoder"):
        Encoder(str(folder), folder_digest(folder), 3).vectors(("a",))
    assert given == []


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"weight_map": 3}', '{"weight_map": {"a": 3}}'])
def test_an_invalid_index_is_an_error_of_one_line(folder, given, text):
    (folder / "model.safetensors.index.json").write_text(text)
    with pytest.raises(InputError, match="invalid index of weights"):
        Encoder(str(folder), folder_digest(folder), 3).vectors(("a",))
    assert given == []


def test_a_folder_that_is_not_there(tmp_path, given):
    for path in (tmp_path / "none", tmp_path):
        with pytest.raises(ModelFileError, match=r"the encoder of the model is missing.*GRAMIAN_ENCODER"):
            Encoder(str(path), "0" * 64, 3).vectors(("a",))
        with pytest.raises(InputError, match="contains no encoder"):
            open_encoder(path)
    assert given == []


@pytest.mark.parametrize(
    "change",
    [
        {"path": ""},
        {"path": "a\0b"},
        {"path": 3},
        {"digest": "x"},
        {"size": 0},
        {"size": 2**40},
        {"pooling": "last"},
        {"pooling": None},
    ],
)
def test_what_a_model_says_of_its_encoder_is_checked(change):
    record = {"path": "folder", "digest": "0" * 64, "size": 3, "pooling": "mean"}
    assert parse_document(EncoderRecord, json.dumps(record)).size == 3
    with pytest.raises(SchemaError, match=f"field '{next(iter(change))}'"):
        parse_document(EncoderRecord, json.dumps(record | change))
