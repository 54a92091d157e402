"""Learning from text without trees (Huang, Harper and Petrov 2010): a teacher parses it, and the model learns from that too."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from gramian.errors import OptionError
from gramian.parsing.model import Model
from gramian.parsing.model_store import load_model, save_model
from gramian.tasks.task_runner import Outcome
from gramian.training.members import Workplace, encoded, member_tasks, whole_model
from gramian.training.recipe import Recipe
from gramian.training.selftraining.raw_text import RawText
from gramian.training.selftraining.teacher import Teacher, parse_text
from gramian.training.training_data import TrainingData
from gramian.trees.labels import treebank_labels

_MOST_SYMBOLS = 1024  # of a treebank whose teacher has a span CRF
_KEPT = (
    "preset",
    "heads",
    "lexicon",
    "horizontal",
    "vertical",
    "random_state",
    "tagged",
    "neural_parameters",
    "encoder",
    "encoder_rate",
)
_MODELS = 4
_A_TREE, _A_SENTENCE = 0.04, 0.016  # processor seconds of learning a teacher, and of its parsing

_log = logging.getLogger(__name__)


def teacher_recipe(recipe: Recipe, data: TrainingData) -> Recipe:
    """Return the recipe of the best product that can be had of the treebank alone in reasonable time."""
    own = {name: getattr(recipe, name) for name in _KEPT}
    expert = recipe.expert
    if data.bank.n_symbols > _MOST_SYMBOLS:
        expert = "neural" if expert in ("neural", "both") else "none"
    elif expert == "none":
        expert = "crf"
    return Recipe(models=max(_MODELS, recipe.n_models), expert=expert, **own)


def text_of(recipe: Recipe) -> RawText:
    """Return the text that a recipe names."""
    if "-" in recipe.text:
        raise OptionError("text is read more than once, which stdin cannot be; try: a file")
    return RawText(tuple(recipe.text), recipe.text_kind, recipe.known, recipe.relations, recipe.text_length)


def seconds_for_text(recipe: Recipe, data: TrainingData) -> float:
    """Guess how long a teacher is learnt and parses; rather too long than too short."""
    taught = recipe.rounds - (recipe.teacher is not None)
    return taught * _A_TREE * data.bank.n_trees + recipe.rounds * _A_SENTENCE * text_of(recipe).count()


def with_silver(
    data: TrainingData, recipe: Recipe, place: Workplace, watch: Callable[[Outcome], None] | None = None
) -> TrainingData:
    """Return the treebank with silver trees of the recipe's text beside it; after several rounds, those of the last."""
    text = text_of(recipe)
    total = text.count()  # what cannot be read is told before a teacher is learnt
    for number in range(recipe.rounds):
        if number == 0 and recipe.teacher is not None:
            model = load_model(recipe.teacher)
        else:
            _log.info("a teacher is learnt from %s", "trees" if data.silver is None else "trees and text")
            model = _taught(teacher_recipe(recipe, data), replace(place, data=data), watch)
        teacher = Teacher(encoded(partial(save_model, model)), _labels(data))
        silver = parse_text(
            replace(text, style=model.tokens),
            teacher,
            place,
            total=total,
            least_confidence=recipe.least_confidence,
            best_trees=recipe.best_trees,
        )
        data = replace(data, silver=silver.scaled(recipe.silver_weight * data.bank.n_trees))
    return data


def _taught(recipe: Recipe, place: Workplace, watch: Callable[[Outcome], None] | None) -> Model:
    tasks = member_tasks(recipe, place.data, place.folder if place.scheduler is None else None)
    return whole_model(tasks, [outcome.value for outcome in place.run(tasks, watch)])


def _labels(data: TrainingData) -> frozenset[str]:
    return frozenset().union(*treebank_labels(data.bank.symbols, data.bank.n_phrases))
