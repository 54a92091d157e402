"""CoNLL-U: exact round trips, named errors, projectivity against its definition."""

import gzip
import io
import itertools

import conllu
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gramian.errors import InputError
from gramian.trees import ConlluError, Sentence, is_projective, lift, read_conllu, write_conllu

TEXT = """\
# sent_id = 1
# a comment without a value
1-2\tdu\t_\t_\t_\t_\t_\t_\t_\t_
1\tde\tde\tADP\t_\t_\t3\tcase\t_\t_
2\tle\tle\tDET\t_\tGender=Masc|Number=Sing\t3\tdet\t_\t_
3\tchat\tchat\tNOUN\t_\tGender=Masc\t0\troot\t_\tSpaceAfter=No
3.1\tnoir\t_\tADJ\t_\t_\t_\t_\t3:amod\t_
4\t.\t.\tPUNCT\t_\t_\t3\tpunct\t_\t_

1\tOui\toui\tINTJ\t_\t_\t0\troot\t_\t_

"""


def read(text: str | bytes, **options) -> list[Sentence]:
    return list(read_conllu(io.BytesIO(text.encode() if isinstance(text, str) else text), **options))


def row(number: int, head: int | str, form: str = "w") -> str:
    return f"{number}\t{form}\t_\t_\t_\t_\t{head}\tdep\t_\t_"


def sentence(heads: list[int | str]) -> str:
    return "\n".join(row(number, head) for number, head in enumerate(heads, 1)) + "\n"


def test_round_trip(tmp_path):
    sentences = read(TEXT)
    assert "".join(f"{one}\n" for one in sentences) == TEXT
    assert write_conllu(sentences, tmp_path / "out.conllu.gz") == 2
    assert gzip.decompress((tmp_path / "out.conllu.gz").read_bytes()).decode() == TEXT
    assert list(read_conllu(tmp_path / "out.conllu.gz")) == sentences


def test_fields_are_those_of_the_conllu_package():
    for ours, theirs in zip(read(TEXT), conllu.parse(TEXT), strict=True):
        words = theirs.filter(id=lambda number: isinstance(number, int))
        assert list(ours.words) == [token["form"] for token in words]
        assert list(ours.heads) == [token["head"] for token in words]
        assert [token.features for token in ours.tokens] == [token["feats"] or {} for token in words]
        assert [token.misc for token in ours.tokens] == [
            "SpaceAfter=No" if token["misc"] else "_" for token in words
        ]


def test_lines_windows_and_a_missing_last_newline():
    sentences = read(("\ufeff" + TEXT.replace("\n", "\r\n")).rstrip())
    assert [one.line for one in sentences] == [1, 10]
    assert "".join(f"{one}\n" for one in sentences) == TEXT


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("1\tword\n", 1, "2 columns instead of 10"),
        ("just words\n", 1, "1 columns instead of 10"),
        (sentence([0]) + row(3, 1) + "\n", 2, "word 3 is in the position of word 2"),
        (sentence([0]) + row(2, "x") + "\n", 2, "the head 'x' is not a word number"),
        (sentence([0]) + row(0, 1).replace("0", "2a", 1) + "\n", 2, "'2a' is not a word number"),
        ("\n\n" + sentence([2, 3, 0, 9]), 3, "word 4 has head 9, but the sentence has 4 words"),
        (sentence([2, 1]), 1, "no word is the root (head 0)"),
        (sentence([0, 3, 2]), 1, "word 2 is its own ancestor"),
        (sentence([0, 2]), 1, "word 2 is its own ancestor"),
        (sentence([0, "_"]), 1, "1 of 2 words have no head"),
        ("# only a comment\n", 1, "a block without words"),
    ],
)
def test_errors_have_places(text, line, what):
    with pytest.raises(ConlluError) as caught:
        read(text)
    assert (caught.value.line, caught.value.what) == (line, what)
    skipped: list[ConlluError] = []
    good = read(text + "\n" + sentence([0]), broken="skip", on_skip=skipped.append)
    assert [one.heads for one in good] == [(0,)]
    assert [error.what for error in skipped] == [what]


def test_heads_may_be_missing():
    assert read(sentence(["_", "_"]))[0].tokens[0].head is None
    with pytest.raises(InputError, match="has no head"):
        read(sentence(["_", "_"]))[0].heads  # noqa: B018


