"""Do confidences mean what they say? Calibration error of the best tree's phrases and tags, before and after calibration.

python -m benchmarks.calibration MODEL DEV [--combinations product sum] [--decoders max-recall] [--figure FILE.svg]

Phrases are counted as EVALB counts brackets, with gold's tags put in; ECE is over 15 bins, of equal width and equally full. For a model
that is not calibrated there is only a before. The figure shows the first combination and decoder.
"""

import argparse
import json
import time
from dataclasses import asdict, replace
from typing import Any

from benchmarks import machine

ARGUMENTS = ("model.grammar", "dev.mrg")

FIGURES = ("ece", "ece_mass", "brier", "log_loss", "confidence", "right")


def draw(path: str, found: dict[str, Any]) -> None:
    """Draw the reliability of phrases: what came true over what was said, the area of a dot the number in its bin."""
    import matplotlib

    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "gramian", "font.size": 11}):
        from matplotlib.figure import Figure

        canvas = Figure(figsize=(4.6, 4.4), layout="constrained")
        axes = canvas.add_subplot()
        axes.plot([0, 1], [0, 1], color="#7f7f7f", linewidth=1)
        for (name, part), colour in zip(found.items(), ("#d55e00", "#0072b2"), strict=False):
            bins = part["phrases"].bins
            axes.scatter(
                [one.confidence for one in bins], [one.right for one in bins], label=f"{name}, ECE {part['phrases'].ece:.3f}",
                s=[12 + 800 * one.count / part["phrases"].count for one in bins], alpha=0.7, color=colour, linewidths=0,
            )  # fmt: skip
        axes.set(xlabel="confidence of phrases", ylabel="share that is right", xlim=(0, 1.03), ylim=(0, 1.03))
        axes.legend(frameon=False, loc="upper left", markerscale=0.6)
        canvas.savefig(path, metadata={"Date": None} if path.endswith(".svg") else None)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model")
    parser.add_argument("dev")
    parser.add_argument("--combinations", nargs="+", default=["product"])
    parser.add_argument("--decoders", nargs="+", default=["max-recall"])
    parser.add_argument("--most", type=int, help="only so many sentences of DEV")
    parser.add_argument("--figure", help="draw a reliability diagram into this file")
    parser.add_argument("--bins", action="store_true", help="also print the bins")
    options = parser.parse_args()

    from gramian import Parser
    from gramian.evaluate import GoldBrackets, judged, reliability
    from gramian.parsing.model_store import load_model
    from gramian.trees import annotation_scheme, normalise, read_trees

    model = load_model(options.model)
    scheme = annotation_scheme(model.preset).options
    trees = [
        tree
        for tree in (normalise(tree, scheme).tree for tree in read_trees(options.dev))
        if not tree.is_empty
    ]
    trees = trees[: options.most]
    gold = GoldBrackets(trees)
    rows = []
    for combination in options.combinations:
        parse = Parser(replace(model, calibration={}), combination=combination)
        curves = Parser(model, combination=combination).calibration
        for decoder in options.decoders:
            began = time.process_time()
            results = list(parse.parse_many([list(tree.words) for tree in trees], decoder=decoder))
            seconds = time.process_time() - began
            said = {"before": [(one.tree, one.confidences) for one in results]}
            if curves.phrases or curves.tags:
                said["after"] = [(tree, curves.confidences(tree, sure)) for tree, sure in said["before"]]
            found = {
                name: {kind: reliability(*rows) for kind, rows in judged(gold, parses).items()}
                for name, parses in said.items()
            }
            if options.figure and not rows:
                draw(options.figure, found)
            row: dict[str, Any] = {
                "combination": combination, "decoder": decoder, "sentences": len(trees),
                "f1 gold tags": round(gold.score([one.tree for one in results]).f1_gold_tags, 2),
                "nodes": {kind: part.count for kind, part in found["before"].items()}, "parse cpu seconds": round(seconds, 2),
            }  # fmt: skip
            for name, part in found.items():
                row[name] = {
                    kind: {figure: round(getattr(one, figure), 4) for figure in FIGURES}
                    | ({"bins": [asdict(bin) for bin in one.bins]} if options.bins else {})
                    for kind, one in part.items()
                }
            if "after" in row:
                row["ece ratio"] = round(found["after"]["phrases"].ece / found["before"]["phrases"].ece, 3)
            rows.append(row)
    crf = model.expert("crf")
    print(json.dumps({
        "benchmark": "calibration", "model": options.model, "dev": options.dev, "grammars": len(model.grammars),
        "expert": crf is not None, "expert weight": crf and crf.weight, "rows": rows, **machine.about(),
    }, indent=1))  # fmt: skip


if __name__ == "__main__":
    main()
