"""A session of annotation: a bank, the parser of the moment, and all that annotators can do."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from threading import Lock, Thread

from gramian.annotate.agreement import Agreement, agreement
from gramian.annotate.annotation import Annotation
from gramian.annotate.bank import AnnotationBank, RevisionConflict, StoredAnnotation, check_annotator
from gramian.annotate.edits import Edit, apply_edit
from gramian.annotate.proposals import LabelSet, Proposal, Proposer, usual_tags
from gramian.annotate.retraining import Retrained, retrain
from gramian.annotate.selection import rank
from gramian.errors import GramianError, OptionError
from gramian.parsing.parser import Parser

_CANDIDATES = 500  # sentences among which the next one is chosen
_BATCH = 50  # sentences that are parsed at a time after training
_LONGEST_COMMENT = 10_000
_log = logging.getLogger("gramian.annotate")


@dataclass(frozen=True)
class View:
    """A sentence as an annotator sees it: what is stored, with revision 0 where only a proposal is there, confidences, and suggestions."""

    name: str
    stored: StoredAnnotation
    confidences: tuple[float, ...] | None
    suggestions: tuple[Edit, ...]
    generation: int


class AnnotationSession:
    """What annotators do with a bank; threads may share it.

    Parameters
    ----------
    bank : AnnotationBank
    parser : Parser, optional
        The first parser; without one, sentences are flat until there are trees to train on.
    """

    def __init__(self, bank: AnnotationBank, parser: Parser | None = None) -> None:
        self.bank, self._first = bank, parser
        self._proposals: dict[str, Proposal] = {}
        self._lock, self._training = Lock(), Lock()
        self.generation = 0
        self.message = ""
        known = usual_tags(bank.trees().values())
        self._proposer = Proposer(parser, bank.labels, known)

    @property
    def labels(self) -> LabelSet:
        """The labels of the bank, and those of its trees that it does not list, after them."""
        annotated = LabelSet.of(stored.annotation.tree for stored in self.bank.stored())
        phrases = dict.fromkeys((*self.bank.labels.phrases, *annotated.phrases))
        return LabelSet(tuple(phrases), tuple(dict.fromkeys((*self.bank.labels.tags, *annotated.tags))))

    # -- one sentence ------------------------------------------------------------------------------------------------

    def view(self, annotator: str, name: str) -> View:
        """Return a sentence: as the annotator left it, or with a proposal."""
        stored = self.bank.find(annotator, name)
        if stored is not None:
            return self._viewed(name, stored)
        proposal, generation = self._proposal(name)
        return self._viewed(name, StoredAnnotation(Annotation(proposal.tree)), generation)

    def edit(self, annotator: str, name: str, edit: Edit, *, revision: int, generation: int) -> View:
        """Apply an edit, parse again under all decisions, and save."""
        before = self._current(annotator, name, revision, generation)
        annotation, proposal = self._proposer.revise(apply_edit(before, edit))
        stored = self.bank.save(annotator, name, annotation, revision=revision, before=before)
        return View(name, stored, *proposal[1:], self.generation)

    def finish(self, annotator: str, name: str, *, done: bool, revision: int, generation: int) -> View:
        """Accept the tree, or take that back."""
        before = self._current(annotator, name, revision, generation)
        stored = self.bank.save(annotator, name, replace(before, done=done), revision=revision, before=before)
        return self._viewed(name, stored)

    def comment(self, annotator: str, name: str, text: str, *, revision: int, generation: int) -> View:
        """Replace the comment on a sentence."""
        if len(text) > _LONGEST_COMMENT:
            raise OptionError(f"a comment has at most {_LONGEST_COMMENT:,} characters")
        annotation = replace(self._current(annotator, name, revision, generation), comment=text)
        stored = self.bank.save(annotator, name, annotation, revision=revision)
        return self._viewed(name, stored)

    def undo(self, annotator: str, name: str, *, revision: int) -> View:
        """Take back the last step."""
        return self._viewed(name, self.bank.undo(annotator, name, revision=revision))

    def _current(self, annotator: str, name: str, revision: int, generation: int) -> Annotation:
        stored = self.bank.find(annotator, name)
        if stored is not None:
            return self.bank.at_revision(annotator, name, revision).annotation
        proposal, now = self._proposal(name)
        if now != generation:
            raise RevisionConflict(
                "the parser has been retrained, and its new proposal is shown; repeat your change"
            )
        return Annotation(proposal.tree)

    def _viewed(self, name: str, stored: StoredAnnotation, generation: int | None = None) -> View:
        """Return a sentence with the confidences and suggestions of the present parser, given all decisions."""
        proposal = self._proposer.assess(stored.annotation)
        return View(name, stored, *proposal[1:], self.generation if generation is None else generation)

    def _proposal(self, name: str) -> tuple[Proposal, int]:
        words = self.bank.words(name)
        with self._lock:
            proposer, generation, known = self._proposer, self.generation, self._proposals.get(name)
        if known is None:
            [known] = proposer.propose([words])
            with self._lock:
                if generation == self.generation:
                    self._proposals[name] = known
        return known, generation

    # -- all sentences -----------------------------------------------------------------------------------------------

    def next(self, annotator: str) -> str | None:
        """Return the sentence that is worth most to annotate next, or None if all are finished."""
        check_annotator(annotator)
        unfinished, annotated = [], []
        for name, words in self.bank.sentences.items():
            stored = self.bank.find(annotator, name)
            if stored is not None and stored.annotation.done:
                annotated.append(words)
            else:
                unfinished.append(name)
        candidates = unfinished[:_CANDIDATES]
        self._propose(candidates)
        pairs = [(self.bank.words(name), self._proposal(name)[0]) for name in candidates]
        best = rank(pairs, annotated)
        return candidates[best[0]] if best else None

    def _propose(self, names: Sequence[str]) -> None:
        """Parse sentences together that have no proposal yet."""
        with self._lock:
            proposer, generation = self._proposer, self.generation
            missing = [name for name in names if name not in self._proposals]
        for start in range(0, len(missing), _BATCH):
            batch = missing[start : start + _BATCH]
            proposals = proposer.propose([self.bank.words(name) for name in batch])
            with self._lock:
                if generation != self.generation:
                    return
                self._proposals.update(zip(batch, proposals, strict=True))

    def agreement(self, first: str, second: str) -> Agreement:
        """Compare the finished trees of two annotators."""
        left, right = self.bank.trees(first), self.bank.trees(second)
        both = [name for name in left if name in right]
        return agreement([left[name] for name in both], [right[name] for name in both])

    # -- training ----------------------------------------------------------------------------------------------------

    @property
    def is_training(self) -> bool:
        """Whether the parser is being trained now."""
        return self._training.locked()

    def start_training(self) -> None:
        """Train on everything annotated so far in a thread of its own; ``is_training`` and ``message`` tell how far it is."""
        if not self._training.acquire(blocking=False):
            raise OptionError("the parser is already being trained; try: wait a moment")
        Thread(target=self._train, name="gramian-annotate", daemon=True).start()

    def _train(self) -> None:
        try:
            self.message = "Training ..."
            trees = list(self.bank.trees().values())
            self._use(retrain(trees, self.labels, self._first))
        except GramianError as error:
            self.message = str(error)
        except Exception as error:
            _log.error("training failed", exc_info=error)
            self.message = "Training failed; the log of the server says why. The parser stays as it was."
        finally:
            self._training.release()

    def _use(self, result: Retrained) -> None:
        with self._lock:
            self._proposer, self._proposals = result.proposer, {}
            self.generation += 1
        compared = (
            "" if result.f1 is None else f" (F1 {result.f1:.1f}, the first model {result.first_f1:.1f})"
        )
        name = "The first model is still better" if result.is_first else f"Trained on {result.trees} trees"
        self.message = f"{name}{compared}."
