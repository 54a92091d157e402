"""``gramian sample``: trees that can be read and parsed, the same for the same seed."""

import gzip
from pathlib import Path

import pytest

from gramian.trees import Tree

MODEL = str(Path(__file__).parents[1] / "unit" / "grammar" / "fixtures" / "version-1.grammar")


@pytest.fixture
def sample(gramian):
    def call(*options: str) -> tuple[int, str, str]:
        return gramian("sample", "-m", MODEL, *options)

    return call


def test_trees(sample):
    code, out, err = sample("-n", "40", "--seed", "1")
    trees = [Tree.parse(line) for line in out.splitlines()]
    assert (code, err, len(trees)) == (0, "", 40)
    assert {tree.label for tree in trees} == {"S", "NP"}
    assert out == sample("-n", "40", "--seed", "1")[1] != sample("-n", "40", "--seed", "2")[1]


def test_short_trees_to_a_file(sample, tmp_path):
    code, out, err = sample("-n", "50", "--max-length", "2", "-o", str(tmp_path / "a.mrg.gz"))
    assert (code, out) == (0, "")
    assert "drawn anew" in err
    lines = gzip.decompress((tmp_path / "a.mrg.gz").read_bytes()).decode().splitlines()
    assert len(lines) == 50
    assert max(len(Tree.parse(line).words) for line in lines) <= 2


def test_a_file_that_is_no_model(sample, tmp_path):
    code, out, err = sample("-m", str(tmp_path / "none"))
    assert (code, out) == (2, "")
    assert "no such model file" in err
