"""Features of trees, read off tree objects one by one: slow, and as the kernel should see them."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass

from gramian.trees import HeadRules, Tree

EDGE = "(edge)"


@dataclass(eq=False)
class Node:
    label: str
    is_tag: bool
    start: int
    end: int
    parent: Node | None
    children: list[Node]
    head_word: int = 0
    head: int = 0

    @property
    def code(self):
        return (self.is_tag, self.label)

    @property
    def rule(self):
        return (self.code, *(child.code for child in self.children))

    @property
    def deep(self):
        return self.code if self.is_tag else (self.code, *(child.rule for child in self.children))

    def above(self, steps: int):
        node = self
        for _ in range(steps):
            node = node.parent if node else None
        return node.code if node else 0


def nodes_of(tree: Tree, heads: HeadRules | None) -> list[Node]:
    found: list[Node] = []

    def walk(part: Tree, start: int, parent: Node | None) -> Node:
        node = Node(part.label, part.word is not None, start, start + len(part.words), parent, [])
        found.append(node)
        node.head_word = start
        for child in part.children:
            node.children.append(walk(child, start, node))
            start = node.children[-1].end
        if node.children:
            node.head = heads(part) if heads else 0
            node.head_word = node.children[node.head].head_word
        return node

    walk(tree, 0, None)
    return found


def bucket(length: int) -> int:
    return next((place for place, most in enumerate((0, 1, 2, 3, 4, 6, 9, 14, 22)) if length <= most), 9)


def features(tree: Tree, heads: HeadRules | None, group: str) -> Counter:
    """Return how often the tree has each feature of a group."""
    nodes = nodes_of(tree, heads)
    words = [0, 0, *(("word", word.lower()) for word in tree.words), 0, 0]
    leaves = [node for node in nodes if node.is_tag]
    tags = [0, 0, *(leaf.code for leaf in leaves), 0, 0]
    read = {
        "rules": rules, "n-grams": n_grams, "heads": head_pairs, "words": words_over, "branching": branching, "heavy": heavy,
        "edges": edges, "coordination": coordination, "paths": paths, "ancestors": ancestors,
    }[group]  # fmt: skip
    return Counter(read(nodes, leaves, words, tags, heads is not None))


def rules(nodes, leaves, words, tags, has_heads):
    for node in nodes:
        if node.is_tag:
            continue
        yield "rule", node.rule
        yield "rule 1", node.rule, node.above(1)
        yield "rule 2", node.rule, node.above(1), node.above(2)
        yield "deep", node.deep
        if has_heads:
            yield "head", node.rule, words[node.head_word + 2]
            yield "tag", node.rule, tags[node.head_word + 2], node.above(1)


def ancestors(nodes, leaves, words, tags, has_heads):
    for node in nodes:
        if node.is_tag:
            continue
        up, up2, up3 = (node.above(steps) for steps in (1, 2, 3))
        yield "up", node.code, up, up2, up3
        yield "length", node.code, up, bucket(node.end - node.start)
        yield "arity", node.code, len(node.children), up
        if has_heads:
            yield "word", node.code, up, words[node.head_word + 2]
            yield "tag", node.code, up, up2, tags[node.head_word + 2]
            if node.parent:
                yield "upper tag", node.code, up, up2, tags[node.parent.head_word + 2]
                yield "upper word", node.code, up, words[node.parent.head_word + 2]


def branching(nodes, leaves, words, tags, has_heads):
    final = len(leaves)
    while final > 1 and not any(map(str.isalnum, leaves[final - 1].label)):
        final -= 1
    for node in nodes:
        if not node.is_tag:
            yield "right", node.end >= final
            yield "label", node.code


def heavy(nodes, leaves, words, tags, has_heads):
    for node in nodes:
        if not node.is_tag:
            length, before, after = bucket(node.end - node.start), tags[node.start + 1], tags[node.end + 2]
            yield "end", node.code, length, node.end == len(leaves)
            yield "after", node.code, length, after
            yield "before", node.code, length, before
            yield "both", node.code, length, after, before


def edges(nodes, leaves, words, tags, has_heads):
    for node in nodes:
        if node.is_tag:
            continue
        b, f, e, a = node.start + 1, node.start + 2, node.end + 1, node.end + 2
        code, up = node.code, node.above(1)
        for number, values in enumerate((
            (tags[b], tags[a]), (tags[f], tags[e]), (words[b],), (words[a],), (words[f],), (words[e],), (tags[b], tags[f]),
            (tags[e], tags[a]), (tags[b], tags[f], tags[e], tags[a]), (up, tags[b]), (up, tags[a]), (words[b], tags[f]),
            (words[f], tags[b]), (up, words[f]),
        )):  # fmt: skip
            yield number, code, values


def words_over(nodes, leaves, words, tags, has_heads):
    for leaf in leaves:
        place, code = leaf.start + 2, leaf.code
        up, up2, up3 = (leaf.above(steps) for steps in (1, 2, 3))
        yield "word", words[place], code
        yield "word 1", words[place], code, up
        yield "word 2", words[place], code, up, up2
        yield "tag 3", code, up, up2, up3
        yield "before", code, words[place - 1]
        yield "after", code, words[place + 1]
        yield "tags", code, tags[place - 1]
        yield "tags 2", code, tags[place - 1], tags[place - 2]
        if has_heads:
            top = leaf
            while top.parent and top.parent.head_word == leaf.start:
                top = top.parent
            yield "top", words[place], code, top.code
            yield "top 1", words[place], code, top.code, top.above(1)
            yield "top 2", code, top.code, top.above(1), top.above(2)


def n_grams(nodes, leaves, words, tags, has_heads):
    for node in nodes:
        if len(node.children) < 2:
            continue
        row = [EDGE, EDGE, *(child.code for child in node.children), "(end)"]
        for place in range(2, len(row)):
            number = place - 2
            side = 0 if not has_heads else (number > node.head) - (number < node.head) + 2
            yield 2, node.code, row[place - 1], row[place]
            yield "side", node.code, row[place - 1], row[place], side, node.above(1)
            yield 3, node.code, *row[place - 2 : place + 1]
        if has_heads:
            for one, two in zip(node.children, node.children[1:], strict=False):
                i, j = one.head_word + 2, two.head_word + 2
                yield "left word", node.code, one.code, two.code, words[i], tags[j]
                yield "right word", node.code, one.code, two.code, tags[i], words[j]
                yield "both", one.code, two.code, words[i], words[j]


def head_pairs(nodes, leaves, words, tags, has_heads):
    for node in nodes:
        if len(node.children) < 2 or not has_heads:
            continue
        h = node.head_word + 2
        for number, child in enumerate(node.children):
            if number == node.head:
                continue
            d = child.head_word + 2
            side = number > node.head
            kind = (node.code, child.code, node.children[node.head].code, side)
            yield "tags", kind, tags[h], tags[d]
            yield "word tag", kind, words[h], tags[d]
            yield "tag word", kind, tags[h], words[d]
            yield "words", node.code, child.code, words[h], words[d]
            yield "pair", side, words[h], words[d]
            yield "distance", kind, bucket(abs(d - h)), tags[h]
            yield "word", kind, words[h]
            yield "dependent", kind, words[d]
            inner = [one for place, one in enumerate(child.children) if place != child.head]
            if inner:
                o = inner[-1].head_word + 2
                yield "tag word tag", kind, tags[h], words[d], tags[o]
                yield "tag word word", kind, tags[h], words[d], words[o]
                yield "word word tag", kind, words[h], words[d], tags[o]
                yield "word word word", node.code, words[h], words[d], words[o]


def coordination(nodes, leaves, words, tags, has_heads):
    for node in nodes:
        marks = [
            child.is_tag and (child.label == "CC" or not any(map(str.isalnum, child.label)))
            for child in node.children
        ]
        if not any(child.is_tag and child.label == "CC" for child in node.children):
            continue
        parts = [child for child, mark in zip(node.children, marks, strict=True) if not mark]
        for one, two in itertools.pairwise(parts):
            same = 0
            for number, matches in enumerate(
                (one.code == two.code, one.rule == two.rule, one.deep == two.deep), 1
            ):
                if not matches:
                    break
                same = number
            difference = (two.end - two.start) - (one.end - one.start)
            size = bucket(difference) if difference >= 0 else -bucket(-difference)
            last = two is node.children[-1]
            yield "same", node.code, same
            yield "same of", node.code, same, one.code, two.code
            yield "length", size, last
            yield "length of", node.code, size, last
            if has_heads:
                yield "tags", node.code, tags[one.head_word + 2], tags[two.head_word + 2]
                yield "words", words[one.head_word + 2], words[two.head_word + 2]
        yield "arity", node.code, node.above(1), len(node.children)
        yield "before", node.code, tags[node.start + 1], tags[node.start + 2]


def paths(nodes, leaves, words, tags, has_heads):
    before = None
    for one, two in itertools.pairwise(leaves):
        up, down = [one], [two]
        while up[-1].end <= two.start:
            up.append(up[-1].parent)
        while down[-1] is not up[-1]:
            down.append(down[-1].parent)
        path = (tuple(node.code for node in up), tuple(node.code for node in down))
        yield "path", path
        yield "left", path, words[one.start + 2]
        yield "right", path, words[two.start + 2]
        yield "two", path, before
        before = path
