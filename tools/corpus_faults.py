"""What may happen to a corpus that is parsed for days, in minutes: afterwards it has the bytes of an undisturbed run.

    python -m tools.corpus_faults FOLDER [kills workers stopped cluster full twice] [--times 20] [--seconds 20] [--shard-size 16]

kills: the command is killed (SIGKILL) at so many random moments, and started again; workers: one of its two processes is killed every so
many seconds; stopped: one of four is stopped (SIGSTOP) for good; cluster: of four Dask workers one is stopped and one killed; full: the
disk has no room until some is made (a small tmpfs, so this needs root); twice: a second command on the same output. FOLDER holds text,
one sentence a line. Prints one JSON object each; exits with 1 if anything differs.
"""

import argparse
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.cluster_overhead import cluster

_SOONEST = 3.0  # seconds within which a kill finds a command at work


def shards(output: Path) -> dict[str, str]:
    """Return the hashes of all outputs of a corpus."""
    return {
        path.relative_to(output).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(output.glob("**/0*.jsonl"))
        if ".partial" not in path.parts
    }


def half_written(output: Path) -> list[str]:
    """Name what is seen in an output and is not what its manifest says."""
    found, there = [], shards(output)
    for path in output.glob("**/*.manifest.json"):
        result = json.loads(path.read_text())["result"]
        name = (path.parent / result["output"]).relative_to(output).as_posix()
        if there.get(name) != result["sha256"]:
            found.append(name)
    return found


def children(process: int) -> list[int]:
    """Return the processes that a process has started."""
    return [int(one) for one in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


class Faults:
    """The corpus, the command, and one method for each fault; each returns what was seen."""

    def __init__(self, options: argparse.Namespace, root: Path) -> None:
        self.root, self.options, self.random = root, options, Random(options.seed)
        self.out = root / "out"
        began = time.monotonic()
        self.run(root / "whole")
        self.seconds = time.monotonic() - began
        self.whole = shards(root / "whole")

    def start(self, output: Path, *arguments: str) -> subprocess.Popen[str]:
        command = [
            sys.executable,
            "-m",
            "gramian",
            "parse",
            self.options.folder,
            "-o",
            f"{output}/",
            "--lines",
        ]
        command += ["--set", f"corpus.shard_size={self.options.shard_size!s}", *arguments]
        command += ["--model", self.options.model] if self.options.model else []
        return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)

    def run(self, output: Path, *arguments: str) -> tuple[int, str]:
        process = self.start(output, *(arguments or ("--jobs", "2")))
        said = process.communicate()[1]
        return process.returncode, said

    def begin(self) -> None:
        shutil.rmtree(self.out, ignore_errors=True)

    def until(self, ready: Callable[[], bool], process: subprocess.Popen[str]) -> None:
        while not ready() and process.poll() is None:
            time.sleep(0.02)

    def kills(self) -> dict[str, Any]:
        self.begin()
        killed, finished, wrong = 0, 0, []
        # so that all is done when the last has come
        longest = max(_SOONEST, 2 * self.seconds / self.options.times)
        while killed < self.options.times:
            process = self.start(self.out, "--jobs", "2")
            try:
                process.communicate(timeout=self.random.uniform(0, longest))
                finished += 1
                wrong += [] if shards(self.out) == self.whole else ["another result"]
                self.begin()
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
                killed += 1
                wrong += half_written(self.out)
        self.run(self.out)
        return {"kills": killed, "finished between": finished, "wrong": wrong}

    def workers(self) -> dict[str, Any]:
        process, killed, next_one = (
            self.start(self.out, "--jobs", "2"),
            0,
            time.monotonic() + self.options.seconds,
        )
        os.set_blocking(process.stderr.fileno(), False)
        while process.poll() is None:
            time.sleep(0.05)
            if time.monotonic() > next_one and (there := children(process.pid)):
                os.kill(self.random.choice(there), signal.SIGKILL)
                killed, next_one = killed + 1, time.monotonic() + self.options.seconds
        return {
            "workers killed": killed,
            "every so many seconds": self.options.seconds,
            "said": last(process.stderr.read()),
        }

    def stopped(self) -> dict[str, Any]:
        process = self.start(self.out, "--jobs", "4")
        self.until(lambda: len(half_done(self.out)) >= 4, process)
        victim = children(process.pid)[0]
        os.kill(victim, signal.SIGSTOP)
        said = process.communicate()[1]
        return {
            "told": [line for line in said.splitlines() if "has had its task" in line],
            "said": last(said),
        }

    def cluster(self) -> dict[str, Any]:
        with cluster(4, processes := []) as address:
            process = self.start(self.out, "--scheduler", address)
            self.until(lambda: len(half_done(self.out)) >= 4, process)
            processes[-1].send_signal(signal.SIGSTOP)
            processes[-2].kill()
            said = process.communicate()[1]
            processes[-1].send_signal(signal.SIGCONT)
        told = [line for line in said.splitlines() if "worker" in line]
        return {"told": told, "said": last(said)}

    def full(self) -> dict[str, Any]:
        room = sum(path.stat().st_size for path in (self.root / "whole").glob("**/*") if path.is_file())
        self.out.mkdir(parents=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={room // 3}", "tmpfs", self.out], check=True)
        try:
            code, said = self.run(self.out)
            wrong, kept = half_written(self.out), len(shards(self.out))
            subprocess.run(["mount", "-o", f"remount,size={3 * room}", self.out], check=True)
            self.run(self.out)
            same = shards(self.out) == self.whole
        finally:
            subprocess.run(["umount", self.out], check=True)
        return {
            "exit": code,
            "said": said.strip().splitlines()[-2:],
            "kept": kept,
            "wrong": wrong,
            "equal": same,
        }

    def twice(self) -> dict[str, Any]:
        process = self.start(self.out, "--jobs", "2")
        self.until(lambda: (self.out / "run.json").exists(), process)
        code, said = self.run(self.out)
        process.communicate()
        return {
            "exit": code,
            "said": said.strip()[:200].replace(str(self.root), ""),
            "wrong": [] if code == 2 else ["not refused"],
        }


def half_done(output: Path) -> list[Path]:
    return list(output.glob("**/*.manifest.json"))


def last(said: str | None) -> str:
    return (said or "").strip().splitlines()[-1]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder")
    names = ["kills", "workers", "stopped", "cluster", "full", "twice"]
    parser.add_argument("faults", nargs="*", metavar="FAULT", default=names)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--shard-size", type=int, default=16, help="kilobytes")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--model")
    options = parser.parse_args()
    if unknown := set(options.faults) - set(names):
        parser.error(f"no fault is called {', '.join(sorted(unknown))}; there are: {', '.join(names)}")
    failed = False
    with tempfile.TemporaryDirectory() as root:
        faults = Faults(options, Path(root))
        about = {"shards": len(faults.whole), "seconds undisturbed": round(faults.seconds, 1)}
        for name in options.faults:
            faults.begin()
            began = time.monotonic()
            found = {"equal": None, "wrong": [], **getattr(faults, name)()}
            if found["equal"] is None:
                found["equal"] = shards(faults.out) == faults.whole
            print(
                json.dumps({"fault": name, **about, "seconds": round(time.monotonic() - began, 1), **found}),
                flush=True,
            )
            failed |= not found["equal"] or bool(found["wrong"])
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
