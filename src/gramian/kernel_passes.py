"""What a kernel goes through before LLVM has it: numba's passes, without those that are for other code.

Kernels are plain loops over arrays that they are given. There are no closures in them, and hardly any expression of whole arrays; and
what they are given stays alive for as long as they run, so that it need not be counted who uses it, nor be kept in memory. Types are
found as numba finds them, but what was said of a variable is not gone through again before something is new.
"""

# mypy: allow-untyped-calls, allow-subclassing-any

from __future__ import annotations

from collections import Counter
from types import CodeType
from typing import Any

from numba.core import ir, typed_passes, typeinfer, types, untyped_passes
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.lowering import Lower

# What is only for functions within functions, f-strings of errors, `with`, and lists of types.
_FOR_OTHERS = (
    untyped_passes.InlineClosureLikes,
    untyped_passes.LiteralPropagationSubPipelinePass,
    untyped_passes.LiteralUnroll,
    untyped_passes.MakeFunctionToJitFunction,
    untyped_passes.RewriteDynamicRaises,
    untyped_passes.WithLifting,
)


_inference: Any = typeinfer


class _Asked(typeinfer.TypeVarMap):
    """The types of variables, and whose were asked for."""

    def __init__(self, known: Any) -> None:
        super().__init__(known)
        self.names: set[str] = set()

    def __getitem__(self, name: str) -> Any:
        self.names.add(name)
        return super().__getitem__(name)


class _Constraints(typeinfer.ConstraintNetwork):
    """What is said of the types of variables; a constraint counts again when a type that it asked for has changed."""

    def __init__(self) -> None:
        super().__init__()
        self._then: dict[int, list[tuple[str, Any]]] = {}

    def propagate(self, infer: Any) -> list[Any]:
        """Go once through all constraints; return the errors."""
        if not isinstance(infer.typevars, _Asked):
            infer.typevars = _Asked(infer.typevars)
            infer.typevars.set_context(infer.context)
        every, variables, errors = self.constraints, infer.typevars, []
        for number, one in enumerate(every):
            then = self._then.pop(number, None)
            if then is None or any(dict.__getitem__(variables, name).type is not kind for name, kind in then):
                variables.names = set()
                self.constraints = [one]
                try:
                    found = super().propagate(infer)
                finally:
                    self.constraints = every
                errors += found
                then = [(name, dict.__getitem__(variables, name).type) for name in variables.names]
                # Of a kernel that calls itself, more may be known the next time.
                if found or any(isinstance(kind, types.Dispatcher | types.RecursiveCall) for _, kind in then):
                    continue
            self._then[number] = then
        return errors


@register_pass(mutates_CFG=True, analysis_only=False)
class _KernelTypes(typed_passes.NopythonTypeInference):
    _name = "kernel_types"

    def run_pass(self, state: Any) -> bool:
        """Find the types of all variables."""
        usual = _inference.ConstraintNetwork
        _inference.ConstraintNetwork = _Constraints  # numba's lock is held
        try:
            return bool(super().run_pass(state))
        finally:
            _inference.ConstraintNetwork = usual


class _Lower(Lower):
    """Writes a kernel down with its arguments as values that the caller holds."""

    _lent = False

    def _find_singly_assigned_variable(self) -> None:
        super()._find_singly_assigned_variable()
        assigned = [one for block in self.blocks.values() for one in block.find_insts(ir.Assign)]
        times = Counter(one.target.name for one in assigned)
        names = {one.target.name for one in assigned if isinstance(one.value, ir.Arg)}
        simple = not (self._disable_sroa_like_opt or self.func_ir.func_id.is_generator)
        self._arguments = {name for name in names if times[name] == 1} if simple else set()
        self._singly_assigned_vars |= self._arguments

    def lower_assign(self, ty: Any, inst: Any) -> Any:
        """Write an assignment."""
        self._lent = inst.target.name in self._arguments
        try:
            return super().lower_assign(ty, inst)
        finally:
            self._lent = False

    def incref(self, typ: Any, val: Any) -> None:
        """Count a user of what is not an argument."""
        if not self._lent:
            super().incref(typ, val)

    def delvar(self, name: str) -> None:
        """Count one user less, unless it is an argument."""
        if name not in self._arguments:
            super().delvar(name)


@register_pass(mutates_CFG=True, analysis_only=False)
class _KernelLowering(typed_passes.NativeLowering):
    _name = "kernel_lowering"

    @property
    def lowering_class(self) -> Any:
        """Who writes a kernel down."""
        return _Lower


@register_pass(mutates_CFG=True, analysis_only=False)
class _ArrayRewrites(typed_passes.NopythonRewrites):
    """Makes expressions of whole arrays one loop, where there are any."""

    _name = "array_rewrites"

    def run_pass(self, state: Any) -> bool:
        """Rewrite what is there."""
        arrays = (
            getattr(signature, "return_type", None)
            for expression, signature in state.calltypes.items()
            if getattr(expression, "op", None) in {"binop", "inplace_binop", "unary"}
        )
        return any(isinstance(one, types.Array) for one in arrays) and bool(super().run_pass(state))


_OWN = {
    typed_passes.NativeLowering: _KernelLowering,
    typed_passes.NopythonRewrites: _ArrayRewrites,
    typed_passes.NopythonTypeInference: _KernelTypes,
}


class KernelPasses(CompilerBase):
    """The passes of a kernel."""

    def define_pipelines(self) -> list[Any]:
        """Return the only pipeline there is."""
        whole = DefaultPassBuilder.define_nopython_pipeline(self.state, "kernel")
        constants = self.state.func_id.code.co_consts
        dropped = () if any(isinstance(one, CodeType) for one in constants) else _FOR_OTHERS
        passes = PassManager("kernel")
        for one, about in whole.passes:
            if one not in dropped:
                passes.add_pass(_OWN.get(one, one), about)
        passes.finalize()
        return [passes]
