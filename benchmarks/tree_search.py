"""How fast a million trees are searched, and what the array matcher gains over the readable one and over NLTK's tgrep.

    python -m benchmarks.tree_search SOURCE [--trees 1000000] [--sample 2000]

SOURCE is a treebank or a parsed corpus; its trees are repeated until there are as many as wanted, and written as brackets, JSON lines with
all that parse writes, and Parquet. Processor time of each query; the reference and NLTK search a sample of the same trees.
"""

import argparse
import json
import tempfile
import time
from itertools import chain, islice, repeat
from pathlib import Path
from typing import Any

from benchmarks import machine
from benchmarks.machine import cpu_seconds

QUERIES = {
    "NP < (PP < of)": "NP < (PP < (IN < of))",
    "VP < (/^VB/=verb) < (NP $. PP)": "VP < /^VB/ < (NP $. PP)",
    "S !< VP": "S !< VP",
    "NP << because": "NP << because",
    "/^VB/ .. (SBAR [< that | < WHNP])": "/^VB/ .. (SBAR [< (IN < that) | < WHNP])",
}


def _span(label: str, start: int, end: int) -> dict[str, Any]:
    return {"label": label, "start": start, "end": end, "confidence": 0.9731}


def write(trees: list[str], folder: Path, total: int) -> dict[str, int]:
    """Write so many trees in three forms; return their sizes in megabytes."""
    import pyarrow
    from pyarrow import parquet

    from gramian.trees import Tree

    extra = [
        {"words": list(tree.words), "spans": [_span(*one) for one in tree.spans()]}
        for tree in map(Tree.parse, trees)
    ]
    records = [
        json.dumps(
            {"document": "a", "sentence": place, "tree": tree, "status": "parsed", **more}, ensure_ascii=False
        )
        + "\n"
        for place, (tree, more) in enumerate(zip(trees, extra, strict=True))
    ]
    for form in ("brackets", "jsonl", "parquet"):
        (folder / form).mkdir()
    with open(folder / "brackets" / "0.mrg", "w") as one, open(folder / "jsonl" / "0.jsonl", "w") as two:
        for place in islice(chain.from_iterable(repeat(range(len(trees)))), total):
            one.write(trees[place] + "\n")
            two.write(records[place])
    schema = pyarrow.schema(
        [("document", pyarrow.string()), ("sentence", pyarrow.int64()), ("tree", pyarrow.string())]
    )
    with parquet.ParquetWriter(folder / "parquet" / "0.parquet", schema, compression="zstd") as table:
        done = 0
        while done < total:
            part = trees[: total - done]
            columns = {"document": ["a"] * len(part), "sentence": list(range(len(part))), "tree": part}
            table.write_table(pyarrow.table(columns, schema))
            done += len(part)
    return {path.parent.name: path.stat().st_size >> 20 for path in folder.rglob("0.*")}


def measure(
    query: str, nltk_query: str, root: str, forms: dict[str, int], sample: list[str]
) -> dict[str, Any]:
    """Search all trees in each form, and the sample by the reference and by NLTK."""
    from nltk import ParentedTree
    from nltk.tgrep import tgrep_nodes

    from gramian.search.pattern_parser import parse_pattern
    from gramian.search.table_match import TableMatcher
    from gramian.search.tree_match import matches
    from gramian.search.tree_search import count
    from gramian.trees import Tree

    found: dict[str, Any] = {"cpu seconds": {}, "wall seconds": {}}
    for form in forms:
        began, used = time.perf_counter(), time.process_time()
        found["matches"] = count(f"{root}/{form}", query).matches
        found["cpu seconds"][form] = round(time.process_time() - used, 2)
        found["wall seconds"][form] = round(time.perf_counter() - began, 2)
    pattern = parse_pattern(query)
    matcher = TableMatcher(pattern)
    objects, parented = (
        [Tree.parse(text) for text in sample],
        [ParentedTree.fromstring(text) for text in sample],
    )
    counts = matcher.counts(sample)
    assert counts is not None
    fast = cpu_seconds(lambda: matcher.counts(sample), 3)
    slow = cpu_seconds(lambda: [matches(pattern, tree) for tree in objects])
    seen: list[Any] = []
    peer = cpu_seconds(lambda: seen.extend(tgrep_nodes(nltk_query, parented)))
    return found | {
        "reference over arrays": round(slow / fast, 1),
        "NLTK over arrays": round(peer / fast, 1),
        "matches in the sample": {"gramian": int(counts.sum()), "NLTK": sum(map(len, seen))},
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("source")
    parser.add_argument("--trees", type=int, default=1_000_000)
    parser.add_argument("--sample", type=int, default=2000)
    options = parser.parse_args()

    from gramian.search.tree_files import stored_trees, tree_files
    from gramian.search.tree_search import count

    stored = (one for file in tree_files(options.source) for one in stored_trees(file, print))
    trees = [" ".join(one.text.split()) for one in islice(stored, options.trees)]
    sample = trees[: options.sample]
    with tempfile.TemporaryDirectory() as root:
        sizes = write(trees, Path(root), options.trees)
        (Path(root) / "first.mrg").write_text(trees[0])
        count(f"{root}/first.mrg", "NP")  # compiled by now
        found = {query: measure(query, other, root, sizes, sample) for query, other in QUERIES.items()}
    print(json.dumps({
        "benchmark": "tree search", "trees": options.trees, "different ones": len(trees), "sample": len(sample), "megabytes": sizes,
        "queries": found, **machine.about(),
    }, indent=1))  # fmt: skip


if __name__ == "__main__":
    main()
