"""The classifier of chart cells: what it learns, how it is stored, and how models parse with it."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

import gramian
from gramian.chart.cell_closing import COMPLETE, PARTIAL
from gramian.chart.forest import Pruning, cell_number
from gramian.errors import InputError, OptionError
from gramian.experts import CellClassifier, CellModel
from gramian.experts import cell_kernels as kernels
from gramian.experts.cell_model import CELLS
from gramian.learn import PCFG
from gramian.loglinear.hashing_kernels import mix, parts_at_places
from gramian.parsing.model import Model
from gramian.parsing.model_store import load_model, save_model
from gramian.parsing.parser import Parser
from gramian.treebank import Treebank
from gramian.trees import Tree

TREES = [
    Tree.parse("(S (NP (DT the) (NN cat)) (VP (VBD saw) (NP (DT the) (JJ old) (NN dog))) (. .))"),
    Tree.parse("(S (NP (PRP it)) (VP (VBD slept) (PP (IN in) (NP (DT the) (NN house)))) (. .))"),
    Tree.parse(
        "(S (NP (NP (DT the) (NN dog)) (PP (IN in) (NP (DT the) (NN house)))) (VP (VBD slept)) (. .))"
    ),
] * 12
SENTENCES = [list(tree.words) for tree in TREES[:3]]


@pytest.fixture(scope="module")
def bank() -> Treebank:
    return Treebank.from_trees(TREES)


@pytest.fixture(scope="module")
def cells(bank) -> CellModel:
    return CellClassifier(threshold=0.1, slots=1 << 14).fit(bank).model_


@pytest.fixture(scope="module")
def model(bank, cells) -> Model:
    return Model((PCFG().fit(bank).model_,), cells=cells)


def test_cells_of_the_trees_are_open_and_most_others_closed(bank, cells):
    found = np.split(cells.open_cells(SENTENCES), np.cumsum([n * (n + 1) // 2 for n in map(len, SENTENCES)]))
    for index, words in enumerate(SENTENCES):
        n = len(words)
        phrases = {
            (start, end) for _, start, end in TREES[index].spans(preterminals=False) if end - start > 1
        }
        for start in range(n):
            for end in range(start + 2, n + 1):
                is_open = found[index][cell_number(start, end, n)] == COMPLETE | PARTIAL
                assert is_open or (
                    (start, end) not in phrases and found[index][cell_number(start, end, n)] == 0
                )
    # "the old dog" after "saw": right binarisation has "the old", left binarisation "old dog"; nothing has "saw the".
    n = len(SENTENCES[0])
    for (start, end), is_open in {(3, 5): True, (4, 6): True, (2, 4): False}.items():
        assert (found[0][cell_number(start, end, n)] > 0) == is_open


def test_scores_are_sums_of_the_weights_of_features(cells):
    [words] = SENTENCES[:1]
    views, n, weights = cells.batch([words]).views, len(words), cells.weights
    parts = [parts_at_places(views, each)[0] for each in CELLS]
    found = kernels.cell_scores(
        kernels.Parts(parts[0][0], parts[1][0], *parts[2], CELLS.both.small[0]), n, weights
    )
    mask = np.uint64(len(weights) - 4)

    def weight(total: np.uint64) -> np.ndarray:
        slot = int(mix(total, np.uint64(0)) & mask)
        return weights[slot : slot + kernels.KINDS].astype(np.float64)

    with np.errstate(over="ignore"):
        for start in range(n):
            for end in range(start + 2, n + (start > 0)):
                a, b = start + 2, end + 2
                features = [*parts[0][0, a], *parts[1][0, b]]
                features += list(parts[2][0, a] + parts[2][1, b] + CELLS.both.small[0, end - start])
                expected = sum(map(weight, features))
                np.testing.assert_allclose(found[cell_number(start, end, n)], expected, rtol=1e-4, atol=1e-4)


def test_a_sentence_has_the_same_cells_alone_and_among_others(cells):
    together = cells.open_cells([*SENTENCES, [], ["dog"]])
    alone = np.concatenate([cells.open_cells([words]) for words in SENTENCES] + [np.array([7], np.uint8)])
    np.testing.assert_array_equal(together, alone)


def test_what_is_unknown_closes_nothing(cells):
    assert (cells.open_cells([["Okapis", "graze", "silently", "nearby"]]) == 7).all()
    assert (replace(cells, threshold=0.0).open_cells(SENTENCES) == 7).all()
    assert (cells.open_cells(SENTENCES, 1e-6) == 7).all()


def test_the_same_seed_gives_the_same_weights_and_copies_work(bank, cells):
    again = CellClassifier(threshold=0.1, slots=1 << 14).fit(bank).model_
    np.testing.assert_array_equal(again.weights, cells.weights)
    copy = pickle.loads(pickle.dumps(again))
    np.testing.assert_array_equal(copy.open_cells(SENTENCES), cells.open_cells(SENTENCES))
    with pytest.raises(InputError, match="no tree to learn from"):
        CellClassifier().fit(bank.subset(np.arange(0)))


def test_it_is_stored_in_models_and_can_be_turned_off(model, tmp_path):
    save_model(model, tmp_path / "m.grammar")
    loaded = load_model(tmp_path / "m.grammar")
    assert loaded.cells.threshold == pytest.approx(0.1)
    np.testing.assert_array_equal(loaded.cells.open_cells(SENTENCES), model.cells.open_cells(SENTENCES))
    opened = Parser(replace(model, cells=None))
    for words, tree in zip(SENTENCES, TREES, strict=False):
        closed = Parser(loaded).parse(words)
        assert (closed.tree, closed.status) == (tree, "parsed")
        assert len(Parser(loaded).forest(words).item_symbol) <= len(opened.forest(words).item_symbol)
        off = Parser(loaded, pruning=Pruning(close=0)).forest(words)
        np.testing.assert_array_equal(off.item_symbol, opened.forest(words).item_symbol)


def test_training_chooses_a_threshold_that_loses_little(tmp_path):
    parser = gramian.train(TREES, settings={"close_cells": True, "method": "pcfg"})
    report = parser.model.report["F1 by threshold of cells"]
    chosen = float(np.float32(parser.model.cells.threshold))
    f1 = {float(key): value for key, value in report.items()}
    nearest = min(f1, key=lambda value: abs(value - chosen))
    assert f1[nearest] >= f1[0.0] - 0.05
    with pytest.raises(OptionError, match="close_cells requires a model without neural expert"):
        gramian.train(TREES, settings={"close_cells": True, "expert": "neural"})
