"""Kernel of AdaGrad (Duchi, Hazan and Singer 2011): the update of one weight."""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import math

from gramian.kernels import helper_kernel


@helper_kernel
def take_step(tables, slot, gradient, time):
    """INOUT tables (:class:`gramian.loglinear.adagrad.Tables`): update one weight w, for step `time`, along its gradient g.

    G += g^2,  w += rate (g - decay w) / sqrt(G + floor)
    """
    tables.squares[slot] += gradient * gradient
    pull = gradient - tables.decay * tables.weights[slot]
    change = tables.rate * pull / math.sqrt(tables.squares[slot] + tables.floor)
    tables.weights[slot] += change
    tables.drift[slot] += time * change
