"""Kernels of a small package: compiled code is kept, always that of today's sources, and comes from trusted places only."""

import ast
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from llvmlite import binding

import gramian
from gramian.kernels import _Notice, store

INNER = "from gramian.constants import BLOCK\nfrom gramian.kernels import kernel\n\n\n@kernel\ndef inner(x):\n    return x + BLOCK\n"
MIDDLE = (
    "from gramian.inner_kernels import inner\nfrom gramian.kernels import kernel\n\n\n"
    "@kernel\ndef middle(x):\n    return inner(x) * 10\n"
)
OUTER = (
    "from gramian.kernels import kernel\nfrom gramian.middle_kernels import middle\n\n\n"
    "@kernel\ndef outer(x):\n    return middle(x) - 1\n"
)
CALL = """
import logging, sys
logging.basicConfig(level=logging.DEBUG, format="%(message)s")
logging.getLogger("numba").setLevel(logging.WARNING)
{}
from gramian.outer_kernels import {name}
print({name}({}), sum({name}.stats.cache_hits.values()))
"""
PATHS = ("linked", "plain")


class Package:
    """A package named gramian that has a few kernels and a cache of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "gramian"
        self.cache = folder / "cache"
        shutil.copytree(
            Path(gramian.__file__).parent / "kernels",
            self.folder / "kernels",
            ignore=shutil.ignore_patterns("compiled", "__pycache__"),
        )
        shutil.copy(Path(gramian.__file__).with_name("system.py"), self.folder)
        self.write(__init__='__version__ = "1"\n', constants="BLOCK = 1\n")
        self.write(inner_kernels=INNER, middle_kernels=MIDDLE, outer_kernels=OUTER)

    def write(self, **files: str) -> None:
        for name, text in files.items():
            (self.folder / f"{name}.py").write_text(text, encoding="utf-8")

    def popen(
        self, path="linked", argument="1", before="", name="outer", **environment: str
    ) -> subprocess.Popen:
        settings = {
            "NUMBA_CACHE_DIR": str(self.cache),
            "PYTHONPATH": str(self.folder.parent),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        return subprocess.Popen(
            [sys.executable, "-c", CALL.format(before, argument, name=name)],
            env={**os.environ, **settings, "GRAMIAN_PLAIN_NUMBA": "1" if path == "plain" else "", **environment},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def call(self, *arguments, **options) -> tuple[float, int]:
        """Return an answer of the outermost kernel, and how many of its versions came from a cache."""
        output, self.log = (process := self.popen(*arguments, **options)).communicate()
        assert process.returncode == 0, self.log
        answer, hits = output.split()
        return float(answer), int(hits)

    def files(self, pattern: str = "*outer_kernels.outer*.kernel") -> list[Path]:
        """Return the files of the outermost kernel."""
        return sorted(file for file in self.cache.rglob(pattern) if file.is_file())


@pytest.fixture
def package(tmp_path) -> Package:
    return Package(tmp_path)


@pytest.mark.parametrize("path", PATHS)
def test_a_kernel_is_kept_until_a_source_of_it_changes(package, path):
    assert package.call(path) == (19, 0)
    assert package.call(path) == (19, 1)
    package.write(inner_kernels=INNER.replace("x + BLOCK", "x + 2 * BLOCK"))
    assert package.call(path) == (29, 0)
    # A constant of a file that has no kernel itself.
    package.write(constants="from gramian.sizes import BLOCK\n", sizes="BLOCK = 2\n")
    assert package.call(path) == (49, 0)
    package.write(sizes="BLOCK = 3\n")
    assert package.call(path) == (69, 0)
    assert package.call(path) == (69, 1)
    package.write(__init__='__version__ = "2"\n')
    assert package.call(path) == (69, 0)
    # What was compiled of older sources is gone, but not what another version compiled of the same.
    assert len({file.parent for file in package.files()}) == 2


@pytest.mark.parametrize("path", PATHS)
def test_a_change_of_the_fields_of_a_named_tuple_is_noticed(package, path):
    tuples = "from typing import NamedTuple\n\n\nclass Pair(NamedTuple):\n    {}: float\n    {}: float\n"
    package.write(
        outer_kernels="from gramian.kernels import kernel\n\n\n@kernel\ndef outer(pairs):\n    return pairs[0].one - pairs[0].two\n",
        pair=tuples.format("one", "two"),
    )
    call = {"before": "from gramian.pair import Pair", "argument": "(Pair(one=3.0, two=1.0),)"}
    assert package.call(path, **call) == (2, 0)
    assert package.call(path, **call) == (2, 1)
    package.write(pair=tuples.format("two", "one"))
    assert package.call(path, **call) == (2, 0)


@pytest.mark.parametrize("path", PATHS)
def test_damaged_files_are_compiled_anew_and_replaced(package, path):
    assert package.call(path) == (19, 0)
    (file,) = package.files()
    content = file.read_bytes()
    middle = len(content) // 2
    file.write_bytes(content[:middle] + bytes([content[middle] ^ 4]) + content[middle + 1 :])
    assert package.call(path) == (19, 0)
    assert package.call(path) == (19, 1)


def test_every_bit_flip_and_truncation_of_a_file_is_noticed(tmp_path):
    path = tmp_path / "some.kernel"
    store.write(path, bytes(range(100)))
    whole = path.read_bytes()
    for at in range(len(whole)):
        for bit in range(8):
            path.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << bit]) + whole[at + 1 :])
            assert store.read(path) is None
        path.write_bytes(whole[:at])
        assert store.read(path) is None
    path.write_bytes(whole)
    assert store.read(path) == bytes(range(100))


EVIL = """
import os, pickle
class Evil:
    def __reduce__(self):
        return os.mkdir, ({!r},)
