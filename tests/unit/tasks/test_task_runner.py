"""One map, three ways to run it: the same results in the same order, and nothing finished is done again."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import pytest

from gramian.errors import OptionError
from gramian.tasks import task_runner as module
from gramian.tasks import worker_pool as pool_module
from gramian.tasks.task_runner import Outcome, TaskError, TaskFolder, run_tasks, stream_tasks, task_key

TASKS = [{"number": number} for number in range(6)]


def squared(task):
    return task["number"] ** 2


def fails_at_three(task):
    if task["number"] == 3:
        raise ValueError("three is too many")
    return squared(task)


def dies_once(task):
    """Kill the process that runs it half-way, the first time; note which processes have tried."""
    marker = Path(task["folder"]) / f"{task['number']}.tried"
    tried = marker.exists()
    with marker.open("a") as file:
        file.write(f"{os.getpid()}\n")
    if task["number"] == task["victim"] and not tried:
        time.sleep(0.2)
        os.kill(os.getpid(), signal.SIGKILL)
    return squared(task)


def always_dies(task):
    if task["number"] == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return squared(task)


def values(outcomes):
    return [outcome.value for outcome in outcomes]


@pytest.mark.parametrize("jobs", [1, 2])
def test_results_come_in_the_order_of_the_tasks(jobs):
    assert values(run_tasks(squared, TASKS, n_jobs=jobs)) == [0, 1, 4, 9, 16, 25]
    assert run_tasks(squared, [], n_jobs=jobs) == []


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_failed_task_is_reported_with_its_input_after_the_others(jobs, tmp_path):
    with pytest.raises(
        TaskError, match=r"(?s)1 of the tasks failed.*'number': 3.*three is too many"
    ) as caught:
        run_tasks(fails_at_three, TASKS, n_jobs=jobs, folder=tmp_path)
    assert [failure.task for failure in caught.value.failures] == [{"number": 3}]
    assert len(list(tmp_path.glob("*.json"))) == 5
    outcomes = run_tasks(fails_at_three, TASKS, n_jobs=jobs, folder=tmp_path, failures="return")
    assert [outcome.kept for outcome in outcomes] == [True, True, True, False, True, True]
    assert "three is too many" in outcomes[3].error


def test_what_is_finished_is_not_done_again(tmp_path):
    done = []

    def counted(task):
        done.append(task["number"])
        return squared(task)

    run_tasks(counted, TASKS[:3], folder=tmp_path)
    seen = []
    assert values(run_tasks(counted, TASKS, folder=tmp_path, watch=seen.append)) == [0, 1, 4, 9, 16, 25]
    assert done == [0, 1, 2, 3, 4, 5]
    assert [outcome.kept for outcome in seen] == [True] * 3 + [False] * 3


def test_an_interrupted_run_goes_on(tmp_path):
    def interrupted(task):
        if task["number"] == 4:
            raise KeyboardInterrupt
        return squared(task)

    with pytest.raises(KeyboardInterrupt):
        run_tasks(interrupted, TASKS, folder=tmp_path)
    assert sum(outcome.kept for outcome in run_tasks(squared, TASKS, folder=tmp_path)) == 4


def test_a_damaged_or_half_written_file_counts_as_none(tmp_path):
    folder = TaskFolder(tmp_path)
    folder.keep(Outcome(TASKS[2], 4))
    folder.file(TASKS[2]).write_text('{"task": {"numb', encoding="utf-8")
    assert folder.find(TASKS[2]) is None
    assert values(run_tasks(squared, TASKS[2:3], folder=folder)) == [4]
    assert json.loads(folder.file(TASKS[2]).read_text(encoding="utf-8"))["result"] == 4
    assert [file.name for file in tmp_path.iterdir()] == [folder.file(TASKS[2]).name]


def test_a_key_may_leave_out_what_does_not_matter(tmp_path):
    folder = TaskFolder(tmp_path, key=lambda task: task["number"])
    run_tasks(squared, [{"number": 5, "path": "here"}], folder=folder)
    assert run_tasks(squared, [{"number": 5, "path": "there"}], folder=folder)[0].kept


@dataclass(frozen=True)
class Power:
    number: int
    exponent: int = 2
    place: str = field(default="", metadata={"key": False})


def powered(task, shared):
    return [task.number**task.exponent, *shared]


def test_keys_tell_tasks_apart(monkeypatch):
    assert len({task_key(task) for task in TASKS}) == len(TASKS)
    assert task_key(Power(2, place="here")) == task_key(Power(2, place="there"))
    assert len({task_key(Power(2)), task_key(Power(2, 3)), task_key({"number": 2, "exponent": 2})}) == 3
    before = task_key(Power(2))
    monkeypatch.setattr(module, "__version__", "another")
    assert task_key(Power(2)) != before


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_is_shared_goes_to_every_task(jobs, tmp_path):
    tasks = [Power(number) for number in range(4)]
    found = values(run_tasks(powered, tasks, shared=["a", "b"], n_jobs=jobs, folder=tmp_path))
    assert found == [[number**2, "a", "b"] for number in range(4)]
    assert all(outcome.kept for outcome in run_tasks(powered, tasks, shared=["c"], folder=tmp_path))


def test_what_is_kept_is_json():
    with pytest.raises(OptionError, match="JSON"):
        task_key({"a set": {1}})


def test_a_process_that_dies_has_its_task_tried_again(tmp_path):
    tasks = [{"number": number, "victim": 2, "folder": str(tmp_path)} for number in range(4)]
    assert values(run_tasks(dies_once, tasks, n_jobs=2)) == [0, 1, 4, 9]
    assert len(set((tmp_path / "2.tried").read_text().split())) == 2


def test_a_task_that_kills_every_process_is_given_up_and_its_neighbours_are_not():
    outcomes = run_tasks(always_dies, TASKS[:4], n_jobs=2, failures="return")
    assert values(outcomes) == [0, None, 4, 9]
    assert "died 3 times" in outcomes[1].error


def rests(task):
    """Say which process runs it, and take long."""
    Path(task["folder"], str(os.getpid())).touch()
    time.sleep(600)


def with_path(folder):
    """Return the environment of a process that can import from a folder, and from where this one can."""
    return os.environ | {"PYTHONPATH": os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])}


def test_workers_end_when_their_master_is_killed(tmp_path):
    code = (
        "import sys; from pathlib import Path; from test_task_runner import rests; from gramian.tasks.task_runner import run_tasks\n"
        "run_tasks(rests, [{'folder': sys.argv[1], 'n': n} for n in range(2)], n_jobs=2)"
    )
    environment = with_path(Path(__file__).parent)
    master = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], env=environment, stderr=subprocess.DEVNULL
    )
    try:
        wait_until(lambda: len(list(tmp_path.iterdir())) == 2)
    finally:
        master.kill()
        master.wait()
    workers = [int(file.name) for file in tmp_path.iterdir()]
    wait_until(lambda: not any(is_running(worker) for worker in workers))


def is_running(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    # A process that has ended, but whose new parent has not noticed, is no longer running.
    status = Path(f"/proc/{process}/stat")
    return not (status.exists() and status.read_text().rpartition(")")[2].split()[0] == "Z")


def test_bad_options():
    with pytest.raises(OptionError, match="n_jobs must be at least 1, got 0"):
        run_tasks(squared, TASKS, n_jobs=0)
    pytest.importorskip("distributed", reason="the extra 'cluster' is not installed")
    with pytest.raises(OptionError, match="no Dask scheduler answers at nowhere"):
        run_tasks(squared, TASKS, scheduler="nowhere://x")


@pytest.fixture
def cluster(tmp_path):
    """A scheduler and two worker processes of one thread, without nannies: what dies stays dead."""
    pytest.importorskip("distributed", reason="the extra 'cluster' is not installed")
    root = Path(__file__).parents[len(__name__.split(".")) - 1]  # whence this module is imported
    environment = with_path(root)
    contact = str(tmp_path / "scheduler.json")

    def start(role, *arguments):
        command = [sys.executable, "-m", "dask", role, "--no-dashboard", *arguments]
        return subprocess.Popen(
            command, env=environment, cwd=tmp_path, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        )

    scheduler = start("scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", contact)
    processes = [scheduler]
    try:
        wait_until(lambda: Path(contact).exists() and Path(contact).read_text().rstrip().endswith("}"))
        workers = [
            start("worker", "--scheduler-file", contact, "--no-nanny", "--nthreads", "1") for _ in range(2)
        ]
        processes += workers
        yield json.loads(Path(contact).read_text(encoding="utf-8"))["address"], workers
    finally:
        for process in reversed(processes):
            process.kill()
            process.wait()


def wait_until(ready, seconds=120):
    began = time.monotonic()
    while not ready():
        assert time.monotonic() - began < seconds, "not ready in time"
        time.sleep(0.05)


def test_a_cluster_gives_the_same_results_though_a_worker_is_killed(cluster, tmp_path):
    address, workers = cluster
    tasks = [{"number": number, "victim": 2, "folder": str(tmp_path)} for number in range(6)]
    outcomes = run_tasks(dies_once, tasks, scheduler=address, folder=tmp_path / "finished")
    assert values(outcomes) == values(run_tasks(squared, tasks)) == [0, 1, 4, 9, 16, 25]
    killed = [worker.pid for worker in workers if worker.poll() is not None]
    alive = [worker.pid for worker in workers if worker.poll() is None]
    assert [len(killed), len(alive)] == [1, 1]
    assert (tmp_path / "2.tried").read_text().split() == [*map(str, killed + alive)]
    assert all(outcome.kept for outcome in run_tasks(dies_once, tasks, folder=tmp_path / "finished"))
    assert values(run_tasks(powered, [Power(3), Power(4)], shared=["a"], scheduler=address)) == [
        [9, "a"],
        [16, "a"],
    ]


class FakePool:
    """Two workers; what is begun finishes as a script says: (number, result) at each step."""

    def __init__(self, script):
        self.script, self.begun, self.dropped, self.closed = iter(script), [], [], False

    def room(self):
        return 2 - sum(one is not None for one in self.begun)

    def begin(self, task):
        self.begun.append(task)
        return len(self.begun) - 1

    def finished(self, seconds):
        step = next(self.script)
        for number, _ in step:
            self.begun[number] = None
        return step

    def drop(self, number):
        self.begun[number] = None
        self.dropped.append(number)

    def where(self, number):
        return f"worker {number}"

    def close(self):
        self.closed = True


def test_a_late_task_is_given_to_another_worker_and_what_comes_first_counts(monkeypatch, caplog):
    monkeypatch.setattr(pool_module, "_LEAST_LATE", 0.0)
    monkeypatch.setattr(pool_module, "_LATE", -1)
    pool = FakePool([[(1, "b")], [(2, "c")], [(3, "a again")]])
    caplog.set_level("INFO", "gramian.cluster")
    found = list(pool_module.run_on_pool(pool, iter(enumerate("abc")), 3, doubles=True))
    assert found == [(1, "b", "b"), (2, "c", "c"), (0, "a", "a again")]
    assert pool.dropped == [0]
    assert pool.closed
    assert "worker 0 has had its task for" in caplog.text


def test_a_lost_task_is_begun_again_so_many_times():
    pool = FakePool([[(0, None)], [(1, "b"), (2, None)], [(3, None)]])
    found = list(pool_module.run_on_pool(pool, iter(enumerate("ab")), 3, doubles=True))
    assert found[0] == (1, "b", "b")
    assert found[1][:2] == (0, "a")
    assert "died 3 times" in found[1][2]


def test_tasks_are_taken_as_there_is_room():
    taken = []

    def tasks():
        for number in range(100):
            taken.append(number)
            yield {"number": number}

    outcomes = stream_tasks(squared, tasks(), n_jobs=2)
    next(outcomes)
    assert len(taken) < 10
    outcomes.close()


def naps(task):
    """Take long the first time that the last task is tried: until somebody wakes it."""
    marker = Path(task["folder"]) / "stopped"
    if task["number"] == 3 and not marker.exists():
        marker.write_text(str(os.getpid()))
        os.kill(os.getpid(), signal.SIGSTOP)
    return squared(task)


def test_a_process_that_is_stopped_holds_nobody_up(tmp_path, monkeypatch):
    monkeypatch.setattr(pool_module, "_LEAST_LATE", 0.1)
    monkeypatch.setattr(pool_module, "_WAIT", 0.1)
    tasks = [{"number": number, "folder": str(tmp_path)} for number in range(4)]
    found = {outcome.task["number"]: outcome.value for outcome in stream_tasks(naps, tasks, n_jobs=2)}
    assert found == {0: 0, 1: 1, 2: 4, 3: 9}
    assert not is_running(int((tmp_path / "stopped").read_text()))


class Typed(NamedTuple):
    """A task that says what its result is."""

    number: int
    RESULT = dict[str, float]


def forged(path, **changes):
    """Change what a file of a folder holds, under a checksum that fits."""
    stored = {**json.loads(path.read_text()), **changes}
    rest = {name: value for name, value in stored.items() if name != "checksum"}
    stored["checksum"] = hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()
    path.write_text(json.dumps(stored))


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"result": 3}, "result"),
        ({"result": {"a": "b"}}, "result[...]"),
        ({"seconds": "x"}, "seconds"),
        ({"seconds": -1}, "seconds"),
    ],
)
def test_a_result_of_another_kind_is_told_of_and_not_used(tmp_path, caplog, changes, field):
    caplog.set_level("INFO", "gramian")
    folder, task = TaskFolder(tmp_path), Typed(1)
    folder.keep(Outcome(task, {"a": 1.5}))
    assert folder.find(task).value == {"a": 1.5}
    forged(folder.file(task), **changes)
    assert folder.find(task) is None
    [record] = caplog.records
    assert record.getMessage().startswith(f"{folder.file(task)}: invalid result of a task: field '{field}")


@pytest.mark.parametrize("text", ["", "[]", "null", "3", "{}", '{"seconds": NaN}', "[" * 50_000])
def test_a_file_that_holds_no_result_is_told_of_and_not_used(tmp_path, caplog, text):
    caplog.set_level("INFO", "gramian")
    folder = TaskFolder(tmp_path)
    folder.file(1).write_text(text)
    assert folder.find(1) is None
    assert "its work is done again" in caplog.text


def test_only_results_and_checkpoints_are_removed(tmp_path):
    folder = TaskFolder(tmp_path / "model.members")
    folder.keep(Outcome(1, 2))
    name = folder.file(1).stem
    (folder.path / f"{name}.partial").write_text("counts")
    (folder.path / f".{name}.json.0123456789ab.tmp").write_text("{")
    mine = ("notes.txt", "a.json", f"{name}.json.old", "x.partial")
    for other in mine:
        (folder.path / other).write_text("mine")
    folder.remove()
    assert sorted(path.name for path in folder.path.iterdir()) == sorted(mine)
    for other in mine:
        (folder.path / other).unlink()
    folder.remove()
    assert not folder.path.exists()


def test_processes_are_refused_where_there_is_no_posix(monkeypatch):
    monkeypatch.setattr("gramian.system.HAS_WORKER_PROCESSES", False)
    with pytest.raises(OptionError, match="several processes need Linux or macOS"):
        run_tasks(len, ["a", "b"], n_jobs=2)
