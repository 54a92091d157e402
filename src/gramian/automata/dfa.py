"""A small deterministic automaton that shows what a learnt one has found (Balle et al. 2014, section 7.3).

State vectors of prefixes are clustered by group-average linkage of cosines; clusters are states, strings draw the
transitions between them, and targets of one symbol are merged until the automaton is deterministic. Probabilities are relative
frequencies of the moves. There are two ways:

``published``  The most frequent prefixes alone are clustered and draw transitions, and all targets of a symbol are merged. Strings that
               leave these transitions are not followed further.
``own``        All strings draw transitions, clusters of outliers do not count, and a target of few of the moves does not force a merge: its
               moves are redirected to the most frequent target. More states are left, and all strings can be followed.

The automaton comes with the share of moves that go elsewhere than the model's own state vectors.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from gramian.automata.pdfa import PDFA
from gramian.automata.sequence_model import SequenceModel
from gramian.automata.sequences import Array, Sequences
from gramian.automata.weighted_automaton import WFA
from gramian.errors import OptionError
from gramian.value_types import OneOf, check_value

Ints = npt.NDArray[np.int64]
Way = Literal["own", "published"]

_MOST_NUMBERS = 1 << 25  # of all prefixes together
_DRAWN, _LONGEST = 5000, 1000  # strings of a model's own, and their symbols
_LEAST_SHARE = 0.01  # of all prefixes in a cluster that becomes a state


@dataclass(frozen=True, eq=False)
class DFAApproximation:
    """A deterministic automaton, and how faithful it is."""

    machine: PDFA
    merged: int  #: how many clusters were merged into others
    #: share of the strings' moves that go to another state than that of the state vector they lead to
    redirected: float
    uncovered: float  #: share of the strings' moves for which there is no transition

    def __str__(self) -> str:
        summary = f"{self.machine.n_states} states, {self.merged} merged, {100 * self.redirected:.1f} % of moves redirected"
        return f"{summary}, {100 * self.uncovered:.1f} % without a transition"


class _Prefixes(NamedTuple):
    """The distinct prefixes of some strings, the empty one first, parents before children."""

    of_cut: Ints  # the prefix of every cut
    parent: Ints
    symbol: Ints  # the last symbol
    times: Array  # in how many strings


def typical_strings(model: SequenceModel) -> Sequences:
    """Draw strings to approximate a model by: 5,000, or as many as can be looked at if they are long or the alphabet is large.

    Examples
    --------
    >>> coin = WFA([1.0], [0.5], [[[0.5]]], ("a",))
    >>> len(typical_strings(coin))
    5000
    """
    pilot = model.sample(50, max_length=_LONGEST)
    max_prefixes = _MOST_NUMBERS // 4 // _columns(model)
    return model.sample(min(_DRAWN, max(1, 50 * max_prefixes // max(1, pilot.n_cuts))), max_length=_LONGEST)


def _columns(model: SequenceModel) -> int:
    """Return how many numbers say what a prefix is to a model."""
    return model.n_states if isinstance(model, WFA) else len(model.alphabet) + 1


def dfa_approximation(
    model: SequenceModel,
    sample: Sequences,
    n_clusters: int = 10,
    *,
    way: Way = "own",
    n_prefixes: int = 1000,
    minimum_share: float = 0.5,
) -> DFAApproximation:
    """Return a deterministic automaton with at most `n_clusters` states that behaves much as `model` does.

    Parameters
    ----------
    model : SequenceModel
        A weighted automaton gives its state vectors; any other model, its predictions after each prefix.
    sample : Sequences
        Strings that draw the transitions, over the model's alphabet.
    n_clusters : int
        Clusters before merging.
    way : {"own", "published"}
        What draws transitions, and what is merged; see :mod:`gramian.automata.dfa`.
    n_prefixes : int
        How many frequent prefixes are clustered; all others join the nearest cluster.
    minimum_share : float
        With ``own``: a target of less than this share of a state's moves with a symbol does not force a merge; such moves are counted for
        the most frequent target.

    Examples
    --------
    >>> from gramian.automata.pnfa_em import PNFAEM
    >>> sample = Sequences.from_strings(["ab" * (i % 4) for i in range(100)])
    >>> learnt = PNFAEM(2, random_state=1).fit(sample)
    >>> found = dfa_approximation(learnt.model_, sample, 2, way="published")
    >>> found.machine.successor
    array([[ 1, -1],
           [-1,  0]], dtype=int32)
    >>> print(found)
    2 states, 0 merged, 0.0 % of moves redirected, 0.0 % without a transition
    """
    if n_clusters < 1 or len(sample) == 0:
        raise OptionError("DFA approximation: needs at least one cluster and one string; try: n_clusters=10")
    check_value("way", way, OneOf("own", "published"))
    strings = sample.recode(model.alphabet)
    usable = [
        number
        for number, string in enumerate(np.split(strings.symbols, strings.offsets[1:-1]))
        if (string >= 0).all()
    ]
    if not usable:
        raise OptionError(
            "DFA approximation: all strings have symbols that the model lacks; try: strings of its own"
        )
    distinct, weights = strings.take(usable).distinct()
    if distinct.n_cuts * _columns(model) > _MOST_NUMBERS:
        size = f"{distinct.n_cuts:,} prefixes of {_columns(model):,} numbers each are more than {_MOST_NUMBERS:,}"
        raise OptionError(f"DFA approximation: {size}; try: fewer or shorter strings")
    vectors = model.state_vectors(distinct) if isinstance(model, WFA) else model.next_scores(distinct)
    unit = _unit(vectors)
    source_cuts, move_weights = distinct.inner_cuts, np.repeat(weights, distinct.lengths)
    moves_drawn: tuple[Ints, npt.NDArray[np.signedinteger], Ints, Array]
    if way == "own":
        cluster = _clusters(unit, distinct, weights, n_clusters, n_prefixes)
        moves_drawn = cluster[source_cuts], distinct.symbols, cluster[source_cuts + 1], move_weights
    else:
        prefixes = _distinct_prefixes(distinct, weights)
        cluster, moves_drawn = _clusters_of_frequent(unit, prefixes, n_clusters, n_prefixes)
        minimum_share = 0.0
    n = int(cluster.max()) + 1
    moves = np.zeros((n, len(model.alphabet), n))
    np.add.at(moves, moves_drawn[:3], moves_drawn[3])
    moves, name = _made_deterministic(moves, minimum_share)
    successor = np.where(moves.sum(axis=2) > 0, moves.argmax(axis=2), -1)
    start = int(name[cluster[0]])
    states = name[cluster]
    target = successor[states[source_cuts], distinct.symbols]
    total = max(float(move_weights.sum()), 1.0)
    redirected = float(move_weights[(target >= 0) & (target != states[source_cuts + 1])].sum()) / total
    uncovered = float(move_weights[target < 0].sum()) / total
    skeleton = PDFA(successor, np.zeros((len(successor), len(model.alphabet) + 1)), model.alphabet)
    if way == "published":  # strings are followed as far as they go
        swapped = skeleton.started_at(start)
        states = np.asarray(swapped.states(distinct), np.int64)
        states = np.where(states == 0, start, np.where(states == start, 0, states))
    machine = _reachable(_counted(skeleton, states, distinct, weights).started_at(start))
    return DFAApproximation(machine, int(n - len(successor)), redirected, uncovered)


def _unit(vectors: Array) -> Array:
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-300))


def _distinct_prefixes(distinct: Sequences, weights: Array) -> _Prefixes:
    """Number the prefixes of strings."""
    number: dict[tuple[int, int], int] = {}
    parent, symbol = [-1], [-1]
    of_cut = np.zeros(distinct.n_cuts, np.int64)
    cut = 0
    for first, last in zip(distinct.offsets[:-1].tolist(), distinct.offsets[1:].tolist(), strict=True):
        node, cut = 0, cut + 1
        for last_symbol in distinct.symbols[first:last].tolist():
            child = number.setdefault((node, last_symbol), len(parent))
            if child == len(parent):
                parent.append(node)
                symbol.append(last_symbol)
            node = of_cut[cut] = child
            cut += 1
    times = np.bincount(of_cut, np.repeat(weights, distinct.lengths + 1), len(parent)).astype(np.float64)
    return _Prefixes(of_cut, np.array(parent), np.array(symbol), times)


def _clusters_of_frequent(
    unit: Array, prefixes: _Prefixes, n_clusters: int, n_prefixes: int
) -> tuple[Ints, tuple[Ints, Ints, Ints, Array]]:
    """Return a cluster for every cut, the nearest, and the moves between frequent prefixes."""
    frequent = np.sort(np.argsort(-prefixes.times, kind="stable")[:n_prefixes])  # parents are as frequent
    first = np.unique(prefixes.of_cut, return_index=True)[1]
    points = unit[first[frequent]]
    label = group_average(points, n_clusters)
    centres = np.zeros((int(label.max()) + 1, points.shape[1]))
    np.add.at(centres, label, points)
    nearest = (unit @ _unit(centres).T).argmax(axis=1)
    cluster_of_prefix = np.full(len(prefixes.parent), -1)
    cluster_of_prefix[frequent] = label
    cut_cluster = cluster_of_prefix[prefixes.of_cut]
    inner = frequent[frequent > 0]
    moves = (
        cluster_of_prefix[prefixes.parent[inner]],
        prefixes.symbol[inner],
        cluster_of_prefix[inner],
        prefixes.times[inner],
    )
    return np.where(cut_cluster >= 0, cut_cluster, nearest), moves


def group_average(points: Array, n_clusters: int) -> Ints:
    """Cluster unit vectors by group-average linkage: merge the pair whose union has the largest mean similarity of different members.

    With s the sum and N the number of the members of a union, that mean is ``(s.s - N) / (N (N - 1))`` (Manning, Raghavan and Schütze 2008,
    section 17.3): pairs within the two clusters count too, which average linkage leaves out.

    Examples
    --------
    >>> group_average(np.array([[1.0, 0.0], [0.0, 1.0], [0.8, 0.6], [0.0, 1.0]]), 2)
    array([0, 1, 0, 1])
    """
    n = len(points)
    products = points @ points.T  # of the clusters' sums
    sizes = np.ones(n)
    label = np.arange(n)
    alive = np.ones(n, bool)

    def similarities(row: int) -> Array:
        """Return the mean similarity of a cluster's union with each other one."""
        total = sizes[row] + sizes
        inner = products[row, row] + np.diagonal(products) + 2.0 * products[row] - total
        return np.asarray(np.where(alive & (np.arange(n) != row), inner / (total * (total - 1.0)), -np.inf))

    table = np.array([similarities(row) for row in range(n)]).reshape(n, n)
    for _ in range(n - n_clusters):
        keep, drop = sorted(divmod(int(table.argmax()), n))
        products[keep] += products[drop]
        products[:, keep] += products[:, drop]
        sizes[keep] += sizes[drop]
        alive[drop] = False
        label[label == drop] = keep
        table[drop], table[:, drop] = -np.inf, -np.inf
        table[keep] = table[:, keep] = similarities(keep)
    return np.unique(label, return_inverse=True)[1].astype(np.int64)


