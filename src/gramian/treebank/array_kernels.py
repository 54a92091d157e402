"""Bracket tokens to binarised tree arrays, in compiled code.

A treebank comes in as one integer per bracket token; these kernels find its nodes, drop what normalisation drops, and binarise,
without making one Python object per node. ``gramian.trees`` does the same on objects and is the oracle in the tests.

Codes: ``2 * label`` opens a bracket, ``2 * word + 1`` is a word, ``-1`` closes. Labels and words are numbered apart.
"""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gramian.kernels import kernel

KIND_PHRASE, KIND_INTERMEDIATE, KIND_TAG = 0, 1, 2

# What find_nodes reports instead of a node count.
UNBALANCED, NOT_A_TREE = -1, -2

# What a label map says besides the new label: the node goes, but its children stay; or all of it goes.
SPLICE, DROP = -1, -2


class LabelMaps(NamedTuple):
    """What becomes of each label: of a phrase, of a tag (DROP: the element is empty), and whether it goes at the root."""

    phrase_map: npt.NDArray[np.int32]
    tag_map: npt.NDArray[np.int32]
    is_wrapper: npt.NDArray[np.bool_]


class BinarisedNodes(NamedTuple):
    """Binarised trees; `left` and `right` are -1 where there is none."""

    key: npt.NDArray[
        np.int64
    ]  # of a node: kind; label or chain from bit 2; nearest siblings + 1 from bits 22 and 42
    left: npt.NDArray[np.int32]
    right: npt.NDArray[np.int32]
    parent: npt.NDArray[np.int32]
    word: npt.NDArray[np.int32]
    start: npt.NDArray[np.int32]
    end: npt.NDArray[np.int32]
    tree_start: npt.NDArray[np.int32]  # of a tree
    tree_of: npt.NDArray[np.int32]  # the number of the tree that was read
    chain_head: npt.NDArray[np.int32]  # of a chain: its first label, and the chain that follows
    chain_tail: npt.NDArray[np.int32]


@kernel
def find_nodes(codes, nameless, starts_anew, label, word, parent, tree_start):
    """Fill preorder node arrays from token codes; return (nodes, trees), or a fault as a negative node count.

    A word must stand alone under its bracket, and only the label `nameless` may stand over nothing. A root's label in `starts_anew`
    must not come again within its tree: most likely a bracket is missing, and the object reader finds out.
    OUT: `label`, `word` (-1 for phrases), `parent` (-1 at tree roots), `tree_start` (first node of each tree, one more entry at the end).
    """
    n_nodes, n_trees, current, root = 0, 0, -1, -1
    for position in range(codes.shape[0]):
        code = codes[position]
        if code == -1:
            if current < 0:
                return UNBALANCED, position
            if current == n_nodes - 1 and word[current] < 0 and label[current] != nameless:
                return NOT_A_TREE, position
            current = parent[current]
        elif code % 2 == 0:
            if current < 0:
                tree_start[n_trees] = n_nodes
                n_trees += 1
                root = code // 2
            elif word[current] >= 0 or (
                code // 2 == root and starts_anew[root] and codes[position + 1] != -1
            ):
                return NOT_A_TREE, position
            label[n_nodes] = code // 2
            word[n_nodes] = -1
            parent[n_nodes] = current
            current = n_nodes
            n_nodes += 1
        else:
            if current != n_nodes - 1 or current < 0 or word[current] >= 0:
                return NOT_A_TREE, position
            word[current] = code // 2
    if current >= 0:
        return UNBALANCED, codes.shape[0]
    tree_start[n_trees] = n_nodes
    return n_nodes, n_trees


@kernel
def write_codes(label, left, right, word_code, tree_start, open_start, opens, codes):
    """Write binarised trees in their original shape as token codes, the inverse of :func:`find_nodes`; return how many.

    The symbol of a node stands for the brackets ``opens[open_start[symbol] : open_start[symbol + 1]]``, an intermediate one for none.
    `word_code` is -1 at phrases. OUT: `codes`.
    """
    n_trees, n_codes = tree_start.shape[0] - 1, 0
    # Nodes, and as negative numbers how many brackets are to be closed. There is room for more than the longest tree: memory that is not
    # touched costs nothing.
    stack = np.empty(2 * label.shape[0] + 2, np.int32)
    for tree in range(n_trees):
        stack[0] = tree_start[tree + 1] - 1
        size = 1
        while size:
            size -= 1
            node = stack[size]
            if node < 0:
                codes[n_codes : n_codes - node] = -1
                n_codes -= node
                continue
            first, last = open_start[label[node]], open_start[label[node] + 1]
            for position in range(first, last):
                codes[n_codes] = opens[position]
                n_codes += 1
            if first < last:
                stack[size] = first - last
                size += 1
            if word_code[node] >= 0:
                codes[n_codes] = word_code[node]
                n_codes += 1
                continue
            if right[node] >= 0:
                stack[size] = right[node]
                size += 1
            stack[size] = left[node]
            size += 1
    return n_codes


