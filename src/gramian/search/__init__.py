"""Patterns over trees in the notation of tgrep2 and Tregex, and their search in treebanks and parsed corpora."""
