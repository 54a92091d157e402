"""Sentences by the thousand on a device: batches by length, trees built here while the device works at the next sentences.

Models whose experts know labels over spans run there from tokens to trees. Where a span CRF or a reranker must see forests, or more than
the best tree is asked for, the device fills the charts and the rest is done here. Whatever has no tree under the usual pruning goes to
:mod:`gramian.parsing.fallbacks`, sentence by sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeAlias

from gramian.chart.combine import Expert
from gramian.chart.decode import DEFAULT_DECODER
from gramian.chart.forest import Pruning
from gramian.chart.gpu.batch_parser import BatchParser
from gramian.chart.gpu.net_labels import NetLabels
from gramian.chart.gpu.pause import Work
from gramian.chart.gpu.torch_backend import TorchBackend
from gramian.chart.gpu.word_rows import WordRows
from gramian.chart.tree_arrays import TreeArrays
from gramian.errors import GramianError
from gramian.experts.label_expert import LabelExpert
from gramian.grammar.lexicon import joined
from gramian.parsing.batch_results import BatchResults
from gramian.parsing.fallbacks import FallbackParser
from gramian.parsing.pipeline import Pipeline, ReadRequest
from gramian.parsing.result import ParseResult
from gramian.parsing.sentences import Sentence
from gramian.parsing.words import WordTable
from gramian.torch_device import find_device

_FIRST, _AHEAD = 2048, 8192  # sentences that are put in order by length: of the first, and at most
_FORESTS = 256  # the same where forests come back
_PADDING = 1.15  # how much longer than the shortest the longest sentence of a batch may be

Item: TypeAlias = ReadRequest | GramianError
"""A sentence that was read, or why it could not be."""


def on_device(
    pipeline: Pipeline,
    fallbacks: FallbackParser,
    experts: Sequence[Expert],
    pruning: Pruning,
    device: str,
) -> DeviceParsing:
    """Return what parses streams of sentences as a parser does, on a device.

    Parameters
    ----------
    pipeline, fallbacks, experts, pruning
        What the parser consists of.
    device : str
    """
    where, chart = find_device(device), pipeline.chart
    families = chart.families
    whole = None
    nets = [expert for expert in experts if isinstance(expert, LabelExpert)]
    is_whole = chart.combination == "product" and pipeline.reranker is None and len(nets) == len(experts) <= 1
    if is_whole and all(one.is_probabilistic for family in families for one in family):
        order = [one for family in families for one in family]
        own = WordTable(joined([one.lexicon for one in order]))
        words = WordRows(order, own.look_up, own.log_probability, where)
        net = NetLabels(nets[0].model, nets[0].weight, chart.labels, where) if nets else None
        whole = BatchParser(families, words, pruning, pipeline.recall_penalty, where, net)
    forests = pipeline._replace(chart=chart.with_backend(TorchBackend.on(device)))
    return DeviceParsing(fallbacks, forests, whole, pruning)


class DeviceParsing:
    """Parses streams of sentences on a device.

    Parameters
    ----------
    fallbacks : FallbackParser
        For sentences that the device does not parse.
    pipeline : Pipeline
        Whose charts the device fills.
    whole : BatchParser, optional
        The whole model on the device, if it can be there.
    pruning : Pruning
    """

    def __init__(
        self, fallbacks: FallbackParser, pipeline: Pipeline, whole: BatchParser | None, pruning: Pruning
    ) -> None:
        self.fallbacks, self._pipeline, self.whole, self._pruning = fallbacks, pipeline, whole, pruning

    def parse(
        self, sentences: Iterable[Sentence], read: Callable[[Sentence], Item]
    ) -> Iterator[ParseResult | GramianError]:
        """Parse sentences as they come; results come in the same order.

        While the device works at some sentences, the results of those before are built and given out, and the next are read.

        Parameters
        ----------
        sentences : iterable
        read : callable
            How a sentence is read.
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

    def is_plain(self, item: Item) -> bool:
        """Whether the best tree by the default decoder is all that is wanted of a sentence, so that the device finds it."""
        if self.whole is None or isinstance(item, GramianError) or item.constraints is not None:
            return False
        return item.k == 1 and item.decoder == DEFAULT_DECODER and item.read.tag_priors is None

    def batches(self, items: Sequence[Item]) -> list[list[int]]:
        """Return numbers of plain sentences that make batches, the longest first; what does not fit into limits is in none."""
        if self.whole is None:
            return []
        plain = {
            place: one
            for place, one in enumerate(items)
            if isinstance(one, ReadRequest) and self.is_plain(one)
        }
        lengths = {place: len(one.tokens) for place, one in plain.items()}
        by_length = {len(one.tokens): one for one in plain.values()}
        fitting = {length for length, one in by_length.items() if self.fallbacks.fits(one)}
        order = [place for place, length in lengths.items() if length in fitting]
        order.sort(key=lengths.__getitem__, reverse=True)
        found: list[list[int]] = []
        room, longest = 0, 0
        for place in order:
            if room and longest <= _PADDING * lengths[place] + 1:
                found[-1].append(place)
            else:
                found.append([place])
                longest = lengths[place]
                room = self.whole.sentences_at_once(longest)
            room -= 1
        return found

    def results(self, requests: Sequence[ReadRequest], found: TreeArrays) -> BatchResults:
        """Return the results of a batch."""
        reads = [request.read for request in requests]
        return BatchResults(found, reads, self._pipeline.chart.labels.names, self._pipeline.calibration)

    def from_forests(self, requests: Sequence[ReadRequest]) -> list[ParseResult | None]:
        """Return the results of sentences whose charts the device fills."""
        fitting = [place for place, request in enumerate(requests) if self.fallbacks.fits(request)]
        results: list[ParseResult | None] = [None] * len(requests)
        found = self._pipeline.parse([requests[place] for place in fitting], self._pruning)
        for place, result in zip(fitting, found, strict=True):
            results[place] = result
        return results


