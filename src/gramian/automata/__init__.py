"""Weighted automata: learn them from strings by spectral methods, EM and sampling, and compute with them.

Names are imported when first used; ``__init__.pyi`` lists them.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