def _clusters(unit: Array, distinct: Sequences, weights: Array, n_clusters: int, n_prefixes: int) -> Ints:
    """Return a cluster for every prefix of every string."""
    from scipy.cluster.hierarchy import fcluster, linkage

    # Equal prefixes have equal vectors; the first string in order that has a prefix stands for all.
    points, point_of_cut = np.unique(unit.round(9), axis=0, return_inverse=True)
    point_of_cut = point_of_cut.ravel()
    count = np.bincount(point_of_cut, np.repeat(weights, distinct.lengths + 1), len(points))
    frequent = np.argsort(-count, kind="stable")[:n_prefixes]
    if len(frequent) <= n_clusters:
        label = np.arange(len(frequent))
        large_clusters = label
    else:
        tree = linkage(points[frequent], "average", "cosine")
        # Outliers make clusters of their own: cut the tree lower until enough clusters matter.
        for number in range(n_clusters, min(10 * n_clusters, len(frequent)) + 1):
            label = fcluster(tree, number, "maxclust") - 1
            share = np.bincount(label, count[frequent]) / count[frequent].sum()
            if np.count_nonzero(share >= _LEAST_SHARE) >= n_clusters:
                break
        large_clusters = np.sort(np.argsort(-share, kind="stable")[:n_clusters])
    centres = np.zeros((int(label.max()) + 1, points.shape[1]))
    np.add.at(centres, label, points[frequent] * count[frequent, None])
    nearest = (points @ _unit(centres[large_clusters]).T).argmax(axis=1)
    return np.asarray(nearest[point_of_cut], np.int64)


