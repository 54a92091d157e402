"""Log-linear models over hashed features: the span CRF, its tagger, the reranker, and the arcs of dependency trees.

Names are imported when first used; ``__init__.pyi`` lists them.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
