"""Files of trees are searched alike, whatever they look like and however many processes look."""

import json
from functools import partial

import pytest

from gramian.errors import InputError
from gramian.search.tree_search import SearchCount, count, search_trees

TREES = [
    "(S (NP (NP (DT the) (NN end)) (PP (IN of) (NP (NN war)))) (VP (VBD came)))",
    "(S (NP (DT the) (NN dog)) (VP (VBD barked)))",
    "(NP (NP (NN top)) (PP (IN of) (NP (`` \") (NN hill) ('' \\))))",
]
PATTERN = "NP < (PP < of < NP=whose)"


@pytest.fixture
def corpus(tmp_path):
    """The same trees as brackets, JSON lines and a table, below one folder."""
    pyarrow = pytest.importorskip("pyarrow", reason="the extra 'corpora' is not installed")
    from pyarrow import parquet

    for name in ("a.txt", "b.txt", "c.txt"):
        (tmp_path / "out" / name).mkdir(parents=True)
    (tmp_path / "out/a.txt/00000.mrg").write_text("\n".join([*TREES[:2], "", TREES[2]]) + "\n")
    records = [
        {"document": "B", "sentence": 10 * place, "tree": tree, "status": "parsed"}
        for place, tree in enumerate(TREES)
    ]
    (tmp_path / "out/b.txt/00000.jsonl").write_text("".join(json.dumps(one) + "\n" for one in records))
    (tmp_path / "out/b.txt/00000.manifest.json").write_text("{}")
    columns = {"tree": [*TREES, ""], "document": ["C"] * 4, "sentence": [0, 1, 2, 3]}
    parquet.write_table(pyarrow.table(columns), tmp_path / "out/c.txt/00000.parquet")
    return str(tmp_path / "out")


@pytest.mark.parametrize("jobs", [1, 2])
def test_all_kinds_of_files(corpus, jobs):
    tally = SearchCount()
    found = list(search_trees(corpus, PATTERN, n_jobs=jobs, tally=tally))
    places = [("a.txt", 1), ("a.txt", 4), ("B", 0), ("B", 20), ("C", 0), ("C", 2)]
    assert [(one.document, one.sentence) for one in found] == places
    assert [one.captures["whose"] for one in found[:2]] == ["(NP (NN war))", "(NP (`` \") (NN hill) ('' \\))"]
    assert [(one.start, one.end) for one in found[:2]] == [(0, 4), (0, 5)]
    assert (tally.trees, tally.hits, tally.matches, tally.faults) == (9, 6, 6, [])
    assert count(corpus, PATTERN, n_jobs=jobs) == tally


def test_a_pattern_with_a_node_that_has_a_name_already(corpus):
    pattern = "NN=x , (DT $. =x)"
    assert [one.match for one in search_trees(corpus, pattern)][:2] == ["(NN end)", "(NN dog)"]
    assert count(corpus, pattern).matches == 6


def test_a_treebank_with_faults_and_several_trees_on_a_line(tmp_path):
    (tmp_path / "x.mrg").write_text("( (S (NP (NN a))))(NP\n (NN b)) (NP (NN c\n\n(NP c) d)\n(NP (NN e))\n")
    tally = SearchCount()
    found = [one.match for one in search_trees(str(tmp_path), "NP", tally=tally)]
    assert found[:2] == ["(NP (NN a))", "(NP (NN b))"]
    assert found[-1] == "(NP (NN e))"
    assert tally.faults


def test_names_that_occur_nowhere_are_reported(tmp_path, command):
    (tmp_path / "x.mrg").write_text("(S (NP-SBJ\n (NN dog)) (VP (VBZ barks)))\n")
    (tmp_path / "y.mrg").write_text("(S (NP (NN cat)) (VP (VBZ sleeps)))\n")
    err = command(str(tmp_path), "NP-SUBJ|NP-SBJ|NP|ROOT << dog|cat|cow !< __", "--count")[2]
    assert err.splitlines()[:-1] == [
        "no label or word is NP-SUBJ; labels like it: NP-SBJ",
        "no label or word is cow",
    ]
    assert command(str(tmp_path), "NP-SBJ << dog", "--count")[:2] == (0, "1\n")


def test_head_rules_are_those_of_the_treebank(tmp_path, command):
    (tmp_path / "x.mrg").write_text(
        "(SENT (NP (DET le) (NC chat) (PP (P de) (NP (NPP Anne)))) (VN (V dort)))\n"
    )
    assert command(str(tmp_path), "SENT <# VN", "--count")[1] == "1\n"
    assert command(str(tmp_path), "SENT <# VN", "--count", "--head-rules", "left")[1] == "0\n"


def test_what_cannot_be_searched(tmp_path):
    (tmp_path / "x.conllu").write_text("1\ta")
    with pytest.raises(InputError, match="no files with trees found"):
        list(search_trees(str(tmp_path), "NP"))
    with pytest.raises(InputError, match="a node is missing"):
        list(search_trees("nowhere", "NP <"))


@pytest.fixture
def command(gramian):
    return partial(gramian, "search")


def test_the_command(corpus, command):
    said = "6 nodes in 6 of 9 trees\n"
    assert command(corpus, PATTERN, "--count") == (0, "6\n", said)
    code, out, err = command(corpus, PATTERN)
    assert (code, err) == (0, said)
    assert out.splitlines()[0] == "a.txt\t1\t(NP (NP (DT the) (NN end)) (PP (IN of) (NP (NN war))))"
    assert command(corpus, "NP", "--whole", "-q")[1].splitlines() == 3 * TREES
    assert command(corpus, PATTERN, "--tally", "whose", "-q")[1].splitlines() == ['3\t" hill \\', "3\twar"]
    record = json.loads(command(corpus, PATTERN, "--json", "--limit", "1")[1])
    assert record["captures"] == {"whose": "(NP (NN war))"}
    assert command(corpus, "NP <", "--count")[0] == 2
    assert "the pattern has no node named 'x'" in command(corpus, "NP", "--tally", "x")[2]
    assert "mutually exclusive" in command(corpus, "NP", "--count", "--json")[2]
