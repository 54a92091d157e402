"""One map over independent tasks: one after the other, in local processes, or on a Dask cluster.

Results are the same and come in the same order wherever tasks run, as long as a task holds all it depends on, its seed included, or a key
of it. What all tasks share, a treebank say, is sent once to every worker. With a folder, every finished task is one file there, written in
one rename: what was finished is never done again.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import traceback
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from threading import Thread
from time import perf_counter, sleep
from typing import Any, Literal

from gramian import __version__
from gramian.base import OneOf, Whole, check_value
from gramian.errors import GramianError, InputError, MissingExtraError, OptionError
from gramian.interruption import was_interrupted
from gramian.io.files import writing

_TRIES = 3  # how often a task may lose its worker
_ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)


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
        return "kept from before" if self.kept else f"{self.seconds:.1f} s"


class TaskError(GramianError):
    """Some tasks failed; all others were finished first."""

    def __init__(self, failures: Sequence[Outcome]) -> None:
        self.failures = list(failures)
        first, number = self.failures[0], len(self.failures)
        about = f"{number} of the tasks failed; the first was {_shortened(first.task)}"
        super().__init__(f"{about}\n{first.error.rstrip()}")


def task_key(task: Any) -> str:
    """Return a name for a task that depends on nothing but its content, and the version of gramian."""
    text = json.dumps({"gramian": __version__, "task": _content(task)}, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:24]


def _content(task: Any) -> Any:
    """Return a task as JSON values; of a dataclass, its name and all fields but those that have ``{"key": False}`` in their metadata."""

    def plain(value: Any) -> Any:
        if is_dataclass(value) and not isinstance(value, type):
            named = [one.name for one in fields(value) if one.metadata.get("key", True)]
            kind = f"{type(value).__module__}.{type(value).__qualname__}"
            return {"kind": kind, **{name: getattr(value, name) for name in named}}
        if isinstance(value, Mapping):
            return dict(value)
        raise TypeError(f"{value!r} is no JSON")

    try:
        return json.loads(json.dumps(task, default=plain, allow_nan=False))
    except (TypeError, ValueError):
        raise OptionError(
            f"a task that is kept in a folder is made of JSON values; this is not: {_shortened(task)}"
        ) from None


def _checksum(stored: Mapping[str, Any]) -> str:
    """Return what shows that a result was not damaged."""
    rest = {name: value for name, value in stored.items() if name != "checksum"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


class TaskFolder:
    """Finished tasks on disk, one JSON file each, named by the task's key; `key` says what of a task names it, by default all of it."""

    def __init__(self, path: str | Path, key: Callable[[Any], Any] = lambda task: task) -> None:
        self.path, self._key = Path(path), key
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot be made ({error.strerror})", str(path), hint="another folder") from None

    def file(self, task: Any) -> Path:
        """Return where the result of a task is or would be."""
        return self.path / f"{task_key(self._key(task))}.json"

    def find(self, task: Any) -> Outcome | None:
        """Return the outcome of a task that was finished before; a damaged file counts as none."""
        try:
            stored = json.loads(self.file(task).read_text(encoding="utf-8"))
            if stored["checksum"] != _checksum(stored):
                return None
            return Outcome(task, stored["result"], seconds=stored["seconds"], kept=True)
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def keep(self, outcome: Outcome) -> None:
        """Write the outcome of a task."""
        stored = {
            "task": _content(self._key(outcome.task)),
            "seconds": outcome.seconds,
            "result": outcome.value,
        }
        try:
            written = json.loads(json.dumps(stored, allow_nan=False))
            text = json.dumps({**written, "checksum": _checksum(written)}, ensure_ascii=False)
        except (TypeError, ValueError) as error:
            raise OptionError(
                f"a result that is kept in a folder is made of JSON values; that of {_shortened(outcome.task)} is not: {error}"
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
    results of JSON values. `watch` is called with each outcome as it comes, those kept from before first.

    A task whose worker dies is tried again, three times in all; one that raises is not. Once all others are finished, `failures` are raised
    as a :class:`TaskError`, or returned.
    """
    check_value("n_jobs", n_jobs, Whole(1))
    check_value("failures", failures, OneOf("raise", "return"))
    store = TaskFolder(folder) if isinstance(folder, str | Path) else folder
    outcomes: dict[int, Outcome] = {}

    def note(place: int, outcome: Outcome) -> None:
        if store is not None and not outcome.kept and not outcome.error:
            store.keep(outcome)
        outcomes[place] = outcome
        if watch is not None:
            watch(outcome)

    for place, task in enumerate(tasks):
        if store is not None and (found := store.find(task)) is not None:
            note(place, found)
    left = {place: task for place, task in enumerate(tasks) if place not in outcomes}
    if scheduler is not None:
        runs = _on_cluster(function, left, shared, scheduler)
    elif n_jobs > 1 and len(left) > 1:
        runs = _in_processes(function, left, shared, n_jobs)
    else:
        runs = ((place, _attempt(function, task, shared)) for place, task in left.items())
    for place, outcome in runs if left else ():
        note(place, outcome)
    failed = [outcomes[place] for place in sorted(outcomes) if outcomes[place].error]
    if failed and failures == "raise":
        raise TaskError(failed)
    return [outcomes[place] for place in range(len(tasks))]


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


def _in_processes(
    function: Callable[..., Any], tasks: Mapping[int, Any], shared: Any, n_jobs: int
) -> Iterator[tuple[int, Outcome]]:
    """Run tasks in processes of this machine; yield as they finish.

    A process that dies takes its pool with it. Tasks that were running then may be guilty or not, so each of them is tried alone.
    """
    try:
        from concurrent.futures import wait
        from concurrent.futures.process import BrokenProcessPool

        from joblib.externals.loky import ProcessPoolExecutor
    except ModuleNotFoundError:
        raise MissingExtraError("joblib", "train", "running tasks in several processes") from None
    waiting, suspects, lost = deque(tasks), deque[int](), dict.fromkeys(tasks, 0)
    begin = {"initializer": _begin, "initargs": (os.getpid(), shared)}
    while waiting or suspects:
        running: dict[Any, int] = {}
        solitary = False
        pool = ProcessPoolExecutor(n_jobs, env=_ONE_THREAD, **begin)
        with ExitStack() as stack:
            stack.callback(pool.shutdown, wait=True, kill_workers=True)

            def submit(queue: deque[int], pool: Any = pool, running: dict[Any, int] = running) -> None:
                with _signals_held_back():
                    future = pool.submit(_attempt_here, function, tasks[queue[0]])
                running[future] = queue.popleft()  # only now: a broken pool takes nothing

            try:
                while waiting or suspects or running:
                    if suspects and not running:
                        submit(suspects)
                        solitary = True
                    while waiting and not solitary and len(running) < n_jobs:
                        submit(waiting)
                    for future in wait(running, return_when="FIRST_COMPLETED").done:
                        if future.exception() is None:
                            yield running.pop(future), future.result()
                    for future in running:
                        if future.done():
                            future.result()  # raises: the pool is broken
                    solitary = solitary and bool(running)
            except BrokenProcessPool:
                for place in sorted(running.values()):
                    lost[place] += 1
                    if solitary and lost[place] >= _TRIES:
                        yield place, Outcome(tasks[place], error=_DIED)
                    else:
                        suspects.append(place)


_DIED = f"the process that ran it died {_TRIES} times; was it killed, or out of memory?"


@contextmanager
def _signals_held_back() -> Iterator[None]:
    """Start processes that Ctrl-C does not reach: it is this one that ends them. What comes meanwhile comes afterwards."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


_here: list[Any] = [None]  # in a worker: what its tasks share


def _attempt_here(function: Callable[..., Any], task: Any) -> Outcome:
    return _attempt(function, task, _here[0])


def _begin(parent: int, shared: Any) -> None:
    """Keep what tasks share; let this worker end when the process that started it is gone, even if that was killed."""
    _here[0] = shared

    def watch() -> None:
        while os.getppid() == parent:
            sleep(1)
        os._exit(1)

    Thread(target=watch, daemon=True).start()


def _on_cluster(
    function: Callable[..., Any], tasks: Mapping[int, Any], shared: Any, scheduler: str
) -> Iterator[tuple[int, Outcome]]:
    """Run tasks on the workers of a Dask scheduler; yield as they finish. Dask itself gives the tasks of lost workers to others."""
    try:
        from distributed import Client, as_completed
    except ModuleNotFoundError:
        raise MissingExtraError("dask.distributed", "cluster", "running tasks on a cluster") from None
    try:
        client = Client(scheduler, timeout="10s", set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise OptionError(
            f"no Dask scheduler answers at {scheduler} ({type(error).__name__}); try: dask scheduler, and its address"
        ) from None
    with client:
        there = None if shared is None else client.scatter(shared, broadcast=True)
        futures = {
            client.submit(_attempt, function, one, there, pure=False): place for place, one in tasks.items()
        }
        try:
            for future in as_completed(list(futures), loop=client.loop):
                place = futures.pop(future)
                try:
                    yield place, future.result()
                except Exception as error:  # its workers died, or cannot import the function
                    yield place, Outcome(tasks[place], error=f"{type(error).__name__}: {error}")
                future.release()
        finally:
            client.cancel(list(futures))


def _shortened(task: Any, most: int = 200) -> str:
    text = repr(task)
    return text if len(text) <= most else f"{text[:most]} ..."
