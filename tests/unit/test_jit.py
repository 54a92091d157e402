"""Compiled kernels that are kept between runs are those of today's source."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time

import pytest
from llvmlite import binding

from gramian.compiled import LEVELS, fitting_levels
from gramian.jit import _Notice

INNER = "from gramian.jit import kernel\n\n\n@kernel\ndef inner(x):\n    return x + {}\n"
MIDDLE = "from gramian.jit import kernel\nfrom inner import inner\n\n\n@kernel\ndef middle(x):\n    return inner(x) * 10\n"
OUTER = "from gramian.jit import kernel\nfrom middle import middle\n\n\n@kernel\ndef outer(x):\n    return middle(x) - 1\n"


TUPLE = "from typing import NamedTuple\n\n\nclass Pair(NamedTuple):\n    {}: float\n    {}: float\n"
USER = (
    "from gramian.jit import kernel\n\n\n@kernel\ndef outer(pairs):\n    return pairs[0].one - pairs[0].two\n"
)


def write(folder, **files):
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")


def run(folder, code: str, **environment: str) -> tuple[float, int]:
    """Return an answer of the outermost kernel, and how many of its versions came from the cache."""
    code = f"import outer; {code}; print(answer, sum(outer.outer.stats.cache_hits.values()))"
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "cache"), **environment}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    answer, hits = done.stdout.split()
    return float(answer), int(hits)


def test_a_change_in_the_file_of_an_imported_kernel_is_noticed(tmp_path):
    code = "answer = outer.outer(1)"
    write(tmp_path, inner=INNER.format(1), middle=MIDDLE, outer=OUTER)
    assert run(tmp_path, code) == (19, 0)
    assert run(tmp_path, code) == (19, 1)
    write(tmp_path, inner=INNER.format(2))
    assert run(tmp_path, code) == (29, 0)


def test_a_change_of_the_fields_of_a_named_tuple_is_noticed(tmp_path):
    code = "from pair import Pair; answer = outer.outer((Pair(one=3.0, two=1.0),))"
    write(tmp_path, pair=TUPLE.format("one", "two"), outer=USER)
    assert run(tmp_path, code) == (2, 0)
    assert run(tmp_path, code) == (2, 1)
    write(tmp_path, pair=TUPLE.format("two", "one"))
    assert run(tmp_path, code) == (2, 0)


def test_a_kernel_that_cannot_be_read_is_none(tmp_path):
    code = "answer = outer.outer(1)"
    write(tmp_path, outer=INNER.format(1).replace("inner", "outer"))
    assert run(tmp_path, code) == (2, 0)
    assert run(tmp_path, code) == (2, 1)
    (file,) = tmp_path.rglob("*.kernel")
    stamp, content = file.read_bytes().split(b"\n", 1)
    # As if a class that stands in a signature had moved elsewhere; and as if the disk had been full.
    for broken in (b"cgramian.jit\nMoved\n.", content[: len(content) // 2], b""):
        file.write_bytes(stamp + b"\n" + broken)
        assert run(tmp_path, code) == (2, 0)
        assert run(tmp_path, code) == (2, 1)


SHIPPED = """
import gramian.compiled
from pathlib import Path
gramian.compiled.SHIPPED = Path({!r})
"""


def test_kernels_that_come_with_the_package_are_read_if_they_fit(tmp_path):
    features, system = binding.get_host_cpu_features(), binding.get_process_triple()
    levels = fitting_levels(features, system)
    if not levels:
        pytest.skip("nothing is shipped for such a processor")
    code = "answer = outer.outer(1)"
    write(tmp_path, inner=INNER.format(1), middle=MIDDLE, outer=OUTER)
    assert run(tmp_path, code, NUMBA_CPU_NAME=levels[-1], NUMBA_CPU_FEATURES="") == (19, 0)
    (made,) = (tmp_path / "cache").iterdir()
    shipped = SHIPPED.format(str(made.rename(tmp_path / "shipped")))

    def answer(change: str = "") -> tuple[float, int]:
        shutil.rmtree(tmp_path / "cache")
        return run(tmp_path, f"exec({shipped + change!r}); {code}")

    assert answer() == (19, 1)
    # Another version of numba, a processor that lacks something, one that the user names: compiled here, the same answer.
    assert answer("gramian.compiled.numba.__version__ = '0.0'") == (19, 0)
    lacking = f"gramian.compiled.LEVELS = {{{system.partition('-')[0]!r}: {{{levels[-1]!r}: ('magic',)}}}}"
    assert answer(lacking) == (19, 0)
    assert answer("gramian.compiled.config.CPU_NAME = 'generic'") == (19, 0)
    write(tmp_path, inner=INNER.format(2))
    assert answer() == (29, 0)


def test_a_kernel_from_the_cache_can_be_part_of_another(tmp_path):
    write(tmp_path, inner=INNER.format(1), middle=MIDDLE, outer=OUTER)
    assert run(tmp_path, "answer = outer.middle(1)") == (20, 0)
    assert run(tmp_path, "answer = outer.outer(1)") == (19, 0)
    assert run(tmp_path, "answer = outer.middle(1) + outer.outer(1)") == (39, 1)


def test_levels_need_all_their_features():
    v3 = dict.fromkeys(LEVELS["x86_64"]["x86-64-v3"], True)
    assert fitting_levels(v3, "x86_64-unknown-linux-gnu") == ("x86-64-v3", "x86-64-v2")
    assert fitting_levels({**v3, "avx2": False}, "x86_64-unknown-linux-gnu") == ("x86-64-v2",)
    assert fitting_levels({}, "x86_64-pc-windows-msvc") == ()
    assert fitting_levels(v3, "riscv64-unknown-linux-gnu") == ()


def test_long_compilation_is_told_once(caplog):
    notice = _Notice(patience=0.05)
    for _ in range(2):
        notice.on_start(None)
        notice.on_start(None)  # a kernel that the first one calls
        notice.on_end(None)
        time.sleep(0.15)
        notice.on_end(None)
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    quick = _Notice(patience=0.3)
    quick.on_start(None)
    quick.on_end(None)
    time.sleep(0.4)
    assert len(caplog.records) == 1


RECURSIVE = """from gramian.jit import kernel


