"""States in one line."""

import pytest

from gramian.grammar.describe import Share, StateDescription
from gramian.grammar.state_names import state_name


def state(words=(), rules=(), contexts=()):
    parts = [tuple(Share(*part) for part in one) for one in (words, rules, contexts)]
    return StateDescription(0, 0.5, *parts, ())


@pytest.mark.parametrize(
    ("label", "kind", "given", "expected"),
    [
        ("NP", "phrase", state([("he", 0.5)], [("PRP", 0.9)], [("S → · VP .", 0.7)]), "subject personal pronouns: he"),
        ("NP", "phrase", state([("it", 0.5)], [("DT NN", 0.6)], [("VP → VBD ·", 0.6)]), "object noun phrases (DT NN): it"),
        ("NP", "phrase", state([], [("NN", 0.8)], [("PP → IN ·", 0.9)]), "nouns, singular or mass after a preposition"),
        ("NP", "phrase", state([], [("NN", 0.2)], [("PP → IN ·", 0.1)]), "noun phrases"),
        ("S", "phrase", state([], [("NP VP .", 0.8)], [("root", 0.9)]), "sentences or clauses (NP VP .) as a whole"),
        ("VBD", "tag", state([("said", 0.8)], [], [("VP → · SBAR", 0.8)]), "said: before SBAR in a verb phrase"),
        ("NN", "tag", state([("a", 0.3), ("b", 0.001)], [], [("NP → … ·", 0.8)]), "a: in a noun phrase"),
        ("ZZ", "tag", state(), "ZZ"),
        ("QQ", "phrase", state(), "QQ"),
    ],
)  # fmt: skip
def test_lines(label, kind, given, expected):
    assert state_name(given, label, kind) == expected
