"""Estimates of how long a request takes to answer, which the gate goes by: short requests are answered first.

What a request costs follows from the words that the parser sees. Its own tokenizer counts them, which is work itself: that of long texts
is let in by :func:`reading_seconds`, and what :func:`request_seconds` counts is let in after that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from gramian.chart.decode import DECODERS
from gramian.web.explore import Explorer
from gramian.web.fields import Fields
from gramian.web.many_trees import first_sentences, gold_trees
from gramian.web.typed_sentences import read_tree, read_typed

MOST_TREES = 20
"""Of the best ones of a sentence."""

_SHORT_ANSWER, _LONG_ANSWER = 0.01, 1.0  # seconds
_BRACKET_CHARACTER, _TEXT_CHARACTER = 3e-6, 4e-5  # seconds; the tokenizer looks long at punctuation
_TREE_FIELDS = ("one", "two", "tree", "trees")
_TEXT_FIELDS = ("sentence", "text")


def reading_seconds(fields: Fields) -> float:
    """Return about how many seconds it takes at the most to read the text of a request."""
    return (
        _SHORT_ANSWER
        + _BRACKET_CHARACTER * sum(fields.length(name) for name in _TREE_FIELDS)
        + _TEXT_CHARACTER * sum(fields.length(name) for name in _TEXT_FIELDS)
    )


def request_seconds(question: str, fields: Fields, explorers: Sequence[Explorer]) -> float:
    """Return about how many seconds a request takes; where that cannot be estimated, it is a long one."""
    reading = reading_seconds(fields)
    if question in ("about", "export", "rule", "compare"):
        return reading
    if not explorers or question in ("head", "automaton"):
        return _LONG_ANSWER
    explorer = explorers[fields.whole("model", 0, len(explorers) - 1, 0)]
    if question == "states":
        return _SHORT_ANSWER if explorer.views.is_read(fields.text("symbol")) else _LONG_ANSWER
    if question == "parse":
        models = fields.wholes("models", len(explorers), [0]) or [0]
        decoders = len(fields.texts("decoders", ["max-recall"], len(DECODERS)))
        k = fields.whole("k", 1, MOST_TREES, 1)
        n_words = _typed_words(explorers[models[0]], fields)
        share = sum(explorers[model].expected_seconds(n_words) for model in models)
        return (share + reading) * decoders * (1 + k / 10)
    return reading + sum(map(explorer.expected_seconds, _LENGTHS[question](explorer, fields)))


def _typed_words(explorer: Explorer, fields: Fields) -> int:
    given = fields.text("sentence"), fields.text("input", "auto")
    return read_typed(*given, explorer.scheme, explorer.parser.model.tokenize).n_words


def _text_lengths(explorer: Explorer, fields: Fields) -> Iterable[int]:
    sentences, _ = first_sentences(explorer, fields.text("text"))
    return [len(explorer.words(sentence)) for sentence in sentences]


def _bank_lengths(explorer: Explorer, fields: Fields) -> Iterable[int]:
    if not fields.flag("judge"):
        return []
    return [len(tree.words) for tree in gold_trees(explorer, fields.text("trees"))]


_LENGTHS: dict[str, Callable[[Explorer, Fields], Iterable[int]]] = {
    "node": lambda explorer, fields: [_typed_words(explorer, fields)],
    "dependency": lambda explorer, fields: [_typed_words(explorer, fields)],
    "best_states": lambda explorer, fields: [len(read_tree(fields.text("tree")).words)],
    "text": _text_lengths,
    "bank": _bank_lengths,
}
"""Of requests that parse: how many words each sentence has that they parse."""
