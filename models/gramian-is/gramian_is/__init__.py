"""A model of Icelandic for gramian."""
