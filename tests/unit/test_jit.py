"""Compiled kernels that are kept between runs are those of today's source."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys

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


def run(folder, code: str) -> tuple[float, int]:
    """Return an answer of the outermost kernel, and how many of its versions came from the cache."""
    code = f"import outer; {code}; print(answer, sum(outer.outer.stats.cache_hits.values()))"
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "cache")}
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


def test_an_index_that_cannot_be_read_is_none(tmp_path):
    code = "answer = outer.outer(1)"
    write(tmp_path, outer=INNER.format(1).replace("inner", "outer"))
    assert run(tmp_path, code) == (2, 0)
    assert run(tmp_path, code) == (2, 1)
    (index,) = tmp_path.rglob("*.nbi")
    with index.open("rb") as file:
        version = pickle.load(file)
    # As if a class that stands in a signature had moved elsewhere.
    index.write_bytes(pickle.dumps(version) + b"cgramian.jit\nMoved\n.")
    assert run(tmp_path, code) == (2, 0)
