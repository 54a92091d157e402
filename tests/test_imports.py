"""Who may import whom, and what stays unloaded until it is needed."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "gramian"

# Each package and the packages it may import. Everything may import `errors`; nothing imports cli, web, interop or experiments.
BASE = {
    "errors",
    "escaping",
    "interruption",
    "io",
    "kernels",
    "lazy_names",
    "progress",
    "settings",
    "system",
    "threads",
    "value_types",
}
GRAMMARS = BASE | {"trees", "treebank", "grammar", "chart"}
MAY_IMPORT = {
    "errors": {"escaping"},
    "escaping": set(),
    "base": {"errors", "io", "progress", "system", "value_types"},
    "settings": {"errors", "value_types"},
    "value_types": {"errors"},
    "interruption": set(),
    "kernels": {"system"},
    "lazy_names": {"errors"},
    "progress": set(),
    "system": set(),
    "threads": {"errors"},
    "torch_device": {"errors"},
    "io": {"errors", "escaping", "system"},
    "trees": BASE,
    "treebank": BASE | {"base", "trees"},
    "text": BASE | {"trees", "treebank"},
    "evaluate": BASE | {"trees"},
    "grammar": BASE | {"trees", "treebank"},
    "chart": BASE | {"trees", "treebank", "grammar"},
    "learn": GRAMMARS | {"base", "chart.gpu", "torch_device"},
    "loglinear": BASE | {"treebank"},
    "neural": GRAMMARS | {"base", "evaluate", "torch_device"},
    "experts": GRAMMARS | {"base", "learn", "evaluate", "loglinear", "neural"},
    "chart.gpu": GRAMMARS | {"neural", "torch_device"},
    "parsing": GRAMMARS | {"chart.gpu", "torch_device", "text", "experts", "neural", "evaluate"},
    "tasks": BASE,
    "training": GRAMMARS
    | {"base", "learn", "evaluate", "text", "experts", "neural", "parsing", "tasks", "torch_device"},
    "api": BASE | {"base", "parsing", "training"},
    "pipelines": GRAMMARS | {"parsing", "tasks", "text"},
    "search": GRAMMARS | {"parsing", "tasks", "pipelines"},
    "complexity": BASE | {"trees", "search"},
    "editing": BASE | {"trees", "search"},
    "annotate": GRAMMARS | {"evaluate", "parsing", "training"},
    "automata": BASE | {"base", "evaluate"},
    "dependency": BASE | {"base", "trees", "treebank", "text", "automata", "evaluate", "loglinear", "neural"},
}
ON_TOP = {"cli", "web", "interop", "experiments", "__main__", "__init__"}
HEAVY = (
    "numpy",
    "scipy",
    "numba",
    "sklearn",
    "torch",
    "nltk",
    "conllu",
    "safetensors",
    "rich",
    "pyarrow",
    "fsspec",
)


def package_of(module: str) -> str:
    """Return the entry of the table that a dotted module name belongs to; subpackages may have one of their own."""
    first, _, rest = module.partition(".")
    nested = f"{first}.{rest.partition('.')[0]}"
    return nested if nested in MAY_IMPORT else first


def imported(path: Path) -> set[tuple[str, int]]:
    """Packages of gramian that a file imports, wherever in the file, with the line."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module == "gramian":
            found |= {(alias.name, node.lineno) for alias in node.names if alias.name != "__version__"}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("gramian."):
            found.add((package_of(node.module.removeprefix("gramian.")), node.lineno))
        elif isinstance(node, ast.Import):
            found |= {
                (package_of(alias.name.removeprefix("gramian.")), node.lineno)
                for alias in node.names
                if alias.name.startswith("gramian.")
            }
    return found


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_go_one_way(path):
    own = package_of(".".join(path.relative_to(SOURCE).with_suffix("").parts))
    if own in ON_TOP:
        return
    assert own in MAY_IMPORT, f"say in {Path(__file__).name} what {own} may import"
    wrong = [
        f"line {line}: {other}"
        for other, line in imported(path)
        if other != own and other not in MAY_IMPORT[own]
    ]
    assert not wrong, f"{own} may not import these"


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE)))
def test_only_one_module_asks_which_system_it_runs_on(path):
    asking = r"\b(fcntl|msvcrt|resource\.getrusage|sys\.platform|os\.name|os\.get(e?uid|pgid)|O_NOFOLLOW)\b"
    if path.name != "system.py":
        assert re.findall(asking, path.read_text(encoding="utf-8")) == []


def test_the_table_has_no_circle():
    left = {name: set(others) for name, others in MAY_IMPORT.items()}
    while free := [name for name, others in left.items() if not others]:
        for name in free:
            del left[name]
        for others in left.values():
            others.difference_update(free)
    assert not left


@pytest.mark.parametrize(
    "code",
    ["import gramian", "import sys; sys.argv = ['gramian', '--help']; from gramian.cli import main; main()"],
)
def test_nothing_heavy_is_loaded_before_it_is_needed(code):
    watched = (
        f"import atexit, sys; atexit.register(lambda: print([m for m in {HEAVY!r} if m in sys.modules]))\n"
    )
    done = subprocess.run([sys.executable, "-c", watched + code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_command_loads_no_other_and_checks_nothing_that_is_not_given():
    code = (
        "import atexit, sys; from gramian.cli import main; sys.argv = ['gramian', 'models', '--json']\n"
        "others = ('gramian.cli.train', 'gramian.cli.dep', 'pydantic')\n"
        "atexit.register(lambda: print([name for name in others if name in sys.modules])); main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
