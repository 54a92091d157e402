"""Every parameter of every estimator has a constraint, and ``fit`` refuses what breaks it, in one form of sentence."""

import importlib
import logging
import pkgutil
import re
import subprocess
import sys
from dataclasses import dataclass, fields, replace
from typing import ClassVar

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone

import gramian
from gramian.base import Estimator, number_of_jobs
from gramian.errors import MissingExtraError, OptionError
from gramian.value_types import (
    Boolean,
    Constraint,
    Each,
    Either,
    Function,
    InstanceOf,
    Jobs,
    MappingOf,
    Number,
    OneOf,
    Whole,
    check_options,
    check_value,
    or_none,
)

NOT_LIBRARIES = ("gramian.web", "gramian.cli", "gramian.interop", "gramian.__main__")


def estimator_classes() -> list[type[Estimator]]:
    for module in pkgutil.walk_packages(gramian.__path__, "gramian."):
        if not module.name.startswith(NOT_LIBRARIES):
            try:
                importlib.import_module(module.name)
            except MissingExtraError:
                pass  # a module of torch says what to install
            except ModuleNotFoundError as error:
                if error.name not in ("torch", "triton", "transformers"):  # of the extras for neural experts
                    raise
    found, new = set(), {Estimator}
    while new:
        new = {
            below for one in new for below in one.__subclasses__() if below.__module__.startswith("gramian.")
        }
        found |= new
    return sorted((one for one in found if "__init__" in vars(one)), key=lambda one: one.__name__)


ESTIMATORS = estimator_classes()


def test_every_estimator_has_the_one_base():
    found = [one for one in BaseEstimator.__subclasses__() if one.__module__.startswith("gramian.")]
    assert found == [Estimator]
    assert len(ESTIMATORS) >= 13


def bad_values(constraint: Constraint) -> list[object]:
    """Return values that a constraint must refuse."""
    bad: list[object] = [object(), "wieghted"]
    if isinstance(constraint, Number):
        bad += [True, float("nan"), float("inf"), [1]]
        bad += [] if constraint.least is None else [constraint.least - 1]
        bad += [] if constraint.most is None else [constraint.most + 1]
        bad += [one for one in (constraint.above, constraint.below) if one is not None]
    if isinstance(constraint, Whole):
        bad += [1.5]
    if isinstance(constraint, Jobs):
        bad += [0, -2]
    if isinstance(constraint, Each):
        bad += [[], *([one] for one in bad_values(constraint.constraint))]
    if isinstance(constraint, MappingOf):
        bad += [{"a": one} for one in bad_values(constraint.constraint)]
    if isinstance(constraint, Either):
        bad += [one for part in constraint.constraints for one in bad_values(part)]
    return [one for one in bad if constraint.complaint("it", one) is not None]


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_every_parameter_has_a_constraint_that_its_default_obeys(kind):
    assert kind.parameter_constraints().keys() == set(kind._get_param_names())
    kind().check_parameters()


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_bad_values_are_refused_in_fit(kind):
    for name, constraint in kind.parameter_constraints().items():
        for value in bad_values(constraint):
            with pytest.raises(OptionError) as caught:
                kind(**{name: value}).fit([])
            assert re.match(rf"{name}(\[.*\]|\.\w+)? must be .+, got ", str(caught.value)), caught.value


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_bad_fields_of_option_objects_are_refused_in_fit(kind):
    for name, options in kind().get_params(deep=False).items():
        for field, constraint in getattr(options, "_constraints", {}).items():
            for value in bad_values(constraint):
                with pytest.raises(OptionError, match=rf"^{name}\.{field}(\[.*\])? must be .+, got "):
                    kind(**{name: replace(options, **{field: value})}).fit([])


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_option_objects_declare_every_field(kind):
    for options in kind().get_params(deep=False).values():
        if hasattr(options, "_constraints"):
            assert options._constraints.keys() == {field.name for field in fields(options)}


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_constructors_are_short_and_clones_are_equal(kind):
    assert len(kind._get_param_names()) <= 18
    assert clone(kind()).get_params().keys() == kind().get_params().keys()