from gramian.kernels import store
def plant(file):
    content = pickle.dumps(Evil())
    file.write_bytes(store._checksum(file, content) + b"\\n" + content)
"""


def test_nothing_is_read_from_a_directory_that_others_can_write(package, tmp_path):
    assert package.call() == (19, 0)
    (kernel,) = package.files()
    root, victim = kernel.parents[1], tmp_path / "executed"
    plant = EVIL.format(str(victim)) + f"from pathlib import Path\nplant(Path({str(kernel)!r}))"
    subprocess.run([sys.executable, "-c", plant], check=True)
    elsewhere = {"XDG_CACHE_HOME": str(tmp_path / "home")}
    for mode in (0o777, 0o720):
        root.chmod(mode)
        assert package.call(**elsewhere)[0] == 19
        assert not victim.exists()
    root.chmod(0o700)
    root.parent.chmod(0o777)  # where anybody could put another directory in its place
    assert package.call(**elsewhere)[0] == 19
    assert not victim.exists()
    root.parent.chmod(0o700)  # the check of the check: what was planted is read from a private directory
    package.call()
    assert victim.exists()


def test_nothing_is_written_through_a_link(package, tmp_path):
    assert package.call() == (19, 0)
    (kernel,) = package.files()
    victim = tmp_path / "victim"
    victim.write_text("precious")
    kernel.unlink()
    kernel.with_suffix(".draft").symlink_to(victim)
    for lock in "0123456789abcdef":
        kernel.with_name(f"{lock}.lock").unlink(missing_ok=True)
        kernel.with_name(f"{lock}.lock").symlink_to(victim)
    assert package.call()[0] == 19
    assert victim.read_text() == "precious"
    root = kernel.parents[1]
    shutil.rmtree(root)
    (tmp_path / "other").mkdir(mode=0o700)
    root.symlink_to(tmp_path / "other")
    assert package.call(XDG_CACHE_HOME=str(tmp_path / "home"))[0] == 19
    assert list((tmp_path / "other").iterdir()) == []


def test_no_draft_stays(package, monkeypatch, tmp_path):
    path = tmp_path / "some.kernel"
    path.with_suffix(".draft").write_text("left by a process that was killed")
    store.write(path, b"content")
    assert [file.name for file in tmp_path.iterdir() if file.is_file()] == ["some.kernel"]
    assert store.read(path) == b"content"
    moved = path.rename(tmp_path / "other.kernel")
    assert store.read(moved) is None

    def full(*_):
        raise OSError("No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    store.write(path, b"content")
    assert [file.name for file in tmp_path.iterdir() if file.is_file()] == ["other.kernel"]


def test_directories_that_were_not_used_for_long_are_removed(package):
    assert package.call() == (19, 0)
    (kernel,) = package.files()
    kind, sources, _ = kernel.parent.name.split("-")
    names = [f"{kind}-{sources}-{16 * '1'}", f"plain-{16 * '2'}-{16 * '2'}", "something else"]
    old, recent, foreign = (kernel.parents[1] / name for name in names)
    for directory in (old, recent, foreign):
        directory.mkdir()
    os.utime(old, (0, time.time() - 31 * 86_400))
    os.utime(foreign, (0, 0))
    package.write(constants="BLOCK = 2\n")
    assert package.call() == (29, 0)
    assert [directory.exists() for directory in (kernel.parent, old, recent, foreign)] == [
        False,
        False,
        True,
        True,
    ]


def test_kernels_that_come_with_the_package_are_read_if_they_fit(package):
    features, system = binding.get_host_cpu_features(), binding.get_process_triple()
    levels = store.fitting_levels(features, system)
    if not levels:
        pytest.skip("nothing is shipped for such a processor")
    assert package.call(NUMBA_CPU_NAME=levels[-1], NUMBA_CPU_FEATURES="", NUMBA_DISABLE_INTEL_SVML="1") == (
        19,
        0,
    )
    (kernel,) = package.files()
    shutil.copytree(kernel.parent, package.folder / "kernels" / "compiled" / kernel.parent.name)
    shipped = {"NUMBA_DISABLE_INTEL_SVML": "1"}

    def answer(**options: str) -> tuple[float, int]:
        shutil.rmtree(package.cache)
        return package.call(**options, **shipped)

    assert answer() == (19, 1)
    # Another version of numba, a processor that lacks something, one that the user names: compiled here, the same answer.
    assert answer(before="import llvmlite; llvmlite.__version__ = '0.0'") == (19, 0)
    lacking = f"from gramian.kernels import store; store.LEVELS = {{{system.partition('-')[0]!r}: {{{levels[-1]!r}: ('magic',)}}}}"
    assert answer(before=lacking) == (19, 0)
    assert answer(NUMBA_CPU_NAME="generic") == (19, 0)
    package.write(constants="BLOCK = 2\n")
    assert answer() == (29, 0)


FAILURES = {
    "numba is not tested": "import numba; numba.__version__ = '99.0'",
    "an internal part is missing": "import sys; sys.modules['gramian.kernels.linking'] = None",
    "an internal part of a cache is missing": "import sys; sys.modules['gramian.kernels.plain'] = None",
    "the self-check fails": "from gramian.kernels import self_check; self_check.passes = lambda: False",
    "compilation fails": "from gramian.kernels import linking; linking._Whole._compiled = None",
    "loading fails": "from gramian.kernels import linking; linking._Cache.rebuilt = None",
    "saving fails": "from gramian.kernels import linking; linking._Cache.reduced = None",
}


@pytest.mark.parametrize("failure", FAILURES.values(), ids=FAILURES)
def test_whatever_fails_plain_numba_goes_on(package, failure):
    if "rebuilt" in failure:
        assert package.call() == (19, 0)
    assert package.call(before=failure)[0] == 19
    assert ("plain numba" in package.log) == ("99.0" not in failure)
    assert package.call(before=failure) == (19, "kernels.plain" not in failure)


@pytest.mark.parametrize("path", PATHS)
def test_a_kernel_from_the_cache_can_be_part_of_another(package, path):
    middle = "from gramian.middle_kernels import middle; middle(1)"
    assert package.call(path, before=middle) == (19, 0)
    assert package.call(path) == (19, 1)
    package.files()[0].unlink()
    assert package.call(path, before=middle) == (19, 0)


RECURSIVE = """from gramian.kernels import kernel


