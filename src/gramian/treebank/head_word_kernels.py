"""Head words over binarised trees: every numba kernel of the features."""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import numpy as np

from gramian.kernels import kernel

_BASE = 0x100000001B3


@kernel
def hash_children(label, left, right, inner, code, length):
    """Fill a polynomial hash and the number of each node's children before binarisation."""
    for node in range(label.shape[0]):
        if left[node] < 0:
            continue
        value, size = np.int64(0), 0
        for child in (left[node], right[node]):
            if child < 0:
                continue
            if inner[label[child]]:
                for _ in range(length[child]):
                    value *= np.int64(_BASE)
                value += code[child]
                size += length[child]
            else:
                value = value * np.int64(_BASE) + label[child] + 1
                size += 1
        code[node] = value
        length[node] = size


@kernel
def follow_heads(label, left, right, inner, length, index, head):
    """Fill `head` from the index of the head child of each node."""
    for node in range(label.shape[0]):
        if left[node] < 0:
            head[node] = node
            continue
        remaining, phrase = index[node], node
        while True:
            child = left[phrase]
            size = length[child] if inner[label[child]] else 1
            if remaining >= size:
                remaining -= size
                child = right[phrase]
            if inner[label[child]]:
                phrase = child
            else:
                head[node] = head[child]
                break
