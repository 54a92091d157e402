"""The numba kernel of AdaGrad (Duchi, Hazan and Singer 2011): one weight takes a step."""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import math

from gramian.kernels import helper_kernel


@helper_kernel
def take_step(tables, slot, gradient, time):
    """INOUT tables (:class:`gramian.loglinear.adagrad.Tables`): change the weight of a slot along its gradient, at the slot's own rate."""
    tables.squares[slot] += gradient * gradient
    pull = gradient - tables.decay * tables.weights[slot]
    change = tables.rate * pull / math.sqrt(tables.squares[slot] + tables.floor)
    tables.weights[slot] += change
    tables.drift[slot] += time * change
