"""What is known about a tree before parsing: brackets that nothing may cross, phrases that must or must not be there.

Constraints speak of the treebank's phrases; :meth:`Constraints.allowed` turns them into the symbols that each span of
the binarised chart may hold. An intermediate symbol is part of a phrase and no phrase itself: it may cross a bracket of
a partial bracketing (Pereira & Schabes 1992) and stand on a forbidden span, but neither crosses a required phrase nor
takes its place.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from gramian.chart.forest import Allowed, cell_spans
from gramian.chart.label_table import label_table
from gramian.errors import OptionError
from gramian.grammar import LPCFG
from gramian.trees import Tree


@dataclass(frozen=True)
class Span:
    """The words ``start .. end - 1``, counted from 0, and the label of a phrase over them, None for any.

    Examples
    --------
    >>> print(Span(2, 5, "NP"), Span(0, 1))
    NP 2-5 0-1
    """

    start: int
    end: int
    label: str | None = None

    def __str__(self) -> str:
        return f"{self.label + ' ' if self.label else ''}{self.start}-{self.end}"

    def crosses(self, other: Span) -> bool:
        """Whether the spans overlap and neither contains the other."""
        first, second = sorted([(self.start, self.end), (other.start, other.end)])
        return first[0] < second[0] < first[1] < second[1]


@dataclass(frozen=True)
class Constraints:
    """What is known about a tree.

    Examples
    --------
    >>> tree = Tree.parse("(S (NP (DT the) (NN dog)) (VP (VBZ barks)))")
    >>> print(*Constraints.containing(tree).required, sep=", ")
    S 0-3, NP 0-2, VP 2-3
    """

    #: no phrase overlaps one of these without containing it or being contained. Labels say nothing here.
    uncrossed: tuple[Span, ...] = ()
    #: a phrase stands on each, with the label if there is one. Several labels on one span are a unary chain.
    required: tuple[Span, ...] = ()
    forbidden: tuple[Span, ...] = ()  #: no phrase stands on these, or none with the label

    @classmethod
    def compatible_with(cls, tree: Tree) -> Constraints:
        """Constrain a parse not to cross the phrases of `tree`, which may be flat where nothing is known."""
        spans = {(start, end) for _, start, end in tree.spans(preterminals=False)}
        return cls(uncrossed=tuple(Span(start, end) for start, end in sorted(spans)))

    @classmethod
    def containing(cls, tree: Tree, *, labels: bool = True) -> Constraints:
        """Constrain a parse to have all phrases of `tree`, with or without regard to their labels."""
        spans = tree.spans(preterminals=False)
        return cls(required=tuple(Span(start, end, label if labels else None) for label, start, end in spans))

    def allowed(self, grammar: LPCFG, n_words: int) -> Allowed:
        """Return the symbols that each span of a sentence may hold; see :meth:`check` for what is refused."""
        self.check(grammar, n_words)
        table = label_table(grammar.symbols, grammar.n_phrases)
        labels = [set(parts) for parts in table.bottom_up[: grammar.n_phrases]]
        is_phrase = np.array([bool(parts) for parts in labels] + [False])
        start, end = cell_spans(n_words)
        symbols = np.ones((len(start), grammar.n_phrases + 1), np.bool_)

        def having(label: str | None) -> np.ndarray:
            return is_phrase if label is None else np.array([label in parts for parts in labels] + [False])

        def crossing(span: Span) -> np.ndarray:
            return ((start < span.start) & (span.start < end) & (end < span.end)) | (
                (span.start < start) & (start < span.end) & (span.end < end)
            )

        for span in self.uncrossed:
            symbols[np.ix_(crossing(span), is_phrase)] = False
        for span in self.required:
            symbols[crossing(span)] = False
            symbols[(start == span.start) & (end == span.end)] &= having(span.label)
        for span in self.forbidden:
            symbols[(start == span.start) & (end == span.end)] &= ~having(span.label)
        rows, row = np.unique(symbols, axis=0, return_inverse=True)
        return Allowed((row.ravel() + 1).astype(np.int32), np.vstack([np.ones_like(rows[:1]), rows]))

    def loosened(self) -> Constraints:
        """Return what is left to try if no tree meets them: nothing crosses what was required.

        Examples
        --------
        >>> print(*Constraints(required=(Span(2, 5, "NP"),)).loosened().uncrossed)
        2-5
        """
        spans = [replace(span, label=None) for span in (*self.uncrossed, *self.required)]
        return Constraints(tuple(dict.fromkeys(spans)), (), self.forbidden)

    def within(self, start: int, end: int) -> Constraints:
        """Return those that lie within some of the words, counted from `start`."""

        def kept(spans: tuple[Span, ...]) -> tuple[Span, ...]:
            inside = [span for span in spans if start <= span.start and span.end <= end]
            return tuple(replace(span, start=span.start - start, end=span.end - start) for span in inside)

        return Constraints(kept(self.uncrossed), kept(self.required), kept(self.forbidden))

    def check(self, grammar: LPCFG, n_words: int) -> None:
        """Raise an OptionError if a span is not within the sentence, a label is no phrase's, or two constraints contradict each other."""
        table = label_table(grammar.symbols, grammar.n_phrases)
        known = set(table.names[: table.n_phrase_labels])
        for span in (*self.uncrossed, *self.required, *self.forbidden):
            if not 0 <= span.start < span.end <= n_words:
                raise OptionError(f"the span {span} is not within the {n_words} words of the sentence")
        for span in (*self.required, *self.forbidden):
            if span.label is not None and span.label not in known:
                some = ", ".join([*sorted(known)[:8], *["..."] * (len(known) > 8)])
                raise OptionError(f"{span}: the grammar has no phrase '{span.label}'; try: {some}")
        for one, two in combinations(dict.fromkeys(self.required), 2):
            if one.crosses(two):
                raise OptionError(f"the required spans {one} and {two} cross; try: leave one out")
        for one in self.required:
            for two in self.uncrossed:
                if one.crosses(two):
                    raise OptionError(
                        f"the required span {one} crosses the uncrossed span {two}; try: leave one out"
                    )
            for two in self.forbidden:
                if (one.start, one.end) == (two.start, two.end) and two.label in (None, one.label):
                    raise OptionError(f"the span {one} is both required and forbidden; try: leave one out")
