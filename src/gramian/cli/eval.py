"""``gramian eval``: how well predicted trees agree with gold trees."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import typer

from gramian.cli.console import print_json, say
from gramian.cli.options import AS_JSON, SEED
from gramian.errors import OptionError, ScoreError, counted

if TYPE_CHECKING:
    from gramian.evaluate import BracketScores, GoldBrackets
    from gramian.trees import Tree

_Thing = TypeVar("_Thing")
_COMPARED = ("f1", "f1_gold_tags", "f1_failures", "mean_f1", "unlabelled_f1", "exact", "tagging")


def evaluate(
    gold: str = typer.Argument(help="Gold trees: a bracket file, a folder, or - for stdin."),
    pred: str = typer.Argument(help="Predicted trees of the same sentences; () marks a failed parse."),
    preset: str | None = typer.Option(
        None,
        help="Normalise both with the preset of an annotation scheme (penn, ftb, ...; auto detects it from the gold labels). "
        "By default, Penn trees are scored unchanged, as EVALB does, and others are normalised.",
    ),
    model: str | None = typer.Option(
        None,
        "--model",
        "-m",
        help="Normalise the gold trees like this model's treebank, as train --dev does.",
    ),
    prm: str = typer.Option("collins", help="EVALB parameter file, or one of: collins, spmrl."),
    cnf: bool = typer.Option(
        False, "--cnf", help="Score binary trees, as some papers on L-PCFGs do; --prm has no effect then."
    ),
    as_json: bool = AS_JSON,
    per_sentence: bool = typer.Option(
        False, "--per-sentence", help="List the scores of every sentence, as EVALB does."
    ),
    by_label: bool = typer.Option(False, "--by-label", help="Add the scores of each label."),
    by_length: bool = typer.Option(False, "--by-length", help="Add the scores by sentence length."),
    calibration: bool = typer.Option(
        False,
        "--calibration",
        help="Add the calibration of confidences; PRED is then the output of 'gramian parse --json'.",
    ),
    compare: str | None = typer.Option(
        None,
        metavar="OTHER",
        help="Predictions of another system; tests whether the difference is significant.",
    ),
    samples: int = typer.Option(10_000, min=1, help="Resamples of each test under --compare."),
    seed: int = SEED,
) -> None:
    """Score predicted trees against gold trees, as EVALB does.

    Figures equal EVALB's to its two decimals. EVALB drops a sentence if a wrong tag turns a word into punctuation or back; the
    figures with gold tags
    drop none. Sentences that differ in their words, number or order are an error.
    """
    from gramian.evaluate import (
        CNF,
        COLLINS,
        METRICS,
        SPMRL,
        GoldBrackets,
        Parameters,
        approximate_randomisation,
        judged,
        listing,
        paired_bootstrap,
        reliability,
    )
    from gramian.system import without_cycle_search

    if [gold, pred, compare].count("-") > 1:
        raise OptionError("only one of the files can be stdin")
    if cnf and calibration:
        raise OptionError("--cnf and --calibration are mutually exclusive")
    built_in = {settings.name: settings for settings in (COLLINS, SPMRL)}
    parameters = CNF if cnf else built_in[prm] if prm in built_in else Parameters.from_file(prm)
    with without_cycle_search():
        form = _gold_trees(_read(gold), preset, model, cnf)
        prepared = GoldBrackets(form.gold, parameters)
        parses = form.kept(_read_parses(pred)) if calibration else []
        trees = form.fitted([tree for tree, _ in parses] if calibration else _read(pred))
        scores = _score(prepared, trees, gold, pred)
    parts = {"all": scores, f"len{parameters.cutoff}": scores.up_to(parameters.cutoff)}
    report: dict[str, object] = {name: part.as_dict() for name, part in parts.items()}
    report["signature"] = scores.signature()
    report["signatures"] = {name: scores.signature(name) for name in METRICS}
    sections = [listing.evalb_listing(scores) if per_sentence else listing.summary_table(parts)]
    if by_length:
        lengths = scores.by_length()
        report["by_length"] = {name: part.as_dict() for name, part in lengths.items()}
        sections.append(listing.length_table(lengths))
    if by_label:
        labels = prepared.by_label(trees)
        report["by_label"] = {
            name: {**asdict(part), "recall": part.recall, "precision": part.precision, "f1": part.f1}
            for name, part in labels.items()
        }
        sections.append(listing.label_table(labels.values()))
    if calibration:
        outcomes = judged(prepared, parses).items()
        trust = {name: reliability(*pairs) for name, pairs in outcomes if len(pairs[0])}
        report["calibration"] = {name: asdict(part) for name, part in trust.items()}
        sections.append(listing.reliability_tables(trust))
    if per_sentence and as_json:
        report["per_sentence"] = [{**asdict(row), "f1": row.f1} for row in scores.rows]
    if compare is not None:
        other = _score(prepared, form.fitted(_read(compare)), gold, compare)
        options: dict[str, int] = {"samples": samples, "random_state": seed}
        tests = {}
        for metric in _COMPARED:
            pair = scores.statistics(metric), other.statistics(metric)
            tests[metric] = paired_bootstrap(*pair, **options), approximate_randomisation(*pair, **options)
        report["compare"] = {
            name: {test.test: {**asdict(test), "difference": test.difference} for test in both}
            for name, both in tests.items()
        }
        sections.append(listing.comparison_table(tests))
    report["preset"] = form.preset
    _warn(scores, prepared, trees)
    if as_json:
        print_json(report, indent=2)
    else:
        print("\n\n".join([*sections, f"signature {scores.signature()}"]))


class _GoldTrees(NamedTuple):
    """Gold trees in the normal form of a preset, those without words left out; as they stand if there is no preset."""

    gold: list[Tree]
    preset: str | None = None
    wordless: frozenset[int] = frozenset()
    is_binary: bool = False

    def fitted(self, trees: list[Tree]) -> list[Tree]:
        """Return predicted trees in the same form, and without those of sentences that were left out."""
        from gramian.evaluate import chomsky_normal_form
        from gramian.trees import annotation_scheme, normalise

        if self.preset is None:
            return trees
        options = annotation_scheme(self.preset).options
        normal = [normalise(tree, options).tree for tree in self.kept(trees)]
        return [chomsky_normal_form(tree) for tree in normal] if self.is_binary else normal

    def kept(self, things: list[_Thing]) -> list[_Thing]:
        """Leave out what belongs to gold trees that were left out, if it is there."""
        if len(things) != len(self.gold) + len(self.wordless):
            return things
        return [thing for index, thing in enumerate(things) if index not in self.wordless]


def _gold_trees(trees: list[Tree], preset: str | None, model: str | None, is_binary: bool) -> _GoldTrees:
    from gramian.evaluate import chomsky_normal_form
    from gramian.parsing.model_store import load_model
    from gramian.trees import normalise
    from gramian.trees.scheme import DEFAULT_SCHEME, annotation_scheme, find_scheme

    if preset is not None and model is not None:
        raise OptionError("--model and --preset are mutually exclusive")
    wanted = annotation_scheme(load_model(model).preset).name if model is not None else preset
    scheme, _ = find_scheme(trees, wanted or "auto")
    if wanted is None and scheme is DEFAULT_SCHEME and not is_binary:
        return _GoldTrees(trees)
    if wanted is None and scheme is not DEFAULT_SCHEME:
        say(
            f"gramian: gold's labels look like those of preset {scheme.name}, and are cut so;"
            " --preset takes another"
        )
    normal = [normalise(tree, scheme.options).tree for tree in trees]
    empty = frozenset(index for index, tree in enumerate(normal) if tree.is_empty)
    kept = [tree for tree in normal if not tree.is_empty]
    gold = [chomsky_normal_form(tree) for tree in kept] if is_binary else kept
    return _GoldTrees(gold, scheme.name, empty, is_binary)


def _read(source: str) -> list[Tree]:
    from gramian.trees import BracketError, read_trees

    joined: list[BracketError] = []
    try:
        trees = list(read_trees(source, on_join=joined.append))
    except BracketError as error:
        error.hint = "mend the tree; none can be left out, or the sentences would no longer fit"
        raise
    if joined:
        first, such = joined[0], counted(len(joined), "such word")
        say(f"gramian: {first.source}:{first.line}: {first.what}; joined with '_' ({such})")
    return trees


def _read_parses(source: str) -> list[tuple[Tree, list[float]]]:
    from gramian.io.reading import open_text
    from gramian.parsing.sentences import read_parse

    with open_text(source) as lines:
        return [read_parse(row, lines.name, number) for number, row in enumerate(lines, 1) if row.strip()]


def _score(prepared: GoldBrackets, trees: list[Tree], gold: str, pred: str) -> BracketScores:
    try:
        return prepared.score(trees)
    except ScoreError as error:
        raise ScoreError(f"{pred} does not fit {gold}: {error}") from None


def _warn(scores: BracketScores, prepared: GoldBrackets, trees: list[Tree]) -> None:
    """Say aloud what makes the scores mean something else than they seem to."""
    if scores.errors > scores.parameters.max_errors:
        dropped = counted(scores.errors, "sentence")
        say(f"gramian: dropped for a wrong tag, and counted by 'gold tags': {dropped}")
    if scores.unlabelled_f1 > scores.f1 + 20:
        labels = prepared.by_label(trees).values()
        missing = [part for part in labels if part.gold and not part.predicted]
        share = sum(part.gold for part in missing) / sum(part.gold for part in labels)
        if share > 0.1:
            names = ", ".join(part.label for part in missing[:3])
            say(
                f"gramian: {share:.0%} of gold's brackets have labels that are never predicted ({names}); "
                "are the labels of both cut alike?"
            )
