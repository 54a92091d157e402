"""Model files of every kind: bytes flipped and cut, and files that are whole but wrong, with a checksum that fits.

What is accepted is used: grammars parse with all decoders, lists of best trees, experts, pruning between the passes and drawn trees.
"""

import json
import tempfile
import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import safe_open
from safetensors.numpy import save as to_bytes

from gramian.io.model_files import checksum
from tools.fuzz.mutate import NUMBERS, mutated
from tools.fuzz.texts import Make, Read, _fast, changed_json

Tensors = dict[str, npt.NDArray[Any]]
Seal = Callable[[dict[str, Any], Tensors], str]

SENTENCES = (["the", "dog", "saw", "a", "cat", "with", "Sticks", "."], ["dog"])
_TREES = (
    "(S (NP (DT the) (NN dog)) (VP (VBD saw) (NP (DT a) (NN cat)) (PP (IN with) (NP (NNS sticks)))) (. .))",
    "(S (NP (NNP Anna)) (VP (VBD liked) (NP (NP (NNS birds)) (PP (IN with) (NP (NN food))))) (. .))",
    "(S (NP (PRP it)) (VP (VBZ barks)) (. .))",
)
_TYPES = (
    np.uint8,
    np.int8,
    np.int16,
    np.int32,
    np.int64,
    np.uint16,
    np.float16,
    np.float32,
    np.float64,
    np.bool_,
)


@cache
def _bank() -> Any:
    from gramian.treebank import Treebank
    from gramian.trees import Tree

    return Treebank.from_trees([Tree.parse(text) for text in _TREES] * 4)


@cache
def _grammars() -> list[Any]:
    from gramian.grammar.compress.lowrank import compress
    from gramian.learn import SpectralClustering, SpectralMoments

    clustered = SpectralClustering(2, allocation="all").fit(_bank()).model_
    return [
        clustered,
        SpectralMoments(2, allocation="all").fit(_bank()).model_,
        compress(clustered, 1, gate=1.0).grammar,
    ]


def parser() -> Any:
    """Return a parser that is quick."""
    from gramian.parsing.parser import Parser

    ready = Parser(_grammars()[0], max_seconds=0.5, max_length=40)
    ready.parse(SENTENCES[0])  # compiles what it needs
    return ready


@cache
def _expert() -> Any:
    from gramian.experts import SpanCRF

    return SpanCRF(max_iter=1, slots=1 << 12).fit(_bank()).model_


@cache
def _net() -> Any:
    """Return a net of drawn weights."""
    from gramian.neural.neural_model import NeuralModel
    from gramian.neural.span_inventory import Inventory, brackets
    from gramian.neural.span_scores import weight_shapes
    from gramian.trees import Tree

    inventory = Inventory.of([brackets(Tree.parse(text)) for text in _TREES], 1, ("dog",))
    sizes = {"word.weight": 3, "vector.weight": 2, "char.weight": 3, "right.bias": 4, "tag_hidden.bias": 3}
    sizes |= {"char_lstm.weight_hh_l0": 2, "lstm.0.weight_hh_l0": 3, "lstm.0.weight_ih_l0": 9}
    shapes = weight_shapes(inventory, {name: np.empty((1, size)) for name, size in sizes.items()})
    draw = np.random.default_rng(0).normal
    return NeuralModel(
        inventory, {name: draw(size=shape).astype(np.float16) for name, shape in shapes.items()}
    )


def _record(header: dict[str, Any], name: str) -> dict[str, Any] | None:
    """Return what the header of a grammar's file says of a tensor's shape, if it does."""
    number, *path = name.split("/")
    try:
        record = header["grammars"][int(number)]
        for part in path:
            record = record["fields"][part]
        return record if "shape" in record else None
    except (KeyError, IndexError, TypeError, ValueError):
        return None


