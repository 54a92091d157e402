"""``make demo`` runs to its end: it is the first thing that people try."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.mark.parametrize(("name", "last"), [("demo.py", "gramian serve"), ("dependency_demo.py", "arcs.svg")])
def test_demo(tmp_path, name, last):
    done = subprocess.run([sys.executable, EXAMPLES / name], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert last in done.stdout.splitlines()[-1]
