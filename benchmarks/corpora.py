"""What two workers gain over one process when a corpus is parsed.

    python -m benchmarks.corpora TEXTFOLDER [--files 60] [--workers 2] [--model FILE] [--shard-size 256] [--lines]

Parses the first files of a folder twice, with one process and with so many. Efficiency is the one wall time over workers times the other;
where other programs want the same processors, it tells more about them, so processor time is told too: what all the work took in either
case, and, of the shards alone, what a sentence took. Where nobody else works, efficiency is the ratio of these.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks import machine


def run(options: argparse.Namespace, files: list[str], output: Path, workers: int) -> dict[str, Any]:
    listed = output.with_suffix(".list")
    listed.write_text("\n".join(files) + "\n")
    command = [
        sys.executable,
        "-m",
        "gramian",
        "parse",
        f"@{listed}",
        "-o",
        f"{output}/",
        "-q",
        "--jobs",
        str(workers),
    ]
    command += ["--set", f"corpus.shard_size={options.shard_size}", *(["--lines"] if options.lines else [])]
    command += ["--model", options.model] if options.model else []
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, check=True)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    results = [json.loads(path.read_text())["result"] for path in output.rglob("*.manifest.json")]
    sentences = sum(result["sentences"] for result in results)
    return {
        "seconds": round(wall, 1),
        "cpu seconds": round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 1),
        "cpu seconds of shards": round(sum(result["cpu_seconds"] for result in results), 1),
        "sentences": sentences,
        "words": sum(result["words"] for result in results),
        "shards": len(results),
        "peak megabytes of a process": round(after.ru_maxrss / 1024),
    }


def outputs(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("0*.jsonl")}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--files", type=int)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--model")
    parser.add_argument("--shard-size", type=int, default=256, help="kilobytes")
    parser.add_argument("--lines", action="store_true")
    options = parser.parse_args()
    files = sorted(str(path) for path in options.folder.rglob("*") if path.is_file())[: options.files]
    with tempfile.TemporaryDirectory() as root:
        one = run(options, files, Path(root) / "one", 1)
        many = run(options, files, Path(root) / "many", options.workers)
        same = outputs(Path(root) / "one") == outputs(Path(root) / "many")
    print(json.dumps({
        "benchmark": "corpora", "files": len(files), "workers": options.workers, "one process": one, "workers together": many,
        "same bytes": same,
        "efficiency": {
            "wall": round(one["seconds"] / many["seconds"] / options.workers, 3),
            "processor time": round(one["cpu seconds"] / many["cpu seconds"], 3),
            "processor time of shards": round(one["cpu seconds of shards"] / many["cpu seconds of shards"], 3),
        },
        **machine.about(),
    }, indent=1))  # fmt: skip


if __name__ == "__main__":
    main()