def _rearranged(random: Random, header: dict[str, Any], tensors: Tensors) -> tuple[dict[str, Any], Tensors]:
    """Change a tensor so that each of its numbers is a good one: one over another, two swapped, one twice, all sorted."""
    name = random.choice([name for name, tensor in tensors.items() if tensor.size > 1] or list(tensors))
    whole = tensors[name].ravel().copy()
    if whole.size < 2:
        return header, tensors
    one, other = random.randrange(whole.size), random.randrange(whole.size)
    choice = random.randrange(5)
    if choice == 0:
        whole[one] = whole[other]
    elif choice == 1:
        whole[[one, other]] = whole[[other, one]]
    elif choice == 2:
        whole = np.sort(whole)[:: random.choice((1, -1))]
    else:
        times = random.choice((1, 1, 2, 200))
        whole = np.insert(whole, one, [whole[one]] * times)
        header = json.loads(json.dumps(header))
        if (record := _record(header, name)) is not None and len(record["shape"]) == 1:
            record["shape"] = [record["shape"][0] + times]
            return header, tensors | {name: whole}
    return header, tensors | {
        name: whole.reshape(tensors[name].shape) if whole.size == tensors[name].size else whole
    }


def _restructured(random: Random, header: dict[str, Any], tensors: Tensors) -> tuple[dict[str, Any], Tensors]:
    """Change several tensors of a grammar together, so that they still fit: entries of a word doubled, matrices of rules shared."""
    header, number = json.loads(json.dumps(header)), "0"
    if "grammars" not in header:
        return _rearranged(random, header, tensors)
    tensors = dict(tensors)

    def whole(name: str) -> npt.NDArray[Any] | None:
        record = _record(header, name)
        return None if record is None or record.get("sparse") or name not in tensors else tensors[name]

    def put(name: str, array: npt.NDArray[Any]) -> None:
        record = _record(header, name)
        assert record is not None
        tensors[name], record["shape"] = array.ravel(), list(array.shape)

    rank, start = whole(f"{number}/factors/rank"), whole(f"{number}/factors/start")
    if rank is not None and start is not None and random.random() < 0.5:
        rank, start = rank.astype(np.int64), start.reshape(-1, 3).astype(np.int64)
        one, other = random.randrange(len(rank)), random.randrange(len(rank))
        columns = random.choice(([0], [1], [2], [1, 2], [0, 1, 2]))
        start[one, columns] = start[other, random.choice((columns, columns[::-1]))]
        if random.random() < 0.7:
            rank[one] = random.choice((rank[other], 1, 2, 3, 3000))
        put(f"{number}/factors/rank", rank)
        put(f"{number}/factors/start", start)
        return header, tensors
    names = ("entry_start", "entry_tag", "entry_probability", "entry_states")
    arrays = {name: whole(f"{number}/lexicon/{name}") for name in names}
    states = whole(f"{number}/n_states")
    if any(array is None or array.size < 2 for array in arrays.values()) or states is None:
        return _rearranged(random, header, tensors)
    found: dict[str, Any] = arrays
    starts, tags = found["entry_start"].astype(np.int64), found["entry_tag"].astype(np.int64)
    word, times = random.randrange(len(starts) - 1), random.choice((1, 2, 200))
    entry, tag = int(starts[word]), int(tags[starts[word]])
    n_tags = int(header["grammars"][0]["fields"]["lexicon"]["fields"]["tags"]["strings"])
    width = int(states[len(states) - n_tags + tag])
    starts[word + 1 :] += times
    values = found["entry_states"]
    put(f"{number}/lexicon/entry_start", starts)
    put(f"{number}/lexicon/entry_tag", np.insert(tags, entry, [tag] * times))
    put(f"{number}/lexicon/entry_probability", np.insert(found["entry_probability"], entry, [1] * times))
    put(f"{number}/lexicon/entry_states", np.insert(values, 0, np.ones(width * times, values.dtype)))
    return header, tensors


