"""What a teacher makes of text without trees, and how far it is to be believed.

The text is read in shards, and each is a task: parsed in processes or on a cluster, and kept when it is finished.
"""

from __future__ import annotations

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

from gramian.errors import GramianError, InputError, counted
from gramian.io import model_files
from gramian.io.schema import Count
from gramian.parsing.model import Model
from gramian.parsing.parser import Parser
from gramian.parsing.result import ParseResult
from gramian.parsing.sentences import ParseRequest, Sentence
from gramian.progress import tell_progress
from gramian.tasks.task_runner import Outcome, run_tasks
from gramian.training.members import TaskRunner
from gramian.training.selftraining.raw_text import RawText
from gramian.training.selftraining.silver_trees import SilverTrees

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
            found = list(_shared(result))
            if result.status not in _TREES:
                left_out[f"no tree of the grammar ({result.status})"] += 1
            elif not all(set(_LABEL.findall(tree)) <= teacher.labels for _, tree in found):
                left_out["labels that the treebank lacks"] += 1
            else:
                sure = confidence(result)
                rows += [(round(sure, 6), round(share, 6), tree) for share, tree in found]
        return {"trees": rows, "left out": dict(left_out)}

    def _results(self, parser: Parser) -> list[ParseResult | GramianError]:
        """Parse the sentences; if no tree has what is required of one, only let nothing cross it."""
        parse = partial(parser.parse_batch, k=self.best_trees, on_error="return")
        results = list[ParseResult | GramianError](parse(self.sentences))
        loose = {
            place: replace(one, constraints=one.constraints.loosened())
            for place, (one, result) in enumerate(zip(self.sentences, results, strict=True))
            if isinstance(one, ParseRequest) and one.constraints is not None
            if isinstance(result, ParseResult) and result.status not in _TREES
        }
        for place, result in zip(loose, parse(loose.values()), strict=True):
            results[place] = result
        return results


def _shared(result: ParseResult) -> Iterator[tuple[float, str]]:
    """Yield the best trees of a sentence, each with its share of their probability."""
    if len(result.alternatives) < 2:
        yield 1.0, str(result.tree)
        return
    most = max(one.log_prob_tree for one in result.alternatives)
    mass = [exp(one.log_prob_tree - most) for one in result.alternatives]
    for one, part in zip(result.alternatives, mass, strict=True):
        if part > 1e-3 * sum(mass):
            yield part / sum(mass), str(one.tree)


def confidence(result: ParseResult) -> float:
    """Return how sure the parser is of a whole tree: the mean confidence of its phrases, or of its tag if it has none.

    Examples
    --------
    >>> from gramian.trees import Tree
    >>> tree = Tree.parse("(S (NP (PRP it)) (VP (VBZ works)))")
    >>> round(confidence(ParseResult(tree, "parsed", -4.5, (1.0, 0.9, 1.0, 0.5, 0.8), tree.words)), 3)
    0.8
    """
    nodes = zip(result.tree.subtrees(), result.confidences, strict=True)
    phrases = [sure for node, sure in nodes if node.word is None] or list(result.confidences)
    return sum(phrases) / max(len(phrases), 1)


def parse_text(
    text: RawText,
    teacher: Teacher,
    runner: TaskRunner,
    *,
    total: int,
    least_confidence: float,
    best_trees: int,
) -> SilverTrees:
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

    shards = _tasks(text.sentences(), teacher.key, best_trees)
    while wave := list(islice(shards, _WAVE)):
        for outcome in run_tasks(
            _run,
            wave,
            shared=teacher,
            n_jobs=runner.n_jobs,
            scheduler=runner.scheduler,
            folder=runner.folder,
            watch=watch,
        ):
            left_out.update(outcome.value["left out"])
            rows = outcome.value["trees"]
            sure = [(one * share, tree) for one, share, tree in rows if one >= least_confidence]
            left_out["not sure enough"] += len(rows) - len(sure)
            parts.append(SilverTrees.of(sure))
    tell_progress(_log, "sentences of text", total, total)
    silver = SilverTrees.joined(parts)
    reasons = "".join(f"; {number:,} {why}" for why, number in sorted(left_out.items()) if number)
    if not len(silver):
        what = f"no tree of its sentences can be learnt from{reasons}"
        raise InputError(what, text.paths[0], hint="another teacher, or other text")
    again = f", {counted(kept, 'shard')} reused from a previous run" if kept else ""
    _log.info("%s of %s sentences of text%s%s", counted(len(silver), "tree"), f"{done:,}", again, reasons)
    return silver


def _run(task: ShardTask, teacher: Teacher) -> dict[str, Any]:
    return task.run(teacher)


def _tasks(sentences: Iterator[Sentence], teacher: str, best_trees: int) -> Iterator[ShardTask]:
    while shard := tuple(islice(sentences, _SHARD)):
        digest = hashlib.sha256(repr(shard).encode("utf-8", "surrogatepass")).hexdigest()[:24]
        yield ShardTask(teacher, digest, best_trees, shard)
