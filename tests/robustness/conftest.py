"""The generators of tools/fuzz and the made-up English of examples/ serve the tests here, too."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "examples")]
