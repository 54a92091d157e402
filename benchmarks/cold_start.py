"""How long commands take when they are first run, and later: user CPU time, divided by that of ``import numba``.

python -m benchmarks.cold_start [--commands parse train] [--repeats 3]

Each command runs in new processes on a few sampled trees. "source" starts with an empty directory for kernels and takes none from the
package (a processor is named, so that those for levels of processors do not fit), "wheel" starts with an empty one too, "later" finds what
"source" has left; "plain source" and "plain later" are the same with plain numba. User CPU time, since the wall clock depends on
everything that runs beside; the least of the repeats, with one ``import numba`` before each. A compilation is a kernel for some types.
"""

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
from gramian.kernels.store import SHIPPED

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


def user_time(*arguments: str, folder: str | None = None, **settings: str) -> float:
    """Run Python in a process of its own; return its user CPU time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    environment = {
        **os.environ,
        "PYTHONDONTWRITEBYTECODE": "",
        **settings,
    }  # gramian's files are compiled once
    command = [sys.executable, *arguments]
    subprocess.run(
        command, input=SENTENCE, cwd=folder, stdout=subprocess.DEVNULL, text=True, check=True, env=environment
    )
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def kernels(cache: Path) -> int:
    return sum(path.suffix in {".kernel", ".nbc"} for path in cache.rglob("*"))


def run(command: str, folder: str, cache: Path, repeats: int = 1, **settings: str) -> dict[str, Any]:
    """Run a command several times; return its user time, the same divided by that of ``import numba``, and its compilations."""
    there, times, ratios = kernels(cache), [], []
    for _ in range(repeats):
        numba = min(user_time("-c", "import numba") for _ in range(3))
        seconds = user_time(
            "-m", "gramian", *command.split(), folder=folder, NUMBA_CACHE_DIR=str(cache), **settings
        )
        times.append(seconds)
        ratios.append(seconds / numba)
    return {
        "user seconds": round(min(times), 2),
        "ratio": round(min(ratios), 2),
        "compilations": kernels(cache) - there,
    }


def measure(command: str, folder: str, repeats: int) -> dict[str, Any]:
    """Run a command with and without kernels."""
    here = {"NUMBA_CPU_NAME": llvmlite.binding.get_host_cpu_name()}
    plain = {**here, "GRAMIAN_PLAIN_NUMBA": "1"}
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as cache, tempfile.TemporaryDirectory() as empty:
        found["source"] = run(command, folder, Path(cache), **here)
        if SHIPPED.is_dir():
            found["wheel"] = run(command, folder, Path(empty), repeats)
        found["later"] = run(command, folder, Path(cache), repeats, **here)
        found["plain source"] = run(command, folder, Path(cache), **plain)
        found["plain later"] = run(command, folder, Path(cache), repeats, **plain)
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
