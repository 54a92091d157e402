"""The bracket reader: layouts, errors with places, recovery, compression, memory."""

import gzip
import io
import lzma
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tree_strategies import labelled_trees, trees

from gramian.errors import InputError, OptionError
from gramian.treebank import Treebank
from gramian.trees import BracketError, Tree, parse_bracketed, read_trees, write_trees


def read(text: str | bytes, **options) -> list[Tree]:
    data = text.encode() if isinstance(text, str) else text
    return list(read_trees(io.BytesIO(data), **options))


def read_skipping(text: str, **options) -> tuple[list[tuple[int, str]], list[tuple[int, int, str]]]:
    skipped: list[BracketError] = []
    found = read(text, broken="skip", on_skip=skipped.append, **options)
    return (
        [(tree.line, str(tree)) for tree in found],
        [(error.line, error.column, error.what) for error in skipped],
    )


@given(st.lists(labelled_trees, min_size=1, max_size=5), st.booleans(), st.randoms(use_true_random=False))
def test_white_space_does_not_matter(drawn, outer, random):
    drawn = [Tree("", [tree]) for tree in drawn] if outer else drawn
    pieces = []
    for tree in drawn:
        for part in str(tree).replace("(", " ( ").replace(")", " ) ").split(" "):
            # A bracket at the start of a line may begin another tree: see the tests of broken trees.
            space = random.choice([" ", "\n ", "\t", " \r\n ", "  "])
            pieces.append(part + ("" if part in "()" and random.random() < 0.5 else space))
    assert read("".join(pieces)) == drawn


@given(st.lists(trees, min_size=1, max_size=5), st.sampled_from(["\n", " ", "\r\n", "\n\n"]))
def test_trees_of_a_file(drawn, between):
    assert read(between.join(map(str, drawn))) == drawn
    assert parse_bracketed(between.join(map(str, drawn))) == drawn


def test_outer_brackets_and_failures():
    assert [str(tree) for tree in read("((S (A a)))\n( (S (A a)))\n()\n( )\n(())\n(ROOT (S (A a)))")] == [
        "( (S (A a)))",
        "( (S (A a)))",
        "()",
        "()",
        "( ())",
        "(ROOT (S (A a)))",
    ]


def test_lines():
    text = "\n(X (A a))\n\n( (S\n   (A a)\n   (B b))) (Y (A a))\n(Z\n(A a))\n"
    assert [tree.line for tree in read(text)] == [2, 4, 6, 7]


def test_byte_order_mark_and_windows_lines():
    assert read(b"\xef\xbb\xbf(X\r\n (A a))\r\n(A b)\r\n") == parse_bracketed("(X (A a)) (A b)")


def test_only_plain_white_space_separates():
    assert read("(N a\u00a0b)")[0].word == "a\u00a0b"
    assert read("(N \u3000)")[0].word == "\u3000"


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress])
def test_compressed_by_content(tmp_path, pack):
    path = tmp_path / "trees.txt"
    path.write_bytes(pack(b"(X (A a))\n(A b)\n"))
    assert list(read_trees(path)) == parse_bracketed("(X (A a)) (A b)")


def test_a_folder_is_read_in_order(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "b.mrg").write_text("(A b)")
    (tmp_path / "a.mrg").write_text("(A a)")
    (tmp_path / "sub" / "c.mrg").write_text("(A c)")
    (tmp_path / ".hidden").write_text("nothing")
    assert [tree.word for tree in read_trees(tmp_path)] == ["a", "b", "c"]


