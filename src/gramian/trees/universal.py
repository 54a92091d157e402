"""Universal Dependencies from Penn-style phrases of English.

Heads come from ``english.heads``, relations from ``english.relations``; both are tables that people can read and change. Four
configurations need more than a table: coordination, forms of "be" with a predicate, "there is", and the subject of an infinitive.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from importlib.resources import files
from itertools import takewhile
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
_MARKS = (",", ":", ".", "``", "''", "-LRB-", "-RRB-", "HYPH", "NFP")
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


@cache
def _fixed() -> dict[str, list[tuple[str, tuple[str, ...]]]]:
    """Return the fixed expressions by their first words, the longest first, with their relations."""
    expressions: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
    for line in sorted(_table(), key=len, reverse=True):
        if line[0] == "fixed":
            expressions.setdefault(line[2], []).append((line[1], tuple(line[2:])))
    return expressions


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
        return _head_of(self.parent)


def _is_time(pair: _Pair) -> bool:
    word = pair.words[pair.child.head].lower()
    return word in _words("times") and pair.tags[pair.child.head][0] in "NRC"


def _is_first_object(pair: _Pair) -> bool:
    """Whether another object follows at once."""
    siblings, index = pair.parent.children, pair.place + 1
    return (
        index < len(siblings) and siblings[index].label == "NP" and not _is_time(pair._replace(place=index))
    )


def _head_of(phrase: _Phrase) -> _Phrase:
    return phrase.children[phrase.head_child] if phrase.children else phrase


def _verb(phrase: _Phrase) -> _Phrase:
    """Return the innermost of nested verb phrases."""
    while phrase.label == "VP" and _head_of(phrase).label == "VP":
        phrase = _head_of(phrase)
    return phrase


def _is_outer(pair: _Pair) -> bool:
    """Whether the predicate of a clause is a clause after "be", and no free relative."""
    verb = _verb(pair.head)
    is_clause = verb.copula is not None and _head_of(verb).label in _CLAUSES
    return is_clause and not pair.tags[verb.head].startswith("W")


def _is_extraposed(pair: _Pair) -> bool:
    """Whether "it" stands for a clause behind an adjective, or behind a verb such as "seems"."""
    if pair.words[pair.child.start].lower() != "it" or pair.child.end - pair.child.start > 1:
        return False
    verb = _verb(pair.head)
    clauses = [child for child in verb.children if _fits(child.label, ("S", "SBAR"))]
    adjective = verb.copula is not None and _head_of(verb).label == "ADJP"
    return bool(clauses) and (adjective or pair.words[verb.head].lower() in _words("seem"))


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
    "governor": lambda pair, patterns: _fits(pair.words[pair.parent.head].lower(), patterns),
    "finite": lambda pair, _: any(
        _fits(tag, ("VBD", "VBZ", "VBP", "MD")) for tag in pair.tags[pair.child.start : pair.child.head + 1]
    ),
    "objects": lambda pair, _: any(
        child.label == "NP" for child in pair.parent.children[pair.parent.head_child : pair.place]
    ),
    "among": lambda pair, lists: pair.words[pair.child.head].lower() in _words(lists[0]),
    "time": lambda pair, _: _is_time(pair),
    "object": lambda pair, _: _is_first_object(pair),
    "subject": lambda pair, _: _before_verb(pair),
    "copula": lambda pair, _: pair.parent.copula == pair.child.head,
    "outer": lambda pair, _: _is_outer(pair),
    "extraposed": lambda pair, _: _is_extraposed(pair),
    "comma": lambda pair, _: (
        pair.place > 0 and _fits(pair.parent.children[pair.place - 1].label, (",", ":", "-LRB-"))
    ),
    "nested": lambda pair, _: pair.child.label == "NP" and pair.child.has("NP"),
}


@cache
def _rules() -> tuple[_Rule, ...]:
    rules = []
    for relation, parents, children, *conditions in _table():
        if relation in ("words", "fixed"):
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
        self._join_fixed()
        self._attach_marks()
        tokens = []
        for number, (word, tag) in enumerate(zip(self.words, self.tags, strict=True)):
            head, relation = self.arcs.get(number, (-1, "root"))
            upos = _upos(word, tag, relation)
            tokens.append(Token(number + 1, word, upos=upos, xpos=tag, head=head + 1, deprel=relation))
        return Sentence(tuple(tokens), line=line)

    def _phrase(self, label: str, children: tuple[_Phrase, ...]) -> _Phrase:
        """Return a phrase, and add the arcs between its children."""
        if label == "PP" or (label in ("VP", "SQ") and any(map(self._is_be, children))):
            children = tuple([self._free_relative(child) for child in children])
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
                    relation = "punct" if _fits(children[index].label, _MARKS) else "cc"
                    self.arcs[children[index].head] = children[following].head, relation
                else:
                    self._attach(parent, index)
        return self._repaired(parent)

    def _attach(self, parent: _Phrase, index: int) -> None:
        pair = _Pair(parent, index, self.words, self.tags)
        relation = _relation(pair)
        self.arcs[pair.child.head] = parent.head, relation
        if relation == "xcomp" and pair.child.label == "S":  # its subject is the object of the verb above
            for word in range(pair.child.start, pair.child.head):
                if self.arcs.get(word) in ((pair.child.head, "nsubj"), (pair.child.head, "nsubj:pass")):
                    self.arcs[word] = parent.head, "obj"

    def _free_relative(self, clause: _Phrase) -> _Phrase:
        """Make the question word the head of a clause that stands for a noun phrase, as in "this is what I saw"."""
        question = clause.children[0] if clause.label == "SBAR" and clause.children else clause
        if question.label != "WHNP" or self.words[question.head].lower() not in _words("relative"):
            return clause
        if clause.head == question.head:
            return clause
        self.arcs[clause.head] = question.head, "acl:relcl"
        self.arcs.pop(question.head, None)
        return replace(clause, head=question.head, copula=None, passive=False)

    def _join_fixed(self) -> None:
        """Make the first word of an expression such as "as well as" its head."""
        lower = [word.lower() for word in self.words]
        for first, word in enumerate(lower):
            for relation, expression in _fixed().get(word, ()):
                members = range(first, first + len(expression))
                if tuple(lower[first : members.stop]) != expression:
                    continue
                outside = [member for member in members if self._governor(member) not in members]
                if not outside or any(member not in self.arcs for member in members):
                    continue
                above, (governor, kept) = self._governor(outside[0]), self.arcs[outside[-1]]
                if self._governor(governor) in members and above == governor:
                    continue
                for dependent, (head, name) in list(self.arcs.items()):
                    if head in members and dependent not in members:
                        self.arcs[dependent] = above if dependent == governor else governor, name
                for member in members:
                    self.arcs[member] = (
                        (first, "fixed")
                        if member > first
                        else (governor, kept if relation == "*" else relation)
                    )
                break

    def _attach_marks(self) -> None:
        """Attach each mark to the highest word beside it whose phrase does not reach over the mark, marks in pairs to what they enclose."""
        marks = {word for word, (_, relation) in self.arcs.items() if relation == "punct"}
        words = [word for word in range(len(self.words)) if word not in marks]
        pairs = self._paired(marks)
        for mark in marks if words else ():
            left = next((word for word in reversed(words) if word < mark), None)
            right = next((word for word in words if word > mark), None)
            first, last = sorted((mark, pairs.get(mark, mark)))
            inside = [word for word in words if first < word < last]
            if inside:
                governor = self._highest(inside[0], first, last)
            elif left is None or right is None:
                governor = next(word for word in words if word not in self.arcs)
            elif self.tags[mark] == "HYPH" or self.words[mark] == "/":
                governor = left
            else:
                before, after = self._highest(left, -1, mark), self._highest(right, mark, len(self.words))
                governor = after if 0 <= self._governor(after) < mark else before
            self.arcs[mark] = governor, "punct"

    def _paired(self, marks: Collection[int]) -> dict[int, int]:
        """Return the partner of each bracket and quotation mark."""
        pairs, opened = {}, dict[str, list[int]]()
        for mark in sorted(marks):
            tag = self.tags[mark]
            if tag in ("``", "-LRB-"):
                opened.setdefault(tag, []).append(mark)
            elif before := opened.get({"''": "``", "-RRB-": "-LRB-"}.get(tag, "")):
                pairs[mark] = before.pop()
                pairs[pairs[mark]] = mark
        return pairs

    def _governor(self, word: int) -> int:
        return self.arcs.get(word, (-1, ""))[0]

    def _highest(self, word: int, first: int, last: int) -> int:
        """Return the highest word above a word between two places."""
        while first < self._governor(word) < last:
            word = self._governor(word)
        return word

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
        if label in ("NP", "NML"):
            titles = self._titles(children)
            if self._is_name(children[titles:]):
                return titles
        if labels[-2:] in (["CD", "NN"], ["CD", "NNP"], ["CD", "RB"]) and self.words[
            children[-1].head
        ].lower() in _words("hours"):
            return len(labels) - 2
        if label in ("VP", "SQ", "SINV"):
            first = next((index for index, child in enumerate(children) if self._is_be(child)), None)
            verbs = [index for index, name in enumerate(labels) if _fits(name, _VERBS)]
            if first is not None and verbs == [first]:
                rest = [
                    index
                    for index in range(first + 1, len(labels))
                    if _fits(labels[index], _PREDICATES)
                    and (
                        labels[index] != "ADVP"
                        or self.words[children[index].head].lower() in _words("predicates")
                    )
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

    def _titles(self, children: Sequence[_Phrase]) -> int:
        """Return how many words before a name are titles."""
        names = list(takewhile(lambda child: self.words[child.head].lower() in _words("titles"), children))
        following = children[len(names) :]
        return len(names) if following and following[0].label == "NNP" else 0

    def _is_name(self, children: Sequence[_Phrase]) -> bool:
        """Whether children are a person's name: two or three proper nouns, not in capitals."""
        names = [self.words[child.head] for child in children if child.label == "NNP"]
        is_short = len(names) == sum(child.label != "POS" for child in children) and len(names) in (2, 3)
        return (
            is_short and all(name.istitle() for name in names) and names[-1].lower() not in _words("places")
        )

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
            if parent.copula is not None:
                self.arcs[parent.copula] = question.head, "cop"
                return self._swapped(parent, question.head, "nsubj")
            return self._swapped(parent, question.head, "cop")
        return parent

    def _asks_predicate(self, parent: _Phrase) -> bool:
        has_question = parent.has("WHNP", "WHADJP")
        is_be = self.words[parent.head].lower() in _words("be") and _fits(self.tags[parent.head], ("VB*",))
        clause = parent.children[parent.head_child]
        if parent.label == "SBARQ" and clause.label == "SQ" and clause.copula is not None:
            return (
                has_question and _fits(self.tags[parent.head], ("NN*", "PRP", "DT")) and not clause.has("NP")
            )
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
