"""What asks for more than a machine has is refused in a sentence that names the limit, or bounded; and small things that once failed."""

import re
import tracemalloc
from functools import cache

import numpy as np
import pytest
from tiny_grammar import tiny_model
from typer.testing import CliRunner

from gramian.automata import PDFA, Mixture, Sequences
from gramian.automata.automaton_picture import to_svg
from gramian.automata.dfa import dfa_approximation, typical_strings
from gramian.automata.methods import learner_of
from gramian.cli import app
from gramian.dependency import SHAGParser
from gramian.errors import GramianError, OptionError
from gramian.learn import SpectralMoments
from gramian.parsing.model import Model
from gramian.parsing.parser import Parser
from gramian.treebank import Treebank
from gramian.trees import Sentence, Token, Tree

TREES = [
    "(S (NP (DT the) (NN dog)) (VP (VBD saw) (NP (DT a) (NN cat))) (. .))",
    "(S (NP (NNP Anna)) (VP (VBD slept)) (. .))",
    "(NP (NN time))",
]


def run(*arguments):
    """Run a command here; return its exit code and what it says."""
    done = CliRunner().invoke(app, list(map(str, arguments)))
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        assert isinstance(done.exception, GramianError), repr(done.exception)
        return 2, str(done.exception)
    return done.exit_code, done.output


@cache
def long_machine(n=8000, k=30):
    """An honest n-gram model of long strings: a state a symbol."""
    successor = np.full((n, k), -1, np.int32)
    successor[:-1, 0] = np.arange(1, n)
    probability = np.zeros((n, k + 1))
    probability[:-1, 0] = 1
    probability[-1, -1] = 1
    return PDFA(successor, probability, tuple(range(k)))


def test_automata_of_many_states_are_drawn_within_bounds():
    machine = long_machine()
    both = Mixture((machine, machine), [0.5, 0.5])
    tracemalloc.start()
    for model in (machine, both):
        with pytest.raises(OptionError, match="weights, more than 134,217,728"):
            model.to_wfa()
        strings = typical_strings(model)
        assert 1 <= len(strings) < 5000
        assert to_svg(dfa_approximation(model, strings, 10).machine).startswith("<svg")
    with pytest.raises(OptionError, match="8000 states are too many for a picture"):
        to_svg(machine)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 1 << 30


def test_strings_to_approximate_by_are_limited(monkeypatch):
    monkeypatch.setattr("gramian.automata.dfa._MOST_NUMBERS", 100)
    sample = Sequences.from_strings([["a"] * number for number in range(20)])
    with pytest.raises(OptionError, match="210 prefixes of 3 numbers each are more than 100; try: fewer"):
        dfa_approximation(PDFA([[0, 0]], [[0.4, 0.4, 0.2]], ("a", "b")), sample, 3)


def test_the_page_of_an_automaton_of_many_states():
    views = pytest.importorskip("gramian.web.sequence_views")
    view = views.AutomatonView(long_machine(), "long")
    assert view.about()["states"] == 8000
    assert view.picture(5)["deterministic"]
    assert len(view.steps(["0", "0"], 5)["steps"]) == 3


def test_strings_and_sentences_that_are_too_long_to_learn_from():
    with pytest.raises(OptionError, match=r"200,000 symbols, and the most to learn from is 100,000"):
        learner_of("ngram", 2).fit(Sequences.from_strings([["a", "b"] * 100_000]))
    words = [Token(n, "a", upos="X", xpos="X", head=n - 1, deprel="x") for n in range(1, 3001)]
    with pytest.raises(OptionError, match="a training sentence has 3,000 words, more than 500"):
        SHAGParser("det").fit([Sentence(tuple(words))])


def test_numbers_beyond_all_use(tmp_path):
    (tmp_path / "bank.mrg").write_text("\n".join(TREES * 10))
    (tmp_path / "in").write_text("the dog saw a cat .\n")
    huge = "99999999999999999999"
    for arguments in (
        ("parse", tmp_path / "in", "--k", huge),
        ("parse", tmp_path / "in", "--jobs", huge),
        ("train", tmp_path / "bank.mrg", "-o", tmp_path / "m", "--rerank", "--set", "folds=1000000"),
        ("train", tmp_path / "bank.mrg", "-o", tmp_path / "m", "--seed", "-1"),
        ("dep", "train", tmp_path / "bank.mrg", "-o", tmp_path / "m", "--seed", "-1"),
        ("wfa", "train", tmp_path / "bank.mrg", "-o", tmp_path / "m", "--seed", "-1"),
        ("wfa", "sample", tmp_path / "m", "--seed", "-1"),
        ("sample", "--seed", "-1"),
        ("split", tmp_path / "bank.mrg", "-o", tmp_path / "parts", "--seed", "-1"),
        ("train", tmp_path / "bank.mrg", "-o", tmp_path / "m", "--ensemble-size", huge),
        ("train", tmp_path / "bank.mrg", "-o", tmp_path / "m", "--states", huge),
    ):
        code, said = run(*arguments)
        assert code == 2, (arguments, said)
        assert re.search("at most|at least|less than or equal|greater than or equal|range", said), said
    with pytest.raises(OptionError, match="k must be at least 1 and at most 10000, got 99999999999999999999"):
        Parser(tiny_model()).parse(["the", "dog"], k=int(huge))


@pytest.mark.parametrize("count", [1, 2, 3])
def test_moments_of_a_few_trees(count):
    trees = [Tree.parse(text) for text in TREES[:count]]
    model = SpectralMoments(4, allocation="all").fit(Treebank.from_trees(trees)).model_
    assert Parser(model).parse(list(trees[0].words)).tree.words == trees[0].words


def test_halves_of_surrogate_pairs_with_an_expert():
    from gramian.experts import ExpertPart, SpanCRF

    bank = Treebank.from_trees([Tree.parse(text) for text in TREES])
    crf = SpanCRF(max_iter=1, slots=1 << 12).fit(bank)
    parser = Parser(Model(crf.grammar_, (ExpertPart("crf", crf.model_),)))
    for words in (["\ud800", "saw", "\udfff"], ["the", "d\udc80g", "."]):
        assert parser.parse(words).tree.words == tuple(words)


def test_what_wfa_train_writes_every_command_reads(tmp_path):
    """Strings that leave little to learn from."""
    for number, text in enumerate(["a\n", "\n\n", "a b\nb a\n\n"]):
        (tmp_path / "strings").write_text(text)
        for method in ("spectral", "em", "ngram"):
            model = tmp_path / f"{number}.{method}"
            code, _ = run(
                "wfa", "train", tmp_path / "strings", "-o", model, "--method", method, "-q", "--states", 2
            )
            if code:
                assert not model.exists()
                continue
            for command in (("score",), ("predict",), ("eval",)):
                assert run("wfa", *command, model, tmp_path / "strings")[0] in (0, 2)
            for command in (("sample", model, "-n", 3), ("draw", model), ("draw", model, "--format", "dot")):
                assert run("wfa", *command)[0] in (0, 2)
