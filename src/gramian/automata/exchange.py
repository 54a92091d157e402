"""Automata to and from other tools: PAutomaC's machines, FlexFringe's JSON, DOT files of acceptors as AALpy has them; DOT and OpenFST text.

PAutomaC: a state q ends a string with probability F(q), else it says s with S(q, s) and goes to q' with T(q, s, q'). FlexFringe counts, for
each state, how often strings end (``total_final``) and go on with a symbol (``trans_counts``); without the latter its automaton is an
acceptor, of which a state accepts if most of the strings that end there are of type 1. Acceptors are automata that weigh strings 0 or 1.
"""

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gramian.automata.mixture import Mixture
from gramian.automata.pdfa import PDFA
from gramian.automata.sequence_model import SequenceModel, check_weights
from gramian.automata.sequences import Symbol
from gramian.automata.weighted_automaton import WFA
from gramian.errors import InputError, OptionError
from gramian.io.reading import Source, open_text
from gramian.io.schema import parse_json

_ENTRY = re.compile(r"\(([0-9, ]+)\)\s+(\S+)")
_NODE = re.compile(r'^\s*"?(\w+)"?\s*\[(.*)\];?\s*$')
_EDGE = re.compile(r'^\s*"?(\w+)"?\s*->\s*"?(\w+)"?\s*(?:\[(.*)\])?;?\s*$')
_LABEL = re.compile(r'label\s*=\s*(?:"((?:[^"\\]|\\.)*)"|(\S+?)(?:,|$))')
_COUNTED = 10**6  # strings that a distribution is written as counts of


def read_automaton(source: Source) -> WFA | PDFA:
    """Read an automaton of PAutomaC, FlexFringe or AALpy; which it is shows in its first line."""
    with open_text(source) as lines:
        text, name = "".join(lines), lines.name
    start = text.lstrip()
    try:
        if start.startswith("{"):
            return _of_flexfringe(parse_json(text))
        return _of_dot(text) if start.startswith("digraph") else _of_pautomac(text)
    except (
        KeyError,
        ValueError,
        IndexError,
        TypeError,
        AttributeError,
        RecursionError,
        OverflowError,
    ) as error:
        hint = "name a machine of PAutomaC, JSON of FlexFringe, or DOT of an acceptor"
        raise InputError(f"this is no automaton: {error!r}"[:120], name, 1, hint=hint) from None


def _of_pautomac(text: str) -> WFA:
    tables: dict[str, dict[tuple[int, ...], float]] = {}
    for line in text.splitlines():
        if line[:2] in ("I:", "F:", "S:", "T:"):
            table = tables.setdefault(line[0], {})
        elif line.strip():
            indices, value = _ENTRY.fullmatch(line.strip()).groups()  # type: ignore[union-attr]
            table[tuple(map(int, indices.split(",")))] = float(value)
    n = 1 + max(max(key[0], key[-1]) for name in "IFT" for key in tables[name])
    k = 1 + max(key[1] for key in tables["S"])
    check_weights(n, k)
    (initial, final), emissions, moves = np.zeros((2, n)), np.zeros((n, k)), np.zeros((n, k, n))
    for array, name in ((initial, "I"), (final, "F"), (emissions, "S"), (moves, "T")):
        for key, value in tables[name].items():
            array[key] = value
    weights = (1.0 - final)[:, None, None] * emissions[:, :, None] * moves
    return WFA(initial, final, weights.transpose(1, 0, 2), tuple(range(k)))


def to_pautomac(model: WFA | PDFA) -> str:
    """Return a distribution as a machine of PAutomaC."""
    wfa = model.to_wfa()
    if not wfa.is_probabilistic(1e-6):
        raise OptionError("PAutomaC: this automaton is not a distribution; try: learning it with repair")
    emissions = wfa.transitions.sum(axis=2).T
    going = np.maximum(1.0 - wfa.final, 1e-300)
    moves = wfa.transitions.transpose(1, 0, 2) / np.maximum(emissions, 1e-300)[:, :, None]
    parts = {
        "I: (state)": wfa.initial,
        "F: (state)": wfa.final,
        "S: (state,symbol)": emissions / going[:, None],
        "T: (state,symbol,state)": moves,
    }
    lines = []
    for title, array in parts.items():
        lines.append(title)
        lines += [
            f"\t({','.join(map(str, key))}) {array[tuple(key)]:.12g}"
            for key in np.argwhere(array > 0).tolist()
        ]
    return "\n".join(lines)


