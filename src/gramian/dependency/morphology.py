"""Morphological tagging: UPOS, XPOS, FEATS and LEMMA of the words of a sentence, learnt from a treebank.

One classifier predicts the three tags together, since they constrain each other; its classes are the combinations of the treebank, and
the parts of a class are the tags, each feature, and the whole combination. A second one chooses the edit rule of the lemma.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from gramian.dependency.arc_tokens import feature_values
from gramian.dependency.lemma_rules import apply_rule, is_rule, lemma_rule
from gramian.dependency.word_classifier import (
    CONTEXT,
    CONTEXT_AND_STEMS,
    ISOLATED,
    WordClassifier,
    fit_word_classifier,
)
from gramian.trees import Sentence, Token

_is_tag = re.compile(r"[^\t\n\r]+\t[^\t\n\r]+\t[^\t\n\r]+").fullmatch
_EPOCHS = 5
_LEMMA_EPOCHS = 3
_FOLDS = 4
_WHOLE = 3  # combinations of tags that occur less often have no weights of their own


@dataclass(frozen=True, eq=False, repr=False)
class MorphologicalTagger:
    """Predicts tags, features and lemmas."""

    tags: tuple[str, ...]  #: UPOS, XPOS and FEATS of each class, separated by tabs
    rules: tuple[str, ...]  #: edit rules of lemmas
    tagger: WordClassifier
    lemmatiser: WordClassifier
    has_stems: bool = False  #: whether the tagger reads stems; those of old model files do not

    def __post_init__(self) -> None:
        if not all(map(_is_tag, self.tags)) or not all(map(is_rule, self.rules)):
            raise ValueError("invalid model file: broken tags or rules of lemmas")
        if (len(self.tags), len(self.rules)) != (len(self.tagger.parts), len(self.lemmatiser.parts)):
            raise ValueError("invalid model file: inconsistent word classes")

    def tag(self, sentence: Sentence) -> Sentence:
        """Return the sentence with predicted UPOS, XPOS, FEATS and LEMMA."""
        if not len(sentence):
            return sentence
        forms = sentence.words
        context = CONTEXT_AND_STEMS if self.has_stems else CONTEXT
        tags = [self.tags[number] for number in self.tagger.classify([(form, "") for form in forms], context)]
        rules = self.lemmatiser.classify(list(zip(forms, tags, strict=True)), ISOLATED)
        tokens = []
        for token, tag, rule in zip(sentence.tokens, tags, rules, strict=True):
            lemma = apply_rule(self.rules[rule], token.form)
            upos, xpos, feats = tag.split("\t")
            arc = token.head, token.deprel, token.deps, token.misc  # replace() would take four times as long
            tokens.append(Token(token.id, token.form, lemma, upos, xpos, feats, *arc))
        return replace(sentence, tokens=tuple(tokens))


def fit_morphological_tagger(sentences: Sequence[Sentence], *, random_state: int = 0) -> MorphologicalTagger:
    """Train a tagger and a lemmatiser."""
    counts = Counter(_tag(token) for sentence in sentences for token in sentence.tokens)
    tags = sorted(counts)
    number_of = {tag: number for number, tag in enumerate(tags)}
    rule_of = [[lemma_rule(token.form, _lemma(token)) for token in sentence.tokens] for sentence in sentences]
    rules = sorted({rule for row in rule_of for rule in row})
    number_of_rule = {rule: number for number, rule in enumerate(rules)}
    words = [[(token.form, "") for token in sentence.tokens] for sentence in sentences]
    tagged = [[(token.form, _tag(token)) for token in sentence.tokens] for sentence in sentences]
    tagger = fit_word_classifier(
        words,
        [[number_of[_tag(token)] for token in sentence.tokens] for sentence in sentences],
        [_parts(tag, counts[tag]) for tag in tags],
        CONTEXT_AND_STEMS,
        max_iter=_EPOCHS,
        random_state=random_state,
    )
    lemmatiser = fit_word_classifier(
        tagged,
        [[number_of_rule[rule] for rule in row] for row in rule_of],
        [(rule,) for rule in rules],
        ISOLATED,
        max_iter=_LEMMA_EPOCHS,
        random_state=random_state,
    )
    return MorphologicalTagger(tuple(tags), tuple(rules), tagger, lemmatiser, has_stems=True)


def tag_held_out_sentences(sentences: Sequence[Sentence], *, random_state: int = 0) -> list[Sentence]:
    """Return the sentences tagged by taggers that have not seen them (cross-fitting), as a parser will see new ones."""
    folds = min(_FOLDS, len(sentences))
    if folds < 2:
        return list(sentences)
    bounds = [len(sentences) * fold // folds for fold in range(folds + 1)]
    tagged: list[Sentence] = []
    for start, end in pairwise(bounds):
        seen = [*sentences[:start], *sentences[end:]]
        tagger = fit_morphological_tagger(seen, random_state=random_state)
        tagged += map(tagger.tag, sentences[start:end])
    return tagged


def _tag(token: Token) -> str:
    return f"{token.upos}\t{token.xpos}\t{token.feats}"


def _lemma(token: Token) -> str:
    return token.form if token.lemma == "_" else token.lemma


def _parts(tag: str, count: int) -> tuple[str, ...]:
    """Return the parts of a combination of tags, the part of speech first."""
    upos, xpos, feats = tag.split("\t")
    features = [f"{name}={value}" for name, value in feature_values(feats).items()]
    whole = (tag,) if count >= _WHOLE else ()
    return (upos, f"{upos} {xpos}", *features, *whole)
