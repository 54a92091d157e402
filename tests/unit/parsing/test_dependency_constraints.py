"""What dependencies demand of trees, on sentences by hand, and on trees' own dependencies."""

import pytest
from hypothesis import given
from tree_strategies import labelled_trees

from gramian.chart.constraints import Constraints, Span
from gramian.errors import InputError
from gramian.learn import PCFG
from gramian.parsing.dependency_constraints import RelationTable, demanded, dependency_constraints
from gramian.parsing.parser import Parser
from gramian.treebank import Treebank
from gramian.trees import HeadRules, Sentence, Token, Tree, to_dependencies

UNIVERSAL = RelationTable.named("universal")


def sentence(text: str, extras: tuple[tuple[int, str], ...] = ()) -> Sentence:
    """Read ``form/head/relation`` items, with a tag at the end or without."""
    rows = [item.split("/") for item in text.split()]
    return Sentence(
        tuple(
            Token(number, form, xpos=tag[0] if tag else "_", head=int(head), deprel=relation)
            for number, (form, head, relation, *tag) in enumerate(rows, 1)
        ),
        extras=extras,
    )


def found(one: Sentence, table: RelationTable = UNIVERSAL) -> dict[str, set[str]]:
    """Return the words of which something is demanded."""
    constraints = dependency_constraints(one, table).constraints
    return {
        "required": {" ".join(one.words[span.start : span.end]) for span in constraints.required},
        "uncrossed": {" ".join(one.words[span.start : span.end]) for span in constraints.uncrossed},
    }


def test_subjects_objects_and_prepositions():
    one = sentence(
        "The/2/det man/4/nsubj has/4/aux seen/0/root a/6/det house/4/obj on/9/case the/9/det hill/6/nmod ./4/punct"
    )
    assert found(one) == {
        "required": {"The man", "a house on the hill", "on the hill", "the hill", "a house"},
        "uncrossed": {"has seen a house on the hill", "seen a house on the hill"},
    }


def test_a_conjunct_with_a_subject_is_no_part_of_the_verb_phrase():
    apart = sentence("He/2/nsubj came/0/root home/2/advmod and/6/cc she/6/nsubj left/2/conj us/6/obj")
    assert found(apart)["uncrossed"] == {"came home", "left us", "she left us"}
    shared = sentence("He/2/nsubj came/0/root home/2/advmod and/5/cc left/2/conj us/5/obj")
    assert found(shared)["uncrossed"] == {"came home and left us", "left us"}


def test_what_hangs_on_a_predicate_is_not_the_object_of_its_preposition():
    one = sentence("It/4/nsubj is/4/cop for/4/case you/0/root because/7/mark I/7/nsubj know/4/advcl")
    assert "you because I know" not in found(one)["required"] | found(one)["uncrossed"]
    assert "for you because I know" in found(one)["uncrossed"]
    plain = sentence("Wait/0/root for/3/case you/1/obl because/6/mark I/6/nsubj know/3/acl")
    assert "you because I know" in found(plain)["required"]


def test_outer_punctuation_is_cut_and_half_a_quotation_is_not_required():
    one = sentence('He/2/nsubj read/0/root "/5/punct the/5/det book/2/obj "/5/punct now/2/advmod')
    assert found(one)["required"] == {"the book"}
    half = sentence('He/2/nsubj read/0/root the/5/det "/5/punct book/2/obj "/5/punct now/2/advmod')
    assert found(half)["required"] == set()
    assert 'the " book' in found(half)["uncrossed"]


def test_words_that_are_no_span_demand_nothing():
    one = sentence("What/4/obj did/4/aux you/4/nsubj see/0/root of/6/case it/1/nmod")
    assert found(one)["required"] == {"of it"}


@pytest.mark.parametrize("name", ["universal", "french"])
def test_spans_never_cross_each_other(name):
    table = RelationTable.named(name)
    one = sentence("a/3/nsubj b/4/obj c/0/root d/3/conj e/2/nmod f/1/acl g/4/obl h/5/case")
    constraints = dependency_constraints(one, table).constraints
    spans = [*constraints.required, *constraints.uncrossed]
    assert not any(first.crosses(second) for first in spans for second in spans)


