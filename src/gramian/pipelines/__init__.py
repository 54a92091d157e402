"""Corpora of any size: inputs cut into shards, each parsed once, wherever there is a worker; what is done is told by manifests."""
