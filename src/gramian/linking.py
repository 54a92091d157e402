"""How a kernel and all that it calls become one piece of code.

numba compiles a function that others call as it does one that Python calls: it is optimised, made machine code, and then linked with its
callers, where it is optimised again. Here what a kernel calls is only written down, linked once, and optimised with the kernel: that takes
half as long. A kernel that Python calls too is compiled a second time for that.
"""

# mypy: allow-untyped-calls, allow-subclassing-any

from __future__ import annotations

import gc
from functools import cached_property, partial
from typing import Any, TypeVar

import numpy as np
from numba.core import compiler, types
from numba.core import config as numba_config
from numba.core.codegen import JITCodeLibrary
from numba.core.dispatcher import _FunctionCompiler  # type: ignore[attr-defined]
from numba.core.environment import lookup_environment
from numba.core.registry import CPUDispatcher
from numba.core.runtime.nrt import rtsys
from numba.core.typing.typeof import Purpose, typeof
from numba.np import numpy_support

config: Any = numba_config


# Settings of a function that its callees do not see; numba would compile for each of them what it has itself, such as numpy.zeros.
_OWN = ("forceinline", "no_cpython_wrapper", "release_gil")


class _Flags(compiler.Flags):
    """How a kernel is compiled; equal to another's if that is the same for what it calls."""

    def _shared(self) -> dict[str, Any]:
        return {name: value for name, value in self._values.items() if name not in _OWN}

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, _Flags) and self._shared() == other._shared())

    def __hash__(self) -> int:
        return hash(_Flags)  # there are few, and they are asked for often


class _Code(JITCodeLibrary):
    """Code that is tidied up before it is linked, and optimised after."""

    def _optimize_functions(self, ll_module: Any) -> None:
        level, config.OPT = config.OPT, min(config.OPT, 1)
        try:
            super()._optimize_functions(ll_module)
        finally:
            config.OPT = level


class _Part(_Code):
    """What is called: nothing of it can be run before it is linked."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Return that there is no machine code."""
        return 0

    @property
    def codegen(self) -> Any:
        """What sets the environments of functions: there is no place yet."""
        return _Nowhere


class _Nowhere:
    @staticmethod
    def set_env(name: str, environment: Any) -> None:
        """Wait: the whole will have it."""


class _Called(_FunctionCompiler):
    """Compiles a kernel for calls from others."""

    _library: Any = None

    def _compile_core(self, args: Any, return_type: Any) -> Any:
        from gramian.kernel_passes import KernelPasses  # only where something is compiled

        target = self.targetdescr
        flags = _Flags()
        target.options.parse_as_flags(flags, self.targetoptions)
        return compiler.compile_extra(
            target.typing_context, target.target_context, self.py_func, args, return_type, flags, self.locals, self._library,
            KernelPasses,
        )  # fmt: skip


class _Whole(_Called):
    """Compiles a kernel for calls from Python."""

    kept: Any

    def _compile_core(self, args: Any, return_type: Any) -> Any:
        context: Any = self.targetdescr.target_context
        with self.kept.alone(args, context.codegen()):
            # From another process for which this one has waited, if there was one.
            result = self.kept.load_overload(args, context)
            if result is None:
                result = self._compiled(args, return_type)
                self.kept.keep(args, result)
        return result

    def _compiled(self, args: Any, return_type: Any) -> Any:
        context: Any = self.targetdescr.target_context
        rtsys.initialize(context)
        codegen = context.codegen()
        self._library = _Code(codegen, self.py_func.__qualname__)
        self._library.enable_object_caching()
        codegen._library_class = _Part
        context.create_cfunc_wrapper = _no_wrapper
        collects = gc.isenabled()
        gc.disable()  # a compiler makes much that stays, and little that is garbage
        try:
            result = super()._compile_core(args, return_type)
        finally:
            del codegen._library_class, context.create_cfunc_wrapper
            if collects:
                gc.enable()
        for variable in self._library._final_module.global_variables:
            environment = lookup_environment(variable.name)
            if environment is not None:
                codegen.set_env(variable.name, environment)
        return result


def _no_wrapper(*_: Any) -> None:
    """Make nothing for calls from C: there are none."""


_Kind = TypeVar("_Kind", bound=_Called)


def _compiled_by(kind: type[_Kind], dispatcher: Any) -> _Kind:
    one = dispatcher._compiler
    made = kind(one.py_func, one.targetdescr, one.targetoptions, one.locals, one.pipeline_class)
    dispatcher._compiler = made
    return made


class _Callee:
    """A kernel as others call it."""

    def __init__(self, dispatcher: Any) -> None:
        self._dispatcher = dispatcher

    @cached_property
    def _part(self) -> Any:
        options = {**self._dispatcher.targetoptions, "no_cpython_wrapper": True}
        part = CPUDispatcher(self._dispatcher.py_func, targetoptions=options)
        _compiled_by(_Called, part)
        # By this, numba knows a kernel that calls itself.
        part._compiling_counter = self._dispatcher._compiling_counter
        return part

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Return what types its result has, having it written down for such arguments."""
        return self._part.get_call_template(args, kws)

    def get_overload(self, signature: Any) -> Any:
        """Return what stands for it in the code of others."""
        return self._part.get_overload(signature)


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


def in_one_piece(dispatcher: Any, kept: Any) -> None:
    """Have a kernel compiled together with what it calls, and as a part of what calls it; `kept` is what is kept of it."""
    dispatcher._cache = kept
    _compiled_by(_Whole, dispatcher).kept = kept
    # Extensions of numba: no kernel needs them, and to look for them takes long.
    dispatcher._compilation_chain_init_hook = _no_wrapper
    dispatcher.typeof_pyval = partial(_typeof_argument, dispatcher)
    callee = _Callee(dispatcher)
    dispatcher.get_call_template, dispatcher.get_overload = callee.get_call_template, callee.get_overload
