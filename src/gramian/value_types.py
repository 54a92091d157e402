"""Which values a parameter or setting may have: checked in one place, read from text, and described for a list.

Nothing here imports numpy, so that a command can declare its settings without loading it.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from functools import partial
from numbers import Integral, Real
from typing import Any, TypeVar, dataclass_transform

from gramian.errors import OptionError

_Class = TypeVar("_Class")


class Constraint:
    """What values a parameter may have. Subclasses say of what kind, and what else of a value of that kind is wrong."""

    kind: str

    def read(self, text: str) -> Any:
        """Return the value that a text stands for; the text itself if it stands for none, which :meth:`complaint` then refuses."""
        return text

    def normal(self, value: Any) -> Any:
        """Return a valid value in its usual type: a whole number as a float where floats are wanted."""
        return value

    def describe(self) -> str:
        """Return type and range in a few words, such as ``"integer >= 1 or none"``; empty if no text stands for a value."""
        return ""

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
            complaints = (
                constraint.complaint(part, inner) for part, inner, constraint in self._parts(name, value)
            )
            return next(filter(None, complaints), None)
        try:
            text = repr(value)
        except ValueError:  # a number of more digits than Python writes
            text = "a number without end"
        return f"{name} must be {wanted}, got {text if len(text) <= 80 else text[:77] + '...'}"


class Number(Constraint):
    """A finite number within bounds: `least` and `most` may be reached, `above` and `below` not."""

    kind = "a finite number"
    _name = "number"
    _type: type[float] = float

    def __init__(
        self,
        least: float | None = None,
        most: float | None = None,
        *,
        above: float | None = None,
        below: float | None = None,
    ) -> None:
        self.least, self.most, self.above, self.below = least, most, above, below

    def read(self, text: str) -> Any:
        """Return the number, or the text if it is none."""
        try:
            return self._type(text)
        except ValueError:
            return text

    def normal(self, value: Any) -> Any:
        """Return the number as a float, or for :class:`Whole` as it is."""
        return self._type(value)

    def describe(self) -> str:
        """Return type and bounds."""
        bounds = (">=", self.least), (">", self.above), ("<=", self.most), ("<", self.below)
        shown = ", ".join(f"{sign} {bound}" for sign, bound in bounds if bound is not None)
        return f"{self._name} {shown}".rstrip()

    def _is_kind(self, value: object) -> bool:
        try:
            return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
        except OverflowError:  # a whole number beyond all floats
            return False

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
    _name = "integer"
    _type = int

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

    def read(self, text: str) -> Any:
        """Return the choice that is written like this."""
        return next((choice for choice in self.choices if str(choice).lower() == text.lower()), text)

    def describe(self) -> str:
        """Return the choices."""
        return "|".join(str(choice).lower() if choice is None else str(choice) for choice in self.choices)

    def _is_kind(self, value: object) -> bool:
        return any(type(value) is type(choice) and value == choice for choice in self.choices)


class InstanceOf(Constraint):
    """An object of some class; the options of an option object are checked one by one."""

    def __init__(self, *types: Any, kind: str | None = None) -> None:
        self.types = types
        names = [type_.__name__ for type_ in types]
        self.kind = kind or " or ".join(f"a{'n' if name[0] in 'AEIOU' else ''} {name}" for name in names)

    def describe(self) -> str:
        """Return ``"text"`` or ``"path"`` where a text is a value."""
        return "" if str not in self.types else "path" if os.PathLike in self.types else "text"

    def _is_kind(self, value: object) -> bool:
        return isinstance(value, self.types)

    def _parts(self, name: str, value: Any) -> Iterable[tuple[str, Any, Constraint]]:
        return [
            (f"{name}.{field}", item, value._constraints[field])
            for field, item in option_fields(value).items()
        ]


Text = partial(InstanceOf, str, kind="a text")
Path = partial(InstanceOf, str, os.PathLike, kind="a path")
Function = partial(InstanceOf, Callable, kind="a function")


class Boolean(Constraint):
    """True or false, as a bool of Python or of numpy."""

    kind = "true or false"

    def read(self, text: str) -> Any:
        """Return the value of ``true`` or ``false``."""
        return {"true": True, "false": False}.get(text.lower(), text)

    def describe(self) -> str:
        """Return the two values."""
        return "true|false"

    def _is_kind(self, value: object) -> bool:
        return isinstance(value, bool) or (type(value).__module__ == "numpy" and value in (True, False))


class Each(Constraint):
    """A sequence, not empty, of values that all obey one constraint."""

    kind = "a sequence of values"

    def __init__(self, constraint: Constraint) -> None:
        self.constraint = constraint

    def read(self, text: str) -> Any:
        """Return the values between commas."""
        return [self.constraint.read(part.strip()) for part in text.split(",")]

    def normal(self, value: Any) -> Any:
        """Return a list of the values in their usual type."""
        return [self.constraint.normal(item) for item in value]

    def describe(self) -> str:
        """Return the type of the values."""
        return f"list of {self.constraint.describe()}"

    def _is_kind(self, value: object) -> bool:
        is_sequence = isinstance(value, Sequence) or hasattr(value, "__array__")
        return is_sequence and not isinstance(value, str) and len(value) > 0  # type: ignore[arg-type]

    def _parts(self, name: str, value: Any) -> Iterable[tuple[str, Any, Constraint]]:
        items = value.items() if isinstance(value, Mapping) else enumerate(value)
        return ((f"{name}[{key!r}]", item, self.constraint) for key, item in items)


class MappingOf(Each):
    """A mapping whose values all obey one constraint."""

    kind = "a mapping"

    def read(self, text: str) -> Any:
        """Return the mapping that is written as ``NP=4,VP=2``."""
        pairs = [part.partition("=") for part in text.split(",")]
        if not all(equals for _, equals, _ in pairs):
            return text
        return {key.strip(): self.constraint.read(value.strip()) for key, _, value in pairs}

    def normal(self, value: Any) -> Any:
        """Return the mapping with its values in their usual type."""
        return {key: self.constraint.normal(item) for key, item in value.items()}

    def describe(self) -> str:
        """Return how a mapping is written."""
        return f"NAME={self.constraint.describe()},..."

    def _is_kind(self, value: object) -> bool:
        return isinstance(value, Mapping)


class Either(Constraint):
    """A value that obeys one of several constraints; the first whose kind it is decides."""

    def __init__(self, *constraints: Constraint) -> None:
        self.constraints = constraints
        self.kind = " or ".join(constraint.kind for constraint in constraints)

    def read(self, text: str) -> Any:
        """Return the value that the first constraint reads from a text."""
        values = ((constraint, constraint.read(text)) for constraint in self.constraints)
        return next((value for constraint, value in values if constraint._is_kind(value)), text)

    def normal(self, value: Any) -> Any:
        """Return a value in its usual type."""
        return next(constraint for constraint in self.constraints if constraint._is_kind(value)).normal(value)

    def describe(self) -> str:
        """Return what each constraint allows."""
        parts = [described for constraint in self.constraints if (described := constraint.describe())]
        return "" if parts == ["none"] else " or ".join(parts)

    def _is_kind(self, value: object) -> bool:
        return any(constraint._is_kind(value) for constraint in self.constraints)

    def _parts(self, name: str, value: Any) -> Iterable[tuple[str, Any, Constraint]]:
        return [
            (name, value, next(constraint for constraint in self.constraints if constraint._is_kind(value)))
        ]


def option(constraint: Constraint, *, default: Any) -> Any:
    """Declare an option of an option object: what values it may have, and its default; its docstring says what it means."""
    return field(default=default, metadata={"constraint": constraint})


@dataclass_transform(frozen_default=True, field_specifiers=(option,))
def options(kind: type[_Class]) -> type[_Class]:
    """Make a class one of option objects: a frozen dataclass that has ``_constraints``."""
    return with_constraints(dataclass(frozen=True)(kind))


def with_constraints(kind: type[_Class]) -> type[_Class]:
    """Give a dataclass the ``_constraints`` that its options declare."""
    declared = [option for option in fields(kind) if "constraint" in option.metadata]  # type: ignore[arg-type]
    kind._constraints = {option.name: option.metadata["constraint"] for option in declared}  # type: ignore[attr-defined]
    return kind


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
    for name, value in option_fields(options).items():
        check_value(name, value, options._constraints[name])


def option_fields(value: Any) -> dict[str, Any]:
    """Return the options of an option object, a dataclass that declares constraints; none of anything else."""
    is_options = is_dataclass(value) and hasattr(value, "_constraints")
    return {field.name: getattr(value, field.name) for field in fields(value)} if is_options else {}
