"""Sentences a second on a device and on one core, in one run: by length and batch, where the time goes, how near the device's limits.

python -m benchmarks.gpu MODEL DEV [--device cuda] [--trees TRAIN --states 32] [--longest 40] [--copies 16] [--no-core]

DEV's gold trees give the sentences. Several models are timed: the first grammar of MODEL alone, all its grammars, and both with its neural
expert, as far as it has them; tokens go in, and each result's tree is taken out. Cold is the first pass over DEV, when words are new; warm
the better of two passes over as many copies of DEV. Then the CPU path parses a part of the same sentences, unless --no-core is given, and
with --trees steps of EM are timed. Limits of the device are measured: a large copy, and a large product of single precision as the charts
use it.
"""

import argparse
import json
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch

from benchmarks import machine
from gramian.chart.gpu import batch_parser, torch_backend
from gramian.chart.gpu.torch_backend import finished
from gramian.evaluate import GoldBrackets
from gramian.learn import Observations
from gramian.learn.counting import random_counts
from gramian.learn.learner import Maximisation, allocate_states
from gramian.learn.smoothing import Smoothing
from gramian.learn.tables import Layout
from gramian.parsing.model import Model
from gramian.parsing.model_store import load_model
from gramian.parsing.parser import Parser
from gramian.parsing.result import ParseResult
from gramian.torch_device import rough_products
from gramian.treebank import Treebank
from gramian.trees import Tree, normalise
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
    """Return multiply-adds and bytes of the dense charts of sentences."""
    adds = moved = 0.0
    for family in parser._on_device.whole._families:  # type: ignore[union-attr]
        coarse = family.coarse
        ways = [(len(one.one), one.weight.shape[1]) for one in (coarse.up, coarse.down)]
        for n in lengths:
            cells, splits = n * (n - 1) / 2, (n + 1) * n * (n - 1) / 6
            for columns, given in ways:
                adds += splits * columns + cells * columns * given
                moved += 2 * 4 * cells * columns  # sums are written and read
    return {"multiply-adds": adds, "bytes": moved}


def taken(results: Iterable[ParseResult]) -> int:
    """Take the tree out of each result, and return how many there were."""
    return sum(not result.tree.is_empty for result in results)


