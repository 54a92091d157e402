"""What a wheel is for: any machine, or, with compiled kernels in it, this Python and this kind of machine."""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class WheelTag(BuildHookInterface):  # type: ignore[misc]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "standard" and any(Path(self.root, "src/gramian/kernels/compiled").rglob("*.kernel")):
            build_data.update(pure_python=False, infer_tag=True)
