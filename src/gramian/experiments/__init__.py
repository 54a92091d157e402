"""The papers' tables and figures as recipes that run on your data: TOML in; JSONL, CSV, plots and one HTML report out.

Names are imported when first used; ``__init__.pyi`` lists them.
"""

from gramian.lazy_names import attach_names

__getattr__, __dir__, __all__ = attach_names(__name__, __file__)
