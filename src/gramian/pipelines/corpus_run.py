"""A corpus parsed: every shard once, by whoever is there; what is done stays done.

A shard is done when its output has its name and its manifest lies beside it; both are renamed into place by this process alone, which
holds the lock of the output. Inputs are looked at one after the other, as there is room for their shards, so that memory depends neither
on how many there are nor on how large they are.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from time import monotonic
from typing import Any

from gramian import __version__
from gramian.errors import InputError, counted
from gramian.interruption import kept_meanwhile
from gramian.io.output import changed_options, check_results
from gramian.pipelines.inputs import Input, Kind
from gramian.pipelines.manifest import (
    RUN,
    Manifest,
    RunRecord,
    as_json,
    manifest_name,
    plan_name,
    read_manifest,
    read_plan,
    why_again,
)
from gramian.pipelines.shard_plan import InputLayout, ShardPlan, make_plan
from gramian.pipelines.shard_work import PARTIAL, PARTIAL_NAME, Settings, ShardWork, parse_shard
from gramian.pipelines.shard_writing import ending
from gramian.pipelines.storage import storage_at
from gramian.progress import tell_progress
from gramian.tasks.task_runner import Outcome, stream_tasks

_log = logging.getLogger("gramian.pipelines")
_TOLD_EVERY = 60.0  # seconds, where nobody sees a bar
_LEAST_KNOWN = 0.5  # of the first words of a shard; text of the model's own language has 0.8 and more
_MEGABYTE = 1 << 20


@dataclass
class RunReport:
    """What a run has done: new and reused shards and sentences; files that could not be read, and faults within others."""

    files: int = 0
    shards: int = 0
    sentences: int = 0
    words: int = 0
    kept_shards: int = 0
    kept_sentences: int = 0
    repaired: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    faults: int = 0
    seconds: float = 0.0


def parse_corpus(
    inputs: Sequence[Input],
    output: str,
    settings: Settings,
    *,
    kind: Kind | None = None,
    shard_size: int = _MEGABYTE,
    n_jobs: int = 1,
    scheduler: str | None = None,
    force: bool = False,
) -> RunReport:
    """Parse all that is not done yet; another process that does so for the same `output` is an OptionError.

    Results that were made with other options, another model or another version of gramian are an OptionError, too, which names what
    differs, unless `force` says that they are to be replaced.

    Parameters
    ----------
    inputs : sequence of Input
    output : str
        A folder, or the URL of one.
    settings : Settings
    kind : str, optional
        What the inputs hold; without it, the ends of their names say so.
    shard_size : int
        Bytes of text at which a file is cut.
    n_jobs, scheduler
        As for :func:`gramian.tasks.task_runner.run_tasks`.
    """
    storage = storage_at(output)
    with storage.locked(), kept_meanwhile("what is done is kept, and the same command goes on"):
        run = _Run(inputs, output, settings, kind, shard_size)
        try:
            return run.go_through(n_jobs, scheduler, force)
        finally:
            storage.remove_written(PARTIAL, PARTIAL_NAME)


class _Run:
    """One run: what goes out as tasks, and what becomes of their outcomes."""

    def __init__(
        self, inputs: Sequence[Input], output: str, settings: Settings, kind: Kind | None, shard_size: int
    ) -> None:
        self._inputs, self._settings, self._kind, self._shard_size = inputs, settings, kind, shard_size
        self._storage = storage_at(output)
        self._ending = ending(settings.to)
        self._report = RunReport(files=len(inputs))
        self._total = sum(source.size for source in inputs)
        self._done = self._parsed = 0.0  # bytes of the inputs: in all, and in this run
        self._told = self._began = monotonic()

    def go_through(self, n_jobs: int, scheduler: str | None, force: bool) -> RunReport:
        storage, report, settings = self._storage, self._report, self._settings
        self._look_at_results(force)
        storage.remove_written(PARTIAL, PARTIAL_NAME)  # of a run that was killed
        record = RunRecord(
            version=__version__,
            files=len(self._inputs),
            bytes=self._total,
            model=settings.model,
            model_sha256=settings.model_sha256,
            options=settings.as_options(),
            begun=_now(),
        )
        storage.write(RUN, as_json(asdict(record)))
        tell_progress(_log, "megabytes", 0, max(1, self._total // _MEGABYTE))
        for outcome in stream_tasks(parse_shard, self._tasks(), n_jobs=n_jobs, scheduler=scheduler):
            self._note(outcome)
        report.seconds = monotonic() - self._began
        return report

    def _layout(self, source: Input) -> InputLayout:
        settings = self._settings
        return InputLayout(
            self._kind or source.kind,
            settings.form,
            settings.text_field,
            settings.id_field,
            self._shard_size,
        )

    def _stands(self, plan: ShardPlan | None, source: Input) -> bool:
        """Whether the plan of an earlier run still holds."""
        if plan is None or plan.fault or not source.stamp:
            return False
        return (plan.stamp, plan.layout) == (source.stamp, self._layout(source))

    def _changes(self, plan: ShardPlan, source: Input) -> list[str]:
        """Name what cuts a file otherwise than before; a file that was itself changed is to be parsed again, and no such thing."""
        changes = changed_options(asdict(plan.layout), asdict(self._layout(source)))
        if plan.address not in ("", source.address) and plan.stamp != source.stamp:
            changes.append(f"{source.name} is {source.address!r}, was {plan.address!r}")
        return changes

    def _look_at_results(self, force: bool) -> None:
        """Say what is kept of earlier runs, and what is done again; refuse to replace results of other options."""
        reasons: Counter[str] = Counter()
        kept = sentences = new = changed = 0
        changes: dict[str, None] = {}
        for source in self._inputs:
            plan = read_plan(self._storage, source.name)
            if plan is None:
                new += 1
                continue
            stands, differences = self._stands(plan, source), self._changes(plan, source)
            changed += not stands
            for shard in plan.shards:
                reason, found = why_again(self._storage, source, shard, self._settings)
                if found is not None and found.has_result:
                    changes |= dict.fromkeys([*differences, *found.differences(self._settings)])
                if stands:
                    reasons[reason] += 1
                    if found is not None and not reason:
                        kept += 1
                        sentences += found.sentences
        check_results(self._storage.address, changes, force=force)
        if new == len(self._inputs):
            return
        _log.info("reusing %s with %s", counted(kept, "finished shard"), counted(sentences, "sentence"))
        for reason, count in reasons.items():
            if reason and reason != "not begun":
                _log.info("done again: %s (%s)", counted(count, "shard"), reason)
        if changed:
            _log.info(
                "looked at again: %s (failed before, changed, or cut in another way)",
                counted(changed, "file"),
            )
        if left := reasons["not begun"]:
            _log.info("not begun: %s", counted(left, "shard"))
        if new:
            _log.info("not looked at yet: %s", counted(new, "file"))

    def _tasks(self) -> Iterator[ShardWork]:
        """Yield the shards that are to be done, file by file."""
        for source in self._inputs:
            plan = before = read_plan(self._storage, source.name)
            if plan is None or not self._stands(plan, source):
                plan = make_plan(source, self._layout(source))
                self._storage.write(plan_name(source.name), as_json(asdict(plan)))
                self._remove_shards(source, len(plan.shards), 0 if before is None else len(before.shards))
            self._report.repaired += plan.repaired
            if plan.fault:
                self._fail(plan.fault)
                self._done += source.size
                continue
            if not plan.shards:
                self._done += source.size
            for shard in plan.shards:
                reason, found = why_again(self._storage, source, shard, self._settings)
                if reason or found is None:
                    output = self._storage.address
                    yield ShardWork(source, plan.layout, shard, output, self._settings, plan.share(shard))
                    continue
                self._report.kept_shards += 1
                self._report.kept_sentences += found.sentences
                self._done += plan.share(shard)

    def _remove_shards(self, source: Input, start: int, end: int) -> None:
        """Remove what an earlier run has written of shards that there are no longer."""
        for number in range(start, end):
            found = read_manifest(self._storage, source.name, number)
            if found is not None:
                if found.has_result:
                    self._storage.remove(f"{source.name}/{found.output}")
                self._storage.remove(manifest_name(source.name, number))

    def _note(self, outcome: Outcome) -> None:
        """Put what a worker has made in its place, with its manifest."""
        task: ShardWork = outcome.task
        source, shard, settings, storage = task.source, task.shard, task.settings, self._storage
        made: dict[str, Any] = outcome.value or {}
        if "no room" in made:
            hint = "making room, or another folder; what is done is kept"
            raise InputError(f"cannot be written ({made['no room']})", storage.address, hint=hint)
        name = manifest_name(source.name, shard.number)
        place = f"{source.name} (shard {shard.number})"
        if outcome.error:
            last = outcome.error.strip().splitlines()[-1] if "Traceback" in outcome.error else outcome.error
            storage.write(
                name, as_json(Manifest.of(source, shard, settings, _now(), error=outcome.error).as_dict())
            )
            self._fail(last if source.name in last else f"{place}: {last}")
        else:
            before = read_manifest(storage, source.name, shard.number)
            final = f"{shard.number:05}{self._ending}"
            storage.move(made.pop("partial"), f"{source.name}/{final}")
            storage.write(
                name, as_json(Manifest.of(source, shard, settings, _now(), output=final, **made).as_dict())
            )
            if before is not None and before.has_result and before.output != final:
                storage.remove(f"{source.name}/{before.output}")
            self._count(made, place)
        self._done += task.share
        self._parsed += task.share
        self._tell_how_far()

    def _count(self, made: dict[str, Any], place: str) -> None:
        report = self._report
        report.shards += 1
        report.sentences += made["sentences"]
        report.words += made["words"]
        report.statuses.update(made["statuses"])
        report.faults += made["fault_count"]
        for fault in made["faults"]:
            _log.info("left out: %s", fault)
        if made["known"] is not None and made["known"] < _LEAST_KNOWN:
            _log.info(
                "%s: the model knows %.0f%% of its first words: is it in its language?",
                place,
                100 * made["known"],
            )

    def _fail(self, message: str) -> None:
        self._report.failures.append(message)
        _log.info("failed: %s", message)

    def _tell_how_far(self) -> None:
        total = max(1, self._total)
        tell_progress(_log, "megabytes", int(self._done / _MEGABYTE), max(1, total // _MEGABYTE))
        now = monotonic()
        if now - self._told < _TOLD_EVERY:
            return
        self._told = now
        report, seconds = self._report, now - self._began
        left = seconds * (total - self._done) / max(1.0, self._parsed)
        _log.info(
            "%.0f%% done, %s, %.0f a second, about %.0f min left",
            100 * self._done / total,
            counted(report.sentences + report.kept_sentences, "sentence"),
            report.sentences / seconds,
            left / 60,
        )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
