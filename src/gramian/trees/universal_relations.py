"""The table ``english.relations``: relations of Universal Dependencies by labels and conditions, fixed expressions and lists of words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from importlib.resources import files
from typing import NamedTuple

VERBS, CLAUSES = ("VB*", "MD", "VP"), ("S", "SBAR", "SINV", "SQ", "SBARQ")


@lru_cache(1 << 14)
def fits(label: str, patterns: tuple[str, ...]) -> bool:
    """Whether a label, or a word, is one of several; ``*`` stands for any letters."""
    return any(label == pattern or fnmatchcase(label, pattern) for pattern in patterns)


@dataclass(frozen=True, slots=True)
class HeadedPhrase:
    """A phrase with its head word."""

    label: str
    start: int
    end: int
    head: int
    children: tuple[HeadedPhrase, ...] = ()
    head_child: int = 0
    copula: int | None = None  # a form of "be" whose predicate the head is
    passive: bool = False

    def has(self, *patterns: str) -> bool:
        """Whether a child has such a label."""
        return any(fits(child.label, patterns) for child in self.children)


@cache
def _table() -> tuple[list[str], ...]:
    """Return the fields of the lines of the table."""
    text = files("gramian.trees").joinpath("english.relations").read_text("utf-8")
    return tuple([line.split() for line in text.splitlines() if line and not line.startswith("#")])


@cache
def word_list(name: str) -> frozenset[str]:
    """Return a list of words of the table."""
    return frozenset(word for line in _table() if line[:2] == ["words", name] for word in line[2:])


@cache
def fixed_expressions() -> dict[str, list[tuple[str, tuple[str, ...]]]]:
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


class ChildInPhrase(NamedTuple):
    """A child of a phrase, and all that conditions look at."""

    parent: HeadedPhrase
    place: int  # of the child
    words: Sequence[str]
    tags: Sequence[str]

    @property
    def child(self) -> HeadedPhrase:
        """The child."""
        return self.parent.children[self.place]

    @property
    def head(self) -> HeadedPhrase:
        """The child that has the head of the phrase."""
        return _head_of(self.parent)


def _is_time(pair: ChildInPhrase) -> bool:
    word = pair.words[pair.child.head].lower()
    return word in word_list("times") and pair.tags[pair.child.head][0] in "NRC"


def _is_first_object(pair: ChildInPhrase) -> bool:
    """Whether another object follows at once."""
    siblings, index = pair.parent.children, pair.place + 1
    return (
        index < len(siblings) and siblings[index].label == "NP" and not _is_time(pair._replace(place=index))
    )


def _head_of(phrase: HeadedPhrase) -> HeadedPhrase:
    return phrase.children[phrase.head_child] if phrase.children else phrase


def _verb(phrase: HeadedPhrase) -> HeadedPhrase:
    """Return the innermost of nested verb phrases."""
    while phrase.label == "VP" and _head_of(phrase).label == "VP":
        phrase = _head_of(phrase)
    return phrase


def _is_outer(pair: ChildInPhrase) -> bool:
    """Whether the predicate of a clause is a clause after "be", and no free relative."""
    verb = _verb(pair.head)
    is_clause = verb.copula is not None and _head_of(verb).label in CLAUSES
    return is_clause and not pair.tags[verb.head].startswith("W")


def _is_extraposed(pair: ChildInPhrase) -> bool:
    """Whether "it" stands for a clause behind an adjective, or behind a verb such as "seems"."""
    if pair.words[pair.child.start].lower() != "it" or pair.child.end - pair.child.start > 1:
        return False
    verb = _verb(pair.head)
    clauses = [child for child in verb.children if fits(child.label, ("S", "SBAR"))]
    adjective = verb.copula is not None and _head_of(verb).label == "ADJP"
    return bool(clauses) and (adjective or pair.words[verb.head].lower() in word_list("seem"))


def _before_verb(pair: ChildInPhrase) -> bool:
    """Whether the clause beside a question word has a subject."""
    clause = pair.head
    if clause.label == "SBAR":
        return False
    subject = next((index for index, child in enumerate(clause.children) if fits(child.label, ("NP",))), None)
    return subject is not None and (clause.label == "SQ" or subject < max(1, clause.head_child))


_CONDITIONS: dict[str, Callable[[ChildInPhrase, tuple[str, ...]], bool]] = {
    "before": lambda pair, _: pair.place < pair.parent.head_child,
    "after": lambda pair, _: pair.place > pair.parent.head_child,
    "head": lambda pair, labels: fits(pair.head.label, labels),
    "words": lambda pair, labels: fits(pair.tags[pair.child.head], labels),
    "first": lambda pair, words: pair.words[pair.child.start].lower() in words,
    "holds": lambda pair, labels: pair.child.has(*labels),
    "passive": lambda pair, _: pair.parent.passive or pair.head.passive,
    "verbal": lambda pair, _: fits(pair.tags[pair.parent.head], VERBS),
    "participle": lambda pair, _: (
        fits(pair.tags[pair.head.head], ("VBN", "VBD"))
        and not pair.head.passive
        and pair.words[pair.child.head].lower() in word_list("passive")
    ),
    "governor": lambda pair, patterns: fits(pair.words[pair.parent.head].lower(), patterns),
    "finite": lambda pair, _: any(
        fits(tag, ("VBD", "VBZ", "VBP", "MD")) for tag in pair.tags[pair.child.start : pair.child.head + 1]
    ),
    "objects": lambda pair, _: any(
        child.label == "NP" for child in pair.parent.children[pair.parent.head_child : pair.place]
    ),
    "among": lambda pair, lists: pair.words[pair.child.head].lower() in word_list(lists[0]),
    "time": lambda pair, _: _is_time(pair),
    "object": lambda pair, _: _is_first_object(pair),
    "subject": lambda pair, _: _before_verb(pair),
    "copula": lambda pair, _: pair.parent.copula == pair.child.head,
    "outer": lambda pair, _: _is_outer(pair),
    "extraposed": lambda pair, _: _is_extraposed(pair),
    "comma": lambda pair, _: (
        pair.place > 0 and fits(pair.parent.children[pair.place - 1].label, (",", ":", "-LRB-"))
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


def relation_of(pair: ChildInPhrase) -> str:
    """Return the relation of a child to the head of its phrase: that of the first line of the table that fits."""
    for rule in _rules():
        has_labels = fits(pair.parent.label, rule.parents) and fits(pair.child.label, rule.children)
        if has_labels and all(
            _CONDITIONS[name](pair, values) == holds for name, holds, values in rule.conditions
        ):
            return rule.relation
    return "dep"
