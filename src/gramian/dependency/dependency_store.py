"""Model files of dependency parsers: grammars and tables of weights as arrays, all names in the header."""

import os
import re
from dataclasses import fields, replace
from typing import Any

from gramian.dependency.arc_calibration import ArcCalibration
from gramian.dependency.arc_models import ArcScorer, Labeller
from gramian.dependency.arc_net_scores import NetArcScorer, NetInventory
from gramian.dependency.arc_templates import ALL_TEMPLATES, TemplateChoice
from gramian.dependency.arc_tokens import MAX_FEATURES, VIEWS, TokenTable
from gramian.dependency.conllu_text import WordSplitter
from gramian.dependency.dependency_parser import DependencyParser
from gramian.dependency.morphology import MorphologicalTagger
from gramian.dependency.split_head_automata import SHAG
from gramian.dependency.symbol_map import SymbolFunction, SymbolMap
from gramian.errors import OptionError
from gramian.io import model_files
from gramian.io.array_table import validate
from gramian.io.tensors import Tensors, check_memory, decode, decoded_bytes, encode
from gramian.text.text_processor import TextProcessor

_NOT_IN_FIELD = re.compile(r"[\t\n\r\0\ud800-\udfff]|^$")
_KIND = "dependency-parser"
_RECORDS: dict[str, Any] = {
    "tagger": MorphologicalTagger | None,
    "text": TextProcessor | None,
    "splitter": WordSplitter | None,
    "calibration": ArcCalibration,
}
_NET = "net.weights."
_NET_WEIGHTS = ("arc_weight", "factor_weight", "relation_weight")
_ARRAYS = tuple(part.name for part in fields(SHAG) if part.name != "symbols")


def save(parser: DependencyParser, path: str | os.PathLike[str]) -> None:
    """Write `parser`; the file appears whole or not at all."""
    model_files.save(_KIND, parser, path)


def load(path: str | os.PathLike[str], symbols: SymbolFunction | None = None) -> DependencyParser:
    """Read a parser; `symbols` is the function of symbols that it was trained with, if any."""
    parser: DependencyParser = model_files.load(path, _KIND)
    if parser.symbols.function is None:
        return parser
    if symbols is None:
        raise OptionError(
            f"{path}: trained with a function of symbols, which is not stored; try: load(path, symbols=function)"
        )
    return replace(parser, symbols=replace(parser.symbols, function=symbols))


def _pack(parser: DependencyParser) -> tuple[dict[str, Any], Tensors]:
    header: dict[str, Any] = {
        "symbols": {
            **{part: getattr(parser.symbols, part) for part in ("names", "column", "buckets")},
            "function": parser.symbols.function is not None,
        },
        "table": {part: getattr(parser.table, part) for part in ("column", "values", "features")},
        "relations": parser.labeller.relations,
        "root_only": parser.labeller.root_only,
        "single_root": parser.single_root,
        "about": dict(parser.about),
    }
    arrays: Tensors = {"relation_weights": parser.labeller.weights}
    if parser.scorer is not None:
        arrays["arc_weights"] = parser.scorer.weights
        header["templates"] = {"arcs": parser.scorer.kept, "relations": parser.labeller.kept}
    for name, grammar in (("grammar", parser.grammar), ("backoff", parser.backoff)):
        arrays |= {f"{name}.{part}": getattr(grammar, part) for part in _ARRAYS}
    for name in _RECORDS:
        if (part := getattr(parser, name)) is not None:
            header[name] = encode(part, name, arrays)
    if (net := parser.net) is not None:
        header["net"] = {name: getattr(net, name) for name in _NET_WEIGHTS}
        header["net"]["inventory"] = encode(net.inventory, "net/inventory", arrays)
        for number, weights in enumerate(net.weights):
            arrays |= {f"{_NET}{number}.{name}": value for name, value in weights.items()}
    return header, arrays


