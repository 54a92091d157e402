"""A pass with two states for each symbol, between the coarse chart and the fine one.

:func:`two_states` makes the grammar of this pass from the fine one, from low-rank factors as they are. Parameters are projected by expected
counts (Petrov & Klein 2007, section 3.2): those of merged parents are averaged by the states' shares, those of merged children summed. The
states of a symbol are grouped by k-means on the rules that each makes and the places where it stands. :func:`likely_part` runs the pass
over a coarse forest and keeps what is likely. All rules are small and of one size, so that it costs a tenth of a fine pass.
"""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gramian.chart.coarse_arrays import CoarseForest
from gramian.chart.coarse_kernels import renumbered, taken
from gramian.kernels import kernel

_ROUNDS = 20  # of k-means
_POWERS = 200  # of a matrix, for its main direction
_LEAST_WEIGHT, _LEAST_MASS = 1e-12, 1e-30


class TwoStates(NamedTuple):
    """Ratios of a grammar with two states to the one without; a symbol with one state has zeros for the other."""

    n_phrases: int
    state_start: Any  # (n_symbols + 1,): a symbol's states in the fine grammar
    group: Any  # (n_states,): 0 or 1
    share: Any  # (n_states,): of a state in its group
    binary: Any  # (n_rules, 8): parent, left, right
    unary: Any  # (n_unary_rules, 4): parent, tag
    root: Any  # (n_symbols, 2)


@kernel
def _add_products(features, states, out, first):
    """Add the products of the roots of two states' features, for each pair of states; the features become 0."""
    for i in range(states):
        features[i] = np.sqrt(max(features[i], 0.0))
    for i in range(states):
        for j in range(states):
            out[first + i * states + j] += features[i] * features[j]
    for i in range(states):
        features[i] = 0.0


@kernel
def _per_mass(features, states, mass, first):
    """Divide a child's features by how often its states are used."""
    for i in range(states):
        features[i] /= max(mass[first + i], _LEAST_MASS)


@kernel
def _row_sum(factors, start, size):
    total = 0.0
    for i in range(start, start + size):
        total += factors[i]
    return total


@kernel
def state_products(g, prior):
    """Return the inner products of the features of a symbol's states, by pairs of states one symbol after the other.

    Features are the roots of how often a state makes each rule, and of how often it stands in each place of each rule, one use of it.
    """
    n_symbols, n_states, before, state_start = g.n_symbols, g.n_states, g.before, g.root_start
    left_start, rule_parent, rule_right = g.left_start, g.rule_parent, g.rule_right
    binary, factors, unary = g.binary, g.factors, g.unary
    widest = 0
    first, mass = np.zeros(n_symbols + 1, np.int64), np.zeros(prior.shape[0], np.float64)
    for symbol in range(n_symbols):
        widest = max(widest, n_states[symbol])
        first[symbol + 1] = first[symbol] + np.int64(n_states[symbol]) * np.int64(n_states[symbol])
        use = 0.0
        for row in range(before.shape[0]):
            use += before[row, symbol]
        for state in range(state_start[symbol], state_start[symbol + 1]):
            mass[state] = use * prior[state]
    of_parent, of_left = np.zeros(widest, np.float64), np.zeros(widest, np.float64)
    of_right = np.zeros(widest, np.float64)
    products = np.zeros(first[n_symbols], np.float64)
    for left in range(n_symbols):
        for rule in range(left_start[left], left_start[left + 1]):
            parent, right = rule_parent[rule], rule_right[rule]
            n, n_left, n_right = n_states[parent], n_states[left], n_states[right]
            scale, above = g.binary_ratio[rule] * g.rule_weight[rule], state_start[parent]
            rank = g.rank[rule]
            if rank == 0:
                place = g.binary_start[rule]
                for p in range(n):
                    for i in range(n_left):
                        for j in range(n_right):
                            value = scale * binary[place]
                            of_parent[p] += value
                            of_left[i] += mass[above + p] * value
                            of_right[j] += mass[above + p] * value
                            place += 1
            u, v, w = g.factor_start[rule, 0], g.factor_start[rule, 1], g.factor_start[rule, 2]
            for _ in range(rank):
                v_sum, w_sum = _row_sum(factors, v, n_left), _row_sum(factors, w, n_right)
                u_sum, both = 0.0, scale * v_sum * w_sum
                for p in range(n):
                    u_sum += mass[above + p] * factors[u + p]
                    of_parent[p] += both * factors[u + p]
                for i in range(n_left):
                    of_left[i] += scale * u_sum * w_sum * factors[v + i]
                for j in range(n_right):
                    of_right[j] += scale * u_sum * v_sum * factors[w + j]
                u, v, w = u + n, v + n_left, w + n_right
            _per_mass(of_left, n_left, mass, state_start[left])
            _per_mass(of_right, n_right, mass, state_start[right])
            _add_products(of_parent, n, products, first[parent])
            _add_products(of_left, n_left, products, first[left])
            _add_products(of_right, n_right, products, first[right])
    for tag in range(n_symbols):
        for rule in range(g.unary_first[tag], g.unary_first[tag + 1]):
            parent, place, n = g.unary_parent[rule], g.unary_start[rule], n_states[tag]
            for p in range(n_states[parent]):
                for i in range(n):
                    value = np.float64(unary[place + p * n + i])
                    of_parent[p] += value
                    of_left[i] += mass[state_start[parent] + p] * value
            _per_mass(of_left, n, mass, state_start[tag])
            _add_products(of_parent, n_states[parent], products, first[parent])
            _add_products(of_left, n, products, first[tag])
    return products


