"""How far a corpus is parsed: read from what lies in its output, whether a command is at work there or not."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from gramian.errors import InputError, counted
from gramian.pipelines.manifest import Manifest, RunRecord, planned_input, read_manifest, read_plan, read_run
from gramian.pipelines.storage import storage_at

_LATELY = timedelta(minutes=10)


@dataclass
class CorpusStatus:
    """What is done of a corpus, what is left, how fast it goes, and what failed.

    Attributes
    ----------
    files, looked_at : int
        How many there are, and of how many it is known what shards they have.
    shards, done : int
        Of the files that were looked at.
    bytes, bytes_done : int
        Of all inputs as they lie there.
    sentences, words, statuses
        Of the shards that are done.
    failures : list of str
        Files that cannot be read and shards that failed.
    faults : int
        Lines and sentences that were left out.
    cpu_seconds : float
        What the shards that are done took.
    rate : float
        Bytes of the inputs a second, over the last ten minutes in which shards were finished; 0 if that is not known.
    is_running : bool
        Whether a command is at work.
    """

    files: int = 0
    looked_at: int = 0
    shards: int = 0
    done: int = 0
    bytes: int = 0
    bytes_done: int = 0
    sentences: int = 0
    words: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    faults: int = 0
    cpu_seconds: float = 0.0
    rate: float = 0.0
    is_running: bool = False

    @property
    def seconds_left(self) -> float | None:
        """About how long the rest will take at the rate of late; None if that is not known."""
        return (self.bytes - self.bytes_done) / self.rate if self.rate else None

    def lines(self) -> list[str]:
        """Return it in words."""
        share = 100 * self.bytes_done / max(1, self.bytes)
        told = [
            f"{share:.0f}% done: {self.done:,} of {counted(self.shards, 'shard')}"
            f" in {self.looked_at:,} of {counted(self.files, 'file')}"
        ]
        told.append(f"{counted(self.sentences, 'sentence')}, {counted(self.words, 'word')}")
        if self.cpu_seconds:
            told[-1] += f", {self.sentences / self.cpu_seconds:.1f} a CPU second"
        if others := {
            name: count for name, count in self.statuses.items() if name not in ("parsed", "empty")
        }:
            told.append(
                "not fully parsed: " + ", ".join(f"{count:,} {name}" for name, count in others.items())
            )
        if self.is_running:
            left = "" if self.seconds_left is None else f"; about {self.seconds_left / 60:.0f} min left"
            told.append(f"a command is at work{left}")
        elif share < 100 or self.done < self.shards:
            told.append("no command is at work; the same one goes on")
        if self.faults:
            told.append(f"{self.faults:,} lines or sentences left out")
        told += [f"failed: {failure}" for failure in self.failures]
        return told


def corpus_status(output: str) -> CorpusStatus:
    """Return how far the corpus is whose output lies in a folder; an InputError if none does.

    Parameters
    ----------
    output : str
        A folder, or the URL of one.
    """
    storage = storage_at(output)
    run = read_run(storage)
    if run is None:
        raise InputError(
            "no corpus was parsed into this folder", output, hint="the folder that was given to parse by -o"
        )
    status = CorpusStatus(files=run.files, bytes=run.bytes, is_running=storage.is_locked())
    finished: list[tuple[datetime, float]] = []
    for entry in storage.entries():
        name = planned_input(entry.name)
        plan = None if name is None else read_plan(storage, name)
        if name is None or plan is None:
            continue
        status.looked_at += 1
        status.shards += len(plan.shards)
        if plan.fault:
            status.failures.append(_last_line(plan.fault.partition("\n")[0]))
        if plan.fault or not plan.shards:
            status.bytes_done += plan.size
        done = 0.0
        for shard in plan.shards:
            found = read_manifest(storage, name, shard.number)
            if found is None or not _is_of(found, run):
                continue
            if not found.has_result:
                status.failures.append(f"{name} (shard {shard.number}): {_last_line(found.error)}")
                continue
            status.done += 1
            done += plan.share(shard)
            finished.append((datetime.fromisoformat(found.finished), plan.share(shard)))
            _add(status, found)
        status.bytes_done += round(done)
    status.rate = _rate(finished)
    return status


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or [""])[-1]


def _is_of(manifest: Manifest, run: RunRecord) -> bool:
    """Whether a manifest is of the command that was given last: with its model, options and version."""
    old = manifest.model_sha256, manifest.options, manifest.version
    return old == (run.model_sha256, run.options, run.version)


def _add(status: CorpusStatus, manifest: Manifest) -> None:
    status.sentences += manifest.sentences
    status.words += manifest.words
    status.statuses.update(manifest.statuses)
    status.faults += manifest.fault_count
    status.cpu_seconds += manifest.cpu_seconds


def _rate(finished: list[tuple[datetime, float]]) -> float:
    """Return how many bytes a second were done in the last minutes of work."""
    if len(finished) < 2:
        return 0.0
    last = max(moment for moment, _ in finished)
    lately = [(moment, size) for moment, size in finished if last - moment <= _LATELY]
    first = min(moment for moment, _ in lately)
    seconds = (last - first) / timedelta(seconds=1)
    size = sum(size for moment, size in lately if moment > first)
    return size / seconds if seconds else 0.0