def test_tags_are_those_of_the_treebank():
    one = sentence("see/0/root/VB www.x.org/1/obj/ADD ***/1/punct")
    assert dependency_constraints(one, UNIVERSAL).sentence == [("see", "VB"), ("www.x.org", "NN"), "***"]


def test_words_of_a_range_are_one_word_where_the_table_says_so():
    one = sentence("Fin/0/root de/4/case le/4/det jour/1/nmod gris/4/amod", ((1, "2-3\tdu" + "\t_" * 8),))
    french = dependency_constraints(one, RelationTable.named("french"))
    assert french.sentence == ["Fin", "du", "jour", "gris"]
    assert set(french.constraints.required) == {Span(1, 4), Span(2, 4)}
    assert set(french.constraints.uncrossed) == set()
    assert len(dependency_constraints(one, UNIVERSAL).sentence) == 5


def test_lines_are_looked_up_with_the_subtype_first():
    table = RelationTable.from_text("nmod whole required\nnmod:x whole nothing\n* whole required =\n")
    assert table.find("nmod:x", "whole") is None
    assert table.find("nmod:y", "whole") == table.find("nmod", "whole")
    assert table.find("NP-SBJ", "whole").label == "NP"
    assert table.find("nmod", "after") is None


@pytest.mark.parametrize(
    "line", ["nsubj", "nsubj whole", "nsubj half required", "nsubj whole uncrossed NP", "* tag A"]
)
def test_a_line_that_says_nothing_is_named(line):
    with pytest.raises(
        InputError, match=r"my:2: this line does not describe a relation(.|\n)*nsubj whole required NP"
    ):
        RelationTable.from_text(f"# a table\n{line}\n", "my")


@given(labelled_trees)
def test_a_tree_has_what_its_own_dependencies_demand(tree):
    dependencies = to_dependencies(tree, HeadRules.collins())
    phrases = {(start, end): [] for _, start, end in tree.spans(preterminals=False)}
    for label, start, end in tree.spans(preterminals=False):
        phrases[start, end].append(label)
    for one in demanded(dependencies, RelationTable.named("phrases")):
        assert one.relation in phrases[one.start, one.end]
    everything = RelationTable.from_text("* whole uncrossed")
    for span in dependency_constraints(dependencies, everything).constraints.uncrossed:
        assert not any(span.crosses(Span(*phrase)) for phrase in phrases)


def test_a_parser_takes_them():
    trees = [
        Tree.parse(
            "(S (NP (PRP I)) (VP (VBD saw) (NP (NP (DT a) (NN man)) (PP (IN with) (NP (NNS eyes))))))"
        ),
        Tree.parse("(S (NP (PRP I)) (VP (VBD saw) (NP (DT a) (NN man)) (PP (IN with) (NP (NNS eyes)))))"),
        Tree.parse("(S (NP (PRP I)) (VP (VBD saw) (NP (DT a) (NN man)) (PP (IN with) (NP (NNS eyes)))))"),
    ]
    parser = Parser(PCFG().fit(Treebank.from_trees(trees)).model_)
    text = "I/2/nsubj/PRP saw/0/root/VBD a/4/det/DT man/2/obj/NN with/6/case/IN eyes/{}/NNS"
    assert parser.parse(dependency_constraints(sentence(text.format("4/nmod")), UNIVERSAL)).tree == trees[0]
    assert parser.parse(dependency_constraints(sentence(text.format("2/obl")), UNIVERSAL)).tree == trees[1]


def test_loosened_constraints_require_nothing():
    loose = Constraints((Span(0, 2),), (Span(0, 2, "NP"), Span(1, 3, "VP")), (Span(0, 3),)).loosened()
    assert loose == Constraints((Span(0, 2), Span(1, 3)), (), (Span(0, 3),))
