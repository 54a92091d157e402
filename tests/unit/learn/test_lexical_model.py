"""Words and tags: known, rare, unknown and never-heard-of words."""

import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gramian.errors import OptionError
from gramian.grammar.lexicon import Lexicon
from gramian.learn import PCFG, Observations
from gramian.learn.counting import count_states
from gramian.learn.lexicon_counts import LexicalModel, LexiconOptions
from gramian.learn.smoothing import state_shares
from gramian.learn.tables import LatentTables, Layout
from gramian.treebank import Treebank

VERBS = ("walking", "talking", "singing", "reading", "parsing", "looking")
NOUNS = ("cats", "dogs", "birds", "trees", "boats", "books")


def treebank() -> Treebank:
    """Verbs in -ing, plural nouns in -s, a frequent determiner, and "saw", which is both."""
    lines = [f"(S (NP (DT the) (NNS {noun})) (VP (VBG {verb})))" for noun in NOUNS for verb in VERBS[:3]]
    lines += [f"(S (NP (NNS {noun})) (VP (VBG {verb})))" for noun, verb in zip(NOUNS, VERBS, strict=True)]
    lines += ["(S (NP (DT the) (NN saw)) (VP (VBG walking)))"] * 3 + [
        "(S (NP (DT The) (NN cat)) (VP (VBD saw)))"
    ]
    return Treebank.read(io.StringIO("\n".join(lines)))


@pytest.fixture(scope="module")
def bank() -> Treebank:
    return treebank()


def counts_of(seen: Observations, states: int = 2, seed: int = 0) -> LatentTables:
    """Counts of random states."""
    layout = Layout.of(seen.productions, np.full(seen.bank.n_symbols, states, np.int32))
    state = np.random.default_rng(seed).integers(0, states, len(seen.bank.label)).astype(np.int32)
    return count_states(seen.bank, layout, state)


def lexicon_of(bank: Treebank, states: int = 2, **options) -> Lexicon:
    seen = Observations(bank)
    model = LexicalModel(bank, seen.productions, LexiconOptions(**options))
    counts = counts_of(seen, states)
    return model.build(model.state_scores(counts), counts.layout.n_states)


def tags(lexicon: Lexicon, word: str, initial: bool = False) -> dict[str, float]:
    """Return P(tag | word) for the tags a word may have."""
    scores = lexicon.score(word, initial)
    share = scores.coarse.astype(float) * lexicon.tag_prior[scores.tags]
    return {lexicon.tags[tag]: float(value) for tag, value in zip(scores.tags, share, strict=True)}


def test_without_shrinkage_known_words_have_relative_frequencies(bank):
    lexicon = lexicon_of(bank, tag_shrinkage=0.0)
    assert tags(lexicon, "saw") == pytest.approx({"NN": 0.75, "VBD": 0.25})
    assert tags(lexicon, "the") == pytest.approx({"DT": 1.0})
    for word in lexicon.words:
        assert sum(tags(lexicon, word).values()) == pytest.approx(1, rel=1e-5)


def test_with_shrinkage_a_words_form_has_a_say(bank):
    lexicon = lexicon_of(bank, tag_shrinkage=1.0)
    found = tags(lexicon, "saw")
    assert found["NN"] > found["VBD"]
    assert 0.4 < found["NN"] < 0.75
    form = Observations(bank).lexical("auto").form_probabilities(["saw"])[0]
    expected = (3 + form[lexicon.tags.index("NN")]) / 5
    assert found["NN"] == pytest.approx(expected, rel=1e-5)


def test_form_probabilities_sum_to_one(bank):
    model = Observations(bank).lexical("auto")
    np.testing.assert_allclose(
        model.form_probabilities([*bank.words, "xyzzy", "🙂"]).sum(axis=1), 1, rtol=1e-12
    )


def test_unknown_words_get_plausible_tags(bank):
    lexicon = lexicon_of(bank)
    for word, tag in (("jumping", "VBG"), ("horses", "NNS")):
        assert word not in lexicon.words
        found = tags(lexicon, word)
        assert max(found, key=found.__getitem__) == tag
        np.testing.assert_allclose(lexicon.tag_probabilities(word).sum(), 1, rtol=1e-12)


def test_a_case_variant_takes_the_known_words_tag(bank):
    found = tags(lexicon_of(bank), "THE")
    assert "DT" in found


