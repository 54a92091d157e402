"""Inside one sentence: the labels a grammar expects over a span, the states of a node, the rules below it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from gramian.chart.chart_parser import ChartParser
from gramian.chart.forest import Forest, cell_number
from gramian.chart.label_table import label_table
from gramian.chart.readout import state_posterior
from gramian.errors import OptionError
from gramian.grammar.describe import describe
from gramian.grammar.lexicon import joined
from gramian.parsing.limits import expected_seconds
from gramian.parsing.parser import Parser, load
from gramian.parsing.words import WordTable
from gramian.trees import Tree, unescape_word
from gramian.trees.labels import is_intermediate, unescape_label
from gramian.web.state_map import state_map

_LEAST = 5e-4  # labels and rules of a smaller posterior are not listed
_MOST = 8
_KEPT, _LONGEST_KEPT = 16, 60  # sentences whose forests are kept, and the most words of one


class Look(NamedTuple):
    """A forest with the posterior of each label over each span."""

    forest: Forest
    labels: Any  # ndarray of float32, shape (n_cells, n_labels)


class Explorer:
    """One model (of a file, or the one that comes with the package), to parse with and to look into; threads may share it."""

    def __init__(self, path: str | None, max_seconds: float) -> None:
        self.parser: Parser = load(path, max_seconds=max_seconds)
        self.name = "bundled" if path is None else Path(path).name
        model = self.parser.model
        self.grammar = model.grammar
        self._table = WordTable(joined([one.lexicon for one in model.grammars]))
        self._chart = ChartParser(model.grammars, kinds=model.kinds or None)
        self._labels = label_table(self.grammar.symbols, self.grammar.n_phrases)
        self._number = {symbol: number for number, symbol in enumerate(self.grammar.symbols)}
        self._look = lru_cache(maxsize=_KEPT)(self._new_look)
        self._states = lru_cache(maxsize=64)(self._new_states)
        self._lock = Lock()  # describing a label takes a second; who asks twice waits for the first answer

    def expected_seconds(self, n_words: int) -> float:
        """Return about how long a sentence takes; see :mod:`gramian.parsing.limits`."""
        parser, model = self.parser, self.parser.model
        whole = expected_seconds(parser.pruning, n_words, len(self.grammar.binary_rules))
        most = parser.limits.seconds or whole
        return min(whole, most) * (len(model.grammars) + bool(model.expert) + bool(model.neural))

    @property
    def normal_form(self) -> str:
        """The preset of the trees that the model was learnt from."""
        return self.parser.model.preset or "penn"

    def about(self) -> dict[str, Any]:
        """Return what the page tells about the model."""
        grammar = self.grammar
        use = grammar.before.sum(axis=1, dtype=np.float64)
        symbols = [
            {
                "symbol": symbol,
                "label": unescape_label(symbol),
                "kind": "tag" if number >= grammar.n_phrases else "phrase",
                "states": int(grammar.n_states[number]),
                "share": float(use[number]),
            }
            for number, symbol in enumerate(grammar.symbols)
            if not is_intermediate(symbol)
        ]
        return {
            "name": self.name,
            "grammars": len(self.parser.model.grammars),
            "method": self.parser.model.options.get("method"),
            "probabilistic": grammar.is_probabilistic,
            "states": int(grammar.n_states.sum()),
            "symbols": sorted(symbols, key=lambda one: -one["share"]),
        }

    # -- a sentence --------------------------------------------------------------------------------------------------

    def words(self, text: str) -> tuple[str, ...]:
        """Return the words of a text as the parser has them."""
        return tuple(unescape_word(token.word) for token in self.parser.model.cut(text))

    def look(self, words: Sequence[str], tags: Sequence[str] | None = None) -> Look | None:
        """Return the forest of a sentence, or None if the grammar does not derive it within limits."""
        look = self._look if len(words) <= _LONGEST_KEPT else self._new_look
        return look(tuple(map(unescape_word, words)), None if tags is None else tuple(tags))

    def _new_look(self, words: tuple[str, ...], tags: tuple[str, ...] | None) -> Look | None:
        pruning = self.parser.limits.fit(self.parser.pruning, len(words), len(self.grammar.binary_rules))
        if pruning is None or not words:
            return None
        given = [{tag: 1.0} for tag in tags or ()]
        forest = self._chart.forest([word.scores for word in self._table.read(words, given)], pruning)
        return None if forest is None else Look(forest, forest.label_posterior)

    def confidences(self, look: Look, tree: Tree) -> list[float]:
        """Return the confidence of every label of a tree over its span, in the order of its subtrees."""
        first_tag = self._labels.n_phrase_labels
        numbers = {(name, number >= first_tag): number for number, name in enumerate(self._labels.names)}
        found = []
        for node, (label, start, end) in zip(tree.subtrees(), tree.spans(), strict=True):
            number = numbers.get((label, node.word is not None))
            cell = cell_number(start, end, look.forest.n_words)
            found.append(0.0 if number is None else max(0.0, float(look.labels[cell, number])))
        return list(self.parser.calibration.confidences(tree, found))

    def node(
        self, look: Look, label: str, start: int, end: int, *, is_tag: bool = False, symbol: str | None = None
    ) -> dict[str, Any]:
        """Return the states of a node, the labels that compete for its span, and the rules that may stand below it.

        A `symbol` of the binarised grammar, intermediate ones included, goes before the `label` of the treebank.
        """
        forest = look.forest
        if not 0 <= start < end <= forest.n_words:
            raise OptionError(f"a span lies within the {forest.n_words} words, unlike {start}-{end}")
        item = self._item(forest, label, start, end, is_tag, symbol)
        over = look.labels[cell_number(start, end, forest.n_words)]
        labels = [
            {
                "label": self._labels.names[number],
                "kind": "phrase" if number < self._labels.n_phrase_labels else "tag",
                "posterior": float(over[number]),
            }
            for number in np.argsort(-over, kind="stable")[:_MOST].tolist()
            if over[number] >= _LEAST
        ]
        answer: dict[str, Any] = {"start": start, "end": end, "labels": labels, "symbol": None}
        if item is None:
            return answer
        number = int(forest.item_symbol[item])
        return {
            **answer,
            "symbol": self.grammar.symbols[number],
            "name": unescape_label(self.grammar.symbols[number]),
            "posterior": float(forest.item_posterior[item]),
            "states": [float(value) for value in state_posterior(forest, item)],
            "rules": self._rules(forest, item),
        }

    def _item(
        self, forest: Forest, label: str, start: int, end: int, is_tag: bool, symbol: str | None
    ) -> int | None:
        """Return the most probable item of a label over a span."""

        def fits(item: int) -> bool:
            number = int(forest.item_symbol[item])
            if symbol is not None:
                return self.grammar.symbols[number] == symbol
            return label in self._names(number, is_tag)

        there = np.flatnonzero((forest.item_first_word == start) & (forest.item_end == end)).tolist()
        best = max(filter(fits, there), key=lambda item: float(forest.item_posterior[item]), default=None)
        return None if best is None or not forest.item_posterior[best] > 0 else best

    def _names(self, symbol: int, is_tag: bool) -> tuple[str, ...]:
        chain = self._labels.bottom_up[symbol]
        if symbol < self.grammar.n_phrases:
            return () if is_tag else chain
        return chain[:1] if is_tag else chain[1:]

    def _rules(self, forest: Forest, item: int) -> list[dict[str, Any]]:
        edges = np.arange(forest.edge_first[item], forest.edge_first[item + 1])
        total = float(forest.edge_posterior[edges].sum())
        rules = []
        for edge in edges[np.argsort(-forest.edge_posterior[edges], kind="stable")][:_MOST].tolist():
            share = float(forest.edge_posterior[edge]) / total if total > 0 else 0.0
            if share < _LEAST:
                break
            children = int(forest.edge_left[edge]), int(forest.edge_right[edge])
            listed = [self._child(forest, child) for child in children if child >= 0]
            rules.append({"share": share, "children": listed})
        return rules

    def _child(self, forest: Forest, item: int) -> dict[str, Any]:
        symbol = self.grammar.symbols[forest.item_symbol[item]]
        start, end = int(forest.item_first_word[item]), int(forest.item_end[item])
        return {"symbol": symbol, "name": unescape_label(symbol), "start": start, "end": end}

    # -- the grammar -------------------------------------------------------------------------------------------------

    def states(self, symbol: str) -> dict[str, Any]:
        """Return cards of the states of a symbol, and their map."""
        number = self._symbol(symbol)
        with self._lock:
            return self._states(number)

    def _new_states(self, number: int) -> dict[str, Any]:
        described = asdict(describe(self.grammar, number))
        places = state_map(self.grammar, number)
        for state in described["states"]:
            state["x"], state["y"] = places.points[state["state"]]
        named = {"name": described["symbol"], "symbol": self.grammar.symbols[number]}
        return {**described, **named, "explained": places.explained}

    def rule(self, parent: str, children: Sequence[str], state: int | None = None) -> dict[str, Any]:
        """Return the tensor of a rule in one state of its parent, or averaged over all by their shares."""
        grammar = self.grammar
        wanted = [self._symbol(symbol) for symbol in (parent, *children)]
        binary = len(children) == 2
        rules = grammar.binary_rules if binary else grammar.unary_rules
        found = np.flatnonzero((rules == wanted).all(axis=1))
        if len(found) == 0:
            raise OptionError(f"the grammar has no rule {parent} → {' '.join(children)}")
        block = (grammar.binary_block if binary else grammar.unary_block)(int(found[0])).astype(np.float64)
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
                    "states": [*map(int, np.unravel_index(place, block.shape))],
                    "value": float(block.flat[place]),
                }
                for place in largest
            ],
        }

    def _symbol(self, symbol: str) -> int:
        if symbol not in self._number:
            raise OptionError(f"the grammar has no symbol {symbol!r}")
        return self._number[symbol]
