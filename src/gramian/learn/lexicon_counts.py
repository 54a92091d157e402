"""Learning the lexicon: tags of unknown words from their form, states of rare words from words that look alike."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse

from gramian.corpus import Treebank
from gramian.corpus.productions import Productions
from gramian.corpus.tagged import TaggedWords
from gramian.corpus.vocab import suffix_chain, word_features
from gramian.errors import OptionError
from gramian.grammar.lexicon import Lexicon
from gramian.learn.smoothing import TINY
from gramian.learn.tables import LatentTables
from gramian.trees.labels import split_chain, unescape_label

__all__ = ["LexicalModel", "LexiconName", "StateScores", "is_penn_english"]

LexiconName: TypeAlias = Literal["auto", "suffix", "tag", "pos"]
Doubles = npt.NDArray[np.float64]

_OPEN_WORD = 100  # words seen up to so often may have tags they were not seen with
_FURTHER = (
    0.2  # of words seen more often, tagged text counts at most for this share of what the treebank counts
)
_LEAST = 1e-3  # ... if their form makes the tag at least so probable


def is_penn_english(bank: Treebank) -> bool:
    """Tell whether a treebank has the labels and tags of the Penn Treebank."""
    return {"NP", "VP", "PP", "NN", "IN", "DT", "VBZ"} <= set(bank.symbols)


class StateScores:
    """Scores of states given tag and word, and given tag and word class, as ratios to the tag's own shares.

    Attributes
    ----------
    pairs : ndarray of float
        Laid out as the lexical part of the tables.
    classes : dict of str to ndarray of float32
        By tag number and word class, ``"3 x/ing"``; the tag number alone stands for all rare words.
    """

    def __init__(self, like: npt.NDArray[np.floating]) -> None:
        self.pairs = np.empty_like(like)
        self.classes: dict[str, npt.NDArray[np.float32]] = {}


class _FurtherWords(NamedTuple):
    words: tuple[str, ...]  # that the treebank lacks
    counts: Doubles  # of the treebank's words, then of these, with each tag
    initial: Doubles  # ... at the beginning of a sentence


class LexicalModel:
    """Turns counts of words with tags and states into smoothed scores.

    A word's states are shrunk towards those of rare words that share its shape and suffix, these towards shorter suffixes, and so
    on up to the tag's own shares. Tags of unknown words are guessed by logistic regression on the forms of rare words.

    Parameters
    ----------
    bank : Treebank
    productions : Productions
    rare : int
        Words seen at most so often teach the model of unknown words.
    shrinkage : float
        Weight of the coarser distribution of states, in counts.
    tag_shrinkage : float
        Weight of the tags that a word's form suggests, in counts.
    suffixes : bool
        If false, rare words are told apart by their tag alone: all rare words of a tag share its states.
    tagged : TaggedWords, optional
        Further words with their tags.
    """

    def __init__(
        self,
        bank: Treebank,
        productions: Productions,
        *,
        rare: int = 10,
        shrinkage: float = 3.0,
        tag_shrinkage: float = 0.5,
        suffixes: bool = True,
        tagged: TaggedWords | None = None,
    ) -> None:
        self.bank, self.productions, self.tagged = bank, productions, tagged
        self.rare, self.shrinkage, self.tag_shrinkage, self.suffixes = (
            rare,
            shrinkage,
            tag_shrinkage,
            suffixes,
        )
        self._tag = productions.lexical[:, 0] - bank.n_phrases
        self._word = productions.lexical[:, 1]
        self.word_count = np.bincount(self._word, productions.lexical_count, len(bank.words)).astype(np.int64)
        self._is_rare = self.word_count[self._word] <= rare

    @classmethod
    def named(
        cls, name: LexiconName, bank: Treebank, productions: Productions, tagged: TaggedWords | None = None
    ) -> LexicalModel:
        """Return the model called ``"suffix"``: rare words are told apart by their shape and suffix; ``"tag"``: by their tag alone, with
        whatever morphology it holds; ``"pos"``: likewise, words seen up to five times only, and nothing is smoothed; or ``"auto"``:
        ``"suffix"`` for Penn-style English, ``"tag"`` for all others, as measured to be better.
        """
        if name == "auto":
            name = "suffix" if is_penn_english(bank) else "tag"
        settings: dict[str, dict[str, Any]] = {
            "suffix": {},
            "tag": {"suffixes": False},
            "pos": {"rare": 5, "shrinkage": 0.0, "tag_shrinkage": 0.0, "suffixes": False},
        }
        if name not in settings:
            raise OptionError(f"lexicon is 'auto', 'suffix', 'tag' or 'pos', not {name!r}")
        return cls(bank, productions, tagged=tagged, **settings[name])

    @cached_property
    def _levels(self) -> list[tuple[npt.NDArray[np.int64], list[str]]]:
        """For each length of suffix, the class of every (tag, word) pair, and the classes' names."""
        if not self.suffixes:
            return []
        chains = [suffix_chain(word) for word in self.bank.words]
        levels = []
        for level in range(max(map(len, chains), default=0)):
            names: dict[tuple[int, str], int] = {}
            numbers = [
                names.setdefault((tag, chains[word][min(level, len(chains[word]) - 1)]), len(names))
                for tag, word in zip(self._tag.tolist(), self._word.tolist(), strict=True)
            ]
            levels.append((np.array(numbers, np.int64), [f"{tag} {name}" for tag, name in names]))
        return levels

    def state_scores(self, counts: LatentTables) -> StateScores:
        """Smooth the states of words and word classes, given how often each pair was seen with each state."""
        layout, first = counts.layout, self.bank.n_phrases
        scores = StateScores(counts.lexical)
        for tag in range(self.bank.n_symbols - first):
            pairs = np.flatnonzero(self._tag == tag)
            cells = layout.lexical_start[pairs][:, None] + np.arange(layout.n_states[first + tag])
            count = counts.lexical[cells].astype(np.float64)
            shares = count.sum(axis=0) / max(count.sum(), 1e-300)
            self._smooth_tag(
                tag, pairs, count, count.sum(axis=1), shares, 1 / np.maximum(shares, 1e-30), scores, cells
            )
        return scores

    def mean_scores(self, operators: LatentTables) -> StateScores:
        """Smooth the mean vectors of pairs, given the operators: mean vectors times the share of the pair in its tag."""
        layout, first = operators.layout, self.bank.n_phrases
        scores = StateScores(operators.lexical)
        for tag in range(self.bank.n_symbols - first):
            pairs = np.flatnonzero(self._tag == tag)
            cells = layout.lexical_start[pairs][:, None] + np.arange(layout.n_states[first + tag])
            mass = self.productions.lexical_count[pairs].astype(np.float64)
            total = operators.lexical[cells] * mass.sum()
            self._smooth_tag(
                tag,
                pairs,
                total,
                mass,
                total.sum(axis=0) / mass.sum(),
                np.ones(cells.shape[1]),
                scores,
                cells,
            )
        return scores

    def _smooth_tag(
        self, tag: int, pairs: npt.NDArray[np.int64], total: Doubles, mass: Doubles, base: Doubles, ratio: Doubles,
        scores: StateScores, cells: npt.NDArray[np.int64],
    ) -> None:  # fmt: skip
        """Shrink the vectors `total`, each worth `mass` counts, of a tag's pairs step by step; store them times `ratio`."""
        rare = self._is_rare[pairs]
        everything = self._shrink(total[rare].sum(axis=0), mass[rare].sum(), base)
        scores.classes[str(tag)] = (everything * ratio).astype(np.float32)
        coarser = np.broadcast_to(everything, total.shape)
        for numbers, names in self._levels:
            used, place = np.unique(numbers[pairs], return_inverse=True)
            class_total, above = np.zeros((len(used), total.shape[1])), np.zeros((len(used), total.shape[1]))
            np.add.at(class_total, place[rare], total[rare])
            class_mass = np.bincount(place[rare], mass[rare], len(used))
            above[place] = coarser
            level = self._shrink(class_total, class_mass, above)
            coarser = level[place]
            for row in np.flatnonzero(
                class_mass > 1.5
            ):  # expected counts add up to whole numbers, but for rounding
                scores.classes[names[used[row]]] = (level[row] * ratio).astype(np.float32)
        own = self._shrink(total, mass, coarser)
        if not self.suffixes:
            own[rare] = everything
        scores.pairs[cells] = own * ratio

    def _shrink(self, total: Doubles, mass: npt.NDArray[np.number] | np.number, towards: Doubles) -> Doubles:
        weight = max(self.shrinkage, TINY)
        return (total + weight * towards) / (np.asarray(mass)[..., None] + weight)

    def build(self, scores: StateScores, n_states: npt.NDArray[np.int32]) -> Lexicon:
        """Return the lexicon for parsing; `n_states` is per symbol."""
        bank = self.bank
        n_tags = bank.n_symbols - bank.n_phrases
        tag_states = n_states[bank.n_phrases :]
        tag_count = np.bincount(self._tag, self.productions.lexical_count, n_tags)
        words = self._words
        seen = np.zeros((len(words), n_tags))
        seen[self._word, self._tag] = self.productions.lexical_count
        known = self._further.counts[: len(bank.words)]
        most = np.maximum(_FURTHER * self.word_count, _OPEN_WORD)
        seen[: len(bank.words)] += known * np.minimum(1, most / np.maximum(known.sum(axis=1), 1))[:, None]
        seen[len(bank.words) :] = self._further.counts[len(bank.words) :]
        total = seen.sum(axis=1, keepdims=True)
        form = self._known_forms
        is_open = total <= _OPEN_WORD
        probability = np.where(
            is_open, (seen + self.tag_shrinkage * form) / (total + self.tag_shrinkage), seen / total
        )
        word, tag = np.nonzero((seen > 0) | (is_open & (probability >= _LEAST)))
        features, weights = self._form_model
        class_names = tuple(scores.classes)
        lexicon = Lexicon(
            tags=tuple(map(unescape_label, bank.symbols[bank.n_phrases :])), n_states=tag_states,
            tag_prior=(tag_count / tag_count.sum()).astype(np.float32), words=words, word_count=total[:, 0].round().astype(np.int32),
            entry_start=np.searchsorted(word, np.arange(len(words) + 1)).astype(np.int32), entry_tag=tag.astype(np.int32),
            entry_probability=probability[word, tag].astype(np.float32), entry_states=np.zeros(0, np.float32),
            features=features, feature_weights=weights, classes=class_names,
            class_states=np.concatenate([scores.classes[name] for name in class_names]),
        )  # fmt: skip
        # States of an entry: as counted for the pair; zeros where the pair was not seen, and the word's class has a say.
        starts = np.concatenate([[0], np.cumsum(tag_states[tag], dtype=np.int64)])
        entry_states = np.zeros(int(starts[-1]), np.float32)
        entry_of = np.full((len(words), n_tags), -1, np.int64)
        entry_of[word, tag] = np.arange(len(word))
        entry = entry_of[self._word, self._tag]
        size = n_states[self.productions.lexical[:, 0]].astype(np.int64)
        pair_start = np.cumsum(size) - size
        entry_states[np.repeat(starts[entry] - pair_start, size) + np.arange(len(scores.pairs))] = (
            scores.pairs
        )
        return lexicon.with_states(entry_states)

    @cached_property
    def _further(self) -> _FurtherWords:
        """What tagged text adds: words that the treebank lacks, and counts of all words with the treebank's tags."""
        bank, tagged = self.bank, self.tagged
        n_tags = bank.n_symbols - bank.n_phrases
        if tagged is None:
            return _FurtherWords((), np.zeros((len(bank.words), n_tags)), np.zeros((len(bank.words), n_tags)))
        # Several tags of the grammar may be one tag of the treebank (``NP|NN`` and ``NN``): they share it by frequency.
        shares: dict[str, npt.NDArray[np.float64]] = {}
        count = np.bincount(self._tag, self.productions.lexical_count, n_tags)
        for tag, symbol in enumerate(bank.symbols[bank.n_phrases :]):
            shares.setdefault(split_chain(symbol)[-1], np.zeros(n_tags))[tag] = count[tag]
        number = {word: place for place, word in enumerate(bank.words)}
        fresh = [pair for pair in tagged.count if pair[1] in shares and pair[0] not in number]
        words = tuple(dict.fromkeys(word for word, _ in fresh))
        number |= {word: place for place, word in enumerate(words, len(bank.words))}
        tables = []
        for counts in (tagged.count, tagged.initial):
            table = np.zeros((len(number), n_tags))
            for (word, name), times in counts.items():
                if name in shares:
                    table[number[word]] += times * shares[name] / shares[name].sum()
            tables.append(table)
        return _FurtherWords(words, *tables)

    @property
    def _words(self) -> tuple[str, ...]:
        return (*self.bank.words, *self._further.words)

    @cached_property
    def _known_forms(self) -> Doubles:
        """P(tag | form) of all words of the lexicon."""
        return self.form_probabilities(self._words)

    @cached_property
    def top_tag(self) -> dict[str, str]:
        """The most frequent tag of each word."""
        order = np.lexsort((-self.productions.lexical_count, self._word))
        first = order[np.searchsorted(self._word[order], np.arange(len(self.bank.words)))]
        tags = [unescape_label(symbol) for symbol in self.bank.symbols[self.bank.n_phrases :]]
        top = {
            word: tags[self._tag[pair]] for word, pair in zip(self.bank.words, first.tolist(), strict=True)
        }
        further = self._further.counts[len(self.bank.words) :].argmax(axis=1).tolist()
        return top | {word: tags[tag] for word, tag in zip(self._further.words, further, strict=True)}

    def form_probabilities(self, words: Sequence[str]) -> Doubles:
        """Guess P(tag | form) of many words; shape (n_words, n_tags)."""
        features, weights = self._form_model
        number = {feature: place for place, feature in enumerate(features)}
        rows, columns = [], []
        for row, word in enumerate(words):
            found = [
                number[feature] for feature in word_features(word, False, self.top_tag) if feature in number
            ]
            columns += found
            rows += [row] * len(found)
        matrix = sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=(len(words), len(features)))
        logits = matrix @ weights[:-1].astype(np.float64) + weights[-1]
        logits -= logits.max(axis=1, keepdims=True)
        np.exp(logits, out=logits)
        return logits / logits.sum(axis=1, keepdims=True)

    @cached_property
    def _form_model(self) -> tuple[tuple[str, ...], npt.NDArray[np.float32]]:
        """Features and weights of P(tag | form), learnt from rare words."""
        from sklearn.linear_model import LogisticRegression

        bank, n_tags = self.bank, self.bank.n_symbols - self.bank.n_phrases
        initial = np.zeros(len(self._tag), np.int64)
        leaves = np.flatnonzero((bank.word >= 0) & (bank.start == 0))
        np.add.at(initial, self.productions.node_production[leaves], 1)
        examples: list[list[str]] = []
        targets: list[int] = []
        weights: list[float] = []
        rare = np.flatnonzero(self._is_rare) if self._is_rare.any() else np.arange(len(self._tag))
        for pair in rare.tolist():
            total = int(self.productions.lexical_count[pair])
            for is_initial, count in ((False, total - initial[pair]), (True, initial[pair])):
                if count:
                    examples.append(word_features(bank.words[self._word[pair]], is_initial, self.top_tag))
                    targets.append(int(self._tag[pair]))
                    weights.append(int(count))
        words = self._words
        table = self._further.counts
        rare_words = np.flatnonzero((table.sum(axis=1) > 0) & (table.sum(axis=1) <= self.rare))
        for word in rare_words.tolist():
            for tag in np.flatnonzero(table[word]).tolist():
                at_start = self._further.initial[word, tag]
                for is_initial, times in ((False, table[word, tag] - at_start), (True, at_start)):
                    if times > 0:
                        examples.append(word_features(words[word], is_initial, self.top_tag))
                        targets.append(tag)
                        weights.append(times)
        frequency: dict[str, int] = {}
        for features in examples:
            for feature in features:
                frequency[feature] = frequency.get(feature, 0) + 1
        number = {
            feature: place for place, feature in enumerate(f for f, count in frequency.items() if count > 1)
        }
        rows = [row for row, features in enumerate(examples) for f in features if f in number]
        columns = [number[f] for features in examples for f in features if f in number]
        matrix = sparse.csr_matrix((np.ones(len(rows)), (rows, columns)), shape=(len(examples), len(number)))
        fitted = np.full((len(number) + 1, n_tags), 0, np.float32)
        fitted[-1] = -20.0  # tags that no rare word has
        if len(set(targets)) == 1 or not number:
            share = np.bincount(targets, weights, n_tags) / sum(weights)
            fitted[-1, share > 0] = np.log(share[share > 0])
        else:
            model = LogisticRegression(C=1.0, max_iter=100, tol=1e-3)
            model.fit(matrix, targets, sample_weight=weights)
            coefficients, bias = model.coef_, model.intercept_
            if len(model.classes_) == 2:
                coefficients, bias = (
                    np.concatenate([-coefficients, coefficients]) / 2,
                    np.concatenate([-bias, bias]) / 2,
                )
            fitted[:-1, model.classes_] = coefficients.T
            fitted[-1, model.classes_] = bias
        return tuple(number), fitted
