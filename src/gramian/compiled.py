"""Compiled kernels that are kept: where they are, what they are called, and when they still fit.

A kernel that was compiled for some types of arguments is one file. Its name tells the kernel, the types, the processor, and the versions
of Python, numba and LLVM; it begins with a stamp of the source that it was made of. What differs in any of these is not read, and
compiled anew. There are two folders: kernels that came with the package, compiled for levels of processors (``tools/kernels.py`` makes
them for a wheel), and the user's own, compiled here for this processor.

numba has a cache as well, with an index beside each kernel. It loads all that a compiler needs before it reads anything, and the code of
each kernel twice, once as what others may be linked with; here the former waits until something is compiled, and the latter is not kept:
what a kernel calls is part of it (:mod:`gramian.linking`).
"""

from __future__ import annotations

import atexit
import hashlib
import os
import pickle
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from itertools import starmap
from pathlib import Path
from typing import Any

import llvmlite
import numba
from llvmlite import binding as llvm
from llvmlite import ir
from numba.core import config as numba_config
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult
from numba.core.dispatcher import Dispatcher
from numba.core.environment import Environment
from numba.core.runtime import _nrt_python  # type: ignore[attr-defined]
from numba.core.serialize import dumps

try:
    import fcntl
except ImportError:  # there is no such thing on Windows
    fcntl = None  # type: ignore[assignment]

SHIPPED = Path(__file__).parent / "kernels"

# Levels of processors, the best first, and what LLVM says of a processor that has them.
_V2 = ("cx16", "popcnt", "sahf", "sse3", "sse4.1", "sse4.2", "ssse3")
_V3 = (*_V2, "avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave")
LEVELS: dict[str, dict[str, tuple[str, ...]]] = {
    "x86_64": {"x86-64-v3": _V3, "x86-64-v2": _V2},
    "aarch64": {"generic": ()},
    "arm64": {"generic": ()},
}

config: Any = numba_config
_COMPILERS = ("linking.py", "kernel_passes.py")  # who makes machine code of the source
# Those of its settings that change what is made of a kernel.
_SETTINGS = ("BOUNDSCHECK", "DEBUGINFO_DEFAULT", "LOOP_VECTORIZE", "OPT", "SLP_VECTORIZE", "USING_SVML")


def fitting_levels(features: dict[str, bool], triple: str) -> tuple[str, ...]:
    """Return the levels of processors whose code runs on one with such features, the best first.

    Examples
    --------
    >>> fitting_levels(dict.fromkeys(_V2, True), "x86_64-unknown-linux-gnu")
    ('x86-64-v2',)
    """
    levels = LEVELS.get(triple.partition("-")[0], {})
    return tuple(level for level, needed in levels.items() if all(map(features.get, needed)))


@cache
def own_folder() -> Path | None:
    """Return where kernels that are compiled here are kept, the first place that can be written to.

    That is ``NUMBA_CACHE_DIR``, the package, or the user's cache; or else a folder that goes away with this process. It is new and ours
    alone: others could put code in one that they know.
    """
    package = Path(__file__).parent
    tree = "gramian-" + hashlib.sha256(os.fsencode(package)).hexdigest()[:12]
    places = [package / "__pycache__" / "kernels"]
    if config.CACHE_DIR:
        places.insert(0, Path(config.CACHE_DIR).absolute() / tree)
    with suppress(RuntimeError):  # there may be no home
        places.append(Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / tree)
    for place in places:
        with suppress(OSError):
            place.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=place).close()
            return place
    with suppress(OSError):
        folder = tempfile.mkdtemp(prefix="gramian-")
        os.environ["NUMBA_CACHE_DIR"] = folder  # of processes that this one starts
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        return Path(folder)
    return None


