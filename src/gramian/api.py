"""``gramian.train``: from trees to a parser in one call, as ``gramian train`` does it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gramian.base import progress_shown
from gramian.parsing.parser import Parser
from gramian.training.recipe import Recipe
from gramian.training.training_data import TreeSource
from gramian.training.training_run import train as train_model


def train(
    trees: TreeSource,
    *,
    dev: TreeSource | None = None,
    method: str = "best",
    n_states: int | None = None,
    expert: str | bool = False,
    rerank: bool = False,
    calibrate: bool = False,
    models: int | None = None,
    text: str | Sequence[str] = (),
    random_state: int = 0,
    n_jobs: int = 1,
    scheduler: str | None = None,
    checkpoint: str | Path | None = None,
    verbose: bool = False,
    **options: Any,
) -> Parser:
    """Learn to parse from trees; the same bytes, when saved, as from the command ``gramian train``.

    Parameters
    ----------
    trees : path, stream or sequence of Tree
        A file or folder of bracketed trees, or the trees themselves.
    dev : path, stream or sequence of Tree, optional
        Trees to score the model on; its F1 is stored in the model.
    method, n_states, expert, rerank, calibrate, models, text, random_state
        What to learn, and how; see :class:`gramian.training.Recipe`.
    n_jobs : int
        Threads, or processes where the model has several parts; the model does not depend on it.
    scheduler : str, optional
        Address of a Dask scheduler whose workers train the parts instead.
    checkpoint : path, optional
        Beside a file of this name, finished parts of the work are kept, so that the same call goes on if it was stopped.
    verbose : bool
        Show progress on stderr.
    **options
        The other fields of :class:`gramian.training.Recipe`.

    Returns
    -------
    Parser
        Its ``save`` writes what the command writes; with ``full=True``, say ``save(path, half=False)``.

    Examples
    --------
    >>> import gramian
    >>> texts = "(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)))", "(S (NP (PRP it)) (VP (VBZ runs)))"
    >>> parser = gramian.train([gramian.Tree.parse(text) for text in texts] * 30, n_states=2)
    >>> print(parser.parse(["the", "cat", "runs"]).tree)
    (S (NP (DT the) (NN cat)) (VP (VBZ runs)))
    """
    recipe = Recipe(
        method=method,
        n_states=n_states,
        expert=expert,
        rerank=rerank,
        calibrate=calibrate,
        models=models,
        text=text,
        random_state=random_state,
        **options,
    )
    with progress_shown(verbose):
        model = train_model(trees, recipe, dev=dev, n_jobs=n_jobs, scheduler=scheduler, checkpoint=checkpoint)
    return Parser(model)
