"""What half precision and trimming save, and what they do to F1.

    python benchmarks/model_size.py MODEL TREES

Prints one JSON object a line: bytes and their ratio to the full file, seconds to load, F1 on TREES, and the share of
trees that are the same as with the full model.
"""

import json
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from gramian.evaluate import GoldBrackets
from gramian.grammar.compress.lowrank import trimmed
from gramian.parsing.model_store import load_model, save_model
from gramian.parsing.parser import Parser
from gramian.trees import normalise, read_trees


def main() -> int:
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    model = load_model(sys.argv[1])
    gold = [tree for tree in (normalise(tree).tree for tree in read_trees(sys.argv[2])) if not tree.is_empty]
    scorer = GoldBrackets(gold)
    full_size, full_trees = 0, []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.grammar")
        for share, half in ((0.0, False), (0.0, True), (0.003, True), (0.01, True), (0.03, True)):
            save_model(replace(model, grammars=(trimmed(model.grammar, share),)), path, half=half)
            began = time.process_time()
            loaded = load_model(path)
            seconds = time.process_time() - began
            trees = [result.tree for result in Parser(loaded).parse_many(tree.words for tree in gold)]
            size = path.stat().st_size
            full_size, full_trees = full_size or size, full_trees or trees
            record = {
                "trimmed": share,
                "half": half,
                "bytes": size,
                "ratio": round(size / full_size, 3),
                "load seconds": round(seconds, 3),
                "F1": round(scorer.score(trees).f1, 2),
                "same trees": round(
                    sum(a == b for a, b in zip(trees, full_trees, strict=True)) / len(gold), 4
                ),
            }
            print(json.dumps(record), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
