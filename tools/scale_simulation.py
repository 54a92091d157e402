"""What it would take to parse the web: a thousand workers over 10^12 words, simulated.

    python -m tools.scale_simulation [--words 1e12] [--workers 1000] [--sweep] [--seed 0] [--shard-words 2e5, or another of Cluster]

A discrete simulation (SimPy) of what gramian.pipelines does: one process that cuts files, gives out shards, and renames what comes back;
workers that load the model once and then parse shard after shard, some slower than others, each failing now and then; and one file
system that all share. Late shards are given out twice at the end, as
:mod:`gramian.tasks.worker_pool` does. --sweep changes one parameter at a time.
Prints one JSON object a run: hours, core hours, money, and where time is lost. Defaults that were measured name their command.
"""

import argparse
import json
import math
import sys
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from random import Random
from typing import Any

import simpy


@dataclass(frozen=True)
class Cluster:
    """What there is: times in seconds, sizes in bytes."""

    words: float = 1e12
    workers: int = 1000
    speed: float = 1900.0  # words a second of one core, of a busy machine: benchmarks.corpora
    spread: float = 0.1  # of the logarithm of workers' speeds
    slow_share: float = 0.02  # of the workers, which have a third of the speed
    shard_words: float = 175_000.0  # a megabyte of text
    file_words: float = 17.5e6  # of one input file: a hundred megabytes
    head_shard: float = 0.0012  # of the head's time for each shard: gives it out, renames, writes a manifest: benchmarks.corpus_head
    head_file: float = 0.0004  # for each file: finds it and writes its plan: benchmarks.corpus_head
    head_bytes: float = 9e7  # that the head reads a second to cut files: benchmarks.corpus_head
    bytes_word: float = 6.0  # of text
    output_word: float = 27.0  # of JSON lines as .zst; 20 of Parquet, 4 of brackets
    model_bytes: float = 15e6
    start: float = 4.0  # of a worker: imports and the model, from its own disk
    bandwidth: float = 5e9  # of the shared file system, bytes a second
    metadata: float = 5000.0  # operations a second that it can do
    operations: float = 6.0  # for each shard: create, write, close, rename, create and rename of the manifest
    failure: float = 30 * 86400.0  # mean time between failures of a worker
    repair: float = 300.0  # until another takes its place
    price: float = 0.02  # of a core hour, in dollars


