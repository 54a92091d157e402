"""Patterns over trees, in the manner of tgrep2 and Tregex: what they mean, and how millions of trees are searched for them."""
