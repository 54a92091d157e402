"""Log-linear models over hashed features: the span CRF, its tagger, the reranker, and the arcs of dependency trees.

Names are imported when first used; ``__init__.pyi`` lists them.
"""

from gramian.lazy_names import attach_names

__getattr__, __dir__, __all__ = attach_names(__name__, __file__)
