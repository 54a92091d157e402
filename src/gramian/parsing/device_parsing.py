"""Thousands of sentences on a device: batches by length, trees built on the CPU while the device works on the next sentences.

Models whose experts score labels over spans run on the device from tokens to trees. Where a span CRF or a reranker reads forests, or more
than the best tree is requested, the device fills the charts and the CPU does the rest. Sentences without a tree under the usual pruning
go to :mod:`gramian.parsing.fallbacks`, one by one.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeAlias, TypeGuard

from gramian.chart.combine import Expert
from gramian.chart.decode import DEFAULT_DECODER
from gramian.chart.forest import Pruning
from gramian.chart.gpu.batch_parser import BatchParser, NetLabels
from gramian.chart.gpu.torch_backend import TorchBackend, Work
from gramian.chart.gpu.word_rows import WordRows
from gramian.chart.tree_arrays import TreeArrays
from gramian.errors import GramianError
from gramian.experts.expert_part import LabelExpert
from gramian.grammar.lexicon import joined
from gramian.parsing.fallbacks import FallbackParser
from gramian.parsing.pipeline import BatchResults, Pipeline, ReadRequest
from gramian.parsing.result import ParseResult
from gramian.parsing.sentences import Sentence
from gramian.parsing.words import WordTable
from gramian.torch_device import find_device

_FIRST, _AHEAD = 2048, 8192  # sentences that are put in order by length: of the first, and at most
_FORESTS = 256  # the same where forests come back
_PADDING = 1.15  # how much longer than the shortest the longest sentence of a batch may be

Item: TypeAlias = ReadRequest | GramianError
"""A sentence that was read, or why it could not be."""


class DeviceParsing:
    """Parses streams of sentences on a device, as a parser does that consists of these parts.

    `whole` is the whole model on the device, if it can be there; otherwise the device only fills charts.
    """

    def __init__(
        self, pipeline: Pipeline, fallbacks: FallbackParser, experts: Sequence[Expert], pruning: Pruning, device: str
    ) -> None:  # fmt: skip
        self.fallbacks, self.whole = fallbacks, _whole_model(pipeline, experts, pruning, device)
        self.pipeline = pipeline._replace(chart=pipeline.chart.with_backend(TorchBackend.on(device)))

    def parse(
        self, sentences: Iterable[Sentence], read: Callable[[Sentence], Item]
    ) -> Iterator[ParseResult | GramianError]:
        """Parse sentences as they come, each read by `read`; results come in the same order.

        While the device works on some sentences, the results of those before are built and yielded, and the next are read.
        """
        source, most = map(read, sentences), _FORESTS if self.whole is None else _AHEAD
        size = min(_FIRST, most)
        done: Iterator[ParseResult | GramianError] = iter(())
        ahead: list[Item] = []
        while ahead := [*ahead, *islice(source, size - len(ahead))]:
            chunk, ahead = _Chunk(self, ahead), []
            size = min(2 * size, most)
            for pause in chunk.work(self.batches(chunk.items)):
                while not pause.is_over:
                    if (result := next(done, None)) is not None:
                        yield result
                    elif len(ahead) < size and (item := next(source, None)) is not None:
                        ahead.append(item)
                    else:
                        break
            yield from done
            done = chunk.results()
        yield from done

    def is_plain(self, item: Item) -> TypeGuard[ReadRequest]:
        """Whether only the best tree of a sentence by the default decoder is requested, so that the device finds it."""
        if self.whole is None or isinstance(item, GramianError) or item.constraints is not None:
            return False
        return item.k == 1 and item.decoder == DEFAULT_DECODER and item.read.tag_priors is None

    def batches(self, items: Sequence[Item]) -> list[list[int]]:
        """Return indices of plain sentences that make batches, the longest first; sentences beyond the limits are in none."""
        if self.whole is None:
            return []
        plain = {index: item for index, item in enumerate(items) if self.is_plain(item)}
        lengths = {index: len(request.tokens) for index, request in plain.items()}
        by_length = {len(request.tokens): request for request in plain.values()}
        fitting = {length for length, request in by_length.items() if self.fallbacks.fits(request)}
        order = [index for index, length in lengths.items() if length in fitting]
        order.sort(key=lengths.__getitem__, reverse=True)
        batches: list[list[int]] = []
        room, longest = 0, 0
        for index in order:
            if room and longest <= _PADDING * lengths[index] + 1:
                batches[-1].append(index)
            else:
                batches.append([index])
                longest = lengths[index]
                room = self.whole.room.sentences(longest)
            room -= 1
        return batches

    def results(self, requests: Sequence[ReadRequest], trees: TreeArrays) -> BatchResults:
        """Return the results of a batch."""
        sentences = [request.read for request in requests]
        return BatchResults(trees, sentences, self.pipeline.chart.labels.names, self.pipeline.calibration)


def _whole_model(
    pipeline: Pipeline, experts: Sequence[Expert], pruning: Pruning, name: str
) -> BatchParser | None:
    """Return the whole model on a device; None if forests are needed."""
    device, chart = find_device(name), pipeline.chart
    nets = [expert for expert in experts if isinstance(expert, LabelExpert)]
    grammars = [grammar for family in chart.families for grammar in family]
    is_product = chart.combination == "product" and all(grammar.is_probabilistic for grammar in grammars)
    if not is_product or pipeline.reranker is not None or not len(nets) == len(experts) <= 1:
        return None
    table = WordTable(joined([grammar.lexicon for grammar in grammars]))
    words = WordRows(grammars, table.look_up, table.log_probability, device)
    net = NetLabels(nets[0].model, nets[0].weight, chart.labels, device) if nets else None
    return BatchParser(chart.families, words, pruning, pipeline.recall_penalty, device, net)


class _Chunk:
    """Sentences on their way."""

    def __init__(self, parsing: DeviceParsing, items: list[Item]) -> None:
        self._parsing, self.items = parsing, items
        # Of each sentence the results of its batch, and its index among them; or a result of its own.
        self._results: list[BatchResults | ParseResult | None] = [None] * len(items)
        self._index = [0] * len(items)

    def work(self, batches: list[list[int]]) -> Work[None]:
        """Let the device parse; while it works on a batch, the next one is read, and the one before put in order."""
        whole, before = self._parsing.whole, None
        words = [[request.tokens for request in self._requests(batch)] for batch in batches]
        numbers = whole.read(words[0]) if whole and words else None
        for index, sentences in enumerate(words):
            assert whole is not None
            assert numbers is not None
            parsing = whole.parse(sentences, numbers)
            pause = next(parsing)
            if index + 1 < len(words):
                numbers = whole.read(words[index + 1])
            if before is not None:
                self._keep(batches[index - 1], before)
            yield pause
            before = yield from parsing
        if before is not None:
            self._keep(batches[-1], before)
        is_rest = [isinstance(item, ReadRequest) and not self._parsing.is_plain(item) for item in self.items]
        rest = [index for index, is_in_rest in enumerate(is_rest) if is_in_rest]
        found = self._parsing.fallbacks.first_attempt(self._requests(rest), self._parsing.pipeline)
        for index, result in zip(rest, found, strict=True):
            self._results[index] = result

    def _requests(self, indices: list[int]) -> list[ReadRequest]:
        return [item for item in map(self.items.__getitem__, indices) if isinstance(item, ReadRequest)]

    def _keep(self, batch: list[int], trees: TreeArrays) -> None:
        results = self._parsing.results(self._requests(batch), trees)
        for number, index in enumerate(batch):
            self._results[index], self._index[index] = results, number

    def results(self) -> Iterator[ParseResult | GramianError]:
        """Yield the results in order."""
        for item, results, index in zip(self.items, self._results, self._index, strict=True):
            result = results.result(index) if isinstance(results, BatchResults) else results
            if isinstance(item, GramianError):
                yield item
            elif result is not None:
                yield item.finished(result)
            else:
                yield from self._parsing.fallbacks.parse([item])
