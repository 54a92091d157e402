"""A treebank as arrays."""
