"""Kernel that turns bracket tokens into flat arrays of nodes; words are nodes of their own."""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gramian.kernels import kernel

Ints = npt.NDArray[np.int32]

CLOSE = -1


class NodeArrays(NamedTuple):
    """Nodes of many trees, parents before children; every array has shape (n_nodes,), and -1 means no node."""

    code: Ints  # code of the label or word, see :class:`gramian.treebank.encode.TokenCodes`
    parent: Ints
    previous: Ints  # the sister on the left
    following: Ints  # the sister on the right
    order: Ints  # position among the sisters, from 1
    children: Ints  # number of children
    last: Ints  # number after that of the last descendant
    start: Ints  # first word; words are counted through all trees
    end: Ints  # word after the last one
    tree: Ints


@kernel
def link_nodes(codes, nodes):
    """Fill node arrays from token codes: 2 label opens a phrase, 2 word + 1 is a word, -1 closes; return the number of words."""
    depth_limit = 64
    open_nodes = np.empty(depth_limit, np.int32)
    youngest = np.empty(depth_limit, np.int32)
    depth = node = words = 0
    trees = -1
    for code in codes:
        if code == CLOSE:
            depth -= 1
            closed = open_nodes[depth]
            nodes.last[closed] = node
            nodes.end[closed] = words
            continue
        if depth == 0:
            trees += 1
        nodes.code[node] = code
        nodes.tree[node] = trees
        nodes.start[node] = words
        nodes.following[node] = -1
        nodes.children[node] = 0
        parent = previous = np.int32(-1)
        if depth > 0:
            parent = open_nodes[depth - 1]
            previous = youngest[depth - 1]
            if previous >= 0:
                nodes.following[previous] = node
            youngest[depth - 1] = node
            nodes.children[parent] += 1
        nodes.parent[node] = parent
        nodes.previous[node] = previous
        nodes.order[node] = nodes.children[parent] if depth > 0 else 1
        if code & 1:
            words += 1
            nodes.last[node] = node + 1
            nodes.end[node] = words
        else:
            if depth == depth_limit:
                depth_limit *= 2
                open_nodes = np.append(open_nodes, open_nodes)
                youngest = np.append(youngest, youngest)
            open_nodes[depth] = node
            youngest[depth] = -1
            depth += 1
        node += 1
    return words