class KeptKernel(NullCache):
    """What is kept of one kernel: the cache that numba's dispatcher asks before it compiles, and tells after."""

    def __init__(self, function: Any, options: dict[str, Any]) -> None:
        name = f"{function.__module__.removeprefix('gramian.')}.{function.__qualname__}"
        self._name = name.translate({ord("<"): None, ord(">"): None})  # which not all file names may hold
        self.source = function.__code__.co_filename
        others: list[Any] = [
            value for value in function.__globals__.values() if isinstance(value, Dispatcher)
        ]
        stamps = [other._cache.stamp for other in others if other._cache.source != self.source]
        told = (
            _file_stamp(self.source),
            [_file_stamp(str(Path(__file__).parent / name)) for name in _COMPILERS],
            sorted(set(stamps)),
            sorted(options.items()),
            function.__code__.co_firstlineno,
        )
        self.stamp = _digest(told)

    @property
    def cache_path(self) -> str | None:
        """Where what is compiled here is kept."""
        folder = own_folder()
        return None if folder is None else str(folder)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the kernel compiled for some types; None if there is none, or none that fits."""
        codegen = target_context.codegen()
        for path in self._paths(sig, codegen):
            with suppress(Exception):  # whatever is wrong with it, the kernel can be compiled
                stamp, content = path.read_bytes().split(b"\n", 1)
                if stamp.decode() == self.stamp:
                    _name_runtime()
                    return _rebuilt(target_context, *pickle.loads(content))
        target_context.refresh()  # something will be compiled
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Do nothing: whoever compiled it has kept it."""

    @contextmanager
    def alone(self, signature: Any, codegen: Any) -> Iterator[None]:
        """Have other processes that want the same kernel wait meanwhile, and find it; as many as run tests would else all compile it."""
        with ExitStack() as held:
            if (folder := own_folder()) is not None and fcntl is not None:
                number = _digest(self._file(signature, _processor(codegen)))[0]  # one of sixteen
                with suppress(OSError):
                    file = held.enter_context((folder / f"{number}.lock").open("ab"))
                    fcntl.flock(file, fcntl.LOCK_EX)
                    # Not left to the end of the file, which a process that is forked meanwhile would have too.
                    held.callback(fcntl.flock, file, fcntl.LOCK_UN)
            yield

    def keep(self, sig: Any, data: Any) -> None:
        """Keep a kernel compiled for some types, if there is a place."""
        if data.library.has_dynamic_globals or (folder := own_folder()) is None:
            return
        content = dumps(_reduced(data))  # type: ignore[no-untyped-call]
        path = folder / self._file(sig, _processor(data.codegen))
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            draft = path.with_suffix(f".{os.getpid()}")
            draft.write_bytes(self.stamp.encode() + b"\n" + content)
            draft.replace(path)

    def _paths(self, signature: Any, codegen: Any) -> Iterator[Path]:
        """Tell the files in which a compiled kernel may be."""
        own = _processor(codegen)
        for level in _levels():
            yield SHIPPED / self._file(signature, (own[0], level, ""))
        if (folder := own_folder()) is not None:
            yield folder / self._file(signature, own)

    def _file(self, signature: Any, processor: tuple[str, str, str]) -> str:
        kinds = tuple(map(_kind, getattr(signature, "args", signature)))
        versions = (sys.implementation.cache_tag, numba.__version__, llvmlite.__version__)
        settings = tuple(getattr(config, name, None) for name in _SETTINGS)
        return f"{self._name}-{_digest((kinds, processor, versions, settings))[:20]}.kernel"


@cache
def _name_runtime() -> None:
    """Tell LLVM where the functions of numba's runtime are. What numba compiles of it before anything runs is part of every kernel."""
    for name, address in _nrt_python.c_helpers.items():
        llvm.add_symbol(name if name.startswith("_") else f"NRT_{name}", address)


@cache
def _levels() -> tuple[str, ...]:
    """Return the levels whose kernels may be taken from the package: none if the user named a processor, or none came."""
    if config.CPU_NAME is not None or config.CPU_FEATURES is not None or not SHIPPED.is_dir():
        return ()
    with suppress(RuntimeError):  # LLVM knows nothing of this one
        return fitting_levels(llvm.get_host_cpu_features(), llvm.get_process_triple())
    return ()


def _processor(codegen: Any) -> tuple[str, str, str]:
    """Return what code is compiled for: system, processor, features."""
    system, name, features = codegen.magic_tuple()
    return str(system), str(name), str(features)


def _digest(value: object) -> str:
    return hashlib.sha256(repr(value).encode()).hexdigest()


@cache
def _file_stamp(path: str) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def _kind(kind: Any) -> Any:
    """Return what tells a type from others; of named tuples, wherever they are defined, also the names of their fields."""
    if parts := getattr(kind, "types", ()):
        return type(kind).__name__, getattr(kind, "fields", ()), tuple(map(_kind, parts))
    return str(kind)


def _reduced(result: Any) -> tuple[Any, ...]:
    """Return what is kept of a compiled kernel: what is needed to run it, and its environments.

    In the place of what others could be linked with stands a module of names alone: what numba looks for when it loads the kernel.
    """
    function, library = result.fndesc, result.library
    function.typemap = function.calltypes = None
    text = str(library._final_module)
    environments = [
        (one.globals["__name__"], one.consts, one.env_name)
        for one in result._find_referenced_environments()
        if one is result.environment or text.count(one.env_name) > 1  # its definition, and a use
    ]
    names = (function.llvm_func_name, function.llvm_cpython_wrapper_name, function.llvm_cfunc_wrapper_name)
    module = ir.Module()
    for symbol in {*names, *(one[2] for one in environments)}:
        ir.GlobalVariable(module, ir.IntType(8), symbol).linkage = "common"
    code = library._get_compiled_object(), llvm.parse_assembly(str(module)).as_bitcode()
    kept = (result.environment, result.signature, result.objectmode, result.lifted, "", result.reload_init)
    return ((library.name, "object", code), function, *kept), environments


def _rebuilt(target_context: Any, kept: tuple[Any, ...], environments: list[Any]) -> Any:
    """Return a compiled kernel from what was kept of it."""
    rebuild: Any = CompileResult._rebuild
    return rebuild(target_context, *kept, tuple(starmap(_environment, environments)))


def _environment(module: str, constants: list[Any], name: str) -> Environment:
    """Return what compiled code finds constants of Python in.

    It also has the module's names, which code without Python's objects never asks for: no module of numba is loaded for them.
    """
    if (known := Environment._memo.get(name)) is not None:
        return known
    loaded = sys.modules.get(module)
    environment = Environment({} if loaded is None else vars(loaded))
    environment.consts[:] = constants
    environment.env_name = name
    Environment._memo[name] = environment
    return environment