def _of_flexfringe(document: Mapping[str, Any]) -> WFA | PDFA:
    nodes = {str(node["id"]): node["data"] for node in document["nodes"] if str(node["id"]) != "-1"}
    edges = [(str(edge["source"]), str(edge["name"]), str(edge["target"])) for edge in document["edges"]]
    edges = [edge for edge in edges if edge[0] in nodes and edge[2] in nodes]
    if not any("trans_counts" in data for data in nodes.values()):
        accepting = {
            name
            for name, data in nodes.items()
            if 2 * int(data["final_counts"].get("1", 0)) > int(data["total_final"])
        }
        return _acceptor(list(nodes), accepting, edges)
    number = {name: index for index, name in enumerate(nodes)}
    alphabet = sorted({symbol for _, symbol, _ in edges}, key=_in_order)
    check_weights(len(nodes), len(alphabet))
    successor = np.full((len(nodes), len(alphabet)), -1)
    table = np.zeros((len(nodes), len(alphabet) + 1))
    for source, symbol, target in edges:
        cell = number[source], alphabet.index(symbol)
        successor[cell] = number[target]
        table[cell] = float(nodes[source].get("trans_counts", {}).get(symbol, 0))
    table[:, -1] = [float(data["total_final"]) for data in nodes.values()]
    table[table.sum(axis=1) <= 0, -1] = 1.0
    return PDFA(successor, table / table.sum(axis=1, keepdims=True), _symbols(alphabet))


def to_flexfringe(model: WFA | PDFA) -> str:
    """Return a deterministic automaton as JSON of FlexFringe: a distribution with counts of a million strings, or an acceptor."""
    if isinstance(model, PDFA):
        visits = _visits(model)
        counts = np.rint(model.probability * visits[:, None]).astype(int)
        successor, final = model.successor, counts[:, -1]
    else:
        successor = _successors(model)
        counts, final = np.zeros((model.n_states, model.n_symbols + 1), int), np.rint(model.final).astype(int)
    names = [str(symbol) for symbol in model.alphabet]
    nodes = []
    for state, row in enumerate(counts.tolist()):
        data: dict[str, Any] = {"final_counts": {"1": int(final[state])}, "total_final": int(final[state])}
        if isinstance(model, PDFA):
            data["trans_counts"] = {
                name: str(count) for name, count in zip(names, row, strict=False) if count
            }
        else:
            data["final_counts"]["0"] = 1 - int(final[state])
            data["total_final"] = 1
        data |= {"path_counts": {}, "total_paths": sum(row[:-1])}
        nodes.append({"id": state, "size": sum(row), "isred": 1, "isblue": 0, "issink": 0, "data": data})
    edges = [
        {"id": f"{i}_{j}", "source": str(i), "target": str(j), "name": names[symbol], "appearances": ""}
        for i, row in enumerate(successor.tolist())
        for symbol, j in enumerate(row)
        if j >= 0
    ]
    return json.dumps({"types": ["0", "1"], "alphabet": names, "nodes": nodes, "edges": edges}, indent=1)


def _visits(model: PDFA) -> Any:
    """Return how often each state is expected to be visited by a million strings."""
    wfa = model.to_wfa()
    return _COUNTED * wfa._resolvent(wfa.initial, transposed=True)


