"""What training costs as the treebank grows: seconds and memory of every stage, and the exponent of growth.

python -m benchmarks.train_cost TREES [--sizes 2000 5000 10000 19000] [--method spectral-cluster] [--states 16]

Every size runs in a process of its own, reading included, after a warm-up that loads compiled kernels.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from benchmarks import machine
from gramian.trees import read_trees

ARGUMENTS = ("train.mrg",)


def train_once(path: str, method: str, states: int) -> dict[str, object]:
    from gramian import base
    from gramian.training import TrainingData, TrainingRun, TrainingSettings

    base.time = SimpleNamespace(perf_counter=time.process_time)  # type: ignore[assignment]  # stages by processor time

    settings = TrainingSettings.of(
        method=method, n_states=states, preset="penn", language="none", compress=False
    )
    with open(path, encoding="utf-8") as trees, tempfile.NamedTemporaryFile("w", suffix=".mrg") as few:
        few.writelines(islice(trees, 300))
        few.flush()
        TrainingRun(TrainingData.read(few.name, settings), settings).run()  # loads compiled kernels
    idle = machine.peak_megabytes()
    began, cpu = time.perf_counter(), time.process_time()
    data = TrainingData.read(path, settings)
    reading = time.process_time() - cpu
    run = TrainingRun(data, settings)
    run.run()
    wall, cpu = time.perf_counter() - began, time.process_time() - cpu
    bank = data.bank
    stages = {"reading": round(reading, 3), **run.costs["seconds"]}
    del stages["processor"], stages["all"]
    stages["lexicon and the rest"] = round(cpu - sum(stages.values()), 3)
    return {
        "trees": bank.n_trees, "nodes": len(bank.label), "cpu seconds by stage": stages, "wall seconds": round(wall, 2),
        "cpu seconds": round(cpu, 2), "peak megabytes": round(machine.peak_megabytes()), "megabytes after warm-up": round(idle),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("trees")
    parser.add_argument("--sizes", type=int, nargs="+", default=[2000, 5000, 10_000, 19_000])
    parser.add_argument(
        "--method",
        default="spectral-cluster",
        choices=["spectral-cluster", "spectral-em", "spectral-moments"],
    )
    parser.add_argument("--states", type=int, default=16)
    parser.add_argument("--once", action="store_true", help="one size, here: all trees of the file")
    options = parser.parse_args()
    if options.once:
        print(json.dumps(train_once(options.trees, options.method, options.states)))
        return
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        trees = [str(tree) for tree in read_trees(options.trees)]
        for size in options.sizes:
            if size > len(trees) and rows and rows[-1]["trees"] == len(trees):
                continue
            part = Path(folder) / f"{size}.mrg"
            part.write_text("\n".join(trees[:size]) + "\n", encoding="utf-8")
            command = [sys.executable, "-m", "benchmarks.train_cost", str(part), "--once"]
            command += ["--method", options.method, "--states", str(options.states)]
            rows.append(
                json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
            )
            print(f"{rows[-1]['trees']:,} trees: {rows[-1]['cpu seconds']} s", file=sys.stderr)
    exponent = None
    if len(rows) > 1:
        nodes, cpu = (np.log([row[name] for row in rows]) for name in ("nodes", "cpu seconds"))
        exponent = round(float(np.polyfit(nodes, cpu, 1)[0]), 3)
    result = {"benchmark": "train_cost", "method": options.method, "states": options.states, "sizes": rows}
    print(json.dumps({**result, "exponent of cpu seconds in nodes": exponent, "machine": machine.about()}))


if __name__ == "__main__":
    main()
