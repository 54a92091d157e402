"""Feed every reader of gramian inputs that are nearly right; print for each what became of them.

    python -m tools.fuzz [PARSER ...] [--inputs 100000] [--seconds S] [--bounds] [--seed 0] [--keep FOLDER] [--only NUMBER]

Prints one JSON object a parser, and one for all: inputs, accepted, refused by the name of the error, crashes (anything that is no error of
gramian, a fault of the memory included), those of them that are places out of bounds in a kernel, inputs that took more than 1,024 MB,
the slowest input in processor seconds, hangs (over 5 s), the most memory, inputs a second. With ``--bounds`` kernels are compiled so that
they check every index, into a folder of their own; with ``--seconds`` a parser's turn ends after that time. ``--keep`` writes
the inputs that crashed; ``--only`` runs one input again. Exits with 1 if there is a crash, a hang, or more than 1,024 MB.
"""

import argparse
import faulthandler
import json
import mmap
import os
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
from numba import config

from gramian.errors import GramianError
from tools.fuzz import files, models, requests, texts

PARSERS: dict[str, Callable[[], tuple[texts.Make, texts.Read]]] = {
    "brackets": texts.brackets, "conllu": texts.conllu, "pautomac": texts.pautomac, "tagged": texts.tagged, "records": texts.records,
    "sentences": texts.sentences, "heads": texts.heads, "toml": texts.toml, "grammar": models.grammar, "text": models.text,
    "ensemble": models.ensemble,
    "reranker": models.reranker, "span-crf": models.span_crf, "neural": models.neural, "automaton": models.automaton,
    "dependency": models.dependency, "http": requests.http, "words": files.words, "compressed": files.compressed,
    "corpus": files.corpus, "documents": files.documents, "stopped": files.stopped, "patterns": files.patterns, "scripts": files.scripts,
}  # fmt: skip
SECONDS, MEGABYTES = 5.0, 1024
_ADDRESS_SPACE = 6 << 30  # so that an input that asks for all memory fails alone
_BOUNDS = Path(__file__).parents[2] / ".bounds"  # kernels that check every index
_OUT_OF_BOUNDS = "index is out of bounds"  # as numba says it


class Hang(BaseException):
    """An input took too long."""


def _too_long(signum: int, frame: Any) -> None:
    raise Hang


def fuzz(
    name: str, numbers: range, seed: int, keep: Path | None, progress: mmap.mmap, seconds: float
) -> dict[str, Any]:
    """Read so many inputs, or as many as there is time for; return the counts."""
    make, read = PARSERS[name]()
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGPROF, _too_long)
    resource.setrlimit(resource.RLIMIT_AS, (_ADDRESS_SPACE, _ADDRESS_SPACE))
    accepted, crashes, hangs, slowest, slow = 0, 0, 0, 0.0, -1
    out_of_bounds = over_memory = inputs = 0
    peak, opened = max(peak_megabytes(), MEGABYTES), time.perf_counter()
    refused: Counter[str] = Counter()
    kinds: dict[str, int] = {}
    for number in numbers:
        if time.perf_counter() - opened > seconds:
            break
        inputs += 1
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
            out_of_bounds += str(error) == _OUT_OF_BOUNDS
            over_memory += isinstance(error, MemoryError)
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
        if peak_megabytes() > peak:
            over_memory, peak = over_memory + 1, peak_megabytes()
        if took > slowest:
            slowest, slow = took, number
        if len(numbers) == 1:
            print(repr(data[:2000]), f"{time.perf_counter() - started:.3f} s", file=sys.stderr)
    return {
        "parser": name, "seed": seed, "inputs": inputs, "accepted": accepted, "refused": dict(refused.most_common()),
        "crashes": crashes, "kinds of crashes": kinds, "out of bounds": out_of_bounds, "over memory": over_memory,
        "slowest seconds": round(slowest, 3), "slowest input": slow, "hangs": hangs, "megabytes": round(peak_megabytes()),
        "inputs a second": round(inputs / max(1e-9, time.perf_counter() - opened)), "checks bounds": bool(config.BOUNDSCHECK),
    }  # fmt: skip


def _apart(name: str, arguments: list[str], bounds: bool) -> dict[str, Any]:
    """Run one parser's inputs in a process of its own: a fault of the memory ends that alone."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(bytes(8))
        file.flush()
        command = [sys.executable, "-m", "tools.fuzz", name, *arguments, "--progress", file.name]
        checking = {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(_BOUNDS)} if bounds else {}
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, env={**os.environ, **checking})
        if done.returncode == 0:
            return dict(json.loads(done.stdout.splitlines()[-1]))
        number = int.from_bytes(Path(file.name).read_bytes()[:8], "little")
        died = {"parser": name, "inputs": number, "crashes": 1, "died": done.returncode, "at input": number}
        return died | dict.fromkeys(("out of bounds", "over memory", "hangs", "megabytes"), 0)


def main() -> int:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument(
        "parsers", nargs="*", metavar="PARSER", help=f"of: {', '.join(PARSERS)}; all without any"
    )
    options.add_argument("--inputs", type=int, default=100_000)
    options.add_argument("--seconds", type=float, default=float("inf"), help="for each parser, at the most")
    options.add_argument("--bounds", action="store_true", help="check every index of kernels")
    options.add_argument("--first", type=int, default=0, help="number of the first input")
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--keep", type=Path, help="folder for inputs that crash")
    options.add_argument("--only", type=int, help="read this one input, and show it")
    options.add_argument("--progress", help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if unknown := set(chosen.parsers) - set(PARSERS):
        options.error(f"no parser is called {', '.join(sorted(unknown))}; there are: {', '.join(PARSERS)}")
    first, count = (chosen.first, chosen.inputs) if chosen.only is None else (chosen.only, 1)
    numbers = range(first, first + count)
    if chosen.progress:
        faulthandler.enable()
        with open(chosen.progress, "r+b") as file:
            progress = mmap.mmap(file.fileno(), 8)
            name = chosen.parsers[0]
            print(json.dumps(fuzz(name, numbers, chosen.seed, chosen.keep, progress, chosen.seconds)))
        return 0
    passed = ["--inputs", str(chosen.inputs), "--seed", str(chosen.seed), "--first", str(chosen.first)]
    passed += ["--seconds", str(chosen.seconds)]
    passed += ["--keep", str(chosen.keep)] if chosen.keep else []
    passed += ["--only", str(chosen.only)] if chosen.only is not None else []
    total: Counter[str] = Counter()
    parsers = chosen.parsers or list(PARSERS)
    for name in parsers:
        found = _apart(name, passed, chosen.bounds)
        print(json.dumps(found), flush=True)
        total.update(
            {key: found[key] for key in ("inputs", "crashes", "out of bounds", "over memory", "hangs")}
        )
    print(json.dumps({"parsers": len(parsers), **total}))
    return 1 if any(total[key] for key in ("crashes", "over memory", "hangs")) else 0


if __name__ == "__main__":
    sys.exit(main())
