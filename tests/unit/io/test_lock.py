"""One process at a time writes an output."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

import pytest

from gramian.errors import OptionError
from gramian.io.lock import locked

HOLD = "import sys; from gramian.io.lock import locked\nwith locked(sys.argv[1]): print('held', flush=True); sys.stdin.read()"


def holder(path):
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "held\n"
    return process


def test_the_second_is_refused_until_the_first_ends(tmp_path):
    output = tmp_path / "a.model"
    process = holder(output)
    with (
        pytest.raises(
            OptionError, match=r"a.model: another process is writing it; try: another name, or wait"
        ),
        locked(output),
    ):
        pass
    process.communicate()
    with locked(output):
        assert [path.name for path in tmp_path.iterdir()] == [".a.model.lock"]
        with pytest.raises(OptionError, match="another process"), locked(output):
            pass
    assert list(tmp_path.iterdir()) == []


def test_the_lock_of_a_process_that_was_killed_is_taken_over(tmp_path):
    process = holder(tmp_path / "out")
    process.kill()
    process.communicate()
    assert (tmp_path / ".out.lock").exists()
    with locked(tmp_path / "out"):
        assert f" {os.getpid()} " in (tmp_path / ".out.lock").read_text()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("content", "free"),
    [
        ("", True),
        ("nonsense", True),
        ("{here} {own} 1", True),  # this number, but of a process long ago
        ("{here} {parent} 1", True),  # a process that has the number now
        ("another-machine 12 34", False),  # nobody can say
    ],
)
def test_locks_that_were_left(tmp_path, content, free):
    content = content.format(here=socket.gethostname(), own=os.getpid(), parent=os.getppid())
    (tmp_path / ".out.lock").write_text(content)
    if free:
        with locked(tmp_path / "out"):
            pass
        assert list(tmp_path.iterdir()) == []
    else:
        with pytest.raises(OptionError, match="another process"), locked(tmp_path / "out"):
            pass
        assert (tmp_path / ".out.lock").read_text() == content
