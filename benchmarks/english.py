"""How well a model parses English of several kinds: GUM, its genres that the bundled model has not seen, CRAFT, and newspaper text.

    python -m benchmarks.english DATA [MODEL]

Trees of all sets are brought into one scheme: noun groups (`NML`) are spliced out, titles are plain phrases, and wh-phrases have Penn's
labels, as the model has learnt them; with GUM's own labels of these there is one more score. Words are given, tags are not. Without
MODEL, the one that comes with gramian. Prints one JSON object: F1 as EVALB has it and with gold tags put in, exact trees, calibration
error of phrases, and sentences a second of processor time.
"""

import argparse
import json
import time
from collections import Counter
from pathlib import Path

from benchmarks import machine

SETS = ("gum/dev", "gum/dev-other", "masc/dev", "craft/dev-500", "ptb-sample/dev")


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("data", type=Path)
    options.add_argument("model", nargs="?")
    given = options.parse_args()

    from tools.english.scheme import gold_trees, penn_labels

    import gramian
    from gramian.evaluate import GoldBrackets, judged, reliability

    parser = gramian.load(given.model)
    rows = {}
    for name in SETS:
        path = given.data / f"{name}.mrg"
        if not path.exists():
            continue
        own = gold_trees(path)
        trees = [penn_labels(tree) for tree in own]
        words = [list(tree.words) for tree in trees]
        list(parser.parse_many(words[:20]))
        began = time.process_time()
        results = list(parser.parse_many(words))
        took = time.process_time() - began
        gold = GoldBrackets(trees)
        predicted = [result.tree for result in results]
        scores = gold.score(predicted)
        sure, right = judged(gold, [(result.tree, result.confidences) for result in results])["phrases"]
        rows[name] = {
            "f1": round(scores.f1, 2),
            "f1 own labels of wh-phrases": round(GoldBrackets(own).score(predicted).f1, 2),
            "f1 gold tags": round(scores.f1_gold_tags, 2),
            "exact": round(scores.exact, 1),
            "tagging": round(scores.tagging, 2),
            "calibration error of phrases": round(reliability(sure, right).ece, 4),
            "sentences": len(trees),
            "sentences per cpu second": round(len(trees) / took, 1),
            "status": dict(Counter(result.status for result in results)),
        }
    about = {"benchmark": "english", "model": given.model or "bundled", "sets": rows, **machine.about()}
    print(json.dumps(about, indent=1))


if __name__ == "__main__":
    main()
