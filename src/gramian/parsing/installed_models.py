"""Models that are installed: the one that comes with gramian, and those of packages that say so by an entry point.

A package offers a model of a language with an entry point of the group ``gramian.models``: its name is the language, its value the
package, which holds a file ``model.grammar``.
"""

import os
import re
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from importlib.resources import files
from pathlib import Path

from gramian import __version__
from gramian.errors import OptionError

GROUP = "gramian.models"
FILE = "model.grammar"
PACKAGES = {"fr": "French", "id": "Indonesian", "is": "Icelandic", "ja": "Japanese"}
"""Languages of model packages that the repository of gramian holds, in ``models/gramian-CODE``."""
_CODE = re.compile("[a-z]{2,3}")


@dataclass(frozen=True)
class InstalledModel:
    """A model that is installed."""

    language: str  #: its ISO 639 code
    package: str  #: the distribution that it comes with, and its version
    path: Path
    licence: str  #: of the model, as the distribution states it


def install_command(language: str) -> str:
    """Return the command that installs the package of a language; it is run in a copy of gramian's repository.

    OptionError if there is no such package.
    """
    if language not in PACKAGES:
        raise OptionError(
            f"no package has a model of the language {language!r}; try: one of {', '.join(PACKAGES)}"
        )
    return f"pip install ./models/gramian-{language}"


def bundled_model() -> InstalledModel | None:
    """Return the English model that comes with gramian, if it does."""
    path = Path(__file__).parents[1] / "models" / "english.grammar"
    if not path.is_file():
        return None
    return InstalledModel("en", f"gramian {__version__}", path, "CC BY-SA 4.0")


def installed_models() -> list[InstalledModel]:
    """Return all models that are installed, by language; English comes from gramian, unless a package has a better one."""
    installed = {} if (bundled := bundled_model()) is None else {"en": bundled}
    for point in sorted(entry_points(group=GROUP), key=lambda point: (point.name, point.value)):
        if (model := _offered(point)) is not None:
            installed[point.name] = model
    return [installed[language] for language in sorted(installed)]


def model_path(name: str | os.PathLike[str]) -> Path:
    """Return the path of a model: of a file with this name, or else of the installed model of a language."""
    path = Path(name)
    if path.exists() or not _CODE.fullmatch(str(name)):
        return path
    models = {model.language: model.path for model in installed_models()}
    if str(name) not in models:
        if str(name) in PACKAGES:
            hint = f"{install_command(str(name))} (in a copy of gramian's repository)"
        else:
            hint = f"{'one of ' + ', '.join(models) + ', or ' if models else ''}a model file"
        raise OptionError(f"no model of the language {str(name)!r} is installed; try: {hint}")
    return models[str(name)]


def _offered(point: EntryPoint) -> InstalledModel | None:
    """Return the model of an entry point, if there is one where it says."""
    try:
        path = Path(str(files(point.module).joinpath(FILE)))
    except ImportError:
        return None
    metadata = None if point.dist is None else point.dist.metadata
    if metadata is None or not path.is_file():
        return None
    licence = next(
        (metadata[name] for name in ("License-Expression", "License") if name in metadata), "not stated"
    )
    return InstalledModel(point.name, f"{metadata['Name']} {metadata['Version']}", path, licence)
