"""The treebank's labels in the symbols of a binarised grammar."""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gramian.trees.labels import is_intermediate, split_chain

Ints = npt.NDArray[np.int32]


class LabelArrays(NamedTuple):
    """What kernels need of a :class:`LabelTable`."""

    n_labels: int
    n_phrase_labels: int
    first: Ints
    number: Ints


@dataclass(frozen=True)
class LabelTable:
    """The labels that each symbol stands for; intermediate symbols have none."""

    names: tuple[str, ...]  # labels of phrases, then tags; a name may occur as both
    n_phrase_labels: int  # how many of `names` are phrases'
    first: Ints  # (n_symbols + 1,): where each symbol's labels lie in `number`
    number: Ints  # labels of each symbol, top-down
    bottom_up: tuple[tuple[str, ...], ...]  # the same as names, for each symbol, from its lowest label

    @cached_property
    def arrays(self) -> LabelArrays:
        """The table as kernels want it."""
        return LabelArrays(len(self.names), self.n_phrase_labels, self.first, self.number)


@lru_cache(maxsize=16)
def label_table(symbols: tuple[str, ...], n_phrases: int) -> LabelTable:
    """Take the symbols of a grammar apart."""
    keys = []
    for index, symbol in enumerate(symbols):
        labels = [] if is_intermediate(symbol) else split_chain(symbol)
        kinds = ["phrase"] * len(labels)
        if index >= n_phrases:
            kinds[-1] = "tag"
        keys.append(list(zip(kinds, labels, strict=True)))
    distinct = sorted({key for row in keys for key in row})  # phrases before tags
    number = {key: index for index, key in enumerate(distinct)}
    return LabelTable(
        names=tuple(label for _, label in distinct),
        n_phrase_labels=sum(kind == "phrase" for kind, _ in distinct),
        first=np.cumsum([0, *map(len, keys)]).astype(np.int32),
        number=np.array([number[key] for row in keys for key in row], np.int32),
        bottom_up=tuple(tuple(label for _, label in reversed(row)) for row in keys),
    )
