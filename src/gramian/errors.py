"""The exceptions of gramian. Every message says what is wrong, where, and what to try.

Anything a user can cause by input, options or files is a :class:`GramianError`; the command line prints it
without a traceback and exits with 2. Other exceptions are bugs.
"""

import os
from typing import Self

from gramian.escaping import for_terminal, one_line


class GramianError(Exception):
    """Base of all errors that gramian raises on purpose."""


class InputError(GramianError):
    """A file or text that cannot be read as what it should be.

    `what` is a clause without a period, `hint` what to try, starting with a verb; a caret is printed below `column` of `excerpt`.

    Examples
    --------
    >>> print(InputError("')' closes nothing", "a.mrg", 3, 2, excerpt=" )", hint="remove it"))
    a.mrg:3:2: ')' closes nothing
     )
     ^
    try: remove it
    """

    def __init__(
        self,
        what: str,
        source: str = "<string>",
        line: int | None = None,
        column: int | None = None,
        *,
        excerpt: str | None = None,
        hint: str | None = None,
    ) -> None:
        self.what, self.source, self.line, self.column = what, source, line, column
        self.excerpt, self.hint = excerpt, hint
        super().__init__(what, source, line, column)

    @classmethod
    def of_system(
        cls, error: OSError, action: str, path: str | os.PathLike[str], hint: str = "check the path"
    ) -> Self:
        """Return the message for an error of the operating system: `path` cannot be opened, or another `action`."""
        return cls(
            f"cannot be {action} ({error.strerror or type(error).__name__})", os.fspath(path), hint=hint
        )

    def __str__(self) -> str:
        position = (one_line(self.source), self.line, self.column)
        text = f"{':'.join(str(part) for part in position if part is not None)}: {for_terminal(self.what)}"
        if self.excerpt is not None:
            text += "\n" + _with_caret(self.excerpt, self.column)
        if self.hint is not None:
            text += f"\ntry: {self.hint}"
        return text


class OptionError(GramianError):
    """An option or parameter with a value it cannot have."""


class ModelFileError(GramianError):
    """A model file that is damaged, foreign, or written by a newer version."""


class ScoreError(GramianError):
    """Gold and predicted material that cannot be compared."""


class MissingExtraError(GramianError):
    """A feature whose optional dependency is not installed.

    `purpose` is what needs the package, as the subject of a sentence.
    """

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs {package}, which is not installed; try: pip install 'gramian[{extra}]'"
        )

    @classmethod
    def of_import(cls, error: ImportError) -> ImportError | Self:
        """Return the message for a failed import; `error` itself if no extra installs the module.

        Examples
        --------
        >>> print(MissingExtraError.of_import(ModuleNotFoundError("No module named 'scipy'", name="scipy.linalg")))
        training needs SciPy, which is not installed; try: pip install 'gramian[train]'
        """
        requirement = _EXTRA_OF_MODULE.get((error.name or "").partition(".")[0])
        return error if requirement is None else cls(*requirement)


_EXTRA_OF_MODULE = {
    "scipy": ("SciPy", "train", "training"),
    "sklearn": ("scikit-learn", "train", "training"),
    "torch": ("PyTorch", "neural", "training a neural expert or running on a device"),
}


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, as messages and summaries have it."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _with_caret(line: str, column: int | None, width: int = 100) -> str:
    """Return `line`, cut to `width` around `column`, with a caret below that column."""
    line = "".join([character if character.isprintable() else " " for character in line.rstrip("\n")])
    if column is None:
        return line[:width]
    start = max(0, column - 1 - width // 2)
    shown = line[start : start + width]
    return shown + "\n" + " " * (column - 1 - start) + "^"
