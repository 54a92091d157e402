"""Corpus arrays: the compiled reader against tree objects on any trees, and every kind of source and fault."""

import gzip
import io
import lzma
import sys
import warnings

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tree_strategies import trees as odd_trees

from gramian.errors import InputError
from gramian.treebank import Shape, Treebank
from gramian.treebank.productions import Productions
from gramian.trees import SCHEMES, HeadRules, NormaliseOptions, Tree, binarise, normalise, read_trees
from gramian.trees.brackets import BracketError

COLUMNS = ("label", "left", "right", "parent", "word", "start", "end", "tree_start")

# Trees with few labels, so that chains, equal unaries, traces and wrappers meet.
_LEAVES = st.builds(
    lambda tag, word: Tree(tag, word=word),
    st.sampled_from(["N", "V", "-NONE-", ",", "N-X", "NP", "-LRB-"]),
    st.sampled_from(["a", "b", "0", "-LRB-", "(", "New"]),
)
_INNER = st.sampled_from(["S", "NP", "NP-SBJ", "NP=2", "VP", "@X", "A|B", "ROOT", "grup.nom.ms", "PP;*SBJ*"])
few_labels = st.recursive(
    _LEAVES,
    lambda parts: st.builds(
        Tree, _INNER, st.lists(st.one_of(parts, st.just(Tree(""))), min_size=1, max_size=4)
    ),
    max_leaves=12,
)
wrapped = st.builds(
    lambda label, below: Tree(label, below),
    st.sampled_from(["", "ROOT", "TOP"]),
    st.lists(few_labels, min_size=1, max_size=3),
)
any_trees = st.lists(st.one_of(few_labels, wrapped, odd_trees, st.just(Tree(""))), min_size=1, max_size=4)
shapes = st.builds(Shape, st.sampled_from(["right", "left"]), st.sampled_from([0, 1, 2]))
options = st.sampled_from(
    [*(scheme.options for scheme in SCHEMES.values()), NormaliseOptions(same_unaries=False)]
)


def text_of(trees: list[Tree], between: str = "\n") -> io.StringIO:
    return io.StringIO(between.join(map(str, trees)))


def assert_equal(one: Treebank, other: Treebank, *, same_order: bool = True) -> None:
    assert one.symbols == other.symbols
    assert one.n_phrases == other.n_phrases
    assert one.words == other.words
    for column in COLUMNS if same_order else ("tree_start",):
        np.testing.assert_array_equal(getattr(one, column), getattr(other, column), err_msg=column)
        assert getattr(one, column).dtype == np.int32
    assert one.removed == other.removed


def assert_consistent(bank: Treebank) -> None:
    """Links, spans and order hold for every node."""
    for first, last in zip(bank.tree_start[:-1], bank.tree_start[1:], strict=True):
        position = 0
        for node in range(first, last):
            left, right = bank.left[node], bank.right[node]
            if bank.word[node] >= 0:
                assert (left, right) == (-1, -1)
                assert (bank.start[node], bank.end[node]) == (position, position + 1)
                assert bank.label[node] >= bank.n_phrases
                position += 1
            else:
                assert bank.label[node] < bank.n_phrases
                assert first <= left < node
                assert bank.parent[left] == node
                assert bank.start[node] == bank.start[left]
                if right >= 0:
                    assert first <= right < node
                    assert bank.parent[right] == node
                    assert bank.end[left] == bank.start[right]
                else:
                    assert bank.word[left] >= 0
                assert bank.end[node] == bank.end[right if right >= 0 else left]
        assert bank.parent[last - 1] == -1
        assert (bank.start[last - 1], bank.end[last - 1]) == (0, position)
    np.testing.assert_array_equal(bank.lengths, bank.end[bank.tree_start[1:] - 1])


@settings(max_examples=150)
@given(any_trees, options, shapes, st.sampled_from(["\n", " ", "\n\n"]))
@example([Tree("ROOT", [Tree("ROOT", [Tree("N", word="a")])])], SCHEMES["penn"].options, Shape(), "\n")
@example([Tree("", [Tree("S", [Tree("N", word="a")]), Tree("")])], SCHEMES["penn"].options, Shape(), "\n")
def test_arrays_equal_objects(trees, options, shape, between):
    bank = Treebank.read(text_of(trees, between), options=options, shape=shape)
    # Intermediate nodes that lean to the right are made in another order; trees are compared below.
    objects = Treebank.from_trees(trees, options=options, shape=shape)
    assert_equal(bank, objects, same_order=shape.direction == "right")
    assert_consistent(bank)
    assert_consistent(objects)
    normal = [normalise(tree, options).tree for tree in trees]
    normal = [tree for tree in normal if not tree.is_empty]
    assert list(bank.trees()) == normal
    assert [bank.binary_tree(number) for number in range(bank.n_trees)] == [
        binarise(tree, direction=shape.direction, horizontal=shape.horizontal) for tree in normal
    ]