@kernel
def two_groups(g, prior):
    """Return a group, 0 or 1, for each state of each symbol, laid out as `prior`; symbols with one state have group 0."""
    products = state_products(g, prior)
    group = np.zeros(prior.shape[0], np.int32)
    place = np.int64(0)
    for symbol in range(g.n_symbols):
        n = np.int64(g.n_states[symbol])
        if n > 1:
            _two_means(products, place, prior, group, g.root_start[symbol], n)
        place += n * n
    return group


@kernel
def _all_alike(group, first, n):
    alike = True
    for i in range(1, n):
        alike = alike and group[first + i] == group[first]
    return alike


@kernel
def _two_means(products, place, prior, group, first, n):
    """Cluster weighted points, of which only inner products are known, in two, beginning on the sides of their mean.

    The `n` points have their shares in `prior` and get their groups from `first` on; their products are in rows from `place` on.
    """
    total = 0.0
    weight, root = np.empty(n, np.float64), np.empty(n, np.float64)
    for i in range(n):
        share = np.float64(prior[first + i])
        weight[i], root[i] = max(share, _LEAST_WEIGHT), np.sqrt(max(share, 0.0))
        total += weight[i]
    for i in range(n):
        weight[i] /= total
    to_mean, middle = np.zeros(n, np.float64), 0.0
    for i in range(n):
        for j in range(n):
            to_mean[i] += weight[j] * products[place + i * n + j]
        middle += weight[i] * to_mean[i]
    centred = np.empty((n, n), np.float64)
    longest = 0
    for i in range(n):
        for j in range(n):
            centred[i, j] = (products[place + i * n + j] - to_mean[i] - to_mean[j] + middle) * root[j]
        if centred[i, i] * root[i] > centred[longest, longest] * root[longest]:
            longest = i
    along, further = np.empty(n, np.float64), np.empty(n, np.float64)
    for i in range(n):  # of each point, where it lies along the main direction
        along[i] = centred[i, longest]
    for _ in range(_POWERS):
        size = 0.0
        for i in range(n):
            further[i] = 0.0
            for j in range(n):
                further[i] += centred[i, j] * root[j] * along[j]
            size += root[i] * further[i] * root[i] * further[i]
        size = np.sqrt(size)
        if not size > 0:
            break
        for i in range(n):
            along[i] = further[i] / size
    for i in range(n):
        group[first + i] = along[i] > 0
    sums = np.empty((2, n), np.float64)  # products with both centres
    lengths, totals = np.empty(2, np.float64), np.empty(2, np.float64)
    for _ in range(_ROUNDS):
        if _all_alike(group, first, n):
            break
        for k in range(2):
            lengths[k], totals[k] = 0.0, 0.0
            for i in range(n):
                sums[k, i] = 0.0
        for j in range(n):
            k = group[first + j]
            totals[k] += weight[j]
            for i in range(n):
                sums[k, i] += weight[j] * products[place + i * n + j]
        for i in range(n):
            sums[0, i] /= totals[0]
            sums[1, i] /= totals[1]
        for i in range(n):
            k = group[first + i]
            lengths[k] += weight[i] / totals[k] * sums[k, i]
        changed = False
        for i in range(n):
            nearer = lengths[1] - 2 * sums[1, i] < lengths[0] - 2 * sums[0, i]
            changed = changed or nearer != group[first + i]
            group[first + i] = nearer
        if not changed:
            break
    if _all_alike(group, first, n):
        for i in range(n):
            group[first + i] = i % 2


