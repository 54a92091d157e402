"""Decoding with many models as published: a choice among own trees within schemes, the most covered tree across them."""

import random

import pytest

from gramian.experiments.hierarchical_decoding import RerankedModels, most_covered
from gramian.parsing.parser import Parser
from gramian.training import TrainingData, TrainingSettings
from gramian.trees import Tree


def sentences(number, seed):
    """Draw trees in which a PP hangs on the verb or on the noun."""
    rng = random.Random(seed)
    for _ in range(number):
        one, two, three = (f"(NP (DT the) (NN {rng.choice(['cat', 'dog', 'bird'])}))" for _ in range(3))
        verb = f"(VBZ {rng.choice(['sees', 'likes'])})"
        low, high = f"(NP {two} (PP (IN with) {three}))", f"{two} (PP (IN with) {three})"
        yield f"(S {one} (VP {verb} {rng.choice([two, low, high])}) (. .))"


@pytest.fixture(scope="module")
def many():
    trees = [Tree.parse(text) for text in sentences(100, 1)]
    recipe = TrainingSettings.of(
        {"noise.kind": "multiplicative", "binarisation.direction": "right", "noise.level": 0.9},
        paper="clustering",
        n_states=6,
        ensemble_size=3,
    )
    return RerankedModels.learn(TrainingData.read(trees, recipe), recipe, 2)


def test_within_a_scheme_a_tree_of_one_of_the_models_is_chosen(many):
    grammars = many.parser.model.grammars
    assert len(grammars) == 3
    differ = 0
    for text in sentences(12, 5):
        words = list(Tree.parse(text).words)
        own = {str(Parser(grammar, max_seconds=None).parse(words).tree) for grammar in grammars}
        assert str(many.tree(words)) in own
        differ += len(own) > 1
    assert differ
    assert many.reranker is not None
    assert len(many.tree(["the", "unheard", "zzz"]).words) == 3


def test_coverage_across_schemes_by_hand():
    """Labels over spans that others have too, the tree's own among them: 6 + 3 + 3, 6 + 6 + 2 ..."""
    one = Tree.parse("(S (NP (D a) (N b)) (V c))")
    two = Tree.parse("(S (NP (D a) (N b)) (W c))")
    three = Tree.parse("(S (D a) (VP (N b) (V c)))")
    # Own 5 each; one shares S, NP, D, N with two, and S, D, N, V with three; two shares S, D, N with three.
    assert most_covered([two, three, one]) == one
    assert most_covered([three, three, one]) == three
    assert most_covered([two]) == two
