"""The maximisation step: latent counts to probabilities, of rules by shrinkage and of words by the lexical model."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.grammar import LPCFG
from gramian.learn.lexicon_counts import LexiconChoice, StateScores
from gramian.learn.observations import Observations
from gramian.learn.smoothing import Smoothing, estimate_rules, state_shares
from gramian.learn.tables import LatentTables

__all__ = ["Maximisation", "made_grammar"]


class Maximisation:
    """Turns latent counts over a treebank into tables for the next expectation step, or into a grammar."""

    def __init__(self, seen: Observations, smoothing: Smoothing, lexicon: LexiconChoice = "auto") -> None:
        self.seen, self.smoothing, self.lexicon = seen, smoothing, lexicon

    def tables(self, counts: LatentTables) -> LatentTables:
        """Return what an expectation step needs."""
        rules = estimate_rules(counts, self.smoothing)
        rules.lexical[:] = self.seen.lexical(self.lexicon).state_scores(counts).pairs
        return rules

    def grammar(self, counts: LatentTables) -> LPCFG:
        """Return the grammar."""
        rules = estimate_rules(counts, self.smoothing)
        scores = self.seen.lexical(self.lexicon).state_scores(counts)
        return made_grammar(self.seen, rules, scores, self.lexicon, state_shares(counts))


def made_grammar(
    seen: Observations,
    rules: LatentTables,
    scores: StateScores,
    lexicon: LexiconChoice,
    state_prior: npt.NDArray[np.float64],
    **weights: Any,
) -> LPCFG:
    """Return the grammar with these tables of rules and scores of words; `weights` are those of an :class:`LPCFG` of operators."""
    before, after = seen.boundaries
    n_states = rules.layout.n_states
    return LPCFG(
        symbols=seen.bank.symbols,
        n_phrases=seen.bank.n_phrases,
        n_states=n_states,
        state_prior=state_prior.astype(np.float32),
        root=rules.root.astype(np.float32),
        binary_rules=seen.productions.binary,
        binary=rules.binary.astype(np.float32),
        unary_rules=seen.productions.unary,
        unary=rules.unary.astype(np.float32),
        before=before,
        after=after,
        lexicon=seen.lexical(lexicon).build(scores, n_states),
        **weights,
    )
