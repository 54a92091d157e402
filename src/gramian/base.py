"""What every estimator shares: declared parameters that ``fit`` checks, progress, threads, and a report.

Estimators follow scikit-learn: the constructor only stores, ``fit`` checks every parameter against the class's ``_constraints`` and
learns, learnt attributes end in ``_``. Progress goes to the loggers under ``"gramian"``.
"""

from __future__ import annotations

import logging
import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Self, TypeVar, dataclass_transform

import numpy as np
from sklearn.base import BaseEstimator
from threadpoolctl import threadpool_limits

from gramian.errors import OptionError
from gramian.io.machine import give_back_memory, peak_megabytes
from gramian.progress import handled

_Class = TypeVar("_Class")


class Constraint:
    """What values a parameter may have. Subclasses say of what kind, and what else of a value of that kind is wrong."""

    kind: str

    def _is_kind(self, value: object) -> bool:
        """Tell whether a value is of the right kind, whatever its size."""
        raise NotImplementedError

    def _wanted(self, value: Any) -> str | None:
        """Return what a value of the right kind must be and is not; None if it is right."""
        return None

    def _parts(self, name: str, value: Any) -> Iterable[tuple[str, Any, Constraint]]:
        """Return what is to be checked within a value of the right kind."""
        return ()

    def complaint(self, name: str, value: object) -> str | None:
        """Return the sentence about a bad value, such as "n_states must be at least 1, got 0"; None for a good one."""
        wanted = self._wanted(value) if self._is_kind(value) else self.kind
        if wanted is None:
            found = (
                constraint.complaint(part, inner) for part, inner, constraint in self._parts(name, value)
            )
            return next(filter(None, found), None)
        text = repr(value)
        return f"{name} must be {wanted}, got {text if len(text) <= 80 else text[:77] + '...'}"


class Number(Constraint):
    """A finite number within bounds: `least` and `most` may be reached, `above` and `below` not."""

    kind = "a finite number"

    def __init__(
        self,
        least: float | None = None,
        most: float | None = None,
        *,
        above: float | None = None,
        below: float | None = None,
    ) -> None:
        self.least, self.most, self.above, self.below = least, most, above, below

    def _is_kind(self, value: object) -> bool:
        return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)

    def _wanted(self, value: Any) -> str | None:
        bounds = [
            ("at least", self.least, self.least is None or value >= self.least),
            ("above", self.above, self.above is None or value > self.above),
            ("at most", self.most, self.most is None or value <= self.most),
            ("less than", self.below, self.below is None or value < self.below),
        ]
        if all(is_kept for _, _, is_kept in bounds):
            return None
        return " and ".join(f"{word} {bound}" for word, bound, _ in bounds if bound is not None)


class Whole(Number):
    """A whole number within bounds."""

    kind = "a whole number"

    def _is_kind(self, value: object) -> bool:
        return isinstance(value, Integral) and not isinstance(value, bool)


class Jobs(Whole):
    """A number of threads or processes; see :func:`number_of_jobs`."""

    def _is_kind(self, value: object) -> bool:
        return value is None or super()._is_kind(value)

    def _wanted(self, value: Any) -> str | None:
        return None if value is None or value == -1 or value >= 1 else "at least 1, or -1 for all processors"


class PowerOfTwo(Whole):
    """A power of two, such as the size of a table of hashed features."""

    def _wanted(self, value: Any) -> str | None:
        is_power = value > 0 and not value & (value - 1)
        return super()._wanted(value) if is_power else f"a power of two, at least {self.least}"


class OneOf(Constraint):
    """One of a few values."""

    def __init__(self, *choices: object) -> None:
        self.choices = choices
        self.kind = ("one of " if len(choices) > 1 else "") + ", ".join(map(str, choices))

    def _is_kind(self, value: object) -> bool:
        return any(type(value) is type(choice) and value == choice for choice in self.choices)


class InstanceOf(Constraint):
    """An object of some class; the options of an option object are checked one by one."""

    def __init__(self, *types: Any, kind: str | None = None) -> None:
        self.types = types
        names = [one.__name__ for one in types]
        self.kind = kind or " or ".join(f"a{'n' if name[0] in 'AEIOU' else ''} {name}" for name in names)

    def _is_kind(self, value: object) -> bool:
        return isinstance(value, self.types)

    def _parts(self, name: str, value: Any) -> Iterable[tuple[str, Any, Constraint]]:
        return [(f"{name}.{field}", one, value._constraints[field]) for field, one in _fields(value).items()]


Boolean = partial(InstanceOf, bool, np.bool_, kind="true or false")
Function = partial(InstanceOf, Callable, kind="a function")


class Each(Constraint):
    """A sequence, not empty, of values that all obey one constraint."""

    kind = "a sequence of values"

    def __init__(self, constraint: Constraint) -> None:
        self.constraint = constraint

    def _is_kind(self, value: object) -> bool:
        return isinstance(value, Sequence | np.ndarray) and not isinstance(value, str) and len(value) > 0

    def _parts(self, name: str, value: Any) -> Iterable[tuple[str, Any, Constraint]]:
        items = value.items() if isinstance(value, Mapping) else enumerate(value)
        return ((f"{name}[{key!r}]", item, self.constraint) for key, item in items)


class MappingOf(Each):
    """A mapping whose values all obey one constraint."""

    kind = "a mapping"

    def _is_kind(self, value: object) -> bool:
        return isinstance(value, Mapping)


