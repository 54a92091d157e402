"""A grammar as the search for the most probable derivation wants it: logarithms of rules, made once for each grammar."""

from __future__ import annotations

from dataclasses import replace
from threading import Lock
from weakref import finalize

import numpy as np

from gramian.chart import viterbi_kernels as kernels
from gramian.chart.grammar_arrays import GrammarArrays
from gramian.grammar import LPCFG
from gramian.grammar.factors import Factors

_known: dict[int, kernels.LogRules] = {}  # of grammars that live, by their identity
_lock = Lock()


def log_rules(grammar: LPCFG, arrays: GrammarArrays) -> kernels.LogRules:
    """Return the logarithms of a grammar's rules, in the order of its `arrays`.

    The largest sum of products is not found from their parts: only rules of one product stay factors. Whole tensors take four bytes a
    combination of states, as long as the grammar lives.
    """
    with _lock:
        if id(grammar) not in _known:
            _known[id(grammar)] = _made(grammar, arrays)
            finalize(grammar, _known.pop, id(grammar))
        return _known[id(grammar)]


def _made(grammar: LPCFG, arrays: GrammarArrays) -> kernels.LogRules:
    factors = grammar.factors or Factors.none(len(grammar.binary_rules))
    plain = replace(factors, weight=np.ones_like(factors.weight))  # which edges have
    blocks, starts, used = [np.empty(0, np.int32)], np.zeros(len(factors.rank), np.int64), 0
    for place, rule in enumerate(grammar.by_children.tolist()):
        if (rank := factors.rank[rule]) != 1:
            states = grammar.n_states[grammar.binary_rules[rule]]
            block = plain.block(rule, states) if rank else grammar.binary_block(rule)
            blocks.append(kernels.logs(np.array(block).ravel()))
            starts[place], used = used, used + block.size
    return kernels.LogRules(
        np.concatenate(blocks),
        starts,
        arrays.rank == 1,
        kernels.logs(np.array(arrays.factors)),
        arrays.factor_start,
        kernels.logs(np.array(arrays.unary)),
        arrays.unary_start,
    )
