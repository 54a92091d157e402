"""Trees with states: the most probable derivation, random trees, and the probability of a tree.

These need the rule tensors, whereas other decoders need posteriors only. A derivation's weight is a product
along the edges of the forest, so that what pruning left out has no probability.
"""

from collections.abc import Sequence
from dataclasses import replace
from threading import Lock
from weakref import finalize

import numpy as np
import numpy.typing as npt

from gramian.chart import derivation_kernels as kernels
from gramian.chart import viterbi_kernels
from gramian.chart.forest import Forest, cell_number, cell_spans
from gramian.chart.grammar_arrays import GrammarArrays
from gramian.chart.tree_arrays import Decoded
from gramian.grammar import LPCFG
from gramian.grammar.lpcfg import Factors

_log_rules_of: dict[int, viterbi_kernels.LogRules] = {}  # by the identity of grammars in memory
_lock = Lock()


def viterbi(forest: Forest) -> Decoded | None:
    """Return the most probable derivation with its states; its score is its log-posterior given the sentence.

    None if no derivation has a probability. Of several grammars it is that of the one whose states the forest has.
    """
    edges, rules = _edges(forest), _log_rules(forest.grammar, forest.arrays)
    best, scale, root, state, score = viterbi_kernels.best_states(
        forest.grammar.n_phrases, edges, rules, forest.arrays
    )
    if root < 0:
        return None
    nodes = viterbi_kernels.best_derivation(forest.n_words, root, state, best, scale, edges, rules)
    return Decoded(nodes[0], nodes[1], score / viterbi_kernels.UNIT * np.log(2), nodes[2])


def sample(forest: Forest, size: int, random_state: int | np.random.Generator) -> list[Decoded]:
    """Draw trees from their posterior given the sentence, with states.

    A sample's score is the log-posterior of its tree, summed over states. Of models with negative weights the
    absolute values are drawn from; of several grammars, the one whose states the forest has.
    """
    rng = np.random.default_rng(random_state)
    forest = forest.members[0] if forest.members else forest
    edges = _edges(forest)
    values = forest.inside.astype(np.float64)
    drawn = []
    for _ in range(size):
        uniforms = rng.random(3 * forest.n_words + 1)
        root, state = kernels.sampled_root(uniforms[-1], edges, forest.arrays)
        nodes = kernels.sampled_derivation(
            forest.n_words, root, state, values, uniforms, edges, forest.arrays
        )
        score = kernels.tree_log_posterior(nodes[0], nodes[1], edges, forest.arrays)
        drawn.append(Decoded(nodes[0], nodes[1], score, nodes[2]))
    return drawn


def log_posteriors(forest: Forest, trees: Sequence[Decoded]) -> list[float]:
    """Return the log-posterior of each tree given the sentence under the forest's own grammar, summed over its states."""
    edges = _edges(forest)
    return [kernels.tree_log_posterior(tree.items, tree.edges, edges, forest.arrays) for tree in trees]


def log_probabilities(forest: Forest, trees: Sequence[Decoded], log_words: float = 0.0) -> list[float]:
    """Return the log-probability of each tree with its words, summed over its states; `log_words` is that of the words themselves.

    Of several grammars it is that of their mixture, in which all that give the sentence a probability count the same. In those of another
    binarisation, a tree has the probability of all its binarised forms.
    """
    if not forest.members:
        return [forest.log_ratio + log_words + value for value in log_posteriors(forest, trees)]
    logs = []
    for member in forest.members:
        if member.edge_left is forest.edge_left:
            values = log_posteriors(member, trees)
        else:
            values = [_log_posterior_elsewhere(forest, tree, member) for tree in trees]
        logs.append(member.log_ratio + log_words + np.array(values))
    mixture: list[float] = (np.logaddexp.reduce(logs, axis=0) - np.log(len(logs))).tolist()
    return mixture


