"""A span CRF beside grammars: its posteriors of the items and edges of their forests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gramian.chart.combine import ExpertPosterior, label_numbers, sentence_weight
from gramian.chart.forest import Forest
from gramian.errors import OptionError
from gramian.experts.expert_part import EXPERT_KINDS
from gramian.experts.span_forests import likely_part
from gramian.experts.span_model import SpanModel
from gramian.grammar import LPCFG

_LEAST_POSTERIOR = 1e-5  # of the grammar; what has less is not looked at


class CRFExpert:
    """A span CRF that reads the forests of one grammar; safe to share between threads.

    Parameters
    ----------
    model : SpanModel
    grammar : LPCFG
        Learnt from the same treebank, binarised in the same way.
    weight : float
        Beside grammars; see :class:`gramian.chart.combine.Expert`.

    Examples
    --------
    >>> from gramian.chart.chart_parser import ChartParser
    >>> from gramian.treebank import Treebank
    >>> from gramian.experts import SpanCRF
    >>> from gramian.trees import Tree
    >>> bank = Treebank.from_trees([Tree.parse("(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)))")])
    >>> crf = SpanCRF(max_iter=1).fit(bank)
    >>> chart, words = ChartParser(crf.grammar_), ["the", "cat", "sleeps"]
    >>> forest = chart.forest([crf.grammar_.lexicon.score(word) for word in words])
    >>> CRFExpert(crf.model_, crf.grammar_).posterior(words, forest).forest.root_posterior.max()
    np.float32(1.0)
    """

    name = "crf"

    def __init__(self, model: SpanModel, grammar: LPCFG, weight: float = EXPERT_KINDS["crf"].weight) -> None:
        self.model, self.weight = model, weight
        numbers = label_numbers(model.symbols, model.n_phrases)
        keys = label_numbers(grammar.symbols, grammar.n_phrases)
        unknown = [symbol for is_phrase, symbol in keys if (is_phrase, symbol) not in numbers]
        if unknown:
            raise OptionError(
                f"the span CRF does not know the grammar's symbol {unknown[0]!r}; "
                "try: learning both from the same treebank, binarised in the same way"
            )
        self._symbol = np.array([numbers[key] for key in keys], np.int32)

    def posterior(self, words: Sequence[str], forest: Forest) -> ExpertPosterior | None:
        """Return a forest with this model's posteriors instead of the grammar's; None if it has no tree.

        What the grammar gives next to no posterior is not looked at, and has none here either.
        """
        part, items, edges = likely_part(forest, _LEAST_POSTERIOR)
        found = self.model.posteriors(words, part._replace(item_symbol=self._symbol[part.item_symbol]))
        if found.log_total == -np.inf:
            return None
        item, root = np.zeros((2, len(forest.item_symbol)), np.float32)
        edge = np.zeros(len(forest.edge_left), np.float32)
        item[items], root[items], edge[edges] = found.item, found.root, found.edge
        judged = replace(
            forest, item_posterior=item, edge_posterior=edge, root_posterior=root, labels_over_spans=None
        )
        return ExpertPosterior(judged, sentence_weight(self.weight, self.model.known_share(words)))
