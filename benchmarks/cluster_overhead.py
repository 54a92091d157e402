"""What a Dask cluster adds to tasks that take a while: wall time against the same tasks one after the other, shared by the workers.

python -m benchmarks.cluster_overhead [--seconds 10] [--tasks 4] [--workers 2]

Tasks wait without working, so that other programs do not count, and wherever they run they take the same time. Three overheads: of
tasks on a cluster that stands, of the first tasks of a new one (workers import then), and of those with the start of the cluster. The
last is also told for a run of ten minutes, over which the start is spread.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks import machine


@contextmanager
def cluster(workers: int, processes: list[subprocess.Popen[bytes]] | None = None) -> Iterator[str]:
    """Start a scheduler and workers of one thread; give the address once all workers are there, and in `processes` who they are."""
    from distributed import Client

    processes = [] if processes is None else processes
    with tempfile.TemporaryDirectory() as folder:
        contact = Path(folder) / "scheduler.json"

        def start(role: str, *arguments: str) -> None:
            command = [sys.executable, "-m", "dask", role, "--no-dashboard", "--scheduler-file", str(contact)]
            processes.append(
                subprocess.Popen([*command, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            )

        try:
            start("scheduler", "--host", "127.0.0.1", "--port", "0")
            for _ in range(workers):
                start("worker", "--nthreads", "1", "--no-nanny")
            while not (contact.exists() and contact.read_text().rstrip().endswith("}")):
                time.sleep(0.05)
            address = json.loads(contact.read_text())["address"]
            with Client(address, set_as_default=False) as client:
                client.wait_for_workers(workers)
            yield address
        finally:
            for process in reversed(processes):
                process.kill()
                process.wait()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--tasks", type=int, default=4)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()

    from gramian.tasks.task_runner import run_tasks

    tasks = [options.seconds] * options.tasks
    ideal = options.seconds * -(-options.tasks // options.workers)
    began = time.perf_counter()
    with cluster(options.workers) as address:
        started = time.perf_counter() - began
        walls = []
        for _ in range(2):
            began = time.perf_counter()
            run_tasks(time.sleep, tasks, scheduler=address)
            walls.append(time.perf_counter() - began)
    most = max(1.0, 600 / ideal)
    print(json.dumps({
        "benchmark": "cluster overhead", "seconds of a task": options.seconds, "tasks": options.tasks, "workers": options.workers,
        "start of the cluster": round(started, 2),
        "overhead, percent": {
            "standing": round(100 * (walls[1] / ideal - 1), 2), "new": round(100 * (walls[0] / ideal - 1), 2),
            "new, with its start": round(100 * ((started + walls[0]) / ideal - 1), 2),
            "new, with its start, in a run of ten minutes": round(100 * (started + walls[0] - ideal) / (most * ideal), 2),
        },
        **machine.about(),
    }, indent=1))  # fmt: skip


if __name__ == "__main__":
    main()
