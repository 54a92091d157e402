"""The accelerated path: a kernel and all that it calls become one piece of code. The only file that relies on numba's internals.

numba compiles a function that others call as it does one that Python calls: it is optimised, made machine code, and then linked with its
callers, where it is optimised again. Here a callee is only translated to LLVM, linked once, and optimised with the kernel: that takes
half as long. numba's cache loads all that a compiler needs before it reads a kernel, and the code of each kernel twice; here the former
waits until something is compiled. ``docs/explanation/kernels.md`` lists what is relied on. If anything fails, all kernels return to
plain numba.
"""

# mypy: allow-untyped-calls, allow-subclassing-any

from __future__ import annotations

import gc
import logging
import sys
from collections.abc import Callable
from functools import cache, cached_property
from itertools import starmap
from types import SimpleNamespace
from typing import Any

import numpy as np
from llvmlite import binding as llvm
from llvmlite import ir
from numba.core import compiler, types
from numba.core.codegen import JITCodeLibrary
from numba.core.dispatcher import _FunctionCompiler  # type: ignore[attr-defined]
from numba.core.environment import Environment, lookup_environment
from numba.core.pythonapi import _boxers
from numba.core.registry import CPUDispatcher
from numba.core.runtime import _nrt_python  # type: ignore[attr-defined]
from numba.core.runtime.nrt import rtsys
from numba.core.typing.typeof import Purpose, typeof
from numba.np import numpy_support

from gramian.kernels import plain, store

# Settings of a function that its callees do not share; numba would compile numpy.zeros for every combination of them.
_OWN_FLAGS = ("forceinline", "no_cpython_wrapper", "release_gil")

_logger = logging.getLogger(__name__)


def _nothing(*_: Any) -> None:
    """Do nothing."""


class _State:
    """Whether kernels are accelerated: not after anything has failed."""

    is_active = True
    is_checked = False


def accelerate(dispatcher: Any) -> None:
    """Compile a kernel together with what it calls, and as a part of what calls it."""
    dispatcher.__class__ = _Kernel
    dispatcher._cache = _Cache(dispatcher)
    dispatcher._compiler.__class__, dispatcher._compiler.cache = _Whole, dispatcher._cache


def _abandon(reason: Exception) -> None:
    """Return all kernels to plain numba."""
    _logger.debug("plain numba compiles all kernels: %s: %s", type(reason).__name__, reason)
    _State.is_active = False


def _check() -> None:
    """Raise an error if a small kernel cannot be compiled or loaded, or computes something wrong; once in a process."""
    if not _State.is_checked:
        _State.is_checked = True
        from gramian.kernels import self_check

        if not (self_check.passes() and _State.is_active):
            raise RuntimeError("the self-check kernel failed")


class _Kernel(CPUDispatcher):
    """A kernel that Python calls; other kernels call a part of the same name."""

    _types_active_call: Any

    @cached_property
    def _part(self) -> Any:
        part: Any = CPUDispatcher(
            self.py_func, targetoptions={**self.targetoptions, "no_cpython_wrapper": True}
        )
        part._compiler.__class__ = _Called
        part._compiling_counter = self._compiling_counter  # by this, numba knows recursion
        return part

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Return what types its result has, having it translated for such arguments."""
        callee: Any = self._part if _State.is_active else super()
        return callee.get_call_template(args, kws)

    def get_overload(self, signature: Any) -> Any:
        """Return what stands for it in the code of others."""
        callee: Any = self._part if _State.is_active else super()
        return callee.get_overload(signature)

    def typeof_pyval(self, value: Any) -> Any:
        """Return the type of an argument, as numba would; but to tell arrays from masked ones numba loads what NumPy has of those."""
        found = _typeof(value)
        if found is None:
            return super().typeof_pyval(value)
        self._types_active_call.add(found)  # types live as long as somebody has them
        return found

    def _compilation_chain_init_hook(self) -> None:
        """Look for no installed extensions of numba."""


class _Cache(plain.KernelCache):
    """Linked kernels, which hold all that they need."""

    path = "linked"

    def __init__(self, dispatcher: Any) -> None:
        super().__init__(dispatcher)
        self._plain = plain.KernelCache(dispatcher)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the kernel compiled for some types; None if there is none."""
        try:
            found = self.load(sig, target_context) if _State.is_active else None
            readable, own = self.files(sig)
            if found is None or readable != [own]:  # what the package holds was compiled elsewhere
                _check()
        except Exception as error:
            _abandon(error)
        if not _State.is_active:
            return self._plain.load_overload(sig, target_context)
        if found is None:
            target_context.refresh()  # what a compiler needs
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what plain numba has compiled; the compiler of linked kernels saves them itself."""
        if not _State.is_active:
            self._plain.save_overload(sig, data)

    save = plain.KernelCache.save_overload

    def reduced(self, data: Any) -> tuple[Any, ...]:
        """Return what is needed to run a compiled kernel, and its environments.

        In the place of what others could be linked with stands a module of names alone: what numba looks for when it loads the kernel.
        """
        function, library = data.fndesc, data.library
        function.typemap = function.calltypes = None
        text = str(library._final_module)
        environments = [
            (one.globals["__name__"], one.consts, one.env_name)
            for one in data._find_referenced_environments()
            if one is data.environment or text.count(one.env_name) > 1  # its definition, and a use
        ]
        names = (
            function.llvm_func_name,
            function.llvm_cpython_wrapper_name,
            function.llvm_cfunc_wrapper_name,
        )
        module = ir.Module()
        for symbol in {*names, *(one[2] for one in environments)}:
            ir.GlobalVariable(module, ir.IntType(8), symbol).linkage = "common"
        code = library._get_compiled_object(), llvm.parse_assembly(str(module)).as_bitcode()
        kept = (data.environment, data.signature, data.objectmode, data.lifted, "", data.reload_init)
        return ((library.name, "object", code), function, *kept), environments

    def rebuilt(self, target_context: Any, parts: Any) -> Any:
        """Return a compiled kernel from its parts."""
        _name_runtime()
        kept, environments = parts
        return super().rebuilt(target_context, (*kept, tuple(starmap(_environment, environments))))


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
        return SimpleNamespace(set_env=_nothing)


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

    cache: _Cache

    def _compile_core(self, args: Any, return_type: Any) -> Any:
        if _State.is_active:
            try:
                with store.alone(self.cache.files(args)[1]):
                    found = self.cache.load(args, self.targetdescr.target_context)
                    return found or self._compiled(args, return_type)
            except Exception as error:
                _abandon(error)
        return _FunctionCompiler._compile_core(self, args, return_type)

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
        self.cache.save(args, result)
        return result


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


def _typeof(value: Any) -> Any:
    if type(value) is np.ndarray and value.dtype.kind in "biuf":
        kind, layout = numpy_support.from_dtype(value.dtype), numpy_support.map_layout(value)
        return types.Array(kind, value.ndim, layout, readonly=not value.flags.writeable)
    if isinstance(value, tuple):
        parts = list(map(_typeof, value))
        return None if None in parts else types.BaseTuple.from_types(parts, type(value))
    return typeof(value, Purpose.argument) if isinstance(value, int | float | np.generic) else None


@cache
def _name_runtime() -> None:
    """Tell LLVM where the functions of numba's runtime are. What numba compiles of it before anything runs is part of every kernel."""
    for name, address in _nrt_python.c_helpers.items():
        llvm.add_symbol(name if name.startswith("_") else f"NRT_{name}", address)


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
