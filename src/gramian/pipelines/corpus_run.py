"""A corpus parsed: every shard once, by whoever is there; what is done stays done.

A shard is done when its output has its name and its manifest lies beside it; both are renamed into place by this process alone, which
holds the lock of the output. Inputs are looked at one after the other, as there is room for their shards, so that memory depends neither
on how many there are nor on how large they are.
"""

import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from time import monotonic

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
from gramian.pipelines.shard_work import PARTIAL, PARTIAL_NAME, Settings, ShardResult, ShardWork, parse_shard
from gramian.pipelines.shard_writing import ending
from gramian.pipelines.storage import storage_at
from gramian.progress import tell_progress
from gramian.tasks.task_runner import Outcome, stream_tasks

_log = logging.getLogger("gramian.pipelines")
_REPORT_INTERVAL = 60.0  # seconds
_MEGABYTE = 1 << 20


@dataclass
class RunReport:
    """What a run has parsed and reused; `failures` are files and shards without a result, `faults` lines and sentences left out."""

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
    """Parse all shards that have no result yet.

    OptionError if another process writes the same `output`, or, without `force`, if results would be replaced that were made with other
    options, another model or another version of gramian.

    Parameters
    ----------
    inputs : sequence of Input
    output : str
        A folder, or the URL of one.
    settings : Settings
    kind : str, optional
        What the inputs hold; by default according to the ends of their names.
    shard_size : int
        Bytes of text at which a file is cut.
    n_jobs, scheduler
        As for :func:`gramian.tasks.task_runner.run_tasks`.

    Examples
    --------
    >>> from gramian.pipelines.inputs import find_inputs
    >>> parse_corpus(find_inputs(["texts/"]), "OUT/", Settings("my.grammar", file_sha256("my.grammar")))  # doctest: +SKIP
    """
    storage = storage_at(output)
    with storage.locked(), kept_meanwhile("finished shards are kept. Run the same command again to resume."):
        run = _Run(inputs, output, settings, kind, shard_size)
        try:
            return run.run(n_jobs, scheduler, force)
        finally:
            storage.remove_written(PARTIAL, PARTIAL_NAME)


