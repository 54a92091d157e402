"""gramian: learn grammars and automata by spectral methods, and parse with them.

Names are imported when first used, so that ``import gramian`` stays cheap; ``__init__.pyi`` lists them.
"""

from gramian.lazy_names import attach_names

__version__ = "0.2.0.dev0"

__getattr__, __dir__, __all__ = attach_names(__name__, __file__)
