"""Learning the lexicon: tags of unknown words from their form, states of rare words from words that look alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
import numpy.typing as npt
from scipy import sparse

from gramian.grammar.lexicon import Lexicon
from gramian.learn.smoothing import TINY
from gramian.learn.smoothing_kernels import add_rows
from gramian.learn.tables import LatentTables, Layout
from gramian.treebank import Treebank
from gramian.treebank.productions import Productions
from gramian.treebank.vocab import TaggedWords, frequencies, suffix_chain, word_features
from gramian.trees.labels import split_chain, unescape_label
from gramian.trees.scheme import language_of_labels
from gramian.value_types import Boolean, Either, InstanceOf, Number, OneOf, Whole, option, options, or_none

LexiconName: TypeAlias = Literal["auto", "suffix", "tag", "pos", "signature"]
Doubles = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_OPEN_WORD = 100  # words seen up to so often may have tags they were not seen with
_LEAST = 1e-3  # ... if their form makes the tag at least so probable
_FURTHER = 0.2  # the most that tagged text adds to the counts of more frequent words, as a share of these


@options
class LexiconOptions:
    """How words are smoothed.

    Examples
    --------
    >>> from gramian.learn import PCFG
    >>> from gramian.treebank import Treebank
    >>> from gramian.trees import Tree
    >>> bank = Treebank.from_trees([Tree.parse("(S (NP (DT the) (NN dog)) (VP (VBZ barks)))")])
    >>> PCFG(lexicon=LexiconOptions(rare=2, ignore_case=True)).fit(bank).model_.lexicon.words
    ('the', 'dog', 'barks')
    """

    rare: int = option(Whole(0), default=10)
    """Words seen at most so often teach the model of unknown words."""
    shrinkage: float = option(Number(0), default=3.0)
    """Weight of the coarser distribution of states, in counts."""
    tag_shrinkage: float = option(Number(0), default=0.5)
    """Weight of the tags that a word's form suggests, in counts."""
    suffixes: bool | None = option(or_none(Boolean()), default=True)
    """If false, rare words are told apart by their tag alone: all rare words of a tag share its states. None is true for Penn-style English
    and false for all others, as measured to be better."""
    replaced: bool = option(Boolean(), default=False)
    """With suffixes: whether rare words are replaced by their tag and signature, that is shape and suffix of up to two letters."""
    ignore_case: bool = option(Boolean(), default=False)
    """Whether words that differ in case only are counted together to find the rare ones."""

    @classmethod
    def called(cls, name: LexiconName, **changes: Any) -> LexiconOptions:
        """Return the options of a name, some of them changed.

        ``"suffix"``: rare words are told apart by their shape and suffix; ``"tag"``: by their tag alone, with whatever morphology it
        holds; ``"pos"``: likewise, words seen less than five times only, and nothing is smoothed; ``"signature"``: as ``"pos"``, but rare
        words are replaced by their tag and signature; ``"auto"``: ``"suffix"`` for Penn-style English, ``"tag"`` for all others.

        Examples
        --------
        >>> LexiconOptions.called("pos", rare=19)
        LexiconOptions(rare=19, shrinkage=0.0, tag_shrinkage=0.0, suffixes=False, replaced=False, ignore_case=False)
        """
        named = {
            "suffix": cls(),
            "tag": cls(suffixes=False),
            "pos": cls(4, 0.0, 0.0, suffixes=False),
            "signature": cls(4, 0.0, 0.0, replaced=True),
        }
        return replace(named.get(name, cls(suffixes=None)), **changes)

    @classmethod
    def named(cls, lexicon: LexiconChoice, bank: Treebank) -> LexiconOptions:
        """Return the options that a choice stands for, given the labels of a treebank."""
        options = lexicon if isinstance(lexicon, LexiconOptions) else cls.called(lexicon)
        return (
            options
            if options.suffixes is not None
            else replace(options, suffixes=language_of_labels(bank.symbols) is not None)
        )


