"""Exact sampling of trees from a latent-variable PCFG.

A node draws a rule from P(rule | symbol, state), then the states of its children from the rule's block; a tag
draws a known word from P(word | tag, state), proportional to P(tag, state | word) P(word).
"""

from bisect import bisect_right
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from gramian.errors import OptionError
from gramian.grammar.lexicon import Emissions
from gramian.grammar.lpcfg import LPCFG
from gramian.trees.binarise import debinarise
from gramian.trees.tree import Tree, phrase, preterminal

_MOST_REJECTED = 10_000  # in a row, before the grammar is said to derive no tree of the length wanted


class TreeSampler:
    """Draws trees from the distribution of a grammar over trees of at most `max_length` words.

    A tree that grows longer is dropped and drawn anew, so that what remains is distributed exactly as the
    grammar's trees of up to that length are. A tag for which no word is known is written as the word.

    Parameters
    ----------
    grammar : LPCFG
        With probabilities; observable operators cannot be drawn from.

    Attributes
    ----------
    rejected : int
        How many trees were dropped so far.

    Raises
    ------
    gramian.errors.OptionError
        If the grammar has no probabilities; when drawing, if it hardly ever derives so short a tree.

    Examples
    --------
    >>> from gramian.learn import PCFG
    >>> from gramian.treebank import Treebank
    >>> from gramian.trees import Tree
    >>> sampler = TreeSampler(PCFG().fit(Treebank.from_trees([Tree.parse("(S (NP (DT the) (NN dog)) (VP (VBZ barks)))")])).model_)
    >>> len(sampler.draw().words)
    3
    """

    def __init__(self, grammar: LPCFG, *, random_state: int = 0, max_length: int = 200) -> None:
        if max_length < 1:
            raise OptionError(f"max_length must be at least 1, got {max_length}")
        if not grammar.is_probabilistic:
            raise OptionError(
                "observable operators are not probabilities and cannot be sampled; try: a model refined by EM"
            )
        self.max_length = max_length
        self.rejected = 0
        self._grammar = grammar
        self._tables = _Tables(grammar)
        self.reseed(random_state)

    def reseed(self, random_state: int) -> None:
        """Draw from now on as a new sampler would."""
        self._uniform = _uniform(random_state)

    def __iter__(self) -> Iterator[Tree]:
        """Yield trees without end."""
        while True:
            yield self.draw()

    def draw(self) -> Tree:
        """Return the next tree."""
        return debinarise(self._draw_binary())

    def draw_words(self, symbol: int, state: int) -> tuple[str, ...]:
        """Return the words of the next phrase of a symbol (its number) in a state."""
        return self._draw_binary((symbol, state, 0)).words

    def _draw_binary(self, start: tuple[int, int, int] | None = None) -> Tree:
        """Return the next binarised tree that is short enough."""
        for _ in range(_MOST_REJECTED):
            tree = self._grow(start or self._tables.root(self._uniform))
            if tree is not None:
                return tree
            self.rejected += 1
        raise OptionError(
            f"{_MOST_REJECTED:,} trees in a row grew beyond {self.max_length} words; try: a larger max_length"
        )

    def _grow(self, start: tuple[int, int, int]) -> Tree | None:
        """Return one binarised tree below `start`, or None if it would be too long."""
        tables, uniform, max_length = self._tables, self._uniform, self.max_length
        symbols, n_phrases = self._grammar.symbols, self._grammar.n_phrases
        # What waits is (symbol, state, 0), or (symbol, 0, arity) once the trees of its children are built.
        waiting = [start]
        built: list[Tree] = []
        length = 1  # how many words there will be if every node that waits becomes a single one
        while waiting:
            symbol, state, arity = waiting.pop()
            if symbol >= n_phrases:
                built.append(preterminal(symbols[symbol], tables.word(symbol - n_phrases, state, uniform)))
            elif arity:
                children = tuple(built[-arity:])
                del built[-arity:]
                built.append(phrase(symbols[symbol], children))
            else:
                below = tables.expand(symbol, state, uniform)
                length += len(below) - 1
                if length > max_length:
                    return None
                waiting.append((symbol, 0, len(below)))
                waiting += below
        return built[0]


def _uniform(random_state: int) -> Iterator[float]:
    generator = np.random.default_rng(random_state)
    while True:
        yield from generator.random(1 << 12).tolist()


def _draw_index(cumulative: list[float], uniform: Iterator[float]) -> int:
    index = bisect_right(cumulative, next(uniform) * cumulative[-1])
    return min(index, len(cumulative) - 1)


