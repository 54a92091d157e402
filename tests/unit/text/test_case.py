"""Case is restored in lines of title case or capitals, and only there."""

import pytest

from gramian.text.case import CaseRestorer

COUNTS = {
    "council": 3, "approves": 1, "new": 40, "New": 9, "York": 8, "plan": 12, "Plan": 2, "for": 90, "the": 400, "The": 60, "in": 99,
    "dogs": 5, "allowed": 4, "on": 80, "beach": 6, "NASA": 9, "Friday": 7, "Nasa": 0, "he": 20, "visited": 3, "walk": 2,
}  # fmt: skip
RESTORER = CaseRestorer(list(COUNTS), list(COUNTS.values()))


@pytest.mark.parametrize(
    ("line", "restored"),
    [
        ("Council Approves New Plan for York", "Council approves new plan for York"),
        ("NO DOGS ALLOWED ON THE BEACH ON FRIDAY", "No dogs allowed on the beach on Friday"),
        ("NASA APPROVES THE PLAN", "NASA approves the plan"),
        ("York Walks for the Plan", "York walks for the plan"),  # known by its stem
        ("COUNCIL , NEW PLAN !", "Council , new plan !"),
    ],
)
def test_restored(line, restored):
    assert RESTORER.restore(line.split()) == restored.split()


@pytest.mark.parametrize(
    "line",
    [
        "The council approves the plan",
        "He visited New York",
        "NASA",
        "He visited New York in the New Plan",
        "Ann Smith",
        "Bo Xu Li",
        "",
        ". , !",
        "0A 0A",
        "他 在 家",
    ],
)
def test_ordinary_lines_stay(line):
    assert RESTORER.restore(line.split()) is None
