"""Model files: nothing is lost, equal models give equal bytes, and no bad file gets through."""

import json
import pickle
from dataclasses import fields, is_dataclass, replace

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file
from tiny_grammar import FIXTURES, low_rank_grammar, tiny_grammar, tiny_model

from gramian.errors import ModelFileError, OptionError
from gramian.io import tensors
from gramian.io.model_files import checksum
from gramian.parsing.model import Model
from gramian.parsing.model_store import load_model, save_model


def assert_same(one: object, two: object, rtol: float = 0.0) -> None:
    assert type(one) is type(two)
    if is_dataclass(one):
        for field in fields(one):
            assert_same(getattr(one, field.name), getattr(two, field.name), rtol)
    elif isinstance(one, np.ndarray):
        assert one.dtype == two.dtype
        assert two.flags.c_contiguous
        np.testing.assert_allclose(one, two, rtol=rtol, atol=0)
    elif isinstance(one, tuple) and not all(isinstance(part, str) for part in one):
        for part, other in zip(one, two, strict=True):
            assert_same(part, other, rtol)
    else:
        assert one == two


def rewrite(path, change) -> None:
    """Change the header and tensors of a file as `change` does, and give it a checksum that fits."""
    with safe_open(path, "numpy") as file:
        header = json.loads(file.metadata()["gramian"])
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    change(header, tensors)
    header["checksum"] = checksum(header, tensors)
    save_file(tensors, path, {"gramian": json.dumps(header)})


@pytest.fixture
def path(tmp_path):
    save_model(tiny_model(), tmp_path / "tiny.grammar")
    return tmp_path / "tiny.grammar"


def test_round_trip(path):
    assert_same(load_model(path), tiny_model())


def test_operators_round_trip(tmp_path):
    grammar = tiny_grammar()
    weights = {"binary_weight": np.ones(9), "unary_weight": np.ones(3), "root_weight": np.zeros(11)}
    for weight, rules in (("binary_weight", grammar.binary_rules), ("unary_weight", grammar.unary_rules)):
        parents = np.bincount(np.concatenate([grammar.binary_rules[:, 0], grammar.unary_rules[:, 0]]))
        weights[weight] = 1 / parents[rules[:, 0]]
    weights["root_weight"][4] = 1.0
    model = Model(replace(grammar, binary=-grammar.binary, **weights))
    save_model(model, tmp_path / "a")
    assert_same(load_model(tmp_path / "a"), model)


def test_low_rank_round_trip(tmp_path):
    model = Model(low_rank_grammar())
    save_model(model, tmp_path / "a")
    assert_same(load_model(tmp_path / "a"), model)


def test_same_model_same_bytes(path, tmp_path):
    save_model(tiny_model(), tmp_path / "again")
    save_model(load_model(path), tmp_path / "loaded")
    assert path.read_bytes() == (tmp_path / "again").read_bytes() == (tmp_path / "loaded").read_bytes()


def test_half_precision(path, tmp_path):
    save_model(tiny_model(), tmp_path / "half", half=True)
    assert_same(load_model(tmp_path / "half"), tiny_model(), rtol=2**-8)
    values = np.array([0.0, 1e-20, -3e-7, 0.1, 2e9, 1.0], np.float32)
    bits, kind = tensors._halved(values)
    assert kind == "bfloat16"
    np.testing.assert_allclose((bits.astype(np.uint32) << 16).view(np.float32), values, rtol=2**-8, atol=0)


def test_version_1_still_loads():
    assert_same(load_model(FIXTURES / "version-1.grammar"), tiny_model())


def test_header_can_be_read_without_the_package(path):
    with safe_open(path, "numpy") as file:
        header = json.loads(file.metadata()["gramian"])
    assert header["labels"] == {"phrases": ["NP", "PP", "S", "VP"], "tags": [".", "DT", "IN", "NN", "VB"]}
    assert header["version"] == 1
    assert header["data"]["attribution"] == "nobody"


def test_a_flipped_byte_is_found_or_harmless(path, tmp_path):
    good = path.read_bytes()
    model = load_model(path)
    bad = tmp_path / "bad"
    rng = np.random.default_rng(0)
    refused = 0
    for place in range(0, len(good), 7):
        data = bytearray(good)
        data[place] ^= 1 << int(rng.integers(8))
        bad.write_bytes(data)
        try:
            assert_same(load_model(bad), model)
        except ModelFileError:
            refused += 1
    assert refused > 0.9 * len(good) / 7