LexiconChoice: TypeAlias = LexiconName | LexiconOptions
"""How words are smoothed, by name or in numbers."""

LEXICON = Either(InstanceOf(LexiconOptions), OneOf(*get_args(LexiconName)))
"""The constraint of a parameter `lexicon`."""


class StateScores:
    """Scores of states given tag and word, and given tag and word class, as ratios to the tag's own shares.

    `pairs` are laid out as the lexical part of tables. `classes` go by tag number and word class, ``"3 x/ing"``; the tag number alone
    stands for all rare words.
    """

    def __init__(self, like: npt.NDArray[np.floating]) -> None:
        self.pairs = np.empty_like(like)
        self.classes: dict[str, npt.NDArray[np.float32]] = {}


class _FurtherWords(NamedTuple):
    words: tuple[str, ...]  # the treebank's, then those that it lacks
    counts: Doubles  # of each word with each tag in tagged text
    initial: Doubles  # ... at the beginning of a sentence


class _TagPairs(NamedTuple):
    """The (tag, word) pairs of a tag: which they are, which are rare, and for each length of suffix the classes and each pair's."""

    pairs: Integers
    is_rare: npt.NDArray[np.bool_]
    levels: list[tuple[list[str], Integers]]


class LexicalModel:
    """Turns counts of words with tags and states into smoothed scores.

    A word's states are shrunk towards those of rare words that share its shape and suffix, these towards shorter suffixes, and so
    on up to the tag's own shares. Tags of unknown words are guessed by logistic regression on the forms of rare words, and of `tagged`.
    """

    def __init__(
        self,
        bank: Treebank,
        productions: Productions,
        options: LexiconOptions = LexiconOptions(),
        tagged: TaggedWords | None = None,
    ) -> None:
        self.bank, self.productions, self.options, self.tagged = bank, productions, options, tagged
        self.n_tags = bank.n_symbols - bank.n_phrases
        self._tag = productions.lexical[:, 0] - bank.n_phrases
        self._word = productions.lexical[:, 1]
        self.word_count = np.bincount(self._word, productions.lexical_count, len(bank.words))
        self.tag_count = np.bincount(self._tag, productions.lexical_count, self.n_tags)
        frequency = frequencies(bank.words, self.word_count, options.ignore_case)
        self._is_rare = frequency[self._word] <= options.rare

    @cached_property
    def _tag_pairs(self) -> list[_TagPairs]:
        of_tag = [np.flatnonzero(self._tag == tag) for tag in range(self.n_tags)]
        tag_pairs = [_TagPairs(pairs, self._is_rare[pairs], []) for pairs in of_tag]
        if not self.options.suffixes:
            return tag_pairs
        chains = [suffix_chain(word, longest=2 if self.options.replaced else 4) for word in self.bank.words]
        for level in range(max(map(len, chains), default=0)):
            suffixes = [chain[min(level, len(chain) - 1)] for chain in chains]
            for tag, (pairs, _, levels) in enumerate(tag_pairs):
                number: dict[str, int] = {}
                suffix_numbers = [
                    number.setdefault(suffixes[word], len(number)) for word in self._word[pairs]
                ]
                levels.append(([f"{tag} {suffix}" for suffix in number], np.array(suffix_numbers, np.int64)))
        return tag_pairs

    def state_scores(self, counts: LatentTables) -> StateScores:
        """Smooth the states of words and word classes, given how often each pair was seen with each state."""
        scores = StateScores(counts.lexical)
        for tag, cells in enumerate(self._cells(counts.layout)):
            count = counts.lexical[cells].astype(np.float64)
            shares = count.sum(axis=0) / max(count.sum(), 1e-300)
            ratio = 1 / np.maximum(shares, 1e-30)
            self._smooth_tag(scores, tag, cells, count, count.sum(axis=1), shares, ratio)
        return scores

    def raise_to_floor(self, scores: StateScores, layout: Layout, floor: float) -> None:
        """Set the ratio of a state to one where it makes a word of the tag, or its rare words together, less probable than `floor`."""
        for tag, (cells, (pairs, is_rare, _)) in enumerate(
            zip(self._cells(layout), self._tag_pairs, strict=True)
        ):
            share = self.productions.lexical_count[pairs] / max(self.tag_count[tag], 1)
            rare_share = float(share[is_rare].sum())
            if not self.options.suffixes:  # then all rare words of a tag are one
                share = np.where(is_rare, rare_share, share)
            ratios = scores.pairs[cells]
            scores.pairs[cells] = np.where(ratios * share[:, None] < floor, 1, ratios)
            ratios = scores.classes[str(tag)]
            scores.classes[str(tag)] = np.where(ratios * rare_share < floor, np.float32(1), ratios)

    def mean_scores(self, operators: LatentTables) -> StateScores:
        """Smooth the mean vectors of pairs, given the operators: mean vectors times the share of the pair in its tag."""
        scores = StateScores(operators.lexical)
        for tag, cells in enumerate(self._cells(operators.layout)):
            mass = self.productions.lexical_count[self._tag_pairs[tag].pairs].astype(np.float64)
            total = operators.lexical[cells] * mass.sum()
            mean = total.sum(axis=0) / mass.sum()
            self._smooth_tag(scores, tag, cells, total, mass, mean, np.ones_like(mean))
        return scores

    def _cells(self, layout: Layout) -> Iterator[Integers]:
        """Yield for each tag the cells of its pairs with its states, shape (n_pairs, n_states)."""
        tag_states = layout.n_states[self.bank.n_phrases :]
        for tag, states in zip(self._tag_pairs, tag_states, strict=True):
            yield layout.lexical_start[tag.pairs][:, None] + np.arange(states)

    def _smooth_tag(
        self,
        scores: StateScores,
        tag: int,
        cells: Integers,
        total: Doubles,
        mass: Doubles,
        base: Doubles,
        ratio: Doubles,
    ) -> None:
        """Shrink the vectors `total`, each worth `mass` counts, of a tag's pairs step by step; the scores are these times `ratio`."""
        _, rare, levels = self._tag_pairs[tag]
        everything = self._shrink(total[rare].sum(axis=0), mass[rare].sum(), base)
        scores.classes[str(tag)] = (everything * ratio).astype(np.float32)
        coarser = np.broadcast_to(everything, total.shape)
        for names, class_of_pair in levels:
            class_total, above = (np.zeros((len(names), total.shape[1])) for _ in range(2))
            add_rows(class_of_pair[rare], total[rare], class_total)
            class_mass = np.bincount(class_of_pair[rare], mass[rare], len(names))
            above[class_of_pair] = coarser
            level = self._shrink(class_total, class_mass, above)
            coarser = level[class_of_pair]
            # Expected counts add up to whole numbers, but for rounding: classes of two words or more are kept.
            kept = np.flatnonzero(class_mass > 1.5)
            rows = (level[kept] * ratio).astype(np.float32)
            scores.classes |= dict(zip([names[row] for row in kept], rows, strict=True))
        smoothed = self._shrink(total, mass, coarser)
        if self.options.replaced or not self.options.suffixes:
            smoothed[rare] = coarser[rare]
        scores.pairs[cells] = smoothed * ratio

    def _shrink(self, total: Doubles, mass: npt.NDArray[np.number] | np.number, towards: Doubles) -> Doubles:
        weight = max(self.options.shrinkage, TINY)
        return (total + weight * towards) / (np.asarray(mass)[..., None] + weight)

    def build(self, scores: StateScores, n_states: npt.NDArray[np.int32]) -> Lexicon:
        """Return the lexicon for parsing; `n_states` is per symbol."""
        bank = self.bank
        tag_states = n_states[bank.n_phrases :]
        words, seen = self._further.words, self._further.counts.copy()
        known = seen[: len(bank.words)]
        most = np.maximum(_FURTHER * self.word_count, _OPEN_WORD)
        known *= np.minimum(1, most / np.maximum(known.sum(axis=1), 1))[:, None]
        seen[self._word, self._tag] += self.productions.lexical_count
        total = seen.sum(axis=1, keepdims=True)
        is_open, weight = total <= _OPEN_WORD, self.options.tag_shrinkage
        probability = np.where(is_open, (seen + weight * self._known_forms) / (total + weight), seen / total)
        word, tag = np.nonzero((seen > 0) | (is_open & (probability >= _LEAST)))
        # States of an entry: as counted for the pair; zeros where the pair was not seen, and the word's class has a say.
        starts = np.concatenate([[0], np.cumsum(tag_states[tag], dtype=np.int64)])
        entry_states = np.zeros(int(starts[-1]), np.float32)
        entry = np.searchsorted(word * self.n_tags + tag, self._word * np.int64(self.n_tags) + self._tag)
        size = n_states[self.productions.lexical[:, 0]].astype(np.int64)
        pair_start = np.cumsum(size) - size
        cells = np.repeat(starts[entry] - pair_start, size) + np.arange(len(scores.pairs))
        entry_states[cells] = scores.pairs
        features, weights = self._form_model
        return Lexicon(
            tags=tuple(map(unescape_label, bank.symbols[bank.n_phrases :])),
            n_states=tag_states,
            tag_prior=(self.tag_count / self.tag_count.sum()).astype(np.float32),
            words=words,
            word_count=total[:, 0].round().astype(np.int32),
            entry_start=np.searchsorted(word, np.arange(len(words) + 1)).astype(np.int32),
            entry_tag=tag.astype(np.int32),
            entry_probability=probability[word, tag].astype(np.float32),
            entry_states=entry_states,
            features=features,
            feature_weights=weights,
            classes=tuple(scores.classes),
            class_states=np.concatenate(list(scores.classes.values())),
        )

    @cached_property
    def _further(self) -> _FurtherWords:
        """All words, and what tagged text adds to their counts with the treebank's tags."""
        bank = self.bank
        # Several tags of the grammar may be one tag of the treebank (``NP|NN`` and ``NN``): they share it by frequency.
        shares: dict[str, Doubles] = {}
        for tag, symbol in enumerate(bank.symbols[bank.n_phrases :]):
            shares.setdefault(split_chain(symbol)[-1], np.zeros(self.n_tags))[tag] = self.tag_count[tag]
        sources = ({}, {}) if self.tagged is None else (self.tagged.count, self.tagged.initial)
        words = dict.fromkeys((*bank.words, *(word for word, tag in sources[0] if tag in shares)))
        number = {word: index for index, word in enumerate(words)}
        tables = []
        for counts in sources:
            table = np.zeros((len(words), self.n_tags))
            for (word, name), times in counts.items():
                if name in shares:
                    table[number[word]] += times * shares[name] / shares[name].sum()
            tables.append(table)
        return _FurtherWords(tuple(words), *tables)

    @cached_property
    def top_tag(self) -> dict[str, str]:
        """The most frequent tag of each word."""
        order = np.lexsort((-self.productions.lexical_count, self._word))
        first = order[np.searchsorted(self._word[order], np.arange(len(self.bank.words)))]
        tags = [unescape_label(symbol) for symbol in self.bank.symbols[self.bank.n_phrases :]]
        further = self._further.counts[len(self.bank.words) :].argmax(axis=1)
        top = np.concatenate([self._tag[first], further]).tolist()
        return {word: tags[tag] for word, tag in zip(self._further.words, top, strict=True)}

    @cached_property
    def _known_forms(self) -> Doubles:
        return self.form_probabilities(self._further.words)

    def form_probabilities(self, words: Sequence[str]) -> Doubles:
        """Guess P(tag | form) of many words; shape (n_words, n_tags)."""
        features, weights = self._form_model
        number = {feature: index for index, feature in enumerate(features)}
        matrix = _indicators([word_features(word, False, self.top_tag.get) for word in words], number)
        logits = matrix @ weights[:-1].astype(np.float64) + weights[-1]
        logits -= logits.max(axis=1, keepdims=True)
        np.exp(logits, out=logits)
        return logits / logits.sum(axis=1, keepdims=True)

    def _form_examples(self) -> Iterator[tuple[str, int, bool, float]]:
        """Yield rare words with their tag, whether they begin a sentence, and how often: of the treebank, then of tagged text."""
        bank = self.bank
        leaves = np.flatnonzero((bank.word >= 0) & (bank.start == 0))
        weight = None if bank.node_weight is None else bank.node_weight[leaves]
        initial = np.bincount(self.productions.node_production[leaves], weight, len(self._tag))
        rare = np.flatnonzero(self._is_rare) if self._is_rare.any() else np.arange(len(self._tag))
        for pair in rare.tolist():
            word, tag = bank.words[self._word[pair]], int(self._tag[pair])
            yield word, tag, False, self.productions.lexical_count[pair] - initial[pair]
            yield word, tag, True, initial[pair]
        words, counts, at_start = self._further
        total = counts.sum(axis=1)
        for word in np.flatnonzero((total > 0) & (total <= self.options.rare)).tolist():
            for tag in np.flatnonzero(counts[word]).tolist():
                yield words[word], tag, False, counts[word, tag] - at_start[word, tag]
                yield words[word], tag, True, at_start[word, tag]

    @cached_property
    def _form_model(self) -> tuple[tuple[str, ...], npt.NDArray[np.float32]]:
        """Features and weights of P(tag | form), learnt from rare words."""
        examples = (
            (tuple(word_features(word, is_initial, self.top_tag.get)), tag, float(count))
            for word, tag, is_initial, count in self._form_examples()
            if count > 0
        )
        return _learn_forms(tuple(examples), self.n_tags)


