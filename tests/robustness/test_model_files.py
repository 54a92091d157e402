"""Model files of every kind: what once got through, old versions, and what loading may do to the machine."""

import json
import subprocess
import sys
import tracemalloc
from contextlib import suppress
from functools import cache
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.numpy import save_file
from tiny_grammar import FIXTURES, tiny_grammar, tiny_model

from gramian.automata import PDFA, WFA, Mixture, load_sequence_model
from gramian.errors import GramianError, ModelFileError, OptionError
from gramian.io.model_files import checksum
from gramian.parsing import model_store as grammars
from gramian.parsing.model import Model


@cache
def parser(name):
    from tools.fuzz.__main__ import PARSERS

    return PARSERS[name]()


@pytest.mark.parametrize("name", ["grammar", "reranker", "automaton", "dependency"])
@settings(max_examples=60)
@given(number=st.integers(0, 2**32))
def test_files_are_used_or_refused_by_name(name, number):
    make, read = parser(name)
    with suppress(GramianError):
        read(make(Random(number)))


def automata():
    wfa = WFA([1.0, 0.0], [0.2, 0.3], [[[0.3, 0.2], [0.1, 0.1]], [[0.1, 0.2], [0.2, 0.3]]], ("a", "b"))
    pdfa = PDFA([[1, 0], [0, -1]], [[0.4, 0.4, 0.2], [0.5, 0.0, 0.5]], ("a", "b"))
    return {"wfa": wfa, "pdfa": pdfa, "mixture": Mixture((wfa, pdfa), [0.5, 0.5])}


STRINGS = [["a", "b", "a"], [], ["b"]]


@pytest.mark.parametrize("kind", ["wfa", "pdfa", "mixture"])
def test_a_flipped_byte_of_an_automaton_is_found_or_harmless(tmp_path, kind):
    path = tmp_path / "model"
    automata()[kind].save(path)
    good, scores = path.read_bytes(), load_sequence_model(path).log_score(STRINGS)
    rng = np.random.default_rng(0)
    refused = 0
    for place in range(0, len(good), 3):
        data = bytearray(good)
        data[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(data)
        try:
            np.testing.assert_array_equal(load_sequence_model(path).log_score(STRINGS), scores)
        except ModelFileError:
            refused += 1
    assert refused > 0.8 * len(good) / 3


def rewrite(path, change, version=2):
    """Change header and arrays of an automaton's file; the checksum fits, or is not there in version 1."""
    with safe_open(path, "numpy") as file:
        header = json.loads(file.metadata()["gramian-automata"])
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    header["version"] = version
    change(header, arrays)
    header["checksum"] = checksum(header, arrays)
    if version == 1:
        del header["checksum"]
    save_file(arrays, path, {"gramian-automata": json.dumps(header)})


@pytest.mark.parametrize("kind", ["wfa", "pdfa", "mixture"])
def test_automata_of_version_1_still_load(tmp_path, kind):
    path = tmp_path / "model"
    automata()[kind].save(path)
    scores = load_sequence_model(path).log_score(STRINGS)
    rewrite(path, lambda header, arrays: None, version=1)
    np.testing.assert_array_equal(load_sequence_model(path).log_score(STRINGS), scores)
    rewrite(path, lambda header, arrays: None, version=3)
    with pytest.raises(ModelFileError, match="format 3"):
        load_sequence_model(path)


@pytest.mark.parametrize(
    "change",
    [
        lambda header, arrays: arrays["transitions"].__setitem__((0, 0, 0), np.nan),
        lambda header, arrays: arrays["transitions"].__setitem__(0, 1e308),
        lambda header, arrays: arrays["initial"].__setitem__(0, np.inf),
        lambda header, arrays: arrays.update(initial=np.array([1, -np.inf], np.float32)),
        lambda header, arrays: arrays.update(final=np.array([True, False])),
        lambda header, arrays: header.update(alphabet=[{}, "b"]),
        lambda header, arrays: header.update(alphabet=["a", 1.5]),
        lambda header, arrays: header.update(alphabet="ab"),
        lambda header, arrays: header.update(kind=["wfa"]),
        lambda header, arrays: header.update(version=True),
    ],
)
def test_automata_that_are_whole_but_wrong(tmp_path, change):
    path = tmp_path / "model"
    automata()["wfa"].save(path)
    rewrite(path, change)
    with pytest.raises(ModelFileError):
        load_sequence_model(path)


def test_a_header_nested_too_deeply(tmp_path):
    save_file({"a": np.zeros(3)}, tmp_path / "a", {"gramian-automata": "[" * 100_000})
    with pytest.raises(ModelFileError, match="invalid model header: not JSON"):
        load_sequence_model(tmp_path / "a")


@pytest.mark.parametrize("kinds", [5, {"a": 1}, ("a",), ("a", 3), "ab", ["a", "b"]])
def test_kinds_that_name_no_grammar(kinds):
    with pytest.raises(OptionError, match="kinds"):
        Model((tiny_grammar(), tiny_grammar()), kinds=kinds)


def test_a_model_without_a_grammar(tmp_path):
    with pytest.raises(OptionError, match="needs at least one grammar"):
        Model(())
    grammars.save_model(tiny_model(), tmp_path / "tiny.grammar")
    with safe_open(tmp_path / "tiny.grammar", "numpy") as file:
        header = json.loads(file.metadata()["gramian"])
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    header["grammars"] = []
    header["checksum"] = checksum(header, tensors)
    save_file(tensors, tmp_path / "none.grammar", {"gramian": json.dumps(header)})
    with pytest.raises((ModelFileError, OptionError), match="needs at least one grammar"):
        grammars.load_model(tmp_path / "none.grammar")


def test_loading_allocates_no_more_than_the_file_stands_for(tmp_path):
    """A header that speaks of terabytes is refused before anything of that size is asked for."""
    path = tmp_path / "tiny.grammar"
    grammars.save_model(tiny_model(), path)
    with safe_open(path, "numpy") as file:
        header = json.loads(file.metadata()["gramian"])
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    for part in ("root", "before", "binary"):
        changed = json.loads(json.dumps(header))
        changed["grammars"][0]["fields"][part] = {"shape": [1 << 20, 1 << 20], "sparse": True}
        changed["checksum"] = checksum(changed, tensors)
        save_file(tensors, path, {"gramian": json.dumps(changed)})
        tracemalloc.start()
        with pytest.raises(ModelFileError):
            grammars.load_model(path)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert most < 1 << 22


LOADING = """
import sys
from gramian.parsing.model_store import load_model
path = sys.argv[1]
load_model(path)
seen = []
def note(event, arguments):
    rooms = ("pickle", "socket", "subprocess", "os", "ctypes")
    if event in ("open", "exec", "compile", "import", "marshal.loads") or event.split(".")[0] in rooms:
        seen.append((event, str(arguments[0]) if arguments else ""))
sys.addaudithook(note)
load_model(path)
print([one for one in seen if one != ("open", path)])
"""


def test_loading_runs_no_code_and_opens_no_other_file():
    path = str(Path(FIXTURES) / "version-1.grammar")
    done = subprocess.run([sys.executable, "-c", LOADING, path], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
