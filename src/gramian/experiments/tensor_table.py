"""One grammar, its rules approximated at several ranks and gates: the time of a sentence and F1 (Cohen and Collins 2012, table 1).

Factors are fitted once for each rank; the gates only choose which rules use them.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from gramian.grammar import LPCFG
    from gramian.trees import Tree

__all__ = ["GATES", "TensorRow", "tensor_table"]

GATES = (0.0, 1e-8, 1e-6, 1e-5, 1e-3, 0.1)
"""The gates of the paper; 0 is the exact grammar."""


@dataclass(frozen=True)
class TensorRow:
    """How a grammar does at one rank and gate.

    Attributes
    ----------
    rank : int
    gate : float
    low_rank : float
        Share of an average sentence's binary rules that are of low rank.
    seconds : float
        Processor time of a sentence, all passes.
    f1, f1_gold_tags : float
    gamma : float
        The largest error of a rule.
    """

    rank: int
    gate: float
    low_rank: float
    seconds: float
    f1: float
    f1_gold_tags: float
    gamma: float


def tensor_table(
    grammar: LPCFG,
    gold: Sequence[Tree],
    *,
    ranks: Sequence[int] = (2, 8),
    gates: Sequence[float] = GATES,
    measure: Literal["relative", "absolute"] = "absolute",
    signed: bool = True,
    starts: int = 1,
    random_state: int = 0,
    repeats: int = 1,
) -> list[TensorRow]:
    """Parse the words of gold trees with a grammar approximated at every rank and gate.

    Parameters
    ----------
    grammar : LPCFG
        With whole rules.
    gold : sequence of Tree
        Normalised, none empty.
    ranks, gates : sequences
    measure, signed, starts, random_state
        As for :func:`~gramian.grammar.lowrank.compress`; by default as in the paper.
    repeats : int
        How often all is parsed; the fastest time counts.

    Returns
    -------
    list of TensorRow
        By rank, then gate.
    """
    from gramian.evaluate import GoldBrackets
    from gramian.grammar.lowrank import compress
    from gramian.parser import Parser

    scorer = GoldBrackets(list(gold))
    sentences = [list(tree.words) for tree in gold]
    rows: list[TensorRow] = []
    for rank in ranks:
        fitted = compress(grammar, rank, signed=signed, starts=starts, random_state=random_state)
        for gate in gates:
            small = fitted.within(gate, measure)
            parser = Parser(small.grammar, max_seconds=None)
            parser.parse(sentences[0])  # compiles
            seconds = float("inf")
            for _ in range(repeats):
                began = time.process_time()
                trees = [result.tree for result in parser.parse_many(sentences)]
                seconds = min(seconds, time.process_time() - began)
            score, factors = scorer.score(trees), small.grammar.factors
            low = 0.0 if factors is None else float(small.uses[factors.rank > 0].sum() / small.uses.sum())
            rows.append(
                TensorRow(
                    rank, gate, low, seconds / len(sentences), score.f1, score.f1_gold_tags, small.gamma
                )
            )
    return rows
