"""What learning on a CPU does in its own way, against what torch does step by step."""

import pytest

torch = pytest.importorskip("torch")

from gramian.neural.net import _run  # noqa: E402
from gramian.neural.span_layer import span_layer  # noqa: E402


def fenceposts(n_words=6, hidden=10):
    norm = torch.nn.LayerNorm(hidden)
    torch.manual_seed(3)
    with torch.no_grad():
        norm.weight.normal_()
        norm.bias.normal_()
    return *torch.randn(2, 3, n_words + 1, hidden), norm


def test_layer_and_its_gradients_agree_with_torch():
    left, right, norm = fenceposts()
    seed = torch.randn(3, 21, 10)
    found = []
    for kind in (torch.float32, torch.float64):  # by kernels, by torch
        norm = norm.to(kind)
        inputs = [one.to(kind).requires_grad_() for one in (left.detach(), right.detach())]
        out = span_layer(*inputs, norm, 0.0)
        gradients = torch.autograd.grad((out * seed).sum(), [*inputs, norm.weight, norm.bias])
        found.append([out.double(), *(one.double() for one in gradients)])
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def test_what_is_left_out_is_made_up_for_by_the_rest():
    left, right, norm = fenceposts(n_words=30, hidden=40)
    whole = span_layer(left, right, norm, 0.0)
    left.requires_grad_()
    some = span_layer(left, right, norm, 0.25)
    kept = some > 0
    torch.testing.assert_close(some[kept], whole[kept] / 0.75)
    assert abs(kept.sum() / (whole > 0).sum() - 0.75) < 0.02
    (gradient,) = torch.autograd.grad((some * ~kept).sum(), left)
    assert not gradient.any()  # nothing goes back to what was left out


def test_sentences_side_by_side_run_as_packed_ones():
    torch.manual_seed(0)
    layer = torch.nn.LSTM(5, 4, batch_first=True, bidirectional=True)
    inputs, lengths = torch.randn(3, 7, 5), torch.tensor([7, 4, 1])
    packed = torch.nn.utils.rnn.pack_padded_sequence(inputs, lengths, batch_first=True)
    expected, _ = torch.nn.utils.rnn.pad_packed_sequence(layer(packed)[0], batch_first=True)
    found = _run(layer, inputs, lengths, 0.0)
    for row, length in enumerate(lengths.tolist()):
        torch.testing.assert_close(found[row, :length], expected[row, :length])
