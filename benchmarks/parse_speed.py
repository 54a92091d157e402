"""Sentences a second of one core, where the time goes, and how near the core's arithmetic limit the fine pass comes.

python -m benchmarks.parse_speed MODEL DEV [--jobs 2] [--open] [--unpruned] [--berkeley JAR --berkeley-grammar GR]

Processor time; gold trees of DEV give the sentences and the F1. Multiply-adds of the fine pass, at most: two for every cell of each
rule tensor met in an item (inside and outside), three for every pair of states of an edge; of low-rank rules, their projections.
Threads are compared with as many processes, since cores that share caches or clock do not give as much together as each alone.
With --open all sentences are parsed with all cells of charts open, too, in turn with the others.
With --unpruned all sentences are parsed once more without a beam and with thresholds that no tree notices, for what pruning costs in F1.
With --berkeley the Berkeley parser reads the same sentences in the same run, the start of its virtual machine included.
"""

import argparse
import json
import multiprocessing
import resource
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from benchmarks import machine
from gramian.chart import batch_kernels, decode_kernels, fine_kernels
from gramian.chart.coarse_arrays import CoarseForest
from gramian.chart.decode import DECODERS
from gramian.chart.forest import Pruning
from gramian.chart.grammar_arrays import GrammarArrays
from gramian.evaluate import GoldBrackets
from gramian.experts.expert_part import LabelExpert
from gramian.parsing.parser import Parser, load
from gramian.parsing.pipeline import BatchResults
from gramian.parsing.words import WordTable
from gramian.trees import Tree, annotation_scheme, normalise, read_trees
from gramian.trees.tree import escape_word

ARGUMENTS = ("model.grammar", "dev.mrg")

UNPRUNED = Pruning(beam=0.0, item=1e-8, edge=1e-9, fine=0.0, guess=0.0, split=0.0, close=0.0)

# What is timed: the owner of a function, its name, and what the figure is called.
STAGES: tuple[tuple[Any, str, str], ...] = (
    (WordTable, "read", "lexicon"),
    (batch_kernels, "pruned_forests", "coarse"),
    (fine_kernels, "fine_forests", "fine"),
    (LabelExpert, "fill", "net"),
    (decode_kernels, "add_posteriors", "decode"),
    (decode_kernels, "recall_scores", "decode"),
    (decode_kernels, "best_derivations", "decode"),
    (BatchResults, "__init__", "trees"),
    (BatchResults, "result", "trees"),
)
# Stages of two parts, the first of which can be run alone.
PARTS = {"coarse": ("coarse", "two states"), "fine": ("fine inside", "fine outside")}


