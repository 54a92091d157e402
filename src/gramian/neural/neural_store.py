"""What model files hold of neural experts: weights in half precision, and what numbers stand for."""

from __future__ import annotations

import os
from typing import Any

from gramian import __version__
from gramian.io import model_files
from gramian.io.tensors import Tensors
from gramian.neural.neural_model import NeuralModel


def save(model: NeuralModel, path: str | os.PathLike[str]) -> None:
    """Write a neural expert to a file of its own, whole or not at all; equal models give equal bytes."""
    model_files.save("neural", model, path)


def load(path: str | os.PathLike[str]) -> NeuralModel:
    """Read a file that :func:`save` wrote; ModelFileError if it is missing, damaged, no neural expert, or of a newer format."""
    return model_files.load(path, "neural")


def _pack(model: NeuralModel) -> tuple[dict[str, Any], Tensors]:
    return {"gramian": __version__}, model.pack()


def _unpack(_: dict[str, Any], tensors: Tensors) -> NeuralModel:
    return NeuralModel.unpack(tensors)


model_files.register("neural", model_files.NEURAL, _pack, _unpack)
