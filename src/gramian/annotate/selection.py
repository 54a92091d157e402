"""Active learning: which sentence an annotator should do next.

A sentence is worth its expected errors times its diversity: how many of its phrases and tags the parser expects to be wrong, by its own
calibrated confidences, and how new its words are compared with the sentences that are annotated already.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise

from gramian.annotate.proposals import Proposal

_LONGEST = 40  # words; annotators put longer sentences off


def expected_errors(proposal: Proposal) -> float:
    """Return the expected number of wrong phrases and tags; the number of words where no parser says.

    Examples
    --------
    >>> from gramian.trees import Tree
    >>> expected_errors(Proposal(Tree.parse("(S (NN rain) (VBZ falls))"), (0.8, 0.6, 1.0)))
    0.6
    """
    if proposal.confidences is None:
        return float(len(proposal.tree.words))
    return round(sum(1.0 - value for value in proposal.confidences), 12)


def diversity(words: Sequence[str], seen: Counter[str]) -> float:
    """Return how new the words and pairs of words of a sentence are: each counts 1 over 1 plus how often it was seen.

    Examples
    --------
    >>> diversity(["rain", "falls"], Counter({"rain": 1})), diversity(["rain"], Counter())
    (0.8333333333333334, 1.0)
    """
    features = _features(words)
    return sum(1.0 / (1 + seen[feature]) for feature in features) / len(features)


def rank(
    candidates: Sequence[tuple[Sequence[str], Proposal]], annotated: Iterable[Sequence[str]], size: int = 1
) -> list[int]:
    """Return the indices of the `size` sentences to annotate next, the first first.

    Each chosen sentence counts as annotated for the diversity of those after it, so that a batch does not repeat itself.
    """
    seen: Counter[str] = Counter()
    for words in annotated:
        seen.update(_features(words))
    errors = [expected_errors(proposal) for _, proposal in candidates]
    left = [index for index, (words, _) in enumerate(candidates) if words]
    short = [index for index in left if len(candidates[index][0]) <= _LONGEST]
    left = short if len(short) >= size else left
    chosen: list[int] = []
    while left and len(chosen) < size:
        best = max(left, key=lambda index: errors[index] * diversity(candidates[index][0], seen))
        chosen.append(best)
        left.remove(best)
        seen.update(_features(candidates[best][0]))
    return chosen


def _features(words: Sequence[str]) -> list[str]:
    """Return words and pairs of neighbours, which no word with a space in it can be taken for."""
    return [*words, *(f"{first} {second}" for first, second in pairwise(words))]