class Simulation:
    """One run."""

    def __init__(self, cluster: Cluster, seed: int) -> None:
        self.cluster, self.random = cluster, Random(seed)
        self.world = simpy.Environment()
        self.head = simpy.Resource(self.world)
        self.files = simpy.Resource(self.world)
        self.shards = math.ceil(cluster.words / cluster.shard_words)
        self.per_file = max(1.0, cluster.file_words / cluster.shard_words)
        self.begun = self.done = 0
        self.again: deque[int] = deque()
        self.running: dict[int, float] = {}  # when each shard was begun
        self.doubled: set[int] = set()
        self.longest = 0.0
        self.lost = {"failures": 0.0, "waiting for the head": 0.0, "file system": 0.0, "done twice": 0.0}
        self.head_busy = self.files_busy = self.parsing = 0.0
        self.finished = self.world.event()

    def run(self) -> dict[str, Any]:
        for _ in range(self.cluster.workers):
            self.world.process(self._worker(self._speed()))
        self.world.run(self.finished)
        return self._report()

    def _speed(self) -> float:
        slow = self.random.random() < self.cluster.slow_share
        return self.cluster.speed * math.exp(self.random.gauss(0, self.cluster.spread)) / (3 if slow else 1)

    def _served(self, by: simpy.Resource, seconds: float, why: str) -> Iterator[Any]:
        """Wait for a turn, and be served."""
        asked = self.world.now
        with by.request() as turn:
            yield turn
            yield self.world.timeout(seconds)
        self.lost[why] += self.world.now - asked

    def _next(self) -> int | None:
        """Return the shard that is to be done next; at the end, one that is late; None if there is none."""
        if self.again:
            return self.again.popleft()
        if self.begun < self.shards:
            self.begun += 1
            return self.begun - 1
        limit = max(20.0, 3 * self.longest)
        for shard, began in self.running.items() if self.longest else ():  # the oldest first
            if self.world.now - began <= limit:
                return None
            if shard not in self.doubled:
                self.doubled.add(shard)
                return shard
        return None

    def _worker(self, speed: float) -> Iterator[Any]:
        cluster, world = self.cluster, self.world
        yield from self._served(self.files, cluster.model_bytes / cluster.bandwidth, "file system")
        yield world.timeout(cluster.start)
        fails_at = world.now + self.random.expovariate(1 / cluster.failure)
        while self.done < self.shards:
            shard = self._next()
            if shard is None:
                yield world.timeout(self.longest / 4 + 1)
                continue
            cutting = cluster.shard_words * cluster.bytes_word / cluster.head_bytes
            head = cluster.head_shard + cutting + cluster.head_file / self.per_file
            self.head_busy += head
            yield from self._served(self.head, head, "waiting for the head")
            began = world.now
            self.running.setdefault(shard, began)
            took = cluster.shard_words / speed
            if began + took > fails_at:
                yield world.timeout(max(0.0, fails_at - began) + cluster.repair)
                self.lost["failures"] += world.now - began
                if self.running.pop(shard, None) is not None:
                    self.again.append(shard)
                fails_at = world.now + self.random.expovariate(1 / cluster.failure)
                yield world.timeout(cluster.start)
                continue
            yield world.timeout(took)
            moved = cluster.shard_words * (cluster.bytes_word + cluster.output_word) / cluster.bandwidth
            asked = cluster.operations * (1 + 2 / self.per_file) / cluster.metadata
            self.files_busy += moved + asked
            yield from self._served(self.files, moved + asked, "file system")
            if self.running.pop(shard, None) is None:
                self.lost["done twice"] += took
                continue
            self.parsing += took
            self.longest = max(self.longest, took)
            self.done += 1
            if self.done == self.shards:
                self.finished.succeed()

    def _report(self) -> dict[str, Any]:
        cluster, wall = self.cluster, self.world.now
        total = wall * cluster.workers
        ideal = cluster.words / cluster.speed
        return {
            "words": cluster.words, "workers": cluster.workers, "shards": self.shards,
            "files": math.ceil(cluster.words / cluster.file_words),
            "hours": round(wall / 3600, 2), "core hours": round(total / 3600), "dollars": round(total / 3600 * cluster.price),
            "efficiency": round(ideal / total, 4), "terabytes written": round(cluster.words * cluster.output_word / 1e12, 1),
            "head busy": round(self.head_busy / wall, 4), "file system busy": round(self.files_busy / wall, 4),
            "late shards done twice": len(self.doubled),
            "core hours lost": {why: round(seconds / 3600, 1) for why, seconds in self.lost.items()},
        }  # fmt: skip


SWEEP: list[dict[str, float]] = [
    {},
    {"shard_words": 10_000},
    {"shard_words": 2_000_000},
    {"shard_words": 20_000_000},
    {"file_words": 10_000.0, "shard_words": 10_000.0},
    {"workers": 7_000, "words": 1e11},
    {"workers": 20_000, "words": 1e11},
    {"failure": 86400.0},
    {"failure": 3600.0},
    {"failure": 3600.0, "shard_words": 2_000_000},
    {"slow_share": 0.2},
    {"start": 60.0, "bandwidth": 5e7},
]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for one in fields(Cluster):
        kind = int if isinstance(one.default, int) else float
        parser.add_argument(f"--{one.name.replace('_', '-')}", type=kind, default=one.default)
    parser.add_argument("--sweep", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    cluster = Cluster(**{one.name: getattr(options, one.name) for one in fields(Cluster)})
    for change in SWEEP if options.sweep else [{}]:
        changed: dict[str, Any] = dict(change)
        found = Simulation(replace(cluster, **changed), options.seed).run()
        print(json.dumps({"changed": change, **found}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
