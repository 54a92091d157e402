"""Deterministic automata, n-grams, mixtures, and what is made of them: DFA approximations, DOT, OpenFST, pictures."""

import itertools
import re
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from gramian.automata import PDFA, WFA, Mixture, NGram, Sequences, load_sequence_model
from gramian.automata.automaton_picture import to_svg, to_tikz
from gramian.automata.dfa import dfa_approximation, group_average
from gramian.automata.exchange import to_dot, to_openfst
from gramian.automata.hankel_picture import hankel_to_svg, picture_blocks
from gramian.automata.mixture import mixture_weights
from gramian.errors import ModelFileError, OptionError

STRINGS = ["ab", "abb", "a", "", "ba", "ab", "abab"]
SAMPLE = Sequences.from_strings(STRINGS)
WORDS = ["".join(word) for length in range(5) for word in itertools.product("ab", repeat=length)]


def coin(stop: float) -> WFA:
    return WFA([1.0], [stop], [[[0.6 * (1 - stop)]], [[0.4 * (1 - stop)]]], ("a", "b"))


def relative_frequency(string: str, order: int) -> float:
    """Probability of a string by relative frequencies of contexts, 0 where a context is new."""
    follow: Counter[tuple[str, str]] = Counter()
    for training in STRINGS:
        text = "^" + training + "$"
        for i in range(1, len(text)):
            follow[text[max(0, i - order + 1) : i], text[i]] += 1
    value = 1.0
    text = "^" + string + "$"
    for i in range(1, len(text)):
        context = text[max(0, i - order + 1) : i]
        total = sum(count for (other, _), count in follow.items() if other == context)
        value *= follow[context, text[i]] / total if total else 0.0
    return value


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_unsmoothed_ngrams_are_relative_frequencies(order: int) -> None:
    model = NGram(order, smoothing="none").fit(SAMPLE).model_
    expected = [relative_frequency(word, order) for word in WORDS]
    np.testing.assert_allclose(np.exp(model.log_score(WORDS)), expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("order", [1, 2, 3, 6])
def test_smoothed_ngrams_are_distributions(order: int) -> None:
    model = NGram(order, alphabet=("a", "b", "c")).fit(SAMPLE).model_
    np.testing.assert_allclose(model.probability.sum(axis=1), 1.0, rtol=1e-12)
    assert (model.probability > 0).all()  # also of the symbol that training never shows
    assert np.isfinite(model.log_score(["cc", "abc"])).all()


def test_kneser_ney_by_hand() -> None:
    """Two strings "ab": every bigram occurs twice, so the discount is that of no count of one, a half."""
    model = NGram(2).fit(["ab", "ab"]).model_
    # After START: (2 - 0.5) / 2 of "a", and 0.25 of the unigram, whose counts are contexts: one each of a, b, STOP;
    # all once, so the discount is 1, at most half of each count, and half of the mass is uniform: 1/3 again.
    after_start = model.next_scores([""])[0]
    np.testing.assert_allclose(after_start, [0.75 + 0.25 / 3, 0.25 / 3, 0.25 / 3], rtol=1e-12)


def test_a_longer_order_than_any_string() -> None:
    assert np.exp(NGram(9, smoothing="none").fit(["a", "b"]).model_.log_score(["a"])) == pytest.approx([0.5])


def test_deterministic_automata_are_weighted_ones(tmp_path: Path) -> None:
    model = NGram(3).fit(SAMPLE).model_
    wfa = model.to_wfa()
    assert wfa.is_probabilistic()
    np.testing.assert_allclose(wfa.log_score(WORDS), model.log_score(WORDS), rtol=1e-10)
    np.testing.assert_allclose(wfa.next_scores(WORDS), model.next_scores(WORDS), rtol=0, atol=1e-10)
    model.save(tmp_path / "model")
    loaded = load_sequence_model(tmp_path / "model")
    np.testing.assert_array_equal(loaded.log_score(WORDS), model.log_score(WORDS))
    with pytest.raises(ModelFileError, match="pdfa, not a wfa"):
        WFA.load(tmp_path / "model")


def test_deterministic_automata_without_a_move() -> None:
    model = PDFA([[1], [-1]], [[0.5, 0.5], [0.0, 1.0]], ("a",))
    assert np.exp(model.log_score(["a", "aa", "z"])).tolist() == [0.5, 0.0, 0.0]
    assert model.next_scores(["aa"])[2].tolist() == [0.0, 0.0]
    assert set(model.sample(50)) == {(), ("a",)}
    with pytest.raises(OptionError, match="successor"):
        PDFA([[2]], [[0.5, 0.5]], ("a",))


def test_mixtures_average(tmp_path: Path) -> None:
    parts = (coin(0.5), NGram(2).fit(SAMPLE).model_)
    model = Mixture(parts, np.array([0.25, 0.75]))
    expected = 0.25 * np.exp(parts[0].log_score(WORDS)) + 0.75 * np.exp(parts[1].log_score(WORDS))
    np.testing.assert_allclose(np.exp(model.log_score(WORDS)), expected, rtol=1e-12)
    whole = model.to_wfa()
    np.testing.assert_allclose(whole.score(WORDS), expected, rtol=1e-10)
    np.testing.assert_allclose(model.next_scores(WORDS), whole.next_scores(WORDS), rtol=0, atol=1e-10)
    model.save(tmp_path / "model")
    loaded = load_sequence_model(tmp_path / "model")
    np.testing.assert_array_equal(loaded.log_score(WORDS), model.log_score(WORDS))
    share = np.mean([string == () for string in model.sample(4000, random_state=1)])
    assert share == pytest.approx(expected[0], abs=0.04)


def test_mixtures_after_the_impossible() -> None:
    never_b = WFA([1.0], [0.5], [[[0.5]], [[0.0]]], ("a", "b"))
    model = Mixture((never_b, coin(0.5)), np.array([0.5, 0.5]))
    np.testing.assert_allclose(model.next_scores(["b"])[1], coin(0.5).next_scores(["b"])[1], rtol=1e-12)
    assert np.isfinite(model.next_scores(["z"])).all()


@pytest.mark.parametrize("weights", [[0.5], [0.5, 0.6], [1.0, 0.0]])
def test_mixture_weights_are_checked(weights: list[float]) -> None:
    with pytest.raises(OptionError):
        Mixture((coin(0.5), coin(0.1)), np.array(weights))


def test_mixture_weights_find_the_share() -> None:
    """Strings from a known mixture get its weights back."""
    parts = (coin(0.8), coin(0.05))
    drawn = Mixture(parts, np.array([0.3, 0.7])).sample(20_000, random_state=2)
    found = mixture_weights(np.stack([part.log_score(drawn) for part in parts]))
    np.testing.assert_allclose(found, [0.3, 0.7], atol=0.03)


def test_dfa_approximation_of_a_deterministic_automaton_is_itself() -> None:
    machine = PDFA(
        [[1, 0], [-1, 2], [0, -1]], [[0.6, 0.2, 0.2], [0.0, 0.9, 0.1], [0.5, 0.0, 0.5]], ("a", "b")
    )
    hidden = machine.to_wfa().change_basis(np.random.default_rng(1).normal(size=(3, 3)))
    drawn = machine.sample(5000)
    for model in (hidden, Mixture((machine, machine), np.array([0.5, 0.5]))):
        found = dfa_approximation(model, drawn, 3).machine
        np.testing.assert_array_equal(found.successor, machine.successor)
        np.testing.assert_allclose(found.probability, machine.probability, atol=0.03)


def test_dfa_approximation_keeps_states_beside_outliers() -> None:
    """Rare prefixes far from all others do not use up the clusters."""
    rare = [("x",) * n for n in range(1, 9)]
    strings = Sequences.from_strings([tuple("ab" * (i % 6)) for i in range(900)] + rare)
    found = dfa_approximation(NGram(3).fit(strings).model_, strings, 3).machine
    state = found.states([tuple("abab")])
    assert len(set(state[1:3].tolist())) == 2  # after a, and after b


def test_dfa_approximation_merges_to_determinism() -> None:
    drawn = coin(0.3).sample(500)
    found = dfa_approximation(NGram(4).fit(drawn).model_, drawn, 6, minimum_share=0.0).machine
    assert found.n_states <= 6
    np.testing.assert_allclose(found.probability.sum(axis=1), 1.0)
    assert np.isfinite(found.log_score(drawn)).all()


def two_clusters() -> tuple[WFA, Sequences]:
    """Vectors by hand: after "" and "b" the automaton is near one direction, after "a" near another; "bb" comes out elsewhere than "b"."""
    machine = PDFA(
        [[1, 2], [-1, 0], [-1, 3], [0, -1]],
        [[0.5, 0.4, 0.1], [0.0, 0.6, 0.4], [0.0, 0.5, 0.5], [0.3, 0.0, 0.7]],
        ("a", "b"),
    )
    strings = ["ab"] * 40 + ["b"] * 30 + ["bb"] * 20 + ["bba"] * 6 + ["abbb"] * 3 + [""] * 10
    return machine.to_wfa(), Sequences.from_strings(strings, ("a", "b"))


def test_the_published_dfa_is_drawn_by_frequent_prefixes_alone() -> None:
    """With four prefixes, "", "b", "a", "ab": what follows "bb" is not drawn, and no move of theirs is redirected."""
    model, strings = two_clusters()
    found = dfa_approximation(model, strings, 4, way="published", n_prefixes=4)
    # "" and "ab" have one state vector, but are two prefixes: with four clusters each prefix is its own.
    moves = {
        (state, symbol): int(found.machine.successor[state, symbol])
        for state in range(found.machine.n_states)
        for symbol in range(2)
        if found.machine.successor[state, symbol] >= 0
    }
    assert (found.machine.n_states, len(moves)) == (4, 3)  # a and b from the start, b after a
    assert found.merged == 0
    # Moves without a transition: "bb" 26 times, "bba" 6, and those of "abbb" beyond "ab".
    total = 40 * 2 + 30 + 20 * 2 + 6 * 3 + 3 * 4
    lost = 20 + 6 * 2 + 3 * 2
    assert found.uncovered + found.redirected == pytest.approx(lost / total, abs=1e-9)
    everything = dfa_approximation(model, strings, 4, n_prefixes=4)
    assert everything.uncovered == 0.0


def test_the_published_dfa_merges_every_conflict() -> None:
    """The start, "b" and "ba" look alike, "a" does not: so ``a`` leads from the one to both. Published, both become one state; of its own
    it redirects the ten moves after "b".
    """
    alike = [[0.6, 0.3, 0.1], [0.0, 0.0, 1.0], [0.6, 0.25, 0.15], [0.55, 0.3, 0.15]]
    model = PDFA([[1, 2], [-1, -1], [3, -1], [-1, -1]], alike, ("a", "b"))
    strings = Sequences.from_strings(["a"] * 80 + ["b"] * 10 + ["ba"] * 10, ("a", "b"))
    published = dfa_approximation(model, strings, 2, way="published", n_prefixes=50)
    assert (published.machine.n_states, published.merged) == (1, 1)
    assert published.redirected == published.uncovered == 0.0
    np.testing.assert_allclose(published.machine.probability, [[90 / 210, 20 / 210, 100 / 210]])
    own = dfa_approximation(model, strings, 2, n_prefixes=50)
    assert (own.machine.n_states, own.merged) == (2, 0)
    assert own.redirected == pytest.approx(10 / 110)
    assert "9.1 % of moves redirected" in str(own)


def test_a_dfa_of_strings_that_the_model_does_not_know() -> None:
    model, _ = two_clusters()
    with pytest.raises(OptionError, match="all strings have symbols that the model lacks"):
        dfa_approximation(model, Sequences.from_strings(["xy"]), 2)


def read_openfst(text: str, word: str) -> float:
    """Weight of a word in OpenFST text: the sum over its paths, the empty symbol only at the start."""
    arcs, final = [], {}
    for line in text.splitlines():
        fields = line.split()
        if len(fields) == 2:
            final[int(fields[0])] = np.exp(-float(fields[1]))
        else:
            arcs.append((int(fields[0]), int(fields[1]), fields[2], np.exp(-float(fields[3]))))
    reached = {0: 1.0}
    for symbol in ["<eps>", *word]:
        after: Counter[int] = Counter()
        for source, target, label, weight in arcs:
            if label == symbol and source in reached:
                after[target] += reached[source] * weight
        reached = dict(after)
    return sum(weight * final.get(state, 0.0) for state, weight in reached.items())


def test_openfst_text_holds_the_weights() -> None:
    ngram = NGram(2).fit(SAMPLE).model_
    for model in (ngram, ngram.to_wfa(), Mixture((ngram, coin(0.5)), np.array([0.25, 0.75]))):
        compiled = to_openfst(model)
        names = dict(line.split() for line in compiled.symbols.splitlines())
        assert names == {"<eps>": "0", "a": "1", "b": "2"}
        found = [read_openfst(compiled.transitions, word) for word in WORDS]
        np.testing.assert_allclose(found, np.exp(model.log_score(WORDS)), rtol=1e-6)
    with pytest.raises(OptionError, match="negative"):
        to_openfst(WFA([1.0], [-0.5], [[[0.5]]], ("a",)))
    with pytest.raises(OptionError, match="spaces"):
        to_openfst(WFA([1.0], [0.5], [[[0.5]]], ("a b",)))


def test_dot_leaves_out_what_is_light() -> None:
    model = WFA([1.0, 0.0], [0.5, 1.0], [[[0.495, 0.005], [0, 0]]], ('q"',))
    assert '0 -> 0 [label="q\\" 0.495"]' in to_dot(model)
    assert "0 -> 1" not in to_dot(model)
    assert "0 -> 1" in to_dot(model, threshold=0.001)


def test_pictures_are_svg() -> None:
    model = NGram(2).fit(Sequences.from_strings([["<s>", "&"], ["&"]])).model_
    root = ElementTree.fromstring(to_svg(model))
    circles = [node for node in root.iter() if node.tag.endswith("circle")]
    assert len(circles) == model.n_states
    assert any("<s>" in (node.text or "") for node in root.iter())
    with pytest.raises(OptionError, match="too many"):
        to_svg(WFA(np.ones(41), np.ones(41), np.zeros((1, 41, 41)), ("a",)))


@pytest.mark.parametrize("n_states", [1, 4, 12])
def test_no_label_of_a_picture_is_cut(n_states: int) -> None:
    """Long symbols on loops at all sides: every text, six pixels a letter, lies within the frame."""
    names = tuple(f"A-LONG-SYMBOL-{number}" for number in range(3))
    moves = np.full((3, n_states, n_states), 0.9 / (3 * n_states))
    model = WFA(np.full(n_states, 1 / n_states), np.full(n_states, 0.1), moves, names)
    machine = PDFA([[0, 0, 0]], [[0.3, 0.3, 0.3, 0.1]], names)
    for picture in (to_svg(model, 0.0), to_svg(machine, 0.0)):
        left, top, width, height = map(float, re.search(r'viewBox="([^"]+)"', picture)[1].split())
        texts = re.findall(r'<text [^>]*?x="([-0-9.]+)" y="([-0-9.]+)"[^>]*>([^<]*)</text>', picture)
        assert any("A-LONG-SYMBOL" in text for _, _, text in texts)
        for x, y, text in texts:
            half = 3.0 * len(text)
            assert left <= float(x) - half
            assert float(x) + half <= left + width
            assert top <= float(y) - 11
            assert float(y) <= top + height


def test_group_average_counts_pairs_within_clusters() -> None:
    """By the definition: of all unions, the one with the largest mean cosine of different members is made."""
    points = np.random.default_rng(4).normal(size=(12, 3))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    clusters = [[i] for i in range(12)]

    def mean_cosine(members: list[int]) -> float:
        products = points[members] @ points[members].T
        return float((products.sum() - len(members)) / (len(members) * (len(members) - 1)))

    while len(clusters) > 4:
        pairs = [(i, j) for i in range(len(clusters)) for j in range(i)]
        i, j = max(pairs, key=lambda pair: mean_cosine(clusters[pair[0]] + clusters[pair[1]]))
        clusters[j] += clusters.pop(i)
    label = group_average(points, 4)
    assert sorted(map(sorted, clusters)) == sorted(
        sorted(np.flatnonzero(label == n).tolist()) for n in range(4)
    )
    assert group_average(points[:3], 5).tolist() == [0, 1, 2]


def test_hankel_matrices_are_drawn() -> None:
    """A cell for each pair of strings with its value, and a bar for each singular value."""
    sample = Sequences.from_strings(["ab", "abab"] * 10)
    model = NGram(2).fit(sample).model_
    for counted in (True, False):
        blocks = picture_blocks(model, sample, 4, counted=counted)
        image = ElementTree.fromstring(hankel_to_svg(blocks))
        boxes = [element for element in image.iter() if element.tag.endswith("rect")]
        texts = [element.text for element in image.iter() if element.tag.endswith("text")]
        assert len(boxes) == 4 * 4 + 4
        assert texts.count("a b") == 2
        assert "λ" in texts
    assert f"{blocks.matrix[0, 0]:.2g}" in texts
    counted_blocks = picture_blocks(model, sample, 4, counted=True)
    assert counted_blocks.matrix[0, 0] == 4.0, "the empty string occurs at every cut"


def test_pictures_for_latex() -> None:
    """Every state, every transition and every special character of TeX is there once."""
    model = WFA([0.5, 0.5], [0.2, 0.4], [[[0.3, 0.2], [0.0, 0.6]], [[0.3, 0.0], [0.0, 0.0]]], ("a_b", "$"))
    text = to_tikz(model)
    assert text.count(r"\node[state") == 2
    assert text.count(r"\path") == 3
    assert text.count("loop above") == 2
    assert r"{\$ 0.30\\a\_b 0.30}" in text
    assert r"start 0.5" in text
    assert text.count("{") == text.count("}")
