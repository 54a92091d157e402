"""Does the probability that a tree is right mean what it says, and how many wrong trees does the threshold of confidence catch?

    python -m benchmarks.exact_probability DEV.mrg ... [--model MODEL] [--figure FILE.svg]

Prints one JSON object for each file: calibration error over ten bins of equal width, area under the ROC curve, and for several thresholds
of the least confidence the share of wrong trees below it, and of trees below it that are wrong. A tree is right if all its brackets are
gold's, as EVALB counts them with gold's tags put in. The figure shows all files together.
"""

import argparse
import json
from typing import Any

import numpy as np

ARGUMENTS = ("dev.mrg",)
THRESHOLDS = (0.5, 0.6, 0.7, 0.8, 0.9)


def draw(path: str, found: Any) -> None:
    """Draw the share of right trees over the probability, the area of a dot the number of trees."""
    import matplotlib

    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "gramian", "font.size": 11}):
        from matplotlib.figure import Figure

        canvas = Figure(figsize=(4.6, 4.4), layout="constrained")
        axes = canvas.add_subplot()
        axes.plot([0, 1], [0, 1], color="#7f7f7f", linewidth=1)
        sizes = [12 + 800 * one.count / found.count for one in found.bins]
        axes.scatter(
            [one.confidence for one in found.bins],
            [one.right for one in found.bins],
            s=sizes,
            alpha=0.7,
            linewidths=0,
        )
        axes.set(
            xlabel="probability that the tree is right",
            ylabel="share of right trees",
            xlim=(0, 1.03),
            ylim=(0, 1.03),
        )
        canvas.savefig(path, metadata={"Date": None} if path.endswith(".svg") else None)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("dev", nargs="+")
    parser.add_argument("--model")
    parser.add_argument("--figure", help="draw a reliability diagram into this file")
    options = parser.parse_args()

    from sklearn.metrics import roc_auc_score
    from tools.english.scheme import gold_trees, penn_labels

    import gramian
    from gramian.evaluate import GoldBrackets, reliability

    loaded = gramian.load(options.model)
    told: list[float] = []
    came: list[bool] = []
    for path in options.dev:
        gold = [penn_labels(tree) for tree in gold_trees(path)]
        results = list(loaded.parse_many([list(tree.words) for tree in gold]))
        right = np.array([
            GoldBrackets([tree]).score([result.tree]).exact == 100.0 for tree, result in zip(gold, results, strict=True)
        ])  # fmt: skip
        probability = np.array([result.exact_probability for result in results])
        least = np.array([result.confidence for result in results])
        found = reliability(probability, right, bins=10)
        print(json.dumps({
            "benchmark": "exact_probability", "dev": path, "sentences": len(gold), "right": round(100 * found.right, 1),
            "mean probability": round(100 * found.confidence, 1), "calibration error": round(found.ece, 3),
            "area under ROC": round(float(roc_auc_score(right, probability)), 3),
            "wrong trees caught, and right about it": {
                threshold: [round(float((least < threshold)[~right].mean()), 3), round(float((~right)[least < threshold].mean()), 3)]
                for threshold in THRESHOLDS
            },
        }))  # fmt: skip
        told += probability.tolist()
        came += right.tolist()
    if options.figure:
        draw(options.figure, reliability(told, came, bins=10))


if __name__ == "__main__":
    main()
