"""gramian: learn grammars and automata by spectral methods, and parse with them.

Names are imported when first used, so that ``import gramian`` stays cheap; ``__init__.pyi`` lists them.
"""

from __future__ import annotations

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