def first_part(stage: str, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return arguments with which a kernel runs only the first of its two passes."""
    if stage == "fine":
        return (*arguments[:-1], np.inf)  # below such a threshold nothing is worth the way down
    words, *rest, limits = arguments
    tags = words.tags._replace(score=words.tags.score.copy())  # which is overwritten
    return (words._replace(tags=tags), *rest, limits._replace(split=0.0))


@contextmanager
def stopwatch(spent: Counter[str]) -> Iterator[None]:
    """Add the processor time of the stages to `spent`, as long as this lasts, and what the fine pass has to do."""
    originals = [getattr(owner, name) for owner, name, _ in STAGES]

    def timed(function: Callable[..., Any], stage: str) -> Callable[..., Any]:
        def run(*arguments: Any, **options: Any) -> Any:
            alone, began = 0.0, time.thread_time()
            if stage in PARTS:
                part = first_part(stage, arguments)
                started = time.thread_time()
                function(*part)
                alone = time.thread_time() - started
            if stage == "fine":
                count(spent, arguments[0].forest, arguments[3])
            started = time.thread_time()
            spent["(counting)"] += started - began
            result = function(*arguments, **options)
            seconds = time.thread_time() - started
            if stage in PARTS:
                alone = min(alone, seconds)
                spent[PARTS[stage][0]] += alone
                spent[PARTS[stage][1]] += seconds - alone
            else:
                spent[stage] += seconds
            return result

        return run

    for (owner, name, stage), original in zip(STAGES, originals, strict=True):
        setattr(owner, name, timed(original, stage))
    try:
        yield
    finally:
        for (owner, name, _), original in zip(STAGES, originals, strict=True):
            setattr(owner, name, original)


def count(spent: Counter[str], forest: CoarseForest, grammar: GrammarArrays) -> None:
    """Add up items and edges, and the multiply-adds of the fine pass over forests."""
    spent["(items)"] += len(forest.item_symbol)
    spent["(edges)"] += len(forest.edge_left)
    if not len(forest.edge_left):
        return
    parent = np.repeat(np.arange(len(forest.item_symbol)), np.diff(forest.edge_first))
    states = grammar.n_states[forest.item_symbol].astype(np.float64)
    left, right, rule = forest.edge_left, forest.edge_right, forest.edge_rule
    is_binary = right >= 0
    rank = np.where(is_binary, grammar.rank[np.where(is_binary, rule, 0)], 0)
    right_states = np.where(is_binary, states[right], 1)
    change = np.diff(parent) | np.diff(rule) | np.diff(is_binary.astype(np.int32))
    first = np.concatenate([[True], change != 0])
    whole, low = rank == 0, rank > 0
    pairs = states[left] * right_states
    work = 2 * (states[parent] * pairs)[first & whole].sum() + 3 * pairs[whole & is_binary].sum()
    work += (
        2 * (rank * states[parent])[first & low].sum() + (rank * (3 + states[left] + right_states))[low].sum()
    )
    for child, place in ((left, 1), (right, 2)):  # projections are shared by the edges of a child
        matrix = grammar.factor_start[rule[low], place] if low.any() else np.zeros(0, np.int64)
        _, once = np.unique(np.stack([child[low], matrix]), axis=1, return_index=True)
        work += (rank * states[child])[low][once].sum()
    spent["(multiply-adds)"] += float(work)  # type: ignore[assignment]


def breakdown(parser: Parser, sentences: list[list[str]]) -> dict[str, Any]:
    """Time the stages, and count what the fine pass has to do."""
    spent: Counter[str] = Counter()
    with stopwatch(spent):
        began = time.thread_time()
        statuses = Counter(result.status for result in parser.parse_many(sentences))
        total = time.thread_time() - began - spent.pop("(counting)")
    items, edges, work = (spent.pop(name) for name in ("(items)", "(edges)", "(multiply-adds)"))
    spent["python"] = total - sum(spent.values())  # type: ignore[assignment]
    many = len(sentences)
    limit = machine.multiply_adds_per_second()
    return {
        "milliseconds a sentence": {name: round(1e3 * value / many, 3) for name, value in spent.items()},
        "share of all time": {name: round(value / total, 3) for name, value in spent.items()},
        "items": round(items / many), "edges": round(edges / many), "status": dict(statuses),
        "multiply-adds a sentence, fine pass": round(work / many),
        "multiply-adds a second, limit of one core": round(limit),
        "milliseconds a sentence at that limit, fine pass": round(1e3 * work / limit / many, 4),
        "share of the arithmetic limit, fine pass": round(work / (spent["fine inside"] + spent["fine outside"]) / limit, 3),
    }  # fmt: skip


def in_processes(parser: Parser, sentences: list[list[str]], jobs: int) -> float:
    """Return the wall time in which each of some processes parses all sentences: what the machine has to give."""
    context = multiprocessing.get_context("fork")
    together = context.Barrier(jobs + 1)

    def work() -> None:
        together.wait()
        for _ in parser.parse_many(sentences):
            pass
        together.wait()

    processes = [context.Process(target=work) for _ in range(jobs)]
    for process in processes:
        process.start()
    together.wait()
    started = time.perf_counter()
    together.wait()
    seconds = time.perf_counter() - started
    for process in processes:
        process.join()
    return seconds


def berkeley(jar: str, grammar: str, sentences: list[list[str]]) -> tuple[list[Tree | None], float]:
    """Parse with the Berkeley parser; return trees and processor time."""
    lines = "\n".join(" ".join(map(escape_word, words)) for words in sentences) + "\n"
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = ["java", "-Xmx2g", "-XX:+UseSerialGC", "-jar", jar, "-gr", grammar]
    done = subprocess.run(
        command, input=lines, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    trees = [
        Tree.parse(line) if line.strip() != "(())" else None
        for line in done.stdout.splitlines()
        if line.strip()
    ]
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return [None if tree is None else normalise(tree).tree for tree in trees], seconds


def main() -> None:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("model")
    arguments.add_argument("dev")
    arguments.add_argument("--limit", type=int, help="use only so many sentences")
    arguments.add_argument("--preset", default="penn")
    arguments.add_argument("--jobs", type=int, default=2)
    arguments.add_argument("--repeats", type=int, default=3, help="the least time of so many runs counts")
    arguments.add_argument("--decoder", default="max-rule-product", choices=DECODERS)
    arguments.add_argument(
        "--split", type=float, default=Pruning().split, help="threshold of the pass with two states"
    )
    arguments.add_argument("--open", action="store_true", help="parse with all cells open, too, in turn")
    arguments.add_argument("--unpruned", action="store_true")
    arguments.add_argument("--berkeley", metavar="JAR")
    arguments.add_argument("--berkeley-grammar", metavar="GR")
    options = arguments.parse_args()
    if bool(options.berkeley) != bool(options.berkeley_grammar):
        arguments.error("--berkeley and --berkeley-grammar go together")

    gold = [
        normalise(tree, annotation_scheme(options.preset).options).tree for tree in read_trees(options.dev)
    ]
    gold = [tree for tree in gold if not tree.is_empty][: options.limit]
    sentences = [list(tree.words) for tree in gold]
    parser = load(options.model, decoder=options.decoder, pruning=Pruning(split=options.split))
    parser.parse(sentences[0])  # compiles
    opened = load(options.model, decoder=options.decoder, pruning=Pruning(split=options.split, close=0.0))
    seconds = wall = threads_wall = processes_wall = open_seconds = float("inf")
    trees, threaded, open_trees = [], [], []
    for _ in range(options.repeats):
        began, started = time.process_time(), time.perf_counter()
        trees = [result.tree for result in parser.parse_many(sentences)]
        seconds, wall = min(seconds, time.process_time() - began), min(wall, time.perf_counter() - started)
        if options.open:
            began = time.process_time()
            open_trees = [result.tree for result in opened.parse_many(sentences)]
            open_seconds = min(open_seconds, time.process_time() - began)
        started = time.perf_counter()
        threaded = [result.tree for result in parser.parse_many(sentences, n_jobs=options.jobs)]
        threads_wall = min(threads_wall, time.perf_counter() - started)
        processes_wall = min(processes_wall, in_processes(parser, sentences, options.jobs))
    scorer = GoldBrackets(gold)
    score = scorer.score(trees)
    result: dict[str, Any] = {
        "benchmark": "parse_speed", "model": options.model, "decoder": options.decoder, "sentences": len(gold),
        "words a sentence": round(sum(map(len, sentences)) / len(gold), 1),
        "sentences a cpu second": round(len(gold) / seconds, 1), "sentences a second of wall time": round(len(gold) / wall, 1),
        "f1": round(score.f1, 2), "f1_gold_tags": round(score.f1_gold_tags, 2), "signature": score.signature("f1_gold_tags"),
        f"{options.jobs} threads": {
            "sentences a second of wall time": round(len(gold) / threads_wall, 1), "speed-up": round(wall / threads_wall, 2),
            "speed-up of as many processes": round(options.jobs * wall / processes_wall, 2),
            "same trees": threaded == trees,
        },
        **breakdown(parser, sentences),
    }  # fmt: skip
    if options.open:
        others = scorer.score(open_trees)
        result["all cells open"] = {
            "sentences a cpu second": round(len(gold) / open_seconds, 1), "f1": round(others.f1, 2),
            "f1_gold_tags": round(others.f1_gold_tags, 2), "ratio of speeds": round(open_seconds / seconds, 2),
        }  # fmt: skip
    if options.unpruned:
        exact = load(options.model, decoder=options.decoder, pruning=UNPRUNED)
        whole = scorer.score([each.tree for each in exact.parse_many(sentences, n_jobs=options.jobs)])
        result["unpruned"] = {
            "f1": round(whole.f1, 2), "f1_gold_tags": round(whole.f1_gold_tags, 2),
            "lost by pruning": round(whole.f1 - score.f1, 2), "lost, gold tags": round(whole.f1_gold_tags - score.f1_gold_tags, 2),
        }  # fmt: skip
    if options.berkeley:
        theirs, their_seconds = berkeley(options.berkeley, options.berkeley_grammar, sentences)
        other = scorer.score(theirs)
        result["berkeley"] = {
            "sentences a cpu second": round(len(gold) / their_seconds, 1), "f1": round(other.f1, 2),
            "f1_gold_tags": round(other.f1_gold_tags, 2), "ratio of speeds": round(their_seconds / seconds, 1),
        }  # fmt: skip
    print(
        json.dumps({**result, "peak megabytes": round(machine.peak_megabytes()), "machine": machine.about()})
    )


if __name__ == "__main__":
    main()
