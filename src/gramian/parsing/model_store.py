"""Model files of grammars: what :class:`gramian.parsing.model.Model` holds, as :mod:`gramian.io.model_files` writes it.

Every array of a grammar is a tensor, every tuple of strings a tensor of UTF-8 bytes, every number a number of the header; experts and a
reranker are stored as their modules say (:data:`_MODULES`). ``docs/reference/models.md`` describes the format.
"""

import hashlib
import os
from collections.abc import Callable
from dataclasses import asdict
from importlib import import_module
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from gramian import __version__
from gramian.errors import OptionError
from gramian.experts.expert_part import EXPERT_KINDS, ExpertPart
from gramian.grammar.lpcfg import LPCFG, check
from gramian.io import model_files
from gramian.io.tensors import Tensors, check_memory, decode, decoded_bytes, encode
from gramian.parsing.calibration import Calibration, Curve
from gramian.parsing.installed_models import bundled_model, model_path
from gramian.parsing.model import METADATA, Model
from gramian.text.text_processor import TextProcessor

_SUM_TOLERANCE = 0.01  # half precision keeps numbers within 0.4 %
# Fields of a model that the header keeps among its metadata, where version 0.1.0 looks for them.
_PLACES = {"kinds": "report", "tokens": "options", "preset": "options"}
_MODULES = {
    "expert": "gramian.experts.span_model",
    "neural": "gramian.neural.neural_model",
    "reranker": "gramian.experts.rerank_model",
    "cells": "gramian.experts.cell_model",
}
"""The modules that register how experts and rerankers are stored; only those of a model are imported."""
_RERANKER_VERSION = 3  # the first one of the format that has a reranker


def save_model(model: Model, path: str | os.PathLike[str], *, half: bool = False) -> None:
    """Write a model file, whole or not at all; equal models give equal bytes.

    Parameters
    ----------
    half : bool
        Whether real numbers are rounded to 16 bits, which keeps each within 0.4 % and halves the file.

    Raises
    ------
    gramian.errors.OptionError
        If the model is wrong in itself: whatever is saved can be loaded.
    gramian.errors.ModelFileError
        If the file cannot be written.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     save_model(load_model(), f"{folder}/copy.grammar")
    ...     print(load_model(f"{folder}/copy.grammar").language)
    en
    """
    model_files.save("grammar", model, path, half=half)


def rounded(model: Model, *, half: bool = True) -> Model:
    """Return a model as it will be when it has been saved and loaded."""
    return model_files.rounded("grammar", model, half=half)


def default_model_path() -> Path:
    """Return the path of the model that comes with the package; if there is none, that is an OptionError."""
    bundled = bundled_model()
    if bundled is None:
        raise OptionError("this installation has no bundled model; try: -m MODEL")
    return bundled.path


def load_model(path: str | os.PathLike[str] | None = None) -> Model:
    """Read a model file; of a language (``"fr"``) the one that is installed; without a path, the one that comes with the package.

    Raises
    ------
    gramian.errors.OptionError
        If no model of a language is installed.
    gramian.errors.ModelFileError
        If it is missing, damaged, not a model of a grammar, or of a newer format.

    Examples
    --------
    >>> load_model().preset
    'penn'
    """
    model: Model = model_files.load(default_model_path() if path is None else model_path(path), "grammar")
    return model


def _pack(model: Model, half: bool = False) -> tuple[dict[str, Any], Tensors]:
    tensors: Tensors = {}
    header: dict[str, Any] = {name: dict(getattr(model, name)) for name in METADATA} | {
        "format": "gramian grammar",
        "version": 1,
        "gramian": __version__,
        "labels": model.labels,
        "grammars": [
            encode(grammar, str(number), tensors, half) for number, grammar in enumerate(model.grammars)
        ],
    }
    for name, attribute in _PLACES.items():
        if (value := getattr(model, name)) != getattr(Model, name):
            header[attribute][name] = value
    if len(model.grammars) > 1:
        header |= {"version": 2, "same": _take_repeated(tensors)}
    parts: list[tuple[int, str, object]] = []
    for expert in model.experts:
        kind = EXPERT_KINDS[expert.kind]
        parts.append((kind.version, kind.stored_as, expert.model))
        if expert.weight is not None:
            header[f"{kind.stored_as}_weight"] = expert.weight
    if model.reranker is not None:
        parts.append((_RERANKER_VERSION, "reranker", model.reranker))
    if model.cells is not None:
        parts.append((header["version"], "cells", model.cells))  # earlier versions pass over it
    for version, name, part in sorted(parts, key=itemgetter(0)):
        _, packed = _of_part(name, model_files.pack, part)
        header |= {"version": max(version, header["version"]), name: sorted(packed)}
        tensors |= {f"{name}/{key}": tensor for key, tensor in packed.items()}
    if model.text is not None:
        header["text"] = encode(model.text, "text", tensors, half)
    if model.calibration:
        header["calibration"] = {name: asdict(curve) for name, curve in model.calibration.items()}
    return header, tensors


