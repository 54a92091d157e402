"""``gramian complexity``: measures of syntactic complexity of treebanks, parsed corpora and texts."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from contextlib import suppress
from itertools import groupby, islice
from typing import TYPE_CHECKING, Any, Literal

import typer

from gramian.cli.console import say
from gramian.cli.options import FORCE, HEAD_RULES, MODEL, PRESET, QUIET, SEED, TEXT_OUTPUT
from gramian.errors import OptionError, counted

if TYPE_CHECKING:
    from gramian.pipelines.inputs import Input

_BATCH = 500  # trees


def complexity(
    sources: list[str] = typer.Argument(
        help="Treebanks, outputs of parse, or texts, which are parsed: files, folders, patterns or URLs."
    ),
    to: Literal["csv", "json"] = typer.Option(
        "csv", help="Output format: csv, or json with one object per document."
    ),
    output: str = TEXT_OUTPUT,
    force: bool = FORCE,
    model: str | None = MODEL,
    samples: int = typer.Option(
        0,
        min=0,
        max=10000,
        help="Number of trees sampled per sentence of a text; adds 95 % intervals.",
    ),
    seed: int = SEED,
    head_rules: str = HEAD_RULES,
    preset: str = PRESET,
    quiet: bool = QUIET,
) -> None:
    """Measure syntactic complexity: one row for each document.

    The columns are the nine counts and fourteen indices of Lu (2010), mean Yngve and Frazier depth, dependency length and embedding depth.
    A document is a file, or a document named in the output of parse.
    """
    from gramian.complexity.document_measures import MEASURES
    from gramian.io.output import writing
    from gramian.pipelines.inputs import find_inputs

    names = list(MEASURES)
    if samples:
        names += [f"{name}_{side}" for name in MEASURES for side in ("low", "high")]
    job = _Measurement(model, samples, seed, head_rules, preset)
    n_documents = 0
    with writing(output) as out:
        if to == "csv":
            _write_row(out, ["document", *names])
        for file in find_inputs(sources):
            for document, row in job.documents(file):
                n_documents += 1
                if to == "json":
                    out.write(json.dumps({"document": document} | row, ensure_ascii=False) + "\n")
                else:
                    _write_row(out, [document, *(row[name] for name in names)])
    if not quiet:
        for fault in job.faults:
            say(f"skipped: {fault}")
        say(counted(n_documents, "document"))


def _write_row(out: Any, values: list[Any]) -> None:
    rounded = [round(value, 4) if isinstance(value, float) else value for value in values]
    csv.writer(out, lineterminator="\n").writerow(rounded)


class _Measurement:
    """Measures documents; the model is loaded when the first text comes."""

    def __init__(self, model: str | None, samples: int, seed: int, head_rules: str, preset: str) -> None:
        self._model, self._samples, self._seed = model, samples, seed
        self._head_rules, self._preset = head_rules, preset
        self._parser: Any = None
        self.faults: list[str] = []

    def documents(self, file: Input) -> Iterator[tuple[str, dict[str, float | None]]]:
        """Yield name and measures of each document of a file."""
        from gramian.complexity.document_measures import measures
        from gramian.search.tree_files import stored_trees, trees_in
        from gramian.trees import Tree
        from gramian.trees.scheme import find_scheme

        if file.kind not in ("jsonl", "parquet") and not _begins_with_bracket(file):
            yield file.name, self._text(file)
            return
        if self._samples:
            raise OptionError(f"{file.name}: --samples needs texts, which are parsed; these are trees")
        named = (
            (stored.position()[0], tree.text)
            for stored in stored_trees(file, lambda error: self.faults.append(str(error)))
            for tree in trees_in(stored, lambda error: self.faults.append(str(error)))
        )
        for document, group in groupby(named, key=lambda pair: pair[0]):
            scheme, trees = find_scheme((Tree.parse(text) for _, text in group), self._preset)
            sums: Any = 0
            meter = None
            while batch := list(islice(trees, _BATCH)):
                meter = meter or self._meter(scheme, None, batch)
                sums = sums + meter.sums(batch).sum(0)
            yield document, measures(sums)

    def _meter(self, scheme: Any, language: str | None, trees: list[Any]) -> Any:
        from gramian.complexity.document_measures import ComplexityMeter
        from gramian.trees import HeadRules

        return ComplexityMeter(scheme, HeadRules.select(self._head_rules, scheme, language, trees))

    def _text(self, file: Input) -> dict[str, float | None]:
        """Parse a text and measure its trees."""
        import numpy as np

        from gramian import load
        from gramian.complexity.document_measures import intervals, measures
        from gramian.io.decompression import decompressed
        from gramian.io.reading import TextLines
        from gramian.text.text_processor import sentences_in
        from gramian.trees.scheme import annotation_scheme

        parser = self._parser = self._parser or load(self._model)
        storage, name = file.storage
        with storage.open(name) as stream:
            lines = TextLines(decompressed(stream, file.name), file.name, repair=True)
            sentences = list(sentences_in(lines, parser.segmenter))
        trees = [result.tree for result in parser.parse_many(sentences)]
        meter = self._meter(annotation_scheme(parser.model.preset), parser.model.language, trees)
        row: dict[str, float | None] = measures(meter.sums(trees).sum(0))
        if self._samples:
            rng = np.random.default_rng(self._seed)
            totals: Any = 0
            for sentence in sentences:
                drawn = parser.sample(sentence, self._samples, random_state=rng)
                different = {sample.tree: number for number, sample in enumerate(drawn)}
                sums = dict(zip(different, meter.sums(list(different)), strict=True))
                totals = totals + np.array([sums[sample.tree] for sample in drawn])
            row |= intervals(totals)
        return row


def _begins_with_bracket(file: Input) -> bool:
    from gramian.io.decompression import decompressed
    from gramian.io.reading import TextLines

    storage, name = file.storage
    with storage.open(name) as stream, suppress(StopIteration):
        lines = TextLines(decompressed(stream, file.name), file.name, repair=True)
        return next(line for line in lines if line.strip()).lstrip().startswith("(")
    return False
