"""Statistics of a treebank before training: counts, labels, lengths, and unusual labels with their lines."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median
from typing import Any

from gramian.trees.conllu import Sentence
from gramian.trees.normalise import EMPTY_TAG, ROOT_LABELS, NormaliseOptions, bare_label
from gramian.trees.projective import is_projective
from gramian.trees.tree import Tree

_SEPARATOR = re.compile(r"(?<=\w)[^\w\s](?=.)")
_UNUSUAL = re.compile(r"[\[\](){}\"\\^@%|,]")
_LETTER = re.compile(r"[^\W\d_]")


@dataclass(frozen=True, slots=True)
class Lengths:
    """How long sentences are, in words."""

    mean: float
    median: float
    longest: int
    longest_line: int | None
    up_to_40: int
    one_word: int


@dataclass(frozen=True, slots=True)
class OddLabel:
    """A label worth a look."""

    label: str
    why: str
    count: int
    line: int | None


@dataclass(frozen=True, slots=True)
class TreebankSurvey:
    """What :func:`survey_trees` found; counts of labels have the most frequent first."""

    trees: int
    words: int  # without empty elements
    phrases: int  # without unlabelled brackets
    outer_brackets: int  # unlabelled ones around trees
    empty_trees: int  # without a word, as parsers write for failures
    empty_elements: int  # leaves tagged EMPTY_TAG
    vocabulary: int  # different words
    seen_once: int
    lengths: Lengths
    roots: dict[str, int]  # below an outer bracket or ROOT
    phrase_labels: dict[str, int]
    tags: dict[str, int]
    separators: dict[str, int]  # characters inside labels, with the number of different labels that hold them
    unary_phrases: int  # phrases with one child, which is a phrase
    unary_tags: int  # ... a tag
    same_unaries: int  # ... a phrase of the same label
    widest: int  # most children
    highest: int
    repeated: int  # sentences of more than five words that occurred before
    odd_labels: tuple[OddLabel, ...]


@dataclass(frozen=True, slots=True)
class DependencySurvey:
    """What :func:`survey_dependencies` found; fields are counts of sentences, words or labels."""

    sentences: int
    words: int
    vocabulary: int
    seen_once: int
    lengths: Lengths
    upos: dict[str, int]
    xpos: dict[str, int]
    relations: dict[str, int]
    several_roots: int
    without_heads: int
    non_projective: int
    first_non_projective: int | None
    multiword: int
    empty_nodes: int
    repeated: int


def survey_trees(trees: Iterable[Tree], options: NormaliseOptions = NormaliseOptions()) -> TreebankSurvey:
    """Count what is in a stream of trees; `options` are the conventions of their labels."""
    phrase_labels: Counter[str] = Counter()
    tags: Counter[str] = Counter()
    roots: Counter[str] = Counter()
    first_line: dict[str, int | None] = {}
    every = _Words()
    count = outer_brackets = empty_trees = empty_elements = widest = highest = 0
    unary_phrases = unary_tags = same_unaries = 0
    for tree in trees:
        count += 1
        root = tree
        while root.label in ROOT_LABELS and len(root.children) == 1:
            root = root.children[0]
        roots[root.label] += 1
        outer_brackets += tree.label == "" and bool(tree.children)
        words = []
        for node in tree.subtrees():
            label = node.label
            if label not in first_line:
                first_line[label] = tree.line
            if node.word is not None:
                tags[label] += 1
                if label == EMPTY_TAG:
                    empty_elements += 1
                else:
                    words.append(node.word)
                continue
            if label:
                phrase_labels[label] += 1
            children = node.children
            widest = max(widest, len(children))
            if len(children) == 1 and label not in ROOT_LABELS:
                if children[0].word is not None:
                    unary_tags += 1
                else:
                    unary_phrases += 1
                    same_unaries += children[0].label == label
        empty_trees += not words
        highest = max(highest, tree.height)
        every.add(words, tree.line)
    return TreebankSurvey(
        **every.facts(),
        trees=count,
        phrases=sum(phrase_labels.values()),
        outer_brackets=outer_brackets,
        empty_trees=empty_trees,
        empty_elements=empty_elements,
        roots=dict(roots.most_common()),
        phrase_labels=dict(phrase_labels.most_common()),
        tags=dict(tags.most_common()),
        separators=_separators([*phrase_labels, *tags]),
        unary_phrases=unary_phrases,
        unary_tags=unary_tags,
        same_unaries=same_unaries,
        widest=widest,
        highest=highest,
        odd_labels=tuple(_odd_labels(phrase_labels, tags, first_line, options)),
    )


def survey_dependencies(sentences: Iterable[Sentence]) -> DependencySurvey:
    """Count what is in a stream of CoNLL-U sentences."""
    upos: Counter[str] = Counter()
    xpos: Counter[str] = Counter()
    relations: Counter[str] = Counter()
    every = _Words()
    count = several_roots = without_heads = non_projective = multiword = empty_nodes = 0
    first_non_projective: int | None = None
    for sentence in sentences:
        count += 1
        every.add(sentence.words, sentence.line)
        upos.update([token.upos for token in sentence.tokens])
        xpos.update([token.xpos for token in sentence.tokens])
        relations.update([token.deprel for token in sentence.tokens])
        for _, extra in sentence.extras:
            ranged = "-" in extra.split("\t", 1)[0]
            multiword += ranged
            empty_nodes += not ranged
        if sentence.tokens[0].head is None:
            without_heads += 1
            continue
        several_roots += sentence.heads.count(0) > 1
        if not is_projective(sentence.heads):
            non_projective += 1
            first_non_projective = first_non_projective or sentence.line
    return DependencySurvey(
        **every.facts(),
        sentences=count,
        upos=dict(upos.most_common()),
        xpos=dict(xpos.most_common()),
        relations=dict(relations.most_common()),
        several_roots=several_roots,
        without_heads=without_heads,
        non_projective=non_projective,
        first_non_projective=first_non_projective,
        multiword=multiword,
        empty_nodes=empty_nodes,
    )


class _Words:
    """Collects the words of sentences: how many, how different, how long sentences are, and which occurred before."""

    def __init__(self) -> None:
        self._vocabulary: Counter[str] = Counter()
        self._lengths: list[int] = []
        self._longest: tuple[int, int | None] = (0, None)
        self._seen: set[int] = set()
        self._repeated = 0

    def add(self, words: Iterable[str], line: int | None) -> None:
        sentence = tuple(words)
        self._vocabulary.update(sentence)
        self._lengths.append(len(sentence))
        if len(sentence) > self._longest[0]:
            self._longest = len(sentence), line
        if len(sentence) > 5:
            self._repeated += hash(sentence) in self._seen
            self._seen.add(hash(sentence))

    def facts(self) -> dict[str, Any]:
        """Return the fields that both surveys have."""
        lengths = self._lengths
        return {
            "words": sum(lengths),
            "vocabulary": len(self._vocabulary),
            "seen_once": sum(seen == 1 for seen in self._vocabulary.values()),
            "repeated": self._repeated,
            "lengths": Lengths(
                mean=sum(lengths) / len(lengths) if lengths else 0.0,
                median=float(median(lengths)) if lengths else 0.0,
                longest=self._longest[0],
                longest_line=self._longest[1],
                up_to_40=sum(length <= 40 for length in lengths),
                one_word=lengths.count(1),
            ),
        }


def _separators(labels: Iterable[str]) -> dict[str, int]:
    inside: Counter[str] = Counter()
    for label in labels:
        if not label.startswith("-"):
            inside.update(set(_SEPARATOR.findall(label)))
    return dict(inside.most_common())


def _odd_labels(
    phrase_labels: Counter[str],
    tags: Counter[str],
    first_line: dict[str, int | None],
    options: NormaliseOptions,
) -> Iterable[OddLabel]:
    """List labels that may be slips, phrases before tags."""
    for labels, kind in ((phrase_labels, "phrase"), (tags, "tag")):
        categories: Counter[str] = Counter()
        bare = {label: bare_label(label, options, phrase=kind == "phrase") for label in labels}
        for label, count in labels.items():
            categories[bare[label]] += count
        for label, count in labels.most_common():
            if label in ROOT_LABELS or label == EMPTY_TAG:
                continue
            if kind == "phrase" and label in tags:
                why = "both phrase and tag"
            elif kind == "phrase" and not _LETTER.search(label):
                why = "a phrase without a letter in its label"
            elif kind == "phrase" and _UNUSUAL.search(label):
                why = "unusual characters"
            elif categories[bare[label]] == 1:
                why = f"a {kind} seen nowhere else"
            else:
                continue
            yield OddLabel(label, why, count, first_line[label])
