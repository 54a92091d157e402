"""Training of models that differ by seed, by noise (Narayan and Cohen 2015) and by binarisation, each an independent task.

What a task needs and returns is made of JSON values, so that tasks can run in other processes or on other machines, and finished ones can
be kept in a folder; see :mod:`gramian.training.parallel`.
"""

from __future__ import annotations

import base64
import hashlib
import os
import tempfile
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, TypeVar, get_args

from gramian import learn
from gramian.corpus import Shape, Treebank
from gramian.corpus.tagged import TaggedWords
from gramian.errors import InputError, OptionError
from gramian.evaluate import GoldBrackets
from gramian.grammar.compress.compact import compacted
from gramian.learn.noise import LEVELS, Noise
from gramian.loglinear import SpanCRF, SpanModel
from gramian.loglinear.loglinear_store import load as load_expert
from gramian.loglinear.loglinear_store import save as save_expert
from gramian.parsing.model import Model
from gramian.parsing.model_store import load_model, save_model
from gramian.trees import HeadRules, Tree
from gramian.trees import preset as named_preset

__all__ = [
    "Member",
    "data_key",
    "disagreement",
    "expert_of",
    "fold_numbers",
    "model_of",
    "plan_members",
    "task_observations",
    "train_member",
    "whole_model",
    "without_fold",
]

_Loaded = TypeVar("_Loaded")


@dataclass(frozen=True)
class Member:
    """What sets a model apart from the others.

    Attributes
    ----------
    seed : int
    direction : str
        Of binarisation.
    noise : str or None
    noise_level : float
    """

    seed: int
    direction: str
    noise: str | None = None
    noise_level: float = 0.0

    @property
    def kind(self) -> str:
        """Its noise and binarisation, by which models are grouped."""
        return f"{self.noise or 'seeds'} {self.direction}"