def test_the_compiled_reader_is_used(monkeypatch):
    def fail(*_, **__):
        raise AssertionError("the object reader was called")

    monkeypatch.setattr("gramian.treebank.arrays.read_trees", fail)
    for text in (
        "( (S (NP-SBJ (DT the) (NN cat)) (VP (VBZ sleeps) (NP (-NONE- *)))) )",
        "()\n(TOP (NP (NN a) (NN b)) (X (Y y)))(S (A a))",
        "(S (NP (NP (NP (NN a)))) (VP\t(V  b)\r\n))",
    ):
        assert Treebank.read(io.StringIO(text)).n_trees


@pytest.mark.parametrize(
    "shape",
    [
        Shape("head"),
        Shape("left", None),
        Shape("right", 0, 2),
        Shape("left", 1, 3),
        Shape("right", 5),
        Shape(collapse_tags=True),
    ],
)
def test_other_shapes_go_through_objects(shape):
    tree = Tree.parse(
        "(S (NP (DT a) (JJ b) (JJ c) (NN d)) (VP (V e) (NP (N f)) (PP (P g) (NP (N h)))) (. .))"
    )
    heads = HeadRules.collins() if shape.direction == "head" else None
    bank = Treebank.read(text_of([tree]), shape=shape, heads=heads)
    assert bank.binary_tree(0) == binarise(tree, **vars(shape), heads=heads)
    assert bank.tree(0) == tree
    assert ("NP|N" in bank.symbols[bank.n_phrases :]) == shape.collapse_tags
    assert bank.tree(0) == tree
    assert bank.shape == shape


def test_options_the_compiled_reader_does_not_know():
    text = "(ROOT (S (NP (N a\\/b)) (, ,) (V c)))"
    for options in (
        NormaliseOptions(root="keep"),
        NormaliseOptions(root="add"),
        NormaliseOptions(punctuation="drop"),
        NormaliseOptions(unescape=True),
    ):
        bank = Treebank.read(io.StringIO(text), options=options)
        assert bank.tree(0) == normalise(Tree.parse(text), options).tree


def test_hand_made_arrays():
    bank = Treebank.read(io.StringIO("( (S (NP-SBJ (DT the) (JJ old) (NN cat)) (VP (VBZ sleeps)) (. .)) )"))
    assert bank.symbols == ("@NP", "@S", "NP", "S", "VP", ".", "DT", "JJ", "NN", "VBZ")
    assert bank.n_phrases == 5
    assert bank.words == ("the", "old", "cat", "sleeps", ".")
    names = [bank.symbols[label] for label in bank.label]
    assert sorted(names[:5]) == [".", "DT", "JJ", "NN", "VBZ"]
    nodes = {name: place for place, name in enumerate(names)}
    children = {
        name: [names[child] for child in (bank.left[place], bank.right[place]) if child >= 0]
        for name, place in nodes.items()
    }
    assert children["S"] == ["@S", "."]
    assert children["@S"] == ["NP", "VP"]
    assert children["NP"] == ["@NP", "NN"]
    assert children["@NP"] == ["DT", "JJ"]
    assert children["VP"] == ["VBZ"]
    assert (bank.start[nodes["@S"]], bank.end[nodes["@S"]]) == (0, 4)
    assert (bank.removed.labels_cut, bank.removed.roots) == (1, 1)


def test_a_word_first_seen_in_a_trace_is_numbered_where_it_is_kept():
    text = "(S (-NONE- b) (N a) (N b))"
    assert Treebank.read(io.StringIO(text)).words == ("a", "b")


def test_empty_trees_are_left_out_and_counted():
    text = "()\n(S (-NONE- *))\n(S (N a))\n(())\n(S () (NP ()))"
    bank = Treebank.read(io.StringIO(text))
    assert bank.n_trees == 1
    assert bank.removed.trees_emptied == 1  # the others had no word to begin with
    assert bank.removed == Treebank.from_trees(read_trees(io.StringIO(text))).removed


def test_several_trees_under_one_bracket():
    bank = Treebank.read(io.StringIO("( (S (N a)) (S (N b)) )"))
    assert [str(tree) for tree in bank.trees()] == ["(ROOT (S (N a)) (S (N b)))"]


def test_words_with_spaces_are_joined_aloud():
    text = "(S (NP (NNP New York City)) (VP (V is) (ADJP (JJ very  big))))"
    with pytest.warns(UserWarning, match=r"2 words with a space inside were joined.*'New York City'"):
        bank = Treebank.read(io.StringIO(text))
    assert bank.words == ("New_York_City", "is", "very_big")
    with pytest.warns(UserWarning, match="2 words with a space"):
        assert_equal(bank, Treebank.from_trees(read_trees(io.StringIO(text))))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Treebank.read(io.StringIO("(S (N a))"))