@settings(max_examples=60)
@given(
    st.one_of(
        st.text(min_size=1, max_size=10), st.sampled_from(["🙂🙂", "東京", "مرحبا", "ไทย", "-", "\u200b"])
    ),
    st.booleans(),
)
def test_any_word_gets_scores(word, initial):
    lexicon = _LEXICON
    scores = lexicon.score(word, initial)
    assert len(scores.tags)
    assert (scores.coarse > 0).all()
    assert np.isfinite(scores.coarse).all()
    assert len(scores.states) == lexicon.n_states[scores.tags].sum()
    assert np.isfinite(scores.states).all()
    assert (scores.states >= 0).all()
    starts = np.cumsum(lexicon.n_states[scores.tags])[:-1]
    assert all(part.sum() > 0 for part in np.split(scores.states, starts))


_LEXICON = lexicon_of(treebank())


def probabilities_of_states(
    seen: Observations, counts: LatentTables, **options
) -> dict[tuple[str, str], np.ndarray]:
    """Return P(state | tag, word) of all pairs."""
    model = LexicalModel(seen.bank, seen.productions, LexiconOptions(**options))
    scores = model.state_scores(counts).pairs
    shares, layout = state_shares(counts), counts.layout
    return {
        (seen.bank.symbols[tag], seen.bank.words[word]): scores[
            layout.lexical_start[pair] : layout.lexical_start[pair + 1]
        ]
        * shares[layout.root_start[tag] : layout.root_start[tag + 1]]
        for pair, (tag, word) in enumerate(seen.productions.lexical)
    }


@pytest.mark.parametrize(
    "options", [{}, {"shrinkage": 0.0}, {"suffixes": False}, {"shrinkage": 0.0, "suffixes": False, "rare": 5}]
)
def test_states_of_a_word_are_a_distribution(bank, options):
    seen = Observations(bank)
    for share in probabilities_of_states(seen, counts_of(seen, 3), **options).values():
        assert share.sum() == pytest.approx(1, rel=1e-5)
        assert share.min() >= 0


def test_without_shrinkage_states_are_relative_frequencies(bank):
    seen = Observations(bank)
    counts = counts_of(seen)
    found = probabilities_of_states(seen, counts, shrinkage=0.0)
    for pair, (tag, word) in enumerate(seen.productions.lexical):
        own = counts.lexical[counts.layout.lexical_start[pair] : counts.layout.lexical_start[pair + 1]]
        np.testing.assert_allclose(
            found[bank.symbols[tag], bank.words[word]], own / own.sum(), rtol=1e-5, atol=1e-6
        )


def test_words_that_look_alike_share_states():
    """A verb seen once leans to the state of verbs with the same ending."""
    lines = [f"(S (V {stem}ing) (V {stem}ed))" for stem in ("walk", "talk", "jump", "turn", "look", "kick")]
    lines += ["(S (V parsing) (V x))"]
    seen = Observations(Treebank.read(io.StringIO("\n".join(lines))))
    bank = seen.bank
    tag = bank.symbols.index("V")
    is_ing = np.array([word.endswith("ing") for word in bank.words])
    state = np.where((bank.label == tag) & is_ing[bank.word], 1, 0).astype(np.int32)
    parsing = bank.words.index("parsing")
    state[bank.word == parsing] = 0  # against its ending
    counts = count_states(bank, Layout.of(seen.productions, np.full(bank.n_symbols, 2, np.int32)), state)
    by_suffix = probabilities_of_states(seen, counts, shrinkage=3.0)
    # By hand: 6 of 14 verbs have the state; then -g, -ng, -ing (6 of 7 each), -sing (itself, 0 of 1), the word (0 of 1).
    share = 6 / 14
    for count, total in ((6, 14), (6, 14), (6, 7), (6, 7), (6, 7), (0, 1), (0, 1)):
        share = (count + 3 * share) / (total + 3)
    assert by_suffix["V", "parsing"][1] == pytest.approx(share, rel=1e-5)
    assert by_suffix["V", "walking"][1] > 0.9
    assert by_suffix["V", "walked"][1] < 0.2


