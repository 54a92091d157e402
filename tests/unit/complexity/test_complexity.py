"""Measures of complexity: by hand, against the definitions of patterns, with intervals, and the command."""

import csv
import io
import json

import numpy as np
import pytest
from pattern_reference import count

from gramian import measure_complexity
from gramian.complexity.document_measures import (
    COUNTS,
    MEASURES,
    ComplexityMeter,
    intervals,
    measure_tree,
    measures,
)
from gramian.complexity.structures import INDICES, PATTERNS, count_structures, structure_matchers
from gramian.search.pattern_parser import parse_pattern
from gramian.trees import HeadRules, Tree, annotation_scheme

SIMPLE = "(S (NP (PRP I)) (VP (VBP sleep)) (. .))"
COMPLEX = """(S (S (NP-SBJ (PRP I)) (VP (VBP know) (SBAR (IN that) (S (NP (NP (DT the) (JJ old) (NN man)) (SBAR (WHNP (WP who))
    (S (VP (VBD came))))) (VP (VBZ sleeps)))))) (, ,) (CC and) (S (NP (-NONE- *)) (VP (MD can) (VP (VB wake) (CC or) (VB rest)))) (. .))"""
FRAGMENT = "(FRAG (ADVP (RB not)) (NP (PRP$ my) (NN fault)) (. .))"
QUESTION = "(SQ (VBZ is) (NP (PRP it)) (ADJP (JJ good)) (. ?))"
TREES = [Tree.parse(text) for text in (SIMPLE, COMPLEX, FRAGMENT, QUESTION)]


def test_the_counts_by_hand():
    complexity = measure_complexity(TREES[1:2])
    # clauses: I know, the man sleeps, who came, can wake or rest; nominals: the old man who came, that the old man ... sleeps
    assert {name: complexity[name] for name in COUNTS} == {
        "W": 14, "S": 1, "VP": 4, "C": 4, "T": 2, "DC": 2, "CT": 1, "CP": 1, "CN": 2,
    }  # fmt: skip
    assert complexity["MLT"] == 7
    assert complexity["DC/C"] == 0.5
    fragment, question = (measure_complexity([tree]) for tree in TREES[2:])
    assert [fragment[name] for name in ("W", "C", "T")] == [3, 1, 1]
    assert [question[name] for name in ("W", "VP", "C")] == [3, 1, 1]


def test_the_counts_are_those_of_the_definitions():
    roots = [Tree("ROOT", [tree]) for tree in TREES]
    expected = [
        [sum(count(parse_pattern(text), tree) for text in texts) for texts in PATTERNS.values()]
        for tree in roots
    ]
    assert count_structures([str(tree) for tree in roots], structure_matchers()).tolist() == expected


def test_depths_by_hand():
    # a: 2 right siblings and 0; b: 1 and 0, x: 0; leftmost: a below A below S (1 + 1.5), b below B (1), x below X (1)
    tree = Tree.parse("(S (A (Q a)) (B (Q b)) (C (S (X x) (Y y))))")
    found = measure_tree(tree, HeadRules.named("left"))
    assert found.words == 4
    assert found.yngve == 2 + 1 + 1 + 0
    assert found.frazier == (1 + 1.5) + 1 + (1.5 + 1) + 0
    assert found.embedding == 1
    assert (found.dependencies, found.dependency_lengths) == (3, 1 + 2 + 1)


def test_everything_is_added_up():
    complexity = measure_complexity(TREES)
    assert tuple(complexity) == MEASURES
    for name, (numerator, denominator) in INDICES.items():
        assert complexity[name] == complexity[numerator] / complexity[denominator]
    parts = [measure_complexity([tree]) for tree in TREES]
    assert all(complexity[name] == sum(part[name] for part in parts) for name in COUNTS)


def test_empty_trees_and_other_schemes():
    nothing = measure_complexity([Tree("")])
    assert (nothing["W"], nothing["MLS"], nothing["yngve_depth"]) == (0, None, None)
    french = measure_complexity([Tree.parse("(SENT (VN (CLS-SUJ il) (V dort)) (PONCT .))")])
    assert (french["W"], french["S"], french["MLS"], french["C"], french["C/T"]) == (2, 1, 2.0, None, None)


def test_intervals_hold_their_share_of_the_samples():
    meter = ComplexityMeter(annotation_scheme("penn"), HeadRules.collins())
    drawn = meter.sums(TREES[:2])
    rows = drawn[np.random.default_rng(0).integers(2, size=400)]
    bounds = intervals(rows)
    assert (bounds["W_low"], bounds["W_high"]) == (2, 14)
    constant = intervals(drawn[:1].repeat(5, axis=0))
    one = measures(drawn[0])
    assert all(constant[f"{name}_{side}"] == one[name] for name in MEASURES for side in ("low", "high"))


@pytest.fixture
def command(gramian, monkeypatch, tmp_path):
    def call(*arguments):
        monkeypatch.chdir(tmp_path)
        return gramian("complexity", *arguments)

    return call


def test_the_command(command, tmp_path):
    (tmp_path / "bank").mkdir()
    (tmp_path / "bank/a.mrg").write_text("".join(f"({tree})\n" for tree in TREES))
    (tmp_path / "bank/b.mrg").write_text(f"{SIMPLE}\n")
    code, out, err = command("bank")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert (code, err, [row["document"] for row in rows]) == (0, "2 documents\n", ["a.mrg", "b.mrg"])
    expected = measure_complexity(TREES)
    assert all(float(rows[0][name]) == pytest.approx(value, abs=1e-4) for name, value in expected.items())
    row = json.loads(command("bank/b.mrg", "--to", "json")[1])
    assert (row["document"], row["W"], row["DC"]) == ("b.mrg", 2, 0)
    assert command("bank/b.mrg", "--samples", "2")[0] == 2


def test_texts_are_parsed(command, tmp_path):
    (tmp_path / "a.txt").write_text("The dog barks. I think that the old man sleeps.\n")
    row = json.loads(command("a.txt", "--to", "json", "--samples", "5", "--seed", "1")[1])
    assert (row["W"], row["S"]) == (10, 2)
    assert all(row[f"{name}_low"] <= row[f"{name}_high"] for name in MEASURES)