class _Tables:
    """Cumulative sums to draw from, made when first needed."""

    def __init__(self, grammar: LPCFG) -> None:
        self._grammar = grammar
        self._n_states = grammar.n_states.tolist()
        states = np.flatnonzero(grammar.root)
        owner = np.searchsorted(grammar.state_start, states, side="right") - 1
        self._roots = list(zip(owner.tolist(), (states - grammar.state_start[owner]).tolist(), strict=True))
        self._root_sums = np.cumsum(grammar.root[states], dtype=np.float64).tolist()
        self._rules = [*grammar.binary_rules.tolist(), *grammar.unary_rules.tolist()]
        self._rules_of: list[list[int]] = [[] for _ in range(grammar.n_phrases)]
        for rule, (parent, *_) in enumerate(self._rules):
            self._rules_of[parent].append(rule)
        self._weights: dict[int, npt.NDArray[np.float64]] = {}
        self._choices: dict[tuple[int, int], tuple[list[float], list[int]]] = {}
        self._cells: dict[tuple[int, int], list[float]] = {}
        self._words: dict[tuple[int, int], tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]] = {}
        self._emissions: dict[int, Emissions] = {}

    def root(self, uniform: Iterator[float]) -> tuple[int, int, int]:
        """Draw the root as (symbol, state, 0)."""
        return (*self._roots[_draw_index(self._root_sums, uniform)], 0)

    def expand(self, symbol: int, state: int, uniform: Iterator[float]) -> list[tuple[int, int, int]]:
        """Draw the children of a phrase, the last one first, as (symbol, state, 0)."""
        choice = self._choices.get((symbol, state))
        if choice is None:
            choice = self._choices[symbol, state] = self._choice(symbol, state)
        rule = choice[1][_draw_index(choice[0], uniform)]
        children = self._rules[rule][1:]
        cells = self._cells.get((state, rule))
        if cells is None:
            cells = np.cumsum(self._row(rule, state), dtype=np.float64).tolist()
            self._cells[state, rule] = cells
        cell = _draw_index(cells, uniform)
        if len(children) == 1:
            return [(children[0], cell, 0)]
        left, right = divmod(cell, self._n_states[children[1]])
        return [(children[1], right, 0), (children[0], left, 0)]

    def _choice(self, symbol: int, state: int) -> tuple[list[float], list[int]]:
        """Return the rules that a phrase may take in a state, and the cumulative sums of their probabilities."""
        rules = self._rules_of[symbol]
        if symbol not in self._weights:
            self._weights[symbol] = np.column_stack([self._sums(rule) for rule in rules])
        weights = self._weights[symbol][state]
        possible = np.flatnonzero(weights).tolist()
        return np.cumsum(weights[possible]).tolist(), [rules[index] for index in possible]

    def _sums(self, rule: int) -> npt.NDArray[np.float64]:
        """Return the probability of a rule for each state of the phrase."""
        n_binary, (binary, unary) = len(self._grammar.binary_rules), self._grammar.row_sums
        sums, number = (binary, rule) if rule < n_binary else (unary, rule - n_binary)
        return np.maximum(sums.values[sums.start[number] : sums.start[number + 1]], 0)

    def _row(self, rule: int, state: int) -> npt.NDArray[np.float32]:
        """Return a rule's probabilities over the children's states, for one state of the phrase."""
        grammar, n_binary = self._grammar, len(self._grammar.binary_rules)
        if rule < n_binary:
            row = grammar.binary_row(rule, state)
        else:
            row = grammar.unary_block(rule - n_binary)[state]
        return np.maximum(row, 0)  # low rank may leave a cell slightly below zero

    def word(self, tag: int, state: int, uniform: Iterator[float]) -> str:
        """Draw a word."""
        words = self._words.get((tag, state))
        if words is None:
            words = self._words[tag, state] = self._word_table(tag, state)
        lexicon, (sums, numbers) = self._grammar.lexicon, words
        if not sums.size:
            return lexicon.tags[tag]
        index = int(np.searchsorted(sums, next(uniform) * sums[-1], side="right"))
        return lexicon.words[numbers[min(index, len(sums) - 1)]]

    def _word_table(self, tag: int, state: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
        if tag not in self._emissions:
            self._emissions[tag] = self._grammar.lexicon.emissions(tag)
        words, weights, states = self._emissions[tag]
        if states[:, state].any():  # else no word was seen in this state: those of the tag
            weights = states[:, state]
        possible = np.flatnonzero(weights > 0)
        return np.cumsum(weights[possible]), words[possible]
