from dataclasses import replace

import numpy as np
import pytest
from toy_treebank import toy_sentences

from gramian.dependency import DependencyParser, SHAGParser
from gramian.dependency.arc_models import ArcScorer
from gramian.dependency.arc_templates import ALL_TEMPLATES, ARCS
from gramian.errors import OptionError
from gramian.loglinear.hashing import selected

QUICK = {"n_states": 3, "max_iter": 5, "start": "random", "epochs": 2, "tags": "gold", "n_jobs": 1}
TRAIN, TEST = toy_sentences(200, seed=1), toy_sentences(200, seed=2)


@pytest.fixture(scope="module")
def parser() -> DependencyParser:
    return SHAGParser(**QUICK, select_templates=True).fit(TRAIN).model_


def test_fewer_templates_parse_as_well(parser):
    assert len(parser.scorer.kept) < len(ALL_TEMPLATES.arcs)
    assert set(parser.labeller.kept) <= set(ALL_TEMPLATES.relations)
    learner = SHAGParser(**QUICK).fit(TRAIN)
    heads = [parse.heads for parse in parser.parse_many(TEST)]
    right = np.mean(
        [
            a == b
            for ours, gold in zip(heads, TEST, strict=True)
            for a, b in zip(ours, gold.heads, strict=True)
        ]
    )
    assert right > learner.score(TEST) - 0.005


def test_few_trees_keep_all_templates():
    model = SHAGParser(**QUICK, select_templates=True).fit(TRAIN[:30]).model_
    assert (model.scorer.kept, model.labeller.kept) == ALL_TEMPLATES


def test_weights_of_other_templates_do_not_count():
    rng = np.random.default_rng(0)
    weights = rng.normal(size=1 << 12).astype(np.float32)
    parser = SHAGParser(**QUICK).fit(TRAIN[:60]).model_
    views = parser.table.encode(TRAIN[0].tokens)
    assert (selected(ARCS, range(len(ARCS.number))).terms == ARCS.terms).all()
    whole, part = ArcScorer(weights).factors(views), ArcScorer(weights, (3, 5)).factors(views)
    assert not np.allclose(whole, part)
    np.testing.assert_array_equal(ArcScorer(weights, (5, 3)).factors(views) > 0, part > 0)


def test_a_file_keeps_the_choice(parser, tmp_path):
    path = tmp_path / "model.dep"
    parser.save(path)
    loaded = DependencyParser.load(path)
    assert (loaded.scorer.kept, loaded.labeller.kept) == (parser.scorer.kept, parser.labeller.kept)
    assert [parse.heads for parse in loaded.parse_many(TEST[:20])] == [
        parse.heads for parse in parser.parse_many(TEST[:20])
    ]
    with pytest.raises(OptionError, match="inconsistent templates"):
        replace(parser, scorer=replace(parser.scorer, kept=(10**6,))).save(path)