def _of_dot(text: str) -> WFA:
    states: dict[str, bool] = {}
    edges: list[tuple[str, str, str]] = []
    first = None
    for line in text.splitlines():
        if edge := _EDGE.match(line):
            source, target, attributes = edge[1], edge[2], edge[3] or ""
            if source.startswith("__start"):
                first = target
            elif label := _LABEL.search(attributes):
                edges.append((source, label[1] if label[1] is not None else label[2], target))
        elif (node := _NODE.match(line)) and node[1] not in ("graph", "node", "edge", "__start0"):
            states[node[1]] = "doublecircle" in node[2]
    if first is None:
        raise ValueError("no edge leaves __start0")
    names = [first, *(name for name in states if name != first)]
    return _acceptor(names, {name for name, accepts in states.items() if accepts}, edges)


def to_aalpy(model: WFA | PDFA) -> str:
    """Return an acceptor as DOT text, as AALpy and others read it."""
    if isinstance(model, PDFA):
        raise OptionError(
            "AALpy: only acceptors are written, and this is a distribution; try: --format flexfringe"
        )
    lines = ["digraph automaton {"]
    for state, accepts in enumerate(model.final.tolist()):
        lines.append(f's{state} [label="s{state}"{", shape=doublecircle" if accepts else ""}];')
    for state, row in enumerate(_successors(model).tolist()):
        lines += [f's{state} -> s{j} [label="{model.alphabet[s]}"];' for s, j in enumerate(row) if j >= 0]
    return "\n".join([*lines, '__start0 [label="", shape=none];', '__start0 -> s0 [label=""];', "}"])


def _acceptor(names: list[str], accepting: Iterable[str], edges: list[tuple[str, str, str]]) -> WFA:
    """Return a deterministic acceptor that begins in the first of its states."""
    number = {name: index for index, name in enumerate(names)}
    alphabet = sorted({symbol for _, symbol, _ in edges}, key=_in_order)
    check_weights(len(names), len(alphabet))
    transitions = np.zeros((len(alphabet), len(names), len(names)))
    for source, symbol, target in edges:
        transitions[alphabet.index(symbol), number[source], number[target]] = 1.0
    if (transitions.sum(axis=2) > 1).any():
        raise ValueError("a state has two successors for one symbol")
    final = np.isin(np.arange(len(names)), [number[name] for name in accepting]).astype(float)
    return WFA(np.eye(len(names))[0], final, transitions, _symbols(alphabet))


def _successors(model: WFA) -> Any:
    """Return the successors of an acceptor, -1 where there is none."""
    weights = np.concatenate([model.initial, model.final, model.transitions.ravel()])
    moves = model.transitions.sum(axis=2)
    if (
        not np.isin(weights, (0.0, 1.0)).all()
        or moves.max(initial=0.0) > 1
        or model.initial[:1].sum() != 1
        or model.initial.sum() != 1
    ):
        raise OptionError(
            "this automaton is neither deterministic nor an acceptor; try: 'gramian wfa draw --clusters' or 'wfa extract --exact'"
        )
    return np.where(moves > 0, model.transitions.argmax(axis=2), -1).T


def _in_order(symbol: str) -> tuple[bool, int, str]:
    return (not symbol.isdecimal(), int(symbol) if symbol.isdecimal() else 0, symbol)


def _symbols(names: list[str]) -> tuple[Symbol, ...]:
    """Return numbers where all names are numbers, as PAutomaC's strings have them."""
    return tuple(int(name) for name in names) if all(name.isdecimal() for name in names) else tuple(names)


@dataclass(frozen=True)
class Edge:
    """All transitions from one state to another: (symbol, weight) pairs, the heaviest first."""

    source: int
    target: int
    labels: tuple[tuple[str, float], ...]


def edges(model: WFA | PDFA, threshold: float = 0.0) -> list[Edge]:
    """Return the transitions of absolute weight above `threshold`, gathered by source and target."""
    transitions: dict[tuple[int, int], list[tuple[str, float]]] = {}
    if isinstance(model, PDFA):
        source, symbol = ((model.successor >= 0) & (model.probability[:, :-1] > threshold)).nonzero()
        target = model.successor[source, symbol].astype(np.intp)
        weight = model.probability[source, symbol]
    else:
        symbol, source, target = (abs(model.transitions) > threshold).nonzero()
        weight = model.transitions[symbol, source, target]
    for s, i, j, w in zip(symbol.tolist(), source.tolist(), target.tolist(), weight.tolist(), strict=True):
        transitions.setdefault((i, j), []).append((str(model.alphabet[s]), w))
    return [
        Edge(*ends, tuple(sorted(labels, key=lambda label: (-abs(label[1]), label[0]))))
        for ends, labels in sorted(transitions.items())
    ]