@pytest.mark.parametrize("name", ["trees.mrg", "trees.mrg.gz", "trees.mrg.xz"])
def test_writing_and_reading(tmp_path, name):
    written = parse_bracketed("( (S (-LRB- -LRB-))) (A é)")
    assert write_trees(written, tmp_path / name) == 2
    assert list(read_trees(tmp_path / name)) == written
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_nothing_half_written(tmp_path):
    def failing():
        yield Tree.parse("(A a)")
        raise RuntimeError

    path = tmp_path / "trees.mrg"
    path.write_text("before")
    with pytest.raises(RuntimeError):
        write_trees(failing(), path)
    assert path.read_text() == "before"
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize(
    ("text", "line", "column", "what"),
    [
        ("(S (A a)\n", 1, 1, "'(' is never closed"),
        ("(A a)\n (S (A a))))", 2, 11, "')' closes nothing"),
        ("(A a)\n)", 2, 1, "')' closes nothing"),
        ("(A a)\n  words", 2, 3, "text outside brackets"),
        ("# sent_id = a-1", 1, 1, "this is CoNLL-U, not bracketed trees"),
        ("(S (A a) b)", 1, 10, "'b' stands outside a tag"),
        ("(S b (A a))", 1, 4, "'b' stands beside phrases, without a tag"),
        ("(A a)\n(S\n (A))", 3, 3, "'A' has neither children nor a word"),
    ],
)
def test_errors_have_places(text, line, column, what):
    with pytest.raises(BracketError) as caught:
        read(text)
    error = caught.value
    assert (error.line, error.column, error.what) == (line, column, what)
    shown = str(error).split("\n")
    assert shown[0] == f"<stream>:{line}:{column}: {what}"
    assert shown[1] == text.split("\n")[line - 1]
    assert shown[2] == " " * (column - 1) + "^"
    assert ("gramian dep" if "CoNLL-U" in what else "--skip-broken") in shown[3]


def test_a_tree_that_does_not_close_does_not_swallow_the_next():
    for root in ("", "ROOT", "TOP"):
        good = f"({root} (S (A a) (B b)))"
        found, skipped = read_skipping(f"{good}\n({root} (S (A a) (B b))\n{good}\n{good}\n")
        assert found == [(1, str(Tree.parse(good))), (3, str(Tree.parse(good))), (4, str(Tree.parse(good)))]
        assert skipped == [(2, 1, "'(' is never closed")]


def test_the_same_without_a_root_label():
    found, skipped = read_skipping("(S (A a))\n(S (A a)\n(S (B b))\n(S (C c)\n\n(S (D d))\n")
    assert found == [(1, "(S (A a))"), (3, "(S (B b))"), (6, "(S (D d))")]
    assert skipped == [(2, 1, "'(' is never closed"), (4, 1, "'(' is never closed")]


@pytest.mark.parametrize("root", ["S ", " (S "])
@pytest.mark.parametrize("broken", [0, 20, 39])
@pytest.mark.parametrize("missing", [1, 2])
def test_brackets_missing_in_one_tree_and_too_many_in_another_lose_nothing_else(root, broken, missing):
    lines = [f"({root}(NP (D a{n})) (VP (V b))){')' * root.count('(')}" for n in range(60)]
    wanted = [(n + 1, line) for n, line in enumerate(lines) if n != broken]
    lines[broken] = lines[broken][:-missing]
    lines[broken + 1] += ")" * missing
    found, skipped = read_skipping("\n".join(lines))
    assert found == wanted
    assert skipped == [
        (broken + 1, 1, "'(' is never closed"),
        (broken + 2, len(lines[broken + 1]) - missing + 1, "')' closes nothing"),
    ]
    with pytest.raises(BracketError, match="never closed"):
        Treebank.read(io.StringIO("\n".join(lines)))
    with pytest.raises(BracketError, match="never closed"):
        parse_bracketed("\n".join(lines))


def test_junk_between_trees_loses_only_its_line():
    found, skipped = read_skipping("(S (A a))\njunk (junk\n(S (A b))\n(X (Y\n(S (A c))\n(S (A d))\n")
    assert [line for line, _ in found] == [1, 3, 5, 6]
    assert [line for line, _, _ in skipped] == [2, 2, 4]


@pytest.mark.parametrize("text", ["(S (NP a) ( (X b)))", "( (S (NP a) (VP ( (X b)))))"])
def test_a_phrase_without_a_label_within_a_tree_is_a_fault(text):
    found, skipped = read_skipping(f"(S (A a))\n{text}\n(S (A a))")
    assert [line for line, _ in found] == [1, 3]
    assert skipped == [(2, text.index("( (X") + 1, "a phrase within a tree has no label")]
    with pytest.raises(BracketError, match="has no label") as caught:
        Treebank.read(io.BytesIO(text.encode()))
    assert caught.value.line == 1


def test_a_treebank_is_not_made_of_trees_with_a_phrase_without_a_label():
    tree = Tree("S", [Tree("NP", word="a"), Tree("", [Tree("X", word="b")])])
    with pytest.raises(InputError, match="has no label"):
        Treebank.from_trees([tree])


