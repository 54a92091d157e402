"""What model files hold of span CRFs and rerankers: weights in half precision, zeros left out."""

from __future__ import annotations

import json
import os
from typing import Any, TypeAlias

import numpy as np

from gramian import __version__
from gramian.experts.rerank_candidates import DENSE
from gramian.experts.rerank_model import RerankModel
from gramian.experts.span_model import SpanModel
from gramian.io import model_files
from gramian.io.array_table import validate
from gramian.io.schema import as_document, parse_json
from gramian.io.tensors import Tensors, pack_strings, pack_weights, unpack_strings, unpack_weights
from gramian.trees import HeadRules

_Heads: TypeAlias = tuple[dict[str, list[tuple[str, tuple[str, ...]]]], str, list[str], list[str]]
"""Head rules as JSON holds them: searches by label, the default, labels that are never heads, labels of coordination."""


def save(model: SpanModel, path: str | os.PathLike[str]) -> None:
    """Write a span CRF to a file of its own, whole or not at all; equal models give equal bytes."""
    model_files.save("expert", model, path)


def load(path: str | os.PathLike[str]) -> SpanModel:
    """Read a file that :func:`save` wrote; ModelFileError if it is missing, damaged, no span CRF, or of a newer format."""
    return model_files.load(path, "expert")


def rounded(model: RerankModel) -> RerankModel:
    """Return a reranker as it will be when it has been saved and loaded."""
    return model_files.rounded("reranker", model)


def _pack_span_model(model: SpanModel) -> tuple[dict[str, Any], Tensors]:
    tensors = {"n_phrases": np.array([model.n_phrases], np.int32)} | {
        name: pack_strings(getattr(model, name)) for name in ("symbols", "frequent")
    }
    tensors |= pack_weights("tag_weights", model.tag_weights) | pack_weights("weights", model.weights)
    return {"gramian": __version__}, tensors


def _unpack_span_model(_: dict[str, Any], tensors: Tensors) -> SpanModel:
    (n_phrases,) = tensors["n_phrases"].tolist()
    if not isinstance(n_phrases, int):
        raise TypeError(f"{n_phrases!r} phrases")
    symbols, frequent = unpack_strings(tensors["symbols"]), unpack_strings(tensors["frequent"])
    if not 0 < n_phrases < len(symbols) <= 1024:
        raise ValueError(f"{n_phrases} phrases among {len(symbols)} symbols")
    if len(set(symbols[:n_phrases])) + len(set(symbols[n_phrases:])) < len(symbols):
        raise ValueError("a symbol stands twice")
    tables = {name: unpack_weights(tensors, name) for name in ("tag_weights", "weights")}
    validate("expert", tables, tags=len(symbols) - n_phrases)
    return SpanModel(symbols, n_phrases, frequent, **tables)


def _pack_reranker(model: RerankModel) -> tuple[dict[str, Any], Tensors]:
    heads = None
    if model.heads is not None:
        rules = model.heads
        heads = [rules.searches, rules.default, sorted(rules.never), sorted(rules.coordination)]
    tensors: Tensors = {
        "k": np.array([model.k], np.int32),
        "frequent": pack_strings(model.frequent),
        "heads": np.frombuffer(json.dumps(heads, sort_keys=True).encode(), np.uint8),
        "dense": model.dense.astype(np.float32),
        "base": np.array([model.base], np.float32),
    }
    return {"gramian": __version__}, tensors | pack_weights("weights", model.weights)


def _unpack_reranker(_: dict[str, Any], tensors: Tensors) -> RerankModel:
    k, base = tensors["k"].item(), float(tensors["base"].item())
    found = as_document(_Heads | None, parse_json(bytes(tensors["heads"])), "heads")
    heads = None
    if found is not None:
        searches, default, never, coordination = found
        heads = HeadRules(
            {label: tuple(rows) for label, rows in searches.items()},
            default,
            frozenset(never),
            frozenset(coordination),
        )
        heads.check()
    dense, weights = tensors["dense"].astype(np.float64), unpack_weights(tensors, "weights")
    if type(k) is not int or not 1 <= k <= 1000 or not np.isfinite(base):
        raise ValueError(f"{k} trees, {base} for the base model")
    validate("reranker", {"dense": dense, "weights": weights}, **{"dense features": len(DENSE)})
    return RerankModel(k, unpack_strings(tensors["frequent"]), heads, dense, weights, base)


model_files.register("expert", model_files.SPAN_CRF, _pack_span_model, _unpack_span_model)
model_files.register("reranker", model_files.GRAMMAR, _pack_reranker, _unpack_reranker)
