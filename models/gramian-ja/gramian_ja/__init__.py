"""A model of Japanese for gramian."""
