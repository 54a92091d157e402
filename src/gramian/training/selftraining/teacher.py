"""Learning from text without trees (Huang, Harper and Petrov 2010): a teacher parses it, and the model learns from its silver trees too.

The text is read in shards, and each is a task: parsed in processes or on a cluster, and kept when it is finished.
"""

import hashlib
import logging
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import islice
from math import exp
from typing import Any, ClassVar, TypedDict

from gramian.errors import GramianError, InputError, OptionError, counted
from gramian.io import model_files
from gramian.io.schema import Count
from gramian.parsing.model import Model
from gramian.parsing.model_store import load_model
from gramian.parsing.parser import Parser
from gramian.parsing.result import ParseResult
from gramian.parsing.sentences import ParseRequest, Sentence
from gramian.progress import tell_progress
from gramian.tasks.task_runner import Outcome
from gramian.training.members import TaskRunner, member_tasks, whole_model
from gramian.training.selftraining.raw_text import RawText
from gramian.training.selftraining.silver_trees import SilverTrees
from gramian.training.training_data import TrainingData
from gramian.training.training_settings import TrainingSettings
from gramian.trees.labels import treebank_labels

_SHARD = 500  # sentences that are parsed, and kept, together
_WAVE = 40  # shards whose sentences are in memory at a time
_TREES = ("parsed", "wide", "narrow")  # the status of a result that is a tree of the grammar
_LABEL = re.compile(r"\(([^\s()]+)")

_log = logging.getLogger(__name__)


@dataclass(eq=False)
class Teacher:
    """A model that parses the text, and the labels of the treebank; trees with others are left out."""

    model: Model = field(repr=False)
    labels: frozenset[str] = field(repr=False)

    def __reduce__(self) -> tuple[Any, ...]:
        return Teacher, (self.model, self.labels)

    @cached_property
    def key(self) -> str:
        """A hash of the model and the labels."""
        checksum = model_files.checksum(*model_files.pack("grammar", self.model))
        return hashlib.sha256(f"{checksum} {sorted(self.labels)}".encode()).hexdigest()[:24]

    @cached_property
    def parser(self) -> Parser:
        """The parser; every process makes its own."""
        return Parser(self.model)


ShardResult = TypedDict(
    "ShardResult", {"trees": list[tuple[float, float, str]], "left out": dict[str, Count]}
)


@dataclass(frozen=True)
class ShardTask:
    """Some sentences to be parsed; all that their trees depend on."""

    RESULT: ClassVar[Any] = ShardResult

    teacher: str  # its key
    digest: str  # of the sentences
    best_trees: int
    sentences: tuple[Sentence, ...] = field(repr=False, metadata={"key": False})

    def run(self, teacher: Teacher) -> dict[str, Any]:
        """Return confidences, shares and trees, and of how many sentences nothing is kept, by the reason."""
        rows: list[tuple[float, float, str]] = []
        left_out: Counter[str] = Counter()
        for result in self._results(teacher.parser):
            if isinstance(result, GramianError):  # a token with a space in it, a label that the grammar lacks
                left_out["not to be parsed"] += 1
                continue
            shared_trees = list(_shared(result))
            if result.status not in _TREES:
                left_out[f"no tree of the grammar ({result.status})"] += 1
            elif not all(set(_LABEL.findall(tree)) <= teacher.labels for _, tree in shared_trees):
                left_out["labels that the treebank lacks"] += 1
            else:
                sure = confidence(result)
                rows += [(round(sure, 6), round(share, 6), tree) for share, tree in shared_trees]
        return {"trees": rows, "left out": dict(left_out)}

    def _results(self, parser: Parser) -> list[ParseResult | GramianError]:
        """Parse the sentences; if no tree has what is required of one, only let nothing cross it."""
        parse = partial(parser.parse_batch, k=self.best_trees, on_error="return")
        results = list[ParseResult | GramianError](parse(self.sentences))
        loose = {
            index: replace(sentence, constraints=sentence.constraints.loosened())
            for index, (sentence, result) in enumerate(zip(self.sentences, results, strict=True))
            if isinstance(sentence, ParseRequest) and sentence.constraints is not None
            if isinstance(result, ParseResult) and result.status not in _TREES
        }
        for index, result in zip(loose, parse(loose.values()), strict=True):
            results[index] = result
        return results


def _shared(result: ParseResult) -> Iterator[tuple[float, str]]:
    """Yield the best trees of a sentence, each with its share of their probability."""
    if len(result.alternatives) < 2:
        yield 1.0, str(result.tree)
        return
    most = max(alternative.log_prob_tree for alternative in result.alternatives)
    mass = [exp(alternative.log_prob_tree - most) for alternative in result.alternatives]
    for alternative, part in zip(result.alternatives, mass, strict=True):
        if part > 1e-3 * sum(mass):
            yield part / sum(mass), str(alternative.tree)


def confidence(result: ParseResult) -> float:
    """Return how sure the parser is of a whole tree: the mean confidence of its phrases, or of its tag if it has none."""
    nodes = zip(result.tree.subtrees(), result.confidences, strict=True)
    phrases = [sure for node, sure in nodes if node.word is None] or list(result.confidences)
    return sum(phrases) / max(len(phrases), 1)


