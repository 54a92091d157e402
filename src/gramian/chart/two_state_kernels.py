"""A pass with two states for each symbol, between the coarse chart and the fine one.

:func:`two_states` makes the grammar of this pass from the fine one, as
:mod:`gramian.grammar.merged_states`, the readable reference, does, but from low-rank factors as they are. :func:`likely_part` runs it
over a coarse forest and keeps what is likely. All rules are small and of one size, so that the pass costs a tenth of a fine one.
"""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gramian.chart.coarse_arrays import CoarseForest
from gramian.jit import kernel

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
def _row_sums(g, start, rank, states, out):
    """Sum each row of a factor."""
    for q in range(rank):
        total = 0.0
        for i in range(states):
            total += g.factors[start + q * states + i]
        out[q] = total


@kernel
def _add_products(features, states, out, first):
    """Add the products of the roots of two states' features, for each pair of states."""
    for i in range(states):
        features[i] = np.sqrt(max(features[i], 0.0))
    for i in range(states):
        for j in range(states):
            out[first + i * states + j] += features[i] * features[j]


@kernel
def _rule_features(g, rule, parent, left, right, parent_mass, room):
    """Set a binary rule's features: how often it is used by each state of the parent, and by a tree in which each child's stands."""
    of_parent, of_left, of_right, v_sums, w_sums, u_sums = room
    n, n_left, n_right = g.n_states[parent], g.n_states[left], g.n_states[right]
    scale = g.binary_ratio[rule] * g.rule_weight[rule]
    of_parent[:n], of_left[:n_left], of_right[:n_right] = 0, 0, 0
    rank = g.rank[rule]
    if rank == 0:
        place = g.binary_start[rule]
        for p in range(n):
            for i in range(n_left):
                for j in range(n_right):
                    value = scale * g.binary[place]
                    of_parent[p] += value
                    of_left[i] += parent_mass[p] * value
                    of_right[j] += parent_mass[p] * value
                    place += 1
        return
    u, v, w = g.factor_start[rule]
    _row_sums(g, v, rank, n_left, v_sums)
    _row_sums(g, w, rank, n_right, w_sums)
    for q in range(rank):
        total, both = 0.0, scale * v_sums[q] * w_sums[q]
        for p in range(n):
            total += parent_mass[p] * g.factors[u + q * n + p]
            of_parent[p] += both * g.factors[u + q * n + p]
        u_sums[q] = total
    for q in range(rank):
        for i in range(n_left):
            of_left[i] += scale * u_sums[q] * w_sums[q] * g.factors[v + q * n_left + i]
        for j in range(n_right):
            of_right[j] += scale * u_sums[q] * v_sums[q] * g.factors[w + q * n_right + j]


@kernel
def state_products(g, prior):
    """Return the inner products of the features of a symbol's states, by pairs of states one symbol after the other.

    Features are the roots of how often a state makes each rule, and of how often it stands in each place of each rule, one use of it.
    """
    n_symbols, widest, most = g.n_symbols, np.int64(0), np.int64(0)
    for states in g.n_states:
        widest = max(widest, np.int64(states))
    for rank in g.rank:
        most = max(most, np.int64(rank))
    room = (
        np.empty(widest), np.empty(widest), np.empty(widest), np.empty(most), np.empty(most), np.empty(most)
    )  # fmt: skip
    first = np.zeros(n_symbols + 1, np.int64)
    mass = np.zeros(prior.shape[0], np.float64)
    for symbol in range(n_symbols):
        first[symbol + 1] = first[symbol] + np.int64(g.n_states[symbol]) ** 2
        use = 0.0
        for row in range(g.before.shape[0]):
            use += g.before[row, symbol]
        for state in range(g.root_start[symbol], g.root_start[symbol + 1]):
            mass[state] = use * prior[state]
    products = np.zeros(first[n_symbols], np.float64)
    for left in range(n_symbols):
        for rule in range(g.left_start[left], g.left_start[left + 1]):
            parent, right = g.rule_parent[rule], g.rule_right[rule]
            _rule_features(g, rule, parent, left, right, mass[g.root_start[parent] :], room)
            for i in range(g.n_states[left]):
                room[1][i] /= max(mass[g.root_start[left] + i], _LEAST_MASS)
            for i in range(g.n_states[right]):
                room[2][i] /= max(mass[g.root_start[right] + i], _LEAST_MASS)
            _add_products(room[0], g.n_states[parent], products, first[parent])
            _add_products(room[1], g.n_states[left], products, first[left])
            _add_products(room[2], g.n_states[right], products, first[right])
    for tag in range(n_symbols):
        for rule in range(g.unary_first[tag], g.unary_first[tag + 1]):
            parent, place = g.unary_parent[rule], g.unary_start[rule]
            of_parent, of_tag, n = room[0], room[1], g.n_states[tag]
            of_parent[: g.n_states[parent]], of_tag[:n] = 0, 0
            for p in range(g.n_states[parent]):
                for i in range(n):
                    value = np.float64(g.unary[place + p * n + i])
                    of_parent[p] += value
                    of_tag[i] += mass[g.root_start[parent] + p] * value
            for i in range(n):
                of_tag[i] /= max(mass[g.root_start[tag] + i], _LEAST_MASS)
            _add_products(of_parent, g.n_states[parent], products, first[parent])
            _add_products(of_tag, n, products, first[tag])
    return products


