"""A learnt grammar together with what is worth knowing about it: how, from what, and how well it was learnt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy.typing as npt

from gramian.grammar.lpcfg import LPCFG
from gramian.parsing.calibration import Calibration
from gramian.trees.labels import is_intermediate, split_chain

__all__ = ["Model"]


@dataclass(frozen=True)
class Model:
    """A grammar, or several that parse together, and its papers: free-form, as long as JSON can hold them.

    Attributes
    ----------
    grammar : LPCFG
    options : mapping
        The learner's options. ``"tokens"`` says how text is cut into words (``"penn"`` or ``"spaces"``).
    data : mapping
        What it was learnt from: names, sizes, licences, whom to credit.
    metrics : mapping
        Scores, with their signatures.
    report : mapping
        What the learner tells about the training.
    others : tuple of LPCFG
        Further grammars of the same treebank, whose posteriors are combined with those of `grammar`.
    expert : mapping of str to ndarray, optional
        A span CRF of the same treebank; see :func:`gramian.loglinear.span_store.pack`.
    expert_weight : float, optional
        What it counts beside the grammars, if that was tuned; see :data:`gramian.chart.combine.EXPERT_WEIGHT`.
    calibration : mapping of str to Calibration
        How posteriors become confidences, for each way to combine grammars; without it they are the same.
    reranker : mapping of str to ndarray, optional
        What chooses among the best trees of all these; see :func:`gramian.loglinear.rerank_store.pack`.
    """

    grammar: LPCFG
    options: Mapping[str, Any] = field(default_factory=dict)
    data: Mapping[str, Any] = field(default_factory=dict)
    metrics: Mapping[str, Any] = field(default_factory=dict)
    report: Mapping[str, Any] = field(default_factory=dict)
    others: tuple[LPCFG, ...] = ()
    expert: Mapping[str, npt.NDArray[Any]] | None = None
    expert_weight: float | None = None
    calibration: Mapping[str, Calibration] = field(default_factory=dict)
    reranker: Mapping[str, npt.NDArray[Any]] | None = None

    @property
    def grammars(self) -> tuple[LPCFG, ...]:
        """All grammars, the first one first."""
        return (self.grammar, *self.others)

    @property
    def labels(self) -> dict[str, list[str]]:
        """The treebank's labels of phrases and of words, free of the marks of binarisation."""
        grammar = self.grammar
        phrases: set[str] = set()
        tags: set[str] = set()
        for number, symbol in enumerate(grammar.symbols):
            if not is_intermediate(symbol):
                chain = split_chain(symbol)
                if number >= grammar.n_phrases:
                    tags.add(chain.pop())
                phrases.update(chain)
        return {"phrases": sorted(phrases), "tags": sorted(tags)}
