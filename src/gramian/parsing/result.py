"""The result of parsing a sentence: its tree, the confidence of every phrase, and how the tree was found."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import chain
from math import exp, isfinite, log, log1p
from typing import Any, Literal, TypeAlias

from gramian.trees import HeadRules, Tree, to_dependencies
from gramian.trees.scheme import detect_scheme
from gramian.trees.tree import bottom_up, phrase

Status = Literal["parsed", "narrow", "wide", "glued", "parts", "flat", "stopped", "empty"]


_Parts: TypeAlias = "list[tuple[Tree, tuple[float, ...]]]"  # trees, each with the confidences of its nodes

LOW_CONFIDENCE = 0.8
"""Phrases of a lower confidence are marked where trees are shown.

On held-out trees of the English model, this threshold separates right trees from wrong ones best (F1 of finding wrong trees); it is below
the least confident phrase of nine in ten wrong trees.
"""
_EXACT = (1.462, 0.615, 0.845, 0.643)  # see ParseResult.exact_probability
_FURTHEST = 1e-6  # confidences are taken to lie this far from 0 and 1


@dataclass(frozen=True, repr=False)
class Alternative:
    """One of the best trees of a sentence, and the logarithm of its probability with its words, under the mixture of all grammars."""

    tree: Tree
    log_prob_tree: float

    def __repr__(self) -> str:
        return f"<Alternative: {_shortened(self.tree)!r}, log_prob_tree {self.log_prob_tree:.2f}>"


@dataclass(frozen=True, repr=False)
class ParseResult:
    """A sentence's tree, and how sure the parser is of it.

    Examples
    --------
    >>> import gramian
    >>> result = gramian.load().parse("It works.")
    >>> result.words, result.status, [round(confidence) for confidence in result.confidences]
    (('It', 'works', '.'), 'parsed', [1, 1, 1, 1, 1, 1])
    """

    tree: Tree  #: ``Tree("")`` if there are no words
    #: ``"parsed"``; ``"narrow"``: with a narrower beam, to keep within limits; ``"wide"``: with a wider beam, since the usual one left
    #: no tree; ``"glued"``: phrases side by side, since the grammar has no tree; ``"parts"``: parsed in parts, to keep within limits;
    #: ``"flat"``: no phrases but the root; ``"stopped"``: flat, or flat parts, since parsing took far longer than estimated;
    #: ``"empty"``: no words
    status: Status
    #: natural logarithm of the probability of the words, summed over all trees that were not pruned; of a glued sentence, under the
    #: grammar that allows for sequences of phrases; ``-inf`` of a flat tree
    log_prob_words: float
    #: for every node of the tree, in the order of :meth:`~gramian.trees.Tree.subtrees`, the probability that its label stands over these
    #: words, calibrated if the model is; 0 where a node is a fallback
    confidences: tuple[float, ...]
    words: tuple[str, ...]
    #: where the words stand in the text, if text was given
    offsets: tuple[tuple[int, int], ...] | None = None
    seconds: float = 0.0
    #: the best k trees, if more than one was asked for; the first is `tree`
    alternatives: tuple[Alternative, ...] = ()
    #: the words as they were parsed, if they were written in title case or in capitals and their case was restored
    restored: tuple[str, ...] | None = None
    #: the ISO 639 code of the language that the sentence seems to be in if that is not the model's, ``"und"`` if it is unknown
    language: str | None = None

    @property
    def is_foreign(self) -> bool:
        """Whether the sentence seems to be in another language than the model's; see `language`."""
        return self.language is not None

    @property
    def spans(self) -> list[tuple[str, int, int, float]]:
        """Label, first word, end and confidence of every node."""
        return [(*span, value) for span, value in zip(self.tree.spans(), self.confidences, strict=True)]

    def __repr__(self) -> str:
        return f"<ParseResult: {_shortened(self.tree)!r}, {self.status}, confidence {self.confidence:.2f}>"

    @property
    def confidence(self) -> float:
        """Confidence of the sentence: that of its least confident phrase; 1 if there is no phrase.

        It is the best single indicator of a wrong tree. Treat trees below :data:`LOW_CONFIDENCE` with care.
        """
        return min(self._phrase_confidences(), default=1.0)

    def _phrase_confidences(self) -> list[float]:
        nodes = () if self.tree.is_empty else zip(self.tree.subtrees(), self.confidences, strict=True)
        return [value for node, value in nodes if node.word is None]

    @property
    def exact_probability(self) -> float:
        """Probability that all phrases are right and none is missing; 1 if there is no phrase.

        A logistic regression on the least confidence m and the product of the confidences c of all phrases,
        ``log-odds = a log m - b log(1 - m) + w sum(log c) + s``, fitted on 1,141 held-out trees of the English model. It means what it says
        for models whose confidences are calibrated.

        Examples
        --------
        >>> tree = Tree.parse("(S (NP (DT the) (NN dog)) (VP (VBZ barks)))")
        >>> for least in (0.99, 0.8, 0.3):
        ...     print(round(ParseResult(tree, "parsed", -9.5, (1.0, least, 1, 1, 1, 1), tree.words).exact_probability, 2))
        0.97
        0.75
        0.13
        """
        values = [min(max(value, _FURTHEST), 1 - _FURTHEST) for value in self._phrase_confidences()]
        if not values:
            return 1.0
        low, high, product, shift = _EXACT
        least = min(values)
        odds = low * log(least) - high * log1p(-least) + product * sum(map(log, values)) + shift
        return 1 / (1 + exp(-odds))

    def mark_uncertain(self) -> Tree:
        """Return the tree with a question mark after the label of every phrase with a confidence below :data:`LOW_CONFIDENCE`."""
        confidences = iter(self.confidences[::-1])  # nodes come from the right

        def marked(node: Tree, children: list[Tree]) -> Tree:
            mark = "?" if next(confidences) < LOW_CONFIDENCE else ""
            return phrase(node.label + mark, tuple(children)) if children else node

        return bottom_up(list(self.tree.subtrees()), marked)[0]

    def drop_uncertain(self, least: float) -> ParseResult:
        """Return the result without the phrases of a confidence below `least`; root and tags stay.

        The children of such a phrase become children of the one above it: a flatter tree, more of whose phrases are right.

        Examples
        --------
        >>> tree = Tree.parse("(S (NP (DT the) (NN dog)) (VP (VBZ barks)))")
        >>> result = ParseResult(tree, "parsed", -9.5, (1.0, 0.4, 0.9, 0.9, 0.8, 0.7), tree.words)
        >>> print(result.drop_uncertain(0.5).tree)
        (S (DT the) (NN dog) (VP (VBZ barks)))
        >>> print(result.mark_uncertain())
        (S (NP? (DT the) (NN dog)) (VP (VBZ barks)))
        """
        if self.tree.is_empty:
            return self
        remaining = iter(self.confidences[::-1])  # nodes come from the right

        def kept(node: Tree, children: list[_Parts]) -> _Parts:
            confidence, parts = next(remaining), list(chain.from_iterable(children))
            if node.word is not None:
                return [(node, (confidence,))]
            if confidence < least and node is not self.tree:
                return parts
            below = chain.from_iterable(values for _, values in parts)
            return [(phrase(node.label, tuple([tree for tree, _ in parts])), (confidence, *below))]

        [(tree, confidences)] = bottom_up(list(self.tree.subtrees()), kept)[0]
        return replace(self, tree=tree, confidences=confidences, alternatives=())

    def to_conllu(self, heads: HeadRules | None = None) -> str:
        r"""Return the dependency tree that follows from head rules, as a sentence of CoNLL-U; of English, Universal Dependencies.

        Parameters
        ----------
        heads : HeadRules, optional
            By default those of the annotation scheme that the tree's labels belong to.

        Examples
        --------
        >>> tree = Tree.parse("(S (NP (DT the) (NN dog)) (VP (VBZ barks)))")
        >>> result = ParseResult(tree, "parsed", -9.5, (1.0,) * 6, tree.words)
        >>> [line.split("\t")[1:8:2] for line in result.to_conllu().splitlines() if line]
        [['the', 'DET', '_', 'det'], ['dog', 'NOUN', '_', 'nsubj'], ['barks', 'VERB', '_', 'root']]
        """
        if not self.words:
            return ""
        heads = heads or HeadRules.for_conllu("auto", detect_scheme([self.tree]), trees=[self.tree])
        return f"{to_dependencies(self.tree, heads)}\n"

    def as_dict(self) -> dict[str, Any]:
        """Return all of it as JSON holds it, numbers rounded; ``gramian parse --json`` writes this."""
        spans = [
            {"label": label, "start": start, "end": end, "confidence": round(confidence, 4)}
            for label, start, end, confidence in (self.spans if self.words else ())
        ]
        record: dict[str, Any] = {
            "tree": str(self.tree) if self.words else "",
            "status": self.status,
            "log_prob": _finite(self.log_prob_words),
            "words": list(self.words),
            "spans": spans,
            "exact_probability": round(self.exact_probability, 4),
            "seconds": round(self.seconds, 5),
        }
        if self.offsets is not None:
            record["offsets"] = [list(offset) for offset in self.offsets]
        if self.restored is not None:
            record["restored"] = list(self.restored)
        if self.language is not None:
            record["language"] = self.language
        if self.alternatives:
            record["alternatives"] = [
                {"tree": str(alternative.tree), "log_prob": _finite(alternative.log_prob_tree)}
                for alternative in self.alternatives
            ]
        return record

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for every node of the tree, as a table holds it; see :func:`table` for many results."""
        columns, words = ("label", "start", "end", "text", "confidence"), self.words
        return [
            dict(zip(columns, (label, start, end, " ".join(words[start:end]), confidence), strict=True))
            for label, start, end, confidence in (self.spans if words else ())
        ]

    def _repr_svg_(self) -> str:
        """Draw the tree in a notebook, phrases coloured by their confidence."""
        values = (
            {(label, start, end): value for label, start, end, value in self.spans} if self.words else None
        )
        return self.tree.svg(values=values)


def table(results: Iterable[ParseResult]) -> list[dict[str, Any]]:
    """Return a row for every node of every result, ready for ``pandas.DataFrame``.

    Returns
    -------
    list of dict
        ``sentence`` (its number, from 0), ``status``, ``label``, ``start``, ``end``, ``text``, ``confidence``.

    Examples
    --------
    >>> tree = Tree.parse("(NP (DT the) (NN dog))")
    >>> result = ParseResult(tree, "parsed", -4.5, (0.9, 1.0, 0.8), tree.words)
    >>> for row in table([result]):
    ...     print(*row.values())
    0 parsed NP 0 2 the dog 0.9
    0 parsed DT 0 1 the 1.0
    0 parsed NN 1 2 dog 0.8
    """
    return [
        {"sentence": number, "status": result.status, **row}
        for number, result in enumerate(results)
        for row in result.rows()
    ]


def _shortened(tree: Tree, length: int = 80) -> str:
    text = str(tree)
    return text if len(text) <= length else text[: length - 3] + "..."


def _finite(value: float) -> float | None:
    return round(value, 4) if isfinite(value) else None
