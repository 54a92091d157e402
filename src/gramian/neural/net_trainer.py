"""Learning a span net: batches by length, Adam, averaged weights, trees held out, and a file to go on from.

What chance decides in a pass depends on the seed and the number of the pass only, so that learning that was stopped goes on as if it
had not been, and the same seed gives the same bytes on a CPU (with the same number of threads).
"""

from __future__ import annotations

import copy
import hashlib
import json
import logging
import math
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch

from gramian.io.model_files import checksum
from gramian.io.output import write_bytes
from gramian.io.schema import Count, SchemaError, as_document, parse_document, parse_json
from gramian.neural.net import PaddedBatch, Sentences, SpanNet, WordNet
from gramian.neural.net_options import Learning, NetSize
from gramian.neural.neural_model import best_chains
from gramian.neural.span_inventory import BOUNDARY, UNKNOWN, Example, Inventory, cell, n_cells
from gramian.torch_device import find_device

if TYPE_CHECKING:
    from gramian.neural.word_encoder import WordEncoder

_log = logging.getLogger(__name__)

Weights = dict[str, npt.NDArray[np.float32]]

_MOST_CELLS = {"cpu": 30_000, "cuda": 150_000}  # of a batch: long sentences have many spans
_TEMPERATURES = tuple(0.6 * 1.1**step for step in range(20))
_LAST_RATE = 0.01  # share of the rate at the end


@dataclass
class History:
    """What happened, pass by pass."""

    losses: list[float] = field(default_factory=list)  #: mean loss a word
    #: of the labelled brackets of the held-out trees, in per cent, with the averaged weights
    f1: list[float] = field(default_factory=list)
    seconds: float = 0.0
    temperature: float = 1.0  #: under which the held-out trees are most likely; 1 without such trees

    @property
    def best(self) -> int:
        """The first pass with the best F1."""
        return int(np.argmax(self.f1))


def train_net(
    examples: Sequence[Example],
    held_out: Sequence[Example],
    inventory: Inventory,
    *,
    size: NetSize,
    learning: Learning,
    max_iter: int,
    random_state: int = 0,
    n_jobs: int = 1,
    device: str = "cpu",
    checkpoint: str | Path | None = None,
    vectors: npt.NDArray[np.float32] | None = None,
    encoder: WordEncoder | None = None,
) -> tuple[Weights, History]:
    """Return the averaged weights of the pass that was best on held-out trees; without such trees, of the last.

    Parameters
    ----------
    max_iter : int
        Passes at most.
    checkpoint : path, optional
        File that holds everything after each pass; if it is there and fits, learning goes on from it.
    vectors : ndarray of float32, shape (n_vector_words, any), optional
        Fixed vectors of the inventory's `vector_words`.
    encoder : WordEncoder, optional
        What it has learnt stands among the weights as ``tuned.``, and then its own names.
    """
    with training_settings(n_jobs, device):
        torch.manual_seed(random_state)
        if encoder is not None:
            encoder.model.to(device)
        net = SpanNet(inventory, size, learning, vectors, encoder)
        sentences, held_out_sentences = Sentences(examples, inventory), Sentences(held_out, inventory)
        run = NetTraining(
            net.to(device),
            learning,
            max_iter=max_iter,
            random_state=random_state,
            device=device,
            score=lambda averaged: bracket_f1(averaged, held_out_sentences, inventory, run.device),
        )
        checkpoint_file = None
        if checkpoint is not None:
            fingerprint = _mark(
                (*examples, *held_out),
                inventory,
                vectors,
                (size, learning, max_iter, random_state, len(held_out)),
            )
            checkpoint_file = _Checkpoint(Path(checkpoint), fingerprint)
            checkpoint_file.load(run)
        chance = unknown_chance(examples, inventory, learning.unknown)
        save = None if checkpoint_file is None else checkpoint_file.save
        run.fit(sentences, chance, is_scored=bool(held_out), save=save)
        if held_out:
            run.history.temperature = best_temperature(run.averaged, held_out_sentences, run.device)
        if checkpoint_file is not None:
            checkpoint_file.path.unlink(missing_ok=True)
        return run.weights(), run.history