def parse_text(text: RawText, teacher: Teacher, runner: TaskRunner, total: int) -> SilverTrees:
    """Return the trees that a teacher makes of a text of about `total` sentences; they count as much as the teacher is sure."""
    done = kept = 0
    left_out: Counter[str] = Counter()
    parts: list[SilverTrees] = []
    tell_progress(_log, "sentences of text", 0, total)

    def watch(outcome: Outcome) -> None:
        nonlocal done, kept
        done += len(outcome.task.sentences)
        kept += outcome.kept
        tell_progress(_log, "sentences of text", min(done, total), total)

    shards = _tasks(text.sentences(), teacher.key, text.silver.best_trees)
    while wave := list(islice(shards, _WAVE)):
        for outcome in replace(runner, data=teacher).run(wave, watch):
            left_out.update(outcome.value["left out"])
            rows = outcome.value["trees"]
            sure = [
                (confidence * share, tree)
                for confidence, share, tree in rows
                if confidence >= text.silver.min_confidence
            ]
            left_out["not sure enough"] += len(rows) - len(sure)
            parts.append(SilverTrees.of(sure))
    tell_progress(_log, "sentences of text", total, total)
    silver = SilverTrees.joined(parts)
    reasons = "".join(f"; {number:,} {why}" for why, number in sorted(left_out.items()) if number)
    if not len(silver):
        problem = f"no tree of its sentences can be learnt from{reasons}"
        raise InputError(problem, text.paths[0], hint="another teacher, or other text")
    again = f", {counted(kept, 'shard')} reused from a previous run" if kept else ""
    _log.info("%s of %s sentences of text%s%s", counted(len(silver), "tree"), f"{done:,}", again, reasons)
    return silver


def _tasks(sentences: Iterator[Sentence], teacher: str, best_trees: int) -> Iterator[ShardTask]:
    while shard := tuple(islice(sentences, _SHARD)):
        digest = hashlib.sha256(repr(shard).encode("utf-8", "surrogatepass")).hexdigest()[:24]
        yield ShardTask(teacher, digest, best_trees, shard)


_MOST_SYMBOLS = 1024  # of a treebank whose teacher has a span CRF
_MODELS = 4
_A_TREE, _A_SENTENCE = 0.04, 0.016  # processor seconds of learning a teacher, and of its parsing


def teacher_settings(settings: TrainingSettings, data: TrainingData) -> TrainingSettings:
    """Return the settings of the best product that can be had of the treebank alone in reasonable time."""
    expert = settings.expert
    if data.bank.n_symbols > _MOST_SYMBOLS:
        expert = "neural" if expert in ("neural", "both") else "none"
    elif expert == "none":
        expert = "crf"
    lexicon = {name: value for name, value in settings.learner.items() if name == "lexicon"}
    return TrainingSettings(
        ensemble_size=max(_MODELS, settings.n_models),
        expert=expert,
        preset=settings.preset,
        heads=settings.heads,
        random_state=settings.random_state,
        tagged_corpus=settings.tagged_corpus,
        binarisation=replace(settings.binarisation, direction=None, collapse_tags=False),
        learner=lexicon,
        neural=settings.neural,
    )


def text_of(settings: TrainingSettings) -> RawText:
    """Return the text that settings name."""
    if "-" in settings.text:
        raise OptionError("text is read several times and cannot come from stdin; try: a file")
    return RawText(tuple(settings.text), settings.silver)


def seconds_for_text(settings: TrainingSettings, data: TrainingData) -> float:
    """Guess how long a teacher is learnt and parses; rather too long than too short."""
    silver = settings.silver
    taught = silver.rounds - (silver.teacher is not None)
    return taught * _A_TREE * data.bank.n_trees + silver.rounds * _A_SENTENCE * text_of(settings).count()


def with_silver(
    data: TrainingData,
    settings: TrainingSettings,
    runner: TaskRunner,
) -> TrainingData:
    """Return the treebank with silver trees of the settings' text beside it; after several rounds, those of the last."""
    text = text_of(settings)
    total = text.count()  # what cannot be read is told before a teacher is learnt
    for number in range(settings.silver.rounds):
        if number == 0 and settings.silver.teacher is not None:
            model = load_model(settings.silver.teacher)
        else:
            _log.info("a teacher is learnt from %s", "trees" if data.silver is None else "trees and text")
            folder = runner.folder if runner.scheduler is None else None
            tasks = member_tasks(teacher_settings(settings, data), data, folder)
            parts = replace(runner, data=data).run(
                tasks, lambda outcome: _log.info("part of the teacher: %s", outcome.how)
            )
            model = whole_model(tasks, [part.value for part in parts])
        teacher = Teacher(model, frozenset().union(*treebank_labels(data.bank.symbols, data.bank.n_phrases)))
        silver = parse_text(replace(text, style=model.tokens), teacher, runner, total)
        data = replace(data, silver=silver.scaled(settings.silver.weight * data.bank.n_trees))
    return data
