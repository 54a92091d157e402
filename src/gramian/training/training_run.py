"""One training, from settings and a treebank to a model: the only place that knows what ``best``, an expert or a reranker are made of."""

from __future__ import annotations

import hashlib
import json
import logging
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from functools import cached_property
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from gramian import __version__
from gramian.chart.forest import Pruning
from gramian.errors import MissingExtraError
from gramian.evaluate import GoldBrackets
from gramian.grammar import LPCFG
from gramian.io import model_files
from gramian.io.lock import locked
from gramian.io.schema import parse_json
from gramian.learn import Watch
from gramian.learn.learner import allocate_states
from gramian.learn.observations import head_rules
from gramian.learn.tables import Layout
from gramian.parsing.limits import expected_seconds
from gramian.parsing.model import Model
from gramian.parsing.parser import Parser
from gramian.progress import tell_progress
from gramian.tasks.task_runner import Outcome, TaskFolder
from gramian.text.text_processor import TextProcessor
from gramian.text.text_training import learn_text_processor
from gramian.training.calibrate import add_cells, calibrate
from gramian.training.folds import add_reranker
from gramian.training.members import Member, TaskRunner, disagreement, member_tasks, whole_model
from gramian.training.search_by_f1 import StateSearch
from gramian.training.selftraining.teacher import seconds_for_text, text_of, with_silver
from gramian.training.setting_groups import check_settings
from gramian.training.training_data import IN_MEMORY, TrainingData, TreeSource, normal_trees, tree_source_name
from gramian.training.training_methods import recorded_options
from gramian.training.training_settings import TrainingSettings
from gramian.treebank.productions import Productions
from gramian.trees import Tree, annotation_scheme
from gramian.trees.scheme import detect_language

_log = logging.getLogger(__name__)


