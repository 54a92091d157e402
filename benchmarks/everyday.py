"""How well a model parses what people write: 300 sentences of our own, annotated by hand in Penn style.

    python -m benchmarks.everyday [MODEL] [--keep-case]

Without MODEL, the one that comes with gramian. --keep-case parses title case and capitals as they are. Words are given, tags are predicted.
Prints one JSON object: F1 by EVALB and exact trees, by kind and for all, for three parts: 200 sentences of twenty kinds (``kinds``), 50 of
ten kinds that are hard to parse (``weak``), and 50 more of the latter that no decision about a model may look at (``unseen``).
The bank is small and was annotated by one person.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import machine

if TYPE_CHECKING:
    from gramian import Parser, Tree

ARGUMENTS: tuple[str, ...] = ()
DATA = Path(__file__).parents[1] / "tests" / "data"
PARTS = {"kinds": "everyday", "weak": "everyday-weak", "unseen": "everyday-unseen"}


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("model", nargs="?")
    options.add_argument("--keep-case", action="store_true")
    given = options.parse_args()
    model = given.model

    import gramian

    parser = gramian.load(model, restore_case=not given.keep_case)
    parts = {}
    for part, folder in PARTS.items():
        kinds = {path.stem: list(gramian.read_trees(path)) for path in sorted((DATA / folder).glob("*.mrg"))}
        kinds["all"] = [tree for trees in kinds.values() for tree in trees]
        parts[part] = {kind: _scores(parser, trees) for kind, trees in kinds.items()}
    print(
        json.dumps(
            {"benchmark": "everyday", "model": model or "bundled", **parts, **machine.about()}, indent=1
        )
    )


def _scores(parser: Parser, trees: list[Tree]) -> dict[str, float]:
    scores = parser.evaluate(trees)
    return {
        "f1 gold tags": round(scores.f1_gold_tags, 2),
        "exact": round(scores.exact, 1),
        "trees": len(trees),
    }


if __name__ == "__main__":
    main()