def _unpack(header: dict[str, Any], arrays: Tensors) -> DependencyParser:
    choice, table = header["symbols"], header["table"]
    _require("features" in table, "views (the model is of an older version; try: train it again)")
    names = _texts(choice["names"])
    values = tuple(_texts(view) for view in table["values"])
    relations, root_only = _texts(header["relations"]), header["root_only"]
    buckets = choice["buckets"]
    _require(len(set(names)) == len(names) > 0, "symbols")
    _require({choice["column"], table["column"]} <= {"upos", "xpos"}, "columns")
    _require(type(buckets) is int and 0 <= buckets < 1 << 32, "buckets")
    features = _texts(table["features"])
    _require(len(values) == VIEWS + len(features) and len(features) <= MAX_FEATURES, "views")
    _require(len(relations) > 0, "relations")
    _require(not any(_NOT_IN_FIELD.search(relation) for relation in relations), "relations")
    _require([type(value) for value in root_only] == [bool] * len(relations), "relations at the root")
    sizes = {"symbols": len(names), "automata": 2 * len(names) + 2, "relations": len(relations)}
    validate(_KIND, arrays, **sizes)
    check_memory(sum(decoded_bytes(header.get(name), name, arrays) for name in _RECORDS), arrays)
    records = {name: decode(kind, header.get(name), name, arrays) for name, kind in _RECORDS.items()}
    choice_of_templates = _templates(header.get("templates"))
    scorer = ArcScorer(arrays["arc_weights"], choice_of_templates.arcs) if "arc_weights" in arrays else None
    net = _unpack_net(header["net"], arrays, len(relations)) if "net" in header else None
    grammar, backoff = (
        SHAG(names, *(arrays[f"{name}.{part}"] for part in _ARRAYS)) for name in ("grammar", "backoff")
    )
    return DependencyParser(
        SymbolMap(names, choice["column"], buckets, _not_stored if choice["function"] else None),
        grammar,
        backoff,
        TokenTable(table["column"], values, (), features),
        Labeller(relations, arrays["relation_weights"], tuple(root_only), choice_of_templates.relations),
        scorer,
        bool(header["single_root"]),
        dict(header["about"]),
        net=net,
        **records,
    )


def _templates(record: Any) -> TemplateChoice:
    """Return the positions of templates; all of them for files of older versions."""
    choice = ALL_TEMPLATES
    if record is not None:
        choice = TemplateChoice(*(tuple(record[name]) for name in TemplateChoice._fields))
    for kept, known in zip(choice, ALL_TEMPLATES, strict=True):
        _require(len(set(kept)) == len(kept) > 0 and set(kept) <= set(known), "templates")
        _require(all(type(position) is int for position in kept), "templates")
    return choice


def _unpack_net(record: dict[str, Any], arrays: Tensors, n_relations: int) -> NetArcScorer:
    weights = {name: record[name] for name in _NET_WEIGHTS}
    _require(all(type(value) is float and 0.0 <= value <= 100.0 for value in weights.values()), "weights")
    check_memory(decoded_bytes(record["inventory"], "net/inventory", arrays), arrays)
    inventory = decode(NetInventory, record["inventory"], "net/inventory", arrays)
    nets: dict[str, Tensors] = {}
    for name, value in arrays.items():
        if name.startswith(_NET):
            number, _, part = name.removeprefix(_NET).partition(".")
            if not number.isdigit():  # old files have one net
                number, part = "0", f"{number}.{part}"
            nets.setdefault(number, {})[part] = value
    return NetArcScorer(inventory, n_relations, tuple(nets[number] for number in sorted(nets)), **weights)


def _not_stored(*_: Any) -> str:
    """Stand for a function of symbols, which files do not store."""
    raise OptionError("the function of symbols is not stored; try: load(path, symbols=function)")


def _require(holds: bool, part: str) -> None:
    if not holds:
        raise ValueError(f"invalid model file: inconsistent {part}")


def _texts(values: Any) -> tuple[str, ...]:
    _require(isinstance(values, list) and all(isinstance(value, str) for value in values), "texts")
    return tuple(values)


model_files.register(_KIND, model_files.SEQUENCES, _pack, _unpack)
