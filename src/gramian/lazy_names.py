"""Import the public names of a package when they are first used, and name the extra that a missing library belongs to."""

from collections.abc import Callable
from typing import Any

import lazy_loader

from gramian.errors import MissingExtraError


def attach_names(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package whose names stand in its ``__init__.pyi``."""
    load, list_names, names = lazy_loader.attach_stub(package, file)

    def load_name(name: str) -> Any:
        try:
            return load(name)
        except ModuleNotFoundError as error:
            raise MissingExtraError.of_import(error) from None

    return load_name, list_names, names
