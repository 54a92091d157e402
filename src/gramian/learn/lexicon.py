"""Learning the lexicon: tags of unknown words from their form, states of rare words from words that look alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from gramian.corpus import Treebank
from gramian.corpus.productions import Productions
from gramian.corpus.vocab import suffix_chain, word_features
from gramian.grammar.lexicon import Lexicon
from gramian.learn.tables import LatentTables, Layout

__all__ = ["LexicalModel"]


class LexicalModel:
    """Turns counts of words with tags and states into smoothed scores.

    A word's states are shrunk towards those of rare words that share its shape and suffix, these towards shorter suffixes, and so on up
    to the tag's own distribution.

    Parameters
    ----------
    bank : Treebank
    productions : Productions
    rare : int
        Words seen at most so often teach the model of unknown words.
    shrinkage : float
        Weight of the coarser distribution, in counts.
    """

    def __init__(self, bank: Treebank, productions: Productions, *, rare: int = 10, shrinkage: float = 3.0, tag_shrinkage: float = 0.5) -> None:
        self.bank, self.productions = bank, productions
        self.rare, self.shrinkage, self.tag_shrinkage = rare, shrinkage, tag_shrinkage
        self.word_count = np.bincount(productions.lexical[:, 1], productions.lexical_count, len(bank.words)).astype(np.int64)
        chains = [suffix_chain(word) for word in bank.words]
        self._levels: list[tuple[npt.NDArray[np.int64], list[str]]] = []
        tag = productions.lexical[:, 0].astype(np.int64) - bank.n_phrases
        for level in range(max(map(len, chains))):
            names: dict[tuple[int, str], int] = {}
            numbers = np.empty(len(tag), np.int64)
            for pair, (t, w) in enumerate(zip(tag.tolist(), productions.lexical[:, 1].tolist(), strict=True)):
                chain = chains[w]
                numbers[pair] = names.setdefault((t, chain[min(level, len(chain) - 1)]), len(names))
            self._levels.append((numbers, [f"{t} {name}" for t, name in names]))
        self._is_rare = self.word_count[productions.lexical[:, 1]] <= rare

    def state_distributions(self, counts: LatentTables) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32], dict[str, npt.NDArray[np.float32]]]:
        """Return P(state | tag, word) of all pairs, P(state | tag) per symbol, and P(state | tag, class)."""
        layout, bank = counts.layout, self.bank
        smoothed = np.empty_like(counts.lexical)
        prior = np.zeros(int(layout.root_start[-1]), np.float32)
        classes: dict[str, npt.NDArray[np.float32]] = {}
        pair_tag = self.productions.lexical[:, 0]
        for symbol in range(bank.n_phrases, bank.n_symbols):
            pairs = np.flatnonzero(pair_tag == symbol)
            states = int(layout.n_states[symbol])
            cells = layout.lexical_start[pairs][:, None] + np.arange(states)
            count = counts.lexical[cells].astype(np.float64)
            total = count.sum(axis=0)
            base = total / total.sum()
            prior[layout.root_start[symbol] : layout.root_start[symbol + 1]] = base
            rare = self._is_rare[pairs]
            rare_total = count[rare].sum(axis=0)
            back = np.broadcast_to(self._shrink(rare_total, base), count.shape)
            classes[str(symbol - bank.n_phrases)] = back[0].astype(np.float32) if len(back) else base.astype(np.float32)
            for numbers, names in self._levels:
                used, place = np.unique(numbers[pairs], return_inverse=True)
                sums = np.zeros((len(used), states))
                np.add.at(sums, place[rare], count[rare])
                above = np.zeros((len(used), states))
                above[place] = back
                level = self._shrink(sums, above)
                back = level[place]
                seen = np.zeros(len(used), bool)
                seen[place[rare]] = True
                for row in np.flatnonzero(seen):
                    classes[names[used[row]]] = level[row].astype(np.float32)
            smoothed[cells] = self._shrink(count, back)
        return smoothed, prior, classes

    def _shrink(self, count: npt.NDArray[np.float64], towards: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        return (count + self.shrinkage * towards) / (count.sum(axis=-1, keepdims=True) + self.shrinkage)

    def emissions(self, counts: LatentTables) -> npt.NDArray[np.float32]:
        """Return P(state | tag, word) / P(state | tag) of all pairs: what the expectation step needs."""
        smoothed, prior, _ = self.state_distributions(counts)
        return self._ratio(counts.layout, smoothed, prior)

    def _ratio(self, layout: Layout, smoothed: npt.NDArray[np.float32], prior: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        tag = self.productions.lexical[:, 0]
        cells = np.repeat(layout.root_start[tag] - layout.lexical_start[:-1], layout.n_states[tag]) + np.arange(len(smoothed))
        return smoothed / np.maximum(prior[cells], 1e-30)

    def build(self, counts: LatentTables) -> Lexicon:
        """Return the lexicon for parsing."""
        bank, layout, productions = self.bank, counts.layout, self.productions
        smoothed, prior, classes = self.state_distributions(counts)
        n_tags = bank.n_symbols - bank.n_phrases
        tag_count = np.bincount(productions.lexical[:, 0] - bank.n_phrases, productions.lexical_count, n_tags)
        tag_prior = tag_count / tag_count.sum()
        features, weights = self._fit_tagger()
        skeleton = Lexicon(
            tags=bank.symbols[bank.n_phrases :], n_states=layout.n_states[bank.n_phrases :], tag_prior=tag_prior.astype(np.float32),
            words=bank.words, word_count=self.word_count.astype(np.int32),
            entry_start=np.zeros(1, np.int32), entry_tag=np.zeros(0, np.int32), entry_probability=np.zeros(0, np.float32),
            entry_states=np.zeros(0, np.float32), features=features, feature_weights=weights, classes=(), class_states=np.zeros(0, np.float32),
        )  # fmt: skip
        object.__setattr__(skeleton, "top_tag", self.top_tag)
        class_names = []
        class_values = []
        for name, value in classes.items():
            symbol = int(name.partition(" ")[0]) + bank.n_phrases
            class_names.append(name)
            class_values.append(value / np.maximum(prior[layout.root_start[symbol] : layout.root_start[symbol + 1]], 1e-30))
        with_classes = _replace(skeleton, classes=tuple(class_names), class_states=np.concatenate(class_values).astype(np.float32))

        # Entries: seen tags, and for words of up to a hundred occurrences what their form suggests.
        ratio = self._ratio(layout, smoothed, prior)
        order = np.lexsort((productions.lexical[:, 0], productions.lexical[:, 1]))
        words, tags, counts_ = productions.lexical[order, 1], productions.lexical[order, 0] - bank.n_phrases, productions.lexical_count[order]
        word_start = np.searchsorted(words, np.arange(len(bank.words) + 1))
        entry_start, entry_tag, entry_probability, entry_states = [0], [], [], []
        for w, word in enumerate(bank.words):
            total = self.word_count[w]
            seen = {int(tags[p]): p for p in range(word_start[w], word_start[w + 1])}
            form = skeleton.tag_probabilities(word) if total <= 100 else None
            kappa = self.tag_shrinkage
            found: list[tuple[int, float]] = []
            if form is None:
                found = [(t, counts_[p] / total) for t, p in seen.items()]
            else:
                for t in range(n_tags):
                    probability = ((counts_[seen[t]] if t in seen else 0) + kappa * form[t]) / (total + kappa)
                    if t in seen or probability >= 1e-3:
                        found.append((t, probability))
            for t, probability in found:
                entry_tag.append(t)
                entry_probability.append(probability)
                if t in seen:
                    pair = order[seen[t]]
                    entry_states.append(ratio[layout.lexical_start[pair] : layout.lexical_start[pair + 1]])
                else:
                    entry_states.append(with_classes.states_of(t, word))
            entry_start.append(len(entry_tag))
        return _replace(
            with_classes, entry_start=np.array(entry_start, np.int32), entry_tag=np.array(entry_tag, np.int32),
            entry_probability=np.array(entry_probability, np.float32), entry_states=np.concatenate(entry_states).astype(np.float32),
        )  # fmt: skip

    @property
    def top_tag(self) -> dict[str, str]:
        """The most frequent tag of each word."""
        lexical, bank = self.productions.lexical, self.bank
        order = np.lexsort((-self.productions.lexical_count, lexical[:, 1]))
        first = order[np.searchsorted(lexical[order, 1], np.arange(len(bank.words)))]
        return {word: bank.symbols[lexical[pair, 0]] for word, pair in zip(bank.words, first, strict=True)}

    def _fit_tagger(self) -> tuple[tuple[str, ...], npt.NDArray[np.float32]]:
        """Learn P(tag | form) by logistic regression on rare words."""
        if hasattr(self, "_tagger"):
            return self._tagger
        from sklearn.linear_model import LogisticRegression

        bank, lexical = self.bank, self.productions.lexical
        rare = np.flatnonzero(self._is_rare)
        top = self.top_tag
        initial_count = np.zeros(len(lexical), np.int64)
        leaves = np.flatnonzero((bank.word >= 0) & (bank.start == 0))
        np.add.at(initial_count, self.productions.node_production[leaves], 1)
        rows, columns, targets, weights = [], [], [], []
        names: dict[str, int] = {}
        for pair in rare:
            tag, word = lexical[pair]
            total, first = self.productions.lexical_count[pair], initial_count[pair]
            for is_initial, count in ((False, total - first), (True, first)):
                if count:
                    for feature in word_features(bank.words[word], is_initial, top):
                        rows.append(len(targets))
                        columns.append(names.setdefault(feature, len(names)))
                    targets.append(tag - bank.n_phrases)
                    weights.append(count)
        matrix = sparse.csr_matrix((np.ones(len(rows), np.float32), (rows, columns)), shape=(len(targets), len(names)))
        common = np.asarray(matrix.sum(axis=0)).ravel() >= 2
        matrix = matrix[:, common]
        n_tags = bank.n_symbols - bank.n_phrases
        model = LogisticRegression(C=1.0, max_iter=100, tol=1e-3)
        model.fit(matrix, np.array(targets), sample_weight=np.array(weights, float))
        table = np.zeros((matrix.shape[1] + 1, n_tags), np.float32)
        table[-1] = -20.0
        coefficients, bias = model.coef_, model.intercept_
        if len(model.classes_) == 2:
            coefficients, bias = np.concatenate([-coefficients, coefficients]) / 2, np.concatenate([-bias, bias]) / 2
        table[:-1, model.classes_] = coefficients.T
        table[-1, model.classes_] = bias
        self._tagger = tuple(name for name, keep in zip(names, common, strict=True) if keep), table
        return self._tagger


def _replace(lexicon: Lexicon, **changes: object) -> Lexicon:
    from dataclasses import fields

    values = {f.name: getattr(lexicon, f.name) for f in fields(lexicon)} | changes
    return Lexicon(**values)  # type: ignore[arg-type]
