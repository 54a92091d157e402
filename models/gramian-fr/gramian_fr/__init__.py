"""A model of French for gramian."""
