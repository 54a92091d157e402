"""Are the scores that the pages tell still true? Run again what printed them, and compare within a tolerance.

    python -m benchmarks.documented DATA [WORD ...]

DATA holds the treebanks, a folder each (gum/dev.mrg, craft/train.mrg, ...). Runs whose files are not there are left out, and, with WORDs,
those whose command contains none of them. Prints one JSON object; the exit code is 1 if a score lies further off than
``documented.toml`` allows.
"""

import argparse
import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import machine

HERE = Path(__file__).parent
PAGES = {
    "b": "docs/results/benchmarks.md",
    "c": "docs/results/comparison.md",
    "m": "docs/reference/models.md",
    "r": "README.md",
}


class Score(NamedTuple):
    """A score that pages tell."""

    at: str  # where a benchmark's JSON has it
    value: float
    pages: tuple[str, ...]


class Run(NamedTuple):
    """A benchmark, and the scores that it prints."""

    command: tuple[str, ...]
    within: float
    scores: tuple[Score, ...]

    def files(self, data: Path) -> list[Path]:
        """Return the files that it reads."""
        return [data / word for word in self.command if word.endswith((".mrg", ".conllu"))]

    def found(self, data: Path) -> dict[str, Any]:
        """Run it, and return what it prints."""
        arguments = [str(data / word) if word == "." or "/" in word else word for word in self.command[1:]]
        command = [sys.executable, "-m", f"benchmarks.{self.command[0]}", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=HERE.parent)
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer


def runs() -> list[Run]:
    """Read what is documented."""
    text = tomllib.loads((HERE / "documented.toml").read_text("utf-8"))
    return [
        Run(
            tuple(run["command"].split()),
            run["within"],
            tuple(
                Score(at, value, tuple(PAGES[page] for page in pages)) for at, value, pages in run["scores"]
            ),
        )
        for run in text["run"]
    ]


def value_at(answer: Any, place: str) -> float:
    """Return the number at a place of nested names."""
    for name in place.split(" / "):
        answer = answer[name]
    return float(answer)


def main() -> int:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("data", type=Path)
    options.add_argument("words", nargs="*")
    given = options.parse_args()
    compared, left_out, off = [], [], 0
    for run in runs():
        command = " ".join(run.command)
        if given.words and not any(word in command for word in given.words):
            continue
        if not all(path.exists() for path in run.files(given.data)):
            left_out.append(command)
            continue
        print(f"{command} ...", file=sys.stderr, flush=True)
        answer = run.found(given.data.resolve())
        for score in run.scores:
            measured = value_at(answer, score.at)
            is_off = abs(measured - score.value) > run.within
            off += is_off
            print(
                f"  {score.at}: documented {score.value:g}, measured {measured:g}",
                file=sys.stderr,
                flush=True,
            )
            row = {"command": command, "at": score.at, "documented": score.value, "measured": measured}
            compared.append({**row, "within": run.within, "fine": not is_off})
    told = {
        "benchmark": "documented",
        "off": off,
        "scores": compared,
        "left out": left_out,
        **machine.about(),
    }
    print(json.dumps(told, indent=1))
    return 1 if off else 0


if __name__ == "__main__":
    sys.exit(main())
