"""Sentences a second on a device and on one core, in one run: by length and batch, where the time goes, how near the device's limits.

python -m benchmarks.gpu MODEL DEV [--device cuda] [--trees TRAIN --states 32] [--longest 40] [--copies 4]

DEV's gold trees give the sentences. Three models are timed: the first grammar of MODEL alone, all its grammars, and these with its neural
expert, as far as it has them; tokens go in and trees come out. Cold is the first pass over DEV, when words are new; warm the best of
three passes over as many copies of DEV. The CPU path parses a part of the same sentences. With --trees, steps of EM are timed too.
Limits of the device are measured: a large copy, and a large product of single precision as the charts use it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from benchmarks import machine
from gramian.corpus import Treebank
from gramian.device import batch_parser, torch_backend
from gramian.device.pause import finished
from gramian.evaluate import GoldBrackets
from gramian.learn import Observations
from gramian.learn.counting import random_counts
from gramian.learn.learner import Maximisation
from gramian.learn.smoothing import Smoothing
from gramian.learn.states import allocate_states
from gramian.learn.tables import Layout
from gramian.parsing.model import Model
from gramian.parsing.model_store import load_model
from gramian.parsing.parser import Parser
from gramian.torch_device import rough_products
from gramian.trees import normalise
from gramian.trees.brackets import trees_of
from gramian.trees.scheme import find_scheme

ARGUMENTS = ("model.grammar", "dev.mrg")

STAGES = (
    (torch_backend, "fill_chart", "charts without states"),
    (torch_backend, "likely_forest", "items and edges"),
    (torch_backend, "state_posteriors", "passes with states"),
    (batch_parser, "label_posteriors", "labels"),
    (batch_parser, "best_trees", "trees"),
    (batch_parser.NetLabels, "labels", "net"),
    (batch_parser.WordRows, "batch", "words"),
    (batch_parser.WordRows, "numbers", "word numbers"),
)


class Device:
    """A device whose limits and power can be measured."""

    def __init__(self, name: str) -> None:
        self.name, self.is_gpu = name, name.startswith("cuda")

    def wait(self) -> None:
        """Let all that was begun end."""
        if self.is_gpu:
            torch.cuda.synchronize()

    def seconds(self, work: Callable[[], Any], repeats: int = 3) -> float:
        """Return the least time of some runs, after one that does not count."""
        times = []
        for _ in range(repeats + 1):
            self.wait()
            began = time.perf_counter()
            work()
            self.wait()
            times.append(time.perf_counter() - began)
        return min(times[1:])

    def limits(self) -> dict[str, float]:
        """Return bytes and multiply-adds a second."""
        size = 1 << 29 if self.is_gpu else 1 << 24
        source = torch.rand(size // 4, device=self.name)
        target = torch.empty_like(source)
        copy = self.seconds(lambda: target.copy_(source))
        side = 8192 if self.is_gpu else 512
        one, other = torch.rand(2, side, side, device=self.name)
        with rough_products():
            product = self.seconds(lambda: one @ other)
        return {"bytes a second": 2 * size / copy, "multiply-adds a second": side**3 / product}

    @contextmanager
    def watched(self, watts: list[float]) -> Iterator[None]:
        """Note the power that is drawn as long as this lasts, if it can be read."""
        if not self.is_gpu:
            yield
            return
        command = ["nvidia-smi", "--query-gpu=power.draw", "--format=csv,noheader,nounits", "-lms", "100"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

        def read() -> None:
            for line in process.stdout or ():
                try:
                    watts.append(float(line))
                except ValueError:
                    return

        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        try:
            yield
        finally:
            process.terminate()
            process.wait()
            reader.join(timeout=1)


@contextmanager
def stopwatch(spent: Counter[str], device: Device) -> Iterator[None]:
    """Add the time of the stages to `spent`, each waited for."""
    originals = [getattr(owner, name) for owner, name, _ in STAGES]

    def timed(function: Callable[..., Any], stage: str) -> Callable[..., Any]:
        def run(*arguments: Any) -> Any:
            device.wait()
            began = time.perf_counter()
            result = function(*arguments)
            device.wait()
            spent[stage] += time.perf_counter() - began
            return result

        return run

    for (owner, name, stage), original in zip(STAGES, originals, strict=True):
        setattr(owner, name, timed(original, stage))
    try:
        yield
    finally:
        for (owner, name, _), original in zip(STAGES, originals, strict=True):
            setattr(owner, name, original)


def least_work(parser: Parser, lengths: list[int]) -> dict[str, float]:
    """Return multiply-adds and bytes of the dense charts of sentences, which every version must do and move."""
    adds = moved = 0.0
    for family in parser._on_device._whole._families:  # type: ignore[union-attr]
        coarse = family.coarse
        lefts, rights, phrases = len(coarse.lefts), len(coarse.rights), coarse.n_phrases
        for n in lengths:
            cells, splits = n * (n - 1) / 2, (n + 1) * n * (n - 1) / 6
            adds += 2 * cells * lefts * rights * phrases + 3 * splits * lefts * rights
            moved += 4 * 4 * cells * lefts * rights  # pairs are written and read, on the way up and down
    return {"multiply-adds": adds, "bytes": moved}


def timed_model(
    model: Model, gold: list[Any], device: Device, copies: int, batches: list[int], limits: dict[str, float]
) -> dict[str, Any]:
    """Time a model on the device and on one core."""
    sentences = [list(tree.words) for tree in gold]
    parser = Parser(model, device=device.name, max_seconds=None)
    list(parser.parse_many(sentences[:64]))  # whatever is loaded and compiled once
    parser = Parser(model, device=device.name, max_seconds=None)
    began = time.perf_counter()
    results = list(parser.parse_many(sentences))
    cold = time.perf_counter() - began
    watts: list[float] = []
    with device.watched(watts):
        warm = device.seconds(lambda: list(parser.parse_many(sentences * copies)))
    spent: Counter[str] = Counter()
    with stopwatch(spent, device):
        list(parser.parse_many(sentences))
    whole = parser._on_device._whole  # type: ignore[union-attr]
    by_length = {}
    for low, high in ((1, 10), (11, 20), (21, 30), (31, 40)):
        fitting = [words for words in sentences if low <= len(words) <= high]
        if not fitting:
            continue
        rows = {}
        for size in batches:
            batch = sorted((fitting * (1 + size // len(fitting)))[:size], key=len, reverse=True)
            if size <= whole.sentences_at_once(high):
                rows[size] = round(
                    size
                    / device.seconds(lambda batch=batch: finished(whole.parse(batch, whole.read(batch)))),
                    1,
                )  # type: ignore[misc]
        by_length[f"{low}-{high} words"] = rows
    work = least_work(parser, [len(words) for words in sentences * copies])
    core = Parser(model, max_seconds=None)
    part = sentences[: max(1, len(sentences) // 8)]
    core.parse(part[0])
    began = time.perf_counter()
    core_results = list(core.parse_many(part))
    core_seconds = time.perf_counter() - began
    scorer = GoldBrackets(gold[: len(part)])
    both = [(one, other) for one, other in zip(core_results, results, strict=False) if one.tree == other.tree]
    apart = np.concatenate(
        [np.abs(np.subtract(one.confidences, other.confidences)) for one, other in both] or [np.zeros(1)]
    )
    exact = Parser(model, max_seconds=None, pruning=replace(core.pruning, beam=0.0, guess=0.0))
    few = part[: max(1, len(part) // 4)]
    unpruned = [
        np.abs(np.subtract(one.confidences, other.confidences))
        for one, other in zip(exact.parse_many(few), results, strict=False)
        if one.tree == other.tree
    ]
    count = len(sentences)
    return {
        "sentences a second, warm": round(copies * count / warm, 1), "sentences a second, cold": round(count / cold, 1),
        "sentences a second, one core": round(len(part) / core_seconds, 1),
        "times one core": round(copies * count / warm * core_seconds / len(part), 1),
        "f1, core and device": [round(scorer.score([one.tree for one in rs[: len(part)]]).f1, 2) for rs in (core_results, results)],
        "f1 of all, device": round(GoldBrackets(gold).score([one.tree for one in results]).f1, 2),
        "same trees": round(len(both) / len(part), 4),
        "confidences apart: mean, 99 of 100, most": [float(f"{one:.3g}") for one in (apart.mean(), *np.quantile(apart, [0.99, 1]))],
        "the same, from the core without a beam": [float(f"{one:.3g}") for one in _spread(unpruned)],
        "same trees again": [one.tree for one in parser.parse_many(sentences)] == [one.tree for one in results],
        "status": dict(Counter(one.status for one in results)),
        "milliseconds a sentence": {name: round(1e3 * seconds / count, 4) for name, seconds in spent.items()},
        "sentences a second on the device alone, by batch": by_length,
        "share of the arithmetic limit": round(work["multiply-adds"] / warm / limits["multiply-adds a second"], 4),
        "share of the bandwidth limit": round(work["bytes"] / warm / limits["bytes a second"], 4),
        "watts": round(float(np.mean(watts)), 1) if watts else None,
    }  # fmt: skip


def _spread(parts: list[Any]) -> tuple[float, float, float]:
    values = np.concatenate(parts or [np.zeros(1)])
    return float(values.mean()), float(np.quantile(values, 0.99)), float(values.max())


def timed_em(path: str, states: int, device: Device, limit: int | None, core: bool) -> dict[str, Any]:
    """Time a step of EM on the device and on one core."""
    bank = Treebank.read(path)
    if limit:
        bank = bank.subset(np.arange(min(limit, bank.n_trees)))
    seen = Observations(bank)
    layout = Layout.of(seen.productions, allocate_states(seen.label_count, states))
    start = random_counts(seen, layout, 0)
    rows: dict[str, Any] = {
        "trees": bank.n_trees,
        "states": states,
        "cells of rules": int(layout.binary_start[-1]),
    }
    totals, seconds = {}, {}
    for name, where, steps in (("device", device.name, 4), ("core", None, 2 if core else 0)):
        counts, own = start, []
        model = Maximisation(seen, Smoothing(), device=where)
        for _ in range(steps):
            began = time.perf_counter()
            tables = model.tables(counts)
            middle = time.perf_counter()
            expectation = seen.expect(tables, 1, where)
            counts = expectation.counts
            own.append((middle - began, time.perf_counter() - middle, expectation.total))
        if own:
            m_step, e_step = (min(row[place] for row in own[1:]) for place in (0, 1))
            rows[name] = {"M-step, seconds": round(m_step, 4), "E-step, seconds": round(e_step, 4)}
            totals[name], seconds[name] = [row[2] for row in own], m_step + e_step
    if core:
        rows["times one core"] = round(seconds["core"] / seconds["device"], 1)
        rows["log-likelihoods apart, relative"] = max(
            abs(one / other - 1) for one, other in zip(totals["core"], totals["device"], strict=False)
        )
    return rows


def main() -> None:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("model")
    arguments.add_argument("dev")
    arguments.add_argument("--device", default="cuda")
    arguments.add_argument("--trees", help="trees for steps of EM")
    arguments.add_argument("--states", type=int, default=32)
    arguments.add_argument("--limit", type=int, help="use only so many sentences and trees")
    arguments.add_argument("--longest", type=int, default=40)
    arguments.add_argument("--copies", type=int, default=4)
    arguments.add_argument("--batches", type=int, nargs="+", default=[64, 256, 1024])
    options = arguments.parse_args()
    device = Device(options.device)
    _, scheme, found = find_scheme(trees_of(options.dev), "auto")
    gold = [tree for tree in (normalise(one, scheme).tree for one in found) if not tree.is_empty]
    gold = [tree for tree in gold if len(tree.words) <= options.longest][: options.limit]
    model = load_model(options.model)
    variants = {"one grammar": Model(model.grammar)}
    if model.others:
        variants["all grammars"] = Model(model.grammar, others=model.others)
    if model.neural is not None:
        net = {"neural": model.neural, "neural_weight": model.neural_weight}
        variants["one grammar and the net"] = Model(model.grammar, **net)
        variants["all grammars and the net"] = Model(model.grammar, others=model.others, **net)
    limits = device.limits()
    result: dict[str, Any] = {
        "benchmark": "gpu", "model": options.model, "sentences": len(gold),
        "words a sentence": round(sum(len(tree.words) for tree in gold) / len(gold), 1),
        "device": torch.cuda.get_device_name() if device.is_gpu else "cpu",
        "limits": {name: f"{value:.3g}" for name, value in limits.items()},
    }  # fmt: skip
    for name, variant in variants.items():
        result[name] = timed_model(variant, gold, device, options.copies, options.batches, limits)
        print(json.dumps({name: result[name]}), flush=True)
    if options.trees:
        result["EM"] = timed_em(options.trees, options.states, device, options.limit, True)
    print(json.dumps({**result, "machine": machine.about()}))


if __name__ == "__main__":
    main()
