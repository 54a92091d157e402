"""A treebank that is read once: the same arrays as from the file, in whatever binarisation."""

from __future__ import annotations

import dataclasses
import io

import numpy as np
import pytest

from gramian.errors import InputError, OptionError
from gramian.training import Recipe, TrainingData
from gramian.treebank import Shape, Treebank
from gramian.trees import HeadRules, Tree, annotation_scheme

TEXT = """
( (S (NP-SBJ (DT the) (NN cat) (-NONE- *)) (VP (VBZ sees) (NP (DT a) (JJ big) (NN dog)) (PP (IN in) (NP (NN town)))) (. .)) )
( (S (NP (NP (X (NN a@b)) ) (, ,) (NP (NN c|d) (-LRB- -LRB-) (CD 1/2) (-RRB- -RRB-))) (VP (VP (VBZ runs))) (. ?)) )
( (FRAG (INTJ (UH well))) )
"""


def same(one: Treebank, other: Treebank) -> None:
    for field in dataclasses.fields(Treebank):
        if field.name != "removed":
            np.testing.assert_array_equal(getattr(one, field.name), getattr(other, field.name))


@pytest.mark.parametrize(
    "shape", [Shape("left"), Shape("right"), Shape("left", 2), Shape("head"), Shape("left", 1, 2)]
)
def test_a_binarisation_is_that_of_the_file(tmp_path, shape):
    path = tmp_path / "trees.mrg"
    path.write_text(TEXT)
    recipe = Recipe(models=2, direction="head" if shape.direction == "head" else "both", preset="penn")
    recipe = dataclasses.replace(recipe, horizontal=shape.horizontal, vertical=shape.vertical)
    data = TrainingData.read(path, recipe)
    heads = HeadRules.collins() if shape.direction == "head" else None
    same(data.treebank(shape.direction), Treebank.read(path, shape=shape, heads=heads))


def test_a_stream_a_file_and_trees_are_one(tmp_path):
    path = tmp_path / "trees.mrg"
    path.write_text(TEXT)
    recipe = Recipe()
    read = TrainingData.read(path, recipe)
    same(read.bank, TrainingData.read(io.StringIO(TEXT), recipe).bank)
    trees = [Tree.parse(line) for line in TEXT.strip().splitlines()]
    same(read.bank, TrainingData.read(iter(trees), recipe).bank)
    same(read.bank, TrainingData.read(read.bank, dataclasses.replace(recipe, preset="whole")).bank)
    assert (read.source, read.preset, TrainingData.read(trees, recipe).source) == (str(path), "penn", "trees")
    same(read.bank, Treebank.read(path, options=annotation_scheme("penn").options))


def test_tagged_text_has_tags_of_the_treebank(tmp_path, caplog):
    tagged = tmp_path / "tagged"
    tagged.write_text("the/DT ant/NN sings/XYZ\n")
    trees = [Tree.parse(line) for line in TEXT.strip().splitlines()]
    caplog.set_level("INFO", "gramian")
    data = TrainingData.read(trees, Recipe(tagged=str(tagged)))
    assert "read 2 tagged words" in caplog.text
    assert data.key != TrainingData.read(trees, Recipe()).key
    tagged.write_text("sings/XYZ\n")
    with pytest.raises(OptionError, match="none of its tags"):
        TrainingData.read(trees, Recipe(tagged=str(tagged)))


def test_there_must_be_trees():
    with pytest.raises(InputError, match="trees: no tree in it"):
        TrainingData.read([], Recipe())
    with pytest.raises(InputError, match="no tree to learn from"):
        TrainingData.read([Tree.parse("(S (-NONE- *))")], Recipe())
