"""Before a release: are the sdist and the wheel whole, and do they work where nothing else is?

    python -m tools.release_check [--quick]

Builds both in a fresh environment, looks at their metadata, licences, contents and sizes, installs each in a fresh environment of every
Python that is found (python3.11 to python3.14), and runs the commands of the README and of a user's first hour there; ``--quick`` leaves
that out. Prints what was checked; exit code 1 if anything is wrong.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path

ROOT = Path(__file__).parents[1]
DATA = re.compile(r"\.(mrg|psd|conllu|conll|parquet|csv)(\.(gz|xz|bz2|zst))?$")
_BANK = 50_000  # bytes of a bank of trees that were written for gramian
LARGEST = {"whl": 120, "gz": 140}  # megabytes
PYTHONS = ("python3.11", "python3.12", "python3.13", "python3.14")
FIRST_HOUR = (
    "gramian",
    "gramian --version",
    'gramian parse "The cat sat on the mat."',
    "gramian models",
    "gramian models install fr",
    "gramian doctor",
    "gramian inspect train.mrg",
    "gramian split train.mrg -o parts",
    "gramian search train.mrg 'NP < (PP < of)'",
    "gramian convert train.mrg --to dependencies -o train.conllu",
    "gramian complexity train.mrg",
)


def run(*command: object, cwd: Path = ROOT) -> str:
    done = subprocess.run([str(word) for word in command], cwd=cwd, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def environment(folder: Path, python: str = sys.executable) -> Path:
    run(python, "-m", "venv", folder)
    return folder / "bin" / "python"


def is_usable(python: str) -> bool:
    """Return whether a Python starts; version managers have commands of versions that are not active."""
    found = shutil.which(python)
    return found is not None and not subprocess.run([found, "--version"], capture_output=True).returncode


def readme_commands() -> list[str]:
    """Return the commands of the README, without those that need a clone or install something."""
    text = (ROOT / "README.md").read_text("utf-8")
    blocks = "\n".join(re.findall(r"^```console\n(.*?)^```", text, re.MULTILINE | re.DOTALL))
    commands = re.findall(r"^\$ (.+?)(?:\s+# .*)?$", blocks, re.MULTILINE)
    return [command for command in commands if not command.startswith(("make ", "pip ", "git "))]


def faults_of_installation(package: Path, python: str, folder: Path) -> list[str]:
    """Install a package in a fresh environment, and run commands and the README's examples there; return what fails."""
    bin_folder = environment(folder / "env", python).parent
    run(bin_folder / "python", "-m", "pip", "install", "--quiet", f"{package}[train]")
    (folder / "examples").symlink_to(ROOT / "examples")
    shutil.copy(ROOT / "README.md", folder)
    paths = {**os.environ, "PATH": f"{bin_folder}:{os.environ['PATH']}"}
    faults = []
    for command in (*readme_commands(), *FIRST_HOUR, "python -m doctest -o ELLIPSIS README.md"):
        done = subprocess.run(
            ["bash", "-c", f"set -o pipefail; {command}"],
            cwd=folder,
            env=paths,
            capture_output=True,
            text=True,
        )
        if done.returncode:
            faults.append(f"{python}, {package.name}: {command}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return faults


def faults_of_contents(files: dict[str, int]) -> list[str]:
    """Return what should not be inside, of files with their bytes: data, but for small banks written for gramian, and leftovers."""
    odd = []
    for name, size in files.items():
        is_written = ("tests/" in name or "tools/english/" in name) and size < _BANK
        is_hidden = any(part.startswith(".") for part in name.split("/")) and not name.endswith(".gitignore")
        if (DATA.search(name) and not is_written) or name.endswith(".pyc") or is_hidden:
            odd.append(f"{name} should not be inside")
    return odd


def faults_of_metadata(text: str) -> list[str]:
    metadata = Parser().parsestr(text)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    found = [
        f"{name} is missing from the metadata"
        for name in (
            "Version",
            "Summary",
            "License-Expression",
            "Requires-Python",
            "License-File",
            "Description-Content-Type",
        )
        if not metadata[name]
    ]
    if set(metadata.get_all("Classifier", [])) != set(project["classifiers"]):
        found.append("the classifiers are not those of pyproject.toml")
    if set(metadata.get_all("Provides-Extra", [])) != set(project["optional-dependencies"]):
        found.append("the extras are not those of pyproject.toml")
    return found


def faults_of_citation(version: str) -> list[str]:
    cited = re.search(r"^version: (\S+)", (ROOT / "CITATION.cff").read_text("utf-8"), re.MULTILINE)
    changed = f"## {version.partition('.dev')[0]}" in (ROOT / "CHANGELOG.md").read_text("utf-8")
    return [
        *([] if cited and cited[1] == version else [f"CITATION.cff does not say version {version}"]),
        *([] if changed else [f"CHANGELOG.md has no section {version}"]),
    ]


def check(dist: Path) -> list[str]:
    """Return what is wrong with the wheel and the sdist of a folder."""
    [wheel], [sdist] = dist.glob("*.whl"), dist.glob("*.tar.gz")
    faults = []
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = next(name for name in names if name.endswith(".dist-info/METADATA"))
        text = archive.read(metadata).decode("utf-8")
        sizes = {one.filename: one.file_size for one in archive.infolist()}
        faults += faults_of_metadata(text) + faults_of_contents(sizes)
        wanted = (
            "licenses/LICENSE",
            "gramian/models/LICENSE.md",
            "gramian/py.typed",
            "gramian/web/static/index.html",
        )
        for name in (*wanted, "gramian/trees/labels.glossary"):
            if not any(one.endswith(name) for one in names):
                faults.append(f"the wheel lacks {name}")
    with tarfile.open(sdist) as archive:
        names = archive.getnames()
        faults += faults_of_contents({one.name: one.size for one in archive.getmembers()})
        faults += [
            f"the sdist lacks {name}"
            for name in ("LICENSE", "README.md", "CHANGELOG.md", "CITATION.cff", "pyproject.toml")
            if not any(one.count("/") == 1 and one.endswith(f"/{name}") for one in names)
        ]
    for file in (wheel, sdist):
        size = file.stat().st_size / 1e6
        print(f"{file.name}: {size:.1f} MB")
        if size > LARGEST[file.name.rpartition(".")[2]]:
            faults.append(f"{file.name} is larger than {LARGEST[file.name.rpartition('.')[2]]} MB")
    return faults + faults_of_citation(str(Parser().parsestr(text)["Version"]))


def main() -> int:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--quick", action="store_true", help="install nothing")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        builder = environment(folder / "builder")
        run(builder, "-m", "pip", "install", "--quiet", "build")
        run(builder, "-m", "build", "--outdir", folder / "dist", ROOT)
        faults = check(folder / "dist")
        if not chosen.quick:
            pythons = [python for python in PYTHONS if is_usable(python)]
            for python in pythons:
                for package in sorted((folder / "dist").iterdir()):
                    place = folder / f"{python}-{package.suffix}"
                    place.mkdir()
                    faults += faults_of_installation(package, python, place)
                    print(f"tried {package.name} with {python}", flush=True)
            print(f"not found: {', '.join(sorted(set(PYTHONS) - set(pythons))) or 'none'}")
    for fault in faults:
        print(f"wrong: {fault}")
    print("ready for a release" if not faults else f"{len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
