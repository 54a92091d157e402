"""The accelerated path: a kernel and all that it calls become one piece of code. The only file that relies on numba's internals.

numba compiles a function that others call as it does one that Python calls: it is optimised, made machine code, and then linked with its
callers, where it is optimised again. Here a callee is only translated to LLVM, linked once, and optimised with the kernel: that takes
half as long. numba's cache loads all that a compiler needs before it reads a kernel, and the code of each kernel twice; here the former
waits until something is compiled. ``docs/explanation/kernels.md`` lists what is relied on. If anything fails, all kernels return to
plain numba.
"""

# mypy: allow-untyped-calls, allow-subclassing-any

from __future__ import annotations

import atexit
import gc
import hashlib
import logging
import pickle
import sys
from collections.abc import Callable
from functools import cache, cached_property, partial
from itertools import starmap
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from llvmlite import binding as llvm
from llvmlite import ir
from numba.core import compiler, types
from numba.core.caching import NullCache
from numba.core.codegen import JITCodeLibrary
from numba.core.dispatcher import _FunctionCompiler  # type: ignore[attr-defined]
from numba.core.environment import Environment, lookup_environment
from numba.core.pythonapi import _boxers
from numba.core.registry import CPUDispatcher
from numba.core.runtime import _nrt_python  # type: ignore[attr-defined]
from numba.core.runtime.nrt import rtsys
from numba.core.serialize import dumps
from numba.core.typing.typeof import Purpose, typeof
from numba.np import numpy_support

from gramian.kernels import plain, store

# Settings of a function that its callees do not share; numba would compile numpy.zeros for every combination of them.
_OWN_FLAGS = ("forceinline", "no_cpython_wrapper", "release_gil")

_logger = logging.getLogger(__name__)


def _nothing(*_: Any) -> None:
    """Do nothing."""


class _State:
    """Whether kernels are accelerated, and how each returns to plain numba."""

    is_active = True
    is_checked = False
    undo: ClassVar[list[Callable[[], None]]] = []


def is_active() -> bool:
    """Return whether kernels are accelerated: not after anything has failed."""
    return _State.is_active


def accelerate(dispatcher: Any) -> None:
    """Compile a kernel together with what it calls, and as a part of what calls it."""
    original = dispatcher._compiler, dispatcher._cache
    dispatcher._cache = _Cache(dispatcher)
    dispatcher._compiler = _copied(_Whole, dispatcher)
    dispatcher._compiler.dispatcher = dispatcher
    callee = _Callee(dispatcher)
    changes = {
        "_compilation_chain_init_hook": _nothing,  # numba would look for installed extensions
        "typeof_pyval": partial(_typeof_argument, dispatcher),
        "get_call_template": callee.get_call_template,
        "get_overload": callee.get_overload,
    }
    vars(dispatcher).update(changes)

    def undo() -> None:
        dispatcher._compiler, dispatcher._cache = original
        for name in changes:
            delattr(dispatcher, name)
        plain.keep(dispatcher)

    _State.undo.append(undo)


def abandon(reason: Exception) -> None:
    """Return all kernels to plain numba."""
    _logger.debug("plain numba compiles all kernels: %s: %s", type(reason).__name__, reason)
    _State.is_active = False
    while _State.undo:
        _State.undo.pop()()
    if (own := store.directories("plain")[1]) is not None:
        atexit.register(plain.seal, own)  # of the kernel that is being compiled now


def _check() -> None:
    """Raise an error if a small kernel cannot be compiled or loaded, or computes something wrong; once in a process."""
    if not _State.is_checked:
        _State.is_checked = True
        from gramian.kernels import self_check

        if not self_check.passes():
            raise RuntimeError("the self-check kernel returned a wrong result")


