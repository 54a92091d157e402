"""Which requests may take long. They are told from short ones by their characters alone, since to count words takes time itself."""

from __future__ import annotations

from collections.abc import Sequence

from gramian.chart.decode import DECODERS
from gramian.web.explore import Explorer
from gramian.web.fields import Fields
from gramian.web.readings import CANDIDATES

MOST_TREES = 20
"""Of the best ones of a sentence."""

_SHORT = 0.25  # seconds
_MOST_CHARACTERS = 6000  # of a request that is tokenized or read in this time
_WORD = 2  # characters, so that estimates are rather too high


def is_long(request: str, fields: Fields, explorers: Sequence[Explorer]) -> bool:
    """Return whether a request may take longer than a moment."""
    n_characters = fields.n_characters()
    if n_characters > _MOST_CHARACTERS or request in ("head", "automaton"):
        return True
    if request in ("about", "export", "rule", "compare"):
        return False
    if request.startswith("annotat"):
        return request in ("annotate_next", "annotate_add")
    if not explorers:
        return True
    model = fields.whole("model", 0, len(explorers) - 1, 0)
    if request == "states":
        return not explorers[model].views.is_read(fields.text("symbol"))
    if request == "bank" and not fields.flag("judge"):
        return False
    models, factor = [model], 1.0
    if request == "parse":
        models = fields.wholes("models", len(explorers), [0])
        k = CANDIDATES if fields.flag("readings") else fields.whole("k", 1, MOST_TREES, 1)
        factor = len(fields.texts("decoders", ["max-recall"], len(DECODERS))) * (1 + k / 10)
    n_words = n_characters // _WORD
    return factor * sum(explorers[number].expected_seconds(n_words) for number in models) > _SHORT
