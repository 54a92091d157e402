"""One map over independent tasks: one after the other, in local processes, or on a Dask cluster.

Results are the same and come in the same order wherever tasks run, as long as a task holds all it depends on, its seed included, or a key
of it. What all tasks share, a treebank say, is sent once to every worker. With a folder, every finished task is one file there, written in
one rename: what was finished is never done again.
"""

import hashlib
import json
import logging
import re
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any, Literal, TypedDict

from gramian import __version__
from gramian.errors import GramianError, InputError, ModelFileError, OptionError
from gramian.interruption import was_interrupted
from gramian.io.output import writing
from gramian.io.schema import SchemaError, Seconds, Sha256, as_document, parse_document, parse_json
from gramian.tasks.dask_pool import DaskPool
from gramian.tasks.process_pool import ProcessPool
from gramian.tasks.worker_pool import run_on_pool
from gramian.value_types import Whole, check_value

_log = logging.getLogger(__name__)
_TRIES = 3  # how often a task may lose its worker
_KEPT = re.compile(
    r"[0-9a-f]{24}\.(json|part|partial)|\.[0-9a-f]{24}\.(json|part|partial)\.[0-9a-f]{12}\.tmp"
)
_STREAM_TRIES = 6  # of many small tasks on machines that come and go


@dataclass(frozen=True)
class Outcome:
    """What became of a task."""

    task: Any
    value: Any = None  # that the function returned
    error: str = ""  # why it failed, with the traceback
    seconds: float = 0.0
    kept: bool = False  # finished before

    @property
    def how(self) -> str:
        """How long it took, in words."""
        return "reused from a previous run" if self.kept else f"{self.seconds:.1f} s"


class TaskError(GramianError):
    """Some tasks failed; all others were finished first."""

    def __init__(self, failures: Sequence[Outcome]) -> None:
        self.failures = list(failures)
        first, number = self.failures[0], len(self.failures)
        message = f"{number} of the tasks failed; the first was {_shortened(first.task)}"
        super().__init__(f"{message}\n{first.error.rstrip()}")


class _StoredResult(TypedDict):
    """What a file of a folder holds."""

    task: Any
    seconds: Seconds
    result: Any
    checksum: Sha256


def task_key(task: Any) -> str:
    """Return a name for a task that depends on nothing but its content, and the version of gramian."""
    text = json.dumps({"gramian": __version__, "task": _content(task)}, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:24]


def _content(task: Any) -> Any:
    """Return a task as JSON values; of a dataclass, its name and all fields but those that have ``{"key": False}`` in their metadata."""

    def plain(value: Any) -> Any:
        if is_dataclass(value) and not isinstance(value, type):
            named = [field.name for field in fields(value) if field.metadata.get("key", True)]
            kind = f"{type(value).__module__}.{type(value).__qualname__}"
            return {"kind": kind, **{name: getattr(value, name) for name in named}}
        if isinstance(value, Mapping):
            return dict(value)
        raise TypeError(f"{value!r} is not JSON")

    try:
        return parse_json(json.dumps(task, default=plain, allow_nan=False))
    except (TypeError, ValueError):
        raise OptionError(
            f"a task stored in a folder must consist of JSON values, unlike {_shortened(task)}"
        ) from None


