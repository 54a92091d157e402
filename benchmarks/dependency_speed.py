"""Dependency parsing: sentences a second of one core and of two threads, and the kernel against the readable reference.

python -m benchmarks.dependency_speed TRAIN DEV [--states 10] [--epochs 1] [--threads 2]

"automata" is EM's grammar alone, "conditional" what ``gramian dep train`` makes (its speed does not depend on the passes).
Reading and writing apart; symbols in, trees with relations out. Processor time, but threads are measured in wall time.
"""

import argparse
import json
import time
from typing import Any

from benchmarks import machine
from gramian.dependency import DependencyParser, SHAGParser
from gramian.dependency import half_constituents as inference
from gramian.trees import Sentence, read_conllu

ARGUMENTS = ("train.conllu", "dev.conllu")


def speeds(
    parser: DependencyParser, sentences: list[Sentence], threads: int, repeats: int = 5
) -> dict[str, Any]:
    list(parser.parse_many(sentences[:5]))  # compiles

    def wall(count: int) -> float:
        best = float("inf")
        for _ in range(repeats):
            began = time.perf_counter()
            for _ in parser.parse_many(sentences, n_jobs=count):
                pass
            best = min(best, time.perf_counter() - began)
        return best

    seconds = machine.cpu_seconds(lambda: list(parser.parse_many(sentences)), repeats)
    one, several = wall(1), wall(threads)
    return {
        "sentences a cpu second": round(len(sentences) / seconds),
        f"{threads} threads, speed-up in wall time": round(one / several, 2),
        "states": parser.grammar.n_states,
    }


def charts(parser: DependencyParser, sentences: list[Sentence]) -> dict[str, Any]:
    encoded = [parser.grammar.encode(parser.symbols(sentence.tokens)) for sentence in sentences]
    kernel = machine.cpu_seconds(lambda: [inference.marginals(parser.grammar, row) for row in encoded], 5)
    return {"inside-outside, sentences a cpu second": round(len(encoded) / kernel)}


def main() -> None:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("train")
    arguments.add_argument("dev")
    arguments.add_argument("--states", type=int, default=10)
    arguments.add_argument("--epochs", type=int, default=1)
    arguments.add_argument("--threads", type=int, default=2)
    options = arguments.parse_args()
    train, dev = list(read_conllu(options.train)), list(read_conllu(options.dev))
    result: dict[str, Any] = {
        "benchmark": "dependency_speed", "sentences": len(dev), "words a sentence": round(sum(map(len, dev)) / len(dev), 1),
    }  # fmt: skip
    for method, name in (("em", "automata"), ("conditional", "conditional")):
        parser = SHAGParser(method, n_states=options.states, epochs=options.epochs).fit(train).model_
        result[name] = speeds(parser, dev, options.threads)
        if method == "em":
            result["charts"] = charts(parser, dev)
    print(
        json.dumps({**result, "peak megabytes": round(machine.peak_megabytes()), "machine": machine.about()})
    )


if __name__ == "__main__":
    main()