BROKEN = {
    "(S (N a)\n(V b)": (1, 1, "never closed"),
    "(S (N a)))": (1, 10, "closes nothing"),
    "(S (N a))\n(S (N))": (2, 5, "neither children nor a word"),
    "(S (N a) b)": (1, 10, "outside a tag"),
    "(S a (N b))": (1, 4, "without a tag"),
    "(S (N a)) x\n": (1, 11, "outside a tag"),
    "x (S (N a))": (1, 1, "outside brackets"),
    "(S\n  (NP)\n (V b))": (2, 4, "neither children nor a word"),
    # One tree lacks a bracket and the next has one too many: balanced, and still broken.
    "( (S (N a))\n( (S (N b))))": (1, 1, "never closed"),
    "(ROOT (S (N a))\n(ROOT (S (N b))))": (1, 1, "never closed"),
}


@pytest.mark.parametrize("text", BROKEN)
@pytest.mark.parametrize("horizontal", [0, None])
def test_faults_are_named_with_their_place(text, horizontal):
    line, column, what = BROKEN[text]
    with pytest.raises(BracketError, match=what) as caught:
        Treebank.read(io.StringIO(text), shape=Shape("right", horizontal))
    assert (caught.value.line, caught.value.column) == (line, column)


def test_broken_trees_can_be_skipped():
    text = "(S (N a) (V b))\n(S (N))\n(S (N c))"
    with pytest.warns(UserWarning, match="1 broken trees were skipped"):
        bank = Treebank.read(io.StringIO(text), broken="skip")
    assert [str(tree) for tree in bank.trees()] == ["(S (N a) (V b))", "(S (N c))"]


@pytest.mark.parametrize("text", ["", "\n \n"])
def test_no_tree_at_all(text):
    with pytest.raises(InputError, match="no tree in it"):
        Treebank.read(io.StringIO(text))


TEXT = "(S (NP (N é)) (V b))\n(S (N a) (X (Y y) (Z z)))\n"


def sources(tmp_path):
    (tmp_path / "plain.mrg").write_text(TEXT, encoding="utf-8")
    (tmp_path / "packed.mrg.gz").write_bytes(gzip.compress(TEXT.encode()))
    (tmp_path / "packed.xz").write_bytes(lzma.compress(TEXT.encode()))
    (tmp_path / "bom").write_bytes(b"\xef\xbb\xbf" + TEXT.replace("\n", "\r\n").encode())
    folder = tmp_path / "folder"
    (folder / "inner").mkdir(parents=True)
    (folder / "1.mrg").write_text(TEXT.splitlines()[0], encoding="utf-8")
    (folder / "empty").write_text("")
    (folder / "inner" / "2.mrg").write_text(TEXT.splitlines()[1], encoding="utf-8")
    yield from (
        tmp_path / "plain.mrg",
        str(tmp_path / "packed.mrg.gz"),
        tmp_path / "packed.xz",
        tmp_path / "bom",
    )
    yield folder
    yield io.StringIO(TEXT)
    yield io.BytesIO(TEXT.encode())


def test_sources(tmp_path, monkeypatch):
    expected = Treebank.from_trees(read_trees(io.StringIO(TEXT)))
    for source in sources(tmp_path):
        assert_equal(Treebank.read(source), expected)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(TEXT.encode())))
    assert_equal(Treebank.read("-"), expected)


def test_faults_name_the_file(tmp_path, monkeypatch):
    with pytest.raises(InputError, match="cannot be opened"):
        Treebank.read(tmp_path / "absent.mrg")
    (tmp_path / "a.mrg").write_text("(S (N a)")
    (tmp_path / "b.mrg").write_text(")")
    with pytest.raises(InputError, match=r"a\.mrg:1:1: '\(' is never closed"):
        Treebank.read(tmp_path)  # brackets must balance in every file
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"(S (N a)")))
    with pytest.raises(InputError, match=r"<stdin>:1:1: '\(' is never closed"):
        Treebank.read("-")


def test_a_tree_longer_than_a_piece(monkeypatch):
    monkeypatch.setattr("gramian.treebank.encode._PIECE", 16)
    text = "(S\n" + "(NP\n(N a)\n(N b)\n)\n" * 20 + ")\n(S (N c))"
    bank = Treebank.read(io.StringIO(text))
    assert list(bank.trees()) == list(read_trees(io.StringIO(text)))


def test_deep_trees_need_no_recursion():
    depth = 3_000
    text = "(A " * depth + "(B (N a) (N b))" + ")" * depth
    bank = Treebank.read(io.StringIO(text), options=NormaliseOptions(same_unaries=False))
    assert bank.symbols == ("|".join(["A"] * depth + ["B"]), "N")


