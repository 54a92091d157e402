"""The fields of a request, each checked when it is read."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gramian.errors import OptionError

_LARGEST = 1e300  # of a number


class Fields:
    """What a request says, by name: values of JSON, or of a query, where all are text.

    Examples
    --------
    >>> Fields({"k": 3}).whole("k", 1, 20, default=1)
    3
    >>> Fields({"k": 30}).whole("k", 1, 20, default=1)
    Traceback (most recent call last):
    gramian.errors.OptionError: k must be an integer from 1 to 20, not 30
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values

    def text(self, name: str, default: str | None = None) -> str:
        """Return a text; one without a default must be there."""
        value = self._values.get(name, default)
        if not isinstance(value, str):
            problem = "and missing" if value is None else f"not {_shown(value)}"
            raise OptionError(f"{name} is a text, {problem}")
        return value

    def n_characters(self) -> int:
        """Return how many characters all texts have together."""
        return sum(len(value) for value in self._values.values() if isinstance(value, str))

    def optional_text(self, name: str) -> str | None:
        """Return a text, or None if there is none."""
        return None if self._values.get(name) is None else self.text(name)

    def whole(self, name: str, least: int, most: int, default: int | None = None) -> int:
        """Return a whole number within bounds."""
        value = number = self._values.get(name, default)
        if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
            number = int(value)
        if type(number) is not int or not least <= number <= most:
            raise OptionError(f"{name} must be an integer from {least} to {most}, not {_shown(value)}")
        return number

    def flag(self, name: str) -> bool:
        """Return true or false; false if there is none."""
        value = self._values.get(name, False)
        if not isinstance(value, bool):
            raise OptionError(f"{name} must be true or false, not {_shown(value)}")
        return value

    def wholes(self, name: str, most: int, default: Sequence[int]) -> list[int]:
        """Return different whole numbers from 0 to below `most`."""
        wanted = f"whole numbers from 0 to {most - 1}"
        return list(
            dict.fromkeys(
                self._list(name, default, wanted, lambda item: type(item) is int and 0 <= item < most)
            )
        )

    def texts(self, name: str, default: Sequence[str] = (), most: int = 1000) -> list[str]:
        """Return a list of texts."""
        return self._list(name, default, f"up to {most} texts", lambda item: isinstance(item, str), most)

    def numbers(self, name: str) -> list[float] | None:
        """Return a list of numbers, or None if there is none."""
        if self._values.get(name) is None:
            return None
        fits = lambda item: type(item) in (int, float) and -_LARGEST <= item <= _LARGEST  # noqa: E731
        return [float(item) for item in self._list(name, (), "numbers", fits)]

    def _list(
        self, name: str, default: Sequence[Any], what: str, fits: Callable[[Any], bool], most: int = 1 << 30
    ) -> list[Any]:
        values = self._values.get(name, default)
        if not isinstance(values, list | tuple):
            raise OptionError(f"{name} must be a list, not {_shown(values)}")
        if not all(map(fits, values)) or len(values) > most:
            raise OptionError(f"{name} must be a list of {what}, not {_shown(list(values))}")
        return list(values)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