class NetTraining:
    """The state of training: weights, their running average, the best average so far, and Adam's moments.

    `score` returns the `measure` of the averaged net on held-out trees, in per cent.
    """

    def __init__(
        self,
        net: WordNet,
        learning: Learning,
        *,
        max_iter: int,
        random_state: int,
        device: str,
        score: Callable[[Any], float],
        measure: str = "F1",
    ) -> None:
        self.net, self.device, self.learning, self.max_iter = net, torch.device(device), learning, max_iter
        self.random_state, self.score, self.measure = random_state, score, measure
        self.averaged = copy.deepcopy(net).eval()
        self.best: dict[str, torch.Tensor] = {}
        self.history = History()
        tuned = set(net.tuned.parameters()) if hasattr(net, "tuned") else set()
        groups = [
            {"params": [weight for weight in self._learnt() if (weight in tuned) == is_tuned], "rate": rate}
            for is_tuned, rate in ((False, learning.rate), (True, learning.encoder_rate))
        ]
        self.adam = torch.optim.Adam(
            [group for group in groups if group["params"]],
            learning.rate,
            betas=(0.9, 0.98),
            eps=1e-9,
            fused=self.device.type == "cuda",
        )
        self.steps = 0

    def _learnt(self) -> list[torch.nn.Parameter]:
        return [weight for weight in self.net.parameters() if weight.requires_grad]

    def fit(
        self,
        sentences: Sentences,
        chance: npt.NDArray[np.float64],
        *,
        is_scored: bool,
        save: Callable[[NetTraining], None] | None = None,
    ) -> None:
        """Run the remaining epochs; `averaged` is then the best average if epochs are scored, else the last."""
        while len(self.history.losses) < self.max_iter and not self._is_stale():
            began = time.perf_counter()
            self._run_epoch(sentences, chance)
            if is_scored:
                self._score_epoch()
            self.history.seconds += time.perf_counter() - began
            if save is not None:
                save(self)
            self._log_epoch()
        if is_scored:
            self.averaged.load_state_dict(self.best)

    def weights(self) -> Weights:
        """Return the averaged weights."""
        state = self.averaged.state_dict()
        return {name: value.cpu().float().numpy() for name, value in state.items()}

    def _run_epoch(self, sentences: Sentences, chance: npt.NDArray[np.float64]) -> None:
        number = len(self.history.losses)
        rng = np.random.default_rng([self.random_state, number])
        torch.manual_seed(int(rng.integers(2**62)))
        most_cells = _MOST_CELLS.get(self.device.type, _MOST_CELLS["cpu"])
        numbers = batches(sentences.examples, self.learning.batch_words, rng, most_cells)
        self.net.train()
        losses, words = torch.zeros((), device=self.device), 0
        with ThreadPoolExecutor(1) as prefetch:
            tables = prefetch.map(lambda batch: _forgetful(sentences, batch, chance, rng), numbers)
            for index, cpu_table in enumerate(tables):
                self._set_rate(number + index / len(numbers))
                table = cpu_table.to(self.device)
                loss = self.net.loss(table)
                self.adam.zero_grad(set_to_none=True)
                loss.backward()
                torch.nn.utils.clip_grad_norm_(self._learnt(), self.learning.clip)
                self.adam.step()
                self.steps += 1
                self._average()
                losses += loss.detach() * int(table.lengths.sum())
                words += int(table.lengths.sum())
        self.history.losses.append(float(losses) / words)

    def _set_rate(self, done: float) -> None:
        share = _LAST_RATE + (1 - _LAST_RATE) * (1 + math.cos(math.pi * done / self.max_iter)) / 2
        share *= min(1.0, (self.steps + 1) / self.learning.warm_up)
        for group in self.adam.param_groups:
            group["lr"] = group["rate"] * share

    def _average(self) -> None:
        keep = min(self.learning.average, (1 + self.steps) / (10 + self.steps))
        with torch.no_grad():
            torch._foreach_lerp_(list(self.averaged.parameters()), list(self.net.parameters()), 1 - keep)

    def _score_epoch(self) -> None:
        f1 = self.score(self.averaged)
        if not self.history.f1 or f1 > max(self.history.f1):
            self.best = {name: value.clone() for name, value in self.averaged.state_dict().items()}
        self.history.f1.append(f1)

    def _is_stale(self) -> bool:
        return (
            bool(self.history.f1) and len(self.history.f1) - 1 - self.history.best >= self.learning.patience
        )

    def _log_epoch(self) -> None:
        history = self.history
        n_epochs = len(history.losses)
        seconds_left = history.seconds / n_epochs * (self.max_iter - n_epochs)
        f1 = f"{self.measure} of held-out trees {history.f1[-1]:.2f}, " if history.f1 else ""
        _log.info(
            "pass %d of %d: loss %.4f a word, %s%.0f s, at most %.0f s left",
            n_epochs, self.max_iter, history.losses[-1], f1, history.seconds, seconds_left,
        )  # fmt: skip


