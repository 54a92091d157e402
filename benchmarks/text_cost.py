"""What learning from text costs as there is more of it: processor seconds, and how memory grows.

python -m benchmarks.text_cost TREES TEACHER TEXT [--sizes 1000 4000] [--in-memory 1000] [--known words]

One grammar learns from the trees and from so many sentences of the text (tokens, or CoNLL-U). Every size runs in a process of its
own, after a warm-up. ``--in-memory`` is how many silver trees are clustered, 20,000 otherwise: beyond it memory should hardly grow.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path

from benchmarks import machine
from gramian.training import TrainingData, TrainingRun, TrainingSettings, training_data
from gramian.training.members import TaskRunner
from gramian.training.selftraining.raw_text import kind_of
from gramian.training.selftraining.teacher import with_silver


def learn_once(options: argparse.Namespace) -> dict[str, object]:
    training_data.IN_MEMORY = options.in_memory
    settings = TrainingSettings.of(
        {"silver.teacher": options.teacher, "silver.constraints": options.known},
        ensemble_size=1,
        text=options.text,
    )
    data = TrainingData.read(options.trees, settings)
    TrainingRun(data, TrainingSettings.of(ensemble_size=1, max_iter=1)).run()  # loads compiled kernels
    idle = machine.peak_megabytes()
    began = time.process_time()
    taught = with_silver(data, settings, TaskRunner(data))
    parsed = time.process_time()
    assert taught.silver is not None
    model = TrainingRun(taught, TrainingSettings.of(ensemble_size=1)).run()
    return {
        "silver trees": len(taught.silver),
        "bytes a silver tree": round(sum(map(len, taught.silver.shards)) / len(taught.silver)),
        "cpu seconds of parsing": round(parsed - began, 1),
        "cpu seconds of learning": round(time.process_time() - parsed, 1),
        "peak megabytes": round(machine.peak_megabytes()),
        "megabytes after warm-up": round(idle),
        "words of the lexicon": len(model.grammar.lexicon.words),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("trees")
    parser.add_argument("teacher")
    parser.add_argument("text")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 4000])
    parser.add_argument("--in-memory", type=int, default=1000)
    parser.add_argument("--known", default="words", choices=["all", "tags", "words"])
    parser.add_argument("--once", action="store_true", help="one size, here: all of the text")
    options = parser.parse_args()
    if options.once:
        print(json.dumps(learn_once(options)))
        return
    rows = []
    is_conllu = kind_of(options.text) == "conllu"
    with tempfile.TemporaryDirectory() as folder, open(options.text, encoding="utf-8") as text:
        sentences = text.read().split("\n\n") if is_conllu else text.read().split("\n")
        for size in options.sizes:
            few = Path(folder) / f"{size}{'.conllu' if is_conllu else '.tok'}"
            end = "\n\n" if is_conllu else "\n"
            few.write_text("".join(one + end for one in islice(sentences, size)), encoding="utf-8")
            command = [
                sys.executable,
                "-m",
                "benchmarks.text_cost",
                options.trees,
                options.teacher,
                str(few),
                "--once",
            ]
            command += ["--in-memory", str(options.in_memory), "--known", options.known]
            found = subprocess.run(command, capture_output=True, text=True, check=True)
            rows.append({"sentences": size, **json.loads(found.stdout.splitlines()[-1])})
            print(rows[-1], file=sys.stderr, flush=True)
    least, most = rows[0], rows[-1]
    more = int(most["sentences"]) - int(least["sentences"])

    def growth(name: str) -> float:
        return (float(most[name]) - float(least[name])) / max(more, 1) * 100_000

    answer = {
        "sizes": rows,
        "cpu seconds for 100,000 more sentences": {
            name: round(growth(f"cpu seconds of {name}")) for name in ("parsing", "learning")
        },
        "ratio of sentences": round(int(most["sentences"]) / int(least["sentences"]), 2),
        "ratio of memory": round(float(most["peak megabytes"]) / float(least["peak megabytes"]), 3),
    }
    print(json.dumps(answer | machine.about(), indent=2))


if __name__ == "__main__":
    main()
