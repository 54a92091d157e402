"""The engine of log-linear models over hashed features: span CRF, tagger, reranker and arcs of dependency trees share it."""
