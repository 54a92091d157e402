"""Processes of this machine that work on tasks, each with a pipe of its own: one that dies, or is stopped, costs the task it had."""

import os
import pickle
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from threading import Thread
from time import sleep
from typing import Any, Generic, TypeVar

from gramian import system
from gramian.errors import OptionError

_Result = TypeVar("_Result")

_ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)
_CODE = (
    "import sys; sys.path[:] = {path!r}; from gramian.tasks.process_pool import serve; serve({fd}, {parent})"
)


class ProcessPool(Generic[_Result]):
    """At most `n_jobs` processes; each is sent `function` and `shared` once, and then tasks, one at a time.

    They are started as they are needed, without what this process has in ``__main__``, and Ctrl-C does not reach them: who made
    them ends them by :meth:`close`. If that process is killed, they end by themselves.
    """

    def __init__(self, function: Callable[[Any, Any], _Result], shared: Any, n_jobs: int) -> None:
        if not system.HAS_WORKER_PROCESSES:
            raise OptionError("several processes need Linux or macOS; try: one process, or a Dask cluster")
        self._what = pickle.dumps((function, shared), pickle.HIGHEST_PROTOCOL)
        self._n_jobs = n_jobs
        self._idle: list[_Process] = []
        self._busy: dict[int, _Process] = {}
        self._begun = 0

    def room(self) -> int:
        """Return how many more tasks can be begun now."""
        return self._n_jobs - len(self._busy)

    def begin(self, task: Any) -> int:
        """Give a task to a process; return its number."""
        process = self._idle.pop() if self._idle else _Process(self._what)
        try:
            process.pipe.send(task)
        except OSError:  # it died while it had nothing to do
            process.kill()
            process = _Process(self._what)
            process.pipe.send(task)
        self._begun += 1
        self._busy[self._begun] = process
        return self._begun

    def finished(self, seconds: float) -> list[tuple[int, _Result | None]]:
        """Wait so many seconds for something to finish; return what did, None of a task whose process died."""
        ready = wait([process.pipe for process in self._busy.values()], seconds)
        results: list[tuple[int, _Result | None]] = []
        for number, process in list(self._busy.items()):
            if process.pipe not in ready:
                continue
            try:
                results.append((number, process.pipe.recv()))
                self._idle.append(process)
            except (EOFError, OSError):
                process.kill()
                results.append((number, None))
            del self._busy[number]
        return results

    def drop(self, number: int) -> None:
        """Let go of a task that another process has done, with the process that still has it."""
        self._busy.pop(number).kill()

    def where(self, number: int) -> str:
        """Return who has a task."""
        return f"process {self._busy[number].popen.pid}"

    def close(self) -> None:
        """End all processes, whatever they do."""
        for process in (*self._idle, *self._busy.values()):
            process.kill()
        self._idle.clear()
        self._busy.clear()


class _Process:
    """One process, and this end of its pipe."""

    def __init__(self, function: bytes) -> None:
        here, child_end = socket.socketpair()
        with child_end:
            os.set_inheritable(child_end.fileno(), True)
            code = _CODE.format(path=sys.path, fd=child_end.fileno(), parent=os.getpid())
            self.popen = subprocess.Popen(
                [sys.executable, "-c", code],
                stdin=subprocess.DEVNULL,
                env=os.environ | _ONE_THREAD,
                pass_fds=[child_end.fileno()],
                process_group=0,  # Ctrl-C reaches the terminal's own group
            )
        self.pipe = Connection(here.detach())
        with suppress(OSError):  # it died at once, which is noticed when it is asked
            self.pipe.send_bytes(function)

    def kill(self) -> None:
        self.pipe.close()
        self.popen.kill()
        self.popen.wait()


def serve(descriptor: int, parent: int) -> None:
    """Do what comes through a pipe until there is no more: this is all that a process of the pool does."""
    Thread(target=_watch, args=(parent,), daemon=True).start()
    with Connection(descriptor) as pipe:
        function, shared = pickle.loads(pipe.recv_bytes())
        while True:
            try:
                task = pipe.recv()
            except (EOFError, OSError):
                return
            pipe.send(function(task, shared))


def _watch(parent: int) -> None:
    """End this process when the one that started it is gone, even if that was killed."""
    while os.getppid() == parent:
        sleep(1)
    os._exit(1)