@kernel
def two_groups(g, prior):
    """Return a group, 0 or 1, for each state of each symbol, laid out as `prior`; symbols with one state have group 0."""
    products = state_products(g, prior)
    group = np.zeros(prior.shape[0], np.int32)
    place = np.int64(0)
    for symbol in range(g.n_symbols):
        n, first = np.int64(g.n_states[symbol]), g.root_start[symbol]
        if n > 1:
            matrix = products[place : place + n * n].copy().reshape(n, n)
            _two_means(matrix, prior[first : first + n], group[first : first + n])
        place += n * n
    return group


@kernel
def _all_alike(side):
    alike = True
    for one in side:
        alike = alike and one == side[0]
    return alike


@kernel
def _two_means(products, prior, side):
    """Cluster weighted points, of which only inner products are known, in two, beginning on the sides of their mean."""
    n, total = side.shape[0], 0.0
    weight, root = np.empty(n, np.float64), np.empty(n, np.float64)
    for i in range(n):
        weight[i], root[i] = max(np.float64(prior[i]), _LEAST_WEIGHT), np.sqrt(max(np.float64(prior[i]), 0.0))
        total += weight[i]
    for i in range(n):
        weight[i] /= total
    to_mean = np.zeros(n, np.float64)
    for i in range(n):
        for j in range(n):
            to_mean[i] += weight[j] * products[i, j]
    middle = 0.0
    for i in range(n):
        middle += weight[i] * to_mean[i]
    centred = np.empty((n, n), np.float64)
    longest = 0
    for i in range(n):
        for j in range(n):
            centred[i, j] = (products[i, j] - to_mean[i] - to_mean[j] + middle) * root[j]
        if centred[i, i] * root[i] > centred[longest, longest] * root[longest]:
            longest = i
    along = centred[:, longest].copy()  # of each point, where it lies along the main direction
    for _ in range(_POWERS):
        further = np.zeros(n, np.float64)
        for i in range(n):
            for j in range(n):
                further[i] += centred[i, j] * root[j] * along[j]
        size = 0.0
        for i in range(n):
            size += root[i] * further[i] * root[i] * further[i]
        size = np.sqrt(size)
        if not size > 0:
            break
        for i in range(n):
            along[i] = further[i] / size
    for i in range(n):
        side[i] = along[i] > 0
    sums = np.empty((2, n), np.float64)  # products with both centres
    for _ in range(_ROUNDS):
        if _all_alike(side):
            break
        lengths, totals = np.zeros(2, np.float64), np.zeros(2, np.float64)
        sums[:] = 0
        for j in range(n):
            totals[side[j]] += weight[j]
            for i in range(n):
                sums[side[j], i] += weight[j] * products[i, j]
        for k in range(2):
            for i in range(n):
                sums[k, i] /= totals[k]
        for i in range(n):
            lengths[side[i]] += weight[i] / totals[side[i]] * sums[side[i], i]
        changed = False
        for i in range(n):
            nearer = lengths[1] - 2 * sums[1, i] < lengths[0] - 2 * sums[0, i]
            changed = changed or nearer != side[i]
            side[i] = nearer
        if not changed:
            break
    if _all_alike(side):
        for i in range(n):
            side[i] = i % 2


