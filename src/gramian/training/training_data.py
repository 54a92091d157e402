"""The treebank of a training: read once, then given to every task, in every binarisation and without any fold.

Tasks hold what is to be done; the process that runs them holds this, and other processes are sent it once.
"""

from __future__ import annotations

import io
import logging
import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from gramian import learn
from gramian.errors import InputError, OptionError
from gramian.io.reading import Rereadable, Source, rereadable, source_name
from gramian.learn.observations import head_rules, treebank_digest
from gramian.system import give_back_memory
from gramian.training.selftraining.silver_trees import SilverTrees
from gramian.training.training_settings import TrainingSettings
from gramian.treebank import Shape, Treebank
from gramian.treebank.encode import TokenCodes
from gramian.treebank.vocab import TaggedWords
from gramian.trees import HeadRules, Tree, annotation_scheme, normalise, read_trees
from gramian.trees.labels import split_chain
from gramian.trees.scheme import DEFAULT_SCHEME, AnnotationScheme, detect_scheme, scheme_of

TreeSource: TypeAlias = "Source | Iterable[Tree] | Treebank"
"""A file, a folder, ``"-"``, a stream, a treebank, or the trees themselves."""

IN_MEMORY = 20_000
"""Silver trees whose nodes are clustered with those of the treebank; expectations see all."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Fold:
    """One fold of a treebank: `number`, from 0, `of` so many.

    Folds are stretches of neighbouring trees: sentences of one text share words and turns of phrase, and a model that has seen the
    neighbours of a sentence knows more about it than about a new text. With `spread` a fold has trees from everywhere, at equal
    distances: it is like the whole, though its trees are easier than those of a new text.
    """

    number: int
    of: int
    spread: bool = False

    def trees(self, n_trees: int) -> range:
        """Return which trees the fold has."""
        if not 0 <= self.number < self.of <= n_trees:
            raise OptionError(
                f"{n_trees:,} trees are too few for fold {self.number} of {self.of}; try: fewer folds"
            )
        if self.spread:
            return range(self.number, n_trees, self.of)
        return range(n_trees * self.number // self.of, n_trees * (self.number + 1) // self.of)


@dataclass(eq=False, repr=False)
class TrainingData:
    """What is learnt from.

    Examples
    --------
    >>> data = TrainingData.read([Tree.parse("(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)))")] * 3, TrainingSettings())
    >>> data.bank.n_trees, data.preset, data.treebank("left").shape.direction
    (3, 'penn', 'left')
    >>> [len(data.trees(Fold(0, 3))), data.treebank("right", Fold(0, 3)).n_trees]
    [1, 2]
    """

    bank: Treebank
    source: str = "trees"  #: what the trees are called
    preset: str = "penn"  #: the annotation scheme of the treebank
    heads: HeadRules | None = None  #: of binarisation from heads outward
    tagged: TaggedWords | None = None  #: further words with their tags
    silver: SilverTrees | None = None  #: further trees, which a parser made

    def __post_init__(self) -> None:
        # Members of one binarisation that are trained one after the other share the treebank and what learners derive from it.
        self.treebank = lru_cache(maxsize=2)(self._treebank)
        self.observations = lru_cache(maxsize=2)(self._observations)
        self._with_silver = lru_cache(maxsize=1)(self._encoded)

    def __reduce__(self) -> tuple[Any, ...]:
        return TrainingData, (self.bank, self.source, self.preset, self.heads, self.tagged, self.silver)

    @classmethod
    def read(cls, trees: TreeSource, settings: TrainingSettings) -> TrainingData:
        """Read a treebank as settings want it, and tagged text if they name some."""
        name, source = tree_source_name(trees), _source(trees)
        if settings.preset != "auto":
            scheme = annotation_scheme(settings.preset)
        else:
            scheme = detect_scheme(source) if isinstance(source, list) else scheme_of(source)
            if scheme is not DEFAULT_SCHEME:
                _log.info("its labels look like those of preset %s", scheme.name)
        heads = _binarisation_heads(settings, scheme, source) if "head" in settings.directions else None
        binarisation = settings.binarisation
        shape = Shape(
            settings.directions[0],
            binarisation.horizontal,
            binarisation.vertical,
            binarisation.collapse_tags,
        )
        if isinstance(source, list):
            bank = Treebank.from_trees(source, options=scheme.options, shape=shape, heads=heads)
        else:
            broken: Any = "skip" if settings.skip_broken else "raise"
            bank = Treebank.read(source, options=scheme.options, shape=shape, heads=heads, broken=broken)
        if bank.n_trees == 0:
            hint = "look at the file with: gramian inspect"
            raise InputError("no trees to train on", name, hint=hint)
        head_rules(settings.heads, bank)  # an error of theirs is better told now
        tagged = None if settings.tagged_corpus is None else _tagged_words(settings.tagged_corpus, bank)
        return cls(bank, name, scheme.name, heads, tagged)

    @property
    def n_words(self) -> int:
        """How many words the trees have."""
        return int(self.bank.lengths.sum())

    @cached_property
    def key(self) -> str:
        """A hash of the content, so that work on other data is not taken for finished."""
        counts = () if self.tagged is None else (self.tagged.count, self.tagged.initial)
        silver = () if self.silver is None else (self.silver.key,)
        return treebank_digest(self.bank, *(sorted(counter.items()) for counter in counts), *silver)[:24]

    def forget(self) -> None:
        """Give up what was derived from the treebank for tasks that are done."""
        self.treebank.cache_clear()
        self.observations.cache_clear()
        give_back_memory()

    def trees(self, fold: Fold) -> list[Tree]:
        """Return the trees of a fold, normalised."""
        return [self.bank.tree(number) for number in fold.trees(self.bank.n_trees)]

    def _treebank(self, direction: Any, fold: Fold | None = None) -> Treebank:
        """Return the trees in some binarisation, less a fold: nothing that occurs in the fold alone has a name."""
        bank, shape = self.bank, replace(self.bank.shape, direction=direction)
        if fold is None and shape == bank.shape:
            return bank
        if fold is not None:
            bank = bank.subset(np.setdiff1d(np.arange(bank.n_trees), fold.trees(bank.n_trees)))
        return bank.reshaped(shape, self._heads(shape))

    def _heads(self, shape: Shape) -> HeadRules | None:
        return self.heads if shape.direction == "head" else None

    def _observations(self, direction: Any = None, fold: Fold | None = None) -> learn.Observations:
        bank = self.treebank(direction or self.bank.shape.direction, fold)
        if self.silver is None:
            return learn.Observations(bank, tagged=self.tagged)
        shape, heads = bank.shape, self._heads(bank.shape)
        codes, tokens, weights = self._with_silver(fold)
        both = Treebank.from_codes(codes, tokens, shape, heads).weighted(weights)
        _, far = self.silver.parted(IN_MEMORY)
        further = (part.treebank(shape, heads) for part in far) if far else None
        return learn.Observations(both, tagged=self.tagged, further=further)

    def _encoded(self, fold: Fold | None) -> tuple[TokenCodes, npt.NDArray[np.int32], list[float]]:
        """Return the treebank and the silver trees kept in memory as token codes, with their weights, for all binarisations."""
        assert self.silver is not None
        gold, codes = self.treebank(self.bank.shape.direction, fold), TokenCodes()
        near, _ = self.silver.parted(IN_MEMORY)
        tokens, weights = near.encode(codes)
        return codes, np.concatenate([gold.encode(codes), tokens]), [1.0] * gold.n_trees + weights


def _binarisation_heads(
    settings: TrainingSettings, scheme: AnnotationScheme, source: Rereadable | list[Tree]
) -> HeadRules:
    """Return the head rules that trees are binarised by."""
    language = None if settings.language in ("auto", "none") else settings.language
    trees: Iterable[Tree]
    if isinstance(source, list):
        trees = source
    else:
        trees = read_trees(source, broken="skip", on_skip=lambda _: None, on_join=lambda _: None)
    sample = (normalise(tree, scheme.options).tree for tree in trees)
    rules = HeadRules.select(settings.heads, scheme, language, sample)
    if isinstance(source, io.StringIO):
        source.seek(0)
    return rules


def tree_source_name(trees: Any) -> str:
    """Return what a model file calls where trees came from."""
    if isinstance(trees, str | os.PathLike):
        return str(trees)
    return source_name(trees) if _is_stream(trees) else "trees"


def _is_stream(trees: object) -> bool:
    return hasattr(trees, "read") and not isinstance(trees, Treebank)


def normal_trees(trees: TreeSource, preset: str) -> list[Tree]:
    """Return trees in their normal form, those without words left out."""
    source, options = _source(trees), annotation_scheme(preset).options
    objects = source if isinstance(source, list) else read_trees(source)
    normalised = (normalise(tree, options).tree for tree in objects)
    return [tree for tree in normalised if not tree.is_empty]


def _source(trees: Any) -> Rereadable | list[Tree]:
    """Return a path or a text that can be read again, or else the trees."""
    if isinstance(trees, str | os.PathLike) or _is_stream(trees):
        return rereadable(trees)
    if isinstance(trees, Treebank):
        return list(trees.trees())
    if not isinstance(trees, Iterable):
        raise OptionError(f"trees must be a path, a stream, a Treebank or trees, got {trees!r}")
    return list(trees)


def _tagged_words(path: str, bank: Treebank) -> TaggedWords:
    """Read tagged text, and tell how much of it the treebank's tags cover."""
    words = TaggedWords.read(path)
    tags = {split_chain(symbol)[-1] for symbol in bank.symbols[bank.n_phrases :]}
    used = sum(count for (_, tag), count in words.count.items() if tag in tags)
    if not used:
        raise OptionError(f"{path}: it has no tag of the treebank; try: text with the treebank's tags")
    shown = f"{used:,}", path, f"{sum(words.count.values()) - used:,}"
    _log.info("read %s tagged words of %s; %s have tags that the treebank lacks", *shown)
    return words
