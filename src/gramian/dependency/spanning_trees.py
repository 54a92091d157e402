"""The maximum spanning tree of arcs, whether or not arcs cross (Chu & Liu 1965, Edmonds 1967; McDonald et al. 2005)."""

import numpy as np

from gramian.dependency.split_head_automata import Array, Symbols

_FORBIDDEN = -1e9


def maximum_spanning_tree(scores: Array, *, single_root: bool = True) -> Symbols:
    """Return the head of each word in the tree with the largest sum of ``scores[head, modifier]``.

    Examples
    --------
    >>> scores = np.zeros((4, 4))
    >>> scores[0, 2] = scores[2, 1] = scores[1, 3] = 1.0
    >>> maximum_spanning_tree(scores).tolist()
    [2, 0, 1]
    """
    scores = np.maximum(scores, _FORBIDDEN)
    if single_root:
        # A penalty above all differences of scores leaves as few words as possible, one, at the root.
        finite = scores[:, 1:][scores[:, 1:] > _FORBIDDEN]
        spread = np.ptp(finite) if finite.size else 0.0
        scores[0] = np.where(scores[0] > _FORBIDDEN, scores[0] - len(scores) * (1.0 + spread), _FORBIDDEN)
    np.fill_diagonal(scores, -np.inf)
    return _tree(scores)[1:].astype(np.int32)


def _tree(scores: Array) -> Symbols:
    """Return the best head of each node but the first, the root: the best arcs, of whose cycles each is contracted to a node."""
    heads = scores.argmax(axis=0)
    heads[0] = -1
    cycle = _cycle(heads)
    if not len(cycle):
        return heads
    outside = np.setdiff1d(np.arange(len(scores)), cycle)
    # An arc into the cycle replaces the arc of the node that it enters.
    entering = scores[np.ix_(outside, cycle)] - scores[heads[cycle], cycle]
    leaving = scores[np.ix_(cycle, outside)]
    size = len(outside)
    contracted = np.full((size + 1, size + 1), -np.inf)
    contracted[:size, :size] = scores[np.ix_(outside, outside)]
    contracted[:size, size] = entering.max(axis=1)
    contracted[size, :size] = leaving.max(axis=0)
    inner = _tree(contracted)
    for node, head in enumerate(inner[:size].tolist()):
        if head == size:
            heads[outside[node]] = cycle[leaving[:, node].argmax()]
        elif node:
            heads[outside[node]] = outside[head]
    entry = inner[size]
    heads[cycle[entering[entry].argmax()]] = outside[entry]
    return heads


def _cycle(heads: Symbols) -> Symbols:
    """Return the nodes of a cycle; none if there is no cycle."""
    state = np.zeros(len(heads), np.int64)  # the node from which a node was reached first, plus one
    for start in range(1, len(heads)):
        node = start
        while node > 0 and not state[node]:
            state[node] = start
            node = heads[node]
        if node > 0 and state[node] == start:
            nodes = [node]
            while heads[nodes[-1]] != node:
                nodes.append(int(heads[nodes[-1]]))
            return np.asarray(nodes)
    return np.zeros(0, np.int64)
