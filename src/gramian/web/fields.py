"""The fields of a request, each checked when it is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gramian.errors import OptionError

__all__ = ["Fields"]


class Fields:
    """What a request says, by name.

    Parameters
    ----------
    values : mapping
        Of JSON, or of a query, whose values are all text.

    Examples
    --------
    >>> Fields({"k": 3}).whole("k", 1, 20, default=1)
    3
    >>> Fields({"k": 30}).whole("k", 1, 20, default=1)
    Traceback (most recent call last):
    gramian.errors.OptionError: k is a whole number from 1 to 20, not 30
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values

    def text(self, name: str, default: str | None = None) -> str:
        """Return a text; one without a default must be there."""
        value = self._values.get(name, default)
        if not isinstance(value, str):
            raise OptionError(
                f"{name} is a text" + (", and missing" if value is None else f", not {_shown(value)}")
            )
        return value

    def optional_text(self, name: str) -> str | None:
        """Return a text, or None if there is none."""
        return None if self._values.get(name) is None else self.text(name)

    def whole(self, name: str, least: int, most: int, default: int | None = None) -> int:
        """Return a whole number within bounds."""
        value = self._values.get(name, default)
        number = (
            int(value)
            if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10
            else value
        )
        if not isinstance(number, int) or isinstance(number, bool) or not least <= number <= most:
            raise OptionError(f"{name} is a whole number from {least} to {most}, not {_shown(value)}")
        return number

    def flag(self, name: str) -> bool:
        """Return true or false; false if there is none."""
        value = self._values.get(name, False)
        if not isinstance(value, bool):
            raise OptionError(f"{name} is true or false, not {_shown(value)}")
        return value

    def wholes(self, name: str, most: int, default: Sequence[int]) -> list[int]:
        """Return different whole numbers from 0 to below `most`."""
        numbers = self._list(name, default)
        if not all(isinstance(one, int) and not isinstance(one, bool) and 0 <= one < most for one in numbers):
            raise OptionError(
                f"{name} is a list of whole numbers from 0 to {most - 1}, not {_shown(numbers)}"
            )
        return list(dict.fromkeys(numbers))

    def texts(self, name: str, default: Sequence[str] = (), most: int = 1000) -> list[str]:
        """Return a list of texts."""
        values = self._list(name, default)
        if not all(isinstance(one, str) for one in values) or len(values) > most:
            raise OptionError(f"{name} is a list of up to {most} texts, not {_shown(values)}")
        return values

    def numbers(self, name: str) -> list[float] | None:
        """Return a list of numbers, or None if there is none."""
        if self._values.get(name) is None:
            return None
        values = self._list(name, ())
        if not all(isinstance(one, int | float) and not isinstance(one, bool) for one in values):
            raise OptionError(f"{name} is a list of numbers, not {_shown(values)}")
        return [float(one) for one in values]

    def _list(self, name: str, default: Sequence[Any]) -> list[Any]:
        values = self._values.get(name, default)
        if not isinstance(values, list | tuple):
            raise OptionError(f"{name} is a list, not {_shown(values)}")
        return list(values)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