def _changed(random: Random, header: dict[str, Any], tensors: Tensors) -> tuple[dict[str, Any], Tensors]:
    """Change the header or a tensor: take away, rename, retype, resize, take its dimensions, put another there, or odd numbers in."""
    tensors = dict(tensors)
    kind = random.random()
    if kind < 0.3:
        return changed_json(random, header), tensors
    if kind < 0.5 and isinstance(header, dict):
        with suppress(LookupError, TypeError, ValueError):  # another change may have left too little to go by
            return random.choice((_rearranged, _rearranged, _restructured))(random, header, tensors)
    name = random.choice(list(tensors))
    tensor = tensors[name]
    choice = random.randrange(10)
    if choice == 0:
        del tensors[name]
    elif choice == 1:
        tensors[random.choice((name + "x", name[1:], *tensors))] = tensors.pop(name)
    elif choice == 2:
        with np.errstate(all="ignore"):
            tensors[name] = tensor.astype(random.choice(_TYPES))
    elif choice == 3:
        tensors[name] = tensor.ravel()[: random.randint(0, tensor.size)]
    elif choice == 4:
        tensors[name] = np.resize(tensor, random.choice((0, 1, tensor.size + 1, 2 * tensor.size, 5000)))
    elif choice == 5:
        shape = random.choice(((-1,), (1, -1), (-1, 1), (1, 1, -1)))
        tensors[name] = tensor.reshape(shape) if tensor.size else tensor
    elif choice == 6:
        tensors[name] = tensor.ravel()[:1].reshape(()) if tensor.size else np.zeros((), tensor.dtype)
    elif choice == 7:
        tensors[name] = tensors[random.choice(list(tensors))]
    elif tensor.size:
        whole = tensor.ravel().copy()
        limits: tuple[Any, ...] = (0, 1, 2, 0.5)
        if whole.dtype.kind in "iu":
            limits += (np.iinfo(whole.dtype).min, np.iinfo(whole.dtype).max, np.iinfo(whole.dtype).max // 2)
        elif whole.dtype.kind == "f":
            limits += (np.nan, np.inf, -np.inf, np.finfo(whole.dtype).max, np.finfo(whole.dtype).tiny, -1.0)
        for _ in range(random.choice((1, 1, 3, 10))):
            whole[random.randrange(whole.size)] = random.choice(limits)
        if random.random() < 0.1:
            whole[:] = random.choice(limits)
        tensors[name] = whole.reshape(tensor.shape)
    return header, tensors


def _relabelled(random: Random, data: bytes) -> bytes:
    """Change the outer header, which says where each tensor lies; its length is put right."""
    size = int.from_bytes(data[:8], "little")
    head = data[8 : 8 + size]
    if random.random() < 0.5:
        head = json.dumps(changed_json(random, json.loads(head))).encode("utf-8", "surrogatepass")
    else:
        old, new = random.choice(
            (
                (b"F32", b"BF16"),
                (b"F32", b"F8_E4M3"),
                (b"U8", b"BOOL"),
                (b"F32", b"I32"),
                (b"F64", b"C64"),
                (b"[", b"[" + random.choice(NUMBERS)),
            )
        )
        head = head.replace(old, new, random.choice((1, -1)))
    return len(head).to_bytes(8, "little") + head + data[8 + size :]


def _target(
    write: dict[str, Callable[[Path], None]], key: str, seal: Seal, use: Callable[[Path], None]
) -> tuple[Make, Read]:
    """Return makers of changed files of one kind, and what reads and uses them."""
    folder = Path(tempfile.mkdtemp(dir=_fast()))
    seeds = []
    for name, save in write.items():
        save(folder / name)
        with safe_open(folder / name, framework="numpy") as file:
            header = json.loads(file.metadata()[key])
            tensors = {part: file.get_tensor(part) for part in file.keys()}  # noqa: SIM118
        seeds.append(((folder / name).read_bytes(), header, tensors))
        use(folder / name)  # compiles what it needs

    def make(random: Random) -> bytes:
        data, header, tensors = random.choice(seeds)
        choice = random.random()
        if choice < 0.15:
            changed = bytearray(data)
            changed[random.randrange(len(data))] ^= random.randrange(1, 256)
            return bytes(changed)
        if choice < 0.2:
            return data[: random.randrange(len(data))]
        if choice < 0.25:
            return mutated(random, data, [b'"dtype"', b"F32", b"I64", b"[0,", b"{", b"data_offsets"])
        if choice < 0.35:
            return _relabelled(random, data)
        for _ in range(random.choice((1, 1, 2, 3))):
            header, tensors = _changed(random, header, tensors)
            if not tensors:
                break
        if isinstance(header, dict) and (sealed := seal(header, tensors)):
            header["checksum"] = sealed
        text = json.dumps(header)
        return bytes(
            to_bytes({name: one.copy() for name, one in tensors.items()}, {key: text})  # 0 dimensions stay 0
        )

    path = folder / "changed"

    def read(data: bytes) -> None:
        path.write_bytes(data)
        use(path)

    return make, read


def _parse_with(path: Path) -> None:
    """Parse in one of many ways, which follows from the file."""
    from gramian.chart.combine import COMBINATIONS
    from gramian.chart.decode import DECODERS
    from gramian.chart.forest import Pruning
    from gramian.parsing.parser import load

    way = zlib.crc32(path.read_bytes())
    decoder, combination = DECODERS[way % 5], COMBINATIONS[way // 5 % 4]
    pruning = (Pruning(), Pruning(split=0), Pruning(beam=0, item=0, edge=0, fine=0, split=0))[way // 20 % 3]
    ready = load(path, max_seconds=0.5, decoder=decoder, combination=combination, pruning=pruning)
    k = 1 if decoder == "viterbi" else (1, 3)[way // 60 % 2]
    for words in SENTENCES:
        assert ready.parse(words, k=k).tree.words == tuple(words)
    if way // 120 % 4 == 0:
        ready.sample(SENTENCES[0], 2, random_state=0)


def grammar() -> tuple[Make, Read]:
    from gramian.parsing import model_store as store
    from gramian.parsing.model import Model

    write: dict[str, Callable[[Path], None]] = {
        f"{number}{half}": lambda path, one=one, half=half: store.save_model(Model(one), path, half=half)
        for number, one in enumerate(_grammars())
        for half in (False, True)
    }
    return _target(write, "gramian", checksum, _parse_with)


def text() -> tuple[Make, Read]:
    """Return models that know how text is cut into sentences and words."""
    from gramian.parsing import model_store as store
    from gramian.parsing.model import Model
    from gramian.parsing.parser import load
    from gramian.text.feature_scores import FeatureScores
    from gramian.text.sentence_segmenter import SentenceSegmenter
    from gramian.text.text_processor import TextProcessor
    from gramian.text.tokenizer import Tokenizer

    scores = FeatureScores.of({f"s{letter}": 1.0 - number for number, letter in enumerate("abcdefg.'")})
    cutters = (
        Tokenizer(scores, ("'s", "n't"), False, ("du",), ("de le",), ("a_lot",), "$", True),
        Tokenizer(scores, dense=True),
    )
    write: dict[str, Callable[[Path], None]] = {
        str(number): lambda path, one=one: store.save_model(
            Model(_grammars()[0], text=TextProcessor("fr", SentenceSegmenter(scores), one)), path
        )
        for number, one in enumerate(cutters)
    }

    def use(path: Path) -> None:
        ready = load(path, max_seconds=0.5)
        for result in ready.parse_text("The dog's saw du cat. A lot (isn't) \"so\"."):
            str(result.tree).encode()

    return _target(write, "gramian", checksum, use)


def ensemble() -> tuple[Make, Read]:
    from gramian.experts import ExpertPart
    from gramian.learn import SpectralClustering
    from gramian.parsing import model_store as store
    from gramian.parsing.model import Model

    other = SpectralClustering(2, allocation="all", random_state=1).fit(_bank()).model_
    both = Model((_grammars()[0], other), kinds=("a", "b"))
    crf, net = ExpertPart("crf", _expert()), ExpertPart("neural", _net())
    write: dict[str, Callable[[Path], None]] = {
        "both": lambda path: store.save_model(both, path),
        "expert": lambda path: store.save_model(replace(both, experts=(crf,)), path),
        "one": lambda path: store.save_model(Model(_grammars()[0], (crf,)), path, half=True),
        "net": lambda path: store.save_model(Model(_grammars()[2], (crf, net)), path),
    }
    return _target(write, "gramian", checksum, _parse_with)


def reranker() -> tuple[Make, Read]:
    """Return models that hold a reranker and curves of calibration."""
    from gramian.experts import MaxEntReranker
    from gramian.experts.rerank_candidates import read_candidates
    from gramian.parsing import model_store as store
    from gramian.parsing.calibration import Calibration, Curve
    from gramian.parsing.model import Model
    from gramian.training.folds import CandidatesTask
    from gramian.trees import HeadRules, Tree

    model = Model(_grammars()[0])
    trees = [Tree.parse(text) for text in _TREES]
    written = CandidatesTask(k=10).work(model, trees)
    calibration = {"product": Calibration(Curve(0.9, 0.8, 0.1), Curve(0.7, 1.1, 0.0))}
    write: dict[str, Callable[[Path], None]] = {}
    for name, heads in (("heads", HeadRules.collins()), ("headless", None)):
        learner = MaxEntReranker(l2=(1.0,), base=(1.0,), heads=heads, least=1, slots=1 << 12, max_iter=5)
        learnt = learner.fit(read_candidates(written)).model_
        whole = replace(model, reranker=learnt, calibration=calibration)
        write[name] = lambda path, whole=whole: store.save_model(whole, path)
    return _target(write, "gramian", checksum, _parse_with)


def span_crf() -> tuple[Make, Read]:
    from gramian.experts import CRFExpert, SpanModel

    grammar = _grammars()[0]
    forest = parser().forest(SENTENCES[0])

    def use(path: Path) -> None:
        CRFExpert(SpanModel.load(path), grammar).posterior(SENTENCES[0], forest)

    write: dict[str, Callable[[Path], None]] = {"crf": lambda path: _expert().save(path)}
    return _target(write, "gramian-span-crf", lambda header, tensors: checksum(None, tensors), use)


def neural() -> tuple[Make, Read]:
    from gramian.neural import NeuralModel

    def use(path: Path) -> None:
        net = NeuralModel.load(path)
        with np.errstate(all="ignore"):
            for words in SENTENCES:
                assert len(net.labels(words)) == len(words) * (len(words) + 1) // 2
                assert net.parse(words).words == tuple(words)

    return _target({"net": lambda path: _net().save(path)}, "gramian-neural", checksum, use)


def automaton() -> tuple[Make, Read]:
    from gramian.automata import PDFA, WFA, Mixture, load_sequence_model
    from gramian.automata.automaton_picture import to_svg

    wfa = WFA([1.0, 0.0], [0.2, 0.3], [[[0.3, 0.2], [0.1, 0.1]], [[0.1, 0.2], [0.2, 0.3]]], ("a", "b"))
    pdfa = PDFA([[1, 0], [0, -1]], [[0.4, 0.4, 0.2], [0.5, 0.0, 0.5]], ("a", "b"))
    strings = [["a", "b", "a"], [], ["c"], ["b"] * 5]

    def use(path: Path) -> None:
        model = load_sequence_model(path)
        with np.errstate(all="ignore"):
            model.log_score(strings)
            model.next_scores(strings)
            wfa = model.to_wfa()
            if wfa.is_probabilistic():
                model.sample(2, max_length=20)
            to_svg(wfa)

    write = {"wfa": wfa.save, "pdfa": pdfa.save, "mixture": Mixture((wfa, pdfa), [0.5, 0.5]).save}
    return _target(write, "gramian-automata", checksum, use)


def dependency() -> tuple[Make, Read]:
    from gramian.dependency import DependencyParser, SHAGParser
    from gramian.dependency.arc_models import ArcScorer
    from gramian.trees import Sentence, Token, parse_bracketed, to_dependencies
    from gramian.trees.heads import HeadRules

    sentences = [to_dependencies(tree, HeadRules.collins()) for tree in parse_bracketed("".join(_TREES))] * 4
    asked = [
        Sentence(tuple(Token(number, word, upos="X", xpos="NN") for number, word in enumerate(words, 1)))
        for words in SENTENCES
    ]
    write: dict[str, Callable[[Path], None]] = {}
    for method in ("det+f", "em", "conditional"):
        ready = SHAGParser(method, n_states=2, max_iter=2, epochs=1, n_jobs=1).fit(sentences).model_
        small = replace(
            ready,
            labeller=replace(ready.labeller, weights=ready.labeller.weights[: 1 << 10].copy()),
            scorer=None if ready.scorer is None else ArcScorer(ready.scorer.weights[: 1 << 10].copy()),
        )
        write[method] = small.save

    def use(path: Path) -> None:
        ready = DependencyParser.load(path)
        with np.errstate(all="ignore"):
            for sentence in asked:
                for decoder in ("mbr", "viterbi"):
                    found = ready.parse(sentence, decoder=decoder, max_length=5)
                    str(found.sentence(confidence=True)).encode()
                    assert len(found.heads) == len(sentence.tokens)

    return _target(write, "gramian-automata", checksum, use)