class _Chunk:
    """Sentences on their way."""

    def __init__(self, parsing: DeviceParsing, items: list[Item]) -> None:
        self._parsing, self.items = parsing, items
        # Of each sentence the results of its batch, and its place among them; or a result of its own.
        self._found: list[BatchResults | ParseResult | None] = [None] * len(items)
        self._place = [0] * len(items)

    def work(self, batches: list[list[int]]) -> Work[None]:
        """Let the device parse; while it works at a batch, the next one is read, and the one before put in order."""
        whole, before = self._parsing.whole, None
        words = [[request.tokens for request in self._requests(batch)] for batch in batches]
        numbers = whole.read(words[0]) if whole and words else None
        for place, sentences in enumerate(words):
            assert whole is not None
            assert numbers is not None
            parsing = whole.parse(sentences, numbers)
            pause = next(parsing)
            if place + 1 < len(words):
                numbers = whole.read(words[place + 1])
            if before is not None:
                self._keep(batches[place - 1], before)
            yield pause
            before = yield from parsing
        if before is not None:
            self._keep(batches[-1], before)
        rest = [
            place
            for place, one in enumerate(self.items)
            if isinstance(one, ReadRequest) and not self._parsing.is_plain(one)
        ]
        for place, result in zip(rest, self._parsing.from_forests(self._requests(rest)), strict=True):
            self._found[place] = result

    def _requests(self, places: list[int]) -> list[ReadRequest]:
        return [one for one in map(self.items.__getitem__, places) if isinstance(one, ReadRequest)]

    def _keep(self, batch: list[int], found: TreeArrays) -> None:
        results = self._parsing.results(self._requests(batch), found)
        for number, place in enumerate(batch):
            self._found[place], self._place[place] = results, number

    def results(self) -> Iterator[ParseResult | GramianError]:
        """Yield the results in order."""
        for item, found, place in zip(self.items, self._found, self._place, strict=True):
            result = found.result(place) if isinstance(found, BatchResults) else found
            if isinstance(item, GramianError):
                yield item
            elif result is not None:
                yield result
            else:
                yield from self._parsing.fallbacks.parse([item])
