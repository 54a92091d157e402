"""A treebank that is read once: the same arrays as from the file, in whatever binarisation."""

import dataclasses
import io

import numpy as np
import pytest

from gramian.errors import InputError, OptionError
from gramian.training import TrainingData, TrainingSettings
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
    settings = TrainingSettings.of(
        {
            "binarisation.direction": "head" if shape.direction == "head" else "both",
            "binarisation.horizontal": shape.horizontal,
            "binarisation.vertical": shape.vertical,
        },
        ensemble_size=2,
        preset="penn",
    )
    data = TrainingData.read(path, settings)
    heads = HeadRules.collins() if shape.direction == "head" else None
    same(data.treebank(shape.direction), Treebank.read(path, shape=shape, heads=heads))


def test_a_stream_a_file_and_trees_are_one(tmp_path):
    path = tmp_path / "trees.mrg"
    path.write_text(TEXT)
    settings = TrainingSettings()
    read = TrainingData.read(path, settings)
    same(read.bank, TrainingData.read(io.StringIO(TEXT), settings).bank)
    trees = [Tree.parse(line) for line in TEXT.strip().splitlines()]
    same(read.bank, TrainingData.read(iter(trees), settings).bank)
    same(read.bank, TrainingData.read(read.bank, dataclasses.replace(settings, preset="whole")).bank)
    assert (read.source, read.preset, TrainingData.read(trees, settings).source) == (
        str(path),
        "penn",
        "trees",
    )
    same(read.bank, Treebank.read(path, options=annotation_scheme("penn").options))


def test_tagged_text_has_tags_of_the_treebank(tmp_path, caplog):
    tagged = tmp_path / "tagged"
    tagged.write_text("the/DT ant/NN sings/XYZ\n")
    trees = [Tree.parse(line) for line in TEXT.strip().splitlines()]
    caplog.set_level("INFO", "gramian")
    data = TrainingData.read(trees, TrainingSettings.of(tagged_corpus=str(tagged)))
    assert "read 2 tagged words" in caplog.text
    assert data.key != TrainingData.read(trees, TrainingSettings()).key
    tagged.write_text("sings/XYZ\n")
    with pytest.raises(OptionError, match="it has no tag of the treebank"):
        TrainingData.read(trees, TrainingSettings.of(tagged_corpus=str(tagged)))


def test_there_must_be_trees():
    with pytest.raises(InputError, match="trees: no trees to train on"):
        TrainingData.read([], TrainingSettings())
    with pytest.raises(InputError, match="no trees to train on"):
        TrainingData.read([Tree.parse("(S (-NONE- *))")], TrainingSettings())
