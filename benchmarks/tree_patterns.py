"""Whether search and a slow evaluator of the definitions count the same nodes: L2SCA's patterns and 100 others.

    python -m benchmarks.tree_patterns TREES [--trees 200]

TREES is a treebank. Prints the number of patterns and of matches, the patterns with different counts, and the ratio of times.
"""

import argparse
import json
import sys
import time
from itertools import islice
from pathlib import Path

from benchmarks import machine

_RELATIONS = [
    "<", "<,", "<-", "<:", "<#", "<<", "<<,", "<<-", "<<:", "<<#", "!<", "!<<", "<2", "<-2", "$", "$.", "$,", "$..", "$,,", ".", ",",
    "<+(NP|VP)", ".+(/^[DJ]/)", "<=", "?<",
]  # fmt: skip
_ENDS = [("NP", "PP|SBAR"), ("VP", "@NP !< PRP"), ("__", "/^VB/"), ("/^S/", "(VP [< TO | <# MD] $,, __)")]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("source")
    parser.add_argument("--trees", type=int, default=200)
    options = parser.parse_args()
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "oracle"))
    from pattern_reference import count

    from gramian.complexity.structures import PATTERNS
    from gramian.search.pattern_parser import parse_pattern
    from gramian.search.table_match import TableMatcher
    from gramian.trees import NormaliseOptions, normalise, read_trees

    own = [
        f"{subject} {relation} {target if target[0] == '(' else f'({target})'}"
        for relation in _RELATIONS
        for subject, target in _ENDS
    ]
    published = ["ROOT", *(pattern for patterns in PATTERNS.values() for pattern in patterns)]
    shape = NormaliseOptions(root="add", same_unaries=False)
    trees = [normalise(tree, shape).tree for tree in islice(read_trees(options.source), options.trees)]
    texts = [str(tree) for tree in trees]
    differing, n_matches, fast, slow = [], 0, 0.0, 0.0
    for text in published + own:
        pattern = parse_pattern(text)
        began = time.process_time()
        counts = TableMatcher(pattern).counts(texts)
        assert counts is not None
        between = time.process_time()
        expected = [count(pattern, tree) for tree in trees]
        fast, slow = fast + between - began, slow + time.process_time() - between
        n_matches += sum(expected)
        if counts.tolist() != expected:
            differing.append(text)
    print(json.dumps({
        "benchmark": "tree patterns", "trees": len(trees), "published patterns": len(published), "other patterns": len(own),
        "matches": n_matches, "patterns with different counts": differing, "reference over search": round(slow / fast), **machine.about(),
    }, indent=1))  # fmt: skip


if __name__ == "__main__":
    main()
