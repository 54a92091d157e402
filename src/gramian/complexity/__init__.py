"""Measures of syntactic complexity: counts of structures, depths of words, lengths of dependencies."""
