"""Settings by name: declared once, read from the command line, from a TOML file or from Python, and listed.

A setting has the name of a parameter, with a dot before the parameters of a part: ``clustering.rank``. Its type and range are the
constraint that an estimator or a class of options declares, its default is in the signature, and its description in the docstring.
"""

import ast
import inspect
import re
import textwrap
from collections import ChainMap
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any

from gramian.errors import InputError, OptionError
from gramian.value_types import Constraint, check_value, option_fields


@dataclass(frozen=True)
class Setting:
    """A named value that a user may set."""

    name: str
    constraint: Constraint  #: type and range
    default: Any = None
    about: str = ""  #: what it means, in a sentence or two
    note: str = ""  #: where it applies, if not everywhere

    def checked(self, value: Any) -> Any:
        """Return a value in its usual type; raise an error if it breaks the constraint."""
        check_value(self.name, value, self.constraint)
        return self.constraint.normal(value)

    def read(self, text: str) -> Any:
        """Return the value that a text stands for."""
        return self.checked(self.constraint.read(text))

    def lines(self) -> str:
        """Return name, type, default and description, for a list."""
        default = "none" if self.default in (None, ()) else str(self.default)
        default = default.lower() if isinstance(self.default, bool) else default
        head = f"{self.name}  ({self.constraint.describe()}; default {default})"
        description = f"{self.about} [{self.note}]" if self.note else self.about
        lines = textwrap.wrap(description, 96, initial_indent="    ", subsequent_indent="    ")
        return "\n".join([head, *lines])


def declared_settings(kind: Any, prefix: str = "") -> dict[str, Setting]:
    """Return the settings of a class that declares constraints: an estimator, or a class of options.

    Options that are objects have settings of their own, after a dot.
    """
    constraints = ChainMap(*[vars(parent).get("_constraints", {}) for parent in kind.__mro__])
    texts = descriptions(kind)
    settings: dict[str, Setting] = {}
    for name, parameter in inspect.signature(kind).parameters.items():
        if name not in constraints:
            continue
        if option_fields(parameter.default):
            settings |= declared_settings(type(parameter.default), f"{prefix}{name}.")
            for field, value in option_fields(parameter.default).items():
                full_name = f"{prefix}{name}.{field}"
                if full_name in settings:
                    settings[full_name] = replace(settings[full_name], default=value)
        if constraints[name].describe():
            setting = Setting(prefix + name, constraints[name], parameter.default, texts.get(name, ""))
            settings[setting.name] = setting
    return settings


def descriptions(kind: Any) -> dict[str, str]:
    """Return what a class says about each of its fields, in docstrings behind these or in its own."""
    texts: dict[str, str] = {}
    for parent in reversed(kind.__mro__):
        if parent.__module__.startswith("gramian."):
            texts |= _field_docstrings(parent.__module__).get(parent.__name__, {})
    text = inspect.getdoc(kind) or ""
    for section in re.findall(
        r"^(?:Parameters|Attributes)\n-+\n(.*?)(?:\n\n\S|\Z)", text, re.DOTALL | re.MULTILINE
    ):
        for names, body in re.findall(r"^(\S[^\n]*)\n?((?:    [^\n]*\n?)*)", section, re.MULTILINE):
            texts |= dict.fromkeys(names.partition(" : ")[0].split(", "), " ".join(body.split()))
    return {
        name: re.sub(r":\w+:`~?(?:[\w.]*\.)?(\w+)`|``", r"\1", description)
        for name, description in texts.items()
    }


@cache
def _field_docstrings(module: str) -> dict[str, dict[str, str]]:
    """Return for each class of a module the docstrings that stand behind its fields, which Python itself does not keep."""
    try:
        source = inspect.getsource(import_module(module))
    except OSError:  # installed without sources
        return {}
    docstrings: dict[str, dict[str, str]] = {}
    for kind in (node for node in ast.parse(source).body if isinstance(node, ast.ClassDef)):
        for field, text in pairwise(kind.body):
            match field, text:
                case ast.AnnAssign(ast.Name(name)), ast.Expr(ast.Constant(str(about))):
                    docstrings.setdefault(kind.name, {})[name] = " ".join(about.split())
    return docstrings


def find_setting(name: str, known: Mapping[str, Setting], command: str) -> Setting:
    """Return the setting of a name; an error suggests the one that was probably meant."""
    if name in known:
        return known[name]
    likely = " or ".join(likely_names(name, known, command))
    hint = f"did you mean {likely}?" if likely else f"'gramian {command} --list-settings' lists all"
    raise OptionError(f"there is no setting {name!r}; {hint}")


def likely_names(name: str, known: Collection[str], command: str) -> list[str]:
    """Return which names were probably meant: the new one, those with the same last part, or one that is spelt alike."""
    import tomllib

    renamed = tomllib.loads((files("gramian") / "renamed_settings.toml").read_text("utf-8"))
    if name in renamed.get(command, {}):
        return [renamed[command][name]]
    last = name.rpartition(".")[2]
    same_ending = [candidate for candidate in known if candidate.rpartition(".")[2] == last]
    return same_ending[:3] or get_close_matches(name, known, 1)


def read_settings(
    assignments: Iterable[str], config: str | Path | None, known: Mapping[str, Setting], command: str
) -> dict[str, Any]:
    """Return the values of settings that are given as ``NAME=VALUE``, or else in a TOML file."""
    values = {} if config is None else read_config(config, known, command)
    for text in assignments:
        name, equals, value = text.partition("=")
        if not equals:
            raise OptionError(f"--set takes NAME=VALUE, not {text!r}")
        values[name.strip()] = find_setting(name.strip(), known, command).read(value.strip())
    return values


def read_config(path: str | Path, known: Mapping[str, Setting], command: str) -> dict[str, Any]:
    """Read a TOML file of settings; a table stands for what is before the dot of a name."""
    import tomllib

    try:
        content = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError.of_system(error, "opened", path) from None
    except RecursionError:
        raise InputError("is nested too deeply", str(path), hint="name = value, one a line") from None
    except ValueError as error:  # no TOML, no UTF-8, or a number without end
        raise InputError(f"is not valid TOML: {error}", str(path), hint="name = value, one a line") from None
    values: dict[str, Any] = {}
    tables = [("", content)]
    while tables:
        prefix, table = tables.pop()
        for key, value in table.items():
            name = prefix + key
            if isinstance(value, dict) and name not in known:
                tables.append((f"{name}.", value))
                continue
            try:
                values[name] = find_setting(name, known, command).checked(value)
            except OptionError as error:
                raise InputError(str(error), str(path)) from None
    return values


def listing(settings: Mapping[str, Setting]) -> str:
    """Return a list of settings for reading: those without a dot first, then part by part."""
    order = sorted(
        settings.values(), key=lambda setting: ("." in setting.name, setting.name.rpartition(".")[0])
    )
    return "\n".join(setting.lines() for setting in order)
