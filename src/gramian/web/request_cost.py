"""How long a question will take to answer, foretold from what it says, without much work.

The gate goes by it: short questions are answered first, so that nobody who types a sentence waits for a treebank.
"""

from __future__ import annotations

from collections.abc import Sequence

from gramian.chart.decode import DECODERS
from gramian.web.explore import Explorer
from gramian.web.fields import Fields
from gramian.web.many_trees import MOST_SENTENCES

MOST_TREES = 20
"""Of the best ones of a sentence."""

_SHORT_ANSWER, _LONG_ANSWER, _A_CHARACTER = 0.01, 1.0, 3e-6  # seconds
_LONG_SENTENCE = 40  # words
_FIRST_IDEOGRAM = "\u2e80"  # such scripts have no spaces, and words of two characters or so


def question_seconds(question: str, fields: Fields, explorers: Sequence[Explorer]) -> float:
    """Return about how many seconds a question takes; one that parses nothing is short, or long where that cannot be told."""
    if question in ("about", "export", "rule"):
        return _SHORT_ANSWER
    if question == "compare":
        return _SHORT_ANSWER + _A_CHARACTER * (len(fields.text("one")) + len(fields.text("two")))
    if not explorers or question not in _READ:
        return _LONG_ANSWER
    explorer = explorers[fields.whole("model", 0, len(explorers) - 1, 0)]
    if question == "states":
        return _SHORT_ANSWER if explorer.views.is_read(fields.text("symbol")) else _LONG_ANSWER
    text = fields.text(_READ[question])
    reading = _A_CHARACTER * len(text)
    if question == "text":
        return reading + _many_seconds(explorer, _words(text))
    if question == "bank":
        leaves = text.count("(") // 2  # there is a phrase a word, more or less
        return reading + (_many_seconds(explorer, leaves) if fields.flag("judge") else 0.0)
    if question == "best_states":
        return reading + explorer.expected_seconds(text.count("(") // 2)
    words = _words(text)
    if question != "parse":
        return reading + explorer.expected_seconds(words)
    models = fields.wholes("models", len(explorers), [0])
    decoders = len(fields.texts("decoders", ["max-recall"], len(DECODERS)))
    k = fields.whole("k", 1, MOST_TREES, 1)
    share = sum(explorers[model].expected_seconds(words) for model in models)
    return (share + reading) * decoders * (1 + k / 10)


_READ = {
    "parse": "sentence",
    "node": "sentence",
    "dependency": "sentence",
    "text": "text",
    "bank": "trees",
    "best_states": "tree",
    "states": "symbol",
}
"""Questions, and the field that says how long they are."""


def _words(text: str) -> int:
    return 1 + text.count(" ") + sum(character >= _FIRST_IDEOGRAM for character in text) // 2


def _many_seconds(explorer: Explorer, n_words: int) -> float:
    """Return about how long the sentences of one answer take, if they are long ones."""
    n_words = min(n_words, MOST_SENTENCES * _LONG_SENTENCE)
    length = min(n_words, _LONG_SENTENCE)
    return explorer.expected_seconds(length) * n_words / max(1, length)