def test_no_sentence_is_an_error():
    with pytest.raises(InputError, match="no sentence in it"):
        read("\n\n")


def all_trees(count: int) -> list[tuple[int, ...]]:
    """Every dependency tree over a few words, by enumeration."""
    found = []
    for heads in itertools.product(range(count + 1), repeat=count):
        if all(_reaches_root(word, heads) for word in range(1, count + 1)):
            found.append(heads)
    return found


def _reaches_root(word: int, heads: tuple[int, ...]) -> bool:
    for _ in heads:
        word = heads[word - 1]
        if word == 0:
            return True
    return False


def crosses(heads: tuple[int, ...]) -> bool:
    """Whether two arcs cross when drawn above the words, the root's arc starting left of all."""
    arcs = [(min(word, head), max(word, head)) for word, head in enumerate(heads, 1)]
    return any(a < c < b < d for a, b in arcs for c, d in arcs)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5])
def test_projective_means_no_arcs_cross(count):
    drawn = all_trees(count)
    assert len(drawn) == (count + 1) ** (count - 1)  # Cayley's formula: forests of rooted trees
    for heads in drawn:
        # With several roots an arc may pass over a root without crossing anything but the root's own arc.
        assert is_projective(heads) == (not crosses(heads))


@given(
    st.integers(1, 9).flatmap(lambda count: st.lists(st.integers(0, 10**6), min_size=count, max_size=count))
)
def test_lifting(numbers):
    # Any numbers give a tree: each word hangs on one of those placed before it, in an order they give.
    order = sorted(range(len(numbers)), key=lambda word: (numbers[word] % 7, word))
    heads = [0] * len(numbers)
    for place, word in enumerate(order[1:], 1):
        heads[word] = order[numbers[word] % place] + 1
    lifted = lift(heads)
    assert is_projective(lifted)
    assert lifted.count(0) == heads.count(0)
    if is_projective(heads):
        assert lifted == tuple(heads)
    for old, new in zip(heads, lifted, strict=True):
        ancestors = [old]
        while ancestors[-1]:
            ancestors.append(heads[ancestors[-1] - 1])
        assert new in ancestors


def test_a_long_sentence():
    heads = [0, *[1] * 4_999]
    assert read(sentence(heads))[0].is_projective


def test_other_heads():
    one = read(TEXT)[0].with_heads([2, 3, 0, 3])
    assert one.heads == (2, 3, 0, 3)
    assert one.tokens[0].deprel == "case"
    assert one.comments == read(TEXT)[0].comments


def test_arcs_can_be_left_unread():
    text = "1\ta\t_\tX\t_\t_\t1\tself\t9:x\tM=1\n2\tb\t_\tX\t_\t_\tnonsense\t_\t_\t_\n"
    (sentence,) = read_conllu(io.StringIO(text), arcs=False)
    assert [(token.head, token.deprel, token.deps) for token in sentence.tokens] == [(None, "_", "_")] * 2
    assert sentence.tokens[0].misc == "M=1"
    assert list(read_conllu(io.StringIO("\n\n"), arcs=False)) == []
    with pytest.raises(ConlluError, match="4 columns"):
        list(read_conllu(io.StringIO("1\ta\t_\tX\n"), arcs=False))


def test_words_of_a_range_are_put_together():
    first, second = (one.surface() for one in read(TEXT))
    assert (first.words, first.heads) == (("du", "chat", "."), (2, 0, 2))
    assert (first.tokens[0].deprel, first.tokens[0].upos) == ("case", "_")
    assert first.tokens[1].upos == "NOUN"
    assert second.words == ("Oui",)
    assert read(f"{first}\n")[0].heads == first.heads


@given(st.lists(st.integers(1, 3), min_size=1, max_size=8), st.randoms())
def test_words_put_together_are_a_tree_again(sizes, random):
    order = list(range(1, sum(sizes) + 1))
    random.shuffle(order)
    heads = {order[0]: 0} | {word: random.choice(order[:place]) for place, word in enumerate(order) if place}
    [whole] = read(sentence([heads[word] for word in sorted(heads)]))
    joined = whole.joined([f"w{number}" for number in range(len(sizes))], sizes)
    assert len(read(f"{joined}\n")[0]) == len(sizes)  # whose arcs are checked
