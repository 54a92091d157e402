"""Dependencies as constraints on the phrases of a tree: which words a relation makes a phrase, or keeps together.

What each relation demands is data: tables in the format that ``universal.relations``, beside this file, describes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.resources import files

from gramian.chart.constraints import Constraints, Span
from gramian.errors import InputError
from gramian.io.files import Source, open_text
from gramian.parsing.sentences import Constrained
from gramian.trees import Sentence

_TABLES = ("universal", "penn")
_WORDS = ("whole", "after", "before")
_DEMANDS = ("nothing", "uncrossed", "required")
_SUBTYPE = re.compile(r"(?<=.)[-=|:].*")


@dataclass(frozen=True)
class Demand:
    """Whether some words are ``required`` to be a phrase, with a label or with any, or are to be ``uncrossed``."""

    kind: str
    label: str | None = None


@dataclass(frozen=True)
class RelationTable:
    """What relations demand of a tree.

    Attributes
    ----------
    demands : dict of (str, str) to Demand
        By relation (with or without subtype, or ``*``) and by which words are meant: ``whole``, ``after`` or ``before``.
    punctuation : frozenset of str
        Relations of words that are cut off at both ends.
    tags : dict of str to str
        Tags of the dependencies that the treebank calls otherwise.

    Examples
    --------
    >>> table = RelationTable.named("universal")
    >>> table.find("nsubj:pass", "whole")
    Demand(kind='uncrossed', label=None)
    """

    demands: dict[tuple[str, str], Demand] = field(default_factory=dict)
    punctuation: frozenset[str] = frozenset()
    tags: dict[str, str] = field(default_factory=dict)

    @classmethod
    def named(cls, name: str) -> RelationTable:
        """Return the table called ``universal`` or ``penn``, or else that in the file `name`."""
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
        """Read a table from text.

        Examples
        --------
        >>> RelationTable.from_text("nsubj whole required NP").find("nsubj", "whole")
        Demand(kind='required', label='NP')
        """
        demands: dict[tuple[str, str], Demand] = {}
        punctuation: set[str] = set()
        tags: dict[str, str] = {}
        for number, line in enumerate(text.split("\n"), 1):
            match line.split():
                case []:
                    continue
                case [first, *_] if first.startswith("#"):
                    continue
                case ["*", "punctuation", *relations]:
                    punctuation.update(relations)
                case ["*", "tag", tag, another]:
                    tags[tag] = another
                case [relation, words, kind] if words in _WORDS and kind in _DEMANDS:
                    demands[relation, words] = Demand(kind)
                case [relation, words, "required", label] if words in _WORDS:
                    demands[relation, words] = Demand("required", label)
                case _:
                    raise InputError(
                        "this says nothing about a relation",
                        source,
                        number,
                        excerpt=line,
                        hint=f"write lines such as: nsubj whole required NP (one of {', '.join(_WORDS)}, one of {', '.join(_DEMANDS)})",
                    )
        return cls(demands, frozenset(punctuation), tags)

    def find(self, relation: str, words: str) -> Demand | None:
        """Return what a relation demands of ``whole``, ``after`` or ``before``, None for nothing."""
        bare = _SUBTYPE.sub("", relation)
        for name in (relation, bare, "*"):
            demand = self.demands.get((name, words))
            if demand is not None:
                if demand.kind == "nothing":
                    return None
                return Demand(demand.kind, bare) if demand.label == "=" else demand
        return None


def dependency_constraints(sentence: Sentence, table: RelationTable) -> Constrained:
    """Return the words of a dependency tree, their tags, and what its relations demand, for :meth:`gramian.Parser.parse`.

    Words that are no span, one word alone and the whole sentence demand nothing, nor do words that cross others of
    which something is demanded. A tag is the language's own (XPOS), or the universal one where there is none.

    Examples
    --------
    >>> from gramian.trees import HeadRules, Tree, to_dependencies
    >>> tree = Tree.parse("(S (NP (DT the) (NN dog)) (VP (VBZ barks) (PP (IN at) (NP (PRP me)))))")
    >>> known = dependency_constraints(to_dependencies(tree, HeadRules.collins()), RelationTable.named("penn"))
    >>> known.sentence[:2], *map(str, known.constraints.required)
    ([('the', 'DT'), ('dog', 'NN')], 'NP 0-2', 'PP 3-5')
    """
    words: list[str | tuple[str, str]] = []
    for token in sentence.tokens:
        form, tag = token.form.replace(" ", "_"), token.xpos if token.xpos != "_" else token.upos
        words.append(form if tag == "_" else (form, table.tags.get(tag, tag)))
    found: dict[tuple[int, int], set[Demand]] = {}
    for _, _, start, end, demand in demanded(sentence, table):
        found.setdefault((start, end), set()).add(demand)
    spans = [Span(*span) for span in sorted(found)]
    agreeing = [one for one in spans if not any(one.crosses(other) for other in spans)]
    uncrossed, required = [], []
    for span in agreeing:
        demands = found[span.start, span.end]
        named = sorted({demand.label for demand in demands if demand.label is not None})
        if named:
            required += [Span(span.start, span.end, label) for label in named]
        elif any(demand.kind == "required" for demand in demands):
            required.append(span)
        else:
            uncrossed.append(span)
    return Constrained(words, Constraints(tuple(uncrossed), tuple(required)))


def demanded(sentence: Sentence, table: RelationTable) -> Iterator[tuple[str, str, int, int, Demand]]:
    """Go through the words of which something is demanded: relation, which words (``whole``, ...), start, end and demand."""
    heads = sentence.heads
    relations = [token.deprel for token in sentence.tokens]
    is_outer = [relation in table.punctuation for relation in relations]
    wholes = _wholes(heads)
    n_words = len(heads)

    def trimmed(start: int, end: int) -> tuple[int, int] | None:
        while start < end and is_outer[start]:
            start += 1
        while start < end and is_outer[end - 1]:
            end -= 1
        return (start, end) if 1 < end - start < n_words else None

    # Where the words of a head begin that are left when what `after` lines cut off is gone.
    inner = [start for start, _ in wholes]
    first_behind: dict[int, int] = {}
    for word, head in enumerate(heads):
        start, end = wholes[word]
        head -= 1
        if head < 0 or end < 0 or wholes[head][1] < 0:
            continue
        if word < head and (
            is_outer[word] and end <= inner[head] + 1 or table.find(relations[word], "after")
        ):
            inner[head] = max(inner[head], end)
    for word, head in enumerate(heads):
        relation, (start, end) = relations[word], wholes[word]
        if end < 0:
            continue
        head -= 1
        ranges = {"whole": (start, end)}
        if head >= 0 and wholes[head][1] > 0:
            if word < head:
                ranges["after"] = end, wholes[head][1]
            elif inner[head] <= head:
                ranges["before"] = inner[head], start
        for which, span in ranges.items():
            demand = table.find(relation, which)
            cut = trimmed(*span)
            if demand and cut:
                yield relation, which, *cut, demand


def _wholes(heads: tuple[int, ...]) -> list[tuple[int, int]]:
    """Return the span of each word with all that depends on it, ``(-1, -1)`` where these are no span."""
    n_words = len(heads)
    first, last, size = list(range(n_words)), list(range(n_words)), [1] * n_words
    for word in range(n_words):
        above = heads[word] - 1
        while above >= 0:
            first[above], last[above] = min(first[above], word), max(last[above], word)
            size[above] += 1
            above = heads[above] - 1
    return [
        (first[word], last[word] + 1) if last[word] + 1 - first[word] == size[word] else (-1, -1)
        for word in range(n_words)
    ]
