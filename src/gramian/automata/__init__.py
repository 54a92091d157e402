"""Weighted automata: learn them from strings by spectral methods, EM and sampling, and compute with them.

Names are imported when first used, so that scoring strings does not wait for what only learning needs.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gramian.automata.baselines import NGram
    from gramian.automata.basis import Basis
    from gramian.automata.em import PNFAEM
    from gramian.automata.formats import read_strings
    from gramian.automata.hankel import HankelBlocks, hankel_blocks
    from gramian.automata.mixture import Mixture
    from gramian.automata.model import SequenceModel, load_sequence_model
    from gramian.automata.pdfa import PDFA
    from gramian.automata.sequences import Sequences
    from gramian.automata.spectral import SpectralWFA, extract_wfa
    from gramian.automata.wfa import WFA, DivergenceError

_HOME = {
    "NGram": "baselines",
    "Basis": "basis",
    "PNFAEM": "em",
    "read_strings": "formats",
    **dict.fromkeys(("HankelBlocks", "hankel_blocks"), "hankel"),
    "Mixture": "mixture",
    **dict.fromkeys(("SequenceModel", "load_sequence_model"), "model"),
    "PDFA": "pdfa",
    "Sequences": "sequences",
    **dict.fromkeys(("SpectralWFA", "extract_wfa"), "spectral"),
    **dict.fromkeys(("WFA", "DivergenceError"), "wfa"),
}

__all__ = [
    "PDFA",
    "PNFAEM",
    "WFA",
    "Basis",
    "DivergenceError",
    "HankelBlocks",
    "Mixture",
    "NGram",
    "SequenceModel",
    "Sequences",
    "SpectralWFA",
    "extract_wfa",
    "hankel_blocks",
    "load_sequence_model",
    "read_strings",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
