"""What the one process costs that gives out the shards of a corpus: it bounds how many workers there can be.

    python -m benchmarks.corpus_head [--shards 600]

Processor time of that process alone, for sentences of three words by two workers: for each shard, for each small file, for each shard
that is kept from before, and for each megabyte of text that is cut.
"""

import argparse
import gzip
import json
import tempfile
import time
from pathlib import Path

from benchmarks import machine

SENTENCE = "The dog barks.\n\n"
PARAGRAPH = (
    "It was the year in which the river rose, and the people of the valley left their houses. " * 5 + "\n\n"
)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--shards", type=int, default=600)
    options = parser.parse_args()

    from gramian.pipelines.corpus_run import parse_corpus
    from gramian.pipelines.inputs import find_inputs
    from gramian.pipelines.shard_plan import InputLayout, make_plan
    from gramian.pipelines.shard_work import Settings, file_sha256, model_file

    settings = Settings("", file_sha256(model_file("")))
    with tempfile.TemporaryDirectory() as root:
        corpus, output = Path(root) / "in", str(Path(root) / "out")
        corpus.mkdir()

        def used() -> float:
            began = time.process_time()
            parse_corpus(find_inputs([str(corpus)]), output, settings, shard_size=len(SENTENCE), n_jobs=2)
            return 1000 * (time.process_time() - began) / options.shards

        (corpus / "a.txt").write_text(SENTENCE * options.shards)
        shard, kept = used(), used()
        for number in range(options.shards):
            (corpus / f"{number}.txt").write_text(SENTENCE)
        small = used()

        def cut(name: str, data: bytes) -> float:
            (Path(root) / name).write_bytes(data)
            [source] = find_inputs([f"{root}/{name}"])
            began = time.process_time()
            end = make_plan(source, InputLayout("text", "text", "text", "id", 1 << 20)).shards[-1].end
            return end / 1e6 / (time.process_time() - began)

        text = (PARAGRAPH * 60_000).encode()
        plain, packed = cut("plain.txt", text), cut("packed.txt.gz", gzip.compress(text, 1))
    print(json.dumps({
        "benchmark": "corpus head", "shards": options.shards,
        "milliseconds": {"a shard": round(shard, 3), "a shard that is kept": round(kept, 3), "a small file": round(small - kept, 3)},
        "megabytes a second that are cut": {"plain": round(plain, 1), "gzip": round(packed, 1)},
        **machine.about(),
    }, indent=1))  # fmt: skip


if __name__ == "__main__":
    main()
