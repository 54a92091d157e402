"""Functions of strings to extract automata from: a function in Python code, a network in an ONNX file, or a model of gramian."""

import importlib
import importlib.util
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gramian.automata.extraction import BlackBox
from gramian.automata.sequences import Array, Symbol
from gramian.errors import InputError, MissingExtraError, OptionError


def find_function(name: str) -> BlackBox:
    """Return a function by its module and name, ``package.module:function`` or ``file.py:function``; this runs the module's code."""
    module_name, _, function_name = name.rpartition(":")
    try:
        if module_name.endswith(".py"):
            spec = importlib.util.spec_from_file_location(Path(module_name).stem, module_name)
            if spec is None or spec.loader is None:
                raise ImportError(module_name)
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
        else:
            module = importlib.import_module(module_name)
        function: BlackBox = getattr(module, function_name)
    except (ImportError, OSError, AttributeError, ValueError) as error:
        raise OptionError(f"{name}: {error}; try: MODULE:FUNCTION or FILE.py:FUNCTION") from None
    if not callable(function):
        raise OptionError(f"{name} is not a function; try: the name of a function of lists of strings")
    return function


def onnx_black_box(
    path: str | os.PathLike[str],
    alphabet: Sequence[Symbol],
    *,
    start: Sequence[int] = (),
    stop: Sequence[int] = (),
) -> BlackBox:
    """Return the function that a network in an ONNX file computes; needs onnxruntime.

    The network's first input takes numbers of symbols, in the order of `alphabet`, as an integer tensor of shape (strings, symbols). The
    last number of its first output is the score of a string. Strings of one length are scored together where the network allows it.

    Parameters
    ----------
    path : path
    alphabet : sequence of str or int
    start, stop : sequence of int
        Numbers to put before and after each string, such as those of START and STOP.
    """
    try:
        import onnxruntime
    except ImportError:
        raise MissingExtraError("onnxruntime", "onnx", "an ONNX model") from None
    if not os.path.exists(path):
        raise InputError("there is no such file", os.fspath(path), hint="check the name")
    try:
        session = onnxruntime.InferenceSession(os.fspath(path), providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime raises classes of its own
        raise InputError(
            f"onnxruntime cannot read it ({error})", os.fspath(path), hint="name an ONNX model"
        ) from None
    entry = session.get_inputs()[0]
    type_ = np.int32 if entry.type == "tensor(int32)" else np.int64
    one_by_one = len(entry.shape) > 1 and entry.shape[0] == 1
    number = {symbol: index for index, symbol in enumerate(alphabet)}

    def run(rows: list[list[int]]) -> Array:
        output: Any = session.run(None, {entry.name: np.array(rows, type_).reshape(len(rows), -1)})[0]
        return np.asarray(output, np.float64).reshape(len(rows), -1)[:, -1]

    def score(strings: Sequence[tuple[Symbol, ...]]) -> Array:
        rows = [[*start, *(number[symbol] for symbol in string), *stop] for string in strings]
        values = np.empty(len(rows))
        by_length: dict[int, list[int]] = {}
        for index, row in enumerate(rows):
            by_length.setdefault(index if one_by_one else len(row), []).append(index)
        for indices in by_length.values():
            values[indices] = run([rows[index] for index in indices])
        return values

    return score