class _Run:
    """One run: makes tasks of shards, and moves their results into place."""

    def __init__(
        self, inputs: Sequence[Input], output: str, settings: Settings, kind: Kind | None, shard_size: int
    ) -> None:
        self._inputs, self._settings, self._kind, self._shard_size = inputs, settings, kind, shard_size
        self._storage = storage_at(output)
        self._ending = ending(settings.to)
        self._report = RunReport(files=len(inputs))
        self._total = sum(source.size for source in inputs)
        self._done = self._parsed = 0.0  # bytes of the inputs: in all, and in this run
        self._last_report = self._began = monotonic()

    def run(self, n_jobs: int, scheduler: str | None, force: bool) -> RunReport:
        storage, report, settings = self._storage, self._report, self._settings
        self._check_results(force)
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
        return InputLayout(
            kind=self._kind or source.kind,
            form=self._settings.form,
            text_field=self._settings.text_field,
            id_field=self._settings.id_field,
            shard_size=self._shard_size,
        )

    def _is_valid(self, plan: ShardPlan | None, source: Input) -> bool:
        """Return whether the plan of an earlier run is still right."""
        if plan is None or plan.fault or not source.stamp:
            return False
        return (plan.stamp, plan.layout) == (source.stamp, self._layout(source))

    def _changes(self, plan: ShardPlan, source: Input) -> list[str]:
        """Name the changed options by which a file is split otherwise than before."""
        changes = changed_options(asdict(plan.layout), asdict(self._layout(source)))
        if plan.address not in ("", source.address) and plan.stamp != source.stamp:
            changes.append(f"{source.name} is {source.address!r}, was {plan.address!r}")
        return changes

    def _check_results(self, force: bool) -> None:
        """Report what is reused of earlier runs and what is parsed again; refuse to replace results of other options."""
        reasons: Counter[str] = Counter()
        reused = sentences = new = changed = 0
        changes: dict[str, None] = {}
        for source in self._inputs:
            plan = read_plan(self._storage, source.name)
            if plan is None:
                new += 1
                continue
            is_valid, layout_changes = self._is_valid(plan, source), self._changes(plan, source)
            changed += not is_valid
            for shard in plan.shards:
                reason, manifest = why_again(self._storage, source, shard, self._settings)
                result = None if manifest is None else manifest.result
                if manifest is not None and result is not None:
                    changes |= dict.fromkeys([*layout_changes, *manifest.differences(self._settings)])
                if is_valid and reason:
                    reasons[reason] += 1
                elif is_valid and result is not None:
                    reused += 1
                    sentences += result.sentences
        check_results(self._storage.address, changes, force=force)
        if new == len(self._inputs):
            return
        _log.info("reusing %s with %s", counted(reused, "finished shard"), counted(sentences, "sentence"))
        for reason, count in reasons.items():
            if reason != "not begun":
                _log.info("parsing again: %s (%s)", counted(count, "shard"), reason)
        if changed:
            _log.info("reading again: %s (failed before, or changed)", counted(changed, "file"))
        if left := reasons["not begun"]:
            _log.info("not begun: %s", counted(left, "shard"))
        if new:
            _log.info("not read yet: %s", counted(new, "file"))

    def _tasks(self) -> Iterator[ShardWork]:
        """Yield the shards that are to be parsed, file by file."""
        for source in self._inputs:
            plan = before = read_plan(self._storage, source.name)
            if plan is None or not self._is_valid(plan, source):
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
                reason, manifest = why_again(self._storage, source, shard, self._settings)
                if reason or manifest is None or manifest.result is None:
                    output = self._storage.address
                    yield ShardWork(source, plan.layout, shard, output, self._settings, plan.share(shard))
                    continue
                self._report.kept_shards += 1
                self._report.kept_sentences += manifest.result.sentences
                self._done += plan.share(shard)

    def _remove_shards(self, source: Input, start: int, end: int) -> None:
        """Remove the results of shards that the plan of an earlier run had, and the new one has not."""
        for number in range(start, end):
            manifest = read_manifest(self._storage, source.name, number)
            if manifest is not None:
                if manifest.result is not None:
                    self._storage.remove(f"{source.name}/{manifest.result.output}")
                self._storage.remove(manifest_name(source.name, number))

    def _note(self, outcome: Outcome) -> None:
        """Move the output of a worker into place and write its manifest."""
        task: ShardWork = outcome.task
        source, shard, storage = task.source, task.shard, self._storage
        name = f"{source.name} (shard {shard.number})"
        if isinstance(outcome.value, str):
            hint = "make room, or choose another folder; finished shards are kept"
            raise InputError(f"cannot be written ({outcome.value})", storage.address, hint=hint)
        if outcome.error:
            last = outcome.error.strip().splitlines()[-1] if "Traceback" in outcome.error else outcome.error
            self._write_manifest(task, error=outcome.error)
            self._fail(last if source.name in last else f"{name}: {last}")
        else:
            before = read_manifest(storage, source.name, shard.number)
            result = replace(outcome.value, output=f"{shard.number:05}{self._ending}")
            storage.move(outcome.value.output, f"{source.name}/{result.output}")
            self._write_manifest(task, result=result)
            if before is not None and before.result is not None and before.result.output != result.output:
                storage.remove(f"{source.name}/{before.result.output}")
            self._count(result, name)
        self._done += task.share
        self._parsed += task.share
        self._report_progress()

    def _write_manifest(self, task: ShardWork, *, error: str = "", result: ShardResult | None = None) -> None:
        manifest = Manifest(
            input=task.source.name,
            shard=task.shard.number,
            start=task.shard.start,
            end=task.shard.end,
            input_sha256=task.shard.sha256,
            model_sha256=self._settings.model_sha256,
            options=self._settings.as_options(),
            version=__version__,
            finished=_now(),
            error=error,
            result=result,
        )
        self._storage.write(manifest_name(manifest.input, manifest.shard), as_json(asdict(manifest)))

    def _count(self, result: ShardResult, name: str) -> None:
        report = self._report
        report.shards += 1
        report.sentences += result.sentences
        report.words += result.words
        report.statuses.update(result.statuses)
        report.faults += result.fault_count
        for fault in result.faults:
            _log.info("skipped %s", fault)
        if result.warning:
            _log.info("%s: %s", name, result.warning)

    def _fail(self, message: str) -> None:
        self._report.failures.append(message)
        _log.info("failed: %s", message)

    def _report_progress(self) -> None:
        total = max(1, self._total)
        tell_progress(_log, "megabytes", int(self._done / _MEGABYTE), max(1, total // _MEGABYTE))
        now = monotonic()
        if now - self._last_report < _REPORT_INTERVAL:
            return
        self._last_report = now
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
