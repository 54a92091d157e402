"""Head words of all nodes of a binarised treebank, found by head rules on the flat productions they came from."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gramian.treebank import Treebank
from gramian.treebank.array_kernels import follow_heads, hash_children
from gramian.treebank.feature_templates import combine
from gramian.trees.heads import HeadRules
from gramian.trees.labels import is_intermediate, split_chain


def head_leaves(bank: Treebank, rules: HeadRules) -> npt.NDArray[np.int32]:
    """Return the number of the leaf that is the head of each node.

    An intermediate node has the head that its label's rules find among the children it has so far.
    """
    inner = np.array([is_intermediate(name) for name in bank.symbols])
    inner[bank.n_phrases :] = False
    code, length = np.zeros(len(bank.label), np.int64), np.zeros(len(bank.label), np.int32)
    hash_children(bank.label, bank.left, bank.right, inner, code, length)
    phrases = np.flatnonzero(bank.word < 0)
    _, representative, number = np.unique(
        combine(code[phrases], bank.label[phrases]), return_index=True, return_inverse=True
    )
    top, bottom = zip(*map(_ends, bank.symbols), strict=True)
    chosen = np.zeros(len(representative), np.int32)
    for row, node in enumerate(phrases[representative]):
        children = [top[bank.label[child]] for child in _children(bank, inner, int(node))]
        chosen[row] = rules.find(bottom[bank.label[node]], children)
    index = np.zeros(len(bank.label), np.int32)
    index[phrases] = chosen[number]
    head = np.empty(len(bank.label), np.int32)
    follow_heads(bank.label, bank.left, bank.right, inner, length, index, head)
    return head


def _ends(name: str) -> tuple[str, str]:
    """Return the uppermost and the lowest category of a binarised label."""
    chain = split_chain(name.removeprefix("@").partition("[")[0])
    return chain[0], chain[-1]


def _children(bank: Treebank, inner: npt.NDArray[np.bool_], node: int) -> list[int]:
    """Return the children that `node` had before binarisation, or has so far."""
    children: list[int] = []
    stack = [int(child) for child in (bank.right[node], bank.left[node]) if child >= 0]
    while stack:
        child = stack.pop()
        if inner[bank.label[child]]:
            stack += [int(bank.right[child]), int(bank.left[child])]
        else:
            children.append(child)
    return children