# Grammars that are learnt one after the other differ in binarisation, not in words and tags.
@lru_cache(maxsize=1)
def _learn_forms(
    forms_found: tuple[tuple[tuple[str, ...], int, float], ...], n_tags: int
) -> tuple[tuple[str, ...], npt.NDArray[np.float32]]:
    """Learn P(tag | features) from features, tags and weights; return features that were seen twice, and their weights."""
    from sklearn.linear_model import LogisticRegression

    examples, targets, weights = zip(*forms_found, strict=True)
    frequency = Counter(feature for features in examples for feature in features)
    number = {
        feature: index for index, feature in enumerate(f for f, count in frequency.items() if count > 1)
    }
    fitted = np.zeros((len(number) + 1, n_tags), np.float32)
    fitted[-1] = -20.0  # tags that no rare word has
    if len(set(targets)) == 1 or not number:
        share = np.bincount(targets, weights, n_tags) / sum(weights)
        fitted[-1, share > 0] = np.log(share[share > 0])
    else:
        model = LogisticRegression(C=1.0, max_iter=100, tol=1e-3)
        model.fit(_indicators(examples, number), targets, sample_weight=weights)
        coefficients, bias = model.coef_, model.intercept_
        if len(model.classes_) == 2:
            coefficients = np.concatenate([-coefficients, coefficients]) / 2
            bias = np.concatenate([-bias, bias]) / 2
        fitted[:-1, model.classes_] = coefficients.T
        fitted[-1, model.classes_] = bias
    fitted.flags.writeable = False
    return tuple(number), fitted


def _indicators(examples: Sequence[Sequence[str]], number: Mapping[str, int]) -> sparse.csr_matrix:
    """Return the matrix that has a one where the example of a row has the feature of a column."""
    cells = [
        (row, number[feature])
        for row, features in enumerate(examples)
        for feature in features
        if feature in number
    ]
    rows, columns = np.array(cells, np.int64).reshape(-1, 2).T
    return sparse.csr_matrix((np.ones(len(cells)), (rows, columns)), shape=(len(examples), len(number)))