@kernel
def two_state_rules(g, prior, group, n_phrases):
    """Return the :class:`TwoStates` of a grammar whose states are merged into groups."""
    n_symbols, state_start = g.n_symbols, g.root_start
    share = np.zeros(prior.shape[0], np.float32)
    root = np.zeros((n_symbols, 2), np.float32)
    for symbol in range(n_symbols):
        total, size = np.zeros(2, np.float64), np.zeros(2, np.int64)
        for state in range(state_start[symbol], state_start[symbol + 1]):
            total[group[state]] += prior[state]
            size[group[state]] += 1
            root[symbol, group[state]] += g.root_ratio[state]
        for state in range(state_start[symbol], state_start[symbol + 1]):
            side = group[state]
            share[state] = prior[state] / total[side] if total[side] > 0 else 1 / size[side]
    binary = np.zeros((g.rule_parent.shape[0], 8), np.float32)
    unary = np.zeros((g.unary_parent.shape[0], 4), np.float32)
    for left in range(n_symbols):
        for rule in range(g.left_start[left], g.left_start[left + 1]):
            parent, right = g.rule_parent[rule], g.rule_right[rule]
            above, y, z = state_start[parent], state_start[left], state_start[right]
            n, n_left, n_right = g.n_states[parent], g.n_states[left], g.n_states[right]
            out, ratio = np.zeros(8, np.float64), g.binary_ratio[rule]
            if g.rank[rule] == 0:
                place = g.binary_start[rule]
                for p in range(n):
                    for i in range(n_left):
                        for j in range(n_right):
                            at = 4 * group[above + p] + 2 * group[y + i] + group[z + j]
                            out[at] += share[above + p] * g.binary[place]
                            place += 1
            u, v, w = g.factor_start[rule]
            for q in range(g.rank[rule]):
                us, vs, ws = np.zeros(2, np.float64), np.zeros(2, np.float64), np.zeros(2, np.float64)
                for p in range(n):
                    us[group[above + p]] += share[above + p] * g.factors[u + q * n + p]
                for i in range(n_left):
                    vs[group[y + i]] += g.factors[v + q * n_left + i]
                for j in range(n_right):
                    ws[group[z + j]] += g.factors[w + q * n_right + j]
                for at in range(8):
                    out[at] += us[at >> 2] * vs[(at >> 1) & 1] * ws[at & 1]
            for at in range(8):
                binary[rule, at] = ratio * out[at]
    for tag in range(n_symbols):
        for rule in range(g.unary_first[tag], g.unary_first[tag + 1]):
            above, place = state_start[g.unary_parent[rule]], g.unary_start[rule]
            for p in range(g.n_states[g.unary_parent[rule]]):
                for state in range(state_start[tag], state_start[tag + 1]):
                    at = 2 * group[above + p] + group[state]
                    unary[rule, at] += g.unary_ratio[rule] * share[above + p] * g.unary[place]
                    place += 1
    return TwoStates(n_phrases, state_start, group, share, binary, unary, root)


@kernel
def two_states(g, prior, n_phrases):
    """Return the :class:`TwoStates` of a grammar."""
    return two_state_rules(g, prior, two_groups(g, prior), n_phrases)


@kernel
def likely_part(c, tags, tag_states, tag_state_start, two, threshold):
    """Return the items and edges of a coarse forest whose posterior with two states is at least `threshold`; all if there is no tree.

    The arguments are those of :func:`gramian.chart.fine_kernels.fine_forest`, with a :class:`TwoStates`. Values are ratios to coarse ones,
    as in the fine pass; in double precision they need no scales.
    """
    n_items, n_edges = c.item_symbol.shape[0], c.edge_left.shape[0]
    first, lefts, rights, rules, shares = c.edge_first, c.edge_left, c.edge_right, c.edge_rule, c.edge_share
    binary, unary = two.binary, two.unary
    # No row is made a view of its own: to count who uses it would take longer than the work.
    in_zero, in_one = np.zeros(n_items, np.float64), np.zeros(n_items, np.float64)
    out_zero, out_one = np.zeros(n_items, np.float64), np.zeros(n_items, np.float64)
    total = 0.0
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
    left, right = np.empty(n_kept, np.int32), np.empty(n_kept, np.int32)
    rule = np.empty(n_kept, np.int32)
    share, posterior = np.empty(n_kept, np.float32), np.empty(n_kept, np.float32)
    for place in range(n_kept):
        edge = edges[place]
        left[place], right[place] = number[c.edge_left[edge]], c.edge_right[edge]
        if right[place] >= 0:
            right[place] = number[right[place]]
        rule[place], share[place] = c.edge_rule[edge], c.edge_share[edge]
        posterior[place] = c.edge_posterior[edge]
    symbol, cell = np.empty(n_new, np.int32), np.empty(n_new, np.int32)
    item_posterior, root_share = np.empty(n_new, np.float32), np.empty(n_new, np.float32)
    for place in range(n_new):
        item = items[place]
        symbol[place], cell[place] = c.item_symbol[item], c.item_cell[item]
        item_posterior[place], root_share[place] = c.item_posterior[item], c.root_share[item]
    return CoarseForest(
        c.log_probability, symbol, cell, item_posterior, root_share, edge_first, left, right, rule, share, posterior
    )  # fmt: skip