def bracket_f1(net: SpanNet, sentences: Sentences, inventory: Inventory, device: torch.device) -> float:
    """Return the F1 of labelled brackets, in per cent, of the trees with the most brackets to be expected right."""
    n_matched = n_predicted = n_gold = 0
    labels_of = [np.flatnonzero(row).tolist() for row in inventory.membership]
    for batch in batches(sentences.examples, 4000, None):
        table = sentences.batch(batch)
        with torch.no_grad():
            chances = net.posteriors(table.to(device)).spans.cpu().numpy()
        longest = int(table.lengths.max())
        for row, number in enumerate(table.numbers.tolist()):
            example = sentences.examples[number]
            n_words = example.n_words
            predicted_spans = np.concatenate(
                [cell(longest, 0, width) + np.arange(n_words - width + 1) for width in range(1, n_words + 1)]
            )
            cells, chain, _ = best_chains(chances[row, predicted_spans], inventory.membership, n_words)
            predicted = {
                (span, label) for span in cells if chain[span] >= 0 for label in labels_of[chain[span]]
            }
            start, end, chains = example.spans.T
            gold_cells = cell(n_words, start, end).tolist()
            gold = {
                (span, label)
                for span, gold_chain in zip(gold_cells, chains.tolist(), strict=True)
                for label in labels_of[gold_chain]
            }
            n_matched += len(gold & predicted)
            n_predicted += len(predicted)
            n_gold += len(gold)
    return 200 * n_matched / max(1, n_predicted + n_gold)


def best_temperature(net: SpanNet, sentences: Sentences, device: torch.device) -> float:
    """Return what scores must be divided by for trees to be most likely (Guo and others 2017), among a few values."""
    losses = torch.zeros(len(_TEMPERATURES), device=device)
    with torch.no_grad():
        for batch in batches(sentences.examples, 4000, None):
            table = sentences.batch(batch).to(device)
            scores = net(table)
            losses += torch.stack(
                [net.tree_loss(scores.spans / temperature, table) for temperature in _TEMPERATURES]
            )
    return _TEMPERATURES[int(losses.argmin())]


def best_device(device: str) -> str:
    """Return the device that ``"auto"`` stands for, or the one named, if it is there."""
    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    return str(find_device(device))


def batches(
    examples: Sequence[Example],
    words: int,
    rng: np.random.Generator | None,
    most_cells: int = _MOST_CELLS["cpu"],
) -> list[list[int]]:
    """Return numbers of sentences of about the same length, together; in another order in each pass."""
    lengths = np.array([example.n_words for example in examples])
    noise = np.ones(len(lengths)) if rng is None else rng.uniform(0.9, 1.1, len(lengths))
    result: list[list[int]] = []
    n_words = longest = 0
    for number in np.argsort(lengths * noise, kind="stable").tolist():
        longest = max(longest, int(lengths[number]))
        size = len(result[-1]) + 1 if result else 1
        if not result or n_words >= words or (size > 1 and size * n_cells(longest) > most_cells):
            result.append([])
            n_words, longest = 0, int(lengths[number])
        result[-1].append(number)
        n_words += int(lengths[number])
    if rng is not None:
        rng.shuffle(result)
    return result


def _forgetful(
    sentences: Sentences, batch: Sequence[int], chance: npt.NDArray[np.float64], rng: np.random.Generator
) -> PaddedBatch:
    """Return a batch in which some words are made unknown."""
    words = [sentences.examples[number].words for number in batch]
    return sentences.batch(
        batch,
        [
            np.where(
                rng.random(len(words_of_sentence)) < chance[words_of_sentence], UNKNOWN, words_of_sentence
            )
            for words_of_sentence in words
        ],
    )


