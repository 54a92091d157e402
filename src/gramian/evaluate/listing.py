"""Scores as text for people: EVALB's own listing, and short tables."""

from collections.abc import Iterable, Mapping, Sequence

from gramian.evaluate.confidences import Reliability
from gramian.evaluate.scores import BracketScores, LabelScore
from gramian.evaluate.significance import Comparison

_HEAD = (
    "  Sent.                        Matched  Bracket   Cross        Correct Tag\n"
    " ID  Len.  Stat. Recal  Prec.  Bracket gold test Bracket Words  Tags Accracy"
)
_RULE = "=" * 76
_ROWS = {
    "sentences": "sentences",
    "errors": "dropped for a wrong tag",
    "skipped": "dropped without a parse",
    "recall": "recall",
    "precision": "precision",
    "f1": "F1",
    "exact": "exact match",
    "tagging": "tagging",
    "crossing": "crossing brackets a sentence",
    "f1_gold_tags": "F1, gold tags, nothing dropped",
    "f1_failures": "F1, dropped ones as empty",
    "mean_f1": "F1, mean of sentences",
    "unlabelled_f1": "F1, labels ignored",
}


def evalb_listing(scores: BracketScores) -> str:
    """Return the scores as EVALB prints them: one line a sentence, totals, and both summaries."""
    lines = [_HEAD, _RULE]
    for row in scores.rows:
        lines.append(
            f"{row.number:4d}  {row.length:3d}    {row.status:d}  {row.recall:6.2f} {row.precision:6.2f}   "
            f"{row.matched:3d}    {row.gold:3d}  {row.predicted:3d}    {row.crossing:3d}   "
            f"{row.words:4d}  {row.correct_tags:4d}   {row.tagging:6.2f}"
        )
    lines.append(_RULE)
    matched, gold, predicted, crossing, words, correct = (
        sum(getattr(row, name) for row in scores.rows)
        for name in ("matched", "gold", "predicted", "crossing", "words", "correct_tags")
    )
    totals = ""
    if gold and predicted:
        totals = f"{'':16}{scores.recall:6.2f} {scores.precision:6.2f} {matched:6d} {gold:5d} {predicted:5d}"
        totals += f"  {crossing:5d}"
    lines.append(f"{totals}  {words:5d} {correct:5d}   {scores.tagging:6.2f}")
    cutoff = scores.parameters.cutoff
    lines += ["=== Summary ===", "", "-- All --", *_summary(scores)]
    lines += ["", f"-- len<={cutoff} --", *_summary(scores.up_to(cutoff))]
    return "\n".join(lines)


def _summary(scores: BracketScores) -> list[str]:
    counts = {
        "Number of sentence": scores.sentences,
        "Number of Error sentence": scores.errors,
        "Number of Skip  sentence": scores.skipped,
        "Number of Valid sentence": scores.valid,
    }
    figures = {
        "Bracketing Recall": scores.recall,
        "Bracketing Precision": scores.precision,
        "Bracketing FMeasure": scores.f1,
        "Complete match": scores.exact,
        "Average crossing": scores.crossing,
        "No crossing": scores.share_crossing(0),
        "2 or less crossing": scores.share_crossing(2),
        "Tagging accuracy": scores.tagging,
    }
    lines = [f"{name:25} = {value:6d}" for name, value in counts.items()]
    return lines + [f"{name:25} = {value:6.2f}" for name, value in figures.items()]


def summary_table(columns: Mapping[str, BracketScores]) -> str:
    """Return counts and figures, one column for each set of sentences."""
    values = [scores.as_dict() for scores in columns.values()]
    rows = [["", *columns]]
    rows += [[title, *(_cell(column[name]) for column in values)] for name, title in _ROWS.items()]
    return _table(rows)


def length_table(scores: Mapping[str, BracketScores]) -> str:
    """Return figures by length of sentence."""
    rows = [["words", "sentences", "dropped", "recall", "precision", "F1", "gold tags F1", "exact"]]
    for name, part in scores.items():
        figures = (part.recall, part.precision, part.f1, part.f1_gold_tags, part.exact)
        rows.append([name, str(part.sentences), str(part.sentences - part.valid), *map(_cell, figures)])
    return _table(rows)


def label_table(labels: Iterable[LabelScore]) -> str:
    """Return figures by label."""
    rows = [["label", "gold", "predicted", "recall", "precision", "F1"]]
    for part in labels:
        figures = map(_cell, (part.recall, part.precision, part.f1))
        rows.append([part.label or "(none)", str(part.gold), str(part.predicted), *figures])
    return _table(rows)


def comparison_table(tests: Mapping[str, tuple[Comparison, Comparison]]) -> str:
    """Return the outcomes of both tests, bootstrap and randomisation, for each figure."""
    rows = [["", "first", "other", "difference", "interval", "p bootstrap", "p randomisation"]]
    for name, (bootstrap, randomisation) in tests.items():
        low, high = bootstrap.interval or (0.0, 0.0)
        figures = _cell(bootstrap.first), _cell(bootstrap.second), f"{bootstrap.difference:+.2f}"
        chances = _cell(bootstrap.p_value, 4), _cell(randomisation.p_value, 4)
        rows.append([_ROWS[name], *figures, f"{low:+.2f} {high:+.2f}", *chances])
    return _table(rows)


def reliability_tables(parts: Mapping[str, Reliability]) -> str:
    """Return how far confidences can be trusted: figures for each kind of node, and the bins behind them."""
    names = {
        "count": "number",
        "confidence": "mean confidence",
        "right": "share that is right",
        "ece": "calibration error (ECE)",
        "ece_mass": "with equally full bins",
        "brier": "Brier score",
        "log_loss": "log loss",
    }
    rows = [["confidences", *parts]]
    for name, title in names.items():
        rows.append([title, *(_cell(getattr(part, name), 4) for part in parts.values())])
    tables = [_table(rows)]
    for name, part in parts.items():
        rows = [[name, "number", "confidence", "right"]]
        rows += [
            [
                f"{bin_.low:.2f}-{bin_.high:.2f}",
                str(bin_.count),
                f"{bin_.confidence:.3f}",
                f"{bin_.right:.3f}",
            ]
            for bin_ in part.bins
        ]
        tables.append(_table(rows))
    return "\n\n".join(tables)


def _cell(value: float, digits: int = 2) -> str:
    return f"{value:.{digits}f}" if isinstance(value, float) else str(value)


def _table(rows: Sequence[Sequence[str]]) -> str:
    """Align cells: the first column to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if index else cell.ljust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    )