def to_dot(model: WFA | PDFA, threshold: float = 0.01) -> str:
    """Return the automaton in the DOT language, transitions up to `threshold` left out."""
    wfa = model.to_wfa()
    lines = ["digraph automaton {", "  rankdir=LR;", "  node [shape=circle];"]
    for state, weight in enumerate(wfa.initial.tolist()):
        if abs(weight) > threshold:
            lines += [f"  start{state} [shape=point];", f'  start{state} -> {state} [label="{weight:.3g}"];']
    lines += [f'  {state} [label="{state}\\nstop {w:.3g}"];' for state, w in enumerate(wfa.final.tolist())]
    for edge in edges(wfa, threshold):
        labels = [
            (symbol.replace("\\", "\\\\").replace('"', '\\"'), weight) for symbol, weight in edge.labels
        ]
        text = "\\n".join(f"{symbol} {weight:.3g}" for symbol, weight in labels)
        lines.append(f'  {edge.source} -> {edge.target} [label="{text}"];')
    return "\n".join([*lines, "}"])


@dataclass(frozen=True)
class OpenFst:
    """Two texts for ``fstcompile --acceptor --arc_type=log64 --isymbols=SYMBOLS``."""

    transitions: str  # one arc a line: source, target, symbol, -log weight; then one final state a line
    symbols: str


def to_openfst(model: WFA | PDFA | Mixture) -> OpenFst:
    """Return the automaton as OpenFST text in the log semiring; weights must not be negative.

    State 0 is new and leads to the old states, moved up by one, with the empty symbol; the states of a mixture's parts follow each other.
    """
    if any(" " in str(symbol) or not str(symbol) for symbol in model.alphabet):
        raise OptionError("OpenFST: symbols must not be empty or contain spaces; try: other symbols")
    starts, arcs, ends = [], [], []
    offset = 1
    components = (model.parts, model.weights.tolist()) if isinstance(model, Mixture) else ((model,), [1.0])
    for part, weight in zip(*components, strict=True):
        if isinstance(part, PDFA):
            initial, final = [1.0], part.probability[:, -1]
        else:
            initial, final = part.initial.tolist(), part.final
            if min(*initial, final.min(), part.transitions.min(initial=0.0)) < 0:
                raise OptionError(
                    "OpenFST: the log semiring has no negative weights; try: training with repair"
                )
        starts += [f"0 {state} <eps> {_cost(weight * w)}" for state, w in enumerate(initial, offset) if w > 0]
        arcs += [
            f"{offset + edge.source} {offset + edge.target} {symbol} {_cost(weight)}"
            for edge in edges(part)
            for symbol, weight in edge.labels
        ]
        ends += [
            f"{state} {_cost(weight)}" for state, weight in enumerate(final.tolist(), offset) if weight > 0
        ]
        offset += part.n_states
    symbols = ["<eps> 0", *(f"{symbol} {number}" for number, symbol in enumerate(model.alphabet, 1))]
    return OpenFst("\n".join([*starts, *arcs, *ends]), "\n".join(symbols))


def _cost(weight: float) -> str:
    return f"{-math.log(weight) + 0.0:.9g}"


WRITERS: Mapping[str, Callable[[WFA | PDFA], str]] = {
    "pautomac": to_pautomac,
    "flexfringe": to_flexfringe,
    "aalpy": to_aalpy,
}
"""By the name of a format, what writes an automaton in it."""


def exported(model: SequenceModel, format: str) -> str:
    """Return an automaton as text in a format of :data:`WRITERS`."""
    return WRITERS[format](model if isinstance(model, PDFA) else model.to_wfa())
