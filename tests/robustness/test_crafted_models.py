"""Model files that were made to hurt, under checksums that fit: each is refused in one sentence, or does no harm."""

import json
import tracemalloc
from functools import cache

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file
from tiny_grammar import low_rank_grammar, tiny_model

from gramian.chart.forest import Pruning
from gramian.errors import GramianError, ModelFileError
from gramian.io.model_files import checksum
from gramian.parsing.model import Model
from gramian.parsing.model_store import load_model, save_model
from gramian.parsing.parser import Parser

SENTENCE = ["the", "dog", "saw", "a", "cat", "with", "zyzzyva", "."]


def parts(path, key="gramian"):
    with safe_open(path, "numpy") as file:
        header = json.loads(file.metadata()[key])
        return header, {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118


def craft(path, change, key="gramian"):
    """Change the header and tensors of a model file; its checksum fits again."""
    header, tensors = parts(path, key)
    change(header, tensors)
    header["checksum"] = checksum(header, tensors)
    save_file({name: one.copy() for name, one in tensors.items()}, path, {key: json.dumps(header)})


@pytest.fixture
def tiny(tmp_path):
    path = tmp_path / "tiny.grammar"
    save_model(tiny_model(), path)
    return path


def put(header, tensors, name, array):
    """Put an array into the first grammar, whole."""
    tensors[f"0/{name}"] = array.ravel()
    tensors.pop(f"0/{name}.mask", None)
    record = header["grammars"][0]["fields"]
    for part in name.split("/")[:-1]:
        record = record[part]["fields"]
    record[name.split("/")[-1]] = {"shape": list(array.shape)}


def many_entries(header, tensors):
    """A word with 200 entries of one tag: the cell of a word has room for each tag once."""
    lexicon = tiny_model().grammar.lexicon
    starts = lexicon.entry_start.astype(np.int64)
    starts[1:] += 199
    first = lexicon.entry_tag[0]
    put(header, tensors, "lexicon/entry_start", starts.astype(np.int32))
    put(header, tensors, "lexicon/entry_tag", np.concatenate([np.full(199, first), lexicon.entry_tag]))
    ones = np.ones(199 * lexicon.n_states[first], np.float32)
    put(header, tensors, "lexicon/entry_states", np.concatenate([ones, lexicon.entry_states]))
    chances = np.concatenate([ones[:199], lexicon.entry_probability])
    put(header, tensors, "lexicon/entry_probability", chances.astype(np.float32))


def symbol_named(place, name):
    def change(header, tensors):
        symbols = list(tiny_model().grammar.symbols)
        symbols[place] = name
        tensors["0/symbols"] = np.frombuffer("\0".join(symbols).encode("utf-8", "surrogatepass"), np.uint8)

    return change


def probability(value):
    def change(header, tensors):
        header["grammars"][0]["fields"]["lexicon"]["fields"]["min_tag_probability"] = value

    return change


def inner_root(header, tensors):
    grammar = tiny_model().grammar
    root = np.zeros_like(grammar.root)
    root[grammar.symbols.index("@S")] = 1
    put(header, tensors, "root", root)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (many_entries, "the tags of a word are distinct"),
        (probability(2), "min_tag_probability"),
        (probability(float("nan")), "not JSON"),
        (symbol_named(9, "@NN"), "tags are no intermediate symbols"),
        (inner_root, "no intermediate symbol is at the root"),
        (symbol_named(2, "N%28P"), "symbols are labels"),
        (symbol_named(2, "NP%0A"), "symbols are labels"),
        (symbol_named(2, "NP%09x"), "symbols are labels"),
        (symbol_named(2, "N\tP"), "symbols are labels"),
        (symbol_named(2, "S||NP"), "symbols are labels"),
        (symbol_named(2, ""), "symbols are labels"),
        (symbol_named(2, "\ud800"), "utf-8"),
    ],
)
def test_grammars(tiny, change, message):
    craft(tiny, change)
    with pytest.raises(ModelFileError, match=message):
        load_model(tiny)


@pytest.mark.parametrize("chance", [0, 1])
def test_an_unknown_word_has_a_tag_whatever_the_least_probability(tiny, chance):
    craft(tiny, probability(chance))
    assert Parser(load_model(tiny)).parse(SENTENCE).tree.words == tuple(SENTENCE)


def test_rules_that_share_matrices_of_other_ranks(tmp_path):
    """Derivatives of projections have room for the rank that was met first."""
    path = tmp_path / "low.grammar"
    save_model(Model(low_rank_grammar()), path)

    def change(header, tensors):
        low = low_rank_grammar()
        rank, start = low.factors.rank.copy(), low.factors.start.copy()
        [one] = np.flatnonzero(rank)
        other = next(
            rule
            for rule, symbols in enumerate(low.binary_rules.tolist())
            if rule != one and symbols[2] == low.binary_rules[one, 2]
        )
        rank[other], start[other] = 3000, start[one]
        start[other, 0] = 10
        values = np.zeros(3000 * 4 + 10, np.float32)
        values[: low.factors.values.size] = low.factors.values
        states = low.n_states[low.binary_rules].astype(np.int64).prod(axis=1)
        put(header, tensors, "factors/rank", rank)
        put(header, tensors, "factors/start", start)
        put(header, tensors, "factors/values", values)
        put(header, tensors, "binary", np.zeros(int(states[rank == 0].sum()), np.float32))

    craft(path, change)
    with pytest.raises(ModelFileError, match="share a matrix have one rank"):
        load_model(path)