def test_cut_short(path, tmp_path):
    data = path.read_bytes()
    for size in (0, 1, 7, 8, 9, 100, 2000, len(data) - 1):
        (tmp_path / "cut").write_bytes(data[:size])
        with pytest.raises(ModelFileError, match="cut"):
            load_model(tmp_path / "cut")
    (tmp_path / "long").write_bytes(data + b"x")
    with pytest.raises(ModelFileError):
        load_model(tmp_path / "long")


class Bomb:
    def __reduce__(self):
        return pytest.fail, ("code of a file was run",)


def test_foreign_files(tmp_path):
    (tmp_path / "pickle").write_bytes(pickle.dumps(Bomb()))
    (tmp_path / "text").write_text("(S (NP (DT the)))\n" * 100)
    save_file({"a": np.zeros(3)}, tmp_path / "other")
    save_file({"a": np.zeros(3)}, tmp_path / "sequences", {"gramian-automata": "{}"})
    for name, message in {
        "pickle": "not a model file", "text": "holds trees in brackets, not a model; try: use a file that", "other": "of another program",
        "sequences": "a model of sequences", "missing": "no such model file", ".": "no such model file",
    }.items():  # fmt: skip
        with pytest.raises(ModelFileError, match=message):
            load_model(tmp_path / name)


@pytest.mark.parametrize("text", ["", "[]", "{", "[" * 100_000, '{"format": "gramian grammar"}', '"\\ud800"'])
def test_damaged_header(tmp_path, text):
    save_file({"a": np.zeros(3)}, tmp_path / "a", {"gramian": text})
    with pytest.raises(ModelFileError, match="header"):
        load_model(tmp_path / "a")


def test_several_grammars_share_what_is_equal(tmp_path):
    model = tiny_model()
    lexicon = model.grammar.lexicon
    other = replace(model.grammar, lexicon=replace(lexicon, word_count=lexicon.word_count + 1))
    path = tmp_path / "both.grammar"
    save_model(replace(model, grammars=(model.grammar, other)), path)
    loaded = load_model(path)
    assert_same(replace(loaded, grammars=loaded.grammars[:1]), model)
    np.testing.assert_array_equal(loaded.grammars[1].lexicon.word_count, other.lexicon.word_count)
    assert loaded.grammars[1].lexicon.words == model.grammar.lexicon.words
    with safe_open(path, "numpy") as file:
        header, names = json.loads(file.metadata()["gramian"]), list(file.keys())
    assert header["version"] == 2
    assert [name for name in names if name.startswith("1/")] == ["1/lexicon/word_count"]
    assert header["same"]["1/lexicon/words"] == "0/lexicon/words"
    for wrong in ({"1/lexicon/words": "0/nothing"}, ["1/lexicon/words"], {}):
        rewrite(path, lambda header, tensors, wrong=wrong: header.update(same=wrong))
        with pytest.raises(ModelFileError, match="no model"):
            load_model(path)


def test_newer_format(path):
    rewrite(path, lambda header, tensors: header.update(version=5))
    with pytest.raises(ModelFileError, match=r"format 5.* reads up to 4.*pip install"):
        load_model(path)


def _grammar(header):
    return header["grammars"][0]["fields"]


