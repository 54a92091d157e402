"""Compare gramian's bracket scores with what the original EVALB program printed.

The folder holds cases: ``NAME.gold``, ``NAME.pred``, ``NAME.prm``, and EVALB's ``NAME.out`` and ``NAME.err``.
Prints one JSON object; the exit code is 1 if a line of any case differs.

    python benchmarks/evalb_golden.py FOLDER
"""

import json
import sys
import time
from pathlib import Path

from gramian.evaluate import Parameters, Status, score
from gramian.evaluate.listing import evalb_listing
from gramian.trees import read_trees


def compare(case: Path) -> dict[str, object]:
    """Score one case and count the lines that differ from EVALB's."""
    parameters = Parameters.from_file(case.with_suffix(".prm"))
    start = time.perf_counter()
    gold = list(read_trees(str(case.with_suffix(".gold"))))
    predicted = list(read_trees(str(case.with_suffix(".pred"))))
    scores = score(gold, predicted, parameters)
    seconds = time.perf_counter() - start
    listing = evalb_listing(scores).splitlines()
    messages = [f"{row.number} : {row.message}" for row in scores.rows if row.status is Status.ERROR]
    return {
        "sentences": scores.sentences,
        "errors": scores.errors,
        "f1": round(scores.f1, 2),
        "output_lines": len(listing),
        "output_lines_that_differ": differing(listing, case.with_suffix(".out")),
        "messages": len(messages),
        "messages_that_differ": differing(messages, case.with_suffix(".err")),
        "seconds": round(seconds, 3),
    }


def differing(ours: list[str], path: Path) -> int:
    """Count the lines that are not the same, missing ones included."""
    theirs = path.read_text(encoding="utf-8").splitlines()
    return abs(len(ours) - len(theirs)) + sum(a != b for a, b in zip(ours, theirs, strict=False))


def check(folder: Path) -> dict[str, dict[str, object]]:
    """Compare every case in a folder."""
    return {path.stem: compare(path) for path in sorted(folder.glob("*.gold"))}


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    cases = check(Path(sys.argv[1]))
    print(json.dumps(cases, indent=2))
    differ = [
        name
        for name, case in cases.items()
        if case["output_lines_that_differ"] or case["messages_that_differ"]
    ]
    return 1 if differ or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