class _Cache(NullCache):
    """The compiled versions of one kernel: the cache that numba's dispatcher asks before it compiles."""

    def __init__(self, dispatcher: Any) -> None:
        function = dispatcher.py_func
        self._dispatcher = dispatcher
        self._name = f"{function.__module__.removeprefix('gramian.')}.{function.__qualname__}"
        self._is_ours = Path(function.__code__.co_filename).is_relative_to(store.PACKAGE)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the kernel compiled for some types; None if there is none."""
        try:
            _check()
            found = self.load(sig, target_context)
        except Exception as error:
            abandon(error)
        if not _State.is_active:
            return self._dispatcher._cache.load_overload(sig, target_context)
        if found is None:
            target_context.refresh()  # what a compiler needs
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        """Do nothing: the compiler has saved it."""

    def load(self, sig: Any, target_context: Any) -> Any:
        """Return what :meth:`save` wrote; None if there is nothing."""
        for path in self.paths(sig)[0]:
            if (content := store.read(path)) is not None:
                _name_runtime()
                return _rebuilt(target_context, *pickle.loads(content))
        return None

    def save(self, sig: Any, data: Any) -> None:
        """Keep a compiled kernel, if there is a place."""
        if (path := self.paths(sig)[1]) is not None and not data.library.has_dynamic_globals:
            store.write(path, dumps(_reduced(data)))

    def paths(self, sig: Any) -> tuple[list[Path], Path | None]:
        """Return where a kernel may be, and where one is kept that is compiled here."""
        kinds = repr(tuple(map(_kind, getattr(sig, "args", sig))))
        name = f"{self._name}-{hashlib.sha256(kinds.encode()).hexdigest()[:20]}.kernel"
        readable, own = store.directories("linked") if self._is_ours else ([], None)
        return [directory / name for directory in readable], own and own / name


class _Flags(compiler.Flags):
    """How a kernel is compiled; equal to another's if that is the same for what it calls."""

    def _shared(self) -> dict[str, Any]:
        return {name: value for name, value in self._values.items() if name not in _OWN_FLAGS}

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, _Flags) and self._shared() == other._shared())

    def __hash__(self) -> int:
        return hash(_Flags)  # there are few, and they are asked for often


class _Part(JITCodeLibrary):
    """The code of a callee: it runs only as a part of others, so it is neither optimised nor made machine code by itself."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Return that there is no machine code."""
        return 0

    @property
    def codegen(self) -> Any:
        """Who sets the environments of functions: nobody yet, the whole will have them."""
        return _NoEnvironments


class _NoEnvironments:
    set_env = staticmethod(_nothing)


class _Called(_FunctionCompiler):
    """Compiles a kernel for calls from others."""

    _library: Any = None

    def _compile_core(self, args: Any, return_type: Any) -> Any:
        target, flags = self.targetdescr, _Flags()
        target.options.parse_as_flags(flags, self.targetoptions)
        contexts = target.typing_context, target.target_context
        return compiler.compile_extra(
            *contexts, self.py_func, args, return_type, flags, self.locals, self._library
        )


class _Whole(_Called):
    """Compiles a kernel for calls from Python, in one process while others that want it wait."""

    dispatcher: Any

    def _compile_core(self, args: Any, return_type: Any) -> Any:
        stored = self.dispatcher._cache
        try:
            with store.alone(stored.paths(args)[1]):
                found = stored.load(args, self.targetdescr.target_context)
                return found or self._compiled(args, return_type)
        except Exception as error:
            abandon(error)
            return self.dispatcher._compiler.compile(args, return_type)

    def _compiled(self, args: Any, return_type: Any) -> Any:
        context: Any = self.targetdescr.target_context
        rtsys.initialize(context)
        mend_boxing()
        codegen = context.codegen()
        self._library = codegen.create_library(self.py_func.__qualname__)
        self._library.enable_object_caching()
        codegen._library_class, context.create_cfunc_wrapper = _Part, _nothing
        collects = gc.isenabled()
        gc.disable()  # a compiler makes much that stays, and little that is garbage
        try:
            result = super()._compile_core(args, return_type)
        finally:
            del codegen._library_class, context.create_cfunc_wrapper
            if collects:
                gc.enable()
        for variable in self._library._final_module.global_variables:
            if (environment := lookup_environment(variable.name)) is not None:
                codegen.set_env(variable.name, environment)
        self.dispatcher._cache.save(args, result)
        return result