@kernel
def keep_nodes(label, word, parent, maps, merge_same, new_label, kept_parent):
    """Decide which nodes survive normalisation.

    OUT: `new_label` (mapped label of a survivor, else SPLICE or DROP) and `kept_parent` (nearest surviving ancestor or -1).
    Returns the numbers of (empty leaves dropped, phrases emptied, same-label unaries merged, wrappers dropped).
    """
    phrase_map, tag_map, is_wrapper = maps
    n_nodes = label.shape[0]
    children = np.zeros(n_nodes, np.int32)  # surviving direct children, splices resolved
    only_child = np.empty(n_nodes, np.int32)  # where there is one
    dropped, emptied, merged, wrappers = 0, 0, 0, 0
    for node in range(n_nodes - 1, -1, -1):
        above = parent[node]
        if word[node] >= 0:
            new_label[node] = tag_map[label[node]]
            if new_label[node] < 0:
                new_label[node] = DROP
                dropped += 1
            elif above >= 0:
                children[above] += 1
                only_child[above] = node
        elif children[node] == 0:
            new_label[node] = DROP
            emptied += node + 1 < n_nodes and parent[node + 1] == node
        else:
            mapped = phrase_map[label[node]]
            child = only_child[node]
            if (
                merge_same
                and mapped >= 0
                and children[node] == 1
                and word[child] < 0
                and new_label[child] == mapped
            ):
                mapped = SPLICE
                merged += 1
            new_label[node] = mapped
            if above >= 0:
                if mapped == SPLICE:
                    children[above] += children[node]
                    only_child[above] = only_child[node]
                else:
                    children[above] += 1
                    only_child[above] = node
    for root in range(n_nodes):
        node = root
        while parent[root] < 0 and word[node] < 0 and new_label[node] != DROP and children[node] == 1:
            if new_label[node] != SPLICE:
                if not is_wrapper[label[node]]:
                    break
                new_label[node] = SPLICE
                wrappers += 1
            node = only_child[node]
    for node in range(n_nodes):
        above = parent[node]
        while above >= 0 and new_label[above] == SPLICE:
            above = parent[above]
        kept_parent[node] = above
    return dropped, emptied, merged, wrappers


@kernel
def _intern(table_key, table_value, key, next_value):
    """Return (value, is_new) for `key` in an open-addressing table whose size is a power of two."""
    mask = table_key.shape[0] - 1
    slot = (key * np.int64(0x9E3779B97F4A7C1 | 1)) & mask
    while table_key[slot] != -1:
        if table_key[slot] == key:
            return table_value[slot], False
        slot = (slot + 1) & mask
    table_key[slot] = key
    table_value[slot] = next_value
    return next_value, True