class TrainingRun:
    """A training that is to be done; the trees are read when it is made.

    Parameters
    ----------
    trees : path, stream, trees or TrainingData
        What is learnt from.
    settings : TrainingSettings
    dev : path, stream or trees, optional
        To score the model on; what it scores is stored in it.
    n_jobs : int
        Number of threads, or of processes if the model has several parts; the model is the same.
    scheduler : str, optional
        Address of a Dask scheduler whose workers train the parts instead.
    checkpoint : path, optional
        Finished parts and checkpoints of the work are kept beside a file of this name: ``.members``, ``.search.jsonl``. The same
        training, by the same version of gramian, resumes from there.

    Attributes
    ----------
    settings : TrainingSettings
        With what follows from the data.
    costs : dict
        After :meth:`run`, what differs from run to run: seconds, and memory.

    Examples
    --------
    >>> trees = [Tree.parse("(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)))"), Tree.parse("(S (NP (PRP it)) (VP (VBZ runs)))")] * 30
    >>> model = TrainingRun(trees, TrainingSettings.of(n_states=2, max_iter=1)).run()
    >>> len(model.grammars), model.data["trees"]
    (2, 60)
    """

    def __init__(
        self,
        trees: TreeSource | TrainingData,
        settings: TrainingSettings = TrainingSettings(),
        *,
        dev: TreeSource | None = None,
        n_jobs: int = 1,
        scheduler: str | None = None,
        checkpoint: str | Path | None = None,
    ) -> None:
        check_settings(
            settings, dev=dev is not None, scheduler=scheduler is not None
        )  # before anything is read
        data = trees if isinstance(trees, TrainingData) else TrainingData.read(trees, settings)
        self.data, self.settings = data, replace(settings, preset=data.preset)
        self.dev = None if dev is None else tree_source_name(dev)
        self.gold = None if dev is None else normal_trees(dev, data.preset)
        self.n_jobs, self._checkpoint = n_jobs, checkpoint
        self.runner = TaskRunner(data, n_jobs, scheduler, self._beside("members"))
        self.costs: dict[str, Any] = {}

    def run(self) -> Model:
        """Learn the model, score it if there are trees to score it on, and remove what was kept meanwhile."""
        with nullcontext() if self._checkpoint is None else locked(self._checkpoint):
            model = self.scored(self.learn())
            self.clean()
        return model

    def learn(self) -> Model:
        """Learn the model."""
        began = time.perf_counter()
        if self.settings.has_neural_expert and self.runner.scheduler is None and find_spec("torch") is None:
            # before all others are learnt
            raise MissingExtraError("torch", "neural", "learning a neural expert")
        if self.settings.text:
            self.data = with_silver(self.data, self.settings, self.runner)
            self.runner = replace(self.runner, data=self.data)
        parsed = time.perf_counter() - began
        searched = {"search": self._search()} if self.settings.search.method else {}
        settings = self.settings
        model = self._learn_members()
        if settings.close_cells:
            model = add_cells(model, self.data, settings.random_state)
        options = recorded_options(settings) | searched
        model = replace(
            model,
            options=options,
            data=self._about_data(),
            preset=settings.preset,
            text=self._text_processor(),
        )
        self.costs["seconds"] |= {"text": round(parsed, 3)} if settings.text else {}
        self.costs["seconds"]["all"] = round(time.perf_counter() - began, 3)
        return model

    def scored(self, model: Model) -> Model:
        """Return a model with its scores, if there are trees to score it on."""
        if self.gold is None:
            return model
        began = time.perf_counter()
        model = self._scored(model, self.gold)
        self.costs["seconds"]["all"] = round(self.costs["seconds"]["all"] + time.perf_counter() - began, 3)
        return model

    def would_make(self, header: Mapping[str, Any]) -> bool:
        """Whether a file with this header holds what this training makes, so that nothing is lost if it is replaced."""
        searched = {"n_states", "search"} if self.settings.search.method else set()
        wanted = parse_json(json.dumps(recorded_options(self.settings)))
        stored = dict(header.get("options", {}))
        return (
            header.get("gramian") == __version__
            and all(stored.get(name) == value for name, value in wanted.items() if name not in searched)
            and ("search" in stored) == bool(self.settings.search.method)
            and header.get("data") == self._about_data()
            and (self.gold is not None or not header.get("metrics"))
        )

    def _about_data(self) -> dict[str, Any]:
        """Return what a model file says of what it was learnt from."""
        record = {"source": self.data.source, "trees": self.data.bank.n_trees, "words": self.data.n_words}
        record |= {"language": self._language} if self._language else {}
        record |= {"tagged text": self.settings.tagged_corpus} if self.settings.tagged_corpus else {}
        record |= {"text": list(self.settings.text)} if self.settings.text else {}
        record |= {"spacing": self.settings.spacing_conllu} if self.settings.spacing_conllu else {}
        return record | ({"attribution": self.settings.attribution} if self.settings.attribution else {})

    @cached_property
    def _language(self) -> str | None:
        """The language that is learnt to be read, if it is known."""
        language = self.settings.language
        if language == "auto":
            sentences = (sentence.words for sentence in self.data.bank.sentences())
            return detect_language(sentences, annotation_scheme(self.settings.preset))
        return None if language == "none" else language

    def _text_processor(self) -> TextProcessor | None:
        """Learn how text becomes sentences and words."""
        if self.settings.language == "none":
            return None
        began = time.perf_counter()
        text = learn_text_processor(self.data.bank.sentences(), self._language, self.settings.spacing_conllu)
        if text.tokenizer is not None:
            shown = 100 * text.tokenizer.f1, time.perf_counter() - began
            _log.info("learnt to read text, %.1f of 100 words as in the treebank: %.1f s", *shown)
        return text

    def clean(self) -> None:
        """Remove what was kept for a training that is stopped."""
        if self.runner.folder is not None and self.runner.folder.is_dir():
            TaskFolder(self.runner.folder).remove()

    def estimate(self) -> dict[str, float]:
        """Guess memory and time from the numbers of nodes and cells."""
        settings, bank = self.settings, self.data.bank
        productions = Productions.of(bank)
        occurrences = np.bincount(bank.label, minlength=bank.n_symbols)
        used = settings.estimator().plain_params()
        most = used.get("n_states", 1)
        n_states = allocate_states(occurrences, most, used.get("allocation", "all"), used.get("growth", 0.25))
        layout = Layout.of(productions, n_states)
        work = float((productions.binary_count * np.diff(layout.binary_start)).sum())
        features = 0.0 if most == 1 else 1.2e-5 * len(bank.label)
        cells = int(layout.binary_start[-1])
        models = settings.n_models * (1 + settings.calibrate) * (settings.folds if settings.rerank else 1)
        step = 1e-6 * len(bank.label) + 3 * work / 1e10
        nodes = len(bank.label) * (400 + 12 * float(n_states[bank.label].mean()))
        # as many times as there are trees
        silver = text_of(settings).count() / bank.n_trees if settings.text else 0.0
        features *= 1 + min(silver, IN_MEMORY / bank.n_trees)
        seconds = models * (2 + features + used.get("max_iter", 0) * step * (1 + silver))
        scoring = 0.0
        if self.gold is not None:  # each grammar alone, and all together; or after every step
            times = 2 * settings.n_models if settings.is_bundle else 1
            times += (used.get("max_iter", 0) if settings.keep_best else 0) + (settings.expert != "none")
            rules = len(productions.binary)
            charts = sum(expected_seconds(Pruning(), len(tree.words), rules) for tree in self.gold)
            scoring = times * charts / self.n_jobs
        text = seconds_for_text(settings, self.data) / self.n_jobs if settings.text else 0.0
        return {
            "cells": cells,
            "seconds": round(seconds + scoring + text, 1),
            **({"seconds of these for text": round(text, 1)} if settings.text else {}),
            **({} if self.gold is None else {"seconds of these for scoring": round(scoring, 3)}),
            "megabytes": round(300 + 20 * cells / 1e6 + nodes / 1e6),
        }

    def _beside(self, what: str) -> Path | None:
        return None if self._checkpoint is None else Path(f"{self._checkpoint}.{what}")

    def _search(self) -> dict[str, Any]:
        """Put the numbers of states that a search finds into the settings; return what to record about it."""
        began, settings, options = time.perf_counter(), self.settings, self.settings.search
        judges = None if options.trees is None else normal_trees(options.trees, settings.preset)
        search = StateSearch(self.data, settings, judges, largest=options.largest)
        result = search.run(
            method=options.method,
            budget=options.budget or None,
            symbols=options.symbols or None,
            beam=options.beam,
            step=options.step,
            reach=options.reach,
            together=options.groups,
            by_count=options.by_count,
            n_jobs=self.n_jobs,
            scheduler=self.runner.scheduler,
            log=self._beside("search.jsonl"),
        )
        took = time.perf_counter() - began
        tried = len(result.trials)
        _log.info(
            "%d candidates, F1 from %.2f to %.2f: %.1f s", tried, result.start_score, result.score, took
        )
        self.settings = replace(settings, n_states=search.names(result))
        return {
            "method": options.method,
            "judge": options.trees or "every tenth tree",
            "candidates": tried,
            "labels": [result.finished_labels, result.n_labels],
            "start": round(result.start_score, 3),
            "found": round(result.score, 3),
            "steps": [
                [number, step.symbol, step.states, round(step.score, 3)] for number, step in result.steps()
            ],
        }

    def _learn_members(self) -> Model:
        """Train all members, those already finished excepted, and what is learnt from folds."""
        settings, runner, numbers, before = self.settings, self.runner, count(1), 0
        tasks = member_tasks(settings, self.data, runner.folder if runner.scheduler is None else None)
        # one grammar, whose iterations may be scored and are divided among threads
        if not settings.is_bundle:
            runner = replace(runner, scheduler=None)
            tasks = [replace(task, here=self._here(), depends=self._dependencies()) for task in tasks]
        tell_progress(_log, "models", 0, len(tasks))

        def watch(outcome: Outcome) -> None:
            nonlocal before
            done, before = next(numbers), before + outcome.kept
            if done <= len(tasks):
                tell_progress(_log, "models", done - before, len(tasks) - before)
            what = f"model {done} of {len(tasks)}" if done <= len(tasks) else "on held-out trees"
            _log.info("%s: %s", what, outcome.how)

        outcomes = runner.run(tasks, watch)
        results = [outcome.value for outcome in outcomes]
        costs = [result.costs for result in results]
        seconds = {"models": sum(outcome.seconds for outcome in outcomes)} if settings.is_bundle else {}
        seconds |= {"processor": sum(cost["processor"] for cost in costs)}
        stages = {} if settings.is_bundle else costs[0]["seconds"]
        self.costs = {
            "seconds": stages | {name: round(took, 3) for name, took in seconds.items()},
            "peak memory (MB)": max(cost.get("peak memory (MB)", 0) for cost in costs),
        }
        if not settings.is_bundle:
            model: Model = results[0].part
            return model
        model = whole_model(tasks, results)
        if settings.calibrate:
            model = calibrate(model, tasks, runner, watch)
        if settings.rerank:
            heads = head_rules(settings.heads, self.data.bank)
            model = add_reranker(model, tasks, settings.folds, heads, runner)
        return model

    def _here(self) -> dict[str, Any]:
        """Return the parameters of a single grammar's learner that are not part of the settings."""
        settings = self.settings
        start = {} if settings.start_grammar is None else {"start": settings.start_grammar}
        return (
            {"n_jobs": self.n_jobs}
            | start
            | ({"watch": Watch(self._f1_of_step)} if settings.keep_best else {})
        )

    def _dependencies(self) -> str:
        """Return a hash of what a single grammar depends on besides its task: where it starts, and the trees it is scored on."""
        scored = [str(tree) for tree in self.gold or ()] if self.settings.keep_best else []
        start = self.settings.start_grammar
        checksum = (
            None if start is None else model_files.checksum(*model_files.pack("grammar", Model((start,))))
        )
        return hashlib.sha256(repr((scored, checksum)).encode()).hexdigest()

    def _scored(self, model: Model, gold: list[Tree]) -> Model:
        """Note scores, and those of each grammar alone with what they disagree on if there are several parts."""
        report, together = dict(model.report), ""
        if self.settings.is_bundle:
            parses = [
                self._parses(Model((grammar,)), gold, f"sentences with grammar {number}")
                for number, grammar in enumerate(model.grammars, 1)
            ]
            single = [GoldBrackets(gold).score(trees).f1_gold_tags for trees in parses]
            members, report["members"] = report["members"], []
            for member_record, value in zip(members, single, strict=True):
                member = Member(**member_record)
                _log.info("%s: F1 with gold tags %.2f, %s %d", self.dev, value, member.kind, member.seed)
                report["members"].append(member_record | {"f1_gold_tags": round(value, 3)})
            report["disagreement"] = disagreement(parses)
            together = ", all together"
        scores = GoldBrackets(gold).score(self._parses(model, gold))
        shown = self.dev, scores.f1, scores.f1_gold_tags, scores.tagging, together
        _log.info("%s: F1 %.2f, with gold tags %.2f, tagging %.2f%s", *shown)
        metrics: dict[str, Any] = {name: round(value, 3) for name, value in scores.as_dict().items()}
        metrics |= {"dev": self.dev, "signature": scores.signature()}
        return replace(model, metrics=metrics, report=report)

    def _parses(self, model: Model | LPCFG, gold: list[Tree], what: str = "sentences") -> list[Tree]:
        """Return the best trees of the words of others, and tell of progress."""
        trees: list[Tree] = []
        tell_progress(_log, what, 0, len(gold))
        for result in Parser(model).parse_many([list(tree.words) for tree in gold], n_jobs=self.n_jobs):
            trees.append(result.tree)
            tell_progress(_log, what, len(trees), len(gold))
        return trees

    def _f1_of_step(self, step: int, make: Callable[[], LPCFG]) -> float:
        """Return the F1 that decides which step is kept."""
        assert self.gold is not None
        value = GoldBrackets(self.gold).score(self._parses(make(), self.gold)).f1_gold_tags
        _log.info("step %d: F1 %.2f", step, value)
        return value
