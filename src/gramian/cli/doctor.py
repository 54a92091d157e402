"""``gramian doctor``: is all in place for parsing here, and if not, what to do about it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import typer

from gramian.cli.console import print_json
from gramian.cli.options import AS_JSON, MODEL
from gramian.errors import GramianError, counted

if TYPE_CHECKING:
    from gramian.parsing.parser import Parser

_NEEDED = ("numpy", "numba", "safetensors", "conllu", "typer")
_OPTIONAL = {
    "scipy": "train",
    "scikit-learn": "train",
    "torch": "neural",
    "transformers": "encoder",
    "matplotlib": "plots",
    "nltk": "nltk",
    "spacy": "spacy",
    "distributed": "cluster",
    "starlette": "web",
}
_SENTENCE = "The doctor says that all is well."


@dataclass(frozen=True)
class Finding:
    """One thing looked at: what there is, or what is wrong, and then what to do about it."""

    name: str
    ok: bool
    found: str
    fix: str = ""


def doctor(model: str | None = MODEL, as_json: bool = AS_JSON) -> None:
    """Check the installation.

    Compiles the parser, parses a sentence, and prints what is wrong and how to fix it. Exits with 1 if something is wrong.
    """
    findings: list[Finding] = []
    for finding in _examine(model):
        findings.append(finding)
        if not as_json:
            _print(finding)
    wrong = [finding.name for finding in findings if not finding.ok]
    if as_json:
        print_json({"ok": not wrong, "findings": [asdict(finding) for finding in findings]}, indent=1)
    else:
        print(f"wrong: {', '.join(wrong)}" if wrong else "all is well")
    if wrong:
        raise typer.Exit(1)


def _examine(model: str | None) -> Iterator[Finding]:
    """Yield what is found, one thing after the other; without a parser nothing is parsed."""
    for name, look in (("versions", _versions), ("threads", _threads), ("cache", _cache)):
        yield _guarded(name, look)
    parsers: list[Parser] = []
    yield _guarded("model", _model, model, parsers)
    for parser in parsers:
        yield _guarded("kernels", _kernels, parser)
        yield _guarded("sentence", _sentence, parser)


def _guarded(name: str, look: Callable[..., Finding], *what_at: Any) -> Finding:
    try:
        return look(name, *what_at)
    except GramianError as error:
        problem, _, fix = str(error).replace("\n", " ").partition("; try: ")
        return Finding(name, False, problem, fix or "run gramian doctor with another model: -m MODEL")
    except Exception as error:  # whatever it is, a doctor reports it
        problem = " ".join(str(error).split()) or type(error).__name__
        return Finding(name, False, problem, _advice(error))


def _print(finding: Finding) -> None:
    print(f"{'ok   ' if finding.ok else 'WRONG'} {finding.name:9} {finding.found}", flush=True)
    if finding.fix:
        print(f"{'':5} {'to fix':9} {finding.fix}", flush=True)


def _advice(error: Exception) -> str:
    if isinstance(error, ImportError):
        return "install it anew, in a virtual environment of its own: pip install --force-reinstall gramian"
    return "install gramian anew; if this stays, report it with the output of gramian doctor --json"


def _versions(name: str) -> Finding:
    import platform

    from gramian import __version__
    from gramian.system import versions

    installed = versions((*_NEEDED, *_OPTIONAL))
    if missing := [package for package in _NEEDED if installed[package] is None]:
        return Finding(name, False, f"{', '.join(missing)} not installed", f"pip install {' '.join(missing)}")
    parts = [f"gramian {__version__}", f"Python {platform.python_version()}"]
    parts.append(f"{platform.system()} {platform.machine()}")
    for package, number in installed.items():
        extra = _OPTIONAL.get(package)
        parts.append(f"{package} {number}" if number else f"no {package} (pip install 'gramian[{extra}]')")
    return Finding(name, True, ", ".join(parts))


def _threads(name: str) -> Finding:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    summary = f"{counted(cores, 'core')} for this process"
    for key in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS"):
        if (value := os.environ.get(key)) is None:
            continue
        if not (value.isdecimal() and int(value)):
            return Finding(name, False, f"{key}={value} is not a number of threads", f"unset {key}")
        summary += f", {key}={value}"
    return Finding(name, True, f"{summary}; gramian parse --jobs {cores} uses all")


def _cache(name: str) -> Finding:
    """Report where compiled kernels are kept. A directory that is not private, or cannot be written, is not used."""
    from gramian.kernels.store import private_root

    root, wanted = private_root(), os.environ.get("NUMBA_CACHE_DIR")
    if root is None:
        fix = "create a directory that only you can write, and name it: export NUMBA_CACHE_DIR=$HOME/.cache/numba"
        return Finding(
            name, False, "no private directory can be written, so kernels are compiled in every run", fix
        )
    if wanted and not root.is_relative_to(Path(wanted).absolute()):
        wrong = f"NUMBA_CACHE_DIR={wanted} cannot be written, or others can write to it, so compiled kernels are kept in {root}"
        return Finding(
            name, False, wrong, "choose a directory that only you can write, or unset NUMBA_CACHE_DIR"
        )
    return Finding(name, True, f"{root}, private and writable")


def _model(name: str, path: str | None, parsers: list[Parser]) -> Finding:
    from gramian.parsing.model_store import default_model_path
    from gramian.parsing.parser import load

    file = default_model_path() if path is None else Path(path)
    began = perf_counter()
    parsers.append(load(file))
    size = file.stat().st_size / 1e6
    which = "the bundled one" if path is None else path
    return Finding(name, True, f"{which}, {size:.1f} MB, loaded in {perf_counter() - began:.1f} s")


def _kernels(name: str, parser: Parser) -> Finding:
    """Parse once, so that whatever is not compiled yet is."""
    from numba.core import event

    with event.install_recorder("numba:compile") as compiled:
        began = perf_counter()
        parser.parse(_SENTENCE)
        seconds = perf_counter() - began
    if compiled.buffer:
        return Finding(name, True, f"compiled for this machine in {seconds:.1f} s, once")
    return Finding(name, True, f"compiled before, read in {seconds:.1f} s")


def _sentence(name: str, parser: Parser) -> Finding:
    result = parser.parse(_SENTENCE)
    summary = f"{result.tree}, {result.status}, {1000 * result.seconds:.0f} ms"
    fix = "take a model of more trees: this one has no tree for a plain sentence"
    return Finding(name, result.status == "parsed", summary, "" if result.status == "parsed" else fix)
