"""Automata of other tools: what is written is read back as the same function, and by the other tool too."""

import io
import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from gramian.automata import PDFA, WFA, NGram, extract_acceptor, load_sequence_model
from gramian.automata.exchange import exported, read_automaton
from gramian.cli import app
from gramian.errors import InputError, OptionError

WORDS = [[], [0], [1, 0], [0, 1, 0], [0, 0, 1, 1]]


def read(text: str) -> WFA | PDFA:
    return read_automaton(io.BytesIO(text.encode()))


def test_machines_of_pautomac_by_hand() -> None:
    """State 0 ends with 0.2; else says 1 and stays or goes to state 1, which ends."""
    model = read(
        "I: (state)\n\t(0) 1.0\nF: (state)\n\t(0) 0.2\n\t(1) 1.0\nS: (state,symbol)\n\t(0,0) 0.25\n\t(0,1) 0.75\n"
        "T: (state,symbol,state)\n\t(0,0,0) 1.0\n\t(0,1,0) 0.5\n\t(0,1,1) 0.5\n"
    )
    expected = [0.2, 0.8 * 0.25 * 0.2, 0.8 * 0.75 * (0.5 * 0.2 + 0.5)]
    np.testing.assert_allclose(model.score([[], [0], [1]]), expected)


def test_distributions_are_read_back() -> None:
    strings = [[0, 1], [0], [0, 1, 0, 1], [1, 0], []] * 4
    model = NGram(2, smoothing="none").fit(strings).model_
    for name, tolerance in (("pautomac", 1e-9), ("flexfringe", 1e-5)):
        found = read(exported(model, name))
        np.testing.assert_allclose(found.score(WORDS), model.score(WORDS), rtol=0, atol=tolerance)
    signed = WFA([1.0], [-0.5], [[[0.5]]], (0,))
    for name in ("pautomac", "flexfringe", "aalpy"):
        with pytest.raises(OptionError, match="try: "):
            exported(signed, name)


def test_counts_and_types_of_flexfringe() -> None:
    """As FlexFringe writes them: counts as texts, numbers of nodes as texts in edges; types without counts of symbols."""
    counts = {"0": "3", "1": "1"}
    document = {
        "nodes": [
            {"id": 0, "data": {"total_final": 4, "final_counts": {"1": 4}, "trans_counts": counts}},
            {"id": 7, "data": {"total_final": 2, "final_counts": {"1": 2}, "trans_counts": {}}},
        ],
        "edges": [
            {"source": "0", "target": "0", "name": "0", "appearances": ""},
            {"source": "0", "target": "7", "name": "1", "appearances": ""},
        ],
    }
    model = read(json.dumps(document))
    np.testing.assert_allclose(model.score([[], [0, 1], [1, 0]]), [0.5, 3 / 8 * 1 / 8, 0])
    for node, counts in zip(document["nodes"], ({"0": 3, "1": 1}, {"0": 0, "1": 2}), strict=True):
        node["data"] = {"final_counts": counts, "total_final": sum(counts.values())}
    assert read(json.dumps(document)).score([[], [0], [1], [0, 1], [1, 1]]).tolist() == [0, 0, 1, 1, 0]


def acceptor() -> WFA:
    """Learn: an even number of zeros and no two ones in a row."""

    def accepts(strings: list[tuple[int, ...]]) -> list[bool]:
        return [x.count(0) % 2 == 0 and (1, 1) not in pairwise(x) for x in strings]

    return extract_acceptor(accepts, (0, 1)).model


@pytest.mark.parametrize("name", ["aalpy", "flexfringe"])
def test_acceptors_are_read_back(name: str) -> None:
    model = acceptor()
    found = read(exported(model, name))
    assert found.n_states == model.n_states == 5
    assert found.score(WORDS).tolist() == model.score(WORDS).tolist()


def test_aalpy_reads_and_writes_the_same_acceptor(tmp_path: Path) -> None:
    """Opt-in: where AALpy and pydot are installed."""
    pytest.importorskip("pydot", reason="pydot is not installed; try: make test-all")
    handler = pytest.importorskip(
        "aalpy.utils.FileHandler", reason="AALpy is not installed; try: make test-all"
    )
    model = acceptor()
    (tmp_path / "ours.dot").write_text(exported(model, "aalpy"))
    theirs = handler.load_automaton_from_file(str(tmp_path / "ours.dot"), "dfa")
    assert len(theirs.states) == model.n_states
    for word in WORDS:
        theirs.reset_to_initial()
        accepted = (
            theirs.initial_state.is_accepting if not word else [theirs.step(symbol) for symbol in word][-1]
        )
        assert accepted == bool(model.score([word])[0])
    handler.save_automaton_to_file(theirs, str(tmp_path / "theirs.dot"))
    found = read_automaton(tmp_path / "theirs.dot")
    assert found.score(WORDS).tolist() == model.score(WORDS).tolist()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I: (state)\n(0 1.0",
        "{",
        '{"nodes": 3}',
        "digraph {\n}",
        "digraph {\n__start0 -> a\na -> b [label=x]\n}",
    ],
)
def test_bad_files_are_named(text: str) -> None:
    with pytest.raises(InputError, match="no automaton"):
        read(text)


def test_the_command_converts(tmp_path: Path) -> None:
    acceptor().save(tmp_path / "a.wfa")

    def convert(source: str, target: str, *options: str) -> object:
        arguments = ["wfa", "convert", str(tmp_path / source), "-o", str(tmp_path / target), *options]
        return CliRunner().invoke(app, arguments).exception

    assert convert("a.wfa", "a.dot", "--to", "aalpy") is None
    assert convert("a.dot", "b.wfa") is None
    assert load_sequence_model(tmp_path / "b.wfa").score(WORDS).tolist() == acceptor().score(WORDS).tolist()
    assert isinstance(convert("none", "c.wfa"), InputError)
