"""What a server keeps of the sentences it has met is bounded: a flood of new words and trees does not fill the memory."""

import numpy as np
import pytest
from tiny_grammar import FIXTURES

from gramian.experts import rerank_features
from gramian.experts.rerank_candidates import DENSE, Candidates
from gramian.experts.rerank_features import TreeFeatures
from gramian.io.bounded_cache import BoundedCache
from gramian.loglinear.word_views import WordForms
from gramian.parsing.model_store import load_model
from gramian.parsing.words import WordTable
from gramian.trees import HeadRules, Tree, heads


def test_words():
    table = WordTable(load_model(FIXTURES / "version-1.grammar").grammar.lexicon)
    for cache in table._cache:
        cache._most_bytes = 1 << 18
    for number in range(1000):
        table.read([f"first{number}", f"word{number}"])
    assert all(0 < len(cache) < 1000 and cache._bytes <= 1 << 18 for cache in table._cache)
    assert table.look_up("word999", False) is table.look_up("word999", False)


def test_words_of_many_characters_are_not_kept():
    """Words of 120 KB, a thousand of them, took as many bytes."""
    table = WordTable(load_model(FIXTURES / "version-1.grammar").grammar.lexicon)
    forms = WordForms(["the"])
    for number in range(3):
        long = f"{number}" + "x" * 120_000
        table.read([long, long])
        forms.views([long])
    assert all(cache._bytes < 1 << 16 for cache in (*table._cache, forms.numbers))


def test_bytes_are_counted_wherever_they_are():
    cache = BoundedCache(lambda number: (np.zeros(1000), "x" * number), most_bytes=1 << 22)
    for number in range(500):
        assert len(cache[number][1]) == number
        assert sum(value[0].nbytes + 4 * len(value[1]) for value in cache.values()) <= 1 << 22
    assert len(cache) > 10


def test_forms_of_words():
    forms = WordForms(["the"])
    assert forms.numbers._most <= 1 << 17
    small = BoundedCache(len, most=10)
    assert all(small["x" * number] == number for number in range(100))
    assert len(small) <= 10


def test_heads_of_rules(monkeypatch):
    monkeypatch.setattr(heads, "_MOST_KNOWN", 10)
    rules = HeadRules.collins()
    for number in range(100):
        assert rules(Tree.parse(f"(NP (DT a) (X{number} b) (NN c))")) == 2
    assert 0 < len(rules._known) <= 10
    monkeypatch.setattr(rerank_features, "_MOST_RULES", 10)
    features = TreeFeatures(["the"], HeadRules.collins())
    for number in range(100):
        names = ("NP", "DT", f"X{number}", "NN")
        start, labels, arity = (np.array(row, np.int32) for row in ([0, 4], [0, 1, 2, 3], [3, 0, 0, 0]))
        tree = Candidates(names, 1, start, labels, arity, np.zeros((1, len(DENSE)), np.float32))
        features.scores(["a", "b", "c"], tree, np.zeros(1 << 4, np.float32))
    assert 0 < len(features._head_of) <= 10
    assert len(features._codes) <= 1 << 8


def test_the_page():
    explore = pytest.importorskip("gramian.web.explore")
    explorer = explore.Explorer(str(FIXTURES / "version-1.grammar"), 10.0)
    for number in range(40):
        explorer.look(("the", f"dog{number}"))
    facts = explorer._look.cache_info()
    assert facts.maxsize is not None
    assert facts.currsize <= facts.maxsize <= 64
    explorer.look(("dog",) * 61)  # a long one is not kept
    assert explorer._look.cache_info().currsize == facts.currsize
