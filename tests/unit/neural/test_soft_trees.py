"""Soft trees: a net learns a teacher's posteriors; a certain soft tree is the tree."""

import pytest
from small_nets import QUICK, SMALL, made_up_trees

from gramian.experts import NeuralExpert
from gramian.neural.soft_trees import SoftTree
from gramian.neural.span_inventory import Inventory, brackets, cell

torch = pytest.importorskip("torch")

from gramian.neural.net import Sentences, SpanNet  # noqa: E402 (needs torch)


def certain(tree):
    """A tree as a soft tree in which everything is certain."""
    spans = tuple((*span, 1.0) for span in brackets(tree).spans)
    return SoftTree(tree.words, spans, tuple((*tag, 1.0) for tag in enumerate(tree.tags)))


def net_and(soft):
    """A net with random weights, and a batch of soft trees."""
    inventory = Inventory.of([brackets(tree) for tree in made_up_trees(30)], 1)
    torch.manual_seed(0)
    sentences = Sentences([inventory.example(tree) for tree in soft], inventory)
    return SpanNet(inventory, SMALL, QUICK).eval(), sentences.batch(range(len(soft)))


def test_certain_soft_tree_has_the_loss_of_the_tree():
    trees = made_up_trees(5)
    net, batch = net_and([certain(tree) for tree in trees])
    _, same = net_and([brackets(tree) for tree in trees])
    assert torch.equal(net.loss(batch), net.loss(same))


def test_gradient_is_the_difference_of_posteriors():
    tree = made_up_trees(1)[0]
    spans = tuple(
        (start, end, chain, 0.25 + 0.5 * (start == 0)) for start, end, chain in brackets(tree).spans
    )
    net, batch = net_and([SoftTree(tree.words, spans, (), weight=0.5)])
    scores = net(batch).spans.detach().requires_grad_()
    net.tree_loss(scores, batch).backward()
    expected = net.posteriors(batch).spans
    for start, end, chain, share in spans:
        expected[0, cell(len(tree.words), start, end), net_chain(chain)] -= share
    assert torch.allclose(scores.grad, 0.5 * expected, atol=1e-5)


def net_chain(chain):
    return Inventory.of([brackets(tree) for tree in made_up_trees(30)], 1).chains.index(chain)


def test_net_learns_from_posteriors_what_its_own_trees_do_not_show():
    own = [tree for tree in made_up_trees(60) if "dog with" not in " ".join(tree.words)]
    teacher = [certain(tree) for tree in made_up_trees(120, seed=3)]
    expert = NeuralExpert(SMALL, QUICK, max_iter=30, device="cpu", held_out=0)
    taught = expert.fit(own, soft_trees=teacher)
    test = [tree for tree in made_up_trees(60, seed=5) if "dog with" in " ".join(tree.words)]
    assert taught.score(test) > 99
    assert expert.fit(own).score(test) < 95
