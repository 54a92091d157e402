"""Counts on disk between steps of expectation-maximisation, so that training that was stopped can go on."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from gramian.io.files import write_bytes
from gramian.learn.observations import Observations
from gramian.learn.tables import LatentTables, Layout

__all__ = ["Checkpoint"]

_TENSORS = ("binary", "unary", "lexical", "root")


class Checkpoint:
    """A file that holds the counts after the latest step; without a path, nothing is kept.

    `options` is what determines the counts besides the treebank; a file made with other options or trees is not taken up.
    """

    def __init__(self, path: str | None, ending: str, seen: Observations, options: str) -> None:
        self._path = None if path is None else Path(path + ending)
        self._seen, self._mark = seen, f"{seen.digest} {options}"

    def save(self, counts: LatentTables, likelihoods: list[float]) -> None:
        """Write the counts after ``len(likelihoods)`` steps, whole or not at all."""
        if self._path is None:
            return
        from safetensors.numpy import save

        head = {"mark": self._mark, "likelihoods": json.dumps(likelihoods)}
        tensors = {name: getattr(counts, name) for name in _TENSORS}
        write_bytes(self._path, save(tensors | {"n_states": counts.layout.n_states}, head))

    def load(self) -> tuple[LatentTables, list[float]] | None:
        """Return counts and likelihoods of the steps done, or None if there is no file that fits."""
        if self._path is None:
            return None
        from safetensors import SafetensorError, safe_open

        try:
            with safe_open(self._path, "numpy") as file:
                head = file.metadata() or {}
                if head.get("mark") != self._mark:
                    return None
                n_states = np.asarray(file.get_tensor("n_states"), np.int32)
                tensors = {name: file.get_tensor(name) for name in _TENSORS}
                likelihoods = [float(value) for value in json.loads(head["likelihoods"])]
        except (OSError, SafetensorError, KeyError, ValueError):
            return None
        return LatentTables(Layout.of(self._seen.productions, n_states), **tensors), likelihoods

    def remove(self) -> None:
        """Delete the file, if there is one."""
        if self._path is not None:
            self._path.unlink(missing_ok=True)
