"""Statistics of a treebank before training: counts, labels, lengths, and unusual labels with their lines."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from statistics import median

from gramian.trees.conllu import Sentence
from gramian.trees.normalise import EMPTY_TAG, ROOT_LABELS, NormaliseOptions, bare_label
from gramian.trees.projective import is_projective
from gramian.trees.tree import Tree

_SEPARATOR = re.compile(r"(?<=\w)[^\w\s](?=.)")
_UNUSUAL = re.compile(r"[\[\](){}\"\\^@%|,]")
_LETTER = re.compile(r"[^\W\d_]")


@dataclass(slots=True)
class Lengths:
    """How long sentences are, in words."""

    mean: float = 0.0
    median: float = 0.0
    longest: int = 0
    longest_line: int | None = None
    up_to_40: int = 0
    one_word: int = 0


@dataclass(frozen=True, slots=True)
class OddLabel:
    """A label worth a look."""

    label: str
    why: str
    count: int
    line: int | None


@dataclass(slots=True)
class TreebankSurvey:
    """The statistics of a treebank; counts of labels have the most frequent first."""

    trees: int = 0
    words: int = 0  # without empty elements
    phrases: int = 0  # without unlabelled brackets
    outer_brackets: int = 0  # unlabelled ones around trees
    empty_trees: int = 0  # without a word, as parsers write for failures
    empty_elements: int = 0  # leaves tagged EMPTY_TAG
    vocabulary: int = 0  # different words
    seen_once: int = 0
    lengths: Lengths = field(default_factory=Lengths)
    roots: Mapping[str, int] = field(default_factory=dict)  # below an outer bracket or ROOT
    phrase_labels: Mapping[str, int] = field(default_factory=dict)
    tags: Mapping[str, int] = field(default_factory=dict)
    separators: Mapping[str, int] = field(default_factory=dict)  # in labels, with the number of these labels
    unary_phrases: int = 0  # phrases with one child, which is a phrase
    unary_tags: int = 0  # ... a tag
    same_unaries: int = 0  # ... a phrase of the same label
    widest: int = 0  # most children
    highest: int = 0
    repeated: int = 0  # sentences of more than five words that occurred before
    odd_labels: tuple[OddLabel, ...] = ()


@dataclass(slots=True)
class DependencySurvey:
    """The statistics of a dependency treebank; fields are counts of sentences, words or labels."""

    sentences: int = 0
    words: int = 0
    vocabulary: int = 0
    seen_once: int = 0
    lengths: Lengths = field(default_factory=Lengths)
    upos: Mapping[str, int] = field(default_factory=dict)
    xpos: Mapping[str, int] = field(default_factory=dict)
    relations: Mapping[str, int] = field(default_factory=dict)
    several_roots: int = 0
    without_heads: int = 0
    non_projective: int = 0
    first_non_projective: int | None = None
    multiword: int = 0
    empty_nodes: int = 0
    repeated: int = 0


def survey_trees(trees: Iterable[Tree], options: NormaliseOptions = NormaliseOptions()) -> TreebankSurvey:
    """Count what is in a stream of trees; `options` are the conventions of their labels."""
    survey, words_of_trees = TreebankSurvey(), _Words()
    phrase_labels: Counter[str] = Counter()
    tags: Counter[str] = Counter()
    roots: Counter[str] = Counter()
    first_line: dict[str, int | None] = {}
    for tree in trees:
        survey.trees += 1
        root = tree
        while root.label in ROOT_LABELS and len(root.children) == 1:
            root = root.children[0]
        roots[root.label] += 1
        survey.outer_brackets += tree.label == "" and bool(tree.children)
        words = []
        for node in tree.subtrees():
            first_line.setdefault(node.label, tree.line)
            if node.word is None:
                phrase_labels[node.label] += 1
                survey.widest = max(survey.widest, len(node.children))
                if len(node.children) == 1 and node.label not in ROOT_LABELS:
                    [child] = node.children
                    survey.unary_tags += child.word is not None
                    survey.unary_phrases += child.word is None
                    survey.same_unaries += child.word is None and child.label == node.label
                continue
            tags[node.label] += 1
            if node.label != EMPTY_TAG:
                words.append(node.word)
        survey.empty_trees += not words
        survey.highest = max(survey.highest, tree.height)
        words_of_trees.add(words, tree.line)
    words_of_trees.report(survey)
    del phrase_labels[""]
    survey.empty_elements = tags[EMPTY_TAG]
    survey.phrases = phrase_labels.total()
    survey.roots, survey.phrase_labels, survey.tags = map(_by_frequency, (roots, phrase_labels, tags))
    survey.separators = _separators([*survey.phrase_labels, *survey.tags])
    survey.odd_labels = tuple(_odd_labels(survey, first_line, options))
    return survey


def survey_dependencies(sentences: Iterable[Sentence]) -> DependencySurvey:
    """Count what is in a stream of CoNLL-U sentences."""
    survey, words = DependencySurvey(), _Words()
    upos: Counter[str] = Counter()
    xpos: Counter[str] = Counter()
    relations: Counter[str] = Counter()
    for sentence in sentences:
        survey.sentences += 1
        words.add(sentence.words, sentence.line)
        upos.update([token.upos for token in sentence.tokens])
        xpos.update([token.xpos for token in sentence.tokens])
        relations.update([token.deprel for token in sentence.tokens])
        for _, extra in sentence.extras:
            is_range = "-" in extra.split("\t", 1)[0]
            survey.multiword += is_range
            survey.empty_nodes += not is_range
        if sentence.tokens[0].head is None:
            survey.without_heads += 1
            continue
        survey.several_roots += sentence.heads.count(0) > 1
        if not is_projective(sentence.heads):
            survey.non_projective += 1
            survey.first_non_projective = survey.first_non_projective or sentence.line
    words.report(survey)
    survey.upos, survey.xpos, survey.relations = map(_by_frequency, (upos, xpos, relations))
    return survey


def _by_frequency(counts: Counter[str]) -> dict[str, int]:
    return dict(counts.most_common())


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

    def report(self, survey: TreebankSurvey | DependencySurvey) -> None:
        """Fill in the fields that both surveys have."""
        lengths = self._lengths
        survey.words = sum(lengths)
        survey.vocabulary = len(self._vocabulary)
        survey.seen_once = sum(count == 1 for count in self._vocabulary.values())
        survey.repeated = self._repeated
        survey.lengths = Lengths(
            mean=sum(lengths) / len(lengths) if lengths else 0.0,
            median=float(median(lengths)) if lengths else 0.0,
            longest=self._longest[0],
            longest_line=self._longest[1],
            up_to_40=sum(length <= 40 for length in lengths),
            one_word=lengths.count(1),
        )


def _separators(labels: Iterable[str]) -> dict[str, int]:
    inside: Counter[str] = Counter()
    for label in labels:
        if not label.startswith("-"):
            inside.update(set(_SEPARATOR.findall(label)))
    return _by_frequency(inside)


def _odd_labels(
    survey: TreebankSurvey, first_line: Mapping[str, int | None], options: NormaliseOptions
) -> Iterator[OddLabel]:
    """List labels that may be slips, phrases before tags."""
    for labels, kind in ((survey.phrase_labels, "phrase"), (survey.tags, "tag")):
        categories: Counter[str] = Counter()
        bare = {label: bare_label(label, options, phrase=kind == "phrase") for label in labels}
        for label, count in labels.items():
            categories[bare[label]] += count
        for label, count in labels.items():
            if label in ROOT_LABELS or label == EMPTY_TAG:
                continue
            if kind == "phrase" and label in survey.tags:
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
