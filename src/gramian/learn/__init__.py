"""Learners: corpus arrays in, grammar out."""
