"""Sentences by the thousand on a device: batches by length, trees built here while the device works at the next batch.

Models whose experts know labels over spans run there from tokens to trees. Where a span CRF or a reranker must see forests, or more than
the best tree is asked for, the device fills the charts and the rest is done here. Whatever has no tree under the usual pruning goes to
:mod:`gramian.parsing.fallbacks`, sentence by sentence.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import lru_cache
from itertools import islice
from time import perf_counter
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from gramian.chart.backend import ChartInput
from gramian.chart.chart_parser import ChartParser
from gramian.chart.combine import WeightedExpert
from gramian.chart.decode import DECODERS
from gramian.chart.label_table import label_table
from gramian.device.batch_parser import BatchParser, DeviceNet, TreeArrays
from gramian.device.net_labels import NetLabels
from gramian.device.torch_backend import TorchBackend
from gramian.device.word_rows import WordRows
from gramian.grammar.lexicon import joined
from gramian.io.machine import without_cycle_search
from gramian.neural.label_expert import LabelExpert
from gramian.parsing.calibration import Calibration
from gramian.parsing.fallbacks import Attempts, Request
from gramian.parsing.result import ParseResult, Reranker, read_result
from gramian.parsing.sentences import ReadSentence
from gramian.parsing.words import WordTable
from gramian.torch_device import find_device
from gramian.trees import Tree
from gramian.trees.tree import phrase, preterminal

if TYPE_CHECKING:
    from gramian.parsing.parser import Parser

_AHEAD = 8192  # sentences that are put in order by length
_FORESTS = 256  # the same where forests come back
_PADDING = 1.15  # how much longer than the shortest the longest sentence of a batch may be

Read: TypeAlias = tuple[Request, ReadSentence]
_leaf = lru_cache(maxsize=1 << 17)(preterminal)


def on_device(
    parser: Parser, chart: ChartParser, experts: Sequence[WeightedExpert], attempts: Attempts,
    reranker: Reranker | None, device: str,
) -> DeviceParsing:  # fmt: skip
    """Return what parses streams of sentences as a parser does, on a device.

    Parameters
    ----------
    parser : Parser
    chart, experts, attempts, reranker
        What it consists of.
    device : str
    """
    where = find_device(device)
    families = chart.families
    whole = None
    nets = [(one.expert.model, one.weight) for one in experts if isinstance(one.expert, LabelExpert)]
    is_whole = chart.combination == "product" and reranker is None and len(nets) == len(experts) <= 1
    if is_whole and all(one.is_probabilistic for family in families for one in family):
        order = [one for family in families for one in family]
        own = WordTable(joined([one.lexicon for one in order]))
        words = WordRows(order, own.look_up, own.log_probability, where)
        net = None
        if nets:
            table = label_table(chart.grammar.symbols, chart.grammar.n_phrases)
            [(model, weight)] = nets
            net = DeviceNet(NetLabels(model, table, where), weight)
        whole = BatchParser(families, words, parser.pruning, parser.recall_penalty, where, net)
    forests = chart.with_backend(TorchBackend.on(device))
    return DeviceParsing(attempts, forests, whole, parser.calibration, reranker)


class DeviceParsing:
    """Parses streams of sentences on a device.

    Parameters
    ----------
    attempts : Attempts
        For sentences that the device does not parse.
    chart : ChartParser
        Whose backend is on the device.
    whole : BatchParser, optional
        The whole model on the device, if it can be there.
    calibration : Calibration
    reranker : Reranker, optional
    """

    def __init__(
        self,
        attempts: Attempts,
        chart: ChartParser,
        whole: BatchParser | None,
        calibration: Calibration,
        reranker: Reranker | None = None,
    ) -> None:
        self._attempts, self._chart, self._whole = attempts, chart, whole
        self._calibration, self._reranker = calibration, reranker

    def parse(self, requests: Iterable[Read]) -> Iterator[ParseResult]:
        """Parse sentences as they come; results come in the same order."""
        source = iter(requests)
        with ThreadPoolExecutor(1, thread_name_prefix="gramian") as executor:
            waiting: deque[_Chunk] = deque()
            try:
                while True:
                    if len(waiting) < 2 and (chunk := list(islice(source, self._chunk_size))):
                        waiting.append(_Chunk(self, chunk, executor))
                        continue
                    if not waiting:
                        return
                    yield from waiting.popleft().results()
            finally:
                executor.shutdown(wait=True, cancel_futures=True)

    @property
    def _chunk_size(self) -> int:
        return _FORESTS if self._whole is None else _AHEAD

    def one(self, read: Read) -> ParseResult:
        """Parse a sentence here."""
        request, about = read
        result, _ = self._attempts.parse(request)
        return self._finished(result, about)

    def _finished(self, result: ParseResult, about: ReadSentence) -> ParseResult:
        sure = self._calibration.confidences(result.tree, result.confidences)
        return replace(result, confidences=sure, offsets=about.offsets)

    def fits(self, request: Request) -> bool:
        """Whether the limits let a sentence be parsed in one piece under the usual pruning."""
        pruning = self._attempts.pruning
        return bool(request.tokens) and (
            request.limits.fit(pruning, len(request.tokens), self._attempts.n_rules) is pruning
        )

    def is_plain(self, request: Request) -> bool:
        """Whether the whole model on the device can answer."""
        wanted = request.k == 1 and request.decoder == DECODERS[0] and request.constraints is None
        return self._whole is not None and wanted and request.given is None

    def batches(self, requests: Sequence[Request]) -> list[list[int]]:
        """Return numbers of sentences that make batches, the longest first."""
        assert self._whole is not None
        lengths = [len(one.tokens) for one in requests]
        order = sorted(
            (place for place, one in enumerate(requests) if self.is_plain(one) and self.fits(one)),
            key=lambda place: -lengths[place],
        )
        found: list[list[int]] = []
        room, longest = 0, 0
        for place in order:
            if room and longest <= _PADDING * lengths[place] + 1:
                found[-1].append(place)
            else:
                found.append([place])
                longest = lengths[place]
                room = self._whole.sentences_at_once(longest)
            room -= 1
        return found

    def trees(self, requests: Sequence[Request]) -> TreeArrays:
        """Return the trees of a batch."""
        assert self._whole is not None
        return self._whole.parse([one.tokens for one in requests])

    def from_trees(self, reads: Sequence[Read], found: TreeArrays) -> list[ParseResult | None]:
        """Return the results of a batch."""
        assert self._whole is not None
        names = self._whole.labels.names
        labels = [names[number] for number in found.label]
        sure = _calibrated(self._calibration, np.array(found.n_children) == 0, found.posterior)
        results: list[ParseResult | None] = []
        with without_cycle_search():
            for place, (request, about) in enumerate(reads):
                first, last = found.first[place], found.first[place + 1]
                if first == last:
                    results.append(None)
                    continue
                tree = _tree(labels[first:last], found.n_children[first:last], request.tokens)
                confidences = tuple(sure[first:last])
                words, log_prob = tuple(request.tokens), found.log_prob[place]
                results.append(ParseResult(tree, "parsed", log_prob, confidences, words, about.offsets))
        return results

    def from_forests(self, reads: Sequence[Read]) -> list[ParseResult | None]:
        """Return the results of sentences whose charts the device fills."""
        fitting = [place for place, (request, _) in enumerate(reads) if self.fits(request)]
        attempts, inputs, logs = self._attempts, [], []
        for place in fitting:
            request = reads[place][0]
            words = attempts.table.read(request.tokens, request.given)
            allowed = request.allowed(self._chart.grammar, len(words))
            inputs.append(ChartInput([word.scores for word in words], allowed, request.tokens))
            logs.append(sum(word.log_probability for word in words))
        results: list[ParseResult | None] = [None] * len(reads)
        forests = self._chart.forests(inputs, attempts.pruning)
        for place, forest, log_words in zip(fitting, forests, logs, strict=True):
            request, about = reads[place]
            if forest is None:
                continue
            reranker = self._reranker if request.decoder == DECODERS[0] else None
            what = request.tokens, log_words, "parsed", request.k, request.decoder, reranker
            result = read_result(forest, *what, request.recall_penalty)  # type: ignore[arg-type]
            if result is not None:
                results[place] = self._finished(result, about)
        return results


class _Chunk:
    """Sentences on their way: their batches are worked through in another thread."""

    def __init__(self, parsing: DeviceParsing, reads: list[Read], executor: ThreadPoolExecutor) -> None:
        self._parsing, self._reads, self._began = parsing, reads, perf_counter()
        requests = [request for request, _ in reads]
        self._batches = [] if parsing._whole is None else parsing.batches(requests)
        self._found: list[Future[TreeArrays]] = [
            executor.submit(parsing.trees, [requests[place] for place in batch]) for batch in self._batches
        ]
        rest = set(range(len(reads))).difference(*self._batches)
        self._rest = sorted(place for place in rest if not parsing.is_plain(requests[place]))
        self._forests = executor.submit(parsing.from_forests, [reads[place] for place in self._rest])

    def results(self) -> Iterator[ParseResult]:
        """Yield the results in order."""
        results: list[ParseResult | None] = [None] * len(self._reads)
        for batch, future in zip(self._batches, self._found, strict=True):
            own = self._parsing.from_trees([self._reads[place] for place in batch], future.result())
            for place, result in zip(batch, own, strict=True):
                results[place] = result
        for place, result in zip(self._rest, self._forests.result(), strict=True):
            results[place] = result
        for place, result in enumerate(results):
            yield self._parsing.one(self._reads[place]) if result is None else result


def _tree(labels: Sequence[str], n_children: Sequence[int], words: Sequence[str]) -> Tree:
    """Return the tree whose nodes come parents before children, left before right."""
    position = len(words)
    built: list[Tree] = []  # the last entries are the parts of what comes next, the leftmost on top
    for place in range(len(labels) - 1, -1, -1):
        count = n_children[place]
        if count == 0:
            position -= 1
            built.append(_leaf(labels[place], words[position]))
        else:
            parts = tuple(built[: -count - 1 : -1])
            del built[-count:]
            built.append(phrase(labels[place], parts))
    [tree] = built
    return tree


def _calibrated(
    calibration: Calibration, is_tag: npt.NDArray[np.bool_], posteriors: npt.NDArray[np.float64]
) -> list[float]:
    values = posteriors.copy()
    for curve, chosen in (
        (calibration.phrases, ~is_tag & (values > 0)),
        (calibration.tags, is_tag & (values > 0)),
    ):
        if curve is not None:
            values[chosen] = curve(values[chosen])
    return np.minimum(values, 1.0).tolist()