@kernel
def inner(x):
    if x < 2:
        return 1
    return x * inner(x - 1)


@kernel
def outer(x):
    return inner(x) + 1
"""


@pytest.mark.parametrize("path", PATHS)
def test_a_kernel_that_calls_itself_can_be_called_by_python_and_by_others(package, path):
    package.write(outer_kernels=RECURSIVE)
    by_python = "from gramian.outer_kernels import inner; assert inner(4) == 24"
    assert package.call(path, argument="5", before=by_python) == (121, 0)
    assert package.call(path, argument="5", before=by_python) == (121, 1)


def test_only_what_python_calls_is_kept(package):
    package.call()
    names = [file.name.partition("-")[0] for file in package.files("*.kernel")]
    assert names == ["kernels.self_check._computed", "outer_kernels.outer"]


def test_processes_that_want_the_same_kernel_compile_it_once(package):
    count = (
        "from gramian.kernels import linking; compiled = linking._Whole._compiled\n"
        "linking._Whole._compiled = lambda self, *types: (\n"
        "    print('compiled', self.py_func.__name__, file=sys.stderr) or compiled(self, *types)\n)"
    )
    several = [package.popen(before=count) for _ in range(3)]
    log = "".join(process.communicate()[1] for process in several)
    assert log.count("compiled outer") == 1


def test_all_that_kernels_import_takes_part_in_their_key():
    sources = set(store.sources())
    for path in sources:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = (
                [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
            )
            if isinstance(node, ast.Import):
                assert not any(name.startswith("gramian") for name in names), (
                    f"{path}: from gramian.module import name"
                )
            elif isinstance(node, ast.ImportFrom) and (node.level or node.module == "gramian"):
                assert not node.level, f"{path}: from gramian.module import name"
                assert names == ["__version__"]
            elif isinstance(node, ast.ImportFrom) and str(node.module).startswith("gramian."):
                module = store.PACKAGE.parent.joinpath(*node.module.split("."))
                assert {module.with_suffix(".py"), module / "__init__.py"} & sources
                # Names of modules would hide what is used of them.
                assert (
                    not any(module.joinpath(f"{name}.py").exists() for name in names)
                    or module.name == "kernels"
                )


def test_editing_other_files_compiles_nothing_anew():
    """What kernels import imports little itself."""
    names = {path.name for path in store.sources() if path.parent.name != "kernels"}
    assert {name for name in names if not name.endswith(("_kernels.py", "_arrays.py"))} == {"system.py"}


def test_levels_need_all_their_features():
    v3 = dict.fromkeys(store.LEVELS["x86_64"]["x86-64-v3"], True)
    assert store.fitting_levels(v3, "x86_64-unknown-linux-gnu") == ("x86-64-v3", "x86-64-v2")
    assert store.fitting_levels({**v3, "avx2": False}, "x86_64-unknown-linux-gnu") == ("x86-64-v2",)
    assert store.fitting_levels({}, "x86_64-pc-windows-msvc") == ()
    assert store.fitting_levels(v3, "riscv64-unknown-linux-gnu") == ()


def test_long_compilation_is_told_once(caplog):
    notice = _Notice(patience=0.05)
    for expected in (0, 1, 1):
        notice.on_start(None)
        notice.on_start(None)  # a kernel that the first one calls
        notice.on_end(None)
        assert len(caplog.records) == expected
        time.sleep(0.1)
        notice.on_end(None)
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    quick = _Notice(patience=0.3)
    for _ in range(3):
        quick.on_start(None)
        quick.on_end(None)
    assert len(caplog.records) == 1


INTERRUPTED = """
from typing import Any, NamedTuple

import numpy as np

from gramian.kernels import kernel


class Result(NamedTuple):
    counts: Any
    total: float


@kernel
def waits(counts, index):
    while counts[0] == 0:
        counts[index] += 1
    return Result(counts.copy(), 1.0)


@kernel
def waits_twice(counts, index):
    result = waits(counts, index)
    return result.counts, result.counts


def outer(several):
    import signal
    import time
    from threading import Thread

    function, counts = (waits_twice if several else waits), np.ones(2, np.int64)
    function(counts, 1)
    counts[:] = 0

    def interrupt():
        while counts[1] == 0:  # the kernel has not begun
            time.sleep(0.01)
        signal.raise_signal(signal.SIGINT)
        counts[0] = 1

    thread = Thread(target=interrupt)
    try:
        thread.start()
        function(counts, 1)
        return 0
    except KeyboardInterrupt:
        return 1


outer.stats = waits.stats
"""


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("several", ["0", "1"], ids=["named tuple", "tuple"])
def test_an_interrupt_while_a_kernel_runs_is_an_exception(package, path, several):
    """numba took the class of a result for granted, although the handler of a signal had raised an exception meanwhile."""
    package.write(outer_kernels=INTERRUPTED)
    assert package.call(path, argument=several)[0] == 1
