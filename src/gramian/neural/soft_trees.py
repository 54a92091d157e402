"""Soft trees: posteriors of a teacher over the labelled spans and the tags of a sentence, from which a net learns (distillation).

The score of a tree is the sum of the scores of its labelled spans. So the cross-entropy between a teacher's distribution over trees and
the net's needs only the teacher's marginals ``q``: ``log Z - sum_s q(s) score(s)``, whose gradient is the difference of the posteriors.
With all ``q`` zero or one this is the loss of a tree.
"""

from dataclasses import dataclass


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
