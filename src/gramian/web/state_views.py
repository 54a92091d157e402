"""The states of a grammar's symbols as the page shows them: cards, their map, and the tensors of rules.

Reading a symbol's states takes a moment, so that those of frequent symbols are read ahead, in a thread of their own.
"""

from collections.abc import Sequence
from dataclasses import asdict
from functools import cached_property
from threading import Lock, Thread
from time import perf_counter, sleep
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from gramian.errors import OptionError
from gramian.grammar.describe import Describer, StateDescription
from gramian.grammar.lpcfg import LPCFG
from gramian.grammar.state_names import state_name
from gramian.trees.labels import is_intermediate, unescape_label

Doubles: TypeAlias = npt.NDArray[np.float64]

_MOST = 8
_NEAREST = 3
_FREQUENT = 1e-3  # of all nodes; rarer symbols are read when they are asked for


class StateViews:
    """The states of one grammar, whose labels follow a scheme; threads may share it."""

    def __init__(self, grammar: LPCFG, scheme: str) -> None:
        self.grammar, self._scheme = grammar, scheme
        self._number = {symbol: number for number, symbol in enumerate(grammar.symbols)}
        self._known: dict[int, dict[str, Any]] = {}
        self._lock = Lock()  # who asks for what is being read waits for it

    @cached_property
    def _describer(self) -> Describer:
        return Describer(self.grammar)

    def read_ahead(self) -> None:
        """Read the states of the most frequent symbol, and with them what all symbols share; the other frequent ones in a thread."""
        if not self.grammar.is_probabilistic:
            return
        use = self.grammar.before.sum(axis=1)
        order = np.argsort(-use, kind="stable").tolist()
        symbols = [self.grammar.symbols[number] for number in order if use[number] >= _FREQUENT]
        symbols = [symbol for symbol in symbols if not is_intermediate(symbol)]
        for symbol in symbols[:1]:
            self.states(symbol)
        Thread(target=self._read_all, args=(symbols[1:],), name="gramian-states", daemon=True).start()

    def _read_all(self, symbols: Sequence[str]) -> None:
        for symbol in symbols:
            began = perf_counter()
            self.states(symbol)
            sleep(perf_counter() - began)  # half of the time is for those who ask

    def is_read(self, symbol: str) -> bool:
        """Whether the states of a symbol are known by now."""
        return self._number.get(symbol) in self._known

    def states(self, symbol: str) -> dict[str, Any]:
        """Return cards of the states of a symbol, and their map."""
        number = self._symbol(symbol)
        if number not in self._known:
            with self._lock:
                if number not in self._known:
                    self._known[number] = self._read(number)
        return self._known[number]

    def name(self, symbol: str, state: int) -> str:
        """Return what a state is, in one line; nothing for grammars without probabilities."""
        if not self.grammar.is_probabilistic:
            return ""
        names = (
            str(state_card["name"])
            for state_card in self.states(symbol)["states"]
            if state_card["state"] == state
        )
        return next(names, "")

    def _read(self, number: int) -> dict[str, Any]:
        symbol = self._describer.describe(number)
        places = state_map(self.grammar, number, self._describer)
        states = [
            {
                **asdict(state),
                "name": state_name(state, symbol.symbol, symbol.kind, self._scheme),
                "typical": _typical(state),
                "parent": _parent(state),
                "nearest": places.nearest[state.state],
                "x": places.points[state.state][0],
                "y": places.points[state.state][1],
            }
            for state in symbol.states
        ]
        return {
            "name": symbol.symbol,
            "symbol": self.grammar.symbols[number],
            "kind": symbol.kind,
            "share": symbol.share,
            "states": states,
            "explained": places.explained,
        }

    def rule(self, parent: str, children: Sequence[str], state: int | None = None) -> dict[str, Any]:
        """Return the tensor of a rule in one state of its parent, or averaged over all by their shares."""
        grammar = self.grammar
        wanted = [self._symbol(symbol) for symbol in (parent, *children)]
        binary = len(children) == 2
        rules = grammar.binary_rules if binary else grammar.unary_rules
        matching = np.flatnonzero((rules == wanted).all(axis=1))
        if len(matching) == 0:
            raise OptionError(f"the grammar has no rule {parent} → {' '.join(children)}")
        block = (grammar.binary_block if binary else grammar.unary_block)(int(matching[0])).astype(np.float64)
        n_parent = block.shape[0]
        if state is not None and not 0 <= state < n_parent:
            raise OptionError(f"{parent} has the states 0 to {n_parent - 1}, not {state}")
        matrix = block
        if binary:
            matrix = block[state] if state is not None else np.tensordot(grammar.prior(wanted[0]), block, 1)
        largest = np.argsort(-block, axis=None, kind="stable")[:_MOST].tolist()
        return {
            "parent": unescape_label(parent),
            "children": [unescape_label(child) for child in children],
            "shape": list(block.shape),
            "state": state,
            "probability": float(grammar.prior(wanted[0]) @ block.reshape(n_parent, -1).sum(axis=1)),
            "matrix": [[float(f"{value:.3g}") for value in row] for row in matrix.tolist()],
            "largest": [
                {
                    "states": [*map(int, np.unravel_index(index, block.shape))],
                    "value": float(block.flat[index]),
                }
                for index in largest
            ],
        }

    def _symbol(self, symbol: str) -> int:
        if symbol not in self._number:
            raise OptionError(f"the grammar has no symbol {symbol!r}")
        return self._number[symbol]