@kernel
def inner(x):
    if x < 2:
        return 1
    return x * inner(x - 1)


@kernel
def outer(x):
    return inner(x) + {}
"""


def test_a_kernel_that_calls_itself_can_be_called_by_python_and_by_others(tmp_path):
    write(tmp_path, outer=RECURSIVE.format(1))
    code = "answer = outer.outer(5) + outer.inner(4)"
    assert run(tmp_path, code) == (145, 0)
    assert run(tmp_path, code) == (145, 1)


def test_only_what_python_calls_is_kept(tmp_path):
    write(tmp_path, inner=INNER.format(1), middle=MIDDLE, outer=OUTER)
    run(tmp_path, "answer = outer.outer(1)")
    (kept,) = tmp_path.rglob("*.kernel")
    assert kept.name.startswith("outer.outer-")


COUNTED = """
from gramian.linking import _Whole
made, compiled = [], _Whole._compiled


def counted(self, *types):
    made.append(self)
    return compiled(self, *types)


_Whole._compiled = counted
import outer
outer.outer(1)
print(len(made))
"""


def test_processes_that_want_the_same_kernel_compile_it_once(tmp_path):
    write(tmp_path, inner=INNER.format(1), middle=MIDDLE, outer=OUTER)
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    several = [
        subprocess.Popen(
            [sys.executable, "-c", COUNTED], cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True
        )
        for _ in range(3)
    ]
    assert sorted(int(one.communicate()[0]) for one in several) == [0, 0, 1]
