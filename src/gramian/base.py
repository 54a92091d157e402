"""What every estimator shares: declared parameters that ``fit`` checks, progress, threads, and a report.

Estimators follow scikit-learn: the constructor only stores, ``fit`` checks every parameter against the class's ``_constraints`` and
learns, learnt attributes end in ``_``. Progress goes to the loggers under ``"gramian"``.
"""

import logging
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self, TypeVar, dataclass_transform

from sklearn.base import BaseEstimator
from threadpoolctl import threadpool_limits

from gramian.progress import handled
from gramian.system import give_back_memory, peak_megabytes
from gramian.value_types import (
    Boolean,
    Constraint,
    Jobs,
    Whole,
    check_value,
    option,
    option_fields,
    with_constraints,
)

_Estimator = TypeVar("_Estimator")


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
        parameters: dict[str, Any] = super().get_params(deep)
        if deep:
            for name, value in list(parameters.items()):
                parameters |= {f"{name}__{field}": item for field, item in option_fields(value).items()}
        return parameters

    def plain_params(self) -> dict[str, Any]:
        """Return the parameters with the fields of option objects in place of these: what a file can hold and `set_params` takes."""
        return {name: value for name, value in self.get_params().items() if not option_fields(value)}

    def set_params(self, **params: Any) -> Self:
        """Set parameters, or fields of option objects."""
        whole = {name: value for name, value in params.items() if "__" not in name}
        super().set_params(**whole)
        for name in params.keys() - whole.keys():
            parameter, _, field = name.partition("__")
            options = option_fields(getattr(self, parameter, None))
            if not options:
                super().set_params(**{name: params[name]})
            elif field not in options:
                raise ValueError(f"{parameter} has no option {field}: {name}; it has {', '.join(options)}")
            else:
                setattr(self, parameter, replace(getattr(self, parameter), **{field: params[name]}))
        return self


@dataclass_transform(eq_default=False, field_specifiers=(field, option))
def estimator(kind: type[_Estimator]) -> type[_Estimator]:
    """Make a class an estimator whose parameters are its fields: the constructor stores them, and ``fit`` checks their constraints."""
    return with_constraints(dataclass(eq=False, repr=False)(kind))
