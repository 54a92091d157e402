"""Inference in one sentence."""
