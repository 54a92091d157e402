"""The examples in docs/trees.md."""

from __future__ import annotations

import doctest
from pathlib import Path


def test_examples_of_the_page():
    page = Path(__file__).parents[3] / "docs" / "trees.md"
    result = doctest.testfile(str(page), module_relative=False, encoding="utf-8")
    assert result.attempted > 10
    assert result.failed == 0
