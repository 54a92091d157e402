"""One process at a time writes an output."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gramian.errors import InputError, OptionError
from gramian.io.lock import is_locked, lock_file, locked

HOLD = "import sys; from gramian.io.lock import locked\nwith locked(sys.argv[1]): print('held', flush=True); sys.stdin.read()"


def holder(path, code=HOLD):
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "held\n"
    return process


def test_the_second_is_refused_until_the_first_ends(tmp_path):
    output = tmp_path / "a.model"
    process = holder(output)
    assert is_locked(output)
    refused = (
        rf"a.model: another process is writing it \(.* {process.pid}\); try: choose another name, or wait"
    )
    with pytest.raises(OptionError, match=refused), locked(output):
        pass
    process.communicate()
    assert not is_locked(output)
    with locked(output):
        assert [path.name for path in tmp_path.iterdir()] == [".a.model.lock"]
        with pytest.raises(OptionError, match="another process"), locked(output):
            pass
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", ["", "nonsense", "another-machine 12 34", "\x1b[31m 12"])
def test_a_lock_file_without_a_holder_locks_nothing(tmp_path, content):
    lock_file(tmp_path / "out").write_text(content)
    assert not is_locked(tmp_path / "out")
    with locked(tmp_path / "out"):
        assert is_locked(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_the_lock_of_a_process_that_was_killed_is_free(tmp_path):
    process = holder(tmp_path / "out")
    process.kill()
    process.communicate()
    assert lock_file(tmp_path / "out").exists()
    with locked(tmp_path / "out"):
        pass
    assert list(tmp_path.iterdir()) == []


FORKS = """
import os, sys, time
from gramian.io.lock import locked
with locked(sys.argv[1]):
    if os.fork():
        print("held", flush=True)
        sys.stdin.read()
    else:
        os.close(1)
        time.sleep(60)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_worker_does_not_hold_the_lock_of_its_parent(tmp_path):
    process = holder(tmp_path / "out", FORKS)
    [child] = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    try:
        process.kill()
        process.communicate()
        with locked(tmp_path / "out"):
            pass
    finally:
        os.kill(int(child), 9)


# A process is stopped (SIGSTOP) before each line that it executes while it takes a lock; meanwhile another one takes it.
STOPPED_ANYWHERE = """
import os, signal, sys
from gramian.errors import GramianError
from gramian.io import lock

output, left = sys.argv[1:]
lines = 0

def stop_before(line):
    def trace(frame, event, _):
        global lines
        if frame.f_code.co_filename != lock.__file__:
            return None
        if event == "line":
            lines += 1
            if lines == line:
                os.kill(os.getpid(), signal.SIGSTOP)
        return trace
    return trace

number = held = 0
while True:
    number += 1
    folder = f"{output}/{number}"
    os.mkdir(folder)
    with open(f"{folder}/.out.lock", "w") as file:
        file.write(left)  # of a process that was killed
    child = os.fork()
    if child == 0:
        sys.settrace(stop_before(number))
        try:
            with lock.locked(f"{folder}/out"):
                sys.settrace(None)
                os._exit(0)
        except GramianError:
            os._exit(3)
    _, status = os.waitpid(child, os.WUNTRACED)
    if not os.WIFSTOPPED(status):
        break  # there are no more lines
    try:
        with lock.locked(f"{folder}/out"):
            os.kill(child, signal.SIGCONT)
            _, status = os.waitpid(child, 0)
            assert os.WEXITSTATUS(status) == 3, f"two holders: the other was stopped before line {number}"
            held += 1
    except GramianError:
        os.kill(child, signal.SIGCONT)
        _, status = os.waitpid(child, 0)
        assert os.WEXITSTATUS(status) == 0, f"no holder: the other was stopped before line {number}"
print(number, held)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_lock_has_one_holder_wherever_a_process_is_stopped(tmp_path):
    command = [sys.executable, "-c", STOPPED_ANYWHERE, str(tmp_path), "vm 4000000 1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    stopped, held = map(int, done.stdout.split())
    assert stopped > held > 5  # each of both was first at times


def test_a_folder_that_cannot_be_written_to(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"), locked(tmp_path / "file" / "out"):
        pass


def test_a_lock_is_that_of_the_file_a_link_points_to(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "out")
    with (
        locked(tmp_path / "link"),
        pytest.raises(OptionError, match="another process"),
        locked(tmp_path / "out"),
    ):
        pass
