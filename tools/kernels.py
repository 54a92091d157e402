"""Compiled kernels for a wheel: what the commands need, for the levels of processors that this machine's kind has.

    python -m tools.kernels [--level x86-64-v3 ...]

Runs gramian's commands on sampled trees, twice for each level: once to compile, and once to see which kernels they read. Those are put
into ``src/gramian/kernels/compiled``; ``make wheel`` packs them, and :mod:`gramian.kernels.store` reads them. Prints one JSON object.
"""

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from gramian.kernels.store import LEVELS, SHIPPED

COMMANDS = """
sample -n 400 --seed 1 --max-length 25 --quiet -o train.mrg
sample -n 20 --seed 2 --max-length 25 --quiet -o dev.mrg
convert dev.mrg --to tokens --quiet -o dev.txt
convert train.mrg --to dependencies --quiet -o train.conllu
parse dev.txt --quiet -o text.mrg
parse dev.txt --tokens --quiet -o parsed.mrg
parse dev.txt --tokens --quiet --k 3 -o best.mrg
eval dev.mrg parsed.mrg
train train.mrg --quiet --set max_iter=1 -o two.grammar
train train.mrg -q --set max_iter=1 --states 4 --ensemble-size 1 --expert --rerank --calibrate --set folds=2 --dev dev.mrg -o all.grammar
train train.mrg --quiet --method spectral-moments --states 4 -o moments.grammar
train train.mrg --quiet --method split-merge --set cycles=1 --set compress=false -o split.grammar
train train.mrg --quiet --method pcfg --set compress=false -o pcfg.grammar
compress split.grammar -o small.grammar
parse dev.txt --tokens --quiet -m two.grammar -o parsed.mrg
parse dev.txt --tokens --quiet -m all.grammar -o parsed.mrg
parse dev.txt --tokens --quiet -m moments.grammar -o parsed.mrg
parse dev.txt --tokens --quiet -m split.grammar --set decoder=max-rule-product -o parsed.mrg
parse dev.txt --tokens --quiet -m split.grammar --set decoder=viterbi -o parsed.mrg
parse dev.txt --tokens --quiet -m pcfg.grammar -o parsed.mrg
parse dev.txt --tokens --quiet -m small.grammar --set decoder=viterbi -o parsed.mrg
dep train train.conllu --quiet --jobs 1 --set max_iter=2 --set epochs=1 -o conditional.dep
dep train train.conllu --quiet --jobs 1 --method spectral -o spectral.dep
dep parse train.conllu -m conditional.dep -o parsed.conllu
dep parse train.conllu -m spectral.dep -o parsed.conllu
wfa train train.mrg --quiet --jobs 1 -o best.wfa
wfa score best.wfa train.mrg
wfa predict best.wfa train.mrg
"""


def opened() -> set[str]:
    """Return a set to which the kernels are added that are read from now on."""
    names: set[str] = set()

    def notice(event: str, arguments: tuple[object, ...]) -> None:
        if event == "open" and str(arguments[0]).endswith(".kernel") and arguments[1] in ("r", "rb", None):
            names.add(str(arguments[0]))

    sys.addaudithook(notice)
    return names


def work(folder: Path) -> None:
    """Run the commands in `folder`, and print which kernels were read."""
    from gramian.cli import app
    from gramian.kernels import self_check

    names = opened()
    self_check.passes()  # it runs wherever kernels of the package are used
    os.chdir(folder)
    shown, sys.stdout = sys.stdout, open(os.devnull, "w")  # noqa: SIM115
    for line in COMMANDS.strip().splitlines():
        words = line.split()
        for name in words[words.index("-o") + 1 : words.index("-o") + 2] if "-o" in words else ():
            Path(name).unlink(missing_ok=True)
        app(words, standalone_mode=False)
    sys.stdout = shown
    print(json.dumps(sorted(name for name in names if os.path.exists(name))))


def compiled(level: str, folder: Path) -> Iterator[Path]:
    """Compile for a level, in `folder`; tell the files that the commands read then."""
    environment = {
        **os.environ, "NUMBA_CACHE_DIR": str(folder / "cache"), "NUMBA_CPU_NAME": level, "NUMBA_CPU_FEATURES": "",
        "NUMBA_DISABLE_INTEL_SVML": "1",
    }  # fmt: skip
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-m", "tools.kernels", "--work", str(folder)],
            env=environment, stdout=subprocess.PIPE, text=True, check=True,
        )  # fmt: skip
    yield from map(Path, json.loads(done.stdout))


def main() -> None:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--level", action="append", help="only these levels")
    arguments.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.work:
        work(options.work)
        return
    levels = options.level or list(LEVELS.get(platform.machine(), {}))
    shutil.rmtree(SHIPPED, ignore_errors=True)
    SHIPPED.mkdir()
    for level in levels:
        with tempfile.TemporaryDirectory() as folder:
            for path in compiled(level, Path(folder)):
                (SHIPPED / path.parent.name).mkdir(exist_ok=True)
                shutil.copyfile(path, SHIPPED / path.parent.name / path.name)
    files = [*SHIPPED.rglob("*.kernel")]
    size = sum(file.stat().st_size for file in files)
    print(json.dumps({"levels": levels, "kernels": len(files), "megabytes": round(size / 1e6, 1)}))


if __name__ == "__main__":
    main()
