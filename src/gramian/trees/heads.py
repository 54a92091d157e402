"""Head rules: which child of a phrase carries its head word, and the dependency tree that follows from it.

The rules for Penn-style English are those of Collins (1999, appendix A), where function words are heads; those of the other annotation
schemes follow Universal Dependencies, where content words are. All are tables in one format (described in ``collins.heads``, beside this
file); :mod:`gramian.trees.scheme` says which belongs to which scheme, and a file may hold another.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from itertools import islice
from typing import Literal, TypeAlias, cast

from gramian.errors import InputError
from gramian.io.reading import Source, open_text
from gramian.trees.conllu import Sentence, Token
from gramian.trees.labels import FUNCTION_SEPARATOR, category
from gramian.trees.normalise import NormaliseOptions
from gramian.trees.scheme import SCHEME_SAMPLE_SIZE, SCHEMES, AnnotationScheme
from gramian.trees.tree import Tree, bottom_up

Side: TypeAlias = Literal["left", "right"]

_SEARCHES = ("left", "right", "left-any", "right-any", "last")
_MOST_KNOWN = 1 << 16  # rules whose heads are kept
_DIRECTIVES = ("default", "never", "coordination")

UNIVERSAL = "english"
"""The table for Penn-style English with content words as heads, whose relations are those of Universal Dependencies."""
TABLES = (
    *dict.fromkeys(language.head_rules for scheme in SCHEMES.values() for language in scheme.languages),
    UNIVERSAL,
)
"""Names of the tables that come with gramian."""


@dataclass(frozen=True, slots=True)
class HeadRules:
    """A table of head rules; calling it with a phrase gives the index of the head among its children.

    Labels are looked up whole, then as bare categories (``NP`` for ``NP-SBJ-1``).

    Examples
    --------
    >>> rules = HeadRules.collins()
    >>> rules(Tree.parse("(NP (DT the) (NN dog) (PP (IN of) (NP (NN war))))"))
    1
    """

    #: for each label the searches to try in order: how, and for which labels
    searches: dict[str, tuple[tuple[str, tuple[str, ...]], ...]] = field(default_factory=dict)
    default: Side = "right"  #: side of the head in phrases whose label has no searches
    never: frozenset[str] = frozenset()  #: labels that are no head as long as there is another child
    #: if the child left of the head has one of these labels, the head is the child before that
    coordination: frozenset[str] = frozenset()
    _known: dict[tuple[str, ...], int] = field(default_factory=dict, repr=False, compare=False)

    def check(self) -> None:
        """Raise a ValueError if a table read from a model file is invalid."""
        rows = [row for rows in self.searches.values() for row in rows]
        labels = [
            *self.searches,
            *self.never,
            *self.coordination,
            *(label for _, row in rows for label in row),
        ]
        kinds_are_valid = all(kind in _SEARCHES for kind, _ in rows) and self.default in ("left", "right")
        if not kinds_are_valid or not all(isinstance(label, str) for label in labels):
            raise ValueError("invalid head rule")

    @classmethod
    def collins(cls) -> HeadRules:
        """Return the rules for Penn-style English."""
        return cls.named("collins")

    @classmethod
    def named(cls, name: str) -> HeadRules:
        """Return the rules called ``left``, ``right`` or one of :data:`TABLES`, or else those in the file `name`."""
        if name in ("left", "right"):
            return cls(default=cast(Side, name))
        if name in TABLES:
            return cls.from_text(files("gramian.trees").joinpath(f"{name}.heads").read_text("utf-8"))
        return cls.read(name)

    @classmethod
    def select(
        cls, name: str, scheme: AnnotationScheme, language: str | None = None, trees: Iterable[Tree] = ()
    ) -> HeadRules:
        """Return the rules called `name`; for ``"auto"``, those of the language's record in an annotation scheme.

        If the language is not given and the scheme has several, ``"auto"`` selects the rules that fit the trees best, without trees those
        of the first language. A scheme without languages has Collins' rules.
        """
        if name != "auto":
            return cls.named(name)
        languages = [record for record in scheme.languages if record.code == language] or scheme.languages
        tables = [cls.named(record.head_rules) for record in languages] or [cls.collins()]
        sample = list(islice(trees, SCHEME_SAMPLE_SIZE)) if len(tables) > 1 else []
        return max(tables, key=lambda rules: rules.fit(sample))

    @classmethod
    def for_conllu(
        cls, name: str, scheme: AnnotationScheme, language: str | None = None, trees: Iterable[Tree] = ()
    ) -> HeadRules:
        """Return the rules called `name` as :meth:`select` does, but of English those of Universal Dependencies instead of Collins'."""
        rules = cls.select(name, scheme, language, trees)
        return cls.named(UNIVERSAL) if name == "auto" and rules == cls.collins() else rules

    def keep_functions(self, options: NormaliseOptions) -> NormaliseOptions:
        """Return options that leave phrases their functions (``NP-ATS``) if these rules look for some."""
        wanted = {label for rows in self.searches.values() for _, labels in rows for label in labels}
        if not any(FUNCTION_SEPARATOR in label for label in wanted):
            return options
        return replace(options, phrase_cut=options.phrase_cut.replace(FUNCTION_SEPARATOR, ""))

    def fit(self, trees: Iterable[Tree]) -> float:
        """Return in which share of the phrases with several children a search finds what it looks for; 1 if there are none.

        Examples
        --------
        >>> tree = Tree.parse("(NP (DET le) (NC chat) (PP (P de) (NP (NPP Anne))))")
        >>> HeadRules.named("french").fit([tree]), HeadRules.collins().fit([tree])
        (1.0, 0.0)
        """
        phrases = [node for tree in trees for node in tree.subtrees() if len(node.children) > 1]
        successes = sum(
            self._find(node.label, [child.label for child in node.children])[1] for node in phrases
        )
        return successes / len(phrases) if phrases else 1.0

    @classmethod
    def read(cls, source: Source) -> HeadRules:
        """Read a table from a file."""
        with open_text(source) as lines:
            return cls.from_text("".join(lines), lines.name)

    @classmethod
    def from_text(cls, text: str, source: str = "<string>") -> HeadRules:
        """Read a table from text.

        Examples
        --------
        >>> rules = HeadRules.from_text("NP left N PRO")
        >>> rules(Tree.parse("(NP (D a) (N b) (N c))"))
        1
        """
        searches: dict[str, tuple[tuple[str, tuple[str, ...]], ...]] = {}
        directives: dict[str, tuple[str, ...]] = {}
        for number, line in enumerate(text.split("\n"), 1):
            words = line.split()
            if not words or words[0].startswith("#"):
                continue
            kinds = _DIRECTIVES if words[0] == "*" else _SEARCHES
            if len(words) < 2 or words[1] not in kinds:
                raise InputError(
                    f"a head rule needs one of {', '.join(kinds)} in second place",
                    source,
                    number,
                    excerpt=line,
                    hint="write lines such as: NP right NN NNS",
                )
            if words[0] == "*":
                directives[words[1]] = tuple(words[2:])
            else:
                searches[words[0]] = (*searches.get(words[0], ()), (words[1], tuple(words[2:])))
        side = (directives.get("default") or ("right",))[0]
        if side not in ("left", "right"):
            raise InputError(f"the default side is left or right, not {side}", source)
        return cls(
            searches,
            cast(Side, side),
            frozenset(directives.get("never", ())),
            frozenset(directives.get("coordination", ())),
        )

    def __call__(self, tree: Tree) -> int:
        """Return the index of the head among the children of `tree`."""
        if len(tree.children) < 2:
            return 0
        key = (tree.label, *[child.label for child in tree.children])
        index = self._known.get(key)
        if index is None:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            index = self._known[key] = self.find(key[0], key[1:])
        return index

    def find(self, label: str, labels: Sequence[str]) -> int:
        """Return the index of the head among children labelled `labels` of a phrase labelled `label`."""
        return self._find(label, labels)[0]

    def _find(self, label: str, labels: Sequence[str]) -> tuple[int, bool]:
        """Return the index of the head, and whether a search succeeded."""
        categories = [category(child) for child in labels]
        names = [{child, bare} for child, bare in zip(labels, categories, strict=True)]
        allowed = [index for index, both in enumerate(names) if both.isdisjoint(self.never)]
        allowed = allowed or list(range(len(labels)))
        head, succeeded = self._search(label, names, allowed)
        if head >= 2 and categories[head - 1] in self.coordination and head - 2 in allowed:
            return head - 2, succeeded
        return head, succeeded

    def _search(self, label: str, names: list[set[str]], allowed: list[int]) -> tuple[int, bool]:
        """Return the index of the first child that a search of `label` accepts, else the outermost one, and whether a search succeeded."""
        searches = self.searches.get(label) or self.searches.get(category(label), ())
        from_left = self.default == "left"
        for how, wanted in searches:
            from_left = how.startswith("left")
            candidates = allowed if from_left else allowed[::-1]
            if how == "last":
                candidates = allowed[-1:]
            groups = [[name] for name in wanted] if how in ("left", "right") else [list(wanted)]
            for group in groups:
                for index in candidates:
                    if not names[index].isdisjoint(group):
                        return index, True
        only_side = any(not wanted for _, wanted in searches)  # the label's lines ask for nothing but a side
        return (allowed[0] if from_left else allowed[-1]), only_side


