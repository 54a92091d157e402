"""What numba keeps of kernels is used where it fits, and made anew where it does not."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

MODULE = """
from gramian.jit import kernel
{imported}
@kernel
def twice(x):
    return {body}
"""


def run(folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", "import module; print(module.twice(3), sum(module.twice.stats.cache_hits.values()))"],
        cwd=folder, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout.strip()


def test_an_index_that_cannot_be_read_is_no_index(tmp_path):
    (tmp_path / "module.py").write_text(MODULE.format(imported="", body="x + x"))
    assert run(tmp_path) == "6 0"
    assert run(tmp_path) == "6 1"
    (index,) = tmp_path.rglob("*.nbi")
    with index.open("rb") as file:
        version = pickle.load(file)
    # As if a class that stands in a signature had been moved: unpickling raises AttributeError.
    index.write_bytes(pickle.dumps(version) + b"cgramian.jit\nMoved\n.")
    assert run(tmp_path) == "6 0"


def test_a_change_in_a_file_that_kernels_come_from_is_noticed(tmp_path):
    helper = tmp_path / "helper.py"
    helper.write_text(MODULE.format(imported="", body="x + x").replace("twice", "helped"))
    (tmp_path / "module.py").write_text(
        MODULE.format(imported="from helper import helped\n", body="helped(x)")
    )
    assert run(tmp_path) == "6 0"
    assert run(tmp_path) == "6 1"
    helper.write_text(MODULE.format(imported="", body="x + x + 1").replace("twice", "helped"))
    assert run(tmp_path) == "7 0"
