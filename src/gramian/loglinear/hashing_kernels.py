"""Kernels of all log-linear models: hashed features (see :mod:`gramian.loglinear.hashing`) and the AdaGrad update of one weight."""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import math

import numpy as np

from gramian.kernels import helper_kernel, kernel


@helper_kernel
def mix(first, second):
    """Return the hash of two sums."""
    state = ((first ^ (first >> np.uint64(29))) + second) * np.uint64(0xBF58476D1CE4E5B9)
    return state ^ (state >> np.uint64(32))


@helper_kernel
def mix_well(state):
    """Return the hash of a sum, mixed more thoroughly (the finaliser of SplitMix64)."""
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))


@helper_kernel
def summed(number, a, b, c, d, e):
    """Return the sum of a template's number and five values, all uint64; see :data:`gramian.loglinear.hashing.SUMMED`."""
    state = number * np.uint64(0x9E3779B97F4A7C15) + a * np.uint64(0xD6E8FEB86659FD93)
    state += b * np.uint64(0xA0761D6478BD642F) + c * np.uint64(0xE7037ED1A0B428DB)
    return state + d * np.uint64(0x8EBC6AF09C88C6E3) + e * np.uint64(0x589965CC75374CC3)


@helper_kernel
def length_class(length, exact, bounds):
    """Return the class of a length: lengths up to `exact` are classes of their own, others are binned by `bounds`."""
    size = np.int64(length)
    if size <= exact:
        return size
    for bound in bounds:
        exact += 1
        if size <= bound:
            return exact
    return exact + 1


@helper_kernel
def _term(terms, term):  # scalars are faster than a row, which would be an array
    return terms[term, 0], terms[term, 1], terms[term, 2], terms[term, 3], terms[term, 4]


@kernel
def parts_at_places(views, templates):
    """Return the sums of all templates for each place at each column, uint64 (n_sums, n_places, n_columns, n)."""
    n, n_columns = templates.number.shape[0], views.shape[1]
    parts = np.zeros((templates.n_sums, templates.n_places, n_columns, n), np.uint64)
    for column in range(n_columns):
        parts[0, 0, column] = templates.number
    for term in range(templates.terms.shape[0]):
        which, place, source, offset, template = _term(templates.terms, term)
        for column in range(max(0, -offset), min(n_columns, n_columns - offset)):
            value = np.uint64(views[source, column + offset])
            parts[which, place, column, template] += value * templates.factor[term]
    return parts


@helper_kernel
def add_values(views, templates, columns, sums):
    """INOUT sums (n_sums, n): add the values of all templates whose places are at `columns` (n_places,)."""
    for term in range(templates.terms.shape[0]):
        which, place, source, offset, template = _term(templates.terms, term)
        sums[which, template] += np.uint64(views[source, columns[place] + offset]) * templates.factor[term]


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