def unknown_chance(
    examples: Sequence[Example], inventory: Inventory, unknown: float
) -> npt.NDArray[np.float64]:
    """Return with what probability each word is made unknown."""
    count = np.bincount(np.concatenate([example.words for example in examples]), minlength=inventory.n_words)
    chance = unknown / (unknown + np.maximum(count, 1))
    chance[BOUNDARY] = 0
    return chance


@contextmanager
def training_settings(n_jobs: int, device: str) -> Iterator[None]:
    """Set torch's threads, precision and chance for the time of learning."""
    threads, precision = torch.get_num_threads(), torch.get_float32_matmul_precision()
    devices = [torch.cuda.current_device()] if device.startswith("cuda") else []
    with torch.random.fork_rng(devices):
        torch.set_num_threads(n_jobs)
        torch.set_float32_matmul_precision("high" if devices else "highest")
        try:
            yield
        finally:
            torch.set_num_threads(threads)
            torch.set_float32_matmul_precision(precision)


def _mark(
    examples: Sequence[Example],
    inventory: Inventory,
    vectors: npt.NDArray[np.float32] | None,
    options: object,
) -> str:
    digest = hashlib.sha256(repr((options, inventory)).encode())
    digest.update(b"" if vectors is None else vectors.tobytes())
    for example in examples:
        digest.update(repr(example.forms).encode())
        for table in (example.tags, example.spans, example.tag_shares, example.span_shares):
            digest.update(table.tobytes())
        digest.update(str(example.weight).encode())
    return digest.hexdigest()


def _arrays(tensors: dict[str, torch.Tensor]) -> dict[str, npt.NDArray[Any]]:
    return {name: value.detach().cpu().numpy() for name, value in tensors.items()}


class _Checkpoint:
    """A file with everything that the next pass needs; one made from other trees or options is not taken up."""

    def __init__(self, path: Path, mark: str) -> None:
        self.path, self.mark = path, mark

    def save(self, run: NetTraining) -> None:
        from safetensors.torch import save

        tensors: dict[str, torch.Tensor] = {}
        for part, state in self._parts(run).items():
            tensors |= {f"{part}.{name}": value.contiguous() for name, value in state.items()}
        for name, weight in self._named(run):
            tensors |= {f"{kind}.{name}": value for kind, value in run.adam.state[weight].items()}
        history = {"losses": run.history.losses, "f1": run.history.f1, "seconds": run.history.seconds}
        head = {"mark": self.mark, "history": json.dumps(history), "steps": str(run.steps)}
        write_bytes(self.path, save(tensors, head | {"checksum": checksum(head, _arrays(tensors))}))

    def load(self, run: NetTraining) -> None:
        """Bring a run to where the file has it; do nothing if there is none that fits."""
        from safetensors import SafetensorError, safe_open

        try:
            with safe_open(self.path, "pt", device=str(run.device)) as file:
                head = file.metadata() or {}
                if head.get("mark") != self.mark:
                    return
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
        except (OSError, SafetensorError):
            return
        if head.get("checksum") != checksum(head, _arrays(tensors)):
            return  # damaged
        try:
            run.history = parse_document(History, head["history"])
            run.steps = as_document(Count, parse_json(head["steps"]), "steps")
        except SchemaError as error:
            _log.info("%s: invalid checkpoint: %s; learning begins anew", self.path, error)
            return
        _log.info("going on after pass %d", len(run.history.losses))

        def part(prefix: str) -> dict[str, torch.Tensor]:
            return {
                name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)
            }

        run.net.load_state_dict(part("net."))
        run.averaged.load_state_dict(part("averaged."))
        run.best = part("best.")
        for name, weight in self._named(run):
            run.adam.state[weight] = {
                "step": tensors[f"step.{name}"], "exp_avg": tensors[f"exp_avg.{name}"],
                "exp_avg_sq": tensors[f"exp_avg_sq.{name}"],
            }  # fmt: skip

    @staticmethod
    def _parts(run: NetTraining) -> dict[str, dict[str, torch.Tensor]]:
        return {"net": run.net.state_dict(), "averaged": run.averaged.state_dict(), "best": run.best}

    @staticmethod
    def _named(run: NetTraining) -> list[tuple[str, torch.nn.Parameter]]:
        return [(name, weight) for name, weight in run.net.named_parameters() if weight.requires_grad]
