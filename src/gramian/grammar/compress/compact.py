"""The form in which models are written unless asked otherwise: least cells trimmed, rules of low rank."""

from __future__ import annotations

from typing import Any

from gramian.grammar.compress.lowrank import compared, compress
from gramian.grammar.compress.trim import trimmed
from gramian.grammar.lpcfg import LPCFG

_TRIMMED = 0.003  # share of a rule's probability that a compact model does without


def compacted(grammar: LPCFG) -> tuple[LPCFG, dict[str, Any]]:
    """Return a grammar that is small and fast to parse with, and a summary of how far its rules are from those it came from.

    Observable operators come back as they are, with nothing to tell.
    """
    if not grammar.is_probabilistic:
        return grammar, {}
    small = compress(trimmed(grammar, _TRIMMED)).grammar
    return small, compared(grammar, small).summary()
