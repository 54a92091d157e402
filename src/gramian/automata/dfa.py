"""A small deterministic automaton that shows what a learnt one has found (Balle et al. 2014, section 7).

The state vectors of frequent prefixes are clustered by group-average linkage under cosine distance; clusters
are states, the training strings draw the transitions between them, and targets of one symbol are merged until
the automaton is deterministic. Probabilities are relative frequencies of the moves.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gramian.automata.pdfa import PDFA
from gramian.automata.sequence_model import SequenceModel
from gramian.automata.strings import Array, Sequences
from gramian.automata.wfa import WFA
from gramian.errors import OptionError

Ints = npt.NDArray[np.int64]

_MOST_NUMBERS = 1 << 25  # of all prefixes together
_DRAWN, _LONGEST = 5000, 1000  # strings of a model's own, and their symbols
_LEAST_SHARE = 0.01  # of all prefixes in a cluster that becomes a state


def typical_strings(model: SequenceModel) -> Sequences:
    """Draw strings to approximate a model by: 5,000, or as many as can be looked at if they are long or the alphabet is large.

    Examples
    --------
    >>> coin = WFA([1.0], [0.5], [[[0.5]]], ("a",))
    >>> len(typical_strings(coin))
    5000
    """
    few = model.sample(50, max_length=_LONGEST)
    room = _MOST_NUMBERS // 4 // _columns(model)
    return model.sample(min(_DRAWN, max(1, 50 * room // max(1, few.n_cuts))), max_length=_LONGEST)


def _columns(model: SequenceModel) -> int:
    """Return how many numbers say what a prefix is to a model."""
    return model.n_states if isinstance(model, WFA) else len(model.alphabet) + 1


def dfa_approximation(
    model: SequenceModel,
    sample: Sequences,
    n_clusters: int = 10,
    *,
    n_prefixes: int = 1000,
    minimum_share: float = 0.5,
) -> PDFA:
    """Return a deterministic automaton with at most `n_clusters` states that behaves much as `model` does.

    Parameters
    ----------
    model : SequenceModel
        A weighted automaton gives its state vectors; any other model, its predictions after each prefix.
    sample : Sequences
        Strings that draw the transitions, over the model's alphabet.
    n_clusters : int
        Clusters before merging.
    n_prefixes : int
        How many frequent prefixes are clustered; all others join the nearest cluster.
    minimum_share : float
        A target of less than this share of a state's moves with a symbol does not force a merge; such moves are counted for the most
        frequent target. 0 merges all targets, as published: of automata that learnt natural language little is then left.

    Examples
    --------
    >>> from gramian.automata.pnfa_em import PNFAEM
    >>> sample = Sequences.from_strings(["ab" * (i % 4) for i in range(100)])
    >>> learnt = PNFAEM(2, random_state=1).fit(sample)
    >>> dfa_approximation(learnt.model_, sample, 2).successor
    array([[ 1, -1],
           [-1,  0]], dtype=int32)
    """
    if n_clusters < 1 or len(sample) == 0:
        raise OptionError("DFA approximation: needs at least one cluster and one string; try: n_clusters=10")
    distinct, weights = sample.recode(model.alphabet).distinct()
    if distinct.n_cuts * _columns(model) > _MOST_NUMBERS:
        what = f"{distinct.n_cuts:,} prefixes of {_columns(model):,} numbers each are more than {_MOST_NUMBERS:,}"
        raise OptionError(f"DFA approximation: {what}; try: fewer or shorter strings")
    vectors = model.state_vectors(distinct) if isinstance(model, WFA) else model.next_scores(distinct)
    cluster = _clusters(_unit(vectors), distinct, weights, n_clusters, n_prefixes)
    k = len(model.alphabet)
    before = distinct.inner_cuts
    n = int(cluster.max()) + 1
    moves = np.zeros((n, k, n))
    share = np.repeat(weights, distinct.lengths)
    np.add.at(moves, (cluster[before], distinct.symbols, cluster[before + 1]), share)
    stops = np.bincount(cluster[distinct.last_cuts], weights, n).astype(np.float64)
    moves, stops, start = _made_deterministic(moves, stops, int(cluster[0]), minimum_share)
    used = moves.sum(axis=2)
    successor = np.where(used > 0, moves.argmax(axis=2), -1)
    table = np.column_stack([used, stops])
    table[table.sum(axis=1) == 0, -1] = 1.0
    machine = PDFA(successor, table / table.sum(axis=1, keepdims=True), model.alphabet).started_at(start)
    return _reachable(machine)


def _unit(vectors: Array) -> Array:
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-300))


def _clusters(unit: Array, distinct: Sequences, weights: Array, n_clusters: int, n_prefixes: int) -> Ints:
    """Return a cluster for every prefix of every string."""
    from scipy.cluster.hierarchy import fcluster, linkage

    # Equal prefixes have equal vectors; the first string in order that has a prefix stands for all.
    points, place = np.unique(unit.round(9), axis=0, return_inverse=True)
    place = place.ravel()
    count = np.bincount(place, np.repeat(weights, distinct.lengths + 1), len(points))
    frequent = np.argsort(-count, kind="stable")[:n_prefixes]
    if len(frequent) <= n_clusters:
        label = np.arange(len(frequent))
        kept = label
    else:
        tree = linkage(points[frequent], "average", "cosine")
        # Outliers make clusters of their own: cut the tree lower until enough clusters matter.
        for number in range(n_clusters, min(10 * n_clusters, len(frequent)) + 1):
            label = fcluster(tree, number, "maxclust") - 1
            share = np.bincount(label, count[frequent]) / count[frequent].sum()
            if np.count_nonzero(share >= _LEAST_SHARE) >= n_clusters:
                break
        kept = np.sort(np.argsort(-share, kind="stable")[:n_clusters])
    centres = np.zeros((int(label.max()) + 1, points.shape[1]))
    np.add.at(centres, label, points[frequent] * count[frequent, None])
    nearest = (points @ _unit(centres[kept]).T).argmax(axis=1)
    return np.asarray(nearest[place], np.int64)


def _made_deterministic(
    moves: Array, stops: Array, start: int, minimum_share: float
) -> tuple[Array, Array, int]:
    """Merge states that are targets of one state and symbol, until there are none."""
    while True:
        total = moves.sum(axis=2, keepdims=True)
        heavy = moves >= minimum_share * total
        several = np.argwhere((heavy & (moves > 0)).sum(axis=2) > 1)
        if len(several) == 0:
            return moves, stops, start
        # The pair that carries most moves first, since a merge may settle the others.
        state, symbol = several[total[several[:, 0], several[:, 1], 0].argmax()]
        keep, drop = sorted(np.argsort(-moves[state, symbol], kind="stable")[:2].tolist())
        name = np.arange(len(stops))
        name[drop] = keep
        name[name > drop] -= 1
        member = np.eye(len(stops) - 1)[name]  # old state by new state
        moves = np.einsum("an,asb,bm->nsm", member, moves, member)
        stops, start = stops @ member, int(name[start])


def _reachable(machine: PDFA) -> PDFA:
    """Drop the states that no string reaches."""
    seen, frontier = [0], [0]
    while frontier:
        after = {int(target) for target in machine.successor[frontier].ravel() if target >= 0}
        frontier = sorted(after - set(seen))
        seen += frontier
    number = np.full(machine.n_states + 1, -1)
    number[seen] = np.arange(len(seen))
    return PDFA(number[machine.successor[seen]], machine.probability[seen], machine.alphabet)
