"""Inside and outside features of tree nodes."""
