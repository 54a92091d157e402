"""The best trees of several sentences, as arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt


class TreeArrays(NamedTuple):
    """Trees of a batch: their nodes one after the other, parents before children, left before right."""

    first: npt.NDArray[np.int32]  # (n_sentences + 1,): a tree's nodes
    label: npt.NDArray[np.int32]  # of each node, in the order of the grammar's labels
    parent: npt.NDArray[np.int32]  # the node above each, -1 above roots
    posterior: npt.NDArray[np.float32]
    log_prob: npt.NDArray[np.float64]  # (n_sentences,); where it is -inf, or nodes are none, there is no tree
