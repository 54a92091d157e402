"""The plain path: numba compiles each kernel by itself, and the store keeps what it compiled, in the place of numba's own cache."""

# mypy: allow-untyped-calls, allow-subclassing-any

from __future__ import annotations

import hashlib
import pickle
from pathlib import Path
from typing import Any

from numba.core.caching import NullCache
from numba.core.serialize import dumps

from gramian.kernels import store


def keep(dispatcher: Any) -> None:
    """Have the store keep a compiled kernel."""
    dispatcher._cache = KernelCache(dispatcher)


class KernelCache(NullCache):
    """The compiled versions of one kernel: the cache that numba's dispatcher asks before it compiles."""

    path = "plain"

    def __init__(self, dispatcher: Any) -> None:
        function = dispatcher.py_func
        self.name = f"{function.__module__.removeprefix('gramian.')}.{function.__qualname__}"
        self.is_ours = Path(function.__code__.co_filename).is_relative_to(store.PACKAGE)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the kernel compiled for some types; None if there is none."""
        target_context.refresh()  # what a compiler needs, and what the kernel may be linked with
        return self.load(sig, target_context)

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a compiled kernel, if there is a place."""
        if (file := self.files(sig)[1]) is not None and not (data.library.has_dynamic_globals or data.lifted):
            store.write(file, dumps(self.reduced(data)))

    def load(self, sig: Any, target_context: Any) -> Any:
        """Return what :meth:`save_overload` wrote; None if there is nothing."""
        for file in self.files(sig)[0]:
            if (content := store.read(file)) is not None:
                return self.rebuilt(target_context, pickle.loads(content))
        return None

    def reduced(self, data: Any) -> tuple[Any, ...]:
        """Return what is needed to run a compiled kernel, and to link others with it."""
        parts: tuple[Any, ...] = data._reduce()
        return parts

    def rebuilt(self, target_context: Any, parts: Any) -> Any:
        """Return a compiled kernel from its parts."""
        from numba.core.compiler import CompileResult

        return CompileResult._rebuild(target_context, *parts)

    def files(self, sig: Any) -> tuple[list[Path], Path | None]:
        """Return where a kernel may be, and where one is kept that is compiled here."""
        kinds = repr(tuple(map(_kind, getattr(sig, "args", sig))))
        name = f"{self.name}-{hashlib.sha256(kinds.encode()).hexdigest()[:20]}.kernel"
        readable, own = store.directories(self.path) if self.is_ours else ([], None)
        return [directory / name for directory in readable], own and own / name


def _kind(kind: Any) -> Any:
    """Return what tells a type from others; of named tuples, wherever they are defined, also the names of their fields."""
    if parts := getattr(kind, "types", ()):
        return type(kind).__name__, getattr(kind, "fields", ()), tuple(map(_kind, parts))
    return str(kind)