def _typical(state: StateDescription) -> str:
    """Return the word that stands for a state on the map, or the rule where it has no words."""
    names = [part.name for part in (*state.words, *state.rules)]
    return next((name for name in names if any(map(str.isalnum, name))), names[0] if names else "")


def _parent(state: StateDescription) -> str:
    """Return the label that a state mostly stands below."""
    shares: dict[str, float] = {}
    for context in state.contexts:
        parent = context.name.partition(" → ")[0]
        shares[parent] = shares.get(parent, 0.0) + context.share
    return max(shares, key=lambda parent: shares[parent], default="")


class StateMap(NamedTuple):
    """The states of a symbol as points in the plane: near means alike in what they hold and where they stand.

    A state is the distribution of its rules (or words), and of the places it stands in; square roots of probabilities make
    distances those of Hellinger, and the two directions of largest variance, states weighted by their share, make the map.
    The fields are places of the states, by number, the share of the variance that the plane keeps, and the states most alike to each.

    Similarity is measured by the whole distance, not by that in the plane.
    """

    points: list[tuple[float, float]]
    explained: float
    nearest: list[list[int]]


def state_map(grammar: LPCFG, symbol: int, describer: Describer | None = None) -> StateMap:
    """Lay out the states of a symbol, given by its number in ``grammar.symbols``; a `describer` of the grammar saves reading it again.

    Examples
    --------
    >>> from gramian.treebank import Treebank
    >>> from gramian.learn import PCFG
    >>> from gramian.trees import Tree
    >>> grammar = PCFG().fit(Treebank.from_trees([Tree.parse("(S (NN dogs) (VBP bark))")])).model_
    >>> state_map(grammar, grammar.symbols.index("S"))
    StateMap(points=[(0.0, 0.0)], explained=1.0, nearest=[[]])
    """
    known = describer or Describer(grammar)
    parts = [_normalised(known.within(symbol)), _normalised(known.around(symbol))]
    vectors = np.sqrt(np.hstack(parts) / 2)
    share = grammar.prior(symbol).astype(np.float64)
    share = share / share.sum()
    centred = vectors - share @ vectors
    weight = np.sqrt(share)[:, None]
    # There are far fewer states than rules or words: the directions come from the products of states.
    values, columns = np.linalg.eigh((centred * weight) @ (centred * weight).T)
    values, columns = np.maximum(values[::-1], 0.0), columns[:, ::-1]
    points = np.zeros((len(vectors), 2))
    variance = float(values.sum())
    for axis in range(min(2, len(values)) if variance > 1e-12 else 0):
        if values[axis] > 1e-12 * variance:
            direction = (columns[:, axis] @ (centred * weight)) / np.sqrt(values[axis])
            points[:, axis] = centred @ (direction if direction.sum() >= 0 else -direction)
    explained = 1.0 if variance < 1e-12 else float(values[:2].sum()) / variance
    alike = vectors @ vectors.T
    np.fill_diagonal(alike, -np.inf)
    nearest = [
        row[: min(_NEAREST, len(row) - 1)].tolist() for row in np.argsort(-alike, axis=1, kind="stable")
    ]
    return StateMap([(float(x), float(y)) for x, y in points], explained, nearest)


def _normalised(counts: Doubles) -> Doubles:
    counts = np.maximum(counts, 0.0)  # rules of low rank may lie slightly below zero
    return counts / np.maximum(counts.sum(axis=1, keepdims=True), 1e-300)
