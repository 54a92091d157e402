"""Running text as CoNLL-U sentences: words, multiword tokens and spacing, without annotation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from gramian.text.running_text import sentences_in
from gramian.text.text_processor import TextProcessor
from gramian.text.tokenizer import Tokenizer
from gramian.trees import Sentence, Token


def conllu_sentences(lines: Iterable[str], processor: TextProcessor) -> Iterator[Sentence]:
    """Yield the sentences of a text with ``sent_id`` and ``text`` comments; `lines` have their line ends."""
    tokenizer = processor.tokenizer
    assert tokenizer is not None  # learnt from CoNLL-U with spacing
    for number, sentence in enumerate(sentences_in(lines, processor.segmenter), 1):
        yield _sentence(sentence.text, tokenizer, number)


def _sentence(text: str, tokenizer: Tokenizer, number: int) -> Sentence:
    tokens: list[Token] = []
    extras: list[tuple[int, str]] = []
    for (start, end), group in groupby(tokenizer.tokenize(text), lambda token: (token.start, token.end)):
        words = [token.word for token in group]
        misc = "SpaceAfter=No" if end < len(text) and not text[end].isspace() else "_"
        if len(words) > 1:
            first, last = len(tokens) + 1, len(tokens) + len(words)
            extras.append((len(tokens), f"{first}-{last}\t{text[start:end]}" + "\t_" * 7 + f"\t{misc}"))
            misc = "_"
        for word in words:
            tokens.append(Token(len(tokens) + 1, word, misc=misc))
    comments = f"# sent_id = {number}", f"# text = {' '.join(text.split())}"
    return Sentence(tuple(tokens), comments, tuple(extras))
