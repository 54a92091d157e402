"""Automata for other tools: DOT text for Graphviz, and OpenFST's text format."""

from __future__ import annotations

import math
from dataclasses import dataclass

from gramian.automata.pdfa import PDFA
from gramian.automata.wfa import WFA
from gramian.errors import OptionError

__all__ = ["Edge", "OpenFst", "edges", "to_dot", "to_openfst"]


@dataclass(frozen=True)
class Edge:
    """All transitions from one state to another: (symbol, weight) pairs, the heaviest first."""

    source: int
    target: int
    labels: tuple[tuple[str, float], ...]


def edges(model: WFA | PDFA, threshold: float = 0.0) -> list[Edge]:
    """Return the transitions of absolute weight above `threshold`, gathered by source and target."""
    wfa = model.to_wfa() if isinstance(model, PDFA) else model
    found: dict[tuple[int, int], list[tuple[str, float]]] = {}
    for symbol, source, target in zip(*(abs(wfa.transitions) > threshold).nonzero(), strict=True):
        weight = float(wfa.transitions[symbol, source, target])
        found.setdefault((int(source), int(target)), []).append((str(wfa.alphabet[symbol]), weight))
    return [
        Edge(*ends, tuple(sorted(labels, key=lambda label: (-abs(label[1]), label[0]))))
        for ends, labels in sorted(found.items())
    ]


def to_dot(model: WFA | PDFA, threshold: float = 0.01) -> str:
    r"""Return the automaton in the DOT language, transitions up to `threshold` left out.

    Examples
    --------
    >>> print(to_dot(WFA([1.0], [0.5], [[[0.5]]], ("a",))))
    digraph automaton {
      rankdir=LR;
      node [shape=circle];
      start0 [shape=point];
      start0 -> 0 [label="1"];
      0 [label="0\nstop 0.5"];
      0 -> 0 [label="a 0.5"];
    }
    """
    wfa = model.to_wfa() if isinstance(model, PDFA) else model
    lines = ["digraph automaton {", "  rankdir=LR;", "  node [shape=circle];"]
    for state, weight in enumerate(wfa.initial.tolist()):
        if abs(weight) > threshold:
            lines += [f"  start{state} [shape=point];", f'  start{state} -> {state} [label="{weight:.3g}"];']
    lines += [f'  {state} [label="{state}\\nstop {w:.3g}"];' for state, w in enumerate(wfa.final.tolist())]
    for edge in edges(wfa, threshold):
        text = "\\n".join(f"{_quoted(symbol)} {weight:.3g}" for symbol, weight in edge.labels)
        lines.append(f'  {edge.source} -> {edge.target} [label="{text}"];')
    return "\n".join([*lines, "}"])


@dataclass(frozen=True)
class OpenFst:
    """Two texts for ``fstcompile --acceptor --arc_type=log64 --isymbols=SYMBOLS``.

    Attributes
    ----------
    transitions : str
        One arc a line: source, target, symbol, weight; then one final state a line. Weights are -log.
    symbols : str
        The symbol table.
    """

    transitions: str
    symbols: str


def to_openfst(model: WFA | PDFA) -> OpenFst:
    """Return the automaton as OpenFST text in the log semiring; weights must not be negative.

    State 0 is new and leads to the old states, moved up by one, with the empty symbol.

    Examples
    --------
    >>> print(to_openfst(WFA([1.0], [0.5], [[[0.5]]], ("a",))).transitions)
    0 1 <eps> 0
    1 1 a 0.693147181
    1 0.693147181
    """
    wfa = model.to_wfa() if isinstance(model, PDFA) else model
    if min(wfa.initial.min(), wfa.final.min(), wfa.transitions.min(initial=0.0)) < 0:
        raise OptionError("OpenFST: the log semiring has no negative weights; try: training with repair")
    if any(" " in str(symbol) or not str(symbol) for symbol in wfa.alphabet):
        raise OptionError("OpenFST: symbols may neither be empty nor hold blanks; try: other symbols")
    lines = [f"0 {state + 1} <eps> {_cost(w)}" for state, w in enumerate(wfa.initial.tolist()) if w > 0]
    lines += [
        f"{edge.source + 1} {edge.target + 1} {symbol} {_cost(weight)}"
        for edge in edges(wfa)
        for symbol, weight in edge.labels
    ]
    lines += [f"{state + 1} {_cost(weight)}" for state, weight in enumerate(wfa.final.tolist()) if weight > 0]
    symbols = ["<eps> 0", *(f"{symbol} {number}" for number, symbol in enumerate(wfa.alphabet, 1))]
    return OpenFst("\n".join(lines), "\n".join(symbols))


def _cost(weight: float) -> str:
    return f"{-math.log(weight) + 0.0:.9g}"


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
