"""A model of Indonesian for gramian."""
