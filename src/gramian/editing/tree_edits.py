"""Application of edit scripts to trees."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from gramian.editing.edit_script import EditRule, Operation, Position, TreeTemplate, parse_script
from gramian.editing.mutable_tree import MutableNode, freeze, thaw
from gramian.errors import InputError
from gramian.search.tree_match import Match, matches_in_every_way
from gramian.trees import HeadRules, Tree
from gramian.trees.labels import is_label
from gramian.trees.normalise import EMPTY_TAG

_MAX_GROWTH = 20_000  # nodes that edits may add to a tree
_REFERENCE = re.compile(r"=\{(\w+)\}|%\{(\w+)\}")
_INDEX = re.compile(r"-([0-9]{1,9})$")


@dataclass
class EditCount:
    """How often a rule was applied, and in how many trees."""

    edits: int = 0
    trees: int = 0


def edit_trees(
    trees: Iterable[Tree],
    script: str | list[EditRule],
    *,
    head_rules: HeadRules | None = None,
    change_words: bool = False,
    counts: list[EditCount] | None = None,
) -> Iterator[Tree]:
    r"""Yield trees rewritten by a script; each rule is applied until it changes nothing.

    Parameters
    ----------
    trees : iterable of Tree
    script : str or list of EditRule
        In the notation of Tsurgeon.
    head_rules : HeadRules, optional
        For ``<#`` and the like; by default those of Collins.
    change_words : bool
        Whether rules may delete words or replace them. Without it, a rule that does so is an error. Empty elements are not words.
    counts : list of EditCount, optional
        Receives one count a rule.

    Examples
    --------
    >>> tree = Tree.parse("(S (NP (PRP I)) (VP (VBP sleep)))")
    >>> print(next(edit_trees([tree], "NP=phrase < PRP=tag\n\nrelabel phrase /^NP/PRO/\nexcise phrase phrase")))
    (S (PRP I) (VP (VBP sleep)))
    """
    rules = parse_script(script) if isinstance(script, str) else script
    if counts is not None:
        counts += [EditCount() for _ in rules]
    for tree in trees:
        edited = tree
        for number, rule in enumerate(rules):
            edited, n_edits = _edited(edited, rule, head_rules, change_words)
            if counts is not None and n_edits:
                counts[number].edits += n_edits
                counts[number].trees += 1
        yield edited


def _edited(tree: Tree, rule: EditRule, head_rules: HeadRules | None, change_words: bool) -> tuple[Tree, int]:
    """Apply a rule until it changes nothing; return the tree and the number of changes."""
    size = sum(1 for _ in tree.subtrees())
    most, room = 100 + 4 * size, 2 * size + _MAX_GROWTH
    for n_edits in range(most):
        for match in matches_in_every_way(rule.pattern, tree, head_rules):
            edited = _Edit(tree, match, room).apply(rule)
            if edited != tree:
                break
        else:
            return tree, n_edits
        if not change_words and (lost := _words(tree) - _words(edited)):
            word = next(iter(lost))
            problem = f"rule at line {rule.line} deletes or changes the word {word!r}"
            raise InputError(problem, line=tree.line, hint="pass --change-words (change_words=True)")
        tree = edited
    problem = f"rule at line {rule.line} still applies after {most:,} edits of one tree"
    raise InputError(problem, line=tree.line, hint="let the pattern exclude its own result, as with !< or !>")


def _words(tree: Tree) -> Counter[str]:
    return Counter(leaf.word or "" for leaf in tree.leaves() if leaf.label != EMPTY_TAG)


class _Edit:
    """The operations of a rule on one match."""

    def __init__(self, tree: Tree, match: Match, room: int) -> None:
        self._tree = tree
        numbered = thaw(tree)
        self._holder = numbered[0].parent
        self._room = room - len(numbered)
        self._named = {name: numbered[number] for name, number in match.nodes.items() if name}
        self._variables = match.variables

    def apply(self, rule: EditRule) -> Tree:
        """Return the edited tree."""
        try:
            for operation in rule.operations:
                if not operation.condition or (operation.condition in self._named) != operation.is_negated:
                    getattr(self, f"_{operation.kind}")(operation)
            assert self._holder is not None
            if not self._holder.children:
                return Tree("", line=self._tree.line)
            return freeze(self._holder.children[0], self._tree.line)
        except InputError as error:
            raise InputError(
                f"rule at line {rule.line}: {error.what}", line=self._tree.line, hint=error.hint
            ) from None

    def _node(self, name: str) -> MutableNode:
        if name not in self._named:
            hint = f"write: if exists {name} ..."
            raise InputError(f"this match has no node named {name}", hint=hint)
        return self._named[name]

    def _delete(self, operation: Operation) -> None:
        for name in operation.names:
            self._node(name).detach()

    def _prune(self, operation: Operation) -> None:
        for name in operation.names:
            node = self._node(name)
            while node.parent not in (None, self._holder) and len(node.parent.children) == 1:
                node = node.parent
            node.detach()

    def _excise(self, operation: Operation) -> None:
        top, bottom = map(self._node, operation.names)
        if not bottom.is_below(top):
            raise InputError(f"{operation.names[0]} is not above {operation.names[1]}")
        if top.parent is self._holder and len(bottom.children) != 1:
            raise InputError("the root cannot be excised: it has several children")
        if bottom.children and bottom.children[0].is_word:
            raise InputError(f"the tag {bottom.label} cannot be excised from its word")
        top.replace_by(list(bottom.children))

    def _relabel(self, operation: Operation) -> None:
        node = self._node(operation.names[0])
        label = _REFERENCE.sub(self._referred, operation.label)
        if operation.regex is not None:
            label = operation.regex.replaced(node.label, label)
        if not is_label(label):
            raise InputError(f"{label!r} is not a label")
        node.label = label

    def _referred(self, reference: re.Match[str]) -> str:
        if reference[1]:
            return self._node(reference[1]).label
        if reference[2] not in self._variables:
            raise InputError(f"this match has no variable {reference[2]}")
        return self._variables[reference[2]]

    def _insert(self, operation: Operation) -> None:
        assert operation.position is not None
        self._put(self._new_node(operation.names, operation.template), operation.position)

    def _move(self, operation: Operation) -> None:
        assert operation.position is not None
        node = self._node(operation.names[0])
        if self._node(operation.position.anchor).is_below(node):
            raise InputError(f"{operation.names[0]} cannot move below or beside itself")
        node.detach()
        self._put(node, operation.position)

    def _put(self, node: MutableNode, position: Position) -> None:
        anchor = self._node(position.anchor)
        if position.side == ">":
            last = len(anchor.children) + 1
            index = position.child - 1 if position.child > 0 else last + position.child
            if not 0 <= index < last:
                raise InputError(f"{position.anchor} has no position for child {position.child}")
            anchor.add(index, node)
            return
        if anchor.parent in (None, self._holder):
            raise InputError(f"{position.anchor} is the root or deleted, and has no siblings")
        anchor.parent.add(anchor.index() + (position.side == "$-"), node)

    def _replace(self, operation: Operation) -> None:
        target, *names = operation.names
        self._node(target).replace_by([self._new_node(names, operation.template)])

    def _new_node(self, names: Sequence[str], template: TreeTemplate | None) -> MutableNode:
        """Return a copy of a named node, or a new tree."""
        if not names:
            return self._built(template)
        node = self._node(names[0])
        self._room -= sum(1 for _ in node.nodes())
        if self._room < 0:
            raise InputError(
                f"copies add more than {_MAX_GROWTH:,} nodes to the tree", hint="copy a smaller node"
            )
        return node.copy()

    def _built(self, template: TreeTemplate | None, is_word: bool = False) -> MutableNode:
        assert template is not None
        node = MutableNode(template.label, is_word)
        children = template.children
        has_word = len(children) == 1 and not (children[0].children or children[0].is_foot)
        node.adopt([self._built(child, is_word=has_word) for child in children])
        if template.name:
            self._named[template.name] = node
        if template.is_foot:
            self._foot = node
        return node

    def _adjoin(self, operation: Operation) -> None:
        node, top = self._node(operation.names[0]), self._built(operation.template)
        self._foot.adopt(node.children)
        node.replace_by([top])

    def _adjoinH(self, operation: Operation) -> None:
        """Adjoin below the node, which takes the place of the root of the auxiliary tree."""
        node, top = self._node(operation.names[0]), self._built(operation.template)
        children = list(node.children)
        node.adopt(top.children)
        self._foot.adopt(children)

    def _adjoinF(self, operation: Operation) -> None:
        """Adjoin above the node, which takes the place of the foot."""
        node, top = self._node(operation.names[0]), self._built(operation.template)
        node.replace_by([top])
        self._foot.replace_by([node])

    def _createSubtree(self, operation: Operation) -> None:
        first, last = self._node(operation.names[0]), self._node(operation.names[-1])
        parent = first.parent
        if parent is None or parent is not last.parent:
            raise InputError("createSubtree needs siblings")
        start, end = sorted((first.index(), last.index()))
        siblings = parent.children[start : end + 1]
        top = self._built(operation.template)
        has_foot = operation.template is not None and any(node.is_foot for node in operation.template.nodes())
        (self._foot if has_foot else top).adopt(siblings)
        parent.add(start, top)

    def _coindex(self, operation: Operation) -> None:
        assert self._holder is not None
        indices = [match for node in self._holder.nodes() if (match := _INDEX.search(node.label))]
        index = 1 + max((int(match[1]) for match in indices), default=0)
        for name in operation.names:
            self._node(name).label += f"-{index}"
