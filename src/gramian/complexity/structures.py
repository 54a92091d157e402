"""Counts of syntactic structures by the patterns that Lu published (L2SCA).

Lu, X. (2010): Automatic analysis of syntactic complexity in second language writing. International Journal of Corpus Linguistics 15(4). The
patterns are written for Penn-style trees below a node ROOT; heads are those of Collins.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from gramian.search.pattern_parser import parse_pattern
from gramian.search.table_match import TableMatcher

_FINITE = "MD|VBP|VBZ|VBD"
_CLAUSE = (
    f"S|SINV|SQ [> ROOT <, (VP <# VB) | <# {_FINITE} | < (VP [<# {_FINITE} | < CC < (VP <# {_FINITE})])]"
)
_T_UNIT = "S|SBARQ|SINV|SQ > ROOT | [$-- S|SBARQ|SINV|SQ !>> SBAR|VP]"

PATTERNS: dict[str, tuple[str, ...]] = {
    "VP": ("VP > S|SINV|SQ", "MD|VBZ|VBP|VBD > (SQ !< VP)"),
    "C": (_CLAUSE, f"FRAG > ROOT !<< ({_CLAUSE})"),
    "T": (_T_UNIT, f"FRAG > ROOT !<< ({_T_UNIT})"),
    "DC": (f"SBAR < ({_CLAUSE})",),
    "CT": (f"S|SBARQ|SINV|SQ [> ROOT | [$-- S|SBARQ|SINV|SQ !>> SBAR|VP]] << (SBAR < ({_CLAUSE}))",),
    "CP": ("ADJP|ADVP|NP|VP < CC",),
    "CN": (
        "NP !> NP [<< JJ|POS|PP|S|VBG | << (NP $++ NP !$+ CC)]",
        "SBAR [<# WHNP | <# (IN < That|that|For|for) | <, S] & [$+ VP | > VP]",
        "S < (VP <# VBG|TO) $+ VP",
    ),
}
"""Patterns of verb phrases, clauses, T-units, dependent clauses, complex T-units, coordinate phrases and complex nominals.

A structure is counted wherever one of its patterns matches; fragments count as clauses and T-units if they contain none.
"""

INDICES: dict[str, tuple[str, str]] = {
    "MLS": ("W", "S"),
    "MLT": ("W", "T"),
    "MLC": ("W", "C"),
    "C/S": ("C", "S"),
    "VP/T": ("VP", "T"),
    "C/T": ("C", "T"),
    "DC/C": ("DC", "C"),
    "DC/T": ("DC", "T"),
    "T/S": ("T", "S"),
    "CT/T": ("CT", "T"),
    "CP/T": ("CP", "T"),
    "CP/C": ("CP", "C"),
    "CN/T": ("CN", "T"),
    "CN/C": ("CN", "C"),
}
"""The fourteen indices: numerator and denominator; the first three are mean lengths of sentence, T-unit and clause."""


def structure_matchers() -> list[list[TableMatcher]]:
    """Return matchers of the patterns of each structure."""
    return [[TableMatcher(parse_pattern(pattern)) for pattern in patterns] for patterns in PATTERNS.values()]


def count_structures(trees: Sequence[str], matchers: list[list[TableMatcher]]) -> npt.NDArray[np.int64]:
    """Return the counts of bracket texts with a ROOT, in the order of :data:`PATTERNS`, of shape (n_trees, n_structures).

    Examples
    --------
    >>> tree = "(ROOT (S (NP (PRP I)) (VP (VBP know) (SBAR (IN that) (S (NP (PRP you)) (VP (VBP sleep)))))))"
    >>> dict(zip(PATTERNS, count_structures([tree], structure_matchers())[0].tolist()))
    {'VP': 2, 'C': 2, 'T': 1, 'DC': 1, 'CT': 1, 'CP': 0, 'CN': 1}
    """
    columns = []
    for structure in matchers:
        counts = [matcher.counts(trees) for matcher in structure]
        columns.append(sum(count for count in counts if count is not None))
    return np.array(columns).reshape(len(PATTERNS), len(trees)).T
