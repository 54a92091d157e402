"""What the states of a symbol are, in words people can read: rules, words, contexts, examples.

All figures but the examples are exact: rules are those of the original trees, found best first through the
intermediate symbols of binarisation, with the states of their parts summed out.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from heapq import heappop, heappush
from itertools import accumulate, count

import numpy as np
import numpy.typing as npt

from gramian.errors import OptionError
from gramian.grammar.lpcfg import LPCFG
from gramian.grammar.tree_sampling import TreeSampler
from gramian.trees.labels import is_intermediate, unescape_label

Doubles = npt.NDArray[np.float64]
_Expansion = tuple[tuple[str, ...], int, tuple[str, ...]]
"""The names of a rule's children before an intermediate one, that one's number (-1 for none), and the names after it."""

_LEAST = 1e-4  # rules of a smaller probability are not looked for
_DRAWN = 12  # phrases drawn at most for the examples of a state
_SHORT = 8  # words of such a phrase
_LONGEST = 60


@dataclass(frozen=True)
class Share:
    """Something seen in a state, and the share it has there."""

    name: str
    share: float


@dataclass(frozen=True)
class StateDescription:
    """One state of a symbol, and the share it has of the symbol's occurrences.

    Words are the most probable ones of a tag; of a phrase, those that set the state apart most (by their part in the divergence from the
    symbol's own distribution) among the words that stand in it without a phrase between. Rules are the most probable children, as in the
    original trees. Contexts are the most probable places: the phrase above and the siblings, the state itself being ``·`` and more siblings
    ``…``. Examples are phrases drawn from the state.
    """

    state: int
    share: float
    words: tuple[Share, ...]
    rules: tuple[Share, ...]
    contexts: tuple[Share, ...]
    examples: tuple[str, ...]


@dataclass(frozen=True)
class SymbolDescription:
    """A symbol and its states, the most frequent first."""

    symbol: str
    kind: str  # "phrase" or "tag"
    share: float  # of all nodes of binarised trees
    states: tuple[StateDescription, ...]


def symbols_named(grammar: LPCFG, label: str) -> list[int]:
    """Return the numbers of the symbols that `label` names: a phrase, a tag, or both; if there is none, an OptionError names others."""
    names = [unescape_label(symbol) for symbol in grammar.symbols]
    symbols = enumerate(zip(grammar.symbols, names, strict=True))
    numbers = [number for number, spellings in symbols if label in spellings]
    if not numbers:
        suggestions = (
            get_close_matches(label, names, 5, 0.5) or [name for name in names if name[0] != "@"][:20]
        )
        raise OptionError(f"the grammar has no label {label!r}; try: {', '.join(dict.fromkeys(suggestions))}")
    return numbers


@dataclass(frozen=True)
class _Rule:
    """A rule, and for each of its children the probability of its states, by states of the parent."""

    parent: int
    children: tuple[int, ...]
    towards: tuple[npt.NDArray[np.float32], ...]  # there are many of them


class Describer:
    """Describes one symbol of a grammar after the other; what all need is read from the grammar once.

    Parameters
    ----------
    grammar : LPCFG
        With probabilities; the states of observable operators are directions, not kinds of phrases.

    Examples
    --------
    >>> from gramian.treebank import Treebank
    >>> from gramian.learn import PCFG
    >>> from gramian.trees import Tree
    >>> bank = Treebank.from_trees([Tree.parse("(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)) (. .))")])
    >>> grammar = PCFG().fit(bank).model_
    >>> (state,) = Describer(grammar).describe(grammar.symbols.index("S")).states
    >>> state.rules
    (Share(name='NP VP .', share=1.0),)
    """

    def __init__(self, grammar: LPCFG) -> None:
        if not grammar.is_probabilistic:
            raise OptionError(
                "the states of observable operators have no interpretation; try: --method spectral-cluster or spectral-em"
            )
        self._grammar = grammar
        self._names = [unescape_label(symbol) for symbol in grammar.symbols]
        self._is_inner = [is_intermediate(symbol) for symbol in grammar.symbols]
        self._use = grammar.before.sum(axis=1, dtype=np.float64)  # share of each symbol among all nodes
        self._emissions: dict[int, tuple[npt.NDArray[np.int64], Doubles]] = {}
        self._rules_of: list[list[_Rule]] = [[] for _ in grammar.symbols]
        for number, (parent, *children) in enumerate(grammar.binary_rules.tolist()):
            left, right = (margin.astype(np.float32) for margin in grammar.binary_margins(number))
            self._rules_of[parent].append(_Rule(parent, tuple(children), (left, right)))
        for number, (parent, child) in enumerate(grammar.unary_rules.tolist()):
            self._rules_of[parent].append(_Rule(parent, (child,), (grammar.unary_block(number),)))

    def describe(
        self, symbol: int, *, top: int = 5, examples: int = 3, random_state: int = 0
    ) -> SymbolDescription:
        """Describe the states of a symbol.

        Parameters
        ----------
        symbol : int
            Its number in ``grammar.symbols``.
        top : int
            How many words, rules and contexts to list.
        examples : int
            How many phrases to draw from each state.
        random_state : int
            For the examples.
        """
        grammar, is_tag = self._grammar, symbol >= self._grammar.n_phrases
        (numbers, words), rules, contexts = (
            self._words(symbol),
            self._rules(symbol, top),
            self._contexts(symbol),
        )
        names = [grammar.lexicon.words[number] for number in numbers.tolist()]
        drawn = not is_tag and examples > 0
        if drawn:
            self._sampler.reseed(random_state)
        prior = grammar.prior(symbol)
        usual = None if is_tag else prior @ words
        states = [
            StateDescription(
                state=state,
                share=float(prior[state]),
                words=_largest(names, words[state], top, usual),
                rules=tuple(rules[state]),
                contexts=_largest(list(contexts), np.array([mass[state] for mass in contexts.values()]), top),
                examples=_examples(self._sampler, symbol, state, examples) if drawn else (),
            )
            for state in np.argsort(-prior, kind="stable").tolist()
        ]
        kind = "tag" if is_tag else "phrase"
        return SymbolDescription(self._names[symbol], kind, float(self._use[symbol]), tuple(states))

    def within(self, symbol: int) -> Doubles:
        """Return how probable each word of a tag, or each rule of a phrase, is in each state; shape (states, words or rules)."""
        if symbol >= self._grammar.n_phrases:
            return self._words(symbol)[1]
        rules = [rule.towards[0].sum(axis=1) for rule in self._rules_of[symbol]]
        return np.column_stack([np.zeros(int(self._grammar.n_states[symbol])), *rules])

    def around(self, symbol: int) -> Doubles:
        """Return how often each state stands in each place of each rule, and at the root; shape (states, places)."""
        places = [self._mass(rule, position) for rule, position in self._uses[symbol]]
        return np.column_stack([self._root_mass(symbol), *places])

    @cached_property
    def _sampler(self) -> TreeSampler:
        return TreeSampler(self._grammar, max_length=_LONGEST)

    def _root_mass(self, symbol: int) -> Doubles:
        """Return how often each state stands at the root."""
        first, end = self._grammar.state_start[symbol : symbol + 2]
        return np.asarray(self._roots * self._grammar.root[first:end].astype(np.float64))

    def _rules(self, symbol: int, top: int) -> list[list[Share]]:
        """Return the most probable sequences of children in each state, intermediate symbols expanded."""
        if symbol >= self._grammar.n_phrases:
            return [[] for _ in range(self._grammar.n_states[symbol])]
        return [self._best_rules(symbol, row, top) for row in np.eye(int(self._grammar.n_states[symbol]))]

    def _best_rules(self, symbol: int, states: Doubles, top: int) -> list[Share]:
        # What waits: the mass of a partial rule, children known on its left and right, and between them an
        # intermediate symbol with the mass of each of its states, or nothing (-1). Mass only shrinks.
        tie = count()
        waiting: list[tuple[float, int, tuple[str, ...], int, Doubles, tuple[str, ...]]]
        waiting = [(-1.0, next(tie), (), symbol, states, ())]
        complete: list[Share] = []
        while waiting and len(complete) < top:
            mass, _, left, middle, vector, right = heappop(waiting)
            if middle < 0:
                complete.append(Share(" ".join((*left, *right)), -mass))
                continue
            table, starts, expansions = self._expansions[middle]
            if not expansions:
                continue
            outcomes = vector @ table
            totals = np.add.reduceat(outcomes, starts[:-1])
            for index in np.flatnonzero(totals >= _LEAST).tolist():
                before, inner, after = expansions[index]
                outcome = outcomes[starts[index] : starts[index + 1]]
                mass = -float(totals[index])
                heappush(waiting, (mass, next(tie), (*left, *before), inner, outcome, (*after, *right)))
        return complete

    @cached_property
    def _expansions(self) -> list[tuple[Doubles, list[int], list[_Expansion]]]:
        """For each symbol its rules, and one table: by the symbol's states, those of each rule's intermediate child, or a
        single column where it has none; and where each rule's columns start.
        """
        tables = []
        for rules in self._rules_of:
            blocks: list[Doubles] = []
            expansions: list[_Expansion] = []
            for rule in rules:
                children = rule.children
                names = [self._names[child] for child in children]
                position = next(
                    (index for index, child in enumerate(children) if self._is_inner[child]), None
                )
                if position is None:
                    blocks.append(rule.towards[0].astype(np.float64).sum(axis=1, keepdims=True))
                    expansions.append((tuple(names), -1, ()))
                else:
                    blocks.append(rule.towards[position].astype(np.float64))
                    expansions.append(
                        (tuple(names[:position]), children[position], tuple(names[position + 1 :]))
                    )
            starts = [0, *accumulate(block.shape[1] for block in blocks)]
            tables.append((np.hstack(blocks) if blocks else np.zeros((0, 0)), starts, expansions))
        return tables

    def _words(self, symbol: int) -> tuple[npt.NDArray[np.int64], Doubles]:
        """Return the words to expect without a phrase between, and how many of each in each state, shape (states, words)."""
        mass = np.zeros((len(self._grammar.lexicon.words), int(self._grammar.n_states[symbol])))
        for tag, expected in self._tags_below(symbol).items():
            words, emission = self._emission(tag)
            mass[words] += emission @ expected.T
        words_seen = np.flatnonzero(mass.any(axis=1))
        return words_seen, np.ascontiguousarray(mass[words_seen].T)

    def _emission(self, tag: int) -> tuple[npt.NDArray[np.int64], Doubles]:
        """Return the words of a tag, and the probability of each in each state, shape (words, states)."""
        if tag not in self._emissions:
            words, _, mass = self._grammar.lexicon.emissions(tag - self._grammar.n_phrases)
            self._emissions[tag] = words, mass / np.maximum(mass.sum(axis=0), 1e-300)
        return self._emissions[tag]

    def _tags_below(self, symbol: int) -> dict[int, Doubles]:
        """Return how many of each tag and its states to expect, by states of the symbol, without a phrase between."""
        if symbol >= self._grammar.n_phrases:
            return {symbol: np.eye(int(self._grammar.n_states[symbol]))}
        # A phrase and the intermediate symbols below it are a Markov chain that emits tags on its way.
        inner = [symbol]
        for parent in inner:
            below = {
                child for rule in self._rules_of[parent] for child in rule.children if self._is_inner[child]
            }
            inner += below - {*inner}
        sizes = self._grammar.n_states[inner]
        ends = np.cumsum(sizes)
        states = {
            member: slice(end - size, end) for member, size, end in zip(inner, sizes, ends, strict=True)
        }
        onward = np.zeros((ends[-1], ends[-1]))
        emitted: dict[int, Doubles] = {}
        for parent in inner:
            for rule in self._rules_of[parent]:
                for position, child in enumerate(rule.children):
                    if self._is_inner[child]:
                        onward[states[parent], states[child]] += rule.towards[position]
                    elif child >= self._grammar.n_phrases:
                        nothing = np.zeros((len(onward), int(self._grammar.n_states[child])))
                        emitted.setdefault(child, nothing)[states[parent]] += rule.towards[position]
        visits = np.linalg.inv(np.eye(len(onward)) - onward)[states[symbol]]
        return {tag: visits @ table for tag, table in emitted.items()}

    def _contexts(self, symbol: int) -> dict[str, Doubles]:
        """Return how often each state stands in each place."""
        grammar = self._grammar
        mass_of_context: dict[str, Doubles] = {}

        def add(name: str, mass: Doubles) -> None:
            mass_of_context[name] = mass_of_context.get(name, np.zeros(len(mass))) + mass

        for rule, position in self._uses[symbol]:
            add(self._context_name(rule, position), self._mass(rule, position))
        if grammar.root[grammar.state_start[symbol] : grammar.state_start[symbol + 1]].any():
            add("root", self._root_mass(symbol))
        return mass_of_context

    def _mass(self, rule: _Rule, position: int) -> Doubles:
        """Return how often each state stands at a place of a rule, among all nodes."""
        weight = self._use[rule.parent] * self._grammar.prior(rule.parent).astype(np.float64)
        return np.asarray(weight @ rule.towards[position], np.float64)

    @cached_property
    def _uses(self) -> list[list[tuple[_Rule, int]]]:
        """For each symbol the rules that have it as a child, and where."""
        uses: list[list[tuple[_Rule, int]]] = [[] for _ in self._rules_of]
        for rules in self._rules_of:
            for rule in rules:
                for position, child in enumerate(rule.children):
                    uses[child].append((rule, position))
        return uses

    @cached_property
    def _roots(self) -> float:
        """The share of nodes that have no parent: all are expected once, less those expected as children."""
        grammar = self._grammar
        binary = self._use[grammar.binary_rules[:, 0]] @ grammar.coarse.binary
        unary = self._use[grammar.unary_rules[:, 0]] @ grammar.coarse.unary
        return max(0.0, 1 - 2 * float(binary) - float(unary))

    def _context_name(self, rule: _Rule, position: int) -> str:
        """Return the name of a context: a rule with `·` for the child at `position`."""
        parts = ["…" if self._is_inner[child] else self._names[child] for child in rule.children]
        parts[position] = "·"
        parent = self._names[rule.parent]
        if self._is_inner[rule.parent]:
            before, after = self._open_sides[rule.parent]
            parts = ["…"] * before + parts + ["…"] * after
            parent = parent[1:].partition("[")[0]
        return f"{parent} → {' '.join(parts)}"

    @cached_property
    def _open_sides(self) -> dict[int, tuple[bool, bool]]:
        """Whether an intermediate symbol has more siblings before it, and after it."""
        sides: dict[int, tuple[bool, bool]] = {}
        for rules in self._rules_of:
            for rule in rules:
                for position, child in enumerate(rule.children):
                    if self._is_inner[child]:
                        before, after = sides.get(child, (False, False))
                        sides[child] = (before or position > 0, after or position == 0)
        return sides


def _examples(sampler: TreeSampler, symbol: int, state: int, number: int) -> tuple[str, ...]:
    """Draw phrases until enough short ones were drawn, or many; none if the state hardly ever derives one."""
    drawn: dict[tuple[str, ...], None] = {}
    try:
        for _ in range(_DRAWN):
            drawn[sampler.draw_words(symbol, state)] = None
            if sum(len(words) <= _SHORT for words in drawn) == number:
                break
    except OptionError:
        return ()
    by_length = sorted(drawn, key=lambda words: max(len(words), _SHORT))
    return tuple(" ".join(words) for words in by_length[:number])


def _largest(
    names: Sequence[str], mass: Doubles, top: int, usual: Doubles | None = None
) -> tuple[Share, ...]:
    """Return the names of the greatest mass, or the greatest beyond what is usual, with their shares."""
    if not mass.sum() > 0:
        return ()
    share = mass / mass.sum()
    rank = share
    if usual is not None:
        with np.errstate(divide="ignore", invalid="ignore"):
            excess = share * np.log(share / (usual / usual.sum()))
        rank = np.where(share > 0, np.nan_to_num(excess) + 1e-9 * share, -np.inf)
    candidates = np.arange(len(rank))
    if 0 < top < len(rank):  # there may be many words: sort the largest alone
        candidates = np.flatnonzero(rank >= np.partition(rank, -top)[-top])
    order = candidates[np.argsort(-rank[candidates], kind="stable")][:top]
    return tuple(Share(names[index], float(share[index])) for index in order.tolist() if share[index] > 0)