@kernel
def two_state_rules(g, prior, group, n_phrases):
    """Return the :class:`TwoStates` of a grammar whose states are merged into groups."""
    n_symbols, n_states, state_start = g.n_symbols, g.n_states, g.root_start
    factors, left_start, root_ratio = g.factors, g.left_start, g.root_ratio
    share = np.zeros(prior.shape[0], np.float32)
    root = np.zeros((n_symbols, 2), np.float32)
    total, size = np.empty(2, np.float64), np.empty(2, np.int64)
    for symbol in range(n_symbols):
        for side in range(2):
            total[side], size[side] = 0.0, 0
        for state in range(state_start[symbol], state_start[symbol + 1]):
            side = group[state]
            total[side] += prior[state]
            size[side] += 1
            root[symbol, side] += root_ratio[state]
        for state in range(state_start[symbol], state_start[symbol + 1]):
            side = group[state]
            share[state] = prior[state] / total[side] if total[side] > 0 else 1 / size[side]
    binary = np.zeros((g.rule_parent.shape[0], 8), np.float32)
    unary = np.zeros((g.unary_parent.shape[0], 4), np.float32)
    out, sums = np.empty(8, np.float64), np.empty((3, 2), np.float64)
    for left in range(n_symbols):
        for rule in range(left_start[left], left_start[left + 1]):
            parent, right = g.rule_parent[rule], g.rule_right[rule]
            above, y, z = state_start[parent], state_start[left], state_start[right]
            n, n_left, n_right = n_states[parent], n_states[left], n_states[right]
            for at in range(8):
                out[at] = 0.0
            if g.rank[rule] == 0:
                place = g.binary_start[rule]
                for p in range(n):
                    for i in range(n_left):
                        for j in range(n_right):
                            at = 4 * group[above + p] + 2 * group[y + i] + group[z + j]
                            out[at] += share[above + p] * g.binary[place]
                            place += 1
            u, v, w = g.factor_start[rule, 0], g.factor_start[rule, 1], g.factor_start[rule, 2]
            for _ in range(g.rank[rule]):
                for place in range(3):
                    sums[place, 0], sums[place, 1] = 0.0, 0.0
                for p in range(n):
                    sums[0, group[above + p]] += share[above + p] * factors[u + p]
                for i in range(n_left):
                    sums[1, group[y + i]] += factors[v + i]
                for j in range(n_right):
                    sums[2, group[z + j]] += factors[w + j]
                for at in range(8):
                    out[at] += sums[0, at >> 2] * sums[1, (at >> 1) & 1] * sums[2, at & 1]
                u, v, w = u + n, v + n_left, w + n_right
            for at in range(8):
                binary[rule, at] = g.binary_ratio[rule] * out[at]
    for tag in range(n_symbols):
        for rule in range(g.unary_first[tag], g.unary_first[tag + 1]):
            parent, place = g.unary_parent[rule], g.unary_start[rule]
            for above in range(state_start[parent], state_start[parent + 1]):
                for state in range(state_start[tag], state_start[tag + 1]):
                    at = 2 * group[above] + group[state]
                    unary[rule, at] += g.unary_ratio[rule] * share[above] * g.unary[place]
                    place += 1
    return TwoStates(n_phrases, state_start, group, share, binary, unary, root)


@kernel
def two_states(g, prior, n_phrases):
    """Return the :class:`TwoStates` of a grammar."""
    return two_state_rules(g, prior, two_groups(g, prior), n_phrases)