class OnDevice:
    """A model on the device: what comes out, and how fast.

    Parameters
    ----------
    model : Model
    gold : list of Tree
    device : Device
    """

    def __init__(self, model: Model, gold: list[Tree], device: Device) -> None:
        self.model, self.gold, self.device = model, gold, device
        self.sentences = [list(tree.words) for tree in gold]
        parser = Parser(model, device=device.name, max_seconds=None)
        taken(parser.parse_many(self.sentences[:64]))  # whatever is loaded and compiled once
        self.parser = Parser(model, device=device.name, max_seconds=None)
        began = time.perf_counter()
        self.results = list(self.parser.parse_many(self.sentences))
        self.cold = time.perf_counter() - began

    def timed(self, copies: int, batches: list[int], limits: dict[str, float]) -> dict[str, Any]:
        """Return the times."""
        sentences, device, parser = self.sentences, self.device, self.parser
        watts: list[float] = []
        warm = float("inf")
        for _ in range(2):
            with device.watched(watts):
                began = time.perf_counter()
                taken(parser.parse_many(sentences * copies))
                warm = min(warm, time.perf_counter() - began)
        whole = parser._on_device.whole  # type: ignore[union-attr]
        spent: Counter[str] = Counter()
        with stopwatch(spent, device):
            taken(parser.parse_many(sentences * max(1, copies // 4)))
        by_length = {}
        for low, high in ((1, 10), (11, 20), (21, 30), (31, 40)):
            fitting = [words for words in sentences if low <= len(words) <= high]
            rows = {}
            for size in batches if fitting else ():
                batch = sorted((fitting * (1 + size // len(fitting)))[:size], key=len, reverse=True)
                if size <= whole.sentences_at_once(high):
                    work = partial(whole.parse, batch, whole.read(batch))
                    rows[size] = round(size / device.seconds(lambda work=work: finished(work()), 2), 1)  # type: ignore[misc]
            by_length[f"{low}-{high} words"] = rows
        work = least_work(parser, [len(words) for words in sentences * copies])
        count = len(sentences)
        trees = [one.tree for one in self.results]
        timed = count * max(1, copies // 4)
        return {
            "sentences a second, warm": round(copies * count / warm, 1), "sentences a second, cold": round(count / self.cold, 1),
            "f1": round(GoldBrackets(self.gold).score(trees).f1, 2), "status": dict(Counter(one.status for one in self.results)),
            "same trees again": [one.tree for one in parser.parse_many(sentences)] == trees,
            "microseconds a sentence": {name: round(1e6 * seconds / timed, 1) for name, seconds in spent.items()},
            "sentences a second on the device alone, by batch": by_length,
            "share of the arithmetic limit": round(work["multiply-adds"] / warm / limits["multiply-adds a second"], 4),
            "share of the bandwidth limit": round(work["bytes"] / warm / limits["bytes a second"], 4),
            "watts": round(float(np.mean(watts)), 1) if watts else None,
        }  # fmt: skip

    def against_core(self, warm: float) -> dict[str, Any]:
        """Compare with the CPU path; `warm` is how many sentences a second the device did."""
        core = Parser(self.model, max_seconds=None)
        part = self.sentences[: max(1, len(self.sentences) // 8)]
        core.parse(part[0])
        began = time.perf_counter()
        expected = list(core.parse_many(part))
        speed = len(part) / (time.perf_counter() - began)
        scorer = GoldBrackets(self.gold[: len(part)])
        exact = Parser(
            self.model, max_seconds=None, pruning=replace(core.pruning, beam=0.0, guess=0.0, split=0.0)
        )
        few = part[: max(1, len(part) // 4)]
        same, apart = self._apart(expected)
        _, unpruned = self._apart(list(exact.parse_many(few)))
        return {
            "sentences a second, one core": round(speed, 1), "times one core": round(warm / speed, 1),
            "f1, core and device": [round(scorer.score([one.tree for one in rs[: len(part)]]).f1, 2) for rs in (expected, self.results)],
            "same trees": round(same / len(part), 4),
            "confidences apart: mean, 99 of 100, most": apart, "the same, from the core without a beam": unpruned,
        }  # fmt: skip

    def _apart(self, expected: list[ParseResult]) -> tuple[int, list[float]]:
        """Return how many trees are the same, and how far their confidences are apart: mean, 99 of 100, most."""
        both = [(one, two) for one, two in zip(expected, self.results, strict=False) if one.tree == two.tree]
        gaps = [np.abs(np.subtract(one.confidences, two.confidences)) for one, two in both] or [np.zeros(1)]
        values = np.concatenate(gaps)
        spread = float(values.mean()), *np.quantile(values, [0.99, 1]).tolist()
        return len(both), [float(f"{one:.3g}") for one in spread]


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
    arguments.add_argument("--copies", type=int, default=16)
    arguments.add_argument("--no-core", action="store_true", help="leave the CPU path out")
    arguments.add_argument("--batches", type=int, nargs="+", default=[64, 256, 1024])
    options = arguments.parse_args()
    device = Device(options.device)
    scheme, trees = find_scheme(trees_of(options.dev))
    gold = [tree for tree in (normalise(tree, scheme.options).tree for tree in trees) if not tree.is_empty]
    gold = [tree for tree in gold if len(tree.words) <= options.longest][: options.limit]
    model = load_model(options.model)
    variants = {"one grammar": Model(model.grammars[:1])}
    if len(model.grammars) > 1:
        variants["all grammars"] = Model(model.grammars)
    if (net := model.expert("neural")) is not None:
        variants["one grammar and the net"] = Model(model.grammars[:1], (net,))
        variants["all grammars and the net"] = Model(model.grammars, (net,))
    limits = device.limits()
    result: dict[str, Any] = {
        "benchmark": "gpu", "model": options.model, "sentences": len(gold),
        "words a sentence": round(sum(len(tree.words) for tree in gold) / len(gold), 1),
        "device": torch.cuda.get_device_name() if device.is_gpu else "cpu",
        "limits": {name: f"{value:.3g}" for name, value in limits.items()},
    }  # fmt: skip
    found = {}
    for name, variant in variants.items():
        found[name] = OnDevice(variant, gold, device)
        result[name] = found[name].timed(options.copies, options.batches, limits)
        print(json.dumps({name: result[name]}), flush=True)
    for name, one in () if options.no_core else found.items():
        result[name] |= one.against_core(result[name]["sentences a second, warm"])
        print(json.dumps({name: result[name]}), flush=True)
    if options.trees:
        result["EM"] = timed_em(options.trees, options.states, device, options.limit, True)
    print(json.dumps({**result, "machine": machine.about()}))


if __name__ == "__main__":
    main()
