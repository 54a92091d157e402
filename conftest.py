"""Modules that import torch, transformers or Triton: their examples are not collected where these are not installed."""

import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path

SOURCE = Path(__file__).parent / "src" / "gramian"
OPTIONAL = [package for package in ("torch", "transformers", "triton") if find_spec(package) is None]


@cache
def needs_missing_package(path: Path) -> bool:
    """Whether a module, or a module of gramian that it imports at its top level, imports a package that is not installed."""
    text = path.read_text(encoding="utf-8")
    if re.search(rf"^(?:try:\n    )?(?:import|from) (?:{'|'.join(OPTIONAL)})\b", text, re.MULTILINE):
        return True
    imported = re.findall(r"^from gramian\.([\w.]+) import", text, re.MULTILINE)
    return any(
        needs_missing_package(module)
        for module in (SOURCE / f"{name.replace('.', '/')}.py" for name in imported)
        if module.is_file()
    )


collect_ignore = [str(path) for path in SOURCE.rglob("*.py") if OPTIONAL and needs_missing_package(path)]
