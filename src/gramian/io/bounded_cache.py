"""What was made of keys met before, up to so many and so many bytes: a flood of new or of very long words does not fill the memory."""

from collections.abc import Callable, Hashable
from dataclasses import is_dataclass
from typing import Any, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")

_OBJECT = 64  # bytes of anything, about


class BoundedCache(dict[Key, Value]):
    """What a function made of keys met before; when it is full it is emptied. What is large by itself is not kept."""

    def __init__(self, make: Callable[[Key], Value], most: int = 1 << 17, most_bytes: int = 32 << 20) -> None:
        self._make, self._most, self._most_bytes = make, most, most_bytes
        self._bytes = 0

    def __missing__(self, key: Key) -> Value:
        value = self._make(key)
        self.keep(key, value)
        return value

    def keep(self, key: Key, value: Value) -> None:
        """Remember what was made of a key elsewhere."""
        size = _size(key) + _size(value)
        if size > self._most_bytes // 256:
            return
        if len(self) >= self._most or self._bytes + size > self._most_bytes:
            self.clear()
            self._bytes = 0
        self._bytes += size
        self[key] = value


def _size(value: Any) -> int:
    """Return about how many bytes a text, an array, or what is made of such takes."""
    if isinstance(value, str):
        return _OBJECT + 4 * len(value)
    if isinstance(value, tuple | list):
        return _OBJECT + sum(map(_size, value))
    if is_dataclass(value):
        return _OBJECT + sum(map(_size, vars(value).values()))
    return _OBJECT + int(getattr(value, "nbytes", 0))
