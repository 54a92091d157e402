"""Templates of hashed features as data: the values they read, and the hash that turns values into slots of a table of weights.

The hash of a feature mixes a sum of products: the template's number and its values times constants. Sums are computed in parts: the values
around one position of a sentence are summed once, and a feature of several positions adds these sums.
"""

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Hashes = npt.NDArray[np.uint64]
Ints = npt.NDArray[np.int64]

_WORD = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15
_SEEN = re.compile(r"([a-z])([a-z])([+-]\d)?")


class Scheme(NamedTuple):
    """The factors of the number of a template and of its values."""

    number: int
    values: tuple[tuple[int, int], ...]  # of each value: which of the two sums it is added to, and its factor


_FACTORS = 0xD6E8FEB86659FD93, 0xA0761D6478BD642F, 0xE7037ED1A0B428DB, 0x8EBC6AF09C88C6E3, 0x589965CC75374CC3
SUMMED = Scheme(_GOLDEN, tuple((0, factor) for factor in _FACTORS))
"""Up to five values of any size."""

PACKED = Scheme(
    _GOLDEN, ((0, _GOLDEN << 8), (0, _GOLDEN << 13), (0, _GOLDEN << 33), (1, 1), (1, 1 << 20), (1, 1 << 40))
)
"""A value below 32 and up to five below 2 ** 20, side by side in two words of 64 bits."""


class Templates(NamedTuple):
    """The arrays of `n` templates that read `m` values of views."""

    number: Hashes  # (n,): contribution of the number of each template to its sum
    n_sums: int
    n_places: int
    terms: Ints  # (m, 5): of each value its sum, place, row of the views, column relative to the place, and template
    factor: Hashes  # (m,)
    small: Hashes  # (n_sums, n_classes, n): contributions of small numbers such as length classes
    given: Hashes  # (n_given, n): all ones where a template reads a number given with the feature, else zero
    given_factor: Hashes  # (n_given,)


def templates(
    text: str,
    *,
    first: int,
    views: str,
    places: Mapping[str, tuple[int, int]],
    small: Mapping[str, Sequence[int]] = MappingProxyType({}),
    given: Sequence[str] = (),
    scheme: Scheme = SUMMED,
) -> Templates:
    """Parse templates, separated by bars.

    A value is a letter of `views`, one for each row, and one of `places`, such as ``tb`` or ``tb-1``; or a name of `small`, which has its
    value in each class, or of `given`; a dot is a value of nothing. A place is a number, and how many columns from it.
    The first template has the number `first`, and one that begins with a number and a colon has that.

    Examples
    --------
    >>> templates("tb | tb ta+1", first=1, views="wt", places={"b": (0, 1), "a": (1, 2)}).terms.tolist()
    [[0, 0, 1, 1, 0], [0, 0, 1, 1, 1], [0, 1, 1, 3, 1]]
    """
    rows, template_numbers = [], []
    for row in (text.split() for text in text.split("|")):
        if row[0].endswith(":"):
            first = int(row.pop(0)[:-1])
        template_numbers.append(first * scheme.number & _WORD)
        rows.append(row)
        first += 1
    n_places, n_sums = 1 + max(position for position, _ in places.values()), 1 + scheme.values[-1][0]
    classes = np.zeros((n_sums, max(map(len, small.values()), default=1), len(rows)), np.uint64)
    masks, factors = np.zeros((len(given), len(rows)), np.uint64), np.zeros(len(given), np.uint64)
    terms, term_factors = [], []
    for template, row in enumerate(rows):
        for value, (which, factor) in zip(row, scheme.values, strict=False):
            if value in small:
                classes[which, :, template] += np.array([n * factor & _WORD for n in small[value]], np.uint64)
            elif value in given:
                masks[given.index(value), template], factors[given.index(value)] = _WORD, factor & _WORD
            elif value != ".":
                view, letter, offset = _SEEN.fullmatch(value).groups("0")  # type: ignore[union-attr]
                position, column = places[letter]
                terms.append((which, position, views.index(view), column + int(offset), template))
                term_factors.append(factor & _WORD)
    numbers, term_array = np.array(template_numbers, np.uint64), np.array(terms, np.int64)
    return Templates(
        numbers, n_sums, n_places, term_array, np.array(term_factors, np.uint64), classes, masks, factors
    )


def selected(all_templates: Templates, kept: Sequence[int]) -> Templates:
    """Return some of the templates, by their positions.

    Examples
    --------
    >>> both = templates("tb | tb ta+1", first=1, views="wt", places={"b": (0, 1), "a": (1, 2)})
    >>> selected(both, [1]).terms.tolist()
    [[0, 0, 1, 1, 0], [0, 1, 1, 3, 0]]
    """
    rows = np.asarray(kept, np.int64)
    position = np.full(len(all_templates.number), -1, np.int64)
    position[rows] = np.arange(len(rows))
    is_kept = position[all_templates.terms[:, -1]] >= 0
    terms = all_templates.terms[is_kept].copy()
    terms[:, -1] = position[terms[:, -1]]
    return all_templates._replace(
        number=all_templates.number[rows],
        terms=terms,
        factor=all_templates.factor[is_kept],
        small=np.ascontiguousarray(all_templates.small[..., rows]),
        given=np.ascontiguousarray(all_templates.given[..., rows]),
    )
