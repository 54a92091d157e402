"""Universal Dependencies from Penn-style phrases of English.

Heads come from ``english.heads``, relations from ``english.relations``; both are tables that people can read and change. Four
configurations need more than a table: coordination, forms of "be" with a predicate, "there is", and the subject of an infinitive.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from importlib.resources import files
from typing import NamedTuple

from gramian.trees.conllu import Sentence, Token
from gramian.trees.heads import universal_heads
from gramian.trees.labels import category
from gramian.trees.tree import Tree, bottom_up

_UPOS = {
    "NN": "NOUN", "NNS": "NOUN", "NNP": "PROPN", "NNPS": "PROPN", "PRP": "PRON", "PRP$": "PRON", "WP": "PRON", "WP$": "PRON",
    "EX": "PRON", "JJ": "ADJ", "JJR": "ADJ", "JJS": "ADJ", "RB": "ADV", "RBR": "ADV", "RBS": "ADV", "WRB": "ADV", "MD": "AUX",
    "CC": "CCONJ", "CD": "NUM", "UH": "INTJ", "POS": "PART", "RP": "ADP", "IN": "ADP", "TO": "ADP", "PDT": "DET", "DT": "DET",
    "WDT": "DET", "$": "SYM", "SYM": "SYM", "FW": "X", "LS": "X", "GW": "X", "ADD": "X", "AFX": "X", "NFP": "PUNCT", "HYPH": "PUNCT",
}  # fmt: skip
_VERBS, _CLAUSES = ("VB*", "MD", "VP"), ("S", "SBAR", "SINV", "SQ", "SBARQ")
_PREDICATES = ("NP", "ADJP", "PP", "ADVP", "QP", "UCP", "WHNP", "JJ*", "NN*", "CD", "SBAR", "S")
_SEPARATORS = ("CC", "CONJP", ",", ":", ".", "''")
_NOUNS = ("NP", "NN*", "NML", "PRP", "CD", "QP", "$", "WHNP", "DT", "EX", "FW", "ADD")


@lru_cache(1 << 14)
def _fits(label: str, patterns: tuple[str, ...]) -> bool:
    return any(label == pattern or fnmatchcase(label, pattern) for pattern in patterns)


def _bare(label: str) -> str:
    return label if label.startswith("-") else category(label)


@dataclass(frozen=True, slots=True)
class _Phrase:
    """A phrase with its head word."""

    label: str
    start: int
    end: int
    head: int
    children: tuple[_Phrase, ...] = ()
    head_child: int = 0
    copula: int | None = None  # a form of "be" whose predicate the head is
    passive: bool = False

    def has(self, *patterns: str) -> bool:
        return any(_fits(child.label, patterns) for child in self.children)


@cache
def _table() -> tuple[list[str], ...]:
    """Return the fields of the lines of the table."""
    text = files("gramian.trees").joinpath("english.relations").read_text("utf-8")
    return tuple([line.split() for line in text.splitlines() if line and not line.startswith("#")])


@cache
def _words(name: str) -> frozenset[str]:
    """Return a list of words of the table."""
    return frozenset(word for line in _table() if line[:2] == ["words", name] for word in line[2:])


class _Rule(NamedTuple):
    relation: str
    parents: tuple[str, ...]
    children: tuple[str, ...]
    conditions: tuple[tuple[str, bool, tuple[str, ...]], ...]  # name, whether it is to hold, arguments


class _Pair(NamedTuple):
    """A child of a phrase, and all that conditions look at."""

    parent: _Phrase
    place: int  # of the child
    words: Sequence[str]
    tags: Sequence[str]

    @property
    def child(self) -> _Phrase:
        return self.parent.children[self.place]

    @property
    def head(self) -> _Phrase:
        return self.parent.children[self.parent.head_child]


def _is_time(pair: _Pair) -> bool:
    word = pair.words[pair.child.head].lower()
    return word in _words("times") and pair.tags[pair.child.head][0] in "NRC"


def _is_first_object(pair: _Pair) -> bool:
    """Whether another object follows at once."""
    siblings, index = pair.parent.children, pair.place + 1
    return (
        index < len(siblings) and siblings[index].label == "NP" and not _is_time(pair._replace(place=index))
    )


def _before_verb(pair: _Pair) -> bool:
    """Whether the clause beside a question word has a subject."""
    clause = pair.head
    if clause.label == "SBAR":
        return False
    subject = next(
        (index for index, child in enumerate(clause.children) if _fits(child.label, ("NP",))), None
    )
    return subject is not None and (clause.label == "SQ" or subject < max(1, clause.head_child))


_CONDITIONS: dict[str, Callable[[_Pair, tuple[str, ...]], bool]] = {
    "before": lambda pair, _: pair.place < pair.parent.head_child,
    "after": lambda pair, _: pair.place > pair.parent.head_child,
    "head": lambda pair, labels: _fits(pair.head.label, labels),
    "words": lambda pair, labels: _fits(pair.tags[pair.child.head], labels),
    "first": lambda pair, words: pair.words[pair.child.start].lower() in words,
    "holds": lambda pair, labels: pair.child.has(*labels),
    "passive": lambda pair, _: pair.parent.passive or pair.head.passive,
    "verbal": lambda pair, _: _fits(pair.tags[pair.parent.head], _VERBS),
    "participle": lambda pair, _: (
        _fits(pair.tags[pair.head.head], ("VBN", "VBD"))
        and not pair.head.passive
        and pair.words[pair.child.head].lower() in _words("passive")
    ),
    "governor": lambda pair, words: pair.words[pair.parent.head].lower() in words,
    "finite": lambda pair, _: any(
        _fits(tag, ("VBD", "VBZ", "VBP", "MD")) for tag in pair.tags[pair.child.start : pair.child.head + 1]
    ),
    "objects": lambda pair, _: any(
        child.label == "NP" for child in pair.parent.children[pair.parent.head_child : pair.place]
    ),
    "time": lambda pair, _: _is_time(pair),
    "object": lambda pair, _: _is_first_object(pair),
    "subject": lambda pair, _: _before_verb(pair),
    "comma": lambda pair, _: (
        pair.place > 0 and _fits(pair.parent.children[pair.place - 1].label, (",", ":", "-LRB-"))
    ),
    "nested": lambda pair, _: pair.child.label == "NP" and pair.child.has("NP"),
}


@cache
def _rules() -> tuple[_Rule, ...]:
    rules = []
    for relation, parents, children, *conditions in _table():
        if relation == "words":
            continue
        named = [condition.removeprefix("!").partition("=") for condition in conditions]
        tests = [
            (name, not condition.startswith("!"), tuple(values.split("|")))
            for condition, (name, _, values) in zip(conditions, named, strict=True)
        ]
        rules.append(_Rule(relation, tuple(parents.split("|")), tuple(children.split("|")), tuple(tests)))
    return tuple(rules)


def to_universal(tree: Tree) -> Sentence:
    """Return the Universal Dependencies of a Penn-style tree of English without empty elements: heads, relations and UPOS."""
    return _Conversion(tree).sentence(tree.line)


class _Conversion:
    """The arcs of one tree, added phrase by phrase from below."""

    def __init__(self, tree: Tree) -> None:
        leaves = list(tree.leaves())
        self.words = [leaf.word or "_" for leaf in leaves]
        self.tags = [_bare(leaf.label) for leaf in leaves]
        self.arcs: dict[int, tuple[int, str]] = {}  # of each word its head and relation
        numbers = iter(range(len(leaves))[::-1])  # nodes come from the right

        def phrase(node: Tree, below: list[_Phrase]) -> _Phrase:
            if node.word is None:
                return self._phrase(_bare(node.label), tuple(below))
            number = next(numbers)
            return _Phrase(self.tags[number], number, number + 1, number)

        bottom_up(list(tree.subtrees()), phrase)

    def sentence(self, line: int | None) -> Sentence:
        tokens = []
        for number, (word, tag) in enumerate(zip(self.words, self.tags, strict=True)):
            head, relation = self.arcs.get(number, (-1, "root"))
            upos = _upos(word, tag, relation)
            tokens.append(Token(number + 1, word, upos=upos, xpos=tag, head=head + 1, deprel=relation))
        return Sentence(tuple(tokens), line=line)

    def _phrase(self, label: str, children: tuple[_Phrase, ...]) -> _Phrase:
        """Return a phrase, and add the arcs between its children."""
        groups = self._conjuncts(label, children)
        first = groups[0]
        head_child = first[self._head(label, [children[index] for index in first])]
        head = children[head_child]
        parent = _Phrase(
            label, children[0].start, children[-1].end, head.head, children, head_child,
            copula=head.copula, passive=self._is_passive(head, children[:head_child]),
        )  # fmt: skip
        if label in ("VP", "SQ", "FRAG", "S", "SINV") and _fits(head.label, _PREDICATES):
            forms = [child for child in children if child.end - child.start == 1 and self._is_be(child)]
            parent = replace(parent, copula=forms[0].head if forms else parent.copula)
        heads = [head_child]
        for group in groups[1:]:
            index = group[self._head(label, [children[index] for index in group])]
            heads.append(index)
            self.arcs[children[index].head] = head.head, "conj"
            for member in group:
                if member != index:
                    self._attach(replace(parent, head_child=index, head=children[index].head), member)
        inside = {member for group in groups[1:] for member in group}
        for index in range(len(children)):
            if index not in inside and index != head_child:
                following = next((later for later in heads[1:] if later > index), None)
                is_separator = _fits(children[index].label, _SEPARATORS) and index > head_child
                if following is not None and is_separator:
                    relation = "punct" if children[index].label in (",", ":") else "cc"
                    self.arcs[children[index].head] = children[following].head, relation
                else:
                    self._attach(parent, index)
        return self._repaired(parent)

    def _attach(self, parent: _Phrase, index: int) -> None:
        pair = _Pair(parent, index, self.words, self.tags)
        relation, governor = _relation(pair), parent.head
        if relation == "punct":
            governor = self._punctuated(parent, index)
        self.arcs[pair.child.head] = governor, relation
        if relation == "xcomp" and pair.child.label == "S":  # its subject is the object of the verb above
            for word in range(pair.child.start, pair.child.head):
                if self.arcs.get(word) in ((pair.child.head, "nsubj"), (pair.child.head, "nsubj:pass")):
                    self.arcs[word] = parent.head, "obj"

    def _punctuated(self, parent: _Phrase, index: int) -> int:
        """Return the head of a mark: that of the phrase which it parts from the rest."""
        mark, step = parent.children[index], 1 if index > parent.head_child else -1
        if mark.label == "HYPH" and mark.start > parent.start:
            return mark.start - 1
        if mark.label in ("``", "-LRB-"):
            step = 1
        elif mark.label in ("''", "-RRB-"):
            step = -1
        beside = parent.children[index + step] if 0 <= index + step < len(parent.children) else None
        if mark.label == "." or beside is None or beside.end - beside.start == 1:
            return parent.head
        return beside.head

    def _conjuncts(self, label: str, children: tuple[_Phrase, ...]) -> list[list[int]]:
        """Return the children that each conjunct of a phrase consists of, separators left out; one group without coordination."""
        everything = list(range(len(children)))
        marks = [index for index in everything[1:-1] if _fits(children[index].label, ("CC", "CONJP"))]
        if not marks:
            return [everything]
        groups: list[list[int]] = [[]]
        for index in everything:
            if index and _fits(children[index].label, _SEPARATORS):
                groups.append([])
            else:
                groups[-1].append(index)
        kind = self._kind(label, children[marks[-1] + 1 :])
        conjuncts = [group for group in groups if self._kind(label, [children[i] for i in group]) == kind]
        return conjuncts if kind is not None and len(conjuncts) > 1 else [everything]

    def _kind(self, label: str, children: Sequence[_Phrase]) -> str | None:
        """Return whether children make up a noun phrase, a verb phrase or clause, or another phrase."""
        spelt = [child for child in children if not _fits(child.label, (*_SEPARATORS, "``"))]
        if not spelt:
            return None
        head = spelt[self._head(label, spelt)].label
        if _fits(head, _NOUNS):
            return "noun"
        return "verb" if _fits(head, (*_VERBS, *_CLAUSES)) else category(head)[:2]

    def _head(self, label: str, children: Sequence[_Phrase]) -> int:
        """Return the index of the head among children."""
        labels = [child.label for child in children]
        if label in ("NP", "NML") and self._is_name(children):
            return 0
        if label in ("VP", "SQ", "SINV"):
            first = next((index for index, child in enumerate(children) if self._is_be(child)), None)
            verbs = [index for index, name in enumerate(labels) if _fits(name, _VERBS)]
            if first is not None and verbs == [first]:
                rest = [
                    index
                    for index in range(first + 1, len(labels))
                    if _fits(labels[index], _PREDICATES) and not self._is_adjunct(children[index])
                ]
                rest = rest[1:] if label == "SQ" else rest
                if rest:
                    return rest[0]
            auxiliary = (
                self.words[children[verbs[0]].head].lower() in _words("auxiliaries") if verbs else False
            )
            if len(verbs) > 1 and not auxiliary and _fits(labels[verbs[0]], ("VB*",)):
                return verbs[0]
        return universal_heads().find(label, labels)

    def _is_name(self, children: Sequence[_Phrase]) -> bool:
        """Whether children are a person's name: two or three proper nouns, not in capitals."""
        names = [self.words[child.head] for child in children if child.label == "NNP"]
        is_short = len(names) == len(children) and len(names) in (2, 3)
        return (
            is_short and all(name.istitle() for name in names) and names[-1].lower() not in _words("places")
        )

    def _is_adjunct(self, child: _Phrase) -> bool:
        """Whether what follows a form of "be" is unlikely to be its predicate: an adverb."""
        places = ("here", "there", "away", "home")
        return child.label == "ADVP" and self.words[child.head].lower() not in places

    def _is_be(self, child: _Phrase) -> bool:
        return _fits(child.label, ("VB*",)) and self.words[child.head].lower() in _words("be")

    def _is_passive(self, head: _Phrase, before: Sequence[_Phrase]) -> bool:
        if head.passive and not _fits(head.label, ("NP", "PP")):
            return True
        participle = self.tags[head.head] == "VBN" and head.label == "VP"
        return participle and any(self.words[child.head].lower() in _words("passive") for child in before)

    def _repaired(self, parent: _Phrase) -> _Phrase:
        """Handle "there is", questions about a predicate, and the subject of an infinitive."""
        subject = next((child for child in parent.children if child.label == "NP"), None)
        exists = subject is not None and self.tags[subject.head] == "EX"
        if exists and parent.label in ("S", "SQ", "SINV") and parent.copula is not None:
            return self._swapped(parent, parent.copula, "nsubj")
        if parent.label in ("SBAR", "SBARQ") and self._asks_predicate(parent):
            question = next(child for child in parent.children if child.label in ("WHNP", "WHADJP"))
            return self._swapped(parent, question.head, "cop")
        return parent

    def _asks_predicate(self, parent: _Phrase) -> bool:
        has_question = parent.has("WHNP", "WHADJP")
        is_be = self.words[parent.head].lower() in _words("be") and _fits(self.tags[parent.head], ("VB*",))
        clause = parent.children[parent.head_child]
        return has_question and is_be and clause.label in ("S", "SQ") and clause.has("NP")

    def _swapped(self, parent: _Phrase, head: int, relation: str) -> _Phrase:
        """Make another word the head of a phrase, and the head so far its dependent; clause-level dependents move."""
        old = parent.head
        for word, (governor, name) in list(self.arcs.items()):
            moves = name.startswith(("nsubj", "aux", "expl", "mark", "punct", "advmod", "cc", "advcl", "obl"))
            if governor == old and word != head and (relation == "cop" or moves):
                self.arcs[word] = head, name
        self.arcs[old] = head, relation
        self.arcs.pop(head, None)
        return replace(parent, head=head, copula=None)


def _relation(pair: _Pair) -> str:
    for rule in _rules():
        fits = _fits(pair.parent.label, rule.parents) and _fits(pair.child.label, rule.children)
        if fits and all(_CONDITIONS[name](pair, values) == holds for name, holds, values in rule.conditions):
            return rule.relation
    return "dep"


def _upos(word: str, tag: str, relation: str) -> str:
    """Return the universal tag of a word."""
    if tag.startswith("VB"):
        return "AUX" if relation.startswith(("aux", "cop")) else "VERB"
    if tag in ("DT", "WDT"):
        return "DET" if relation.startswith("det") else "PRON"
    if tag in ("IN", "TO"):
        return ("PART" if tag == "TO" else "SCONJ") if relation == "mark" else _UPOS[tag]
    if tag.startswith("RB") and word.lower() in ("not", "n't", "n’t"):
        return "PART"
    return _UPOS.get(tag, "X" if tag[:1].isalpha() and not tag.startswith("-") else "PUNCT")