def test_odd_numbers_between_coarse_and_fine_pass(tiny):
    """Neighbours that never occur, and shares of states that are 0, in the grammar of two states for each symbol."""
    grammar = tiny_model().grammar

    def change(header, tensors):
        before = np.zeros_like(grammar.before)
        before[0, 0] = 1
        put(header, tensors, "before", before)
        prior = grammar.state_prior.copy()
        for symbol in np.flatnonzero(grammar.n_states == 2):
            prior[grammar.state_start[symbol]], prior[grammar.state_start[symbol] + 1] = 1, 0
        put(header, tensors, "state_prior", prior)

    craft(tiny, change)
    result = Parser(load_model(tiny), pruning=Pruning(split=1e-4)).parse(SENTENCE)
    assert result.tree.words == tuple(SENTENCE)


@pytest.mark.parametrize(
    ("what", "change"),
    [
        ("aliases", lambda header, tensors: _aliases(header)),
        ("pairs of symbols", lambda header, tensors: _symbols(header, tensors, 60_000)),
        ("states", lambda header, tensors: _states(header, tensors)),
    ],
)
def test_memory_is_reckoned_before_it_is_taken(tiny, what, change):
    craft(tiny, change)
    tracemalloc.start()
    with pytest.raises(ModelFileError, match="MB of memory"):
        load_model(tiny)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 30 << 20


def _aliases(header):
    """Grammars that stand for one another, each of which takes memory of its own."""
    header["version"] = 4
    record = header["grammars"][0]
    record["fields"]["before"] = {"shape": [1 << 12, 1 << 12]}
    header["grammars"] = [record] * 60
    names = _names(record, "0")
    header["same"] = {f"{n}{name[1:]}": name for n in range(1, 60) for name in names}


def _names(record, name):
    found = []
    for part, value in record["fields"].items():
        place = f"{name}/{part}"
        if isinstance(value, dict) and "class" in value:
            found += _names(value, place)
        elif isinstance(value, dict):
            found += [place, *([f"{place}.mask"] if value.get("sparse") else [])]
    return found


def _symbols(header, tensors, count):
    """Rules are found by pairs of symbols."""
    tensors["0/symbols"] = np.frombuffer("\0".join(map(str, range(count))).encode(), np.uint8)
    header["grammars"][0]["fields"]["symbols"] = {"strings": count}


def _states(header, tensors):
    """A rule's tensor has as many numbers as there are triples of states."""
    tensors["0/n_states"] = np.full(11, 32_000, np.uint16)


def test_a_mask_of_weights_is_reckoned_with():
    from gramian.io.tensors import unpack_weights

    mask = np.broadcast_to(np.zeros(1, np.uint8), (1 << 26,))  # a bit stands for a weight
    with pytest.raises(ValueError, match="MB of memory"):
        unpack_weights({"w.mask": mask, "w": np.zeros(0, np.float16)}, "w")


def test_curves_of_calibration_with_whole_numbers_beyond_those_of_numpy(tiny):
    craft(
        tiny,
        lambda header, _: header.update(calibration={"product": {"phrases": {"low": 10**40}, "tags": None}}),
    )
    assert Parser(load_model(tiny)).parse(SENTENCE).tree.words == tuple(SENTENCE)
    craft(
        tiny,
        lambda header, _: header.update(calibration={"product": {"phrases": {"low": 10**400}, "tags": None}}),
    )
    with pytest.raises(ModelFileError, match="too large"):
        load_model(tiny)


@cache
def dependency_parser():
    from gramian.dependency import SHAGParser
    from gramian.trees import HeadRules, parse_bracketed, to_dependencies

    trees = parse_bracketed("(S (NP (DT the) (NN dog)) (VP (VBD saw) (NP (DT a) (NN cat))) (. .))" * 3)
    sentences = [to_dependencies(tree, HeadRules.collins()) for tree in trees]
    return SHAGParser("det+f").fit(sentences).model_


def without_names(header, arrays):
    header["symbols"]["names"] = []
    for name in ("grammar", "backoff"):
        arrays[f"{name}.rows"] = np.zeros((2, 0), np.int32)
        for part in ("initial", "final", "states"):
            arrays[f"{name}.{part}"] = arrays[f"{name}.{part}"][:2]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (without_names, "symbols"),
        (lambda header, arrays: arrays.update({"grammar.initial": np.array(1.0)}), "dimensions"),
        (lambda header, arrays: header.update(relations=["\ud800"] * len(header["relations"])), "not JSON"),
        (lambda header, arrays: header["relations"].__setitem__(0, "a\tb"), "relations"),
        (lambda header, arrays: header["symbols"].update(buckets=10**30), "buckets"),
        (lambda header, arrays: header["symbols"].update(buckets=-3), "buckets"),
    ],
)
def test_dependency_parsers(tmp_path, change, message):
    from gramian.dependency import DependencyParser

    path = tmp_path / "model"
    dependency_parser().save(path)
    craft(path, change, "gramian-automata")
    with pytest.raises(ModelFileError, match=message):
        DependencyParser.load(path)


@pytest.mark.parametrize(
    "heads",
    [
        [{"NP": [["sideways", ["NN"]]]}, "right", [], []],
        [{"NP": [["left", [3]]]}, "right", [], []],
        [{}, "up", [], []],
        [{}, "right", [[1]], []],
        [{}, "right", [1], []],
        [[], "right", [], []],
    ],
)
def test_head_rules_of_a_reranker(heads):
    from gramian.experts.rerank_candidates import DENSE
    from gramian.experts.rerank_model import RerankModel
    from gramian.io import model_files

    model = RerankModel(5, ("a",), None, np.zeros(len(DENSE)), np.zeros(1 << 10, np.float32))
    header, tensors = model_files.pack("reranker", model)
    tensors["heads"] = np.frombuffer(json.dumps(heads).encode(), np.uint8)
    with pytest.raises((ValueError, TypeError, AttributeError, GramianError)):
        model_files.unpack("reranker", header, tensors)
