"""Running text as it comes, line by line, to its sentences: no more than a paragraph is held."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gramian.text.sentence_segmenter import PlacedText, SentenceSegmenter

_MOST = 1 << 16  # characters of a paragraph that are held before its sentences are looked for


def sentences_in(
    lines: Iterable[str], splitter: SentenceSegmenter, *, at_once: bool = False
) -> Iterator[PlacedText]:
    r"""Yield the sentences of a text, each with the place where it begins in the whole text.

    Parameters
    ----------
    lines : iterable of str
        With their line ends; long lines may come in pieces.
    splitter : SentenceSegmenter
    at_once : bool
        Whether every line is answered before the next is asked for, as somebody who types would want.

    Examples
    --------
    >>> for sentence in sentences_in(["I came. I saw.\n", "\n", "I conquered.\n"], SentenceSegmenter()):
    ...     print(sentence.start, repr(sentence.text))
    0 'I came.'
    8 'I saw.'
    16 'I conquered.'
    """
    held: list[str] = []
    size = start = 0
    for line in lines:
        if not at_once and line.strip():
            held.append(line)
            size += len(line)
            if size < _MOST:
                continue
            text = "".join(held)
            spans = splitter.split(text)
            kept = spans[-1].start if len(spans) > 1 else len(text)  # the last may go on
            rest = [text[kept:]] if kept < len(text) else []
            text = text[:kept]
        else:
            text, rest = "".join([*held, line]), []
        yield from _placed(text, start, splitter)
        start += len(text)
        held, size = rest, sum(map(len, rest))
    yield from _placed("".join(held), start, splitter)


def _placed(text: str, start: int, splitter: SentenceSegmenter) -> Iterator[PlacedText]:
    for span in splitter.split(text):
        yield PlacedText(text[span.start : span.end], start + span.start)
