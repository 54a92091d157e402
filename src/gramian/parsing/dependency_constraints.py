"""Dependencies as constraints on the phrases of a tree: which words a relation makes a phrase, or keeps together.

What each relation demands is data: tables in the format that ``universal.relations``, beside this file, describes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import NamedTuple

from gramian.chart.constraints import Constraints, Span
from gramian.errors import InputError
from gramian.io.reading import Source, open_text
from gramian.parsing.sentences import ParseRequest
from gramian.trees import Sentence
from gramian.trees.labels import category

_TABLES = ("universal", "french", "phrases")
_WORDS = ("whole", "after", "before")
_DEMANDS = ("nothing", "uncrossed", "required")
_SETS = ("punctuation", "coordination", "ends", "copulas")
_PAIRS = (("(", ")"), ("[", "]"), ("“", "”"), ("«", "»"), ("``", "''"))
_NO_SPAN = (0, 0)


@dataclass(frozen=True)
class Demand:
    """Whether some words are ``required`` to be a phrase, with a label or with any, or are to be ``uncrossed``."""

    kind: str
    label: str | None = None


@dataclass(frozen=True)
class RelationTable:
    """What relations demand of a tree."""

    #: by relation (with or without subtype, or ``*``) and by which words are meant: ``whole``, ``after`` or ``before``
    demands: dict[tuple[str, str], Demand] = field(default_factory=dict)
    #: punctuation, coordination, ends, copulas: relations with a part in which words are meant; ``universal.relations`` says which
    punctuation: frozenset[str] = frozenset()
    coordination: frozenset[str] = frozenset()
    ends: frozenset[str] = frozenset()
    copulas: frozenset[str] = frozenset()
    #: tags of the dependencies that the treebank calls otherwise
    tags: dict[str, str] = field(default_factory=dict)
    joined: bool = False  #: whether words of a multiword range (``3-4 du``) are one word of the treebank

    @classmethod
    def named(cls, name: str) -> RelationTable:
        """Return the table called ``universal``, ``french`` or ``phrases``, or else that in the file `name`."""
        if name in _TABLES:
            text = files("gramian.parsing").joinpath(f"{name}.relations").read_text("utf-8")
            return cls.from_text(text, f"{name}.relations")
        return cls.read(name)

    @classmethod
    def read(cls, source: Source) -> RelationTable:
        """Read a table from a file."""
        with open_text(source) as lines:
            return cls.from_text("".join(lines), lines.name)

    @classmethod
    def from_text(cls, text: str, source: str = "<string>") -> RelationTable:
        """Read a table from text."""
        demands: dict[tuple[str, str], Demand] = {}
        sets: dict[str, frozenset[str]] = {}
        tags: dict[str, str] = {}
        joined = False
        for number, line in enumerate(text.split("\n"), 1):
            match line.split():
                case []:
                    continue
                case [first, *_] if first.startswith("#"):
                    continue
                case ["*", name, *relations] if name in _SETS:
                    sets[name] = frozenset(relations)
                case ["*", "tag", tag, another]:
                    tags[tag] = another
                case ["*", "ranges", "joined"]:
                    joined = True
                case [relation, words, kind] if words in _WORDS and kind in _DEMANDS:
                    demands[relation, words] = Demand(kind)
                case [relation, words, "required", label] if words in _WORDS:
                    demands[relation, words] = Demand("required", label)
                case _:
                    raise InputError(
                        "this line does not describe a relation",
                        source,
                        number,
                        excerpt=line,
                        hint=f"write lines such as: nsubj whole required NP (one of {', '.join(_WORDS)}, one of {', '.join(_DEMANDS)})",
                    )
        return cls(demands, tags=tags, joined=joined, **sets)

    def find(self, relation: str, words: str) -> Demand | None:
        """Return what a relation demands of ``whole``, ``after`` or ``before``, None for nothing."""
        bare = category(relation)
        bare = bare.partition(":")[0] or bare  # nsubj:pass
        for name in (relation, bare, "*"):
            demand = self.demands.get((name, words))
            if demand is not None:
                if demand.kind == "nothing":
                    return None
                return Demand(demand.kind, bare) if demand.label == "=" else demand
        return None


def dependency_constraints(sentence: Sentence, table: RelationTable) -> ParseRequest:
    """Return the words of a dependency tree, their tags, and what its relations demand, for :meth:`gramian.Parser.parse`.

    Words that are no span, one word alone and the whole sentence demand nothing, nor do words that cross others of
    which something is demanded. A tag is the language's own (XPOS), or the universal one where there is none.

    Examples
    --------
    >>> from gramian.trees import HeadRules, Tree, to_dependencies
    >>> tree = Tree.parse("(S (NP (DT the) (NN dog)) (VP (VBZ barks) (PP (IN at) (NP (PRP me)))))")
    >>> known = dependency_constraints(to_dependencies(tree, HeadRules.collins()), RelationTable.named("phrases"))
    >>> known.sentence[:2], *map(str, known.constraints.required)
    ([('the', 'DT'), ('dog', 'NN')], 'NP 0-2', 'PP 3-5')
    """
    if table.joined:
        sentence = sentence.surface()
    words: list[str | tuple[str, str]] = []
    for token in sentence.tokens:
        form, tag = token.form.replace(" ", "_"), token.xpos if token.xpos != "_" else token.upos
        words.append(form if tag == "_" else (form, table.tags.get(tag, tag)))
    by_span: dict[tuple[int, int], set[Demand]] = {}
    for item in demanded(sentence, table):
        by_span.setdefault((item.start, item.end), set()).add(item.demand)
    spans = [Span(*span) for span in sorted(by_span)]
    agreeing = [item for item in spans if not any(item.crosses(other) for other in spans)]
    uncrossed, required = [], []
    for span in agreeing:
        demands = by_span[span.start, span.end]
        named = sorted({demand.label for demand in demands if demand.label is not None})
        if named:
            required += [Span(span.start, span.end, label) for label in named]
        elif any(demand.kind == "required" for demand in demands):
            required.append(span)
        else:
            uncrossed.append(span)
    return ParseRequest(words, Constraints(tuple(uncrossed), tuple(required)))


class Demanded(NamedTuple):
    """The words ``start .. end - 1``, what is demanded of them, and why: a relation and which words of it."""

    start: int
    end: int
    demand: Demand
    relation: str
    words: str


def demanded(sentence: Sentence, table: RelationTable) -> Iterator[Demanded]:
    """Go through the words of which something is demanded."""
    relations = [token.deprel for token in sentence.tokens]
    for start, end, word, words in _groups(sentence, relations, table):
        while start < end and relations[start] in table.punctuation:
            start += 1
        while start < end and relations[end - 1] in table.punctuation:
            end -= 1
        demand = table.find(relations[word], words)
        if demand is not None and 1 < end - start < len(sentence):
            if demand.kind == "required" and not _is_balanced(sentence.words[start:end]):
                demand = Demand("uncrossed")  # the other half was cut off
            yield Demanded(start, end, demand, relations[word], words)


def _groups(
    sentence: Sentence, relations: list[str], table: RelationTable
) -> Iterator[tuple[int, int, int, str]]:
    """Go through the groups of words that lines may speak of: start, end, the word with the relation, and which words they are."""
    wholes = _wholes(sentence.heads)
    left: list[list[int]] = [[] for _ in wholes]  # of each word, what depends on it and stands before it
    right: list[list[int]] = [[] for _ in wholes]  # and behind it
    for word, head in enumerate(sentence.heads):
        if head and wholes[word] != _NO_SPAN:
            (left if word < head - 1 else right)[head - 1].append(word)
    peeled = [[word for word in words if table.find(relations[word], "after")] for words in left]

    def is_clause(word: int) -> bool:
        """Whether nothing that stands before a conjunct is shared with what it is coordinated with."""
        return any(relations[other] not in table.coordination for other in peeled[word])

    for head, (start, end) in enumerate(wholes):
        if start == end:
            continue
        yield start, end, head, "whole"
        for word in right[head]:
            if relations[word] in table.ends or (relations[word] in table.coordination and is_clause(word)):
                end, _ = wholes[word]
                break
        has_copula = False
        for word in peeled[head]:
            _, start = wholes[word]
            if not has_copula:
                yield start, end, word, "after"
            has_copula |= relations[word] in table.copulas
        for word in right[head]:
            if table.find(relations[word], "before"):
                yield start, wholes[word][0], word, "before"
                break


def _is_balanced(words: Sequence[str]) -> bool:
    """Whether quotation marks and brackets have both halves."""
    text = "".join(words)
    return text.count('"') % 2 == 0 and all(
        text.count(opening) == text.count(other) for opening, other in _PAIRS
    )


def _wholes(heads: Sequence[int]) -> list[tuple[int, int]]:
    """Return the span of each word with all that depends on it, an empty one where these are no span."""
    first, last, size = list(range(len(heads))), list(range(len(heads))), [1] * len(heads)
    for word, head in enumerate(heads):
        while head:
            above = head - 1
            first[above], last[above] = min(first[above], word), max(last[above], word)
            size[above] += 1
            head = heads[above]
    return [
        (start, end + 1) if end + 1 - start == n_words else _NO_SPAN
        for start, end, n_words in zip(first, last, size, strict=True)
    ]
