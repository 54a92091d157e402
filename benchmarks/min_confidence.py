"""Precision and recall of trees without the phrases that the parser doubts, for several thresholds.

python -m benchmarks.min_confidence MODEL DEV [--least 0 0.3 0.5 0.7 0.9 0.97]

Sentences are parsed once; at each threshold the phrases below it are left out, as gramian parse --set min_confidence does. DEV is brought
into the normal form of the model's treebank.
"""

import argparse
import json

ARGUMENTS = ("model.grammar", "dev.mrg")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model")
    parser.add_argument("dev")
    parser.add_argument("--least", nargs="+", type=float, default=[0, 0.3, 0.5, 0.7, 0.9, 0.97])
    options = parser.parse_args()

    import gramian
    from gramian.evaluate import GoldBrackets
    from gramian.trees import normalise, read_trees
    from gramian.trees.scheme import find_scheme

    loaded = gramian.load(options.model)
    scheme, trees = find_scheme(read_trees(options.dev), loaded.model.preset or "auto")
    gold = [tree for tree in (normalise(tree, scheme.options).tree for tree in trees) if not tree.is_empty]
    results = list(loaded.parse_many([list(tree.words) for tree in gold]))
    brackets = GoldBrackets(gold)
    rows = []
    for least in options.least:
        scores = brackets.score([result.drop_uncertain(least).tree for result in results])
        rows.append(
            {
                "least": least,
                "precision": round(scores.precision, 2),
                "recall": round(scores.recall, 2),
                "f1": round(scores.f1, 2),
            }
        )
    doubtful = sum(result.confidence < 0.5 for result in results)
    ratio = (100 - rows[-1]["precision"]) / max(1e-9, 100 - rows[0]["precision"])
    print(
        json.dumps(
            {
                "sentences": len(gold),
                "with a phrase below 0.5": doubtful,
                "thresholds": rows,
                "wrong phrases, last / first": round(ratio, 3),
            },
            indent=2,
        )
    )


if __name__ == "__main__":
    main()
