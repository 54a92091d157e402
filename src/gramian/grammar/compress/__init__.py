"""Smaller grammars of almost the same probabilities: rules of low rank, trimmed cells, and what that costs at worst."""
