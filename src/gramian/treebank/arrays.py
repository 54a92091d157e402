"""The one array form of a binarised treebank; every learner reads this.

Nodes of all trees lie in flat int32 arrays, children before parents and each tree's root last. Symbols are numbered with
phrases first and tags after them, so that ``symbol >= n_phrases`` tells a preterminal.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from gramian.errors import InputError, OptionError, counted
from gramian.io.reading import Source, rereadable, source_name
from gramian.treebank import array_kernels as kernels
from gramian.treebank.encode import TokenCodes
from gramian.trees import (
    NormaliseOptions,
    Removed,
    Tree,
    binarise,
    debinarise,
    escape_word,
    normalise,
    read_trees,
    unescape_word,
)
from gramian.trees.binarise import Direction, HeadFinder
from gramian.trees.labels import (
    chain_label,
    escape_label,
    intermediate_label,
    is_intermediate,
    split_chain,
)
from gramian.trees.normalise import ROOT_LABELS, bare_label
from gramian.trees.scheme import SCHEMES, find_scheme, scheme_of
from gramian.trees.tree import phrase, preterminal

Ints = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Shape:
    """How trees are binarised, such as ``Shape(direction="left")``; see :func:`gramian.trees.binarise`."""

    direction: Direction = "right"
    horizontal: int | None = 0
    vertical: int = 1
    collapse_tags: bool = field(default=False, repr=False)  # symbols tell: ``NP|NN`` is a tag then

    @property
    def is_plain(self) -> bool:
        """Whether the compiled binariser knows this shape."""
        known = self.direction != "head" and self.vertical == 1 and self.horizontal in (0, 1, 2)
        return known and not self.collapse_tags


class TaggedSentence(NamedTuple):
    """The words of a tree, and their tags."""

    words: tuple[str, ...]
    tags: tuple[str, ...]


@dataclass(frozen=True, repr=False)
class Treebank:
    """Binarised trees as arrays.

    Examples
    --------
    >>> bank = Treebank.from_trees([Tree.parse("(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)) (. .))")])
    >>> bank
    <Treebank: 1 tree, 4 words, 4 phrases, 4 tags>
    >>> bank.n_trees, bank.symbols
    (1, ('@S', 'NP', 'S', 'VP', '.', 'DT', 'NN', 'VBZ'))
    >>> print(bank.tree(0))
    (S (NP (DT the) (NN cat)) (VP (VBZ sleeps)) (. .))
    """

    #: names of the binarised labels: phrases (``NP``, ``@NP``, ``S|VP``) first, then tags
    symbols: tuple[str, ...]
    n_phrases: int  #: how many of `symbols` are phrases
    words: tuple[str, ...]  #: distinct words in order of first occurrence, as they stand in the file
    #: label, left, right, parent, word, start, end: shape (n_nodes,); the nodes. `left` and `right` are -1 at leaves, `right` is -1 at a
    #: phrase over one tag, `parent` is -1 at roots, `word` is -1 at phrases; a node covers the words ``start .. end - 1`` of its
    #: sentence.
    label: Ints
    left: Ints
    right: Ints
    parent: Ints
    word: Ints
    start: Ints
    end: Ints
    #: shape (n_trees + 1,); node ``tree_start[i]`` is the first of tree ``i``; its root is ``tree_start[i + 1] - 1``
    tree_start: Ints
    removed: Removed = field(default_factory=Removed)  #: what normalisation took away
    shape: Shape = field(default_factory=Shape)  #: how the trees were binarised
    #: shape (n_trees,), optional; how often each tree counts, in fractions too; without it, once
    weight: npt.NDArray[np.float64] | None = None

    def __repr__(self) -> str:
        """Say how much there is."""
        trees, words, phrases = self.n_trees, int(self.lengths.sum()), self.n_phrases
        tags = self.n_symbols - phrases
        return f"<Treebank: {', '.join(map(counted, (trees, words, phrases, tags), ('tree', 'word', 'phrase', 'tag')))}>"

    @property
    def n_trees(self) -> int:
        """How many trees there are."""
        return len(self.tree_start) - 1

    @property
    def n_symbols(self) -> int:
        """How many labels and tags there are."""
        return len(self.symbols)

    @cached_property
    def lengths(self) -> npt.NDArray[np.int64]:
        """Words of each tree."""
        return self.end[self.tree_start[1:] - 1].astype(np.int64)

    @cached_property
    def node_weight(self) -> npt.NDArray[np.float64] | None:
        """How often each node counts; None if all count once."""
        return None if self.weight is None else np.repeat(self.weight, np.diff(self.tree_start))

    @cached_property
    def by_label(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Nodes sorted by label, and where each label's nodes begin in that order."""
        order = np.argsort(self.label, kind="stable")
        starts = np.searchsorted(self.label[order], np.arange(self.n_symbols + 1))
        return order, starts

    @classmethod
    def read(
        cls,
        source: Source,
        *,
        options: NormaliseOptions | None = None,
        shape: Shape = Shape(),
        heads: HeadFinder | None = None,
        broken: Literal["raise", "skip"] = "raise",
    ) -> Treebank:
        """Read bracketed trees, normalise and binarise them.

        Parameters
        ----------
        source : path, folder, ``"-"`` or stream
            As for :func:`gramian.trees.read_trees`.
        options : NormaliseOptions, optional
            What is removed from the trees; by default what their labels call for (see :mod:`gramian.trees.scheme`).
        shape : Shape
            How they are binarised.
        heads : callable, optional
            Head finder, for ``Shape(direction="head")``.
        broken : {"raise", "skip"}
            What happens to broken trees.
        """
        source = rereadable(source)
        if options is None:
            options = scheme_of(source).options
        # What the compiled binariser and normaliser know:
        if (
            shape.is_plain
            and options.root == "drop"
            and options.punctuation == "keep"
            and not options.unescape
        ):
            codes = TokenCodes()
            tokens = codes.encode_files(source)
            if tokens is not None:
                tokens, joined = codes.join_words(tokens)
                bank = cls._from_codes(codes, tokens, options, shape)
                if bank is not None:
                    if joined:
                        warnings.warn(
                            f"{source_name(source)}: {len(joined)} words with a space inside were joined with '_',"
                            f" the first: '{joined[0]}'",
                            stacklevel=2,
                        )
                    return bank
            if isinstance(source, io.StringIO):
                source.seek(0)
        # Something is broken, or the shape is unusual: the object reader names faults and does everything.
        trees = read_trees(source, broken=broken)
        return cls.from_trees(trees, options=options, shape=shape, heads=heads)

    @classmethod
    def from_trees(
        cls,
        trees: Iterable[Tree],
        *,
        options: NormaliseOptions | None = None,
        shape: Shape = Shape(),
        heads: HeadFinder | None = None,
    ) -> Treebank:
        """Normalise and binarise tree objects into arrays; parameters as for :meth:`read`."""
        if options is None:
            scheme, trees = find_scheme(trees)
            options = scheme.options
        codes = TokenCodes()
        removed = Removed()
        tokens = [np.empty(0, np.int32)]
        for tree in trees:
            result = normalise(tree, options)
            removed += result.removed
            if not result.tree.is_empty:
                tokens.append(codes.encode_tree(binarise(result.tree, **vars(shape), heads=heads)))
        bank = cls._from_codes(codes, np.concatenate(tokens), None, shape)
        assert bank is not None, "tree objects are well-formed"
        return replace(bank, removed=removed)

    @classmethod
    def _from_codes(
        cls,
        codes: TokenCodes,
        tokens: Ints,
        options: NormaliseOptions | None,
        shape: Shape,
        is_sound: bool = False,
    ) -> Treebank | None:
        """Build arrays from token codes; None if they are not well-formed trees. Without options the trees are binary already.

        Unless it is known that they are sound, a root's label within a tree raises the suspicion that a bracket is missing.
        """
        n_open = int(np.count_nonzero(tokens & 1 == 0))
        label, word, parent = (np.empty(n_open, np.int32) for _ in range(3))
        tree_start = np.empty(n_open + 1, np.int32)
        starts_anew = np.array(
            [options is not None and not is_sound and name in ROOT_LABELS for name in codes.labels], np.bool_
        )
        nameless = codes.labels.index("") if "" in codes.labels else -1
        n_nodes, n_trees = kernels.find_nodes(tokens, nameless, starts_anew, label, word, parent, tree_start)
        if n_nodes < 0:
            return None
        phrases = np.unique(parent[:n_nodes])
        inner = phrases[(phrases >= 0) & (parent[phrases] >= 0)]
        if ((label[inner] == nameless) & (label[parent[inner]] != nameless)).any():
            if options is not None:
                return None
            raise InputError("a phrase within a tree has no label", "trees", hint="give every phrase a label")
        names = _Names()
        if options is None:
            phrase_map = tag_map = np.array([names.number(name) for name in codes.labels], np.int32)
            cut_phrase = cut_tag = is_wrapper = np.zeros(len(codes.labels), np.bool_)
        else:
            bare = [bare_label(name, options, phrase=True) for name in codes.labels]
            bare_tag = [bare_label(name, options, phrase=False) for name in codes.labels]
            cut_phrase = np.array([a != b for a, b in zip(bare, codes.labels, strict=True)], np.bool_)
            cut_tag = np.array([a != b for a, b in zip(bare_tag, codes.labels, strict=True)], np.bool_)
            phrase_map = np.array([names.number(escape_label(name)) for name in bare], np.int32)
            tag_map = np.array(
                [
                    kernels.DROP if name in options.empty_tags else names.number(escape_label(tag))
                    for name, tag in zip(codes.labels, bare_tag, strict=True)
                ],
                np.int32,
            )
            is_wrapper = np.array([name in ROOT_LABELS for name in bare], np.bool_)
        new_label, kept_parent = np.empty(n_nodes, np.int32), np.empty(n_nodes, np.int32)
        merge = options is not None and options.same_unaries
        empty, emptied, merged, wrappers = kernels.keep_nodes(
            label,
            word,
            parent,
            kernels.LabelMaps(phrase_map, tag_map, is_wrapper),
            merge,
            new_label,
            kept_parent,
        )
        unnamed = np.flatnonzero((kept_parent < 0) & (new_label == names.number("")))
        if len(unnamed):  # roots that could not be dropped
            new_label[unnamed] = names.number("ROOT")
        cut = np.where(word >= 0, cut_tag[label], cut_phrase[label]) & (new_label != kernels.DROP)

        room = n_open + int(np.count_nonzero(word >= 0))  # a phrase of k parts becomes at most k - 1 nodes
        key = np.empty(room, np.int64)
        left, right, out_parent, out_word, start, end = (np.empty(room, np.int32) for _ in range(6))
        out_start, tree_of = np.empty(n_trees + 1, np.int32), np.empty(n_trees, np.int32)
        chain_head, chain_tail = np.empty(1 << 16, np.int32), np.empty(1 << 16, np.int32)
        nodes = (key, left, right, out_parent, out_word, start, end)
        out = kernels.BinarisedNodes(*nodes, out_start, tree_of, chain_head, chain_tail)
        starts, horizontal = tree_start[: n_trees + 1], shape.horizontal if options is not None else 0
        n_out, n_kept, n_chains = kernels.binarise_nodes(
            new_label, word, kept_parent, starts, len(names), shape.direction == "right", horizontal, out
        )
        if n_out < 0:
            raise InputError(
                "more than 65,536 different unary chains", hint="check the labels with: gramian inspect"
            )

        symbols, n_phrases, symbol = names.symbols(key[:n_out], chain_head[:n_chains], chain_tail[:n_chains])
        out_word = out_word[:n_out]
        is_leaf = out_word >= 0
        used, first, number = np.unique(out_word[is_leaf], return_index=True, return_inverse=True)
        order = np.argsort(first)
        out_word[is_leaf] = np.argsort(order)[number]
        had_words = np.maximum.reduceat(word, tree_start[:n_trees]) >= 0 if n_trees else np.empty(0, np.bool_)
        return cls(
            symbols=symbols,
            n_phrases=n_phrases,
            words=tuple(unescape_word(codes.words[i]) for i in used[order]),
            label=symbol,
            left=left[:n_out].copy(),
            right=right[:n_out].copy(),
            parent=out_parent[:n_out].copy(),
            word=out_word.copy(),
            start=start[:n_out].copy(),
            end=end[:n_out].copy(),
            tree_start=out_start[: n_kept + 1].copy(),
            removed=Removed(
                empty, emptied, int(cut.sum()), merged, wrappers, trees_emptied=int(had_words.sum()) - n_kept
            ),
            shape=shape,
        )

    def encode(self, codes: TokenCodes) -> Ints:
        """Return the trees in their original shape as token codes, without a text or a tree being made.

        Examples
        --------
        >>> codes = TokenCodes()
        >>> tree = "(S (X (A a) (B b) (C c)))"
        >>> Treebank.from_trees([Tree.parse(tree)]).encode(codes).tolist() == codes.encode(tree).tolist()
        True
        """
        opens = [
            [] if is_intermediate(symbol) else [codes[f"({label}"] for label in split_chain(symbol)]
            for symbol in self.symbols
        ]
        open_start = np.cumsum([0, *map(len, opens)]).astype(np.int32)
        flat = np.array([code for symbol in opens for code in symbol], np.int32)
        word_code = np.array([*(codes[escape_word(word)] for word in self.words), -1], np.int32)[self.word]
        size = 2 * int(np.diff(open_start)[self.label].sum()) + int(np.count_nonzero(self.word >= 0))
        numbers = np.empty(size, np.int32)
        kernels.write_codes(
            self.label, self.left, self.right, word_code, self.tree_start, open_start, flat, numbers
        )
        return numbers

    def reshaped(self, shape: Shape, heads: HeadFinder | None = None) -> Treebank:
        """Return the same trees in another binarisation; only symbols and words that occur in them have a number.

        Examples
        --------
        >>> bank = Treebank.from_trees([Tree.parse("(X (A a) (B b) (C c))")])
        >>> [str(bank.reshaped(Shape(direction)).binary_tree(0)) for direction in ("right", "left")]
        ['(X (@X (A a) (B b)) (C c))', '(X (A a) (@X (B b) (C c)))']
        """
        codes = TokenCodes()
        return self.from_codes(codes, self.encode(codes), shape, heads)

    @classmethod
    def from_codes(
        cls, codes: TokenCodes, tokens: Ints, shape: Shape, heads: HeadFinder | None = None
    ) -> Treebank:
        """Binarise well-formed trees in normal form that are given as token codes."""
        options = SCHEMES["whole"].options
        plain = shape if shape.is_plain else Shape()
        bank = cls._from_codes(codes, tokens, options, plain, is_sound=True)
        assert bank is not None, "trees that were encoded are well-formed"
        if shape.is_plain:
            return bank
        return cls.from_trees(bank.trees(), options=options, shape=shape, heads=heads)

    def binary_tree(self, number: int) -> Tree:
        """Return a tree in its binarised form."""
        built: list[Tree] = []
        first, last = int(self.tree_start[number]), int(self.tree_start[number + 1])
        for node in range(first, last):
            name = self.symbols[self.label[node]]
            if self.word[node] >= 0:
                built.append(preterminal(name, self.words[self.word[node]]))
            else:
                below = [built[child - first] for child in (self.left[node], self.right[node]) if child >= 0]
                built.append(phrase(name, tuple(below)))
        return built[-1]

    def tree(self, number: int) -> Tree:
        """Return a tree in its normalised, original shape."""
        return debinarise(self.binary_tree(number))

    def trees(self) -> Iterator[Tree]:
        """Yield all trees in their normalised, original shape."""
        return (self.tree(number) for number in range(self.n_trees))

    def sentences(self) -> Iterator[TaggedSentence]:
        """Yield the words and tags of all trees, in their original form.

        Examples
        --------
        >>> next(Treebank.from_trees([Tree.parse("(X (A a) (B b))")]).sentences())
        TaggedSentence(words=('a', 'b'), tags=('A', 'B'))
        """
        tags = np.array([split_chain(symbol)[-1] for symbol in self.symbols], object)
        words = np.array(self.words, object)
        tree = np.repeat(np.arange(self.n_trees), np.diff(self.tree_start))
        leaves = np.flatnonzero(self.word >= 0)
        leaves = leaves[np.lexsort((self.start[leaves], tree[leaves]))]
        ends = np.cumsum(self.lengths).tolist()
        for first, last in pairwise([0, *ends]):
            leaves_of_tree = leaves[first:last]
            yield TaggedSentence(
                tuple(words[self.word[leaves_of_tree]]), tuple(tags[self.label[leaves_of_tree]])
            )

    def weighted(self, weight: npt.ArrayLike) -> Treebank:
        """Return the same trees, each of which counts so often.

        Examples
        --------
        >>> from gramian.treebank.productions import Productions
        >>> bank = Treebank.from_trees([Tree.parse("(X (A a) (B b))"), Tree.parse("(X (A a) (B c))")])
        >>> Productions.of(bank.weighted([2, 0.5])).binary_count
        array([2.5])
        """
        weights = np.asarray(weight, np.float64)
        if weights.shape != (self.n_trees,) or not np.isfinite(weights).all() or (weights < 0).any():
            raise OptionError(f"weight must be {self.n_trees:,} finite non-negative numbers")
        return replace(self, weight=weights)

    def subset(self, trees: npt.ArrayLike) -> Treebank:
        """Return a treebank of some of the trees, with the same symbols; of the words, those that occur in them.

        Examples
        --------
        >>> bank = Treebank.from_trees([Tree.parse("(X (A a) (B b))"), Tree.parse("(X (B b) (A a))")])
        >>> [str(tree) for tree in bank.subset([1]).trees()]
        ['(X (B b) (A a))']
        """
        chosen = np.asarray(trees, np.int64)
        sizes = np.diff(self.tree_start)[chosen].astype(np.int64)
        starts = np.concatenate([[0], np.cumsum(sizes)])
        shift = np.repeat(starts[:-1] - self.tree_start[chosen], sizes)
        nodes = np.arange(int(starts[-1])) - shift

        def moved(column: Ints) -> Ints:
            return np.where(column[nodes] >= 0, column[nodes] + shift, -1).astype(np.int32)

        word = self.word[nodes]
        occurring = np.unique(word[word >= 0])
        return replace(
            self,
            label=self.label[nodes],
            left=moved(self.left),
            right=moved(self.right),
            parent=moved(self.parent),
            word=np.where(word >= 0, np.searchsorted(occurring, word), -1).astype(np.int32),
            words=tuple([self.words[number] for number in occurring.tolist()]),
            start=self.start[nodes],
            end=self.end[nodes],
            tree_start=starts.astype(np.int32),
            weight=None if self.weight is None else self.weight[chosen],
        )


