"""One public class name, and one module name, means one thing."""

import ast
from collections import defaultdict
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "gramian"
SAME_FOR_USERS = {"wfa"}  # the command and the experiment, which users call so


def duplicates(named: list[tuple[str, Path]]) -> dict[str, list[str]]:
    """Return names of several files, with the files."""
    files = defaultdict(list)
    for name, path in named:
        files[name].append(str(path.relative_to(SOURCE)))
    return {name: paths for name, paths in files.items() if len(paths) > 1}


def modules() -> list[Path]:
    return [path for path in sorted(SOURCE.rglob("*.py")) if path.stem != "__init__"]


def test_no_two_public_classes_have_the_same_name():
    classes = [
        (node.name, path)
        for path in modules()
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    ]
    assert len(classes) > 200
    assert not duplicates(classes)


def test_no_two_modules_have_the_same_name():
    assert not duplicates([(path.stem, path) for path in modules()]).keys() - SAME_FOR_USERS


def test_duplicates_are_found():
    assert duplicates([("A", SOURCE / "x.py"), ("B", SOURCE / "x.py"), ("A", SOURCE / "y.py")]) == {
        "A": ["x.py", "y.py"]
    }
