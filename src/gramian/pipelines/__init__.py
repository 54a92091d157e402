"""Corpora of any size: inputs cut into shards, each parsed once, wherever there is a worker; manifests list what is finished."""