def _unpack(header: dict[str, Any], tensors: Tensors) -> Model:
    stored = dict(tensors)
    for name, other in header.get("same", {}).items():
        tensors[name] = stored[other]
    needed = decoded_bytes(header.get("text"), "text", tensors)
    for number, record in enumerate(header["grammars"]):
        needed += _grammar_bytes(record, str(number), tensors)
    check_memory(needed, stored)
    grammars = []
    for number, record in enumerate(header["grammars"]):
        grammar: LPCFG = decode(LPCFG, record, str(number), tensors)
        check(grammar, _SUM_TOLERANCE)
        grammars.append(grammar)
    fields: dict[str, Any] = {}
    for name in METADATA:
        if not isinstance(header[name], dict):
            raise TypeError("its header is not a table")
        fields[name] = dict(header[name])
    for name, attribute in _PLACES.items():
        if name in fields[attribute]:
            fields[name] = fields[attribute].pop(name)
    if isinstance(fields.get("kinds"), list):
        fields["kinds"] = tuple(fields["kinds"])
    experts = []
    for kind, (name, *_) in EXPERT_KINDS.items():
        if name in header:
            experts.append(ExpertPart(kind, _part(name, header, tensors), header.get(f"{name}_weight")))
    reranker = _part("reranker", header, tensors) if "reranker" in header else None
    if "cells" in header:
        fields["cells"] = _part("cells", header, tensors)
    text = decode(TextProcessor, header["text"], "text", tensors) if "text" in header else None
    calibration = {}
    for combination, curves in header.get("calibration", {}).items():
        pair = {name: None if curve is None else Curve(**curve) for name, curve in curves.items()}
        calibration[combination] = Calibration(**pair)
    return Model(tuple(grammars), tuple(experts), reranker, calibration, text, **fields)


def _part(name: str, header: dict[str, Any], tensors: Tensors) -> Any:
    """Return an expert or a reranker."""
    return _of_part(name, model_files.unpack, {}, {key: tensors[f"{name}/{key}"] for key in header[name]})


def _grammar_bytes(record: dict[str, Any], name: str, tensors: Tensors) -> float:
    """Return about how many bytes a grammar will take: what the file holds of it, and the tables that a chart makes."""
    symbols = float(record["fields"]["symbols"]["strings"])
    widest = float(tensors[f"{name}/n_states"].max(initial=0))
    rules = 4.0 * widest**3 if record["fields"].get("factors") else 0.0  # one whole tensor of low rank
    return decoded_bytes(record, name, tensors) + 4 * symbols**2 + 4 * widest**2 + rules


def _of_part(name: str, work: Callable[..., Any], *arguments: Any) -> Any:
    """Pack or unpack an expert or a reranker; what is wrong is said with its name."""
    import_module(_MODULES[name])
    try:
        return work(name, *arguments)
    except model_files.UNUSABLE as error:
        raise ValueError(f"of its {name}, {error}") from None


def _take_repeated(tensors: Tensors) -> dict[str, str]:
    """Take tensors that are equal to earlier ones away; return which stands for which."""
    first: dict[tuple[str, tuple[int, ...], bytes], str] = {}
    same = {}
    for name, tensor in list(tensors.items()):
        key = (tensor.dtype.str, tensor.shape, hashlib.sha256(np.ascontiguousarray(tensor).data).digest())
        if (other := first.setdefault(key, name)) != name:
            same[name] = other
            del tensors[name]
    return same


model_files.register("grammar", model_files.GRAMMAR, _pack, _unpack)
