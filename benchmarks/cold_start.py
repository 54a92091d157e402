"""How long the first tree takes: of a new process with its kernels in the cache, and of the first ever, which compiles them.

python -m benchmarks.cold_start MODEL TOKENS [--repeats 5]

TOKENS holds tokens with spaces between; its first line is parsed by ``gramian parse`` in new processes. The least of some repeats;
processor time too, since the wall clock knows of all that runs beside.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from typing import Any

from benchmarks import machine

ARGUMENTS = ("model.grammar", "dev.tokens")


def run(model: str, sentence: str, cache: str | None = None) -> tuple[float, float, str]:
    """Parse a sentence in a process of its own; return wall time, processor time, and what it said."""
    environment = {**os.environ, **({"NUMBA_CACHE_DIR": cache} if cache else {})}
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "gramian", "parse", "-m", model, "--tokens"],
        input=sentence, capture_output=True, text=True, check=True, env=environment,
    )  # fmt: skip
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.stdout.count("\n") == 1
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stderr


def main() -> None:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("model")
    arguments.add_argument("tokens")
    arguments.add_argument("--repeats", type=int, default=5)
    options = arguments.parse_args()
    with open(options.tokens, encoding="utf-8") as lines:
        sentence = next(lines)
    run(options.model, sentence)  # fills the cache
    warm = [run(options.model, sentence)[:2] for _ in range(options.repeats)]
    with tempfile.TemporaryDirectory() as empty:
        wall, cpu, said = run(options.model, sentence, empty)
    result: dict[str, Any] = {
        "benchmark": "cold_start", "model": options.model, "words": len(sentence.split()),
        "kernels cached": {
            "wall seconds": round(min(one[0] for one in warm), 2), "cpu seconds": round(min(one[1] for one in warm), 2),
        },
        "kernels compiled": {"wall seconds": round(wall, 1), "cpu seconds": round(cpu, 1), "said": said.splitlines()[0]},
        "machine": machine.about(),
    }  # fmt: skip
    print(json.dumps(result))


if __name__ == "__main__":
    main()
