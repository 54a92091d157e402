"""Lets these tests draw trees as those of ``gramian.trees`` do."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "trees"))
