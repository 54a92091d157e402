"""Compiled kernels that are kept between runs are those of today's source."""

from __future__ import annotations

import os
import subprocess
import sys

INNER = "from gramian.jit import kernel\n\n\n@kernel\ndef inner(x):\n    return x + {}\n"
MIDDLE = "from gramian.jit import kernel\nfrom inner import inner\n\n\n@kernel\ndef middle(x):\n    return inner(x) * 10\n"
OUTER = "from gramian.jit import kernel\nfrom middle import middle\n\n\n@kernel\ndef outer(x):\n    return middle(x) - 1\n"


def test_a_change_in_the_file_of_an_imported_kernel_is_noticed(tmp_path):
    def run() -> tuple[int, int]:
        """Return an answer of the outermost kernel, and how many of its versions came from the cache."""
        code = "import outer; print(outer.outer(1), sum(outer.outer.stats.cache_hits.values()))"
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
        done = subprocess.run(
            [sys.executable, "-c", code],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        answer, hits = done.stdout.split()
        return int(answer), int(hits)

    for name, text in (("inner", INNER.format(1)), ("middle", MIDDLE), ("outer", OUTER)):
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    assert run() == (19, 0)
    assert run() == (19, 1)
    (tmp_path / "inner.py").write_text(INNER.format(2), encoding="utf-8")
    assert run() == (29, 0)