def head_positions(tree: Tree, rules: HeadRules) -> list[int]:
    """Return, for every node in the order of :meth:`Tree.subtrees`, the position of its head word.

    Examples
    --------
    >>> head_positions(Tree.parse("(S (NP (DT the) (NN dog)) (VP (VBZ barks)))"), HeadRules.collins())
    [2, 1, 0, 1, 2, 2]
    """
    return _attach(tree, rules, {})


def to_dependencies(tree: Tree, rules: HeadRules) -> Sentence:
    """Return the dependency tree of a tree: the heads of a phrase's children depend on its head.

    A relation is named after the largest phrase that its dependent is head of (``NP-SBJ``), or ``root``; with the rules called ``english``
    relations and tags are those of Universal Dependencies. Empty elements of the tree would become words.

    Examples
    --------
    >>> tree = Tree.parse("(S (NP-SBJ (DT the) (NN dog)) (VP (VBZ barks)))")
    >>> sentence = to_dependencies(tree, HeadRules.collins())
    >>> [(token.form, token.head, token.deprel) for token in sentence.tokens]
    [('the', 2, 'DT'), ('dog', 3, 'NP-SBJ'), ('barks', 0, 'root')]
    """
    if rules == universal_heads():
        from gramian.trees.universal import to_universal

        return to_universal(tree)
    arcs: dict[int, tuple[int, str]] = {}
    _attach(tree, rules, arcs)
    tokens = []
    for number, leaf in enumerate(tree.leaves(), 1):
        head, relation = arcs.get(number - 1, (0, "root"))
        tokens.append(Token(number, leaf.word or "_", xpos=leaf.label, head=head, deprel=relation))
    return Sentence(tuple(tokens), line=tree.line)


@cache
def universal_heads() -> HeadRules:
    """Return the table called :data:`UNIVERSAL`."""
    return HeadRules.named(UNIVERSAL)


def _attach(tree: Tree, rules: HeadRules, arcs: dict[int, tuple[int, str]]) -> list[int]:
    """Return the positions of head words, and add head and relation of every other word to `arcs`."""
    nodes = list(tree.subtrees())
    words = iter(range(sum(node.word is not None for node in nodes))[::-1])  # nodes come from the right

    def head_position(node: Tree, below: list[int]) -> int:
        if node.word is not None:
            return next(words)
        if not below:
            raise InputError("an empty tree has no head word", line=tree.line)
        head = below[rules(node)]
        for child, position in zip(node.children, below, strict=True):
            if position != head:
                arcs[position] = head + 1, child.label
        return head

    return bottom_up(nodes, head_position)