def test_brackets_at_the_start_of_a_line_may_be_inside_a_tree():
    text = "(S\n(NP (A a))\n(VP (B b))\n)\n(S\n(NP (A a)))\n"
    assert [str(tree) for tree in read(text)] == ["(S (NP (A a)) (VP (B b)))", "(S (NP (A a)))"]


def test_trees_that_flow_over_lines():
    """No line ends where a tree does, and many start with a bracket."""
    one = "(S (NP (DT the) (NN dog))\n(VP (VBZ barks))) (S (NP (NN rain))\n"
    text = one + (" (VP (VB falls))) " + one) * 8_000 + "(VP (VB falls)))"
    found = read(text)
    assert len(found) == 2 * 8_001
    assert {str(tree) for tree in found} == {
        "(S (NP (DT the) (NN dog)) (VP (VBZ barks)))",
        "(S (NP (NN rain)) (VP (VB falls)))",
    }


def test_what_is_broken_is_skipped_and_told():
    found, skipped = read_skipping("(S (A a) b) (B b)\n(S x (A a) (B b)) (C c)\n(S (A a)))\n(D d)\n")
    assert found == [(1, "(B b)"), (2, "(C c)"), (3, "(S (A a))"), (4, "(D d)")]
    assert skipped == [
        (1, 10, "'b' stands outside a tag"),
        (2, 4, "'x' stands beside phrases, without a tag"),
        (3, 10, "')' closes nothing"),
    ]


def test_skipping_without_a_callback_warns_with_the_count():
    with pytest.warns(UserWarning, match="2 broken trees were skipped, the first at <stream>:1"):
        assert len(read("(A)\n(B)\n(C c)", broken="skip")) == 1


def test_words_with_a_space_inside():
    joined: list[BracketError] = []
    assert read("(A a)\n(NN New York City)", on_join=joined.append)[1] == Tree("NN", word="New_York_City")
    assert [(error.line, error.column) for error in joined] == [(2, 5)]
    with pytest.warns(UserWarning, match="1 words with a space inside were joined"):
        read("(NN New York)")
    with pytest.raises(BracketError, match="'New York' is 2 words under one tag"):
        read("(NN New York)", spaces="reject")
    assert read_skipping("(NN New York)\n(A a)", spaces="reject")[0] == [(2, "(A a)")]


@pytest.mark.parametrize("text", ["", "\n \n", "\ufeff"])
def test_no_tree_is_an_error(text):
    with pytest.raises(InputError, match="no tree in it"):
        read(text)


def test_nothing_but_broken_trees_is_an_error():
    with pytest.raises(InputError, match="not one tree"):
        read("(A)", broken="skip", on_skip=lambda error: None)


def test_wrong_options_are_named():
    with pytest.raises(OptionError, match="broken is"):
        read_trees("x", broken="ignore")
    with pytest.raises(OptionError, match="spaces is"):
        read_trees("x", spaces="keep")


def test_one_tree_is_wanted():
    with pytest.raises(BracketError, match="expected one tree, got 2"):
        Tree.parse("(A a) (B b)")
    with pytest.raises(BracketError, match="expected one tree, got 0"):
        Tree.parse(" ")


def test_a_long_sentence_and_a_deep_one():
    wide = "(S " + "(A a) " * 5_000 + ")"
    deep = "(X " * 10_000 + "(A a)" + ")" * 10_000
    first, second = read(wide + "\n" + deep)
    assert len(first.words) == 5_000
    assert second.height == 10_001


@pytest.mark.parametrize("end", ["\n", " "])
def test_memory_does_not_grow_with_the_file(tmp_path, end):
    """A line is held as a whole, since its length is checked before it is parsed; trees are not."""
    path = tmp_path / "trees.mrg"
    one = "( (S (NP (DT the) (NN dog)) (VP (VBZ barks) (ADVP (RB loudly) (RB again)))))" + end
    peaks = []
    for count in (4_000, 12_000):
        path.write_text(one * count)
        tracemalloc.start()
        assert sum(1 for _ in read_trees(path)) == count
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    longer_line = 8_000 * len(one) if end == " " else 0
    assert peaks[1] < 1.1 * peaks[0] + 3 * longer_line + 100_000