class Either(Constraint):
    """A value that obeys one of several constraints; the first whose kind it is decides."""

    def __init__(self, *constraints: Constraint) -> None:
        self.constraints = constraints
        self.kind = " or ".join(one.kind for one in constraints)

    def _is_kind(self, value: object) -> bool:
        return any(one._is_kind(value) for one in self.constraints)

    def _parts(self, name: str, value: Any) -> Iterable[tuple[str, Any, Constraint]]:
        return [(name, value, next(one for one in self.constraints if one._is_kind(value)))]


def option(constraint: Constraint, *, default: Any) -> Any:
    """Declare an option of an option object: what values it may have, and its default."""
    return field(default=default, metadata={"constraint": constraint})


@dataclass_transform(frozen_default=True, field_specifiers=(option,))
def options(kind: type[_Class]) -> type[_Class]:
    """Make a class one of option objects: a frozen dataclass that has ``_constraints``."""
    made = dataclass(frozen=True)(kind)
    made._constraints = {one.name: one.metadata["constraint"] for one in fields(made)}  # type: ignore[attr-defined, arg-type]
    return made


def or_none(constraint: Constraint) -> Either:
    """Return the constraint of a parameter that may also be None."""
    return Either(constraint, OneOf(None))


def check_value(name: str, value: object, constraint: Constraint) -> None:
    """Raise an error if a value breaks a constraint."""
    complaint = constraint.complaint(name, value)
    if complaint is not None:
        raise OptionError(complaint)


def check_options(options: Any) -> None:
    """Raise an error about the first bad value of an option object (a dataclass with ``_constraints``)."""
    for name, value in _fields(options).items():
        check_value(name, value, options._constraints[name])


def _fields(value: Any) -> dict[str, Any]:
    """Return the options of an option object, a dataclass that declares constraints; none of anything else."""
    is_options = is_dataclass(value) and hasattr(value, "_constraints")
    return {field.name: getattr(value, field.name) for field in fields(value)} if is_options else {}


def number_of_jobs(n_jobs: int | None) -> int:
    """Return how many threads a parameter `n_jobs` stands for: None for one, -1 for as many as there are processors."""
    if n_jobs != -1:
        return n_jobs or 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def progress_shown(verbose: bool = True) -> Iterator[None]:
    """Show on stderr what is logged under ``"gramian"`` meanwhile, if `verbose` and nobody else handles it."""
    logger = logging.getLogger("gramian")
    if not verbose or logger.hasHandlers():
        yield
        return
    with handled(logging.StreamHandler(), logging.INFO):
        yield


class Report:
    """Seconds of each stage, and whatever else an estimator tells; becomes part of the model file. `name` is the logger's."""

    def __init__(self, name: str = "gramian") -> None:
        self.facts: dict[str, Any] = {}
        self.seconds: dict[str, float] = {}
        self._log = logging.getLogger(name)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time a stage and tell when it ends."""
        began = time.perf_counter()
        yield
        give_back_memory()
        took = time.perf_counter() - began
        self.seconds[name] = round(self.seconds.get(name, 0.0) + took, 3)
        self.say(f"{name}: {took:.1f} s")

    def say(self, line: str) -> None:
        """Log a line."""
        self._log.info("%s", line)

    def as_dict(self) -> dict[str, Any]:
        """Return everything as JSON can hold it."""
        return {**self.facts, "seconds": self.seconds, "peak memory (MB)": round(peak_megabytes())}


class Estimator(BaseEstimator):  # type: ignore[misc]
    """Base of all estimators.

    A subclass declares ``_constraints`` for the parameters of its constructor, beside those declared here and by its other parents,
    and does what ``fit`` does within ``with self._fitting() as report``. The fields of option objects are parameters too
    (``smoothing__rule``).
    """

    _constraints: ClassVar[dict[str, Constraint]] = {
        "n_jobs": Jobs(),
        "verbose": Boolean(),
        "random_state": Whole(0),
    }

    @classmethod
    def parameter_constraints(cls) -> dict[str, Constraint]:
        """Return the constraint of every parameter of the constructor."""
        declared: dict[str, Constraint] = {}
        for parent in reversed(cls.__mro__):
            declared |= vars(parent).get("_constraints", {})
        return {name: declared[name] for name in cls._get_param_names()}

    def check_parameters(self) -> None:
        """Raise an error about the first parameter with a bad value."""
        for name, constraint in self.parameter_constraints().items():
            check_value(name, getattr(self, name), constraint)

    @contextmanager
    def _fitting(self) -> Iterator[Report]:
        """Check the parameters, then show progress if `verbose` says so, and keep linear algebra to one thread meanwhile.

        Linear algebra in several threads would change the order of sums, and so the model.
        """
        self.check_parameters()
        with progress_shown(getattr(self, "verbose", False)), threadpool_limits(1):
            yield Report(type(self).__module__)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters; `deep`: with the fields of option objects."""
        found: dict[str, Any] = super().get_params(deep)
        if deep:
            for name, value in list(found.items()):
                found |= {f"{name}__{field}": item for field, item in _fields(value).items()}
        return found

    def plain_params(self) -> dict[str, Any]:
        """Return the parameters with the fields of option objects in place of these: what a file can hold and `set_params` takes."""
        return {name: value for name, value in self.get_params().items() if not _fields(value)}

    def set_params(self, **params: Any) -> Self:
        """Set parameters, or fields of option objects."""
        whole = {name: value for name, value in params.items() if "__" not in name}
        super().set_params(**whole)
        for name in params.keys() - whole.keys():
            own, _, field = name.partition("__")
            options = _fields(getattr(self, own, None))
            if not options:
                super().set_params(**{name: params[name]})
            elif field not in options:
                raise ValueError(f"{own} has no option {field}: {name}; it has {', '.join(options)}")
            else:
                setattr(self, own, replace(getattr(self, own), **{field: params[name]}))
        return self