def _checksum(stored: Mapping[str, Any]) -> str:
    """Return what shows that a result was not damaged."""
    rest = {name: value for name, value in stored.items() if name != "checksum"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


class TaskFolder:
    """Finished tasks on disk, one JSON file each, named by the task's key; `key` says what of a task names it, by default all of it.

    What is read back is checked against the schema of its result: `result`, or the attribute ``RESULT`` of the task. Tasks whose results
    are no JSON values have methods ``write_result(result, file)``, which writes a file of its own and returns the rest as JSON values, and
    ``read_result(rest, file)``.
    """

    def __init__(
        self, path: str | Path, key: Callable[[Any], Any] = lambda task: task, result: Any = Any
    ) -> None:
        self.path, self._key, self._result = Path(path), key, result
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError.of_system(error, "created", path, hint="choose another folder") from None

    def file(self, task: Any) -> Path:
        """Return where the result of a task is or would be."""
        return self.path / f"{task_key(self._key(task))}.json"

    def remove(self) -> None:
        """Remove the results and checkpoints that tasks have left, and the folder if nothing else lies in it."""
        for path in self.path.iterdir():
            if _KEPT.fullmatch(path.name):
                path.unlink(missing_ok=True)
        with suppress(OSError):  # there may be something else
            self.path.rmdir()

    def find(self, task: Any) -> Outcome | None:
        """Return the outcome of a task that was finished before; an invalid file counts as none and is reported."""
        try:
            text = self.file(task).read_bytes()
        except OSError:
            return None
        try:
            stored = parse_document(_StoredResult, text)
            if stored["checksum"] != _checksum(stored):
                raise SchemaError("its checksum differs: the file is damaged")
            result = as_document(getattr(task, "RESULT", self._result), stored["result"], "result")
            if hasattr(task, "read_result"):
                result = task.read_result(result, self.file(task).with_suffix(".part"))
        except (SchemaError, ModelFileError) as error:
            _log.info("%s: invalid result of a task: %s; its work is done again", self.file(task), error)
            return None
        return Outcome(task, result, seconds=stored["seconds"], kept=True)

    def keep(self, outcome: Outcome) -> None:
        """Write the outcome of a task."""
        result = outcome.value
        if hasattr(outcome.task, "write_result"):
            result = outcome.task.write_result(result, self.file(outcome.task).with_suffix(".part"))
        stored = {
            "task": _content(self._key(outcome.task)),
            "seconds": outcome.seconds,
            "result": result,
        }
        try:
            written = parse_json(json.dumps(stored, allow_nan=False))
            text = json.dumps({**written, "checksum": _checksum(written)}, ensure_ascii=False)
        except (TypeError, ValueError) as error:
            raise OptionError(
                f"a result stored in a folder must consist of JSON values; the result of {_shortened(outcome.task)} is not: {error}"
            ) from None
        with writing(self.file(outcome.task)) as file:
            file.write(text + "\n")


def run_tasks(
    function: Callable[..., Any],
    tasks: Sequence[Any],
    *,
    shared: Any = None,
    n_jobs: int = 1,
    scheduler: str | None = None,
    folder: TaskFolder | str | Path | None = None,
    watch: Callable[[Outcome], None] | None = None,
    failures: Literal["raise", "return"] = "raise",
) -> list[Outcome]:
    """Run a function on every task; return the outcomes in the order of the tasks.

    The function takes a task, and what is `shared`, sent once to every worker, if there is something. It runs here, in `n_jobs`
    processes, or on the workers of the Dask `scheduler` at an address; there it is a function of a module that they can import.
    In `folder` finished tasks are kept, and looked for first: tasks are then made of JSON values or dataclasses of such, and
    results of JSON values. `watch` is called with each outcome as it comes, those of a previous run first.

    A task whose worker dies is tried again, three times in all; one that raises is not. Once all others are finished, `failures` are raised
    as a :class:`TaskError`, or returned.

    Examples
    --------
    >>> [outcome.value for outcome in run_tasks(len, ["one", "three"])]
    [3, 5]
    """
    check_value("n_jobs", n_jobs, Whole(1))
    if failures not in ("raise", "return"):
        raise OptionError(f"failures must be 'raise' or 'return', got {failures!r}")
    store = TaskFolder(folder) if isinstance(folder, str | Path) else folder
    outcomes: dict[int, Outcome] = {}

    def note(index: int, outcome: Outcome) -> None:
        if store is not None and not outcome.kept and not outcome.error:
            store.keep(outcome)
        outcomes[index] = outcome
        if watch is not None:
            watch(outcome)

    for index, task in enumerate(tasks):
        if store is not None and (stored := store.find(task)) is not None:
            note(index, stored)
    left = [(index, task) for index, task in enumerate(tasks) if index not in outcomes]
    jobs = n_jobs if len(left) > 1 else 1
    for index, outcome in _runs(function, iter(left), shared, jobs, scheduler, _TRIES) if left else ():
        note(index, outcome)
    failed = [outcomes[index] for index in sorted(outcomes) if outcomes[index].error]
    if failed and failures == "raise":
        raise TaskError(failed)
    return [outcomes[index] for index in range(len(tasks))]


def stream_tasks(
    function: Callable[[Any], Any], tasks: Iterable[Any], *, n_jobs: int = 1, scheduler: str | None = None
) -> Iterator[Outcome]:
    """Run a function on tasks that are taken as workers become free; yield the outcomes as they come, in any order.

    Where and what as for :func:`run_tasks`. When no task is left to begin, one that takes far longer than others did is also given to
    another worker, and what comes first counts: so a worker that is stopped holds nobody up.
    """
    check_value("n_jobs", n_jobs, Whole(1))
    numbered = enumerate(tasks)
    for _, outcome in _runs(function, numbered, None, n_jobs, scheduler, _STREAM_TRIES, doubles=True):
        yield outcome


def _runs(
    function: Callable[..., Any],
    tasks: Iterator[tuple[int, Any]],
    shared: Any,
    n_jobs: int,
    scheduler: str | None,
    tries: int,
    doubles: bool = False,
) -> Iterator[tuple[int, Outcome]]:
    """Yield the places of tasks with their outcomes, as they finish, wherever they run."""
    attempt = partial(_attempt, function)
    if scheduler is None and n_jobs == 1:
        for index, task in tasks:
            yield index, attempt(task, shared)
        return
    pool: DaskPool[Outcome] | ProcessPool[Outcome] = (
        ProcessPool(attempt, shared, n_jobs) if scheduler is None else DaskPool(attempt, shared, scheduler)
    )
    for index, task, result in run_on_pool(pool, tasks, tries, doubles=doubles):
        yield index, Outcome(task, error=result) if isinstance(result, str) else result


def _attempt(function: Callable[..., Any], task: Any, shared: Any) -> Outcome:
    """Run one task where it is; an error becomes part of the outcome."""
    began = perf_counter()
    try:
        value = function(task) if shared is None else function(task, shared)
    except GramianError as error:
        return Outcome(task, error=str(error), seconds=perf_counter() - began)
    except Exception as error:
        if was_interrupted(error):
            raise KeyboardInterrupt from None
        return Outcome(task, error=traceback.format_exc(), seconds=perf_counter() - began)
    return Outcome(task, value, seconds=perf_counter() - began)


def _shortened(task: Any, most: int = 200) -> str:
    text = repr(task)
    return text if len(text) <= most else f"{text[:most]} ..."
