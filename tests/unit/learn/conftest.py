"""Lets these tests use the toy grammars of the oracle tests."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "oracle"))
