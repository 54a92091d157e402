"""Scores stand in one place; pages tell them as they stand there, and those that need no treebank are measured here."""

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
documented = pytest.importorskip("benchmarks.documented")
RUNS = documented.runs()
SCORES = [(run, score) for run in RUNS for score in run.scores]


def told(page: str) -> set[str]:
    return set(re.findall(r"\d+(?:\.\d+)?", (ROOT / page).read_text("utf-8")))


@pytest.mark.parametrize(("run", "score"), SCORES, ids=lambda one: getattr(one, "at", "") or one.command[0])
def test_pages_tell_scores_as_they_are_documented(run, score):
    spellings = {f"{score.value:g}", f"{score.value:.1f}", f"{score.value:.2f}"}
    for page in score.pages:
        assert spellings & told(page), f"{page} does not tell {score.value} of {' '.join(run.command)}"


def test_the_english_model_parses_everyday_sentences_as_well_as_documented():
    import gramian

    run = next(run for run in RUNS if run.command == ("everyday",))
    wanted = {
        score.at.rpartition(" / ")[2]: score.value for score in run.scores if score.at.startswith("kinds")
    }
    trees = [
        tree
        for path in sorted((ROOT / "tests/data/everyday").glob("*.mrg"))
        for tree in gramian.read_trees(path)
    ]
    scores = gramian.load().evaluate(trees)
    assert scores.f1_gold_tags == pytest.approx(wanted["f1 gold tags"], abs=run.within)
    assert scores.exact == pytest.approx(wanted["exact"], abs=run.within)
