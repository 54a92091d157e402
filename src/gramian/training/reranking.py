"""Candidates of sentences that a model has not seen, for a reranker to learn from."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gramian.loglinear.rerank_candidates import candidates
from gramian.loglinear.rerank_scored import scored, written_candidates
from gramian.parsing.parser import Parser
from gramian.training.folds import HeldOut

__all__ = ["fold_candidates"]


def fold_candidates(fold: HeldOut, *, k: int, expert_weight: float | None = None) -> dict[str, Any]:
    """Return the candidates of a fold's sentences with their scores; :func:`gramian.loglinear.rerank_scored.read_candidates` reads them.

    Parameters
    ----------
    fold : HeldOut
    k : int
        The most candidates of a sentence.
    expert_weight : float, optional
        What the expert counts, if it is not the default; see :class:`gramian.parsing.model.Model`.

    Returns
    -------
    dict of JSON values
    """
    parser = Parser(replace(fold.model, expert_weight=expert_weight))
    found = []
    for tree in fold.trees:
        forest = parser.forest(tree.words)
        if forest is not None:
            trees, _ = candidates(forest, k)
            if len(trees):
                found.append(scored(tuple(tree.words), trees, tree))
    return written_candidates(found)
