"""Model files of dependency parsers: safetensors with one JSON header, written in one rename, read without
running code.
"""

from __future__ import annotations

import os
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.automata.automata_store import read_model, write_model
from gramian.dependency.arc_labeller import Labeller
from gramian.dependency.arc_scorer import ArcScorer
from gramian.dependency.arc_tokens import VIEWS, TokenTable
from gramian.dependency.dependency_parser import DependencyParser
from gramian.dependency.shag import SHAG
from gramian.dependency.symbols import SymbolFunction, SymbolMap
from gramian.errors import ModelFileError, OptionError

__all__ = ["load", "save"]

_KIND = "dependency-parser"
_HINT = "try: a file that 'gramian dep train' wrote"
_ARRAYS = tuple(part.name for part in fields(SHAG) if part.name != "symbols")

Arrays = dict[str, npt.NDArray[Any]]


def save(parser: DependencyParser, path: str | os.PathLike[str]) -> None:
    """Write `parser`; the file appears whole or not at all."""
    header = {
        "symbols": {
            "names": parser.symbols.names,
            "column": parser.symbols.column,
            "buckets": parser.symbols.buckets,
            "function": parser.symbols.function is not None,
        },
        "table": {"column": parser.table.column, "values": parser.table.values},
        "relations": parser.labeller.relations,
        "root_only": parser.labeller.root_only,
        "single_root": parser.single_root,
        "about": dict(parser.about),
    }
    arrays: Arrays = {"relation_weights": parser.labeller.weights}
    if parser.scorer is not None:
        arrays["arc_weights"] = parser.scorer.weights
    for name, grammar in (("grammar", parser.grammar), ("backoff", parser.backoff)):
        arrays.update({f"{name}.{part}": getattr(grammar, part) for part in _ARRAYS})
    write_model(path, _KIND, header, arrays)


def load(path: str | os.PathLike[str], symbols: SymbolFunction | None = None) -> DependencyParser:
    """Read a parser; `symbols` is the function it was trained with, if it was."""
    if not Path(path).is_file():
        raise ModelFileError(f"{path}: no such model file; {_HINT}")
    try:
        header, arrays = read_model(path)
    except ModelFileError as error:
        if "version" in str(error):
            raise
        raise ModelFileError(f"{path}: not a gramian model, or damaged; {_HINT}") from error
    if header["kind"] != _KIND:
        raise ModelFileError(f"{path}: holds a {header['kind']} model, not a dependency parser; {_HINT}")
    try:
        choice = header["symbols"]
        if choice["function"] and symbols is None:
            raise OptionError(
                f"{path}: was trained with a function for its symbols; try: load(path, symbols=function)"
            )
        names = _texts(choice["names"])
        values = tuple(_texts(view) for view in header["table"]["values"])
        for column in (choice["column"], header["table"]["column"]):
            if column not in ("upos", "xpos"):
                raise ValueError("column")
        scorer = ArcScorer(_table(arrays["arc_weights"])) if "arc_weights" in arrays else None
        relations = _texts(header["relations"])
        relation_weights = _table(arrays["relation_weights"])
        if len(values) != VIEWS or not 0 < len(relations) <= relation_weights.size:
            raise ValueError("views and relations")
        if [type(one) for one in header["root_only"]] != [bool] * len(relations):
            raise ValueError("relations at the root")
        return DependencyParser(
            SymbolMap(
                names, choice["column"], int(choice["buckets"]), symbols if choice["function"] else None
            ),
            _grammar(names, arrays, "grammar"),
            _grammar(names, arrays, "backoff"),
            TokenTable(header["table"]["column"], values, np.zeros(0, np.int64)),
            Labeller(relations, relation_weights, tuple(header["root_only"])),
            scorer,
            bool(header["single_root"]),
            dict(header["about"]),
        )
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise ModelFileError(
            f"{path}: the parts of the model do not fit together; try: training it again"
        ) from error


def _texts(values: Any) -> tuple[str, ...]:
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise TypeError("texts")
    return tuple(values)


def _table(weights: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
    """Check that a table of hashed weights has a power of two of slots; kernels index it without looking."""
    if (
        weights.ndim != 1
        or weights.dtype != np.float32
        or weights.size == 0
        or weights.size & (weights.size - 1)
    ):
        raise ValueError("table of weights")
    return weights


def _grammar(names: tuple[str, ...], arrays: Arrays, name: str) -> SHAG:
    """Put a grammar together and check all shapes and indices, since kernels do not."""
    initial, final, operators, rows, states = (arrays[f"{name}.{part}"] for part in _ARRAYS)
    automata, n = 2 * len(names) + 2, initial.shape[-1]
    fits = (
        initial.shape == final.shape == (automata, n)
        and operators.ndim == 3
        and operators.shape[0] > 0
        and operators.shape[1:] == (n, n)
        and rows.shape == (automata, len(names))
        and states.shape == (automata,)
        and all(array.dtype == np.float64 for array in (initial, final, operators))
        and rows.dtype == states.dtype == np.int32
        and 0 <= rows.min(initial=0) <= rows.max(initial=0) < operators.shape[0]
        and 1 <= states.min() <= states.max() <= n
    )
    if not fits:
        raise ValueError(name)
    return SHAG(names, initial, final, operators, rows, states)