@kernel
def binarise_nodes(new_label, word, kept_parent, tree_start, n_labels, lean_left, horizontal, out):
    """Write the binarised trees to `out`, children before parents, leaves first; return (nodes, trees, chains), -1 if chains overflow.

    Chain numbers below `n_labels` are single labels; the rest index `chain_head`/`chain_tail` from zero.
    """
    key, left, right, out_parent, out_word, start, end, out_tree_start, tree_of, chain_head, chain_tail = out
    size = 1
    while size < 4 * chain_head.shape[0]:
        size *= 2
    table_key, table_value = np.empty(size, np.int64), np.empty(size, np.int32)
    for slot in range(size):
        table_key[slot] = -1
    n_chains, n_out, n_out_trees = 0, 0, 0
    n_trees, longest = (
        tree_start.shape[0] - 1,
        new_label.shape[0],
    )  # of all trees together: what is not touched costs nothing
    first_child = np.empty(longest, np.int32)
    next_sibling = np.empty(longest, np.int32)
    chain = np.empty(longest, np.int32)  # chain number of a processed phrase
    output_node = np.empty(longest, np.int32)  # its output node
    sons = np.empty(longest, np.int32)
    for tree in range(n_trees):
        base, stop = tree_start[tree], tree_start[tree + 1]
        for index in range(stop - base):
            first_child[index] = -1
        roots, root, tree_first = 0, -1, n_out
        position = 0
        for node in range(base, stop):  # leaves in sentence order
            if word[node] >= 0 and new_label[node] >= 0:
                key[n_out] = (np.int64(new_label[node]) << 2) | KIND_TAG
                left[n_out] = -1
                right[n_out] = -1
                out_word[n_out] = word[node]
                start[n_out] = position
                position += 1
                end[n_out] = position
                output_node[node - base] = n_out
                n_out += 1
        for node in range(stop - 1, base - 1, -1):
            if new_label[node] < 0:
                continue
            index = node - base
            if word[node] < 0:
                count = 0
                son = first_child[index]
                while son >= 0:
                    sons[count] = son
                    count += 1
                    son = next_sibling[son]
                only = sons[0]
                if count == 1 and word[base + only] < 0:  # extend the chain of the phrase below
                    pair = (np.int64(new_label[node]) << 32) | chain[only]
                    value, is_new = _intern(table_key, table_value, pair, n_labels + n_chains)
                    if is_new:
                        if n_chains == chain_head.shape[0]:
                            return -1, 0, 0
                        chain_head[n_chains] = new_label[node]
                        chain_tail[n_chains] = chain[only]
                        n_chains += 1
                    chain[index] = value
                    output_node[index] = output_node[only]
                    key[output_node[index]] = np.int64(value) << 2
                else:
                    chain[index] = new_label[node]
                    if count == 1:
                        top = n_out
                        left[top] = output_node[only]
                        right[top] = -1
                        n_out += 1
                    else:
                        for step in range(0 if lean_left else count // 2):  # from the right
                            sons[step], sons[count - 1 - step] = sons[count - 1 - step], sons[step]
                        accumulated = output_node[sons[0]]
                        top = -1
                        for step in range(1, count):
                            other = output_node[sons[step]]
                            top = n_out
                            n_out += 1
                            left[top] = accumulated if lean_left else other
                            right[top] = other if lean_left else accumulated
                            key[top] = (np.int64(new_label[node]) << 2) | KIND_INTERMEDIATE
                            for offset in range(min(horizontal, count - 1 - step)):
                                sibling = new_label[base + sons[step + 1 + offset]]
                                key[top] |= np.int64(sibling + 1) << (22 + 20 * offset)
                            accumulated = top
                            start[top] = start[left[top]]
                            end[top] = end[right[top]]
                            out_word[top] = -1
                    key[top] = np.int64(new_label[node]) << 2
                    start[top] = start[left[top]]
                    end[top] = end[left[top] if right[top] < 0 else right[top]]
                    out_word[top] = -1
                    output_node[index] = top
            above = kept_parent[node]
            if above < 0:
                roots += 1
                root = index
            else:
                next_sibling[index] = first_child[above - base]
                first_child[above - base] = index
        if roots != 1:  # nothing left
            n_out = tree_first
            continue
        out_parent[output_node[root]] = -1
        for node in range(tree_first, n_out):
            if left[node] >= 0:
                out_parent[left[node]] = node
            if right[node] >= 0:
                out_parent[right[node]] = node
        out_tree_start[n_out_trees] = tree_first
        tree_of[n_out_trees] = tree
        n_out_trees += 1
    out_tree_start[n_out_trees] = n_out
    return n_out, n_out_trees, n_chains


_BASE = 0x100000001B3


@kernel
def hash_children(label, left, right, inner, code, length):
    """Fill a polynomial hash and the number of each node's children before binarisation."""
    for node in range(label.shape[0]):
        if left[node] < 0:
            continue
        value, size = np.int64(0), 0
        for child in (left[node], right[node]):
            if child < 0:
                continue
            if inner[label[child]]:
                for _ in range(length[child]):
                    value *= np.int64(_BASE)
                value += code[child]
                size += length[child]
            else:
                value = value * np.int64(_BASE) + label[child] + 1
                size += 1
        code[node] = value
        length[node] = size


@kernel
def follow_heads(label, left, right, inner, length, index, head):
    """Fill `head` from the index of the head child of each node."""
    for node in range(label.shape[0]):
        if left[node] < 0:
            head[node] = node
            continue
        remaining, phrase = index[node], node
        while True:
            child = left[phrase]
            size = length[child] if inner[label[child]] else 1
            if remaining >= size:
                remaining -= size
                child = right[phrase]
            if inner[label[child]]:
                phrase = child
            else:
                head[node] = head[child]
                break
