"""Trees beside those in memory, for expectations alone: they lie on disk, and one shard at a time is looked at."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import numpy.typing as npt

from gramian.learn.tables import LatentTables
from gramian.learn.tree_inference import Expectation, TreeInference
from gramian.treebank import Treebank
from gramian.treebank.productions import Productions

_COLUMNS = ("label", "left", "right", "parent", "word", "start", "end", "tree_start", "weight")


class FurtherTrees:
    """Trees on disk, numbered like those of a treebank.

    Parameters
    ----------
    bank : Treebank
        What is in memory.
    shards : iterable of Treebank
        Looked at once, one after the other. Trees with symbols that `bank` lacks are left out.

    Attributes
    ----------
    bank : Treebank
        The same, but that it has the words of all.
    productions : Productions
        Of all trees, at the nodes of `bank`.
    root_count : ndarray
        How many of the trees on disk have each symbol at the top.
    n_trees, left_out : int
    """

    def __init__(self, bank: Treebank, shards: Iterable[Treebank]) -> None:
        self._folder = TemporaryDirectory(prefix="gramian-")
        self._files: list[Path] = []
        words = {word: number for number, word in enumerate(bank.words)}
        symbol = {(number < bank.n_phrases, name): number for number, name in enumerate(bank.symbols)}
        parts = [Productions.of(bank)]
        self.root_count = np.zeros(bank.n_symbols)
        self.n_trees = self.left_out = 0
        for shard in shards:
            numbered = _numbered(shard, symbol, words)
            self.left_out += shard.n_trees - numbered.n_trees
            self.n_trees += numbered.n_trees
            if numbered.n_trees:
                self._keep(numbered)
                parts.append(Productions.of(numbered))
                roots = numbered.label[numbered.tree_start[1:] - 1]
                self.root_count += np.bincount(roots, numbered.weight, bank.n_symbols)
        self.bank = replace(bank, words=tuple(words))
        self.productions = Productions.joined(parts, self.bank)

    def expect(self, tables: LatentTables, n_jobs: int = 1) -> Iterator[Expectation]:
        """Yield what an expectation step finds in each shard."""
        for file in self._files:
            with np.load(file) as columns:
                bank = replace(self.bank, **{name: columns[name] for name in _COLUMNS})
            yield TreeInference(bank, tables.layout.productions.at_nodes(bank)).expect(tables, n_jobs)

    def _keep(self, shard: Treebank) -> None:
        self._files.append(Path(self._folder.name) / f"{len(self._files)}.npz")
        weight = np.ones(shard.n_trees) if shard.weight is None else shard.weight
        np.savez(self._files[-1], weight=weight, **{name: getattr(shard, name) for name in _COLUMNS[:-1]})


def _numbered(shard: Treebank, symbol: dict[tuple[bool, str], int], words: dict[str, int]) -> Treebank:
    """Return a treebank with the numbers of another for its symbols and words, trees with symbols that it lacks left out.

    New words get the next numbers in `words`.
    """
    named = enumerate(shard.symbols)
    number = np.array([symbol.get((index < shard.n_phrases, name), -1) for index, name in named], np.int32)
    if (number < 0).any():
        strange = np.add.reduceat(number[shard.label] < 0, shard.tree_start[:-1])
        shard = shard.subset(np.flatnonzero(strange == 0))
    word = np.array([words.setdefault(form, len(words)) for form in shard.words], np.int32)
    words_of_nodes: npt.NDArray[np.int32] = np.where(shard.word >= 0, word[shard.word], -1).astype(np.int32)
    return replace(shard, label=number[shard.label], word=words_of_nodes)