class _Names:
    """Labels numbered as they come, and the symbols made from them."""

    def __init__(self) -> None:
        self._number: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._number)

    def number(self, name: str) -> int:
        return self._number.setdefault(name, len(self._number))

    def symbols(
        self, keys: npt.NDArray[np.int64], chain_head: Ints, chain_tail: Ints
    ) -> tuple[tuple[str, ...], int, Ints]:
        """Return symbol names (phrases, then tags, each sorted), the number of phrases, and the symbol of each key."""
        labels = list(self._number)
        chains = list(labels)
        for head, tail in zip(chain_head, chain_tail, strict=True):
            chains.append(chain_label([labels[head], chains[tail]]))
        distinct, number = np.unique(keys, return_inverse=True)
        named: list[tuple[bool, str]] = []
        for key in distinct.tolist():
            kind, label = key & 3, (key >> 2) & 0xFFFFF
            if kind == kernels.KIND_INTERMEDIATE:
                siblings = [
                    labels[code - 1] for code in ((key >> 42) & 0xFFFFF, (key >> 22) & 0xFFFFF) if code
                ]
                named.append((False, intermediate_label(labels[label], siblings)))
            else:
                named.append((kind == kernels.KIND_TAG, chains[label]))
        order = sorted(set(named))
        rank = {name: number for number, name in enumerate(order)}
        symbol = np.array([rank[name] for name in named], np.int32)[number]
        return tuple(name for _, name in order), sum(not is_tag for is_tag, _ in order), symbol
