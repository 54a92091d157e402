"""Rerankers as named arrays, as a model file holds them: weights in half precision, zeros left out."""

from __future__ import annotations

import json
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from gramian.io.tensors import pack_weights, unpack_weights
from gramian.loglinear.rerank_candidates import DENSE
from gramian.loglinear.rerank_model import RerankModel
from gramian.trees import HeadRules

__all__ = ["pack", "unpack"]

Tensors: TypeAlias = dict[str, npt.NDArray[Any]]


def pack(model: RerankModel) -> Tensors:
    """Return a reranker as named arrays of few bytes; :func:`unpack` is the inverse, up to rounding to 16 bits."""
    heads = None
    if model.heads is not None:
        rules = model.heads
        heads = [rules.searches, rules.default, sorted(rules.never), sorted(rules.coordination)]
    small: Tensors = {
        "k": np.array([model.k], np.int32),
        "frequent": np.frombuffer("\0".join(model.frequent).encode(), np.uint8),
        "heads": np.frombuffer(json.dumps(heads, sort_keys=True).encode(), np.uint8),
        "dense": model.dense.astype(np.float32),
        "base": np.array([model.base], np.float32),
    }
    return small | pack_weights("weights", model.weights)


def unpack(tensors: Tensors) -> RerankModel:
    """Return the reranker that arrays stand for.

    Raises
    ------
    LookupError, TypeError, ValueError
        If they stand for none.
    """
    k, base = tensors["k"].item(), float(tensors["base"].item())
    frequent = tuple(bytes(tensors["frequent"]).decode().split("\0")) if tensors["frequent"].size else ()
    found = json.loads(bytes(tensors["heads"]).decode())
    heads = None
    if found is not None:
        searches, default, never, coordination = found
        heads = HeadRules(
            {
                label: tuple([(how, tuple(wanted)) for how, wanted in rows])
                for label, rows in searches.items()
            },
            default, frozenset(never), frozenset(coordination),
        )  # fmt: skip
    dense = tensors["dense"].astype(np.float64)
    weights = unpack_weights(tensors, "weights")
    if not isinstance(k, int) or not 1 <= k <= 1000 or dense.shape != (len(DENSE),):
        raise ValueError(f"{k} trees with {dense.size} numbers each")
    if not (np.isfinite(dense).all() and np.isfinite(base)):
        raise ValueError("the weights are not all numbers")
    return RerankModel(k, frequent, heads, dense, weights, base)