@pytest.mark.parametrize(
    ("constraint", "value", "sentence"),
    [
        (Whole(1), 0, "it must be at least 1, got 0"),
        (Whole(1), 1.0, "it must be a whole number, got 1.0"),
        (Number(0, below=1), 1, "it must be at least 0 and less than 1, got 1"),
        (Number(0), float("nan"), "it must be a finite number, got nan"),
        (OneOf("weighted", "raw"), "wieghted", "it must be one of weighted, raw, got 'wieghted'"),
        (OneOf(0, 1), True, "it must be one of 0, 1, got True"),
        (Boolean(), 1, "it must be true or false, got 1"),
        (or_none(Whole(1)), -1, "it must be at least 1, got -1"),
        (or_none(Whole(1)), "x", "it must be a whole number or None, got 'x'"),
        (Jobs(), 0, "it must be at least 1, or -1 for all processors, got 0"),
        (Each(Number(above=0)), [1, 0], "it[1] must be above 0, got 0"),
        (Each(Number(above=0)), (), "it must be a sequence of values, got ()"),
        (MappingOf(Whole(1)), {"NP": 0}, "it['NP'] must be at least 1, got 0"),
        (InstanceOf(OptionError), 3, "it must be an OptionError, got 3"),
        (Function(), 3, "it must be a function, got 3"),
        (Whole(1), "x" * 200, "it must be a whole number, got '" + "x" * 76 + "..."),
    ],
)
def test_sentences(constraint, value, sentence):
    assert constraint.complaint("it", value) == sentence
    with pytest.raises(OptionError) as caught:
        check_value("it", value, constraint)
    assert str(caught.value) == sentence


@pytest.mark.parametrize(
    ("constraint", "value"),
    [
        (Whole(1), np.int64(3)),
        (Number(0), np.float32(0.5)),
        (Number(0), 1),
        (Boolean(), np.True_),
        (or_none(Whole(1)), None),
        (Jobs(), -1),
        (Jobs(), None),
        (Each(Number()), np.ones(2)),
    ],
)
def test_good_values(constraint, value):
    assert constraint.complaint("it", value) is None


@dataclass(frozen=True)
class Weights:
    _constraints: ClassVar[dict[str, Constraint]] = {"rule": Number(0)}
    rule: float = 2.0


class Talker(Estimator):
    _constraints: ClassVar[dict[str, Constraint]] = {"weights": InstanceOf(Weights)}

    def __init__(self, weights: Weights = Weights(), *, verbose: bool = False) -> None:
        self.weights, self.verbose = weights, verbose

    def fit(self, data, y=None):
        with self._fitting() as report, report.stage("talking"):
            pass
        return self


def test_fields_of_option_objects_are_parameters():
    talker = clone(Talker()).set_params(weights__rule=3.0)
    assert talker.weights == Weights(3.0)
    assert talker.get_params() == {"weights": Weights(3.0), "weights__rule": 3.0, "verbose": False}
    with pytest.raises(ValueError, match="weights__rul"):
        talker.set_params(weights__rul=1)
    with pytest.raises(OptionError, match=r"^weights\.rule must be at least 0, got -50$"):
        talker.set_params(weights__rule=-50).fit(None)
    with pytest.raises(OptionError, match=r"^rule must be at least 0, got -50$"):
        check_options(Weights(-50))


def test_progress_is_logged(caplog):
    caplog.set_level(logging.INFO, "gramian")
    logger = logging.getLogger(Talker.__module__)
    logger.setLevel(logging.INFO)
    try:
        Talker().fit(None)
    finally:
        logger.setLevel(logging.NOTSET)
    assert caplog.messages == ["talking: 0.0 s"]


def test_verbose_shows_progress_when_nobody_else_does():
    code = "import logging; from gramian.base import Report, progress_shown\n{}\nwith progress_shown({}): Report('gramian.x').say('hello')"
    for before, verbose, shown in (
        ("", True, "hello\n"),
        ("", False, ""),
        ("logging.basicConfig(level='INFO')", True, "INFO:gramian.x:hello\n"),
    ):
        done = subprocess.run(
            [sys.executable, "-c", code.format(before, verbose)], capture_output=True, text=True, check=True
        )
        assert done.stderr == shown


def test_jobs():
    assert [number_of_jobs(one) for one in (None, 1, 3)] == [1, 1, 3]
    assert number_of_jobs(-1) >= 1
