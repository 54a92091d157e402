"""What learners see of a treebank, computed once and shared: productions, words, features, trees to infer over."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gramian.grammar import LPCFG
from gramian.learn.lexicon_counts import LexicalModel, LexiconChoice, LexiconOptions
from gramian.learn.tables import LatentTables
from gramian.learn.tree_inference import Expectation, TreeInference
from gramian.treebank import INSIDE, OUTSIDE, Features, NodeView, Treebank
from gramian.treebank.feature_templates import head_leaves, template_names
from gramian.treebank.productions import Counts, Productions
from gramian.treebank.vocab import TaggedWords, suffix_chain, word_classes
from gramian.trees import HeadRules, Tree
from gramian.trees.scheme import language_of_labels

if TYPE_CHECKING:
    from gramian.learn.device_inference import DeviceInference


Columns = list[npt.NDArray[np.signedinteger]]


def head_rules(heads: str | None, bank: Treebank | LPCFG) -> HeadRules | None:
    """Return the head rules that an option `heads` stands for; ``"auto"``: those of the language whose labels the treebank has, if any."""
    if heads == "auto":
        language = language_of_labels(bank.symbols)
        heads = None if language is None else language.head_rules
    return None if heads in (None, "none") else HeadRules.named(str(heads))


def treebank_digest(bank: Treebank, *others: object) -> str:
    """Return a hash of a treebank, and of others that have a complete ``repr``."""
    total = hashlib.sha256(repr((bank.symbols, bank.n_phrases, bank.words, bank.shape, *others)).encode())
    weight = () if bank.weight is None else (bank.weight,)
    for column in (bank.label, bank.left, bank.right, bank.word, bank.tree_start, *weight):
        total.update(np.ascontiguousarray(column).tobytes())
    return total.hexdigest()


def _narrow(column: npt.NDArray[np.int64]) -> npt.NDArray[np.signedinteger]:
    """Return a column in half the memory, if its numbers are not hashes."""
    return column.astype(np.int32) if column.max(initial=0) < 1 << 31 else column


class Observations:
    """A treebank with everything learners derive from it. Learners of the same treebank, of whatever options, can share one.

    Parameters
    ----------
    tagged : TaggedWords, optional
        Further words with their tags, for the lexicon.
    further : iterable of Treebank, optional
        Trees that are not kept in memory: what learners derive from nodes they derive from those of `bank`, but counts and expectations
        are of all.
    keep_features : bool
        Whether the values of features are kept for the next learner; they take some 200 bytes a node.

    Examples
    --------
    >>> from gramian.learn import PCFG
    >>> from gramian.treebank import Treebank
    >>> from gramian.trees import Tree
    >>> observations = Observations(Treebank.from_trees([Tree.parse("(S (NP (DT the) (NN dog)) (VP (VBZ barks)))")]))
    >>> PCFG().fit(observations).model_.n_states.tolist()
    [1, 1, 1, 1, 1, 1]
    """

    def __init__(
        self,
        bank: Treebank,
        *,
        tagged: TaggedWords | None = None,
        further: Iterable[Treebank] | None = None,
        keep_features: bool = False,
    ) -> None:
        self.further = None if further is None else FurtherTrees(bank, further)
        self.bank, self.tagged, self.keep_features = bank, tagged, keep_features
        if self.further is None:
            self.productions = Productions.of(bank)
        else:
            self.bank, self.productions = self.further.bank, self.further.productions
        self._lexical: dict[LexiconOptions, LexicalModel] = {}
        self._on_device: dict[str, DeviceInference] = {}
        self._views: dict[tuple[str | None, bool, int, bool], NodeView] = {}
        self._columns: dict[tuple[str, str | None, int, bool, bool], tuple[Columns, Columns]] = {}

    @classmethod
    def of(cls, trees: Observations | Treebank | Iterable[Tree]) -> Observations:
        """Return observations of whatever holds trees."""
        if isinstance(trees, Observations):
            return trees
        return cls(trees if isinstance(trees, Treebank) else Treebank.from_trees(trees))

    @cached_property
    def label_count(self) -> Counts:
        """How often each symbol occurs."""
        parts = [
            np.bincount(rows[:, 0], count, self.bank.n_symbols) for rows, count in self.productions.tables
        ]
        total = parts[0] + parts[1] + parts[2]
        may_be_fractions = self.bank.weight is not None or self.further is not None
        return total if may_be_fractions else total.astype(np.int64)

    @cached_property
    def root_count(self) -> Counts:
        """How many trees have each symbol at the top."""
        roots = self.bank.label[self.bank.tree_start[1:] - 1]
        count = np.bincount(roots, self.bank.weight, self.bank.n_symbols)
        return count if self.further is None else count + self.further.root_count

    @cached_property
    def digest(self) -> str:
        """A hash of the trees; of further ones, of their counts."""
        further = () if self.further is None else [count.tobytes() for _, count in self.productions.tables]
        return treebank_digest(self.bank, *further)

    @cached_property
    def trees(self) -> TreeInference:
        """Inside-outside over the observed trees that are in memory."""
        return TreeInference(self.bank, self.productions)

    def on_device(self, device: str) -> DeviceInference:
        """Return inside-outside over the observed trees that are in memory, on a device of torch."""
        if device not in self._on_device:
            from gramian.torch_device import find_device

            # before anything else of torch is imported, for what is said if that is missing
            find_device(device)
            from gramian.learn.device_inference import DeviceInference

            self._on_device[device] = DeviceInference(self.bank, self.productions, device)
        return self._on_device[device]

    def expect(
        self, tables: LatentTables, n_jobs: int = 1, device: str | None = None, *, spent: bool = False
    ) -> Expectation:
        """Return expected counts over all trees; those in memory are looked at on a device, if one is named.

        Tables that are `spent` may be overwritten: together with counts they would be most of what learning has in memory.
        """
        if device is None:
            in_memory = self.trees.expect(tables, n_jobs, spent=spent and self.further is None)
        else:
            in_memory = self.on_device(device).expect(tables, n_jobs)
        return (
            in_memory if self.further is None else in_memory.with_further(self.further.expect(tables, n_jobs))
        )

    def name(self, symbol: int) -> str:
        """Return what reports call a symbol: tags begin with a slash, since a phrase may have the same label."""
        return ("" if symbol < self.bank.n_phrases else "/") + self.bank.symbols[symbol]

    def nodes(self, symbol: int) -> npt.NDArray[np.int64]:
        """Return the nodes of a symbol."""
        order, starts = self.bank.by_label
        return order[starts[symbol] : starts[symbol + 1]]

    def lexical(self, lexicon: LexiconChoice) -> LexicalModel:
        """Return the model of words that an option `lexicon` stands for."""
        options = LexiconOptions.named(lexicon, self.bank)
        if options not in self._lexical:
            self._lexical[options] = LexicalModel(self.bank, self.productions, options, self.tagged)
        return self._lexical[options]

    def feature_columns(self, features: Features, lexicon: LexiconChoice = "auto") -> tuple[Columns, Columns]:
        """Return the values of all inside and outside templates over all nodes; rare words look as the lexicon sees them."""
        words = LexiconOptions.named(lexicon, self.bank)
        suffixes, ignore_case = bool(words.suffixes), words.ignore_case
        key = features.templates, features.heads, features.rare_words, suffixes, ignore_case
        if key in self._columns:
            return self._columns[key]
        inside, outside = template_names(features.templates)
        view = self.view(features.heads, suffixes, features.rare_words, ignore_case)
        columns = (
            [_narrow(INSIDE[name](view)) for name in inside],
            [_narrow(OUTSIDE[name](view)) for name in outside],
        )
        if self.keep_features:
            self._columns[key] = columns
        else:
            self.boundaries  # noqa: B018 - the last to look at the view, which is as large as the columns
            self._views.clear()
        return columns

    def view(
        self,
        heads: str | None,
        suffixes: bool,
        rare_words: int = Features().rare_words,
        ignore_case: bool = False,
    ) -> NodeView:
        """Return the nodes, as feature templates see them."""
        key = heads, suffixes, rare_words, ignore_case
        if key not in self._views:
            word_class = word_classes(
                self.bank,
                rare_words,
                lambda word: suffix_chain(word, longest=2)[-1] if suffixes else "",
                ignore_case,
            )
            rules = head_rules(heads, self.bank)
            head = None if rules is None else head_leaves(self.bank, rules)
            self._views[key] = NodeView(self.bank, word_class, head)
        return self._views[key]

    @cached_property
    def boundaries(self) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
        """What stands just before and just after each symbol; see :class:`gramian.grammar.LPCFG`."""
        bank, view = self.bank, next(iter(self._views.values()), None) or self.view(None, False)
        edge = bank.n_symbols - bank.n_phrases
        tables = []
        for neighbour in view.neighbours:
            tag = view.label[neighbour][:-1]
            tag = np.where(tag < 0, edge, tag - bank.n_phrases)
            cell = bank.label.astype(np.int64) * (edge + 1) + tag
            count = np.bincount(cell, bank.node_weight, bank.n_symbols * (edge + 1)).reshape(-1, edge + 1)
            overall = count.sum(axis=0) / count.sum()
            tables.append((count + 5 * overall) / (count.sum(axis=1, keepdims=True) + 5))
        share = self.label_count / self.label_count.sum()
        return (tables[0] * share[:, None]).astype(np.float32), tables[1].astype(np.float32)


_COLUMNS = ("label", "left", "right", "parent", "word", "start", "end", "tree_start", "weight")


class FurtherTrees:
    """Trees on disk, numbered like those of a treebank.

    They are looked at once, one shard after the other; those with symbols that `bank` lacks are left out. The attribute `bank` also has
    their words; `productions` are those of all trees, at the nodes of `bank`.
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
