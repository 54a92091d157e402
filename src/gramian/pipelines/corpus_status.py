"""The progress of a corpus, read from the documents in its output."""

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from gramian.errors import InputError
from gramian.pipelines.manifest import Manifest, RunRecord, planned_input, read_manifest, read_plan, read_run
from gramian.pipelines.storage import storage_at

_RATE_WINDOW = timedelta(minutes=10)


@dataclass
class CorpusStatus:
    """The progress of a corpus.

    Examples
    --------
    >>> CorpusStatus(bytes=100, bytes_done=50, cpu_seconds=10, rate=2).seconds_left
    25.0
    """

    #: files, looked_at: all files, and those that were split into shards
    files: int = 0
    looked_at: int = 0
    #: shards, done: shards of these files, and finished ones
    shards: int = 0
    done: int = 0
    #: bytes, bytes_done: of all inputs, compressed ones as they are
    bytes: int = 0
    bytes_done: int = 0
    #: sentences, words, statuses, cpu_seconds: of finished shards
    sentences: int = 0
    words: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)  #: files that cannot be read and shards that failed
    faults: int = 0  #: lines and sentences that were skipped
    cpu_seconds: float = 0.0
    rate: float = 0.0  #: bytes of the inputs a second, in the last ten minutes; 0 if unknown
    is_running: bool = False  #: whether a command is running

    @property
    def seconds_left(self) -> float | None:
        """The time that the rest takes at the current rate; None if unknown."""
        return (self.bytes - self.bytes_done) / self.rate if self.rate else None


def corpus_status(output: str) -> CorpusStatus:
    """Return the progress of the corpus whose output is in a folder; InputError if there is none.

    Parameters
    ----------
    output : str
        A folder, or the URL of one.

    Examples
    --------
    >>> corpus_status("OUT/").seconds_left  # doctest: +SKIP
    120.0
    """
    storage = storage_at(output)
    run = read_run(storage)
    if run is None:
        raise InputError(
            "no corpus was parsed into this folder", output, hint="name the folder of gramian parse -o"
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
            manifest = read_manifest(storage, name, shard.number)
            if manifest is None or not _is_of(manifest, run):
                continue
            if manifest.result is None:
                status.failures.append(f"{name} (shard {shard.number}): {_last_line(manifest.error)}")
                continue
            status.done += 1
            done += plan.share(shard)
            finished.append((datetime.fromisoformat(manifest.finished), plan.share(shard)))
            status.sentences += manifest.result.sentences
            status.words += manifest.result.words
            status.statuses.update(manifest.result.statuses)
            status.faults += manifest.result.fault_count
            status.cpu_seconds += manifest.result.cpu_seconds
        status.bytes_done += round(done)
    status.rate = _rate(finished)
    return status


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or [""])[-1]


def _is_of(manifest: Manifest, run: RunRecord) -> bool:
    """Return whether a manifest was written with the model, options and version of the last run."""
    old = manifest.model_sha256, manifest.options, manifest.version
    return old == (run.model_sha256, run.options, run.version)


def _rate(finished: list[tuple[datetime, float]]) -> float:
    """Return the number of bytes parsed a second in the last minutes."""
    if len(finished) < 2:
        return 0.0
    last = max(moment for moment, _ in finished)
    lately = [(moment, size) for moment, size in finished if last - moment <= _RATE_WINDOW]
    first = min(moment for moment, _ in lately)
    seconds = (last - first) / timedelta(seconds=1)
    size = sum(size for moment, size in lately if moment > first)
    return size / seconds if seconds else 0.0