class _Callee:
    """A kernel as others call it."""

    def __init__(self, dispatcher: Any) -> None:
        self._dispatcher = dispatcher

    @cached_property
    def _part(self) -> Any:
        options = {**self._dispatcher.targetoptions, "no_cpython_wrapper": True}
        part: Any = CPUDispatcher(self._dispatcher.py_func, targetoptions=options)
        part._compiler = _copied(_Called, part)
        part._compiling_counter = self._dispatcher._compiling_counter  # by this, numba knows recursion
        return part

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Return what types its result has, having it translated for such arguments."""
        return self._part.get_call_template(args, kws)

    def get_overload(self, signature: Any) -> Any:
        """Return what stands for it in the code of others."""
        return self._part.get_overload(signature)


def _boxing(box: Callable[[Any, Any, Any], Any]) -> Callable[[Any, Any, Any], Any]:
    """Return how results become Python objects without running Python code.

    numba unpickles the class of each array and named tuple, and does not expect an exception there. The handler of a signal that
    arrived while the kernel ran would raise one (Ctrl-C: KeyboardInterrupt), and the process would crash.
    """

    def boxed(kind: Any, value: Any, context: Any) -> Any:
        api, manager = context.pyapi, context.env_manager

        def constant(one: Any) -> Any:
            pointer = manager.read_const(manager.add_const(one))
            api.incref(pointer)
            return pointer

        if manager is not None:
            api.serialize_object, api.unserialize = constant, lambda pointer: pointer
        try:
            return box(kind, value, context)
        finally:
            vars(api).pop("serialize_object", None)
            vars(api).pop("unserialize", None)

    return boxed


@cache
def mend_boxing() -> None:
    """Have the results of all kernels that are compiled from now on become Python objects safely."""
    from numba.core import boxing  # noqa: F401  registers how numba does it

    for kind in (types.Array, types.NamedTuple, types.NamedUniTuple):
        _boxers.functions[kind] = _boxing(_boxers.lookup(kind))


def _copied(kind: Any, dispatcher: Any) -> Any:
    plain = dispatcher._compiler
    return kind(plain.py_func, plain.targetdescr, plain.targetoptions, plain.locals, plain.pipeline_class)


def _typeof_argument(dispatcher: Any, value: Any) -> Any:
    """Return the type of an argument, as numba would; but to tell arrays from masked ones numba loads what NumPy has of those."""
    found = _typeof(value)
    if found is None:
        return type(dispatcher).typeof_pyval(dispatcher, value)
    dispatcher._types_active_call.add(found)  # types live as long as somebody has them
    return found


def _typeof(value: Any) -> Any:
    if type(value) is np.ndarray and value.dtype.kind in "biuf":
        kind, layout = numpy_support.from_dtype(value.dtype), numpy_support.map_layout(value)
        return types.Array(kind, value.ndim, layout, readonly=not value.flags.writeable)
    if isinstance(value, tuple):
        parts = list(map(_typeof, value))
        return None if None in parts else types.BaseTuple.from_types(parts, type(value))
    return typeof(value, Purpose.argument) if isinstance(value, int | float | np.generic) else None


def _kind(kind: Any) -> Any:
    """Return what tells a type from others; of named tuples, wherever they are defined, also the names of their fields."""
    if parts := getattr(kind, "types", ()):
        return type(kind).__name__, getattr(kind, "fields", ()), tuple(map(_kind, parts))
    return str(kind)


@cache
def _name_runtime() -> None:
    """Tell LLVM where the functions of numba's runtime are. What numba compiles of it before anything runs is part of every kernel."""
    for name, address in _nrt_python.c_helpers.items():
        llvm.add_symbol(name if name.startswith("_") else f"NRT_{name}", address)


def _reduced(result: Any) -> tuple[Any, ...]:
    """Return what is needed to run a compiled kernel, and its environments.

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
    rebuild: Any = compiler.CompileResult._rebuild
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
