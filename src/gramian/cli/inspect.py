"""``gramian inspect``: what is in a treebank, before anything is learnt from it; for models see inspect_model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import typer

from gramian.cli.console import counting, print_json, say
from gramian.cli.options import AS_JSON
from gramian.errors import InputError, OptionError, counted

if TYPE_CHECKING:
    from gramian.trees.survey import DependencySurvey, TreebankSurvey


def inspect(
    file: str | None = typer.Argument(
        None, help="Trees or CoNLL-U (a file, a folder, or - for stdin), or a model file."
    ),
    explain: str | None = typer.Option(
        None, help="Explain a label such as SBAR or nsubj; no file is needed."
    ),
    label: str | None = typer.Option(
        None, help="Describe the latent states of this label or tag of a grammar."
    ),
    top: int = typer.Option(12, min=1, help="Number of labels and unusual trees to list."),
    as_json: bool = AS_JSON,
    strict: bool = typer.Option(False, "--strict", help="Exit with status 1 if a tree is malformed."),
) -> None:
    """Describe a treebank or a model.

    For a treebank: counts, labels, lengths, unusual and malformed trees with their lines. For a model: training
    data, settings and scores; with --label, the latent states of a label.
    """
    if explain is not None:
        _print_meanings(explain, as_json)
        return
    if file is None:
        raise OptionError("a file is missing; try: gramian inspect FILE, or gramian inspect --explain SBAR")
    from gramian.io.header import read_header

    header = read_header(file)
    if header is not None:
        from gramian.cli.inspect_model import inspect_model

        inspect_model(file, header, label, top, as_json)
        return
    if label is not None:
        raise OptionError("--label requires a model; try: gramian inspect MODEL --label NP")
    from gramian.io.reading import source_name
    from gramian.trees import read_conllu, read_trees
    from gramian.trees.scheme import find_scheme
    from gramian.trees.survey import DependencySurvey, survey_dependencies, survey_trees
    from gramian.trees.treebank_reading import detect_format

    source, kind = detect_format(file)
    broken: list[InputError] = []
    joined: list[InputError] = []
    preset = ""
    survey: TreebankSurvey | DependencySurvey
    if kind == "brackets":
        trees = read_trees(source, broken="skip", on_skip=broken.append, on_join=joined.append)
        scheme, trees = find_scheme(trees)
        preset = scheme.name
        survey = survey_trees(counting(trees, "trees"), scheme.options)
    else:
        sentences = read_conllu(source, broken="skip", on_skip=broken.append)
        survey = survey_dependencies(counting(sentences, "sentences"))
    if as_json:
        faults = {"broken": _listed(broken), "joined": _listed(joined)}
        print_json({"format": kind, **({"preset": preset} if preset else {}), **asdict(survey), **faults})
    elif isinstance(survey, DependencySurvey):
        _print_dependencies(source_name(file), survey, top)
        _print_faults("broken sentence", broken, top)
    else:
        _print_trees(source_name(file), survey, top)
        _row("preset", f"{preset}, by its labels")
        _print_faults("broken tree", broken, top)
        _print_faults("word", joined, top, " with a space inside, joined with '_'")
        if survey.trees and max(survey.separators.values(), default=0) > 10:
            say("try: gramian convert FILE --to normalised, which cuts functions off labels (see --preset)")
    if broken and strict:
        raise typer.Exit(1)


def _print_meanings(label: str, as_json: bool) -> None:
    from difflib import get_close_matches

    from gramian.trees.glossary import entries
    from gramian.trees.glossary import explain as meanings

    explained = meanings(label)
    if as_json:
        print_json([entry._asdict() for entry in explained])
    elif not explained:
        names = [entry.label for entry in entries()]
        near = get_close_matches(label.upper(), names, 4, 0.5) or get_close_matches(label, names, 4, 0.5)
        problem = (
            f"no label {label!r} is known in {', '.join(dict.fromkeys(entry.scheme for entry in entries()))}"
        )
        raise OptionError(f"{problem}; try: {', '.join(dict.fromkeys(near or ['SBAR', 'nsubj']))}")
    for entry in explained if not as_json else ():
        print(f"{entry.label:<8} {entry.scheme + ' ' + entry.kind:<16} {entry.words}")


def _listed(faults: list[InputError]) -> list[dict[str, Any]]:
    return [{name: getattr(fault, name) for name in ("source", "line", "column", "what")} for fault in faults]


def _print_trees(name: str, survey: TreebankSurvey, top: int) -> None:
    size = ", ".join(counted(getattr(survey, f"{noun}s"), noun) for noun in ("tree", "word", "phrase"))
    print(f"{name}: {size}")
    if survey.empty_elements:
        _row("empties", f"{counted(survey.empty_elements, 'empty element')} (-NONE-), not counted as words")
    if survey.empty_trees:
        _row("failures", f"{counted(survey.empty_trees, 'tree')} without a word")
    _print_lengths(survey, survey.trees)
    outer = f" (in {counted(survey.outer_brackets, 'unlabelled bracket')})" if survey.outer_brackets else ""
    _row("roots", _counts(survey.roots, top) + outer)
    _kinds("phrases", "label", survey.phrase_labels, top)
    _kinds("tags", "label", survey.tags, top)
    marks = list(survey.separators.items())[:top]
    inside = ", ".join(f"{mark} in {counted(count, 'label')}" for mark, count in marks)
    _row("inside", inside or "no separators in labels")
    over = f"{survey.unary_phrases:,} over a phrase ({survey.same_unaries:,} of the same label)"
    _row("unaries", f"{over}, {survey.unary_tags:,} over a tag")
    _row("shape", f"at most {survey.widest:,} children, height at most {survey.highest:,}")
    _print_repeats(survey)
    if survey.odd_labels:
        _row("odd", f"{counted(len(survey.odd_labels), 'label')}:")
        for odd in survey.odd_labels[:top]:
            position = f", first at line {odd.line:,}" if odd.line is not None else ""
            print(f"             {odd.label}  {odd.why} ({odd.count:,}{position})")


def _print_dependencies(name: str, survey: DependencySurvey, top: int) -> None:
    print(f"{name}: {counted(survey.sentences, 'sentence')}, {counted(survey.words, 'word')}")
    _print_lengths(survey, survey.sentences)
    _kinds("upos", "tag", survey.upos, top)
    _kinds("xpos", "tag", survey.xpos, top)
    _kinds("relations", "label", survey.relations, top)
    extras = counted(survey.multiword, "multiword range"), counted(survey.empty_nodes, "empty node")
    _row("extras", ", ".join(extras))
    share = 100 * survey.non_projective / survey.sentences
    first = f", the first at line {survey.first_non_projective:,}" if survey.first_non_projective else ""
    _row("crossing", f"not projective: {counted(survey.non_projective, 'sentence')} ({share:.1f} %){first}")
    several = counted(survey.several_roots, "sentence")
    _row("roots", f"{several} with several roots, {survey.without_heads:,} without heads")
    _print_repeats(survey)


def _print_lengths(survey: TreebankSurvey | DependencySurvey, count: int) -> None:
    lengths = survey.lengths
    position = f" (line {lengths.longest_line:,})" if lengths.longest_line is not None else ""
    middle = f"mean {lengths.mean:.1f}, median {lengths.median:g}, longest {lengths.longest:,}{position}"
    short = f"{100 * lengths.up_to_40 / count:.1f} % have at most 40 words, {lengths.one_word:,} have one"
    _row("length", f"{middle}; {short}")
    _row("words", f"{survey.vocabulary:,} different, {survey.seen_once:,} of them seen once")


def _print_repeats(survey: TreebankSurvey | DependencySurvey) -> None:
    _row("repeats", f"{counted(survey.repeated, 'sentence')} of more than 5 words occurred before")


def _print_faults(noun: str, faults: list[InputError], top: int, what: str = "") -> None:
    if faults:
        _row("look", f"{counted(len(faults), noun)}{what}:")
        for fault in faults[:top]:
            column = f":{fault.column}" if fault.column is not None else ""
            print(f"             {fault.source}:{fault.line}{column}: {fault.what}")
        if len(faults) > top:
            print(f"             and {len(faults) - top:,} more (--top)")


def _row(name: str, text: str) -> None:
    print(f"  {name:<10} {text}")


def _kinds(name: str, noun: str, counts: Mapping[str, int], top: int) -> None:
    _row(name, f"{counted(len(counts), noun)}: {_counts(counts, top)}")


def _counts(counts: Mapping[str, int], top: int) -> str:
    listed = ", ".join(f"{label or 'no label'} {count:,}" for label, count in list(counts.items())[:top])
    return listed + (", ..." if len(counts) > top else "")
