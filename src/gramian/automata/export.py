"""Automata for other tools: DOT text for Graphviz, and OpenFST's text format."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from gramian.automata.mixture import Mixture
from gramian.automata.pdfa import PDFA
from gramian.automata.weighted_automaton import WFA
from gramian.errors import OptionError


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
