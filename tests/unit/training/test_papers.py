"""Every preset of a paper is complete, and its command takes it."""

import pytest

from gramian.automata.methods import learner_of
from gramian.chart.forest import Pruning
from gramian.dependency import SHAGParser
from gramian.errors import OptionError
from gramian.parsing.parser_settings import parse_settings, parser_options
from gramian.training import TrainingSettings
from gramian.training.papers import PAPERS, paper_setting, with_paper
from gramian.training.setting_groups import check_settings
from gramian.trees import Tree

GRAMMARS = [name for name, paper in PAPERS.items() if paper.command == "train"]


@pytest.mark.parametrize("name", GRAMMARS)
def test_a_paper_trains_prunes_and_decodes(name):
    settings = TrainingSettings.of(paper=name)
    check_settings(settings, dev=False, scheduler=False)
    assert settings.binarisation.collapse_tags
    assert not settings.compress
    settings.estimator()
    chosen = with_paper({"paper": name, "max_length": 40}, "parse")
    assert set(chosen) <= set(parse_settings())
    _, parser, _ = parser_options(chosen)
    assert parser["pruning"] == Pruning(beam=0, item=0.00005, edge=0, fine=0, guess=0, split=0)
    assert (parser["decoder"], parser["max_length"]) == ("max-marginal-sum", 40)


def test_the_search_of_2016_has_no_additions():
    search = TrainingSettings.of(paper="optimised").search
    assert (search.method, search.groups, search.by_count) == ("beam", False, False)
    assert (search.symbols, search.budget) == (0, 0)


def test_automata_and_dependencies_have_presets():
    chosen = with_paper({"paper": "wfa"}, "wfa train")
    learner = learner_of(chosen.pop("method"), 3, settings=chosen)
    assert (learner.basis.kind, learner.basis.empty, learner.repair) == ("symbols", False, None)
    chosen = with_paper({"paper": "shag"}, "dep train")
    parser = SHAGParser().set_params(**{key.replace(".", "__"): value for key, value in chosen.items()})
    assert (parser.method, parser.basis.kind, parser.basis.cut_factor) == ("spectral", "extended", 10.0)


def test_a_command_has_its_own_papers():
    assert with_paper({"k": 1}, "parse") == {"k": 1}
    with pytest.raises(OptionError, match=r"paper must be one of .*, got 'shag'"):
        paper_setting("train").checked("shag")
    assert paper_setting("parse").checked("thesis") == "thesis"


@pytest.mark.parametrize("name", GRAMMARS)
def test_a_preset_learns_a_grammar_that_can_be_saved(name, tmp_path):
    import gramian

    texts = (
        "(S (NP (DT the) (NN cat)) (VP (VBZ sees) (NP (DT a) (NN dog))))",
        "(S (NP (PRP it)) (VP (VBZ runs)))",
        "(S (NP (DT the) (NN dog)) (VP (VBZ runs)))",
    )
    changed = {"search.budget": 3, "search.largest": 3} if name == "optimised" else {}
    changed |= {"max_iter": 2} if name == "tensor" else {}
    trees = [Tree.parse(text) for text in texts] * 30
    parser = gramian.train(trees, paper=name, n_states=2, settings=changed)
    assert parser.model.grammar.n_states.max() == 2
    parser.save(tmp_path / "model.grammar")
    loaded = gramian.load(tmp_path / "model.grammar")
    assert str(loaded.parse(["the", "cat", "runs"]).tree) == str(parser.parse(["the", "cat", "runs"]).tree)
