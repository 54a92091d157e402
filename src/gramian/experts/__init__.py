"""Span scorers that are combined with grammars (span CRF, neural net), and the reranker of k-best trees.

Names are imported when first used; ``__init__.pyi`` lists them.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