def _made_deterministic(moves: Array, minimum_share: float) -> tuple[Array, Ints]:
    """Merge states that are targets of one state and symbol, until there are none; return also the new state of each old one."""
    final = np.arange(len(moves))
    while True:
        total = moves.sum(axis=2, keepdims=True)
        heavy = (moves >= minimum_share * total) & (moves > 0)
        several = np.argwhere(heavy.sum(axis=2) > 1)
        if len(several) == 0:
            return moves, final
        # The pair that carries most moves first, since a merge may settle the others.
        state, symbol = several[total[several[:, 0], several[:, 1], 0].argmax()]
        keep, drop = sorted(np.argsort(-moves[state, symbol], kind="stable")[:2].tolist())
        name = np.arange(len(moves))
        name[drop] = keep
        name[name > drop] -= 1
        member = np.eye(len(moves) - 1)[name]  # old state by new state
        moves = np.einsum("an,asb,bm->nsm", member, moves, member)
        final = name[final]


def _counted(blank: PDFA, states: Ints, distinct: Sequences, weights: Array) -> PDFA:
    """Return an automaton with probabilities, given the state of every cut, -1 for none: how often each move and stop is used."""
    n, k = blank.successor.shape
    table = np.zeros((n, k + 1))
    before, after = states[distinct.inner_cuts], states[distinct.inner_cuts + 1]
    able = (before >= 0) & (after >= 0)
    np.add.at(table, (before[able], distinct.symbols[able]), np.repeat(weights, distinct.lengths)[able])
    last = states[distinct.last_cuts]
    np.add.at(table[:, k], last[last >= 0], weights[last >= 0])
    table[table.sum(axis=1) == 0, -1] = 1.0
    used = np.where(table[:, :k] > 0, blank.successor, -1)
    return PDFA(used, table / table.sum(axis=1, keepdims=True), blank.alphabet)


def _reachable(machine: PDFA) -> PDFA:
    """Drop the states that no string reaches."""
    reached, frontier = [0], [0]
    while frontier:
        after = {int(target) for target in machine.successor[frontier].ravel() if target >= 0}
        frontier = sorted(after - set(reached))
        reached += frontier
    number = np.full(machine.n_states + 1, -1)
    number[reached] = np.arange(len(reached))
    return PDFA(number[machine.successor[reached]], machine.probability[reached], machine.alphabet)