def test_rare_words_tied_to_their_tag():
    """Words seen up to five times share the states of all of them; others have their own."""
    lines = ["(S (N often) (V a))"] * 6 + ["(S (N once) (V a))"] + ["(S (N twice) (V a))"] * 2
    seen = Observations(Treebank.read(io.StringIO("\n".join(lines))))
    bank = seen.bank
    often, once, twice = (bank.word == bank.words.index(word) for word in ("often", "once", "twice"))
    state = np.zeros(len(bank.label), np.int32)
    state[np.flatnonzero(often)[:2]] = 1
    state[once] = 1
    counts = count_states(bank, Layout.of(seen.productions, np.full(bank.n_symbols, 2, np.int32)), state)
    model = seen.lexical("pos")
    lexicon = model.build(model.state_scores(counts), counts.layout.n_states)
    shares = state_shares(counts)[counts.layout.root_start[bank.symbols.index("N")] :][:2]
    tag = lexicon.tags.index("N")

    def states(word: str) -> np.ndarray:
        return lexicon.pair_states(tag, word) * shares

    np.testing.assert_allclose(states("often"), [4 / 6, 2 / 6], rtol=1e-6)
    for word in ("once", "twice", "never"):
        np.testing.assert_allclose(states(word), [2 / 3, 1 / 3], rtol=1e-6)
    assert tags(lexicon, "once") == pytest.approx({"N": 1.0})
    # Features do not tell rare words apart either.
    column = seen.view(None, model.options.suffixes).word[:-1]
    assert len(set(column[once | twice].tolist())) == 1
    assert set(column[often].tolist()).isdisjoint(column[once].tolist())


def test_a_lexicon_must_be_known(bank):
    wanted = "a LexiconOptions or one of auto, suffix, tag, pos, signature"
    with pytest.raises(OptionError, match=f"^lexicon must be {wanted}, got 'prefix'$"):
        PCFG(lexicon="prefix").fit(bank)


@pytest.mark.parametrize(
    "text",
    [
        "(S (A a))",  # one tag
        "(S (A a) (B 12))",  # two words with nothing in common
        "(S (A a) (B b))",
    ],
)
def test_tiny_treebanks(text):
    lexicon = lexicon_of(Treebank.read(io.StringIO(text)))
    assert len(lexicon.score("unheard").tags)
    assert sum(tags(lexicon, "a").values()) == pytest.approx(1, rel=1e-5)


def test_top_tag(bank):
    model = Observations(bank).lexical("auto")
    assert model.top_tag["saw"] == "NN"
    assert model.top_tag["the"] == "DT"


def test_what_tells_rare_words_apart_depends_on_the_treebank():
    english = "(S (NP (DT the) (NN dog)) (VP (VBZ sees) (PP (IN in) (NP (NN snow)))))"
    other = "(S (NP (D la) (N neige)) (VP (V tombe)))"
    for text, suffixes in ((english, True), (other, False)):
        seen = Observations(Treebank.read(io.StringIO(text)))
        assert seen.lexical("auto").options.suffixes is suffixes
        assert seen.lexical("suffix").options.suffixes
        assert not seen.lexical("tag").options.suffixes


def test_rare_words_are_replaced_by_their_tag_and_signature(bank):
    """All nouns in -s share the states of the class x/ts, x/gs, ...; without signatures those of the tag."""
    model = LexicalModel(bank, Observations(bank).productions, LexiconOptions.called("signature", rare=9))
    plain = LexicalModel(bank, Observations(bank).productions, LexiconOptions.called("pos", rare=9))
    counts = counts_of(Observations(bank))
    found, by_tag = model.state_scores(counts), plain.state_scores(counts)
    pairs = bank_pairs(bank)
    ratios = {word: found.pairs[2 * pair : 2 * pair + 2].tolist() for word, pair in pairs["NNS"].items()}
    of_tag = {word: by_tag.pairs[2 * pair : 2 * pair + 2].tolist() for word, pair in pairs["NNS"].items()}
    assert ratios["cats"] == ratios["boats"]
    assert ratios["cats"] != ratios["dogs"]
    assert len({tuple(values) for values in of_tag.values()}) == 1


def bank_pairs(bank: Treebank) -> dict[str, dict[str, int]]:
    """Return the number of each pair of tag and word."""
    found: dict[str, dict[str, int]] = {}
    for pair, (tag, word) in enumerate(Observations(bank).productions.lexical.tolist()):
        found.setdefault(bank.symbols[tag], {})[bank.words[word]] = pair
    return found


def test_rare_words_may_be_counted_whatever_their_case():
    """ "The" is seen twice and "the" four times: six in all, which is not rare any more."""
    lines = ["(S (DT The) (NN cat))"] * 2 + ["(S (DT the) (NN cat))"] * 4
    seen = Observations(Treebank.read(io.StringIO("\n".join(lines))))
    pairs = bank_pairs(seen.bank)["DT"]
    rare = {}
    for ignore_case in (False, True):
        options = LexiconOptions.called("pos", rare=5, ignore_case=ignore_case)
        model = LexicalModel(seen.bank, seen.productions, options)
        rare[ignore_case] = {word: bool(model._is_rare[pair]) for word, pair in pairs.items()}
    assert rare == {False: {"The": True, "the": True}, True: {"The": False, "the": False}}
