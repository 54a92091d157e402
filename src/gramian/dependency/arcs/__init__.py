"""Log-linear models of single arcs: factors on the arcs of a grammar, and relations on the arcs of a tree."""
