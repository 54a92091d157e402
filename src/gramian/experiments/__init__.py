"""The papers' tables and figures as recipes that run on your data: TOML in; JSONL, CSV, plots and one HTML report out.

Names are imported when first used; ``__init__.pyi`` lists them.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
