"""What charts cost against what :mod:`gramian.parsing.limits` foretells, for sentences of growing length.

    python -m benchmarks.limits MODEL TOKENS

TOKENS holds tokens with spaces between; line ends are passed over, so that sentences of any length can be made.
Prints one JSON object a line; ``ratio`` is foretold over measured and should be near 1.
"""

import json
import sys
import time

from gramian.chart.chart_parser import ChartParser, Pruning
from gramian.parsing.limits import expected_bytes, expected_seconds
from gramian.parsing.model_store import load_model
from gramian.parsing.words import WordTable
from gramian.system import peak_megabytes

BEAMS = {"narrow": Pruning(beam=0.1), "usual": Pruning(), "wide": Pruning(1e-5, 5e-7, 1e-7)}
LENGTHS = {"narrow": (50, 100, 200, 400), "usual": (25, 50, 100, 200, 400), "wide": (25, 50, 100)}


def main() -> int:
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    grammar = load_model(sys.argv[1]).grammar
    chart, table, n_rules = ChartParser(grammar), WordTable(grammar.lexicon), len(grammar.binary_rules)
    with open(sys.argv[2], encoding="utf-8") as file:
        words = file.read().split()
    chart.forest([word.scores for word in table.read(words[:5])])  # compiles
    for name, pruning in BEAMS.items():
        for n_words in LENGTHS[name]:
            scores = [word.scores for word in table.read(words[:n_words])]
            before, seconds = peak_megabytes(), float("inf")
            for _ in range(3):
                began = time.process_time()
                forest = chart.forest(scores, pruning)
                seconds = min(seconds, time.process_time() - began)
            grown = peak_megabytes() - before
            foretold = expected_seconds(pruning, n_words, n_rules), expected_bytes(pruning, n_words)
            print(
                json.dumps(
                    {
                        "beam": name,
                        "words": n_words,
                        "items": len(forest.item_symbol) if forest else None,
                        "edges": len(forest.edge_left) if forest else None,
                        "seconds": round(seconds, 4),
                        "seconds ratio": round(foretold[0] / seconds, 2),
                        "megabytes grown": round(grown, 1),
                        "megabytes foretold": round(foretold[1] / 2**20, 1),
                    }
                )
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
