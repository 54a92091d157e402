"""Inside features phi and outside features psi of tree nodes, as sparse matrices."""

from gramian.features.matrices import Features, feature_matrix
from gramian.features.templates import INSIDE, OUTSIDE, SETS, NodeView, register_template

__all__ = ["INSIDE", "OUTSIDE", "SETS", "Features", "NodeView", "feature_matrix", "register_template"]
