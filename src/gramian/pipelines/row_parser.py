"""Texts in rows, parsed batch by batch where they are: in Dask, Ray, Spark, Hugging Face datasets, polars, DuckDB or pandas."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import tee
from typing import Any

from gramian.errors import GramianError, OptionError
from gramian.parsing.parser import Parser, load
from gramian.parsing.result import ParseResult
from gramian.pipelines.shard_reading import CorpusSentence
from gramian.pipelines.shard_writing import as_record
from gramian.text.text_processor import sentences_in

_COLUMNS = {
    "tree": "string",
    "status": "string",
    "confidence": "float64",
    "log_prob": "float64",
    "error": "string",
}


@lru_cache(maxsize=2)
def _loaded(model: str | None, options: tuple[tuple[str, Any], ...]) -> Parser:
    """Return a parser, loaded once in every process."""
    return load(model, **dict(options))


class RowParser:
    """A function of a batch of rows, which adds trees; it can be pickled, and every process loads the model once.

    Parameters
    ----------
    model : str, optional
        A model file that all processes see, or a language; without it, the English model that comes with gramian.
    text : str
        The column of texts; each is one sentence, or a list of words.
    split : bool
        Whether a text is a document instead. Its row is repeated for each sentence, and the column ``sentence`` has the character at which
        the sentence starts.
    **options
        Options of :class:`gramian.Parser`.

    Notes
    -----
    A batch is an Arrow table or record batch, a list of dicts, a dict of columns, or a data frame of pandas, and so is the result. It has
    the columns ``tree``, ``status``, ``confidence`` (of the phrase that is least sure), ``log_prob`` and ``error`` in addition: a text that
    cannot be parsed has no tree but an error, and the others are parsed.

    Examples
    --------
    >>> parse = RowParser(split=True)
    >>> for row in parse([{"id": "a", "text": "I came. I saw."}, {"id": "b", "text": None}]):
    ...     print(row["id"], row["sentence"], row["tree"] or row["error"][:44])
    a 0 (S (NP (PRP I)) (VP (VBD came)) (. .))
    a 8 (S (NP (PRP I)) (VP (VBD saw)) (. .))
    b 0 sentence: a sentence is text, or tokens with
    """

    def __init__(
        self, model: str | None = None, text: str = "text", *, split: bool = False, **options: Any
    ) -> None:
        self.model, self.text, self.split, self.options = model, text, split, options

    def __call__(self, batch: Any) -> Any:
        """Return the batch with the columns of the result."""
        if isinstance(batch, list):
            rows, columns = self._columns([row.get(self.text) for row in batch])
            return [
                batch[row] | {name: values[index] for name, values in columns.items()}
                for index, row in enumerate(rows)
            ]
        names = list(getattr(batch, "column_names", None) or getattr(batch, "columns", batch))
        if self.text not in names:
            raise OptionError(f"there is no column {self.text!r} among {', '.join(map(str, names))}")
        texts = batch[self.text]
        rows, columns = self._columns(texts.to_pylist() if hasattr(texts, "to_pylist") else list(texts))
        if isinstance(batch, Mapping):
            return {name: [values[row] for row in rows] for name, values in batch.items()} | columns
        if hasattr(batch, "iloc"):
            return batch.iloc[rows].assign(**columns).astype(self.types())
        import pyarrow

        table = pyarrow.table(batch.take(pyarrow.array(rows, "int64")))
        for name, kind in self.types().items():
            table = table.append_column(name, pyarrow.array(columns[name], kind))
        return table

    def types(self) -> dict[str, str]:
        """Return the types of the columns that are added."""
        return {"sentence": "int64"} | _COLUMNS if self.split else dict(_COLUMNS)

    def results(
        self, documents: Iterable[Any]
    ) -> Iterator[tuple[int, CorpusSentence, ParseResult | GramianError]]:
        """Yield the number of the document, the sentence and its result, or the error that it ended in, for each sentence."""
        parser = _loaded(self.model, tuple(sorted(self.options.items())))
        pieces, read = tee(self._pieces(documents, parser))
        results = parser.parse_many((piece.sentence for _, piece in read), ahead=True, on_error="return")
        for (row, piece), result in zip(pieces, results, strict=True):
            yield row, piece, result

    def _pieces(self, documents: Iterable[Any], parser: Parser) -> Iterator[tuple[int, CorpusSentence]]:
        for row, document in enumerate(documents):
            name = str(row + 1)
            if isinstance(document, dict):
                name, document = str(document.get("id", name)), document.get(self.text)
            if not (self.split and isinstance(document, str)):
                words = document.tolist() if hasattr(document, "tolist") else document
                yield row, CorpusSentence(name, int(isinstance(words, list | tuple)), words)
                continue
            for sentence in sentences_in([document], parser.segmenter):
                yield row, CorpusSentence(name, sentence.start, sentence)

    def _columns(self, texts: Sequence[Any]) -> tuple[list[int], dict[str, list[Any]]]:
        """Return the row that each result belongs to, and the columns of the results."""
        rows: list[int] = []
        columns: dict[str, list[Any]] = {name: [] for name in self.types()}
        for row, piece, result in self.results(texts):
            rows.append(row)
            record: dict[str, Any] = {"error": str(result)}
            if isinstance(result, ParseResult):
                record = as_record(piece, result)
            record["sentence"] = piece.place
            for name, values in columns.items():
                values.append(record.get(name))
        return rows, columns


def _records(documents: Iterable[Any], parse: RowParser) -> Iterator[dict[str, Any]]:
    for _, piece, result in parse.results(documents):
        if isinstance(result, ParseResult):
            yield as_record(piece, result)
        else:
            yield {"document": piece.document, "sentence": piece.place, "error": str(result)}


def parse_bag(bag: Any, model: str | None = None, **options: Any) -> Any:
    """Parse the texts of a Dask bag.

    Parameters
    ----------
    bag : dask.bag.Bag
        Of texts, each a document; of dicts with a ``"text"`` and perhaps an ``"id"``; or of lists of words, each a sentence.
    model, **options
        As for :class:`RowParser`.

    Returns
    -------
    dask.bag.Bag
        Of dicts, one for every sentence, as ``gramian parse --to jsonl`` writes them; nothing is parsed before they are asked for. What
        cannot be parsed has an ``"error"`` in place of a tree.

    Examples
    --------
    >>> import dask.bag
    >>> bag = dask.bag.from_sequence([{"id": "a", "text": "I came. I saw."}], npartitions=1)
    >>> for row in parse_bag(bag).compute(scheduler="synchronous"):
    ...     print(row["document"], row["sentence"], row["tree"])
    a 0 (S (NP (PRP I)) (VP (VBD came)) (. .))
    a 8 (S (NP (PRP I)) (VP (VBD saw)) (. .))
    """
    return bag.map_partitions(_records, RowParser(model, split=True, **options))


def parse_frame(frame: Any, text: str = "text", model: str | None = None, **options: Any) -> Any:
    """Parse a column of sentences of a data frame.

    Parameters
    ----------
    frame : pandas.DataFrame or dask.dataframe.DataFrame
    text, model, **options
        As for :class:`RowParser`, which adds the columns.

    Returns
    -------
    pandas.DataFrame or dask.dataframe.DataFrame

    Examples
    --------
    >>> import pandas
    >>> parse_frame(pandas.DataFrame({"text": ["I came."]}))["tree"][0]
    '(S (NP (PRP I)) (VP (VBD came)) (. .))'
    """
    parse = RowParser(model, text, **options)
    if not hasattr(frame, "map_partitions"):
        return parse(frame)
    meta = frame._meta.assign(**dict.fromkeys(parse.types())).astype(parse.types())
    return frame.map_partitions(parse, meta=meta)