def plan_members(
    models: int, noise: str = "seeds", directions: Sequence[str] = ("right", "left"), seed: int = 0
) -> list[Member]:
    """Share noises, levels and directions out over a number of models.

    Parameters
    ----------
    models : int
    noise : str
        ``"seeds"`` for none, a noise of :mod:`gramian.learn.noise`, or ``"mixed"`` for all of these in turn.
    directions : sequence of str
        Directions of binarisation, in turn.
    seed : int
        Of the first model.

    Examples
    --------
    >>> [member.kind for member in plan_members(3)]
    ['seeds right', 'seeds left', 'seeds right']
    """
    schemes: list[str | None] = (
        [None, *get_args(Noise)] if noise == "mixed" else [noise if noise != "seeds" else None]
    )
    if not {scheme for scheme in schemes if scheme} <= set(get_args(Noise)):
        raise OptionError(f"noise is seeds, mixed, {' or '.join(get_args(Noise))}, not {noise!r}")
    members = []
    for number in range(models):
        turn = number // len(directions)
        scheme = schemes[turn % len(schemes)]
        level = LEVELS[turn // len(schemes) % len(LEVELS)] if scheme else 0.0
        members.append(Member(seed + number, directions[number % len(directions)], scheme, level))
    return members


def data_key(path: str) -> str:
    """Return a hash of a file's or folder's content, so that work on other data is not taken for finished."""
    digest = hashlib.sha256()
    files = sorted(filter(Path.is_file, Path(path).rglob("*"))) if os.path.isdir(path) else [Path(path)]
    try:
        for file in files:
            digest.update(file.read_bytes())
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", path, hint="the path of a treebank") from None
    return digest.hexdigest()[:24]


def train_member(task: dict[str, Any], say: Callable[[str], None] | None = None) -> dict[str, Any]:
    """Train one model.

    Parameters
    ----------
    task : dict
        ``trees``, ``tagged`` (paths; the second may be None), ``data`` (:func:`data_key` of these),
        ``preset``, ``horizontal``, ``vertical``, ``skip_broken``, ``heads``, ``member``
        (fields of :class:`Member`), ``learner`` (name of a class of :mod:`gramian.learn`, or SpanCRF), ``parameters`` (of the
        learner), ``compact``. With ``fold``, the arguments of :func:`fold_numbers`, that fold of the trees is left out; see
        :mod:`gramian.training.folds`.
    say : callable, optional
        Called with a line of text as learning goes on.

    Returns
    -------
    dict
        ``model``: the bytes of a model file in base 64; see :func:`model_of`. ``peak memory (MB)``: of the process so far.
        Or ``expert``: likewise the bytes of a span CRF; see :func:`expert_of`.
    """
    member = Member(**task["member"])
    seen = task_observations(task)
    parameters = dict(task["parameters"]) | {"verbose": say is not None}
    if task["learner"] != "PCFG":  # which leaves nothing to chance
        parameters["random_state"] = member.seed
    if task["learner"] == "SpanCRF":
        expert = SpanCRF(**parameters).fit(seen.bank)
        return {"expert": _encoded(partial(save_expert, expert.model_))}
    if member.noise:
        parameters |= {"clustering__noise": member.noise, "clustering__noise_level": member.noise_level}
    learner = getattr(learn, task["learner"])().set_params(**parameters).fit(seen)
    report = {
        name: value for name, value in learner.report_.items() if name not in ("seconds", "peak memory (MB)")
    }
    grammar = learner.model_
    if task["compact"]:
        grammar, loss = compacted(grammar)
        report |= {"low rank": loss} if loss else {}
    return {
        "model": _encoded(partial(save_model, Model(grammar, report=report))),
        "peak memory (MB)": learner.report_["peak memory (MB)"],
    }


def task_observations(task: dict[str, Any]) -> learn.Observations:
    """Return the treebank of a task for :func:`train_member`, less its fold if it has one; kept for the next task."""
    return _observations(
        task["trees"], task["tagged"], tuple(task["data"]), task["preset"], task["member"]["direction"], task["horizontal"],
        task["vertical"], task["skip_broken"], task["heads"],
        tuple(task["fold"]) if "fold" in task else None,
    )  # fmt: skip


def expert_of(result: dict[str, Any]) -> SpanModel:
    """Return the span CRF that :func:`train_member` made."""
    return _decoded(result["expert"], load_expert)


def model_of(result: dict[str, Any]) -> Model:
    """Return the model that :func:`train_member` made."""
    return _decoded(result["model"], load_model)


def whole_model(tasks: Sequence[dict[str, Any]], results: Sequence[dict[str, Any]]) -> Model:
    """Return one model of all that tasks made for :func:`train_member`: grammars, and an expert if there is one.

    Parameters
    ----------
    tasks, results : sequence of dict
        What :func:`train_member` took and returned.
    """
    members = [
        Member(**task["member"]) for task, result in zip(tasks, results, strict=True) if "model" in result
    ]
    models = [model_of(result) for result in results if "model" in result]
    report = dict(models[0].report) | {"members": [asdict(member) for member in members]}
    expert = next((expert_of(result) for result in results if "expert" in result), None)
    return Model(
        models[0].grammar,
        report=report,
        others=tuple(one.grammar for one in models[1:]),
        expert=expert,
        kinds=tuple(member.kind for member in members),
    )


def fold_numbers(n_trees: int, number: int, of: int, spread: bool = False) -> list[int]:
    """Return which trees a fold has.

    Folds are stretches of neighbouring trees: sentences of one text share words and turns of phrase, and a model that has seen the
    neighbours of a sentence knows more about it than about a new text. With `spread` a fold has trees from everywhere, at equal
    distances: it is like the whole, though its trees are easier than those of a new text.

    Examples
    --------
    >>> [fold_numbers(10, number, 3) for number in range(3)]
    [[0, 1, 2], [3, 4, 5], [6, 7, 8, 9]]
    >>> fold_numbers(10, 2, 3, spread=True)
    [2, 5, 8]
    """
    if not 0 <= number < of <= n_trees:
        raise OptionError(f"fold {number} of {of} cannot be had of {n_trees:,} trees; try: fewer folds")
    if spread:
        return list(range(number, n_trees, of))
    return list(range(n_trees * number // of, n_trees * (number + 1) // of))


def without_fold(bank: Treebank, number: int, of: int, spread: bool = False) -> Treebank:
    """Return a treebank less one fold."""
    left_out = set(fold_numbers(bank.n_trees, number, of, spread))
    return bank.subset([tree for tree in range(bank.n_trees) if tree not in left_out])


def _encoded(save: Callable[[Path], None]) -> str:
    """Return the bytes that `save` writes to a file, in base 64."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "file"
        save(file)
        return base64.b64encode(file.read_bytes()).decode("ascii")


def _decoded(text: str, load: Callable[[Path], _Loaded]) -> _Loaded:
    """Return what `load` makes of a file with the bytes that `text` stands for."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "file"
        file.write_bytes(base64.b64decode(text))
        return load(file)


@lru_cache(maxsize=2)
def _observations(
    trees: str,
    tagged: str | None,
    data: tuple[str, ...],
    preset: str,
    direction: Any,
    horizontal: int,
    vertical: int,
    skip_broken: bool,
    heads: str,
    fold: tuple[int, int] | tuple[int, int, bool] | None,
) -> learn.Observations:
    """Read a treebank; models of the same binarisation that are trained one after the other share it with its features."""
    rules = HeadRules.named("collins" if heads == "auto" else heads) if direction == "head" else None
    with warnings.catch_warnings():  # told when the treebank was first read
        warnings.simplefilter("ignore")
        bank = Treebank.read(
            trees, options=named_preset(preset), shape=Shape(direction, horizontal, vertical), heads=rules,
            broken="skip" if skip_broken else "raise",
        )  # fmt: skip
    if fold is not None:  # made anew, so that nothing that occurs in the fold alone has a name
        bank = Treebank.from_trees(
            without_fold(bank, *fold).trees(), options=named_preset("whole"), shape=bank.shape, heads=rules
        )
    words = None if tagged is None else TaggedWords.read(tagged)
    return learn.Observations(bank, tagged=words, keep_features=True)


def disagreement(parses: Sequence[Sequence[Tree]]) -> list[list[float]]:
    """Return, for each pair of models, 100 less the F1 of one's trees against the other's.

    Parameters
    ----------
    parses : sequence of sequences of Tree
        The trees that each model has for the same sentences.

    Examples
    --------
    >>> one, other = Tree.parse("(S (NP (D a) (N b)) (V c))"), Tree.parse("(S (D a) (VP (N b) (V c)))")
    >>> disagreement([[one], [one], [other]])
    [[0.0, 0.0, 50.0], [0.0, 0.0, 50.0], [50.0, 50.0, 0.0]]
    """
    scorers = [GoldBrackets(trees) for trees in parses]
    return [[round(100 - scorer.score(trees).f1, 2) for trees in parses] for scorer in scorers]
