"""A treebank as arrays: reading, symbols, vocabulary and signatures.

Names are imported when first used: parsing needs the signatures of words, but not the compiled reader.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gramian.corpus.arrays import Shape, Treebank
    from gramian.corpus.productions import Productions
    from gramian.corpus.vocab import Vocabulary

_HOME = {"Productions": "productions", "Shape": "arrays", "Treebank": "arrays", "Vocabulary": "vocab"}

__all__ = ["Productions", "Shape", "Treebank", "Vocabulary"]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
