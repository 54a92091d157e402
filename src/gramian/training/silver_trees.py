"""Silver trees: those that a parser made of text, to be learnt from beside those of a treebank.

They are kept as compressed brackets, some 150 bytes a sentence.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property


@dataclass(frozen=True)
class SilverTrees:
    """Trees that a parser made, with their weights, in compressed shards.

    Examples
    --------
    >>> silver = SilverTrees.of([(0.5, "(X (A a) (B b))"), (0.25, "(X (A a))")])
    >>> len(silver), list(silver.trees())[1]
    (2, (0.25, '(X (A a))'))
    """

    shards: tuple[bytes, ...] = field(repr=False)
    sizes: tuple[int, ...]  # trees of each

    @classmethod
    def of(cls, trees: Iterable[tuple[float, str]]) -> SilverTrees:
        """Compress trees in one shard."""
        lines = [f"{weight:.6g} {tree}" for weight, tree in trees]
        return cls((zlib.compress("\n".join(lines).encode()),), (len(lines),))

    @classmethod
    def joined(cls, parts: Iterable[SilverTrees]) -> SilverTrees:
        """Put shards side by side, those without trees left out."""
        found = [part for part in parts if len(part)]
        shards = [shard for part in found for shard in part.shards]
        return cls(tuple(shards), tuple([size for part in found for size in part.sizes]))

    def __len__(self) -> int:
        return sum(self.sizes)

    @cached_property
    def key(self) -> str:
        """A hash of the content."""
        total = hashlib.sha256()
        for shard in self.shards:
            total.update(hashlib.sha256(shard).digest())
        return total.hexdigest()[:24]

    def trees(self) -> Iterator[tuple[float, str]]:
        """Yield weights and trees."""
        for shard in self.shards:
            for line in zlib.decompress(shard).decode().split("\n"):
                weight, _, tree = line.partition(" ")
                yield float(weight), tree
