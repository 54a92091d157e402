"""``gramian convert``: a treebank in another form, one tree or sentence a line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, replace
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import typer

from gramian.cli.console import counting, say, say_skipped
from gramian.cli.options import FORCE, PRESET, QUIET, SKIP_BROKEN, TEXT_OUTPUT
from gramian.errors import InputError, OptionError

if TYPE_CHECKING:
    from gramian.trees import AnnotationScheme, HeadRules, NormaliseOptions, Sentence, Tree

_LOOKED_AT = 300  # trees on which head rules are tested
_LEAST_FIT = 0.8  # rules of another treebank with some of the same labels find less
TreebankOutput: TypeAlias = Literal[
    "normalised", "binarised", "debinarised", "tokens", "tagged", "dependencies"
]


def convert(
    file: str = typer.Argument(help="Trees or CoNLL-U: a file, a folder, or - for stdin."),
    to: TreebankOutput = typer.Option(help="Output format."),
    output: str = TEXT_OUTPUT,
    force: bool = FORCE,
    skip_broken: bool = SKIP_BROKEN,
    spaces: Literal["join", "reject"] = typer.Option(
        "join", help="Tags over several words: join the words with '_', or treat the tree as malformed."
    ),
    quiet: bool = QUIET,
    preset: str = PRESET,
    phrase_cut: str | None = typer.Option(None, help="Cut phrase labels at any of these characters."),
    tag_cut: str | None = typer.Option(None, help="Cut tags at any of these characters."),
    keep_empties: bool = typer.Option(False, "--keep-empties", help="Keep empty elements (traces)."),
    keep_same_unaries: bool = typer.Option(
        False, "--keep-same-unaries", help="Keep unary chains of one label, such as NP over NP."
    ),
    root: Literal["drop", "keep", "add"] | None = typer.Option(
        None, help="Drop outer brackets and ROOT, keep them, or add ROOT."
    ),
    drop_punctuation: bool = typer.Option(False, "--drop-punctuation", help="Remove punctuation."),
    unescape: bool = typer.Option(False, "--unescape", help=r"Undo the escapes \/ \* -LCB- -LSB- in words."),
    direction: Literal["right", "left", "head"] = typer.Option(
        "right", help="Side from which children are split off."
    ),
    horizontal: str = typer.Option(
        "0", help="Number of siblings in the labels of intermediate nodes, or all."
    ),
    vertical: int = typer.Option(1, min=1, help="Context in labels: 1 for none, 2 for the parent, ..."),
    collapse_tags: bool = typer.Option(
        False, "--collapse-tags", help="Join a phrase over one word into its tag."
    ),
    head_rules: str = typer.Option(
        "auto",
        help="Head rules: auto (from the labels), collins (function words as heads), english (Universal "
        "Dependencies), french, icelandic, indonesian, japanese, portuguese, spanish (content words as heads), left, right, or a file.",
    ),
    crossing: Literal["keep", "lift", "skip"] = typer.Option(
        "keep", help="Non-projective sentences: keep, lift or skip them."
    ),
) -> None:
    """Convert a treebank to another format.

    Writes one tree or sentence per line, or dependencies as CoNLL-U.

    Trees are normalised first: empty elements, functions in labels and outer brackets are removed.
    """
    from gramian.io.output import write_lines
    from gramian.trees import HeadRules, read_conllu, read_trees
    from gramian.trees.scheme import DEFAULT_SCHEME, annotation_scheme, find_scheme
    from gramian.trees.treebank_reading import detect_format

    report = _Report(quiet)
    changes: dict[str, Any] = {
        "phrase_cut": phrase_cut,
        "tag_cut": tag_cut,
        "empty_tags": frozenset() if keep_empties else None,
        "same_unaries": False if keep_same_unaries else None,
        "root": root,
        "punctuation": "drop" if drop_punctuation else None,
        "unescape": True if unescape else None,
    }
    given = {name: value for name, value in changes.items() if value is not None}
    if preset != "auto":
        annotation_scheme(preset)  # an unknown one is refused before anything is read
    source, kind = detect_format(file)
    broken: Literal["skip", "raise"] = "skip" if skip_broken else "raise"
    if kind == "conllu":
        if to not in ("tokens", "tagged", "dependencies"):
            raise OptionError(f"CoNLL-U has no phrases for --to {to}; try: tokens, tagged or dependencies")
        sentences = read_conllu(source, broken=broken, on_skip=report.skip)
        lines = _from_sentences(counting(sentences, "sentences"), to, crossing, report)
    else:
        tree_stream = read_trees(
            source, broken=broken, spaces=spaces, on_skip=report.skip, on_join=report.join
        )
        trees: Iterator[Tree] = counting(tree_stream, "trees")
        rules = HeadRules()
        if to != "debinarised":
            scheme, trees = find_scheme(trees, preset)
            if preset == "auto" and scheme is not DEFAULT_SCHEME and not quiet:
                say(f"its labels look like those of preset {scheme.name}")
            if to == "dependencies" or direction == "head":
                rules, trees = _rules(trees, head_rules, scheme, given, report)
            cuts = rules.keep_functions(scheme.options) if to == "dependencies" else scheme.options
            trees = report.normalised(trees, replace(cuts, **given), empty=to != "dependencies")
        shape = {"direction": direction, "horizontal": _order(horizontal), "vertical": vertical}
        lines = map(_form(to, file, rules, shape | {"collapse_tags": collapse_tags}), trees)
    report.written = write_lines(lines, output)
    report.close()


def _order(horizontal: str) -> int | None:
    if horizontal == "all":
        return None
    if not horizontal.isdecimal():
        raise OptionError(f"--horizontal is a number or 'all', not {horizontal!r}")
    return int(horizontal)


class _Report:
    """Counts what happens on the way, tells of faults at once and of the rest at the end."""

    def __init__(self, quiet: bool) -> None:
        from gramian.trees import Removed

        self.quiet = quiet
        self.written = self.skipped = self.lifted = self.crossing = self.wordless = 0
        self.removed = Removed()

    def skip(self, error: InputError) -> None:
        self.skipped += 1
        if not self.quiet:
            say_skipped(error)

    def join(self, error: InputError) -> None:
        if not self.quiet:
            say(f"joined with '_' at {error.source}:{error.line}: {error.what}")

    def normalised(self, trees: Iterable[Tree], options: NormaliseOptions, empty: bool) -> Iterator[Tree]:
        """Yield trees in normal form, those that have no words then only if `empty`."""
        from gramian.trees import normalise

        for tree in trees:
            result = normalise(tree, options)
            self.removed += result.removed
            if empty or not result.tree.is_empty:
                yield result.tree
            else:
                self.wordless += 1

    def close(self) -> None:
        if self.quiet:
            return
        parts = [f"{self.written:,} written"]
        parts += [f"{self.skipped:,} broken ones skipped"] if self.skipped else []
        parts += [f"{self.wordless:,} without words left out"] if self.wordless else []
        parts += [f"{self.crossing:,} not projective, {self.lifted:,} arcs lifted"] if self.crossing else []
        removed = asdict(self.removed).items()
        say("; ".join(parts + [f"{name.replace('_', ' ')} {count:,}" for name, count in removed if count]))


def _rules(
    trees: Iterator[Tree], name: str, scheme: AnnotationScheme, given: dict[str, Any], report: _Report
) -> tuple[HeadRules, Iterator[Tree]]:
    """Return the head rules that are wanted, and all the trees; say so if they do not fit."""
    from gramian.trees import HeadRules, normalise

    first = list(islice(trees, _LOOKED_AT))
    options = replace(scheme.options, **given)
    sample = [normalise(tree, options).tree for tree in first]
    rules = HeadRules.select(name, scheme, trees=sample)
    fit = rules.fit(sample) if rules.searches else 1.0
    if fit < _LEAST_FIT and not report.quiet:
        hint = "a file of rules, or left or right" if name == "auto" else "auto"
        say(f"gramian: the head rules find a head in {fit:.0%} of the phrases; try: --head-rules {hint}")
    return rules, chain(first, trees)


def _form(to: TreebankOutput, file: str, rules: HeadRules, shape: dict[str, Any]) -> Callable[[Tree], str]:
    """Return the function that writes one tree."""
    from gramian.trees import binarise, debinarise, to_dependencies

    def debinarised(tree: Tree) -> str:
        try:
            return str(debinarise(tree))
        except InputError as error:
            error.source = file
            raise

    forms: dict[TreebankOutput, Callable[[Tree], str]] = {
        "normalised": str,
        "binarised": lambda tree: str(binarise(tree, heads=rules, **shape)),
        "debinarised": debinarised,
        "tokens": lambda tree: " ".join(tree.words),
        "tagged": lambda tree: _tagged(zip(tree.words, tree.tags, strict=True)),
        "dependencies": lambda tree: str(to_dependencies(tree, rules)),
    }
    return forms[to]


def _tagged(pairs: Iterable[tuple[str, str]]) -> str:
    return " ".join([f"{word}/{tag}" for word, tag in pairs])


def _from_sentences(
    sentences: Iterable[Sentence], to: TreebankOutput, crossing: str, report: _Report
) -> Iterator[str]:
    from gramian.trees import is_projective, lift

    for sentence in sentences:
        if to == "tokens":
            yield " ".join(sentence.words)
        elif to == "tagged":
            tags = [token.xpos if token.upos == "_" else token.upos for token in sentence.tokens]
            yield _tagged(zip(sentence.words, tags, strict=True))
        elif crossing == "keep" or is_projective(sentence.heads):
            yield str(sentence)
        else:
            report.crossing += 1
            if crossing == "lift":
                heads = lift(sentence.heads)
                report.lifted += sum(old != new for old, new in zip(sentence.heads, heads, strict=True))
                yield str(sentence.with_heads(heads))
