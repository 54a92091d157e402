"""Model files of every kind: bytes flipped and cut, and files that are whole but wrong, with a checksum that fits."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import safe_open
from safetensors.numpy import save as to_bytes

from gramian.io.store import checksum
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
    from gramian.corpus import Treebank
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
    from gramian.loglinear import SpanCRF

    return SpanCRF(max_iter=1, slots=1 << 12).fit(_bank()).model_


def _changed(random: Random, header: dict[str, Any], tensors: Tensors) -> tuple[dict[str, Any], Tensors]:
    """Change the header or a tensor: take away, rename, retype, resize, or put odd numbers in."""
    tensors = dict(tensors)
    if random.random() < 0.4:
        return changed_json(random, header), tensors
    name = random.choice(list(tensors))
    tensor = tensors[name]
    choice = random.randrange(8)
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
            to_bytes({name: np.ascontiguousarray(one) for name, one in tensors.items()}, {key: text})
        )

    path = folder / "changed"

    def read(data: bytes) -> None:
        path.write_bytes(data)
        use(path)

    return make, read


def _parse_with(path: Path) -> None:
    from gramian.parsing.parser import load

    ready = load(path, max_seconds=0.5)
    for words in SENTENCES:
        assert ready.parse(words).tree.words == tuple(words)


def grammar() -> tuple[Make, Read]:
    from gramian.parsing import model_store as store
    from gramian.parsing.model import Model

    write: dict[str, Callable[[Path], None]] = {
        f"{number}{half}": lambda path, one=one, half=half: store.save_model(Model(one), path, half=half)
        for number, one in enumerate(_grammars())
        for half in (False, True)
    }
    return _target(write, "gramian", checksum, _parse_with)


def ensemble() -> tuple[Make, Read]:
    from gramian.learn import SpectralClustering
    from gramian.parsing import model_store as store
    from gramian.parsing.model import Model

    other = SpectralClustering(2, allocation="all", random_state=1).fit(_bank()).model_
    both = Model(_grammars()[0], kinds=("a", "b"), others=(other,))
    write: dict[str, Callable[[Path], None]] = {
        "both": lambda path: store.save_model(both, path),
        "expert": lambda path: store.save_model(replace(both, expert=_expert()), path),
        "one": lambda path: store.save_model(Model(_grammars()[0], expert=_expert()), path, half=True),
    }
    return _target(write, "gramian", checksum, _parse_with)


def reranker() -> tuple[Make, Read]:
    """Return models that hold a reranker and curves of calibration."""
    from gramian.loglinear import MaxEntReranker
    from gramian.loglinear.rerank_scored import read_candidates
    from gramian.parsing import model_store as store
    from gramian.parsing.calibration import Calibration, Curve
    from gramian.parsing.model import Model
    from gramian.training.reranking import CandidatesTask
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
    from gramian.loglinear import loglinear_store as store

    return _target(
        {"crf": lambda path: store.save(_expert(), path)},
        "gramian-span-crf",
        lambda header, tensors: checksum(None, tensors),
        store.load,
    )


def automaton() -> tuple[Make, Read]:
    from gramian.automata import PDFA, WFA, Mixture, load_sequence_model

    wfa = WFA([1.0, 0.0], [0.2, 0.3], [[[0.3, 0.2], [0.1, 0.1]], [[0.1, 0.2], [0.2, 0.3]]], ("a", "b"))
    pdfa = PDFA([[1, 0], [0, -1]], [[0.4, 0.4, 0.2], [0.5, 0.0, 0.5]], ("a", "b"))
    strings = [["a", "b", "a"], [], ["c"], ["b"] * 5]

    def use(path: Path) -> None:
        model = load_sequence_model(path)
        with np.errstate(all="ignore"):
            model.log_score(strings)
            model.next_scores(strings)

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
                assert len(ready.parse(sentence).heads) == len(sentence.tokens)

    return _target(write, "gramian-automata", checksum, use)
