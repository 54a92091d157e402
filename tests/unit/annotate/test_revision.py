"""Trees after an edit meet all decisions, also where the grammar has no tree for them, and suggestions can be applied."""

from __future__ import annotations

import numpy as np
import pytest

from gramian.annotate.annotation import Annotation, phrases_of
from gramian.annotate.edits import Edit, apply_edit
from gramian.annotate.proposals import LabelSet
from gramian.annotate.retraining import train_proposer
from gramian.annotate.revision import Beliefs, Reviser
from gramian.annotate.simulated_annotator import effort
from gramian.chart.constraints import Span
from gramian.chart.forest import cell_number
from gramian.errors import OptionError
from gramian.trees import Tree

VERBAL = "(S (NP (PRP I)) (VP (VBD saw) (NP (DT the) (NN boat)) (PP (IN with) (NP (NN glass)))))"
NOMINAL = "(S (NP (PRP I)) (VP (VBD saw) (NP (NP (DT the) (NN boat)) (PP (IN with) (NP (NN glass))))))"
TREES = [Tree.parse(text) for text in (VERBAL, VERBAL, NOMINAL)] * 5
WORDS = TREES[0].words


@pytest.fixture(scope="module")
def proposer():
    return train_proposer(TREES, LabelSet.of(TREES), n_states=1)


def test_a_rejected_phrase_gives_way_to_the_next_likely_tree(proposer):
    [proposal] = proposer.propose([WORDS])
    assert str(proposal.tree) == VERBAL
    suggested = [
        edit for edit in proposer.assess(Annotation(proposal.tree)).suggestions if edit.action == "add"
    ]
    assert Edit("add", Span(2, 6, "NP"), "NP") in suggested
    revised, after = proposer.revise(
        apply_edit(Annotation(Tree.parse(NOMINAL)), Edit("remove", Span(2, 6, "NP")))
    )
    assert str(revised.tree) == VERBAL
    assert after.tree == revised.tree
    assert len(after.confidences) == sum(1 for _ in revised.tree.subtrees())
    assert not any(edit.node == Span(2, 6, "NP") for edit in after.suggestions)  # it is forbidden


@pytest.mark.parametrize("label", ["NP", "PP", "UNKNOWN"])
@pytest.mark.parametrize(("start", "end"), [(0, 2), (1, 3), (3, 5), (0, 6), (2, 3), (1, 6)])
def test_any_new_phrase_stays(proposer, start, end, label):
    """No grammar of these trees has most of these phrases."""
    annotation = apply_edit(Annotation(TREES[0]), Edit("add", Span(start, end), label))
    for edit in (Edit("retag", Span(4, 5), "XX"), Edit("require", annotation.phrases[0])):
        annotation, proposal = proposer.revise(apply_edit(annotation, edit))
        assert annotation.is_met(annotation.tree)
        assert annotation.tree.words == WORDS
        assert Span(start, end, label) in annotation.phrases
    assert annotation.tree.tags[4] == "XX"
    nodes = list(annotation.tree.spans())
    assert proposal.confidences[nodes.index((label, start, end))] == 1.0
    applied = 0
    for edit in proposal.suggestions:
        assert edit.node.start != 4 or edit.action != "retag"  # its tag is fixed
        try:
            edited = apply_edit(annotation, edit)
        except OptionError:  # the whole sentence needs a phrase
            continue
        made = edit.node.start, edit.label
        assert edited.tree != annotation.tree, made
        applied += 1
    assert applied


def test_what_is_likely_comes_and_what_is_impossible_goes():
    """Decoding by posteriors written by hand, without a chart."""
    reviser = Reviser(train_proposer(TREES, LabelSet.of(TREES), n_states=1).parser)
    n_words, annotation = len(WORDS), Annotation(TREES[0])
    beliefs = Beliefs(
        np.zeros((n_words * (n_words + 1) // 2, len(reviser.phrase_labels))),
        np.zeros((n_words, len(reviser.tag_labels))),
    )

    def believe(start, end, label, posterior):
        beliefs.phrases[cell_number(start, end, n_words), reviser.phrase_labels.index(label)] = posterior

    for span in phrases_of(TREES[0]):
        believe(span.start, span.end, span.label, 0.3)
    believe(4, 6, "PP", 0.01)  # goes
    believe(2, 6, "NP", 0.79)  # not likely enough to come
    believe(2, 3, "NP", 0.9)  # comes
    beliefs.tags[0, reviser.tag_labels.index("NN")] = 0.95
    beliefs.tags[3, reviser.tag_labels.index("DT")] = 0.85
    expected = "(S (NP (NN I)) (VP (VBD saw) (NP (NP (DT the)) (NN boat)) (IN with) (NP (NN glass))))"
    assert str(reviser.nearest_tree(annotation, beliefs)) == expected
    forbidden = annotation.decided(required=[Span(4, 6, "PP")], forbidden=[Span(2, 3, "NP")])
    assert str(reviser.nearest_tree(forbidden, beliefs)) == VERBAL.replace("PRP", "NN")


def test_suggestions_save_clicks(proposer):
    start, gold = TREES[0], TREES[2]
    assert effort(start, gold).clicks == 4  # a phrase is added
    assert effort(start, gold, proposer).clicks == 2
