"""How well a model parses what people write: two hundred sentences of our own, twenty kinds of ten, with trees by hand in Penn style.

    python -m benchmarks.everyday [MODEL]

Without MODEL, the one that comes with gramian. Words are given, tags are not. Prints one JSON object: F1 by EVALB and exact trees,
of each kind and of all. A regression bank to look at, not a goal: small, and by one hand.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from benchmarks import machine

ARGUMENTS: tuple[str, ...] = ()
BANK = Path(__file__).parents[1] / "tests" / "data" / "everyday"


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("model", nargs="?")
    model = options.parse_args().model

    import gramian

    parser = gramian.load(model)
    kinds = {path.stem: list(gramian.read_trees(path)) for path in sorted(BANK.glob("*.mrg"))}
    kinds["all"] = [tree for trees in kinds.values() for tree in trees]
    rows = {}
    for kind, trees in kinds.items():
        scores = parser.evaluate(trees)
        rows[kind] = {
            "f1 gold tags": round(scores.f1_gold_tags, 2),
            "exact": round(scores.exact, 1),
            "trees": len(trees),
        }
    print(
        json.dumps(
            {"benchmark": "everyday", "model": model or "bundled", "kinds": rows, **machine.about()}, indent=1
        )
    )


if __name__ == "__main__":
    main()
