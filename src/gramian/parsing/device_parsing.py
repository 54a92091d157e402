"""Sentences by the thousand on a device: batches by length, trees built here while the device works at the next sentences.

Models whose experts know labels over spans run there from tokens to trees. Where a span CRF or a reranker must see forests, or more than
the best tree is asked for, the device fills the charts and the rest is done here. Whatever has no tree under the usual pruning goes to
:mod:`gramian.parsing.fallbacks`, sentence by sentence.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, TypeAlias

from gramian.chart.backend import ChartInput
from gramian.chart.chart_parser import ChartParser
from gramian.chart.combine import WeightedExpert
from gramian.chart.decode import DECODERS
from gramian.chart.label_table import label_table
from gramian.device.batch_parser import BatchParser, DeviceNet, TreeArrays
from gramian.device.net_labels import NetLabels
from gramian.device.pause import Work
from gramian.device.torch_backend import TorchBackend
from gramian.device.word_rows import WordRows
from gramian.grammar.lexicon import joined
from gramian.neural.label_expert import LabelExpert
from gramian.parsing.batch_results import BatchResults
from gramian.parsing.calibration import Calibration
from gramian.parsing.fallbacks import Attempts, Request
from gramian.parsing.result import ParseResult, Reranker, read_result
from gramian.parsing.sentences import ReadSentence
from gramian.parsing.words import WordTable
from gramian.torch_device import find_device

if TYPE_CHECKING:
    from gramian.parsing.parser import Parser

_FIRST, _AHEAD = 1024, 8192  # sentences that are put in order by length: of the first, and at most
_FORESTS = 256  # the same where forests come back
_PADDING = 1.15  # how much longer than the shortest the longest sentence of a batch may be

Read: TypeAlias = tuple[Request, ReadSentence]


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
        pruning, n_rules = attempts.pruning, attempts.n_rules
        self._fit = cache(lambda limits, n_words: limits.fit(pruning, n_words, n_rules) is pruning)

    def parse(self, requests: Iterable[Read]) -> Iterator[ParseResult]:
        """Parse sentences as they come; results come in the same order.

        While the device works at some sentences, the results of those before are built and given out, and the next are read.
        """
        source, most = iter(requests), self._chunk_size
        size = min(_FIRST, most)
        done: Iterator[ParseResult] = iter(())
        ahead: list[Read] = []
        while ahead := [*ahead, *islice(source, size - len(ahead))]:
            chunk, ahead = _Chunk(self, ahead), []
            size = min(2 * size, most)
            for pause in chunk.work():
                while not pause.is_over:
                    if (result := next(done, None)) is not None:
                        yield result
                    elif len(ahead) < size and (read := next(source, None)) is not None:
                        ahead.append(read)
                    else:
                        break
            yield from done
            done = chunk.results()
        yield from done

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
        return bool(request.tokens) and self._fit(request.limits, len(request.tokens))

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

    def results(self, reads: Sequence[Read], found: TreeArrays) -> BatchResults:
        """Return the results of a batch."""
        assert self._whole is not None
        return BatchResults(found, [read for _, read in reads], self._whole.labels.names, self._calibration)

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
    """Sentences on their way."""

    def __init__(self, parsing: DeviceParsing, reads: list[Read]) -> None:
        self._parsing, self._reads = parsing, reads
        requests = [request for request, _ in reads]
        self._batches = [] if parsing._whole is None else parsing.batches(requests)
        rest = set(range(len(reads))).difference(*self._batches)
        self._rest = sorted(place for place in rest if not parsing.is_plain(requests[place]))
        self._found: list[tuple[BatchResults, int] | None] = [None] * len(reads)
        self._from_forests: dict[int, ParseResult | None] = {}

    def work(self) -> Work[None]:
        """Let the device parse; while it works at a batch, the next one is read, and the one before put in order."""
        whole, before = self._parsing._whole, None
        words = [[self._reads[place][0].tokens for place in batch] for batch in self._batches]
        numbers = whole.read(words[0]) if whole and words else None
        for place, sentences in enumerate(words):
            assert whole is not None
            assert numbers is not None
            parsing = whole.parse(sentences, numbers)
            pause = next(parsing)
            if place + 1 < len(words):
                numbers = whole.read(words[place + 1])
            if before is not None:
                self._keep(self._batches[place - 1], before)
            yield pause
            before = yield from parsing
        if before is not None:
            self._keep(self._batches[-1], before)
        results = self._parsing.from_forests([self._reads[place] for place in self._rest])
        self._from_forests = dict(zip(self._rest, results, strict=True))

    def _keep(self, batch: list[int], found: TreeArrays) -> None:
        results = self._parsing.results([self._reads[place] for place in batch], found)
        for number, place in enumerate(batch):
            self._found[place] = results, number

    def results(self) -> Iterator[ParseResult]:
        """Yield the results in order."""
        for place, (read, found) in enumerate(zip(self._reads, self._found, strict=True)):
            result = found[0].result(found[1]) if found else self._from_forests.get(place)
            yield self._parsing.one(read) if result is None else result
