"""Learn segmentation and tokenization from the sentences of a treebank."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from gramian.errors import InputError
from gramian.text.detokenizer import ORTHOGRAPHIES, Orthography, detokenize, detokenize_conllu
from gramian.text.feature_training import learn_scores
from gramian.text.sentence_segmenter import SentenceSegmenter, gaps
from gramian.text.text_processor import TextProcessor
from gramian.text.tokenizer_training import TokenizedText, learn_tokenizer
from gramian.treebank.arrays import TaggedSentence
from gramian.trees import Sentence, Tree, read_conllu


def learn_text_processor(
    trees: Iterable[Tree | TaggedSentence], language: str | None, text: str | os.PathLike[str] | None = None
) -> TextProcessor:
    """Learn a text processor from the words of trees in normal form, in the order of a text, and from text whose tokens are known.

    The ISO 639 code of the language selects the orthography of the treebank. `text` is CoNLL-U with ``SpaceAfter=No``, the original
    spacing: the segmenter is learnt from it instead of the trees, the tokenizer from both.

    Examples
    --------
    >>> tree = Tree.parse("(S (NP (PRP We)) (VP (VBP do) (RB n't)) (. .))")
    >>> processor = learn_text_processor([tree] * 20, "en")
    >>> [token.word for token in processor.tokenizer.tokenize("We don't.")]
    ['We', 'do', "n't", '.']
    """
    orthography = ORTHOGRAPHIES.get(language or "", Orthography())
    tokenized = [detokenize(tree.words, tree.tags, orthography) for tree in trees]
    documents = [[sentence.text for sentence in tokenized]]
    if text is not None:
        sentences = list(read_conllu(text))
        if not _has_spacing(sentences):
            raise InputError(
                "no token has SpaceAfter=No",
                os.fspath(text),
                hint="name CoNLL-U with SpaceAfter=No in its last column",
            )
        documents, spaced = _documents(sentences)
        tokenized += spaced
    segmenter = learn_segmenter(documents, " " if orthography.spaces else "")
    return TextProcessor(language, segmenter, learn_tokenizer(tokenized, orthography.boundary_mark))


def learn_conllu_processor(sentences: Sequence[Sentence]) -> TextProcessor:
    """Learn a text processor from CoNLL-U sentences in the order of a text; spaces are set by rule if no token has ``SpaceAfter=No``.

    Examples
    --------
    >>> from gramian.trees import Token
    >>> tokens = Token(1, "No", misc="SpaceAfter=No"), Token(2, "!")
    >>> processor = learn_conllu_processor([Sentence(tokens)] * 20)
    >>> [token.word for token in processor.tokenizer.tokenize("No!")]
    ['No', '!']
    """
    if _has_spacing(sentences):
        documents, tokenized = _documents(sentences)
    else:
        tags = [[token.xpos for token in sentence.tokens] for sentence in sentences]
        tokenized = [detokenize(s.words, row, Orthography()) for s, row in zip(sentences, tags, strict=True)]
        documents = [[sentence.text for sentence in tokenized]]
    return TextProcessor(None, learn_segmenter(documents), learn_tokenizer(tokenized))


def _has_spacing(sentences: Sequence[Sentence]) -> bool:
    return any("SpaceAfter=No" in token.misc for sentence in sentences for token in sentence.tokens)


def _documents(sentences: Sequence[Sentence]) -> tuple[list[list[str]], list[TokenizedText]]:
    """Return the texts of the sentences of each document, and all sentences with their tokens."""
    documents: list[list[str]] = []
    tokenized = list(detokenize_conllu(sentences))
    for sentence, tokenized_sentence in zip(sentences, tokenized, strict=True):
        if not documents or any(line.startswith("# newdoc") for line in sentence.comments):
            documents.append([])
        documents[-1].append(tokenized_sentence.text)
    return documents, tokenized


def learn_segmenter(documents: Iterable[Sequence[str]], space: str = " ") -> SentenceSegmenter:
    """Learn sentence segmentation from documents, each a list of sentences in order, which are separated by `space`.

    Examples
    --------
    >>> text = ["We met Dr. Lee.", "She smiled.", "He saw Dr. Fox."] * 20
    >>> segmenter = learn_segmenter([text])
    >>> [span.end for span in segmenter.segment("I saw Dr. Lee. She ran.")]
    [14, 23]
    """

    def examples() -> Iterator[tuple[tuple[str, ...], bool, int]]:
        for sentences in documents:
            text = space.join(sentences)
            ends = set(np.cumsum([len(sentence) + len(space) for sentence in sentences]) - len(space))
            for gap in gaps(text):
                yield gap.features, gap.end in ends, 1

    return SentenceSegmenter(learn_scores(examples()))
