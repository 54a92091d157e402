"""Feed every reader of gramian inputs that are nearly right; print for each what became of them.

    python -m tools.fuzz [PARSER ...] [--inputs 100000] [--seed 0] [--keep FOLDER] [--only NUMBER]

Prints one JSON object a parser: inputs, accepted, refused by the name of the error, crashes (anything that is no error of gramian,
a fault of the memory included), the slowest input in processor seconds, hangs (over 5 s), and the most memory. ``--keep`` writes
the inputs that crashed; ``--only`` runs one input again. Exits with 1 if there is a crash, a hang, or more than 1,024 MB.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import mmap
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.machine import peak_megabytes

from gramian.errors import GramianError
from tools.fuzz import models, requests, texts

PARSERS: dict[str, Callable[[], tuple[texts.Make, texts.Read]]] = {
    "brackets": texts.brackets, "conllu": texts.conllu, "pautomac": texts.pautomac, "tagged": texts.tagged, "records": texts.records,
    "sentences": texts.sentences, "heads": texts.heads, "toml": texts.toml, "grammar": models.grammar, "ensemble": models.ensemble,
    "reranker": models.reranker, "span-crf": models.span_crf, "automaton": models.automaton, "dependency": models.dependency,
    "http": requests.http,
}  # fmt: skip
SECONDS, MEGABYTES = 5.0, 1024
_ADDRESS_SPACE = 6 << 30  # so that an input that asks for all memory fails alone


class Hang(BaseException):
    """An input took too long."""


def _too_long(signum: int, frame: Any) -> None:
    raise Hang


def fuzz(name: str, numbers: range, seed: int, keep: Path | None, progress: mmap.mmap) -> dict[str, Any]:
    """Read so many inputs; return the counts."""
    make, read = PARSERS[name]()
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGPROF, _too_long)
    resource.setrlimit(resource.RLIMIT_AS, (_ADDRESS_SPACE, _ADDRESS_SPACE))
    accepted, crashes, hangs, slowest, slow = 0, 0, 0, 0.0, -1
    refused: Counter[str] = Counter()
    kinds: dict[str, int] = {}
    for number in numbers:
        progress[:8] = number.to_bytes(8, "little")
        data = make(Random(f"{name} {seed} {number}"))
        began, started = time.process_time(), time.perf_counter()
        try:
            signal.setitimer(signal.ITIMER_PROF, 2 * SECONDS)
            read(data)
            signal.setitimer(signal.ITIMER_PROF, 0)
            accepted += 1
        except (GramianError, requests.Refused) as error:
            signal.setitimer(signal.ITIMER_PROF, 0)
            refused[type(error).__name__] += 1
        except (Exception, Hang) as error:
            signal.setitimer(signal.ITIMER_PROF, 0)
            crashes += 1
            last = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{type(error).__name__} at {Path(last.filename).name}:{last.lineno}"
            if where not in kinds:
                print(f"{name} {number}: {where}: {str(error)[:2000]}", file=sys.stderr, flush=True)
                if len(numbers) == 1:
                    traceback.print_exc()
                if keep is not None:
                    keep.mkdir(parents=True, exist_ok=True)
                    (keep / f"{name}-{seed}-{number}").write_bytes(data)
            kinds[where] = kinds.get(where, 0) + 1
        took = time.process_time() - began
        hangs += took > SECONDS
        if took > slowest:
            slowest, slow = took, number
        if len(numbers) == 1:
            print(repr(data[:2000]), f"{time.perf_counter() - started:.3f} s", file=sys.stderr)
    return {
        "parser": name, "seed": seed, "inputs": len(numbers), "accepted": accepted, "refused": dict(refused.most_common()),
        "crashes": crashes, "kinds of crashes": kinds, "slowest seconds": round(slowest, 3), "slowest input": slow, "hangs": hangs,
        "megabytes": round(peak_megabytes()),
    }  # fmt: skip


def _apart(name: str, arguments: list[str]) -> dict[str, Any]:
    """Run one parser's inputs in a process of its own: a fault of the memory ends that alone."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(bytes(8))
        file.flush()
        command = [sys.executable, "-m", "tools.fuzz", name, *arguments, "--progress", file.name]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
        if done.returncode == 0:
            return dict(json.loads(done.stdout.splitlines()[-1]))
        number = int.from_bytes(Path(file.name).read_bytes()[:8], "little")
        return {"parser": name, "crashes": 1, "died": done.returncode, "at input": number}


def main() -> int:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument(
        "parsers", nargs="*", metavar="PARSER", help=f"of: {', '.join(PARSERS)}; all without any"
    )
    options.add_argument("--inputs", type=int, default=100_000)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--keep", type=Path, help="folder for inputs that crash")
    options.add_argument("--only", type=int, help="read this one input, and show it")
    options.add_argument("--progress", help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if unknown := set(chosen.parsers) - set(PARSERS):
        options.error(f"no parser is called {', '.join(sorted(unknown))}; there are: {', '.join(PARSERS)}")
    numbers = range(chosen.inputs) if chosen.only is None else range(chosen.only, chosen.only + 1)
    if chosen.progress:
        faulthandler.enable()
        with open(chosen.progress, "r+b") as file:
            print(
                json.dumps(
                    fuzz(chosen.parsers[0], numbers, chosen.seed, chosen.keep, mmap.mmap(file.fileno(), 8))
                )
            )
        return 0
    passed = ["--inputs", str(chosen.inputs), "--seed", str(chosen.seed)]
    passed += ["--keep", str(chosen.keep)] if chosen.keep else []
    passed += ["--only", str(chosen.only)] if chosen.only is not None else []
    failed = False
    for name in chosen.parsers or PARSERS:
        found = _apart(name, passed)
        print(json.dumps(found), flush=True)
        failed |= bool(found["crashes"] or found["hangs"] or found["megabytes"] > MEGABYTES)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
