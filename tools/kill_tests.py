"""Kill commands at random moments and start them again: the result is that of an undisturbed run, and nothing half-written is seen.

    python -m tools.kill_tests [train search ensemble rerank experiment parse corpus ...] [--times 20] [--seed 0] [--trees 150]

Each command runs on trees sampled from a made-up English, is killed (SIGKILL) after a random share of the time that it takes
undisturbed, and started again, until it has been killed so many times; then it is left to finish. Whenever it finishes, its
result is compared with the undisturbed one, and it begins anew. Prints one JSON object a command; exits with 1 if anything differs.
"""

import argparse
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))

Command = Callable[[Path], None]


def command_line(*arguments: str) -> Command:
    """Return the command line with these arguments, {} standing for the folder that all is written to."""

    def run(folder: Path) -> None:
        from gramian.cli import main

        sys.argv = ["gramian", *(one.replace("{}", str(folder)) for one in arguments)]
        main()

    return run


def without_times(folder: Path) -> bytes:
    """Return the figures of an experiment but for those that say how long something took."""
    rows = [json.loads(line) for line in (folder / "run" / "runs.jsonl").read_text().splitlines()]
    kept = [{name: row[name] for name in row if "seconds" not in name} for row in rows]
    return json.dumps(kept, sort_keys=True).encode()


def shards(folder: Path) -> bytes:
    """Return the outputs of a corpus, with their names."""
    files = sorted((folder / "corpus").glob("[!.]*/*.jsonl"))
    return b"".join(f"{path.relative_to(folder)}\n".encode() + path.read_bytes() for path in files)


def commands(folder: Path, trees: int) -> dict[str, tuple[Command, Callable[[Path], bytes]]]:
    """Write the data; return each command, and how to read its result once it is there."""
    from made_up_english import sample

    sampled = list(sample(trees, 1))
    bank, text, model = (str(folder / name) for name in ("trees.mrg", "sentences.txt", "small.grammar"))
    Path(bank).write_text("".join(f"{tree}\n" for tree in sampled))
    lines = [" ".join(tree.words) + "\n" for tree in sample(20 * trees, 2)]
    Path(text).write_text("".join(lines))
    (folder / "texts").mkdir()
    for number in range(8):
        (folder / "texts" / f"{number}.txt").write_text("".join(lines[number::8]))
    (folder / "settings.toml").write_text(
        'sizes = [40, 80]\nstates = 4\ntest_sentences = 10\nmethods = ["pcfg", "spectral-cluster", "em"]\n'
    )
    attempt(
        command_line("train", bank, "-o", model, "--method", "spectral-cluster", "--states", "8", "-q"),
        folder,
        None,
    )
    small = lambda place: (place / "result").read_bytes()  # noqa: E731
    learnt = ("-o", "{}/result", "--states", "8", "-q")
    clusters = ("--method", "spectral-cluster")
    planned = ("--config", str(folder / "settings.toml"), "--out", "{}/run", "--seeds", "2", "-q")
    return {
        "train": (
            command_line("train", bank, "--method", "spectral-em", "--set", "max_iter=20", *learnt),
            small,
        ),
        "search": (
            command_line(
                "train",
                bank,
                "--set",
                "search.method=greedy",
                "--set",
                "search.budget=12",
                "--ensemble-size",
                "1",
                *clusters,
                *learnt,
            ),
            small,
        ),
        "ensemble": (
            command_line("train", bank, "--ensemble-size", "4", *clusters, "--expert", *learnt),
            small,
        ),
        "rerank": (
            command_line(
                "train",
                bank,
                "--rerank",
                "--set",
                "folds=2",
                "--calibrate",
                "--ensemble-size",
                "1",
                *clusters,
                *learnt,
            ),
            small,
        ),
        "experiment": (command_line("experiment", "learning-curve", bank, *planned), without_times),
        "parse": (command_line("parse", text, "-m", model, "--tokens", "-o", "{}/result", "-q"), small),
        "corpus": (
            command_line("parse", str(folder / "texts"), "-m", model, "--tokens", "-o", "{}/corpus/", "-q"),
            shards,
        ),
    }


def attempt(command: Command, folder: Path, seconds: float | None) -> bool:
    """Run a command in a process of its own; return whether it ended before it was killed."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            quiet = os.open(os.devnull, os.O_WRONLY)
            os.dup2(quiet, 1)
            command(folder)
            code = 0
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 1 if stop.code else 0
        except BaseException:
            import traceback

            traceback.print_exc()
        finally:
            os._exit(code)
    end = None if seconds is None else time.monotonic() + seconds
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            if status != 0:
                raise RuntimeError(f"the command failed with status {status}")
            return True
        if end is not None and time.monotonic() > end:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return False
        time.sleep(0.01)


def half_written(folder: Path, whole: bytes, read: Callable[[Path], bytes]) -> list[str]:
    """Name what is seen in a folder and is not whole; hidden files and those that end in .partial are work to go on with."""
    found = []
    for path in (one for one in folder.rglob("*") if one.is_file() and not one.name.startswith(".")):
        if path.suffix == ".json":
            try:
                json.loads(path.read_text())
            except ValueError:
                found.append(path.name)
        results = path.name in ("result", "runs.jsonl")
        if (results and read(folder) != whole) or (
            path.suffix == ".html" and "</html>" not in path.read_text()
        ):
            found.append(path.name)
    return found


def kill_test(
    command: Command, read: Callable[[Path], bytes], times: int, random: Random, root: Path
) -> dict[str, Any]:
    """Kill a command so many times; return what was seen."""
    folder = root / "run"

    def begin() -> None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()

    begin()
    attempt(command, folder, None)  # fills the caches of compiled code
    whole = read(folder)
    begin()
    began = time.monotonic()
    attempt(command, folder, None)
    undisturbed = time.monotonic() - began
    results, seen, kills = [read(folder) == whole], [], 0
    begin()
    while kills < times:
        if attempt(command, folder, random.uniform(0, undisturbed)):
            results.append(read(folder) == whole)
            begin()
            continue
        kills += 1
        seen += half_written(folder, whole, read)
    attempt(command, folder, None)
    results.append(read(folder) == whole)
    left = sorted(
        path.name
        for path in folder.rglob("*")
        if "partial" in path.name or path.suffix in (".tmp", ".members")
    )
    return {
        "undisturbed seconds": round(undisturbed, 1), "kills": kills, "finished": len(results), "equal": sum(results),
        "half-written": seen, "left over": left,
    }  # fmt: skip


def main() -> int:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("commands", nargs="*")
    options.add_argument("--times", type=int, default=20)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--trees", type=int, default=150)
    chosen = options.parse_args()
    # Imported here once, so that what is killed is work rather than start; nothing is compiled or run before the fork.
    import sklearn.cluster  # noqa: F401

    failed = False
    with tempfile.TemporaryDirectory() as temporary:
        known = commands(Path(temporary), chosen.trees)
        if unknown := set(chosen.commands) - set(known):
            options.error(f"no command is called {', '.join(sorted(unknown))}; there are: {', '.join(known)}")
        for name in chosen.commands or known:
            found = kill_test(*known[name], chosen.times, Random(f"{name} {chosen.seed}"), Path(temporary))
            print(json.dumps({"command": name, **found}), flush=True)
            failed |= found["equal"] != found["finished"] or bool(found["half-written"] or found["left over"])
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
