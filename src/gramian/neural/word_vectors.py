"""Vectors of words from the words beside them, by one singular value decomposition (Stratos, Collins and Hsu 2015).

Words and their neighbours, up to two places away, are two views of one hidden class, as inside and outside features are of a node; the
directions in which the two views agree most (canonical correlations) tell classes apart. Square roots of counts make the counts' noise
even, and a word's vector is its row of the left singular vectors, of length one.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse.linalg import svds

from gramian.errors import InputError
from gramian.io.reading import Source, open_text
from gramian.neural.span_inventory import folded

_PLACES = (-2, -1, 1, 2)


def word_vectors(
    sentences: Iterable[Sequence[str]], n_dims: int = 64, min_count: int = 4, random_state: int = 0
) -> dict[str, npt.NDArray[np.float32]]:
    """Return vectors of the words that occur at least `min_count` times, for :class:`~gramian.neural.NeuralExpert`.

    Parameters
    ----------
    sentences : iterable of sequences of str
        Words as written; they are folded (lower case, digits are zeros).

    Returns
    -------
    dict of str to ndarray of float32, shape (n_dims,)

    Examples
    --------
    >>> text = [["the", a, b] for a in ("red", "blue") for b in ("fish", "bird")] * 5
    >>> vectors = word_vectors(text, n_dims=3)
    >>> def alike(one, other): return float(vectors[one] @ vectors[other])
    >>> alike("red", "blue") > 0.9, alike("red", "fish") < 0.5
    (True, True)
    """
    number: dict[str, int] = {}
    text = [[number.setdefault(folded(word), len(number)) for word in words] for words in sentences]
    counts = Counter(word for words in text for word in words)
    names = list(number)
    known = sorted(
        (word for word, count in counts.items() if count >= min_count), key=lambda n: (-counts[n], names[n])
    )
    if len(known) <= n_dims:
        raise InputError(
            f"the text has {len(known):,} words that occur {min_count} times, too few for vectors of {n_dims} numbers",
            "text",
            hint="more text, or shorter vectors",
        )
    n_known, rare, end = len(known), len(known), len(known) + 1
    row = np.full(len(number), rare)
    row[known] = np.arange(n_known)
    edge = np.array([end, end])
    flat = np.concatenate([part for words in text for part in (edge, row[words])] + [edge])
    middle = flat[2:-2]
    tables = [
        sp.coo_matrix(
            (np.ones(len(middle), np.float32), (middle, flat[2 + offset : len(flat) - 2 + offset])),
            (end + 1, end + 1),
        ).tocsr()
        for offset in _PLACES
    ]
    joint = sp.hstack(tables).tocsr()[:n_known]
    row_sums, column_sums = (np.maximum(np.asarray(joint.sum(axis)).ravel(), 1) for axis in (1, 0))
    joint.data = np.sqrt(joint.data)
    scaled = sp.diags(row_sums**-0.25) @ joint @ sp.diags(column_sums**-0.25)
    left, _, _ = svds(scaled.astype(np.float32), n_dims, random_state=random_state)
    left = left[:, ::-1]
    left = left * np.where(left[np.abs(left).argmax(0), np.arange(n_dims)] < 0, -1, 1)  # signs are free
    length = np.maximum(np.linalg.norm(left, axis=1, keepdims=True), 1e-9)
    return dict(zip((names[word] for word in known), (left / length).astype(np.float32), strict=True))


def read_vectors(source: Source, limit: int = 200_000) -> dict[str, npt.NDArray[np.float32]]:
    """Read the first `limit` vectors of a text file of word2vec, GloVe or fastText: a word and its numbers on each line.

    A first line with two numbers is a header. Words are folded; the first of several spellings counts.
    """
    vectors: dict[str, npt.NDArray[np.float32]] = {}
    size = 0
    with open_text(source) as lines:
        for number, line in enumerate(lines, 1):
            word, *values = line.split()
            if number == 1 and len(values) == 1:
                continue
            size = size or len(values)
            try:
                vector = np.array(values, np.float32)
            except ValueError:
                vector = np.zeros(0, np.float32)
            if len(vector) != size or not size or not np.isfinite(vector).all():
                expected = f"{size} numbers" if size else "numbers"
                raise InputError(f"a word is not followed by {expected}", lines.name, number)
            vectors.setdefault(folded(word), vector)
            if len(vectors) >= limit:
                break
    if not vectors:
        raise InputError("no vectors", lines.name)
    return vectors