CHANGES = {
    "renamed tensor": lambda header, tensors: tensors.update({"0/x": tensors.pop("0/binary")}),
    "missing strings": lambda header, tensors: tensors.pop("0/symbols"),
    "missing field": lambda header, tensors: _grammar(header).pop("binary"),
    "unknown field": lambda header, tensors: _grammar(header).update(future=1),
    "unknown class": lambda header, tensors: header["grammars"][0].update({"class": "os.system"}),
    "several grammars": lambda header, tensors: header["grammars"].append({}),
    "no grammar": lambda header, tensors: header.update(grammars=None),
    "options of another kind": lambda header, tensors: header.update(options=[]),
    "number as text": lambda header, tensors: _grammar(header).update(n_phrases="6"),
    "wrong number of strings": lambda header, tensors: _grammar(header)["symbols"].update(strings=4),
    "too large": lambda header, tensors: _grammar(header)["root"].update(shape=[10**12]),
    "negative shape": lambda header, tensors: _grammar(header)["root"].update(shape=[-13]),
    "short mask": lambda header, tensors: tensors.update({"0/root.mask": np.zeros(1, np.uint8)}),
    "mask of another kind": lambda header, tensors: tensors.update({"0/root.mask": np.zeros(2, np.float32)}),
    "rule out of range": lambda header, tensors: tensors["0/binary_rules"].__setitem__(0, 200),
    "entry out of range": lambda header, tensors: tensors["0/lexicon/entry_tag"].__setitem__(0, 100),
    "not a number": lambda header, tensors: tensors["0/unary"].__setitem__(0, np.nan),
    "sums": lambda header, tensors: tensors["0/unary"].__setitem__(0, 0.5),
    "negative": lambda header, tensors: tensors["0/binary"].__setitem__(slice(0, 2), [1.1, -0.1]),
    "many states": lambda header, tensors: tensors["0/n_states"].__setitem__(0, 255),
    "words not text": lambda header, tensors: tensors["0/lexicon/words"].__setitem__(0, 255),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_whole_but_wrong(path, change):
    rewrite(path, change)
    with pytest.raises(ModelFileError, match=r"tiny\.grammar: "):
        load_model(path)


def test_nothing_half_written(tmp_path, monkeypatch):
    target = tmp_path / "a.grammar"
    target.write_text("precious")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(ModelFileError, match="No space left"):
        save_model(tiny_model(), target)
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.grammar"]
    assert target.read_text() == "precious"
    with pytest.raises(ModelFileError, match="cannot be written"):
        save_model(tiny_model(), tmp_path / "no folder" / "a")


def test_papers_that_json_cannot_hold(tmp_path):
    for value in ({1, 2}, float("nan")):
        with pytest.raises(OptionError, match="JSON"):
            save_model(Model(tiny_grammar(), report={"a": value}), tmp_path / "a")
    assert not any(tmp_path.iterdir())


def test_no_bundled_model_is_said(monkeypatch):
    monkeypatch.setattr("pathlib.Path.is_file", lambda path: False)
    with pytest.raises(OptionError, match="-m MODEL"):
        load_model()


@pytest.mark.parametrize(
    "wrong",
    [
        lambda grammar: replace(grammar, unary=-grammar.unary),
        lambda grammar: replace(grammar, binary_rules=grammar.binary_rules + 100),
        lambda grammar: replace(grammar, root=np.full_like(grammar.root, np.nan)),
        lambda grammar: replace(grammar, symbols=("NP VP", *grammar.symbols[1:])),
        lambda grammar: replace(grammar, symbols=("\0", *grammar.symbols[1:])),
        lambda grammar: replace(grammar, lexicon=replace(grammar.lexicon, tags=grammar.lexicon.tags[1:])),
    ],
)
def test_what_could_not_be_loaded_is_not_saved(tmp_path, wrong):
    with pytest.raises(OptionError, match="cannot be saved"):
        save_model(Model(wrong(tiny_grammar())), tmp_path / "a")
    assert not any(tmp_path.iterdir())


def test_what_steers_the_parser_has_a_type(tmp_path):
    grammar = tiny_grammar()
    model = Model((grammar, grammar), kinds=("a", "b"), tokens="spaces", preset="ftb")
    save_model(model, tmp_path / "a")
    found = load_model(tmp_path / "a")
    assert (found.kinds, found.tokens, found.preset) == (("a", "b"), "spaces", "ftb")
    assert (found.options, found.report) == ({}, {})
    for word, wrong in (
        ("tokens must be", {"tokens": "commas"}),
        ("preset must be", {"preset": "nobody"}),
        ("tokens is a field", {"options": {"tokens": "penn"}}),
        ("kinds is a field", {"report": {"kinds": ["a"]}}),
    ):
        with pytest.raises(OptionError, match=word):
            Model(grammar, **wrong)


def test_files_of_older_versions_keep_these_among_their_metadata(tmp_path):
    save_model(Model((tiny_grammar(), tiny_grammar())), tmp_path / "a")
    for change in (
        {"report": {"kinds": ["a"]}}, {"report": {"kinds": "ab"}}, {"options": {"tokens": 3}}, {"options": {"preset": []}},
    ):  # fmt: skip
        rewrite(tmp_path / "a", lambda header, tensors, change=change: header.update(change))
        with pytest.raises(ModelFileError, match=str(*next(iter(change.values())))):
            load_model(tmp_path / "a")
        rewrite(tmp_path / "a", lambda header, tensors: header.update(report={}, options={}))
    rewrite(tmp_path / "a", lambda header, tensors: header.update(report={"kinds": ["a", "b"], "seed": 1}))
    found = load_model(tmp_path / "a")
    assert (found.kinds, found.report) == (("a", "b"), {"seed": 1})
