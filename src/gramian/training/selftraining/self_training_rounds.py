"""Learning from text without trees (Huang, Harper and Petrov 2010): a teacher parses it, and the model learns from that too."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace

from gramian.errors import OptionError
from gramian.parsing.model import Model
from gramian.parsing.model_store import load_model
from gramian.tasks.task_runner import Outcome
from gramian.training.members import TaskRunner, member_tasks, whole_model
from gramian.training.selftraining.raw_text import RawText
from gramian.training.selftraining.teacher import Teacher, parse_text
from gramian.training.training_data import TrainingData
from gramian.training.training_settings import TrainingSettings
from gramian.trees.labels import treebank_labels

_MOST_SYMBOLS = 1024  # of a treebank whose teacher has a span CRF
_MODELS = 4
_A_TREE, _A_SENTENCE = 0.04, 0.016  # processor seconds of learning a teacher, and of its parsing

_log = logging.getLogger(__name__)


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
        raise OptionError("text is read more than once, which stdin cannot be; try: a file")
    silver = settings.silver
    return RawText(
        tuple(settings.text), silver.format, silver.constraints, silver.relations, silver.max_length
    )


def seconds_for_text(settings: TrainingSettings, data: TrainingData) -> float:
    """Guess how long a teacher is learnt and parses; rather too long than too short."""
    silver = settings.silver
    taught = silver.rounds - (silver.teacher is not None)
    return taught * _A_TREE * data.bank.n_trees + silver.rounds * _A_SENTENCE * text_of(settings).count()


def with_silver(
    data: TrainingData,
    settings: TrainingSettings,
    runner: TaskRunner,
    watch: Callable[[Outcome], None] | None = None,
) -> TrainingData:
    """Return the treebank with silver trees of the settings' text beside it; after several rounds, those of the last."""
    text = text_of(settings)
    total = text.count()  # what cannot be read is told before a teacher is learnt
    for number in range(settings.silver.rounds):
        if number == 0 and settings.silver.teacher is not None:
            model = load_model(settings.silver.teacher)
        else:
            _log.info("a teacher is learnt from %s", "trees" if data.silver is None else "trees and text")
            model = _taught(teacher_settings(settings, data), replace(runner, data=data), watch)
        teacher = Teacher(model, frozenset().union(*treebank_labels(data.bank.symbols, data.bank.n_phrases)))
        silver = parse_text(
            replace(text, style=model.tokens),
            teacher,
            runner,
            total=total,
            least_confidence=settings.silver.min_confidence,
            best_trees=settings.silver.best_trees,
        )
        data = replace(data, silver=silver.scaled(settings.silver.weight * data.bank.n_trees))
    return data


def _taught(settings: TrainingSettings, runner: TaskRunner, watch: Callable[[Outcome], None] | None) -> Model:
    tasks = member_tasks(settings, runner.data, runner.folder if runner.scheduler is None else None)
    return whole_model(tasks, [outcome.value for outcome in runner.run(tasks, watch)])
