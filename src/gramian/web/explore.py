"""Inside one sentence: the labels a grammar expects over a span, the states of a node, the rules below it."""

import tomllib
from collections.abc import Sequence
from dataclasses import replace
from functools import cache, lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gramian.chart.forest import Forest, cell_number
from gramian.chart.label_table import label_table
from gramian.chart.tree_arrays import state_posterior
from gramian.errors import OptionError
from gramian.parsing.limits import expected_seconds
from gramian.parsing.parser import Parser, load
from gramian.trees import AnnotationScheme, HeadRules, Tree, annotation_scheme, to_dependencies, unescape_word
from gramian.trees.glossary import entries, meaning
from gramian.trees.labels import SEPARATORS, is_intermediate, split_chain, unescape_label
from gramian.trees.scheme import DEFAULT_SCHEME
from gramian.web.state_views import StateViews

_LEAST = 5e-4  # labels and rules of a smaller posterior are not listed
_MOST = 8
_KEPT, _LONGEST_KEPT = 16, 60  # sentences whose forests are kept, and the most words of one


@cache
def example_sentences() -> dict[str, dict[str, str]]:
    """Return the sentences that the page offers: by language, of each kind one."""
    return tomllib.loads((files("gramian.web") / "example_sentences.toml").read_text("utf-8"))


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
        self._grammars = Parser(replace(model, experts=(), reranker=None))
        self._labels = label_table(self.grammar.symbols, self.grammar.n_phrases)
        self._look = lru_cache(maxsize=_KEPT)(self._new_look)
        self._head_rules = HeadRules.for_conllu("auto", self.scheme, self.language)
        self.views = StateViews(self.grammar, self.scheme.name)

    def expected_seconds(self, n_words: int) -> float:
        """Return about how long a sentence takes; see :mod:`gramian.parsing.limits`."""
        parser, model = self.parser, self.parser.model
        whole = expected_seconds(parser.pruning, n_words, len(self.grammar.binary_rules))
        most = parser.limits.seconds or whole
        return min(whole, most) * (len(model.grammars) + len(model.experts))

    @property
    def scheme(self) -> AnnotationScheme:
        """The annotation scheme of the trees that the model was learnt from."""
        return annotation_scheme(self.parser.model.preset)

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
            "scheme": self.scheme.name,
            "separators": SEPARATORS,
            "language": self.language,
            "examples": [list(item) for item in example_sentences().get(self.language, {}).items()],
            "glossary": self._glossary(symbols),
            "grammars": len(self.parser.model.grammars),
            "method": self.parser.model.options.get("method"),
            "probabilistic": grammar.is_probabilistic,
            "states": int(grammar.n_states.sum()),
            "symbols": sorted(symbols, key=lambda item: -item["share"]),
        }

    @property
    def language(self) -> str:
        """The language of the model's text, as an ISO 639 code; the first of its scheme where the model does not say."""
        language = self.scheme.language() or DEFAULT_SCHEME.languages[0]
        return self.parser.model.language or language.code

    def _glossary(self, symbols: Sequence[dict[str, Any]]) -> dict[str, str]:
        """Return what labels mean: those of the grammar, and all of its scheme and of dependencies."""
        scheme, language = self.scheme.name, self.scheme.language(self.language)
        sections = {"ud", scheme, language.glossary if language else ""}
        meanings = {
            entry.label: entry.words
            for entry in entries()
            if entry.scheme in sections and entry.kind != "part"
        }
        for symbol in symbols:
            for label in split_chain(symbol["symbol"]):
                words = meaning(label, scheme, symbol["kind"])
                if words is not None:
                    meanings[label] = words
        return meanings

    # -- a sentence --------------------------------------------------------------------------------------------------

    def words(self, text: str) -> tuple[str, ...]:
        """Return the words of a text as the parser has them."""
        return tuple(unescape_word(token.word) for token in self.parser.model.tokenize(text))

    def look(self, words: Sequence[str], tags: Sequence[str] | None = None) -> Look | None:
        """Return the forest of a sentence, or None if the grammar does not derive it within limits."""
        look = self._look if len(words) <= _LONGEST_KEPT else self._new_look
        return look(tuple(map(unescape_word, words)), None if tags is None else tuple(tags))

    def _new_look(self, words: tuple[str, ...], tags: tuple[str, ...] | None) -> Look | None:
        pruning = self.parser.limits.fit(self.parser.pruning, len(words), len(self.grammar.binary_rules))
        if pruning is None or not words:
            return None
        sentence = list(words) if tags is None else list(zip(words, tags, strict=True))
        forest = self._grammars.forest(sentence, pruning)
        return None if forest is None else Look(forest, forest.label_posterior)

    def confidences(self, look: Look, tree: Tree) -> list[float]:
        """Return the confidence of every label of a tree over its span, in the order of its subtrees."""
        first_tag = self._labels.n_phrase_labels
        numbers = {(name, number >= first_tag): number for number, name in enumerate(self._labels.names)}
        posteriors = []
        for node, (label, start, end) in zip(tree.subtrees(), tree.spans(), strict=True):
            number = numbers.get((label, node.word is not None))
            cell = cell_number(start, end, look.forest.n_words)
            posteriors.append(0.0 if number is None else max(0.0, float(look.labels[cell, number])))
        return list(self.parser.calibration.confidences(tree, posteriors))

    def best_states(self, look: Look, tree: Tree) -> list[dict[str, Any] | None]:
        """Return for every node of a tree the state that is most probable there, or None where the grammar does not have the node."""
        forest = look.forest
        states_of_nodes: list[dict[str, Any] | None] = []
        for node, (label, start, end) in zip(tree.subtrees(), tree.spans(), strict=True):
            item = self._item(forest, label, start, end, node.word is not None, None)
            states = None if item is None else state_posterior(forest, item)
            state = 0 if states is None else int(np.argmax(states))
            if item is None or states is None:
                states_of_nodes.append(None)
                continue
            name = self.views.name(self.grammar.symbols[int(forest.item_symbol[item])], state)
            states_of_nodes.append({"state": state, "share": float(states[state]), "name": name})
        return states_of_nodes

    def dependencies(self, tree: Tree) -> dict[str, list[Any]]:
        """Return the head of every word and its relation: of English, Universal Dependencies; otherwise by the head rules of the scheme."""
        tokens = to_dependencies(tree, self._head_rules).tokens
        return {"heads": [token.head for token in tokens], "relations": [token.deprel for token in tokens]}

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

        items = np.flatnonzero((forest.item_first_word == start) & (forest.item_end == end)).tolist()
        best = max(filter(fits, items), key=lambda item: float(forest.item_posterior[item]), default=None)
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
