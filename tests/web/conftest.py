"""Small models for the page: a grammar of a made-up English, a dependency parser and an automaton of its tags."""

import random
import sys
from pathlib import Path

import pytest

sys.path[:0] = [str(Path(__file__).parents[2] / "examples"), str(Path(__file__).parent)]

ROWS = (
    ("The", "DT", 2, "det"),
    ("{noun}", "NN", 3, "nsubj"),
    ("slept", "VBD", 0, "root"),
    (".", ".", 3, "punct"),
)


@pytest.fixture(scope="session")
def models(tmp_path_factory):
    """Paths by name."""
    from gramian.automata import PNFAEM, Sequences
    from gramian.dependency import SHAGParser
    from gramian.learn import SpectralClustering
    from gramian.parsing.model import Model
    from gramian.parsing.model_store import save_model
    from gramian.treebank import Treebank
    from gramian.trees import Sentence, Token
    from made_up_english import sample

    folder = tmp_path_factory.mktemp("models")
    trees = list(sample(250, 1))
    bank = Treebank.from_trees(trees)
    for name, states in (("one.grammar", 6), ("two.grammar", 1)):
        learner = SpectralClustering(states).fit(bank)
        save_model(Model(learner.model_, report=learner.report_), folder / name)
    nouns = ["dog", "cat", "bird"]
    sentences = [
        Sentence(
            tuple(
                Token(number, form.format(noun=random.Random(seed).choice(nouns)), upos="X", xpos=tag, head=head, deprel=relation)
                for number, (form, tag, head, relation) in enumerate(ROWS, 1)
            )
        )
        for seed in range(20)
    ]  # fmt: skip
    SHAGParser("em", n_states=2, max_iter=5).fit(sentences).save(folder / "dependency.model")
    tags = Sequences.from_strings([list(tree.tags) for tree in trees[:200]])
    PNFAEM(3, random_state=0).fit(tags).model_.save(folder / "tags.wfa")
    return {path.name.partition(".")[0]: str(path) for path in folder.iterdir()}


@pytest.fixture(scope="session")
def service(models):
    from gramian.web.explore import Explorer
    from gramian.web.sequence_views import AutomatonView, DependencyView
    from gramian.web.service import Service

    return Service(
        [Explorer(models["one"], 2.0), Explorer(models["two"], 2.0)],
        DependencyView(models["dependency"]),
        AutomatonView.load(models["tags"]),
    )


@pytest.fixture(scope="session")
def client(service):
    from starlette.testclient import TestClient

    from gramian.web.app import create_app

    with TestClient(create_app(service, n_jobs=2, max_seconds=300), base_url="http://localhost") as client:
        yield client
