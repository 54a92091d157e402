"""Silver trees: those that a parser made of text, to be learnt from beside those of a treebank.

They are kept as compressed brackets, some 70 bytes a sentence.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from gramian.treebank import Shape, Treebank
from gramian.treebank.encode import TokenCodes
from gramian.trees.binarise import HeadFinder

_TINY = 1e-9
_TOGETHER = 10  # shards that are looked at together, once they are not all in memory


@dataclass(frozen=True)
class SilverTrees:
    """Trees that a parser made, with their weights, in compressed shards."""

    shards: tuple[bytes, ...] = field(repr=False)
    sizes: tuple[int, ...]  # trees of each
    scale: float = 1.0  # of all weights

    @classmethod
    def of(cls, trees: Iterable[tuple[float, str]]) -> SilverTrees:
        """Compress trees in one shard."""
        lines = [f"{weight:.6g} {tree}" for weight, tree in trees]
        return cls((zlib.compress("\n".join(lines).encode()),), (len(lines),))

    @classmethod
    def joined(cls, parts: Iterable[SilverTrees]) -> SilverTrees:
        """Put shards side by side, those without trees left out."""
        present = [part for part in parts if len(part)]
        shards = [shard for part in present for shard in part.shards]
        return cls(tuple(shards), tuple([size for part in present for size in part.sizes]))

    def __len__(self) -> int:
        return sum(self.sizes)

    @cached_property
    def key(self) -> str:
        """A hash of the content."""
        total = hashlib.sha256()
        for shard in self.shards:
            total.update(hashlib.sha256(shard).digest())
        return f"{total.hexdigest()[:24]} {self.scale!r}"

    def parted(self, most: int) -> tuple[SilverTrees, list[SilverTrees]]:
        """Return shards from everywhere with about `most` trees in all, and the others, some at a time."""
        step = max(1, -(-len(self) // most))
        near = [index for index in range(len(self.shards)) if index % step == 0]
        far = [index for index in range(len(self.shards)) if index % step]
        return self._some(near), [
            self._some(far[first : first + _TOGETHER]) for first in range(0, len(far), _TOGETHER)
        ]

    def _some(self, places: Sequence[int]) -> SilverTrees:
        return SilverTrees(
            tuple([self.shards[index] for index in places]),
            tuple([self.sizes[index] for index in places]),
            self.scale,
        )

    def trees(self) -> Iterator[tuple[float, str]]:
        """Yield weights and trees."""
        for shard in self.shards:
            for line in zlib.decompress(shard).decode().split("\n"):
                weight, _, tree = line.partition(" ")
                yield float(weight) * self.scale, tree

    def encode(self, codes: TokenCodes) -> tuple[npt.NDArray[np.int32], list[float]]:
        """Return the trees as token codes, and their weights."""
        weights, trees = zip(*self.trees(), strict=True) if len(self) else ((), ())
        return codes.encode("\n".join(trees)), list(weights)

    def treebank(self, shape: Shape, heads: HeadFinder | None = None) -> Treebank:
        """Return the trees in a binarisation, with their weights."""
        codes = TokenCodes()
        tokens, weights = self.encode(codes)
        return Treebank.from_codes(codes, tokens, shape, heads).weighted(weights)

    def scaled(self, total: float) -> SilverTrees:
        """Return the same trees, which count `total` together, but none more than once."""
        weights = [weight for weight, _ in self.trees()]
        return replace(
            self, scale=self.scale * min(total / max(sum(weights), _TINY), 1 / max(*weights, _TINY))
        )
