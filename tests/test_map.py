"""The map in CONTRIBUTING and the walk in the docs name packages and files that exist, and leave no package out."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "gramian"
WALK = (ROOT / "docs" / "explanation" / "walk.md").read_text("utf-8")
MAP = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
NOT_PACKAGES = ("__init__", "__main__", "__pycache__")


def named(line: str) -> list[str]:
    return re.findall(r"`([\w/]+\.py)`", line)


def test_every_file_of_the_walk_is_there():
    files = named(WALK)
    assert len(files) > 24
    assert [name for name in files if not (SOURCE / name).is_file()] == []


@pytest.mark.parametrize("part", WALK.split("\n## ")[1:], ids=lambda part: part.split(":")[0])
def test_a_walk_has_at_most_nine_steps_and_each_names_its_file(part):
    steps = re.split(r"^\d+\. ", part, flags=re.MULTILINE)[1:]
    assert 1 < len(steps) <= 9
    assert all(named(step) for step in steps)


def test_the_map_shows_every_package_and_no_other():
    tree = MAP.partition("src/gramian/\n")[2].partition("    tests/")[0]
    shown = {line.split()[0] for line in tree.splitlines()}
    there = {f"{path.name}/" for path in SOURCE.iterdir() if path.is_dir() and path.name not in NOT_PACKAGES}
    there |= {path.name for path in SOURCE.glob("*.py") if path.stem not in NOT_PACKAGES}
    assert shown == there


def test_the_map_shows_every_other_folder_of_python():
    folders = {path.parent.name for path in ROOT.glob("[a-z]*/*.py")} - {"docs", "src"}
    assert all(re.search(rf"^    {folder}/ ", MAP, re.MULTILINE) for folder in folders)
