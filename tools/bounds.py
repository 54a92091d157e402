"""The tests with the lowest versions that pyproject.toml allows, or with the newest there are.

    python -m tools.bounds lowest|newest [--folder FOLDER] [PYTEST ARGUMENTS ...]

Makes a virtual environment in a temporary folder (or in FOLDER, which is kept), installs gramian with all extras, and runs the
tests there. ``lowest`` pins every dependency of the package itself to its lower bound; tools of development are the newest either
way. Prints one JSON object: the versions, and how the tests ended.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
_BOUND = re.compile(r"([A-Za-z0-9_.-]+)(?:\[[^\]]*\])?>=([0-9.]+)")


def lower_bounds() -> dict[str, str]:
    """Return the least version of every dependency of the package and its extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = [
        *project["dependencies"],
        *(one for extra in project["optional-dependencies"].values() for one in extra),
    ]
    return {match[1]: match[2] for one in named if (match := _BOUND.match(one))}


def _plain(name: str) -> str:
    """Return the name of a package as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def install(folder: Path, lowest: bool) -> Path:
    """Make the environment; return its Python."""
    venv.create(folder, with_pip=True, clear=True)
    python = folder / "bin" / "python"
    pins = folder / "pins.txt"
    pins.write_text(
        "".join(f"{name}=={version}\n" for name, version in lower_bounds().items()) if lowest else ""
    )
    install = [str(python), "-m", "pip", "install", "--quiet", "--upgrade"]
    subprocess.run([*install, "pip"], check=True)
    subprocess.run(
        [*install, "--constraint", str(pins), "--group", "dev", "--editable", "."], check=True, cwd=ROOT
    )
    return python


def main() -> int:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("which", choices=("lowest", "newest"))
    options.add_argument("--folder", type=Path, help="keep the environment here")
    chosen, arguments = options.parse_known_args()
    with tempfile.TemporaryDirectory() as temporary:
        python = install(chosen.folder or Path(temporary) / "environment", chosen.which == "lowest")
        tested = subprocess.run(
            [str(python), "-m", "pytest", *arguments], cwd=ROOT, stdout=subprocess.PIPE, text=True
        )
        listed = subprocess.run(
            [str(python), "-m", "pip", "list", "--format", "json"],
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
    versions = {_plain(one["name"]): one["version"] for one in json.loads(listed.stdout)}
    lines = tested.stdout.strip().splitlines()
    ends = [line for line in lines if re.search(r"passed|failed|%\]", line)]
    print("\n".join(line for line in lines if line.startswith(("FAILED", "ERROR"))), file=sys.stderr)
    print(
        json.dumps(
            {
                "which": chosen.which,
                "python": sys.version.split()[0],
                "versions": {name: versions.get(_plain(name)) for name in lower_bounds()},
                "tests": ends[-1] if ends else "none",
                "passed": tested.returncode == 0,
            }
        )
    )
    return tested.returncode


if __name__ == "__main__":
    sys.exit(main())
