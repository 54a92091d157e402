"""The form in which models are written unless asked otherwise: least cells trimmed, rules of low rank.

Trimming turns the least cells of rule tensors into zeros, which take one bit in a model file. A rule keeps its probability in every state
of its parent, so that nothing becomes impossible; only its least likely combinations of the children's states go.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from gramian.errors import OptionError
from gramian.grammar.compress.lowrank import compared, compress
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


def trimmed(grammar: LPCFG, share: float = 0.01) -> LPCFG:
    """Return `grammar` without the least cells of its binary rules; observable operators and rules of low rank come back as they are.

    Of each rule in each state of its parent, the cells that go hold at most this share of the probability, and the others take it over.
    """
    if not 0 <= share < 1:
        raise OptionError(f"share must be at least 0 and less than 1, got {share!r}")
    if not grammar.is_probabilistic:
        return grammar
    table = grammar.binary.copy()
    for rule, parent in enumerate(grammar.binary_rules[:, 0].tolist()):
        cells = slice(grammar.binary_start[rule], grammar.binary_start[rule + 1])
        if cells.start == cells.stop:  # held by factors
            continue
        rows = table[cells].reshape(grammar.n_states[parent], -1)
        ascending = np.sort(rows, axis=1)
        below = np.cumsum(ascending, axis=1, dtype=np.float64)
        total = below[:, -1:]
        first_kept = (below <= share * total).sum(axis=1, keepdims=True).clip(max=rows.shape[1] - 1)
        rows = np.where(rows < np.take_along_axis(ascending, first_kept, axis=1), 0, rows)
        kept = rows.sum(axis=1, keepdims=True, dtype=np.float64)
        rows *= np.divide(total, kept, out=np.ones_like(kept), where=kept > 0)
        table[cells] = rows.ravel()
    return replace(grammar, binary=table)
