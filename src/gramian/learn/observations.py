"""What learners see of a treebank, computed once and shared: productions, words, features, trees to infer over."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np
import numpy.typing as npt

from gramian.corpus import Treebank
from gramian.corpus.productions import Productions
from gramian.corpus.tagged import TaggedWords
from gramian.corpus.vocab import Vocabulary, suffix_chain
from gramian.errors import OptionError
from gramian.features import NodeView
from gramian.features.head_words import head_leaves
from gramian.grammar import LPCFG
from gramian.learn.lexicon_counts import LexicalModel, LexiconName
from gramian.learn.smoothing import Smoothing, estimate_rules, state_shares
from gramian.learn.states import Allocation, States, allocate_states
from gramian.learn.tables import LatentTables
from gramian.learn.tree_inference import TreeInference
from gramian.trees import HeadRules

__all__ = ["Observations"]

_FEATURE_WORD = 6  # words seen less often are replaced by their class in features


class Observations:
    """A treebank with everything learners derive from it.

    Parameters
    ----------
    bank : Treebank
    heads : HeadRules, optional
        Without them, features of head words say nothing.
    jobs : int
        Threads; no result depends on it.
    lexicon : {"auto", "suffix", "tag", "pos"}
        What rare words share; see :meth:`gramian.learn.lexicon_counts.LexicalModel.named`.
    tagged : TaggedWords, optional
        Further words with their tags, for the lexicon.
    keep_features : bool
        Whether the values of features are kept for the next learner; they take some 200 bytes a node.
    """

    def __init__(
        self,
        bank: Treebank,
        *,
        heads: HeadRules | None = None,
        jobs: int = 1,
        lexicon: LexiconName = "auto",
        tagged: TaggedWords | None = None,
        keep_features: bool = False,
    ) -> None:
        self.bank, self.heads, self.jobs = bank, heads, jobs
        self.keep_features = keep_features
        self.kept_features: dict[str, tuple[list[npt.NDArray[np.int64]], list[npt.NDArray[np.int64]]]] = {}
        self.productions = Productions.of(bank)
        self.lexical = LexicalModel.named(lexicon, bank, self.productions, tagged)

    @cached_property
    def label_count(self) -> npt.NDArray[np.int64]:
        """How often each symbol occurs."""
        return np.bincount(self.bank.label, minlength=self.bank.n_symbols)

    def name(self, symbol: int) -> str:
        """Return what reports call a symbol: tags begin with a slash, since a phrase may have the same label."""
        return ("" if symbol < self.bank.n_phrases else "/") + self.bank.symbols[symbol]

    def allocate(
        self, states: States, allocation: Allocation = "root", growth: float = 0.25
    ) -> npt.NDArray[np.int32]:
        """Return the number of states of each symbol: as named, or by :func:`gramian.learn.states.allocate_states`."""
        if not isinstance(states, Mapping):
            return allocate_states(self.label_count, states, allocation, growth)
        number = np.array([states.get(self.name(symbol), 1) for symbol in range(self.bank.n_symbols)])
        if number.dtype.kind != "i" or number.min(initial=1) < 1:
            raise OptionError("numbers of states are whole, 1 or more")
        return number.astype(np.int32)

    @cached_property
    def trees(self) -> TreeInference:
        """Inside-outside over the observed trees."""
        return TreeInference(self.bank, self.productions, self.jobs)

    @cached_property
    def view(self) -> NodeView:
        """The nodes, as feature templates see them."""

        def signature(word: str) -> str:
            return suffix_chain(word, longest=2)[-1] if self.lexical.suffixes else ""

        word_class = Vocabulary.of(self.bank).classes(_FEATURE_WORD, signature)
        head = None if self.heads is None else head_leaves(self.bank, self.heads)
        return NodeView(self.bank, word_class, head)

    @cached_property
    def boundaries(self) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
        """What stands just before and just after each symbol; see :class:`gramian.grammar.LPCFG`."""
        bank, view = self.bank, self.view
        edge = bank.n_symbols - bank.n_phrases
        tables = []
        for neighbour in (view.before, view.after):
            tag = view.label[neighbour][:-1]
            tag = np.where(tag < 0, edge, tag - bank.n_phrases)
            count = np.zeros((bank.n_symbols, edge + 1))
            np.add.at(count, (bank.label, tag), 1)
            overall = count.sum(axis=0) / count.sum()
            tables.append((count + 5 * overall) / (count.sum(axis=1, keepdims=True) + 5))
        share = self.label_count / self.label_count.sum()
        return (tables[0] * share[:, None]).astype(np.float32), tables[1].astype(np.float32)

    def grammar(self, counts: LatentTables, smoothing: Smoothing) -> LPCFG:
        """Turn latent counts into a grammar."""
        shares = state_shares(counts)
        rules = estimate_rules(counts, smoothing, shares)
        before, after = self.boundaries
        return LPCFG(
            symbols=self.bank.symbols, n_phrases=self.bank.n_phrases, n_states=counts.layout.n_states,
            state_prior=shares.astype(np.float32), root=rules.root.astype(np.float32),
            binary_rules=self.productions.binary, binary=rules.binary.astype(np.float32),
            unary_rules=self.productions.unary, unary=rules.unary.astype(np.float32), before=before, after=after,
            lexicon=self.lexical.build(self.lexical.state_scores(counts), counts.layout.n_states),
        )  # fmt: skip

    def tables(self, counts: LatentTables, smoothing: Smoothing) -> LatentTables:
        """Turn latent counts into what an expectation step needs."""
        rules = estimate_rules(counts, smoothing)
        rules.lexical[:] = self.lexical.state_scores(counts).pairs
        return rules
