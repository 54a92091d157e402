"""Span scorers that are combined with grammars (span CRF, neural net), and the reranker of k-best trees.

Names are imported when first used; ``__init__.pyi`` lists them.
"""

from gramian.lazy_names import attach_names

__getattr__, __dir__, __all__ = attach_names(__name__, __file__)
