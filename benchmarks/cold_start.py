"""How long commands take when they are first run: with the kernels that came with the package, with none, and a second time.

python -m benchmarks.cold_start [--commands parse train] [--repeats 3]

Each command runs in new processes on a few sampled trees. "compiled" has an empty folder for kernels and takes none from the package (a
processor is named, so that those for levels of processors do not fit), "shipped" has an empty folder too, "warm" finds what "compiled" has
left. Processor time, since the wall clock knows of all that runs beside; the least of the repeats for what is warm. A compilation is a
kernel for some types of arguments.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import llvmlite.binding

from benchmarks import machine
from gramian.compiled import SHIPPED

ARGUMENTS = ()

SENTENCE = "The dog barks at the old man in the park."
PREPARED = (
    "sample -n 300 --seed 1 --max-length 20 --quiet -o train.mrg",
    "convert train.mrg --to dependencies --quiet -o train.conllu",
)
COMMANDS = {
    "parse": "parse --quiet",
    "train": "train train.mrg --quiet --force -o my.grammar",
    "dep": "dep train train.conllu --quiet --force --jobs 1 -o my.dep",
    "wfa": "wfa train train.mrg --quiet --force --jobs 1 -o my.wfa",
}


def run(command: str, folder: str, cache: Path, **settings: str) -> tuple[float, int]:
    """Run a command in a process of its own; return processor time, and how many kernels it compiled."""
    there = len(list(cache.rglob("*.kernel")))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-m", "gramian", *command.split()],
        input=SENTENCE, cwd=folder, stdout=subprocess.DEVNULL, text=True, check=True,
        env={**os.environ, "NUMBA_CACHE_DIR": str(cache), **settings},
    )  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return round(seconds, 2), len(list(cache.rglob("*.kernel"))) - there


def measure(command: str, folder: str, repeats: int) -> dict[str, Any]:
    """Run a command with and without kernels."""
    here = {"NUMBA_CPU_NAME": llvmlite.binding.get_host_cpu_name()}
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as compiled, tempfile.TemporaryDirectory() as shipped:
        seconds, count = run(command, folder, Path(compiled), **here)
        found["compiled"] = {"cpu seconds": seconds, "compilations": count}
        if SHIPPED.is_dir():
            seconds, count = run(command, folder, Path(shipped))
            found["shipped"] = {"cpu seconds": seconds, "compilations": count}
        warm = [run(command, folder, Path(compiled), **here) for _ in range(repeats)]
        found["warm"] = {"cpu seconds": min(warm)[0], "compilations": warm[0][1]}
    return found


def main() -> None:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--commands", nargs="+", choices=COMMANDS, default=list(COMMANDS))
    arguments.add_argument("--repeats", type=int, default=3)
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for command in PREPARED:
            subprocess.run([sys.executable, "-m", "gramian", *command.split()], cwd=folder, check=True)
        table = {name: measure(COMMANDS[name], folder, options.repeats) for name in options.commands}
    print(json.dumps({"benchmark": "cold_start", "commands": table, "machine": machine.about()}))


if __name__ == "__main__":
    main()
