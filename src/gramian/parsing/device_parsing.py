"""Sentences by the thousand on a device: batches by length, trees built here while the device works at the next sentences.

Models whose experts know labels over spans run there from tokens to trees. Where a span CRF or a reranker must see forests, or more than
the best tree is asked for, the device fills the charts and the rest is done here. Whatever has no tree under the usual pruning goes to
:mod:`gramian.parsing.fallbacks`, sentence by sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, TypeAlias

from gramian.chart.backend import ChartInput
from gramian.chart.chart_parser import ChartParser
from gramian.chart.combine import WeightedExpert
from gramian.chart.constraints import Constraints
from gramian.chart.decode import DECODERS
from gramian.chart.gpu.batch_parser import BatchParser, DeviceNet
from gramian.chart.gpu.net_labels import NetLabels
from gramian.chart.gpu.pause import Work
from gramian.chart.gpu.torch_backend import TorchBackend
from gramian.chart.gpu.word_rows import WordRows
from gramian.chart.label_table import label_table
from gramian.chart.tree_arrays import TreeArrays
from gramian.experts.label_expert import LabelExpert
from gramian.grammar.lexicon import joined
from gramian.parsing.batch_results import BatchResults
from gramian.parsing.calibration import Calibration
from gramian.parsing.fallbacks import Attempts, Request
from gramian.parsing.limits import Limits
from gramian.parsing.result import ParseResult, Reranker, read_result
from gramian.parsing.sentences import Constrained, ReadSentence, Sentence, read_sentence
from gramian.parsing.words import WordTable
from gramian.text.rule_tokenizer import TextToken
from gramian.torch_device import find_device

if TYPE_CHECKING:
    from gramian.parsing.parser import Parser

_FIRST, _AHEAD = 2048, 8192  # sentences that are put in order by length: of the first, and at most
_FORESTS = 256  # the same where forests come back
_PADDING = 1.15  # how much longer than the shortest the longest sentence of a batch may be

Read: TypeAlias = tuple[Request, ReadSentence]
Item: TypeAlias = ReadSentence | Read
"""A sentence of which nothing special is wanted, or one with what is wanted of it."""
Cut: TypeAlias = Callable[[str], Sequence[TextToken]]
Ask: TypeAlias = Callable[[ReadSentence, Constraints | None], Request]


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

    def parse(self, sentences: Iterable[Sentence], cut: Cut, ask: Ask) -> Iterator[ParseResult]:
        """Parse sentences as they come; results come in the same order.

        While the device works at some sentences, the results of those before are built and given out, and the next are read.

        Parameters
        ----------
        sentences : iterable
        cut : callable
            How text is cut into words.
        ask : callable
            Takes a sentence that was read, and constraints, and returns what is wanted of it.
        """
        wanted = ask(ReadSentence([], None, None), None)
        is_plain = self._whole is not None and wanted.k == 1 and wanted.decoder == DECODERS[0]

        def read(sentence: Sentence) -> Item:
            if isinstance(sentence, Constrained):
                own = read_sentence(sentence.sentence, cut)
                return ask(own, sentence.constraints), own
            own = read_sentence(sentence, cut)
            return own if is_plain and own.given is None else (ask(own, None), own)

        source, most = map(read, sentences), self._chunk_size
        size = min(_FIRST, most)
        done: Iterator[ParseResult] = iter(())
        ahead: list[Item] = []
        while ahead := [*ahead, *islice(source, size - len(ahead))]:
            chunk, ahead = _Chunk(self, ahead, ask), []
            size = min(2 * size, most)
            for pause in chunk.work(self.batches(chunk.items, wanted.limits)):
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

    @property
    def _chunk_size(self) -> int:
        return _FORESTS if self._whole is None else _AHEAD

    def one(self, request: Request, read: ReadSentence) -> ParseResult:
        """Parse a sentence here."""
        result, _ = self._attempts.parse(request)
        return self._finished(result, read)

    def _finished(self, result: ParseResult, about: ReadSentence) -> ParseResult:
        sure = self._calibration.confidences(result.tree, result.confidences)
        return replace(result, confidences=sure, offsets=about.offsets)

    def batches(self, items: Sequence[Item], limits: Limits) -> list[list[int]]:
        """Return numbers of plain sentences that make batches, the longest first; what does not fit into limits is in none."""
        if self._whole is None:
            return []
        lengths = [len(one.tokens) if isinstance(one, ReadSentence) else 0 for one in items]
        fitting = {length for length in set(lengths) if length and self._fits(limits, length)}
        order = [place for place, length in enumerate(lengths) if length in fitting]
        order.sort(key=lengths.__getitem__, reverse=True)
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

    def _fits(self, limits: Limits, n_words: int) -> bool:
        """Whether a sentence may be parsed in one piece under the usual pruning."""
        pruning = self._attempts.pruning
        return n_words > 0 and limits.fit(pruning, n_words, self._attempts.n_rules) is pruning

    def results(self, reads: Sequence[ReadSentence], found: TreeArrays) -> BatchResults:
        """Return the results of a batch."""
        assert self._whole is not None
        return BatchResults(found, reads, self._whole.labels.names, self._calibration)

    def from_forests(self, reads: Sequence[Read]) -> list[ParseResult | None]:
        """Return the results of sentences whose charts the device fills."""
        fitting = [place for place, (one, _) in enumerate(reads) if self._fits(one.limits, len(one.tokens))]
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

    def __init__(self, parsing: DeviceParsing, items: list[Item], ask: Ask) -> None:
        self._parsing, self.items, self._ask = parsing, items, ask
        # Of each sentence the results of its batch, and its place among them; or a result of its own.
        self._found: list[BatchResults | ParseResult | None] = [None] * len(items)
        self._place = [0] * len(items)

    def work(self, batches: list[list[int]]) -> Work[None]:
        """Let the device parse; while it works at a batch, the next one is read, and the one before put in order."""
        whole, before = self._parsing._whole, None
        words = [[self._read(place).tokens for place in batch] for batch in batches]
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
        rest = [place for place, one in enumerate(self.items) if not isinstance(one, ReadSentence)]
        asked: list[Read] = [self.items[place] for place in rest]  # type: ignore[misc]
        for place, result in zip(rest, self._parsing.from_forests(asked), strict=True):
            self._found[place] = result

    def _read(self, place: int) -> ReadSentence:
        one = self.items[place]
        return one if isinstance(one, ReadSentence) else one[1]

    def _keep(self, batch: list[int], found: TreeArrays) -> None:
        results = self._parsing.results([self._read(place) for place in batch], found)
        for number, place in enumerate(batch):
            self._found[place], self._place[place] = results, number

    def results(self) -> Iterator[ParseResult]:
        """Yield the results in order."""
        for item, found, place in zip(self.items, self._found, self._place, strict=True):
            result = found.result(place) if isinstance(found, BatchResults) else found
            if result is None:
                asked = (self._ask(item, None), item) if isinstance(item, ReadSentence) else item
                result = self._parsing.one(*asked)
            yield result
