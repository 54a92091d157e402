"""How an option of a training is declared: a field that knows what it means, which values it may have, and its group in the help."""

from __future__ import annotations

from dataclasses import field
from typing import Any


def option(
    default: Any,
    about: str,
    kind: Any = None,
    *,
    group: str | None = None,
    least: float | None = None,
    most: float | None = None,
) -> Any:
    """Declare an option: its default (None is the method's own), what it means, which values it may have, and its group."""
    facts = {"help": about, "kind": kind or type(default), "least": least, "most": most, "group": group}
    return field(default=default, metadata=facts)


def own(group: str, about: str, kind: Any, least: float | None = None, most: float | None = None) -> Any:
    """Declare an option whose default is the method's own."""
    return option(None, about, kind, group=group, least=least, most=most)
