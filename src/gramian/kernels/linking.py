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
from functools import cache, cached_property, partial
from itertools import starmap
from typing import Any, ClassVar

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
    """Which kernels are accelerated, and what they had before; none after anything has failed."""

    is_active = True
    is_checked = False
    originals: ClassVar[list[tuple[Any, Any, Any]]] = []


def accelerate(dispatcher: Any) -> None:
    """Compile a kernel together with what it calls, and as a part of what calls it."""
    plain.keep(dispatcher)
    if not _State.is_active:
        return
    _State.originals.append((dispatcher, dispatcher._compiler, dispatcher._cache))
    dispatcher._cache = _Cache(dispatcher)
    dispatcher._compiler = _copied(_Whole, dispatcher)
    dispatcher._compiler.dispatcher = dispatcher
    callee = _Callee(dispatcher)
    dispatcher._compilation_chain_init_hook = _nothing  # numba would look for installed extensions
    dispatcher.typeof_pyval = partial(_typeof_argument, dispatcher)
    dispatcher.get_call_template, dispatcher.get_overload = callee.get_call_template, callee.get_overload


def abandon(reason: Exception) -> None:
    """Return all kernels to plain numba."""
    _logger.debug("plain numba compiles all kernels: %s: %s", type(reason).__name__, reason)
    _State.is_active = False
    while _State.originals:
        dispatcher, *before = _State.originals.pop()
        dispatcher._compiler, dispatcher._cache = before
        for name in ("_compilation_chain_init_hook", "typeof_pyval", "get_call_template", "get_overload"):
            delattr(dispatcher, name)


def _check() -> None:
    """Raise an error if a small kernel cannot be compiled or loaded, or computes something wrong; once in a process."""
    if not _State.is_checked:
        _State.is_checked = True
        from gramian.kernels import self_check

        if not (self_check.passes() and _State.is_active):
            raise RuntimeError("the self-check kernel failed")


class _Cache(plain.KernelCache):
    """Linked kernels, which hold all that they need."""

    path = "linked"

    def __init__(self, dispatcher: Any) -> None:
        super().__init__(dispatcher)
        self._dispatcher = dispatcher

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the kernel compiled for some types; None if there is none."""
        try:
            found = self.load(sig, target_context)
            readable, own = self.files(sig)
            if found is None or readable != [own]:  # what the package holds was compiled elsewhere
                _check()
        except Exception as error:
            abandon(error)
            return self._dispatcher._cache.load_overload(sig, target_context)
        if found is None:
            target_context.refresh()  # what a compiler needs
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        """Do nothing: the compiler has saved it."""

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
            with store.alone(stored.files(args)[1]):
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
