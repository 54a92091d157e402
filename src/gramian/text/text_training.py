"""Learning to read the text of a treebank: where sentences end and words are cut."""

from __future__ import annotations

import os
from collections.abc import Iterable

from gramian.errors import InputError
from gramian.text.detokenized_trees import WRITINGS, Writing, written_sentences, written_words
from gramian.text.segmenter_training import learn_splitter
from gramian.text.text_processor import TextProcessor
from gramian.text.tokenizer_training import learn_cutter
from gramian.treebank.arrays import TaggedSentence
from gramian.trees import Tree, read_conllu


def learn_habits(
    trees: Iterable[Tree | TaggedSentence], language: str | None, text: str | os.PathLike[str] | None = None
) -> TextProcessor:
    """Learn to read text from the words of trees, and from text whose words are known.

    Parameters
    ----------
    trees : iterable of Tree or TaggedSentence
        In normal form, or their words and tags alone; neighbours are taken for neighbours in a text.
    language : str, optional
        A language whose treebanks have ways of their own, such as ``"fr"``, is written in its own way.
    text : path, optional
        CoNLL-U with ``SpaceAfter=No``, which says how sentences were really written; it is learnt from instead of the trees where
        sentences end, and beside them how words are cut.

    Examples
    --------
    >>> tree = Tree.parse("(S (NP (PRP We)) (VP (VBP do) (RB n't)) (. .))")
    >>> habits = learn_habits([tree] * 20, "en")
    >>> [token.word for token in habits.cutter.cut("We don't.")]
    ['We', 'do', "n't", '.']
    """
    writing = WRITINGS.get(language or "", Writing())
    written = [written_words(tree.words, tree.tags, writing) for tree in trees]
    documents = [[sentence.text for sentence in written]]
    if text is not None:
        documents = []
        sentences = list(read_conllu(text))
        found = list(written_sentences(sentences))
        if not any("SpaceAfter=No" in token.misc for one in sentences for token in one.tokens):
            raise InputError(
                "nothing in it says where no space stood",
                os.fspath(text),
                hint="CoNLL-U with SpaceAfter=No in its last column",
            )
        for sentence, one in zip(sentences, found, strict=True):
            if not documents or any(line.startswith("# newdoc") for line in sentence.comments):
                documents.append([])
            documents[-1].append(one.text)
        written += found
    splitter = learn_splitter(documents, " " if writing.spaces else "")
    return TextProcessor(language, splitter, learn_cutter(written, writing.mark))
