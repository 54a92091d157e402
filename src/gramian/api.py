"""``gramian.train``: from trees to a parser in one call, as ``gramian train`` does it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gramian.base import progress_shown
from gramian.parsing.parser import Parser
from gramian.training.training_data import TreeSource
from gramian.training.training_run import TrainingRun
from gramian.training.training_settings import ExpertChoice, Method, TrainingSettings


def train(
    trees: TreeSource,
    *,
    dev: TreeSource | None = None,
    method: Method | None = None,
    n_states: int | Mapping[str, int] | None = None,
    ensemble_size: int | None = None,
    expert: ExpertChoice | None = None,
    rerank: bool = False,
    calibrate: bool = False,
    text: str | Path | Sequence[str | Path] = (),
    preset: str | None = None,
    language: str | None = None,
    random_state: int = 0,
    settings: Mapping[str, Any] | None = None,
    n_jobs: int = 1,
    scheduler: str | None = None,
    checkpoint: str | Path | None = None,
    verbose: bool = False,
    **others: Any,
) -> Parser:
    """Train a parser on trees; saved, it has the same bytes as the output of ``gramian train``.

    Parameters
    ----------
    trees : path, stream or sequence of Tree
        A file or folder of bracketed trees, or the trees themselves.
    dev : path, stream or sequence of Tree, optional
        Trees to score the model on; its F1 is stored in the model.
    method, n_states, ensemble_size, expert, rerank, calibrate, text, preset, language, random_state
        The usual settings; see :class:`gramian.training.TrainingSettings`.
    settings : mapping of str to object, optional
        All other settings by the names that ``gramian train --list-settings`` prints, such as ``{"clustering.rank": 16}``.
    n_jobs : int
        Number of threads, or of processes if the model has several parts; the model is the same.
    scheduler : str, optional
        Address of a Dask scheduler whose workers train the parts instead.
    checkpoint : path, optional
        Beside a file of this name, finished parts of the work are kept; after an interruption, the same call resumes.
    verbose : bool
        Show progress on stderr.
    **others
        Settings without a dot in their names, such as ``max_iter=20``.

    Returns
    -------
    Parser
        Its ``save`` writes what the command writes; with ``compress=False``, use ``save(path, half=False)``.

    Examples
    --------
    >>> import gramian
    >>> texts = "(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)))", "(S (NP (PRP it)) (VP (VBZ runs)))"
    >>> parser = gramian.train([gramian.Tree.parse(text) for text in texts] * 30, n_states=2)
    >>> print(parser.parse(["the", "cat", "runs"]).tree)
    (S (NP (DT the) (NN cat)) (VP (VBZ runs)))
    """
    usual = {
        "method": method,
        "n_states": n_states,
        "ensemble_size": ensemble_size,
        "expert": expert,
        "rerank": rerank or None,
        "calibrate": calibrate or None,
        "text": text or None,
        "preset": preset,
        "language": language,
        "random_state": random_state or None,
    }
    given = {name: value for name, value in usual.items() if value is not None}
    chosen = TrainingSettings.of({**(settings or {}), **given}, **others)
    with progress_shown(verbose):
        run = TrainingRun(trees, chosen, dev=dev, n_jobs=n_jobs, scheduler=scheduler, checkpoint=checkpoint)
        return Parser(run.run())
