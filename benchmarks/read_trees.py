"""Bracket text to corpus arrays: trees a second, against reading the same file as tree objects.

python -m benchmarks.read_trees TREES
"""

import argparse
import json

from benchmarks import machine
from gramian.treebank import Treebank
from gramian.trees import Tree, normalise, read_trees

ARGUMENTS = ("train.mrg",)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("trees")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    Treebank.from_trees([Tree.parse("(S (NP (DT the) (NN dog)) (VP (VBZ barks)))")])  # compiles
    bank = Treebank.read(options.trees)
    seconds = {
        "text to arrays": machine.cpu_seconds(lambda: Treebank.read(options.trees), options.repeats),
        "text to objects": machine.cpu_seconds(lambda: sum(1 for _ in read_trees(options.trees))),
        "text to objects to arrays": machine.cpu_seconds(
            lambda: Treebank.from_trees(read_trees(options.trees))
        ),
    }
    whole = (normalise(tree).tree for tree in read_trees(options.trees))
    same = all(
        ours == tree for ours, tree in zip(bank.trees(), (t for t in whole if not t.is_empty), strict=True)
    )
    result = {
        "benchmark": "read_trees",
        "trees": bank.n_trees,
        "nodes": len(bank.label),
        "cpu seconds": {name: round(value, 3) for name, value in seconds.items()},
        "trees a second": {name: round(bank.n_trees / value) for name, value in seconds.items()},
        "ratio to objects to arrays": round(
            seconds["text to objects to arrays"] / seconds["text to arrays"], 1
        ),
        "same trees": same,
        "machine": machine.about(),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
