"""Builds the English model that comes with the package from the data folder, step by step.

    python -m tools.english DATA -o english.grammar [--work FOLDER] [--device cuda] [--jobs 2]

DATA holds `craft`, `gum`, `ud-en-ewt` and `amalgum`. What a step makes lies in the work folder, by default beside the output; a step whose
file is there is not done again, so that the nets can be learnt where there is a GPU (`--only`) and the rest elsewhere. The same files,
version and device give the same bytes.
"""

import argparse
import logging
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tools.english import steps

STEPS: dict[str, Callable[[steps.Build], None]] = {
    "trees": steps.write_trees,
    "vectors": steps.write_vectors,
    "teacher-grammars": steps.learn_teacher,
    "teacher-net": steps.learn_teacher_net,
    "text": steps.choose_text,
    "silver": steps.parse_text,
    "grammar": steps.learn_grammar,
    "net": steps.learn_net,
    "model": steps.put_together,
}


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("data", type=Path)
    options.add_argument("-o", "--output", type=Path, default=Path("english.grammar"))
    options.add_argument("--work", type=Path)
    options.add_argument("--only", choices=STEPS, action="append", help="steps to do, instead of all")
    options.add_argument("--device", default="auto", help="of the nets: auto, cpu, cuda")
    options.add_argument("--jobs", type=int, default=2)
    given = options.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    work = given.work or given.output.with_name(given.output.name + ".work")
    work.mkdir(parents=True, exist_ok=True)
    build = steps.Build(given.data, work, given.output, given.device, given.jobs)
    for name in given.only or STEPS:
        began = time.perf_counter()
        if build.is_done(name):
            print(f"{name}: kept from before", file=sys.stderr)
            continue
        STEPS[name](build)
        print(f"{name}: {time.perf_counter() - began:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
