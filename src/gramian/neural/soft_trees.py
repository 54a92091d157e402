"""Soft trees: posteriors of a teacher over the labelled spans and the tags of a sentence, from which a net learns (distillation).

The score of a tree is the sum of the scores of its labelled spans. So the cross-entropy between a teacher's distribution over trees and
the net's needs only the teacher's marginals ``q``: ``log Z - sum_s q(s) score(s)``, whose gradient is the difference of the posteriors.
With all ``q`` zero or one this is the loss of a tree.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gramian.trees.labels import split_chain

LEAST_SHARE = 0.01  # probability of a span or tag that is kept


@dataclass(frozen=True)
class SoftTree:
    """The posteriors of a sentence."""

    words: tuple[str, ...]
    spans: tuple[tuple[int, int, str, float], ...]  #: start, end, chain of labels, and its probability
    tags: tuple[tuple[int, str, float], ...]  #: word, tag, and its probability
    weight: float = 1.0  #: how much the sentence counts; a sentence of a treebank counts 1

    @property
    def confidence(self) -> float:
        """The mean probability of the spans that are expected."""
        expected = sum(share for *_, share in self.spans)
        return sum(share * share for *_, share in self.spans) / expected if expected else 1.0


def soft_tree(
    words: Sequence[str],
    labels: npt.NDArray[np.floating],
    names: Sequence[str],
    n_phrase_labels: int,
    chains: Iterable[str],
    weight: float = 1.0,
) -> SoftTree:
    """Return the soft tree of posteriors of single labels, such as :attr:`gramian.chart.forest.Forest.label_posterior`.

    Labels over one span are alternatives as far as their probabilities sum to at most 1. The rest must be chains: of labels with
    probabilities ``p_1 .. p_k``, a chain has at least ``p_1 + .. + p_k - (k - 1)``, and gets that.

    Parameters
    ----------
    labels : ndarray, shape (n_cells, n_labels)
        Spans by width, then start.
    names : sequence of str
        Of the columns: labels of phrases, then tags.
    chains : iterable of str
        Chains of several labels that occur; others are never assumed.

    Examples
    --------
    >>> table = np.array([[0.6, 1.0, 0, 1], [0.0, 0.5, 1, 0], [1.0, 0.0, 0, 0]])
    >>> soft = soft_tree(["go", "home"], table, ["S", "VP", "NN", "VB"], 2, ["S|VP"])
    >>> [(*span, round(share, 6)) for *span, share in soft.spans]
    [(0, 1, 'S|VP', 0.6), (0, 1, 'VP', 0.4), (1, 2, 'VP', 0.5), (0, 2, 'S', 1.0)]
    >>> soft.tags
    ((0, 'VB', 1.0), (1, 'NN', 1.0))
    """
    column = {name: number for number, name in enumerate(names[:n_phrase_labels])}
    parts = {chain: split_chain(chain) for chain in chains}
    known = {
        chain: [column[label] for label in labels_of]
        for chain, labels_of in sorted(parts.items(), key=lambda item: (-len(item[1]), item[0]))
        if len(set(labels_of)) > 1 and all(label in column for label in labels_of)
    }
    spans: list[tuple[int, int, str, float]] = []
    n, cell = len(words), 0
    for width in range(1, n + 1):
        for start in range(n - width + 1):
            left = labels[cell, :n_phrase_labels].astype(float)
            cell += 1
            likely = np.flatnonzero(left >= LEAST_SHARE)
            if left[likely].sum() > 1 + LEAST_SHARE:
                for chain, columns in known.items():
                    share = float(left[columns].sum() - (len(columns) - 1))
                    if share >= LEAST_SHARE:
                        spans.append((start, start + width, chain, share))
                        left[columns] -= share
            spans += [
                (start, start + width, names[label], float(left[label]))
                for label in likely.tolist()
                if left[label] >= LEAST_SHARE
            ]
    tags = [
        (word, names[n_phrase_labels + tag], float(labels[word, n_phrase_labels + tag]))
        for word, tag in np.argwhere(labels[:n, n_phrase_labels:] >= LEAST_SHARE).tolist()
    ]
    return SoftTree(tuple(words), tuple(spans), tuple(tags), weight)