@settings(max_examples=30)
@given(st.lists(few_labels, min_size=1, max_size=5), st.data())
def test_subset(trees, data):
    bank = Treebank.from_trees(trees)
    chosen = data.draw(st.lists(st.integers(0, bank.n_trees - 1), max_size=6)) if bank.n_trees else []
    part = bank.subset(chosen)
    assert (part.symbols, part.n_phrases) == (bank.symbols, bank.n_phrases)
    assert set(part.words) == {word for number in chosen for word in bank.tree(number).words}
    assert list(part.trees()) == [bank.tree(number) for number in chosen]
    assert_consistent(part)


def test_by_label():
    bank = Treebank.read(io.StringIO(TEXT))
    order, starts = bank.by_label
    assert sorted(order.tolist()) == list(range(len(bank.label)))
    for symbol in range(bank.n_symbols):
        assert set(bank.label[order[starts[symbol] : starts[symbol + 1]]].tolist()) == {symbol}


def test_productions_by_hand():
    text = "(S (NP (D the) (N cat)) (VP (V sleeps)))\n(S (NP (D the) (N dog)) (VP (V sleeps) (NP (D the) (N cat))))"
    bank = Treebank.read(io.StringIO(text))
    productions = Productions.of(bank)

    def table(rules, count, words=False):
        named = [[bank.symbols[part] for part in rule] for rule in rules.tolist()] if not words else [
            [bank.symbols[tag], bank.words[word]] for tag, word in rules.tolist()
        ]  # fmt: skip
        return {" ".join(rule): int(number) for rule, number in zip(named, count, strict=True)}

    assert table(productions.binary, productions.binary_count) == {"S NP VP": 2, "NP D N": 3, "VP V NP": 1}
    assert table(productions.unary, productions.unary_count) == {"VP V": 1}
    assert table(productions.lexical, productions.lexical_count, words=True) == {
        "D the": 3, "N cat": 2, "N dog": 1, "V sleeps": 2,
    }  # fmt: skip


@settings(max_examples=30)
@given(st.lists(few_labels, min_size=1, max_size=4))
def test_every_node_has_its_production(trees):
    bank = Treebank.from_trees(trees)
    productions = Productions.of(bank)
    for node, production in enumerate(productions.node_production.tolist()):
        if bank.word[node] >= 0:
            assert productions.lexical[production].tolist() == [bank.label[node], bank.word[node]]
        else:
            below = [bank.label[child] for child in (bank.left[node], bank.right[node]) if child >= 0]
            table = productions.binary if len(below) == 2 else productions.unary
            assert table[production].tolist() == [bank.label[node], *below]
    counts = (productions.binary_count, productions.unary_count, productions.lexical_count)
    assert sum(int(count.sum()) for count in counts) == len(bank.label)


def test_a_subset_knows_only_its_own_words() -> None:
    trees = [Tree.parse(f"(S (NP (D the) (N {noun})) (V runs))") for noun in ("cat", "dog", "fox")]
    part = Treebank.from_trees(trees).subset([0, 2])
    assert part.words == ("the", "cat", "runs", "fox")
    assert [str(tree) for tree in part.trees()] == [str(trees[0]), str(trees[2])]


@pytest.mark.parametrize("shape", [Shape(), Shape("left"), Shape(collapse_tags=True)])
@settings(max_examples=30)
@given(st.lists(odd_trees, max_size=5))
def test_sentences_are_those_of_the_trees(shape, trees):
    bank = Treebank.from_trees(trees, options=SCHEMES["whole"].options, shape=shape)
    assert [tuple(one) for one in bank.sentences()] == [
        (tuple(tree.words), tuple(tree.tags)) for tree in bank.trees()
    ]


@settings(max_examples=60)
@given(
    st.lists(odd_trees, max_size=5),
    st.sampled_from([Shape(), Shape("left", 1), Shape("right", 1, 2), Shape(collapse_tags=True)]),
    st.sampled_from([Shape(), Shape("left", 2), Shape("left", 1, 2), Shape("right", 0, 1, True)]),
)
def test_another_binarisation_is_that_of_the_printed_trees(trees, shape, other):
    whole = SCHEMES["whole"].options
    bank = Treebank.from_trees(trees, options=whole, shape=shape)
    printed = "\n".join(str(tree) for tree in bank.trees())
    read = Treebank.from_trees(
        read_trees(io.StringIO(printed)) if printed else [], options=whole, shape=other
    )
    assert_equal(bank.reshaped(other), read, same_order=not other.is_plain or other.direction == "right")
    assert list(bank.reshaped(other).trees()) == list(read.trees())
