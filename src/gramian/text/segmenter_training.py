"""Learning where sentences end, from sentences that stand one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from gramian.text.feature_training import learn_scores
from gramian.text.sentence_segmenter import SentenceSegmenter, gaps


def learn_splitter(documents: Iterable[Sequence[str]], space: str = " ") -> SentenceSegmenter:
    """Learn to find the ends of sentences.

    Parameters
    ----------
    documents : iterable of sequences of str
        Texts, each as its sentences in order.
    space : str
        What stands between two sentences: nothing in scripts without spaces.

    Examples
    --------
    >>> text = ["We met Dr. Lee.", "She smiled.", "He saw Dr. Fox."] * 20
    >>> splitter = learn_splitter([text])
    >>> [span.end for span in splitter.split("I saw Dr. Lee. She ran.")]
    [14, 23]
    """
    return SentenceSegmenter(learn_scores(_gaps_and_ends(documents, space)))


def _gaps_and_ends(
    documents: Iterable[Sequence[str]], space: str
) -> Iterator[tuple[tuple[str, ...], bool, int]]:
    for sentences in documents:
        text = space.join(sentences)
        last = set(np.cumsum([len(sentence) + len(space) for sentence in sentences]) - len(space))
        for gap in gaps(text):
            yield gap.features, gap.end in last, 1
