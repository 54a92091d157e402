"""Drawings of trees as SVG text."""

from __future__ import annotations

from gramian.trees.tree import Tree

__all__ = ["draw_svg"]


def draw_svg(tree: Tree) -> str:
    """Return a drawing of `tree`."""
    raise NotImplementedError