def _log_posterior_elsewhere(forest: Forest, tree: Decoded, other: Forest) -> float:
    """Return the log-posterior of a tree in the forest of another binarisation, summed over its forms there."""
    names, theirs = forest.labels.bottom_up, other.labels.bottom_up
    chains: dict[tuple[str, ...], int] = {}  # labels of the tree's nodes, numbered
    # Of each span, the chain of its phrase and that of its tag.
    wanted = np.full((2, forest.n_words * (forest.n_words + 1) // 2), -1)
    for item in tree.items.tolist():
        symbol = forest.item_symbol[item]
        if names[symbol]:
            kind = int(symbol >= forest.grammar.n_phrases)
            wanted[kind, forest.item_cell[item]] = chains.setdefault(names[symbol], len(chains))
    is_part = np.zeros(wanted.shape[1], np.bool_)
    is_part[_cells_of_parts(forest, np.flatnonzero((wanted >= 0).any(axis=0)))] = True
    symbol, cell = other.item_symbol, other.item_cell
    is_tag = (symbol >= other.grammar.n_phrases).astype(np.int64)
    number = np.array([chains.get(chain, -2) for chain in theirs])
    is_inner = np.array([not chain for chain in theirs])
    kept = np.where(is_inner[symbol], is_part[cell], wanted[is_tag, cell] == number[symbol])
    # A tag under a phrase of one word stands beside nothing.
    beside = kept & ((is_tag == 0) | (wanted[0, cell] < 0))
    left, right = other.edge_left, other.edge_right
    usable = np.where(right < 0, kept[left], beside[left] & beside[right])
    usable &= np.repeat(kept, np.diff(other.edge_first))
    value: float = kernels.kept_log_posterior(
        usable, beside, other.grammar.n_phrases, _edges(other), other.arrays
    )
    return value


def _cells_of_parts(forest: Forest, cells: npt.NDArray[np.int64]) -> list[int]:
    """Return the numbers of the spans of two or more, but not all, children of a node; `cells` are those of all nodes."""
    begin, end = (bounds[cells].tolist() for bounds in cell_spans(forest.n_words))
    spans = sorted(zip(begin, end, strict=True), key=lambda span: (span[0], -span[1]))
    children: dict[tuple[int, int], list[tuple[int, int]]] = {}
    above: list[tuple[int, int]] = []
    for span in spans:
        while above and above[-1][1] <= span[0]:
            above.pop()
        if above:
            children.setdefault(above[-1], []).append(span)
        above.append(span)
    return [
        cell_number(below[first][0], below[last][1], forest.n_words)
        for below in children.values()
        for first in range(len(below))
        for last in range(first + 1, len(below))
        if last - first + 1 < len(below)
    ]


def _edges(forest: Forest) -> kernels.Edges:
    return kernels.Edges(
        forest.item_symbol,
        forest.item_start,
        forest.inside,
        forest.root_posterior,
        forest.edge_first,
        forest.edge_left,
        forest.edge_right,
        forest.edge_rule,
        forest.edge_weight,
    )


def _log_rules(grammar: LPCFG, arrays: GrammarArrays) -> viterbi_kernels.LogRules:
    """Return the logarithms of a grammar's rules, in the order of its `arrays`; they are made once and kept as long as the grammar.

    The largest sum of products is not found from their parts: only rules of one product stay factors.
    """
    with _lock:
        if id(grammar) not in _log_rules_of:
            _log_rules_of[id(grammar)] = _make_log_rules(grammar, arrays)
            finalize(grammar, _log_rules_of.pop, id(grammar))
        return _log_rules_of[id(grammar)]


def _make_log_rules(grammar: LPCFG, arrays: GrammarArrays) -> viterbi_kernels.LogRules:
    factors = grammar.factors or Factors.none(len(grammar.binary_rules))
    plain = replace(factors, weight=np.ones_like(factors.weight))  # which edges have
    blocks, starts, used = [np.empty(0, np.int32)], np.zeros(len(factors.rank), np.int64), 0
    for index, rule in enumerate(grammar.by_children.tolist()):
        if (rank := factors.rank[rule]) != 1:
            states = grammar.n_states[grammar.binary_rules[rule]]
            block = plain.block(rule, states) if rank else grammar.binary_block(rule)
            blocks.append(viterbi_kernels.logs(np.array(block).ravel()))
            starts[index], used = used, used + block.size
    return viterbi_kernels.LogRules(
        np.concatenate(blocks),
        starts,
        arrays.rank == 1,
        viterbi_kernels.logs(np.array(arrays.factors)),
        arrays.factor_start,
        viterbi_kernels.logs(np.array(arrays.unary)),
        arrays.unary_start,
    )
