"""Every line that the original EVALB printed, for the cases beside this file and for others at hand."""

import os
from pathlib import Path

import pytest

from gramian.evaluate import Parameters, Status, score
from gramian.evaluate.listing import evalb_listing
from gramian.trees import read_trees

HERE = Path(__file__).parent / "evalb"
ELSEWHERE = Path(os.environ.get("GRAMIAN_GOLDEN", Path(__file__).parents[3] / "shared" / "golden")) / "evalb"


def assert_same_output(case: Path) -> None:
    gold = list(read_trees(case.with_suffix(".gold")))
    predicted = list(read_trees(case.with_suffix(".pred")))
    scores = score(gold, predicted, Parameters.from_file(case.with_suffix(".prm")))
    messages = [f"{row.number} : {row.message}" for row in scores.rows if row.status is Status.ERROR]
    assert evalb_listing(scores).splitlines() == case.with_suffix(".out").read_text("utf-8").splitlines()
    assert messages == case.with_suffix(".err").read_text("utf-8").splitlines()


@pytest.mark.parametrize("name", ["collins", "quotes", "unlabelled"])
def test_same_output_as_evalb(name: str) -> None:
    assert_same_output(HERE / name)


def test_same_output_as_evalb_on_cases_elsewhere() -> None:
    cases = sorted(ELSEWHERE.glob("*.gold"))
    if not cases:
        pytest.skip("no cases elsewhere; name the folder that holds evalb/ in GRAMIAN_GOLDEN")
    for case in cases:
        assert_same_output(case)
