"""What model files hold of dependency parsers: grammars and tables of weights as arrays, all names in the header."""

from __future__ import annotations

import os
from dataclasses import fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.dependency.arc_models import ArcScorer, Labeller
from gramian.dependency.arc_tokens import VIEWS, TokenTable
from gramian.dependency.dependency_parser import DependencyParser
from gramian.dependency.shag import SHAG
from gramian.dependency.symbols import SymbolFunction, SymbolMap
from gramian.errors import OptionError
from gramian.io import store
from gramian.io.tensors import Tensors

_KIND = "dependency-parser"
_ARRAYS = tuple(part.name for part in fields(SHAG) if part.name != "symbols")


def save(parser: DependencyParser, path: str | os.PathLike[str]) -> None:
    """Write `parser`; the file appears whole or not at all."""
    store.save(_KIND, parser, path)


def load(path: str | os.PathLike[str], symbols: SymbolFunction | None = None) -> DependencyParser:
    """Read a parser; `symbols` is the function it was trained with, if it was."""
    found: DependencyParser = store.load(path, _KIND)
    if found.symbols.function is None:
        return found
    if symbols is None:
        raise OptionError(
            f"{path}: was trained with a function for its symbols; try: load(path, symbols=function)"
        )
    return replace(found, symbols=replace(found.symbols, function=symbols))


def _pack(parser: DependencyParser) -> tuple[dict[str, Any], Tensors]:
    header = {
        "symbols": {
            **{part: getattr(parser.symbols, part) for part in ("names", "column", "buckets")},
            "function": parser.symbols.function is not None,
        },
        "table": {"column": parser.table.column, "values": parser.table.values},
        "relations": parser.labeller.relations,
        "root_only": parser.labeller.root_only,
        "single_root": parser.single_root,
        "about": dict(parser.about),
    }
    arrays: Tensors = {"relation_weights": parser.labeller.weights}
    if parser.scorer is not None:
        arrays["arc_weights"] = parser.scorer.weights
    for name, grammar in (("grammar", parser.grammar), ("backoff", parser.backoff)):
        arrays |= {f"{name}.{part}": getattr(grammar, part) for part in _ARRAYS}
    return header, arrays


def _unpack(header: dict[str, Any], arrays: Tensors) -> DependencyParser:
    choice, table = header["symbols"], header["table"]
    names = _texts(choice["names"])
    values = tuple(_texts(view) for view in table["values"])
    relations, root_only = _texts(header["relations"]), header["root_only"]
    scorer = ArcScorer(_weights(arrays["arc_weights"])) if "arc_weights" in arrays else None
    relation_weights = _weights(arrays["relation_weights"])
    _require({choice["column"], table["column"]} <= {"upos", "xpos"}, "columns")
    _require(len(values) == VIEWS and 0 < len(relations) <= relation_weights.size, "views and relations")
    _require([type(one) for one in root_only] == [bool] * len(relations), "relations at the root")
    return DependencyParser(
        SymbolMap(
            names, choice["column"], int(choice["buckets"]), _not_stored if choice["function"] else None
        ),
        _grammar(names, arrays, "grammar"),
        _grammar(names, arrays, "backoff"),
        TokenTable(table["column"], values, np.zeros(0, np.int64)),
        Labeller(relations, relation_weights, tuple(root_only)),
        scorer,
        bool(header["single_root"]),
        dict(header["about"]),
    )


def _not_stored(*_: Any) -> str:
    """Stand for a function of symbols, which no file holds."""
    raise OptionError("a parser that was trained with a function for its symbols is loaded with it")


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise ValueError(f"the parts of the model do not fit together ({what})")


def _texts(values: Any) -> tuple[str, ...]:
    _require(isinstance(values, list) and all(isinstance(value, str) for value in values), "texts")
    return tuple(values)


def _weights(weights: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
    """Check that a table of hashed weights has a power of two of slots; kernels index it without looking."""
    size = weights.size
    fits = weights.ndim == 1 and weights.dtype == np.float32 and size > 0 and not size & (size - 1)
    _require(fits, "tables of weights")
    return weights


def _grammar(names: tuple[str, ...], arrays: Tensors, name: str) -> SHAG:
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
    _require(bool(fits), name)
    return SHAG(names, initial, final, operators, rows, states)


store.register(_KIND, store.SEQUENCES, _pack, _unpack)
