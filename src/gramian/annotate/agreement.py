"""How far two annotators agree on the trees that both have finished."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gramian.errors import OptionError
from gramian.evaluate import score
from gramian.trees import Tree


@dataclass(frozen=True)
class Agreement:
    """Agreement of two annotators."""

    #: trees, exact: sentences that both have finished, and those whose trees are equal
    trees: int
    exact: int
    f1: float  #: labelled F1 of the trees of one against those of the other, in percent
    #: phrase_kappa, tag_kappa: Cohen's kappa. Of phrases, the items are all spans of a sentence and the categories its labels, or none;
    #: of tags, the items are words.
    phrase_kappa: float
    tag_kappa: float


def agreement(first: Sequence[Tree], second: Sequence[Tree]) -> Agreement:
    """Compare the trees of two annotators, pair by pair over the same words.

    Examples
    --------
    >>> one = Tree.parse("(S (NP (NN rain)) (VP (VBZ falls)))")
    >>> two = Tree.parse("(S (NP (NN rain)) (VBZ falls))")
    >>> result = agreement([one, one], [one, two])
    >>> result.trees, result.exact, round(result.phrase_kappa, 2), result.tag_kappa
    (2, 1, 0.77, 1.0)
    """
    pairs = list(zip(first, second, strict=True))
    if not pairs:
        raise OptionError("no sentence was finished by both annotators; try: annotate some of the same ones")
    phrases: Counter[tuple[str, str]] = Counter()
    tags: Counter[tuple[str, str]] = Counter()
    for one, two in pairs:
        phrases.update(_span_pairs(one, two))
        tags.update(zip(one.tags, two.tags, strict=True))
    return Agreement(
        len(pairs),
        sum(one == two for one, two in pairs),
        score(first, second).f1_gold_tags,
        cohen_kappa(phrases),
        cohen_kappa(tags),
    )


def cohen_kappa(pairs: Counter[tuple[str, str]]) -> float:
    """Return Cohen's kappa (1960) of counts of pairs of categories; 1 where chance alone explains full agreement.

    Examples
    --------
    >>> cohen_kappa(Counter({("yes", "yes"): 20, ("yes", "no"): 5, ("no", "yes"): 10, ("no", "no"): 15}))
    0.4
    """
    total = sum(pairs.values())
    left, right = Counter[str](), Counter[str]()
    for (one, two), count in pairs.items():
        left[one] += count
        right[two] += count
    observed = sum(count for (one, two), count in pairs.items() if one == two) / total
    expected = sum(count * right[category] for category, count in left.items()) / total**2
    return 1.0 if expected == 1.0 else round((observed - expected) / (1 - expected), 12)


def _span_pairs(one: Tree, two: Tree) -> Iterable[tuple[str, str]]:
    """Yield the labels of both trees over every span of the sentence; ``""`` where there is no phrase."""
    labels = [_labels(one), _labels(two)]
    for start in range(len(one.words)):
        for end in range(start + 1, len(one.words) + 1):
            yield labels[0].get((start, end), ""), labels[1].get((start, end), "")


def _labels(tree: Tree) -> dict[tuple[int, int], str]:
    labels: dict[tuple[int, int], str] = {}
    for label, start, end in tree.spans(preterminals=False):
        labels[start, end] = f"{labels[start, end]} {label}" if (start, end) in labels else label
    return labels
