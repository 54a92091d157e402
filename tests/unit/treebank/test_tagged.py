"""Tagged text: every format gives the same counts, and the lexicon learns from them."""

import gzip

import numpy as np
import pytest

from gramian.errors import InputError
from gramian.learn import PCFG, Observations
from gramian.treebank import Treebank
from gramian.treebank.vocab import TaggedWords
from gramian.trees import Tree

PAIRS = "Dogs/NNS bark/VBP ./.\nthe/DT dogs/NNS and\\/or/CC (/-LRB- cats/NNS\n"
CONLLU = """# text = Dogs bark.
1\tDogs\tdog\tNOUN\tNNS\t_\t2\tnsubj\t_\t_
2\tbark\tbark\tVERB\tVBP\t_\t0\troot\t_\t_
3\t.\t.\tPUNCT\t.\t_\t2\tpunct\t_\t_

1\tno\tno\tDET\t_\t_\t2\tdet\t_\t_
2\tdogs\tdog\tNOUN\tNNS\t_\t0\troot\t_\t_

"""


def test_formats(tmp_path):
    path = tmp_path / "tagged"
    path.write_text(PAIRS)
    words = TaggedWords.read(str(path))
    assert words.count["Dogs", "NNS"] == words.count["dogs", "NNS"] == 1
    assert words.initial == {("Dogs", "NNS"): 1, ("the", "DT"): 1}
    path.write_bytes(gzip.compress(CONLLU.encode()))
    words = TaggedWords.read(str(path))
    assert words.count == {
        ("Dogs", "NNS"): 1,
        ("bark", "VBP"): 1,
        (".", "."): 1,
        ("no", "DET"): 1,
        ("dogs", "NNS"): 1,
    }
    path.write_text("( (S (NP (NNS Dogs)) (VP (VBP bark)) (. .)) )\n")
    assert TaggedWords.read(str(path)).count == {("Dogs", "NNS"): 1, ("bark", "VBP"): 1, (".", "."): 1}


@pytest.mark.parametrize(
    ("text", "reason"), [("dogs bark\n", "not a token with its tag"), ("", "no tagged word")]
)
def test_bad_input(tmp_path, text, reason):
    (tmp_path / "tagged").write_text(text)
    with pytest.raises(InputError, match=reason):
        TaggedWords.read(str(tmp_path / "tagged"))


def grammar(words: TaggedWords | None):
    trees = [Tree.parse("(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)))")] * 3
    trees += [Tree.parse("(S (NP (DT a) (NN run)) (VP (VBZ sees) (NP (NN cat))))")]
    return PCFG().fit(Observations(Treebank.from_trees(trees), tagged=words)).model_


def chances(words: TaggedWords | None, word: str) -> dict[str, float]:
    lexicon = grammar(words).lexicon
    scores = lexicon.score(word)
    return {
        lexicon.tags[tag]: float(score * lexicon.tag_prior[tag])
        for tag, score in zip(scores.tags, scores.coarse, strict=True)
    }


def test_words_of_tagged_text_have_their_tags():
    words = TaggedWords({("jumps", "VBZ"): 30, ("run", "VBZ"): 3, ("odd", "XX"): 5}, {})
    assert chances(words, "jumps")["VBZ"] > 0.95
    assert chances(words, "jumps")["VBZ"] > chances(None, "jumps").get("VBZ", 0)
    assert chances(words, "run")["VBZ"] == pytest.approx(0.75, abs=0.05)
    assert "VBZ" not in chances(None, "run") or chances(None, "run")["VBZ"] < 0.4
    with_words, without = grammar(words).lexicon, grammar(None).lexicon
    assert "odd" not in with_words.words  # no tag of the treebank
    assert set(with_words.words) == {*without.words, "jumps"}
    np.testing.assert_allclose(with_words.tag_prior, without.tag_prior)
    assert chances(words, "the") == pytest.approx(chances(None, "the"), abs=0.05)
