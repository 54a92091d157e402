"""``gramian dep``: dependency parsing with split head-automata."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, Literal

import typer

from gramian.cli.console import count_lines, counting, print_json, say, showing_progress
from gramian.cli.options import (
    ALL_JOBS,
    AS_JSON,
    FORCE,
    JOBS,
    MODEL_OUTPUT,
    QUIET,
    TEXT_OUTPUT,
    WAY,
    command_group,
    new_model,
)
from gramian.cli.sentence_input import is_literal_text
from gramian.cli.settings_options import (
    CONFIG,
    SEED_SETTING,
    SET,
    Settings,
    chosen_settings,
    list_settings_option,
    settings_command,
)
from gramian.errors import OptionError, counted

if TYPE_CHECKING:
    from gramian.dependency import DependencyParser
    from gramian.io.reading import Source
    from gramian.trees import Sentence

app = command_group("dep", "Train, apply, evaluate and draw dependency grammars.")

_NONE_LEFT_OUT = "mend the sentence; none can be left out, or the sentences would no longer fit"
_LOOKED_AT = 20  # sentences on which is tested whether the model knows the tags
_LEAST_KNOWN = 0.5
_CONFIDENCE = re.compile(r"(?:^|\|)Confidence=([01]\.\d+)")
_MODEL = typer.Option(..., "--model", "-m", help="Model file of 'gramian dep train'.")


def _train_settings() -> Settings:
    from gramian.dependency import SHAGParser
    from gramian.settings import declared_settings
    from gramian.training.papers import paper_setting

    declared, hidden = declared_settings(SHAGParser), ("n_jobs", "verbose", "net.vectors")
    offered = {name: setting for name, setting in declared.items() if name not in hidden}
    return offered | {"paper": paper_setting("dep train")}


@app.command(cls=settings_command(_train_settings))
def train(
    treebank: str = typer.Argument(help="CoNLL-U with heads: a file, a folder, or - for stdin."),
    output: str = MODEL_OUTPUT,
    method: str | None = typer.Option(
        None,
        help="Training method; conditional (automata by EM with log-linear arcs) is the most accurate, the others are automata only.",
        metavar="conditional|em|spectral|det|det+f",
    ),
    tags: str | None = typer.Option(
        None,
        help="Tags, features and lemmas for training: predicted for parsing text, gold for parsing tagged words, or mixed.",
        metavar="predicted|gold|mixed",
    ),
    neural: bool | None = typer.Option(
        None,
        "--neural",
        help="Also train a net that scores arcs and relations: slower, more accurate; needs torch.",
        show_default=False,
    ),
    vectors: str | None = typer.Option(
        None, help="Vectors of words for the nets of --neural: a text file of word2vec, GloVe or fastText."
    ),
    text: str | None = typer.Option(
        None, help="Text for self-training, parsed by a first parser: a file, a folder, or - for stdin."
    ),
    states: str | None = typer.Option(
        None, help="Maximum number of states of an automaton.", metavar="INTEGER"
    ),
    skip_broken: bool = typer.Option(
        False, "--skip-broken", help="Skip malformed sentences and report their number."
    ),
    seed: str | None = SEED_SETTING,
    jobs: int | None = ALL_JOBS,
    force: bool = FORCE,
    quiet: bool = QUIET,
    assignments: list[str] = SET,
    config: str | None = CONFIG,
    list_settings: bool = list_settings_option(_train_settings),
) -> None:
    """Train a dependency parser on CoNLL-U."""
    import time

    from gramian.dependency import SHAGParser
    from gramian.neural.word_vectors import read_vectors
    from gramian.training.papers import with_paper
    from gramian.trees import read_conllu

    began = time.perf_counter()
    given = {"method": method, "tags": tags, "neural": neural, "n_states": states, "random_state": seed}
    chosen = with_paper(
        chosen_settings(given, assignments, config, _train_settings, "dep train"), "dep train"
    )
    parameters = {name.replace(".", "__"): value for name, value in chosen.items()}
    learner = SHAGParser(n_jobs=jobs or -1).set_params(**parameters)
    if vectors is not None:
        if not learner.neural:
            raise OptionError("--vectors are for the nets of --neural; try: adding --neural")
        learner.set_params(net__vectors=read_vectors(vectors))
    with new_model(output, force):
        sentence_stream = read_conllu(treebank, broken="skip" if skip_broken else "raise")
        sentences = list(counting(sentence_stream, "sentences read"))
        with showing_progress(quiet):
            learner.fit(sentences, text=() if text is None else _text_lines(text))
        learner.save(output)
    if quiet:
        return
    metadata = learner.model_.about
    crossing = learner.lifted_ + learner.skipped_
    silver = f"{metadata['parsed_sentences']:,} parsed sentences; " if text is not None else ""
    done = "lifted" if learner.nonprojective == "lift" else "skipped"
    say(
        f"{output}: {counted(metadata['sentences'], 'sentence')}, {counted(metadata['words'], 'word')}, "
        f"{crossing} with crossing arcs {done}; "
        f"{silver}{len(learner.model_.symbols.names) - 1} symbols, at most {metadata['states']} states; "
        f"{time.perf_counter() - began:.1f} s"
    )


@app.command()
def parse(
    words: str = typer.Argument(
        "-",
        help="Text, or CoNLL-U whose heads are ignored: a file, a folder, - for stdin, or a text in quotes.",
    ),
    model: str = _MODEL,
    output: str = TEXT_OUTPUT,
    force: bool = FORCE,
    jobs: int = JOBS,
    format: Literal["auto", "text", "conllu"] = typer.Option(
        "auto", help="Input format; auto looks for tabs in the first line."
    ),
    retag: bool = typer.Option(
        False,
        help="Replace given tags, features and lemmas with predicted ones.",
    ),
    constraints: bool = typer.Option(
        False,
        "--constraints",
        help="Use required and forbidden heads in MISC, such as Head=3 and NotHead=2,5.",
    ),
    decoder: Literal["mbr", "mst", "viterbi"] = typer.Option(
        "mbr",
        help="mbr: the projective tree with the most probable arcs; mst: the same, with crossing arcs; viterbi: the best tree with states.",
    ),
    confidence: bool | None = typer.Option(
        None, help="Add Confidence=... to MISC; the default for text.", show_default=False
    ),
    max_length: int = typer.Option(
        400, min=1, help="Split longer sentences into parts of this number of words."
    ),
    backoff: bool = typer.Option(
        True,
        help="Use a smoothed grammar where marginals are not a distribution; not used in published results.",
    ),
    strict: bool = typer.Option(
        False, help="Exit with status 1 if a sentence needed the backoff or was split."
    ),
) -> None:
    """Parse text, or words of CoNLL-U.

    CoNLL-U keeps its order, comments, multiword ranges and other columns. Words without tags are tagged.
    """
    import time

    from gramian.dependency.arc_constraints import ArcConstraints
    from gramian.dependency.dependency_parser import DependencyParser
    from gramian.io.output import writing
    from gramian.io.reading import peek_text

    parser = DependencyParser.load(model)
    if retag and parser.tagger is None:
        raise OptionError(
            "the model has no tagger: it was trained with gold tags; try: train with --tags predicted"
        )
    began = time.perf_counter()
    ways: Counter[str] = Counter()
    is_literal = is_literal_text(words)
    if is_literal:
        say("no file has this name: parsing the argument as text")
    source, start = peek_text(io.StringIO(words) if is_literal else words)
    is_text = is_literal or (format == "text" if format != "auto" else not _is_conllu(source, start))
    if is_text:
        sentences = parser.sentences(_text_lines(source))
    else:
        hint = "mend the line: ten columns with tabs between them, and _ where there is nothing"
        sentences = _with_known_tags(_sentences(source, hint, arcs=False), parser, retag)
    shows_confidence = is_text if confidence is None else confidence
    n_sentences = None if is_text else count_lines(words, lambda line: line.startswith("1\t"))
    parses = parser.parse_many(
        sentences,
        n_jobs=jobs,
        decoder=decoder,
        max_length=max_length,
        backoff=backoff,
        retag=retag,
        constraints=ArcConstraints.of if constraints else None,
    )
    with writing(output) as out:
        for result in counting(parses, "sentences parsed", n_sentences):
            out.write(f"{result.sentence(confidence=shows_confidence)}\n")
            ways[result.status] += 1
    seconds, count = time.perf_counter() - began, sum(ways.values())
    troubled = len(ways) > 1 or not ways["parsed"]
    helped = "backed off" if backoff else "improper"
    others = f", {ways[helped]} {helped}, {ways['cut']} cut" if troubled else ""
    say(f"{counted(count, 'sentence')}{others}: {seconds:.1f} s, {count / seconds:,.0f} a second")
    if strict and count > ways["parsed"]:
        raise typer.Exit(1)


@app.command()
def draw(
    head: str = typer.Argument(help="Head symbol, such as NN; ROOT for the root."),
    direction: Literal["left", "right"] = typer.Argument(help="Side of the head."),
    model: str = _MODEL,
    treebank: str | None = typer.Option(
        None,
        help="Trees whose sequences determine the picture; by default, sequences sampled from the automaton.",
    ),
    output: str = TEXT_OUTPUT,
    force: bool = FORCE,
    picture: Literal["svg", "dot"] = typer.Option("svg", "--format", help="Output format."),
    clusters: int = typer.Option(10, min=1, help="Number of clusters before merging."),
    way: Literal["own", "published"] = WAY,
    prefixes: int = typer.Option(30, min=1, help="Number of frequent prefixes to cluster."),
    threshold: float = typer.Option(0.03, min=0.0, help="Omit transitions up to this probability."),
) -> None:
    """Draw the automaton of a head.

    The picture is a small deterministic automaton, with probabilities of moves and stops.
    """
    from gramian.automata.automaton_picture import to_svg
    from gramian.automata.dfa import dfa_approximation
    from gramian.automata.exchange import to_dot
    from gramian.dependency.dependency_parser import DependencyParser
    from gramian.dependency.head_sequences import head_sequences, projective
    from gramian.dependency.split_head_automata import LEFT, RIGHT
    from gramian.io.output import writing

    parser = DependencyParser.load(model)
    symbol, side = None if head == "ROOT" else head, LEFT if direction == "left" else RIGHT
    automaton = parser.grammar.automaton(symbol, side)
    if treebank is not None:
        trees = projective([*_sentences(treebank)])
        symbols = [parser.symbols(sentence.tokens) for sentence in trees.sentences]
        samples = head_sequences(parser.symbols.names, symbols, trees.heads).samples
        if (symbol, side) not in samples:
            raise OptionError(f"{treebank} has no word with the symbol {head!r}")
        sample = samples[symbol, side]
    elif automaton.is_probabilistic(1e-6):
        sample = automaton.sample(5000)
    else:
        problem = f"the automaton of {head!r} is not a distribution"
        raise OptionError(f"{problem}; try: --treebank, to draw by its trees")
    # Modifier sequences are short: few prefixes are frequent, and rare ones would merge all states into one.
    approximation = dfa_approximation(automaton, sample, clusters, way=way, n_prefixes=prefixes)
    with writing(output) as file:
        print((to_dot if picture == "dot" else to_svg)(approximation.machine, threshold), file=file)
    say(f"{head} {direction}: {automaton.n_states} states, drawn as {approximation}")


@app.command("eval")
def evaluate(
    gold: str = typer.Argument(help="Gold CoNLL-U: a file, a folder, or - for stdin."),
    pred: str = typer.Argument(help="Predicted CoNLL-U of the same text."),
    as_json: bool = AS_JSON,
    subtypes: bool = typer.Option(
        True, help="Compare subtypes of relations, such as nsubj:pass; CoNLL 2018 does not."
    ),
) -> None:
    """Score a prediction by the metrics of the CoNLL 2018 shared task.

    Words are aligned by their characters, so that the prediction may have other tokens and sentences. Where the words are the same,
    UAS and LAS are given over all words and without punctuation, too.
    """
    from gramian.evaluate.attachments import attachment_scores
    from gramian.evaluate.conll_scores import conll_scores

    if gold == pred == "-":
        raise OptionError("only one of the files can be stdin")
    ours, theirs = [*_sentences(gold)], [*_sentences(pred)]
    table = conll_scores(ours, theirs)
    same_words = [sentence.words for sentence in ours] == [sentence.words for sentence in theirs]
    scores = attachment_scores(ours, theirs, subtypes=subtypes) if same_words else None
    figures = {} if scores is None else scores.as_dict()
    names = [name for name in figures if name.startswith(("uas", "las"))]
    signatures = {} if scores is None else {name: scores.signature(name) for name in names}
    calibration = _calibration(ours, theirs) if same_words else None
    if calibration is not None:
        figures["ece"] = 100.0 * calibration
    if as_json:
        columns = ("precision", "recall", "f1", "accuracy")
        conll = {metric: {name: getattr(score, name) for name in columns} for metric, score in table.items()}
        print_json({**figures, "conll18": conll, "signatures": signatures}, indent=2)
        return
    print(f"{counted(len(ours), 'sentence')}, {counted(sum(map(len, ours)), 'word')}")
    print("metric     precision  recall      F1  of aligned words")
    for metric, score in table.items():
        print(
            f"{metric:9}  {score.precision:9.2f}  {score.recall:6.2f}  {score.f1:6.2f}  {score.accuracy:16.2f}"
        )
    for name, signature in signatures.items():
        print(f"{figures[name]:6.2f}  {signature}")
    if calibration is not None:
        print(f"{figures['ece']:6.2f}  expected calibration error of the confidences of arcs")


def _calibration(gold: Sequence[Sentence], predicted: Sequence[Sentence]) -> float | None:
    """Return the expected calibration error of the confidences in MISC; None if there are none."""
    from gramian.evaluate.confidences import reliability

    pairs = [
        (float(match[1]), ours.head == theirs.head)
        for sentence, other in zip(gold, predicted, strict=True)
        for ours, theirs in zip(sentence.tokens, other.tokens, strict=True)
        if (match := _CONFIDENCE.search(theirs.misc))
    ]
    if not pairs:
        return None
    return reliability([value for value, _ in pairs], [right for _, right in pairs]).ece


def _is_conllu(source: Source, start: str) -> bool:
    """Tell whether the first line that is no comment has tabs, or there is none; `start` is known of a source that is read once."""
    from gramian.io.reading import expand, open_text, reads_once

    if reads_once(source):
        return _begins_with_table(start.splitlines())
    with open_text(expand(source)[0]) as file:
        return _begins_with_table(file)


def _begins_with_table(lines: Iterable[str]) -> bool:
    return "\t" in next((line for line in lines if line.strip() and line[0] != "#"), "\t")


def _text_lines(source: Source) -> Iterator[str]:
    """Yield the lines of a text, or of all texts of a folder."""
    from gramian.io.reading import expand, open_text

    for file in expand(source):
        with open_text(file) as lines:
            yield from lines.segments()


def _with_known_tags(
    sentences: Iterator[Sentence], parser: DependencyParser, retag: bool
) -> Iterator[Sentence]:
    """Return the sentences; warn if the model knows few of the tags of the first ones."""
    from gramian.dependency.symbol_map import UNKNOWN

    first = list(islice(sentences, _LOOKED_AT))
    tagged = (
        []
        if retag
        else [s for s in first if parser.tagger is None or all(not t.upos == t.xpos == "_" for t in s.tokens)]
    )
    symbols = [symbol for sentence in tagged for symbol in parser.symbols(sentence.tokens)]
    known = 1 - symbols.count(UNKNOWN) / max(1, len(symbols))
    if known < _LEAST_KNOWN:
        column = parser.symbols.column.upper()
        such = ", ".join(parser.symbols.names[:5])
        say(f"gramian: the model knows {known:.0%} of the tags; it was learnt from {column} such as {such}")
    return chain(first, sentences)


def _sentences(source: Source, hint: str = _NONE_LEFT_OUT, *, arcs: bool = True) -> Iterator[Sentence]:
    """Read sentences, with a `hint` of its own about a broken one."""
    from gramian.trees import ConlluError, read_conllu

    try:
        yield from read_conllu(source, arcs=arcs)
    except ConlluError as error:
        error.hint = hint
        raise
