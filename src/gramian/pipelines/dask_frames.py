"""Texts that lie in a Dask bag, or in a data frame of Dask or pandas already: parsed where they are, partition by partition."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache, partial
from itertools import tee
from typing import Any

from gramian.errors import OptionError
from gramian.parsing.parser import Parser, load
from gramian.pipelines.shard_reading import CorpusSentence
from gramian.pipelines.shard_writing import as_record
from gramian.text.running_text import sentences_in

_COLUMNS = {"tree": "object", "status": "object", "confidence": "float64", "log_prob": "float64"}


@lru_cache(maxsize=2)
def _parser(model: str | None, options: tuple[tuple[str, Any], ...]) -> Parser:
    """Return a parser, loaded once in every process."""
    return load(model, **dict(options))


def parse_bag(bag: Any, model: str | None = None, **options: Any) -> Any:
    """Parse the texts of a Dask bag.

    Parameters
    ----------
    bag : dask.bag.Bag
        Of texts, each a document; of dicts with a ``"text"`` and perhaps an ``"id"``; or of lists of words, each a sentence.
    model : str, optional
        A model file that all workers see, or a language; without it, the English model that comes with gramian.
    **options
        Options of :class:`gramian.Parser`.

    Returns
    -------
    dask.bag.Bag
        Of dicts, one for every sentence, as ``gramian parse --to jsonl`` writes them; nothing is parsed before they are asked for.

    Examples
    --------
    >>> import dask.bag
    >>> bag = dask.bag.from_sequence([{"id": "a", "text": "I came. I saw."}], npartitions=1)
    >>> for one in parse_bag(bag).compute(scheduler="synchronous"):
    ...     print(one["document"], one["sentence"], one["tree"])
    a 0 (S (NP (PRP I)) (VP (VBD came)) (. .))
    a 8 (S (NP (PRP I)) (VP (VBD saw)) (. .))
    """
    return bag.map_partitions(partial(_parsed, model=model, options=tuple(sorted(options.items()))))


def _parsed(
    documents: Iterable[Any], model: str | None, options: tuple[tuple[str, Any], ...]
) -> Iterator[dict[str, Any]]:
    parser = _parser(model, options)
    sentences, read = tee(_sentences(documents, parser))
    results = parser.parse_many((one.sentence for one in read), ahead=True)
    yield from map(as_record, sentences, results)


def _sentences(documents: Iterable[Any], parser: Parser) -> Iterator[CorpusSentence]:
    for number, document in enumerate(documents, 1):
        name, text = str(number), document
        if isinstance(document, dict):
            name, text = str(document.get("id", number)), document.get("text")
        if isinstance(text, str):
            for sentence in sentences_in([text], parser.segmenter):
                yield CorpusSentence(name, sentence.start, sentence)
        elif isinstance(text, list | tuple):
            yield CorpusSentence(name, 1, text)
        else:
            raise OptionError(
                f"a document must be a text, words, or a dict with a 'text', got {type(text).__name__}"
            )


def parse_frame(frame: Any, text: str = "text", model: str | None = None, **options: Any) -> Any:
    """Parse a column of sentences of a data frame.

    Parameters
    ----------
    frame : pandas.DataFrame or dask.dataframe.DataFrame
    text : str
        The column; each of its texts is taken for one sentence.
    model, **options
        As for :func:`parse_bag`.

    Returns
    -------
    pandas.DataFrame or dask.dataframe.DataFrame
        The frame with four columns more: ``tree``, ``status``, ``confidence`` (of the phrase that is least sure) and ``log_prob``.

    Examples
    --------
    >>> import pandas
    >>> parse_frame(pandas.DataFrame({"text": ["I came."]}))["tree"][0]
    '(S (NP (PRP I)) (VP (VBD came)) (. .))'
    """
    if text not in frame.columns:
        raise OptionError(f"there is no column {text!r} among {', '.join(map(str, frame.columns))}")
    work = partial(_with_trees, text=text, model=model, options=tuple(sorted(options.items())))
    if hasattr(frame, "map_partitions"):
        return frame.map_partitions(work, meta=frame._meta.assign(**_empty(frame._meta)))
    return work(frame)


def _empty(meta: Any) -> dict[str, Any]:
    import pandas

    return {name: pandas.Series(dtype=kind, index=meta.index) for name, kind in _COLUMNS.items()}


def _with_trees(frame: Any, text: str, model: str | None, options: tuple[tuple[str, Any], ...]) -> Any:
    parser = _parser(model, options)
    sentences = frame[text].astype(str).tolist()
    results = parser.parse_many(sentences)
    records = [
        as_record(CorpusSentence("", 1, one), result) for one, result in zip(sentences, results, strict=True)
    ]
    return frame.assign(**{name: [record[name] for record in records] for name in _COLUMNS}).astype(_COLUMNS)
