"""A slow evaluator of patterns: every relation is a statement about two nodes, checked for all pairs of nodes of a tree."""

import re

from gramian.search.pattern import AllOf, AnyOf, Relation
from gramian.trees import HeadRules, escape_word

COLLINS = HeadRules.collins()


class Node:
    """A node with its parent; words are nodes below their tags."""

    def __init__(self, tree, parent=None, word=None, start=0, rules=COLLINS):
        self.parent = parent
        self.is_word = word is not None
        self.label = tree.label if word is None else escape_word(word)
        self.children, end = [], start
        if word is None:
            for child in tree.children:
                self.children.append(Node(child, self, None, end, rules))
                end = self.children[-1].end
            if tree.word is not None:
                self.children.append(Node(tree, self, tree.word, end, rules))
        self.start, self.end = start, end if self.children else start + 1
        if self.children:
            self.end = self.children[-1].end
            self.head = self.children[rules.find(self.label, [child.label for child in self.children])]

    def nodes(self):
        yield self
        for child in self.children:
            yield from child.nodes()

    def rank(self):
        return self.parent.children.index(self)

    def tag(self):
        """The tag for which a word stands."""
        return self.parent if self.is_word and self.label != self.parent.label else None


def chain(which):
    """Return whether `low` is below `high` by steps that each satisfy ``< which``."""

    def holds(high, low):
        return low.parent is not None and (
            (low.parent is high and IMMEDIATE[which](high, low))
            or (IMMEDIATE[which](low.parent, low) and holds(high, low.parent))
        )

    return holds


IMMEDIATE = {
    "": lambda a, b: b.parent is a,
    ",": lambda a, b: b.parent is a and a.children[0] is b,
    "-": lambda a, b: b.parent is a and a.children[-1] is b,
    ":": lambda a, b: b.parent is a and len(a.children) == 1,
    "#": lambda a, b: b.parent is a and a.head is b,
}
SIBLING = lambda a, b: a.parent is not None and a.parent is b.parent and a is not b  # noqa: E731
RELATIONS = {
    "$": SIBLING,
    "$.": lambda a, b: SIBLING(a, b) and b.rank() == a.rank() + 1,
    "$,": lambda a, b: SIBLING(a, b) and b.rank() == a.rank() - 1,
    "$..": lambda a, b: SIBLING(a, b) and b.rank() > a.rank(),
    "$,,": lambda a, b: SIBLING(a, b) and b.rank() < a.rank(),
    ".": lambda a, b: a.end == b.start,
    ",": lambda a, b: b.end == a.start,
    "..": lambda a, b: a.end <= b.start,
    ",,": lambda a, b: b.end <= a.start,
    "==": lambda a, b: a is b,
    ":": lambda a, b: True,
    **{f"<{which}": holds for which, holds in IMMEDIATE.items()},
    **{f"<<{which}": chain(which) for which in IMMEDIATE},
}


def nth(child):
    index = child - 1 if child > 0 else child
    return lambda a, b: b.parent is a and abs(child) <= len(a.children) and a.children[index] is b


def related(relation, a, b, everything):
    """Return whether node `a` has a relation to node `b`."""
    kind = relation.kind
    if relation.path is not None:
        if kind[0] == ">":
            a, b = b, a
        step = RELATIONS[kind[0].replace(">", "<")]
        return path_leads(step, a, b, [node for node in everything if passes(relation.path, node.label)])
    if kind == "<=":
        return a is b or b.parent is a
    if kind[0] == ">":
        a, b, kind = b, a, kind.replace(">", "<")
    if relation.child:
        return nth(relation.child)(a, b)
    return RELATIONS[kind](a, b)


def path_leads(step, a, b, between):
    """Return whether steps through some of the nodes `between` lead from `a` to `b`."""
    reached, before = {a}, None
    while reached != before:
        before = reached
        reached = reached | {node for node in between if any(step(other, node) for other in reached)}
    return any(step(node, b) for node in reached)


def passes(test, label):
    if not test.names and not test.regexes:
        return not test.negated
    labels = [label, re.sub(r"(?<=.)[-=;|^].*", "", label)] if test.basic else [label]
    any_fits = any(
        one in test.names
        or (one == "" and "ROOT" in test.names)
        or any(re.search(regex.text, one, re.IGNORECASE * regex.ignore_case) for regex in test.regexes)
        for one in labels
    )
    return any_fits != test.negated


def stands(pattern, node):
    """The nodes as which a node takes part in relations between children and siblings."""
    tag = node.tag() if pattern.test.names and not pattern.test.negated else None
    return [node] if tag is None else [node, tag]


def ways(formula, pattern, node, everything, bound):
    """Yield bindings under which a formula holds of a node."""
    if isinstance(formula, AllOf):
        found = [bound]
        for part in formula.parts:
            found = [after for before in found for after in ways(part, pattern, node, everything, before)]
    elif isinstance(formula, AnyOf):
        found = [after for part in formula.parts for after in ways(part, pattern, node, everything, bound)]
    else:
        assert isinstance(formula, Relation)
        close = re.fullmatch(r"[<>$][-,:#.=]*|<=", formula.kind) and formula.path is None
        found = []
        for other in everything:
            subjects = stands(pattern, node) if close and formula.kind[0] in ">$" else [node]
            targets = stands(formula.target, other) if close and formula.kind[0] in "<$" else [other]
            if any(related(formula, a, b, everything) for a in subjects for b in targets):
                found += holding(formula.target, other, everything, bound)
    if getattr(formula, "negated", False):
        return [] if found else [bound]
    if getattr(formula, "optional", False) and not found:
        return [bound]
    return found


def holding(pattern, node, everything, bound):
    """Return the bindings under which a node matches a pattern."""
    test = pattern.test
    if test.same_node:
        fits = bound.get(test.same_node) is node
    elif test.same_label:
        fits = bound[test.same_label].label == node.label if test.same_label in bound else False
    else:
        fits = passes(test, node.label)
    if not fits:
        return []
    bound = dict(bound)
    for regex in test.regexes:
        found = re.search(regex.text, node.label) if regex.variables and not test.negated else None
        if found:
            for group, name in regex.variables:
                if bound.setdefault("%" + name, found[group]) != found[group]:
                    return []
    if pattern.capture:
        bound[pattern.capture] = node
    return ways(pattern.formula, pattern, node, everything, bound)


def count(pattern, tree, rules=COLLINS):
    """Return the number of nodes of a tree that match."""
    everything = list(Node(tree, rules=rules).nodes())
    return sum(bool(holding(pattern, node, everything, {})) for node in everything)