@kernel
def likely_part(c, tags, tag_states, tag_state_start, two, threshold):
    """Return the items and edges of a coarse forest whose posterior with two states is at least `threshold`; all if there is no tree.

    The arguments are those of :func:`gramian.chart.fine_kernels.fine_forests`, but of one sentence, and a :class:`TwoStates`. Values are
    ratios to coarse ones, as in the fine pass; in double precision they need no scales.
    """
    n_items, n_edges = c.item_symbol.shape[0], c.edge_left.shape[0]
    first, lefts, rights, rules, shares = c.edge_first, c.edge_left, c.edge_right, c.edge_rule, c.edge_share
    binary, unary = two.binary, two.unary
    # No row is made a view of its own: to count who uses it would take longer than the work.
    in_zero, in_one = np.zeros(n_items, np.float64), np.zeros(n_items, np.float64)
    out_zero, out_one = np.zeros(n_items, np.float64), np.zeros(n_items, np.float64)
    total = 0.0
    # inside(A, x) = sum over edges of share sum over y, z of T(x, y, z) inside(B, y) inside(C, z), for states x, y, z of 0 and 1
    for item in range(n_items):
        symbol, cell = c.item_symbol[item], c.item_cell[item]
        zero, one = 0.0, 0.0
        if symbol >= two.n_phrases:
            for tag in range(tags.start[cell], tags.start[cell + 1]):
                if tags.symbol[tag] == symbol:
                    place = tag_state_start[tag]
                    for state in range(two.state_start[symbol], two.state_start[symbol + 1]):
                        score = two.share[state] * tag_states[place]
                        if two.group[state] == 0:
                            zero += score
                        else:
                            one += score
                        place += 1
        for edge in range(np.uintp(first[item]), np.uintp(first[item + 1])):
            left, right, r = np.uintp(lefts[edge]), rights[edge], np.uintp(rules[edge])
            y0, y1 = shares[edge] * in_zero[left], shares[edge] * in_one[left]
            if right < 0:
                zero += unary[r, 0] * y0 + unary[r, 1] * y1
                one += unary[r, 2] * y0 + unary[r, 3] * y1
            else:
                z0, z1 = in_zero[np.uintp(right)], in_one[np.uintp(right)]
                zero += (binary[r, 0] * z0 + binary[r, 1] * z1) * y0 + (
                    binary[r, 2] * z0 + binary[r, 3] * z1
                ) * y1
                one += (binary[r, 4] * z0 + binary[r, 5] * z1) * y0 + (
                    binary[r, 6] * z0 + binary[r, 7] * z1
                ) * y1
        in_zero[item], in_one[item] = zero, one
        if c.root_share[item] > 0:
            out_zero[item] = c.root_share[item] * two.root[symbol, 0]
            out_one[item] = c.root_share[item] * two.root[symbol, 1]
            total += out_zero[item] * zero + out_one[item] * one
    if not (total > 0 and total < np.inf):
        return c
    for item in range(n_items):
        out_zero[item] /= total
        out_one[item] /= total
    kept = np.zeros(n_edges, np.bool_)
    number = np.full(n_items, -1, np.int32)
    n_new = 0
    # outside(B, y) = sum over edges of share sum over x, z of outside(A, x) T(x, y, z) inside(C, z); posterior = inside . outside
    for item in range(n_items - 1, -1, -1):
        o0, o1 = out_zero[item], out_one[item]
        posterior = o0 * in_zero[item] + o1 * in_one[item]
        if posterior >= threshold:
            number[item] = 0
            n_new += 1
        elif posterior != posterior:
            return c
        for edge in range(np.uintp(first[item]), np.uintp(first[item + 1])):
            left, right, r = np.uintp(lefts[edge]), rights[edge], np.uintp(rules[edge])
            y0, y1, p0, p1 = in_zero[left], in_one[left], shares[edge] * o0, shares[edge] * o1
            if right < 0:
                below0, below1 = p0 * unary[r, 0] + p1 * unary[r, 2], p0 * unary[r, 1] + p1 * unary[r, 3]
            else:
                beside = np.uintp(right)
                z0, z1 = in_zero[beside], in_one[beside]
                both00, both01 = p0 * binary[r, 0] + p1 * binary[r, 4], p0 * binary[r, 1] + p1 * binary[r, 5]
                both10, both11 = p0 * binary[r, 2] + p1 * binary[r, 6], p0 * binary[r, 3] + p1 * binary[r, 7]
                below0, below1 = both00 * z0 + both01 * z1, both10 * z0 + both11 * z1
                out_zero[beside] += both00 * y0 + both10 * y1
                out_one[beside] += both01 * y0 + both11 * y1
            out_zero[left] += below0
            out_one[left] += below1
            kept[edge] = below0 * y0 + below1 * y1 >= threshold
    if n_new == 0:
        return c
    return _part(c, number, kept, n_new)


@kernel
def _part(c, number, kept, n_new):
    """Return the items that have a number, and the edges kept that join such; the numbers are set."""
    n_items, n_edges = number.shape[0], kept.shape[0]
    items, edges = np.empty(n_new, np.int32), np.empty(n_edges, np.int32)
    edge_first = np.zeros(n_new + 1, np.int32)
    count, n_kept = 0, 0
    for item in range(n_items):
        if number[item] < 0:
            continue
        number[item] = count
        items[count] = item
        for edge in range(c.edge_first[item], c.edge_first[item + 1]):
            right = c.edge_right[edge]
            if kept[edge] and number[c.edge_left[edge]] >= 0 and (right < 0 or number[right] >= 0):
                edges[n_kept] = edge
                n_kept += 1
        count += 1
        edge_first[count] = n_kept
    edges = edges[:n_kept]
    return CoarseForest(
        c.log_probability, taken(c.item_symbol, items), taken(c.item_cell, items), taken(c.item_posterior, items),
        taken(c.root_share, items), edge_first, renumbered(c.edge_left, edges, number),
        renumbered(c.edge_right, edges, number), taken(c.edge_rule, edges), taken(c.edge_share, edges),
        taken(c.edge_posterior, edges),
    )  # fmt: skip
