"""Split head-automata grammars: states against attachment score, and what an automaton found (Balle et al. 2014, figures 8-10 and 12).

As published, marginals are decoded as they are; every table counts the sentences in which they are no distribution. The same with the
help of a smoothed DET+F grammar there, gramian's own way, stands beside it. Deterministic approximations are drawn in the published
way and in gramian's, and compared for all heads. Hidden states that also pass from heads to modifiers (section 6.4) are those of an
L-PCFG of the phrases of dependency trees.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from itertools import pairwise
from time import process_time
from typing import Any, NamedTuple

from gramian.automata.automaton_picture import to_svg
from gramian.automata.dfa import DFAApproximation, Way, dfa_approximation
from gramian.dependency.half_constituents import decode
from gramian.dependency.head_automata import (
    HeadBasis,
    backoff,
    deterministic,
    expectation_maximisation,
    spectral,
)
from gramian.dependency.head_sequences import (
    Head,
    HeadSequences,
    ProjectiveTrees,
    head_sequences,
    projective,
)
from gramian.dependency.phrase_trees import phrase_heads, phrase_tree
from gramian.dependency.split_head_automata import LEFT, RIGHT, SHAG
from gramian.dependency.symbol_map import SymbolMap
from gramian.errors import OptionError
from gramian.evaluate.attachments import attachment_scores
from gramian.experiments.data import Data, find_dependencies
from gramian.experiments.measure import FALLBACKS, settings_of, trained
from gramian.experiments.plan import Cell, ExperimentSetting, Options, Recipe, Task
from gramian.experiments.published import published_table
from gramian.experiments.results import Entry, Figure, Line, Picture, Results, Section, Spread, Table
from gramian.parsing.model import Model
from gramian.parsing.parser import Parser
from gramian.training import TrainingData
from gramian.trees import Sentence, read_conllu


class Variant(NamedTuple):
    """A way to learn the automata: from sequences, and from ``n_states`` and ``random_state`` where they change anything."""

    figure: int  # of the paper, whose curve it is
    learn: Callable[..., SHAG]
    states: int | None = None  # the number it always has, if it cannot be chosen
    has_seed: bool = False


VARIANTS: dict[str, Variant] = {
    "DET": Variant(8, deterministic, states=1),
    "DET+F": Variant(8, partial(deterministic, first=True), states=2),
    **{
        f"symbols, mass {mass:g}": Variant(8, partial(spectral, basis=HeadBasis("symbols", mass=mass)))
        for mass in (0.0, 0.0001, 0.0005, 0.001)
    },
    **{
        f"extended, factor {factor:g}": Variant(9, partial(spectral, basis=HeadBasis(cut_factor=factor)))
        for factor in (1.0, 2.0, 5.0, 10.0)
    },
    **{
        f"EM, {steps} steps": Variant(10, partial(expectation_maximisation, max_iter=steps), has_seed=True)
        for steps in (10, 25, 50, 100)
    },
}

FIGURES = {  # of the study's numbers: those of the paper
    8: ("figure-8a", "Figure 8a: the basis of symbols"),
    9: ("figure-8b", "Figure 8b: extended bases"),
    10: ("figure-9", "Figure 9: EM"),
}


WAYS: dict[Way, str] = {"published": "published way", "own": "gramian's way"}
_FEW = 100  # modifiers of a head whose automaton is compared


@lru_cache(maxsize=2)
def _sentences(path: str) -> list[Sentence]:
    return list(read_conllu(path, broken="skip"))


def cells(data: Data, options: Options) -> list[Cell]:
    """Return a cell for each variant and number of states, with and without help, for EM's steps, and for the pictures."""
    common = {name: options[name] for name in ("train", "symbols")}
    scored = common | {"test": options["test_sentences"], "single_root": options["single_root"]}
    planned = []
    for name in options["variants"]:
        variant = VARIANTS[name]
        em = variant.figure == 10
        numbers = [*options["states"], *(options["em_states"] if em else ())]
        for states in numbers if variant.states is None else [variant.states]:
            for helped in (False,) if variant.states is not None or em else (False, True):
                settings = scored | {"variant": name, "states": states, "helped": helped}
                cell = f"{name}/{states}" + "/helped" * helped
                planned.append(Cell(cell, settings, repeats=variant.has_seed))
    for states in options["convergence_states"]:
        settings = scored | {"states": states, "steps": options["convergence_steps"]}
        planned.append(Cell(f"convergence/{states}", settings))
    for states in options["vertical_states"]:
        settings = scored | {"vertical": options["vertical_method"] if states > 1 else "pcfg"}
        planned.append(Cell(f"vertical/{states}", settings | {"states": states}, repeats=states > 1))
    head, _, side = options["picture"].partition(" ")
    if head:
        side = side or "left"
        drawn = {name: options[name] for name in ("clusters", "prefixes")} | {"picture": head, "side": side}
        settings = common | drawn | {"states": min(9, max(options["states"]))}
        planned.append(Cell(f"picture/{head}/{side}", settings, repeats=False))
    return planned


def measure(task: Task) -> dict[str, Any]:
    """Learn one grammar; score it, or draw one of its automata."""
    settings, files = task["settings"], task["files"]
    train = projective(_sentences(files["train"])[: settings["train"] or None])
    mapping = SymbolMap.fit(train.sentences, settings["symbols"])
    if "vertical" in settings:
        return _vertical(settings, mapping, train, _sentences(files["dev"]), task["seed"])
    symbols = [mapping(sentence.tokens) for sentence in train.sentences]
    sequences = head_sequences(mapping.names, symbols, train.heads)
    if "picture" in settings:
        return _pictures(settings, sequences)
    test = _sentences(files["dev"])[: settings["test"] or None]
    score = partial(_attachment, mapping=mapping, test=test, single_root=settings["single_root"])
    if "steps" in settings:
        learn = partial(
            expectation_maximisation, sequences, n_states=settings["states"], random_state=task["seed"]
        )
        figures, grammar = {}, None
        steps = sorted(set(settings["steps"]))
        em_seconds = 0.0
        for before, step in pairwise([0, *steps]):
            began = process_time()
            grammar = learn(max_iter=step - before, start=grammar or "random")
            em_seconds += process_time() - began
            figures[f"uas after {step}"] = round(score(grammar)[0], 4)
        began = process_time()
        spectral(sequences, n_states=settings["states"])
        figures["spectral_seconds"] = round(process_time() - began, 4)
        figures["step_seconds"] = round(em_seconds / steps[-1], 4)
        return figures
    variant = VARIANTS[settings["variant"]]
    kwargs = {} if variant.states is not None else {"n_states": settings["states"]}
    if variant.has_seed:
        kwargs["random_state"] = task["seed"]
    began = process_time()
    grammar = variant.learn(sequences, **kwargs)
    seconds = process_time() - began
    uas, improper = score(grammar, helper=backoff(sequences) if settings["helped"] else None)
    failures = "mean with DET+F" if settings["helped"] else "as they are"
    return {
        "uas": round(uas, 4),
        "improper": improper,
        "share": round(100 * improper / len(test), 2),
        "training_seconds": round(seconds, 3),
        "signature": f"uas|punctuation:counted|tags:gold|marginals that are no distribution:{failures}",
    }


def _vertical(
    settings: dict[str, Any],
    mapping: SymbolMap,
    train: ProjectiveTrees,
    test: Sequence[Sentence],
    seed: int,
) -> dict[str, Any]:
    """Learn an L-PCFG of the phrases of dependency trees, and score the heads of its parses."""
    test = test[: settings["test"] or None]
    learning = settings_of({"method": settings["vertical"], "states": settings["states"]}, seed)
    pairs = zip(train.sentences, train.heads, strict=True)
    trees = [phrase_tree(mapping(sentence.tokens), heads) for sentence, heads in pairs]
    model, seconds = trained(TrainingData.read(trees, learning), learning)
    parser = Parser(Model(model.grammars), max_seconds=None)  # its words are tags, of no language
    parsed, fallback = [], 0
    for sentence in test:
        result = parser.parse([(symbol, symbol) for symbol in mapping(sentence.tokens)])
        fallback += result.status in FALLBACKS
        parsed.append(sentence.with_heads(phrase_heads(result.tree)))
    return {
        "uas": round(attachment_scores(test, parsed).uas, 4),
        "fallback": fallback,
        "training_seconds": round(seconds, 3),
        "signature": "uas|punctuation:counted|tags:gold|failures:fallback trees, which count",
    }


def _attachment(
    grammar: SHAG,
    helper: SHAG | None = None,
    *,
    mapping: SymbolMap,
    test: Sequence[Sentence],
    single_root: bool,
) -> tuple[float, int]:
    """Return the attachment score, and how many sentences have marginals that are no distribution."""
    decoded = [
        decode(grammar, helper, grammar.encode(mapping(sentence.tokens)), single_root=single_root)
        for sentence in test
    ]
    parsed = [
        sentence.with_heads(result.heads.tolist()) for sentence, result in zip(test, decoded, strict=True)
    ]
    return attachment_scores(test, parsed).uas, sum(not result.is_distribution for result in decoded)


def _pictures(settings: dict[str, Any], sequences: HeadSequences) -> dict[str, Any]:
    """Draw small deterministic automata that do what a learnt one does, in both ways; compare the ways on all heads."""
    side = LEFT if settings["side"] == "left" else RIGHT
    modifiers = {key: int(sample.lengths.sum()) for key, sample in sequences.samples.items()}
    head = settings["picture"]
    if head == "auto":
        head = max((key for key in modifiers if key[1] == side), key=modifiers.__getitem__)[0]
    if (head, side) not in modifiers:
        raise OptionError(f"no word has the symbol {head!r}; try another in the setting picture")
    grammar = spectral(sequences, n_states=settings["states"])

    def approximated(key: Head) -> dict[Way, DFAApproximation]:
        return {
            way: dfa_approximation(
                grammar.automaton(*key),
                sequences.samples[key],
                settings["clusters"],
                way=way,
                n_prefixes=settings["prefixes"],
            )
            for way in WAYS
        }

    rows: list[list[Any]] = []
    for key in modifiers:
        if key[0] is not None and modifiers[key] >= _FEW:
            rows.append([f"{key[0]}, {'right' if key[1] == RIGHT else 'left'}", modifiers[key]])
            for result in approximated(key).values():
                rows[-1] += [
                    result.machine.n_states,
                    round(100 * result.redirected, 2),
                    round(100 * result.uncovered, 2),
                ]
    rows.sort(key=lambda row: row[1], reverse=True)
    drawn = approximated((head, side))
    return {
        "head": head,
        "states_drawn": {way: result.machine.n_states for way, result in drawn.items()},
        "sentences": {
            "svg": {way: to_svg(result.machine) for way, result in drawn.items()},
            "told": {way: str(result) for way, result in drawn.items()},
            "heads": rows,
        },
    }


def sections(results: Results) -> list[Section]:
    """Return figures 8 to 10, and 12."""
    lines: dict[int, list[Line]] = {figure: [] for figure in FIGURES}
    fixed: dict[str, float] = {}
    rows: list[list[Entry]] = []
    numbers = sorted({*results.options["states"], *results.options["em_states"]})
    for name in results.options["variants"]:
        variant = VARIANTS[name]
        places = numbers if variant.states is None else [variant.states]
        line = results.line(name, [(states, f"{name}/{states}") for states in places], "uas")
        if not line.points:
            continue
        states, best = max(line.points, key=lambda point: point[1].mean)
        cell = f"{name}/{states}"
        helped = results.values(f"{cell}/helped", uas=2)
        figures = results.values(cell, improper=0, share=1, training_seconds=1)
        rows.append([name, int(states), best, *figures[:2], *helped, figures[2]])
        if variant.states is not None:
            fixed[name] = best.mean
        elif variant.figure in FIGURES:
            lines[variant.figure].append(line)
    published = published_table("shag", "text", "Balle et al. (2014), WSJ, validation", ["variant", "UAS"])
    caption = "Each variant at its best number of states; tags are gold's, arcs to punctuation count"
    columns = "variant, states, UAS, improper sentences, % of all, UAS with DET+F there, seconds of training"
    score = "unlabelled attachment score"
    parts: list[Table | Figure | Picture] = [Table("best", caption, columns.split(", "), rows, published)]

    shares: list[list[Entry]] = [
        [name, *(results.value(f"{name}/{n}", "share", 1) for n in numbers)]
        for name in results.options["variants"]
        if VARIANTS[name].states is None
    ]
    caption = "Sentences whose marginals are no distribution, in percent, by number of states"
    parts.append(Table("improper", caption, ["variant", *map(str, numbers)], shares))

    def level(shown: list[Line]) -> list[Line]:
        """Return the deterministic baselines from one end of a figure to the other."""
        xs = [x for line in shown for x, _ in line.points]
        return [Line.level(name, (min(xs), max(xs)), uas) for name, uas in fixed.items()]

    best_lines = []
    for number, group in lines.items():
        if group:
            parts.append(Figure(*FIGURES[number], "states", score, [*group, *level(group)]))
            best_lines.append(max(group, key=lambda line: max(spread.mean for _, spread in line.points)))
    steps = results.options["convergence_steps"]
    converging = [
        Line.of(f"{n} states", ((k, results.value(f"convergence/{n}", f"uas after {k}")) for k in steps))
        for n in results.options["convergence_states"]
        if results.runs(f"convergence/{n}")
    ]
    if converging:
        shown = [*converging, *level(converging)]
        parts.append(Figure("figure-9b", "Figure 9b: iterations of EM", "iterations", score, shown))
    if converging:
        rows = []
        for n in results.options["convergence_states"]:
            step, whole = (
                results.value(f"convergence/{n}", name, 3) for name in ("step_seconds", "spectral_seconds")
            )
            rows.append([n, step, whole, Spread(step.mean / whole.mean) if step and whole else None])
        caption = "Seconds of one step of EM and of spectral learning, extended basis of factor 10 (the paper: at least twice as long)"
        names = ["states", "one step of EM", "spectral learning", "ratio"]
        parts.append(Table("seconds", caption, names, rows))
    vertical = [
        [n, *results.values(f"vertical/{n}", uas=2, fallback=0, training_seconds=1)]
        for n in results.options["vertical_states"]
        if results.runs(f"vertical/{n}")
    ]
    if vertical:
        caption = "Hidden states that pass from heads to modifiers, too: an L-PCFG of the phrases of dependency trees"
        names = ["states", "UAS", "fallback trees", "seconds of training"]
        parts.append(Table("vertical", caption, names, vertical))
    if best_lines:
        title = "Figure 10: the best of each kind"
        parts.append(Figure("figure-10", title, "states", score, [*best_lines, *level(best_lines)]))
    text = (
        "Tags alone are read, as in the paper, and marginals are decoded as they are; a sentence is improper if its partition is not "
        "positive, or a marginal is above one by a twentieth."
    )
    return [Section("States against attachment", text, parts), *_found(results)]


def _found(results: Results) -> list[Section]:
    """Return what automata found, drawn and for all heads."""
    drawn = []
    text = (
        "A deterministic automaton drawn from the state vectors of a learnt one; in red, the probability of a stop. Published: frequent "
        "prefixes alone draw it, and all conflicts are merged. gramian's own: all strings draw it, and moves of few are redirected."
    )
    for cell in results.cells("picture/"):
        run = results.runs(cell)[0]
        name = f"{run['head']}, {results.settings(cell)['side']} modifiers"
        kept = run["sentences"]
        pictures: list[Table | Figure | Picture] = [
            Picture(
                f"figure-12-{way}", f"Figure 12, {WAYS[way]}: {name}: {kept['told'][way]}", kept["svg"][way]
            )
            for way in WAYS
        ]
        columns = ["head", "modifiers"]
        columns += [
            f"{figure}, {way}"
            for way in WAYS.values()
            for figure in ("states", "% redirected", "% uncovered")
        ]
        caption = "Deterministic approximations of all heads with at least 100 modifiers, both ways"
        pictures.append(Table("heads", caption, columns, kept["heads"]))
        drawn.append(Section(f"What an automaton found: {name}", text, pictures))
    return drawn


TITLE = "Split head-automata grammars: states against attachment"
ABOUT = "Figures 8 to 10 and 12 of Balle, Carreras, Luque and Quattoni (2014), Spectral learning of weighted automata, on CoNLL-U."
SETTINGS = {
    "variants": ExperimentSetting(
        list(VARIANTS),
        quick=["DET", "DET+F", "symbols, mass 0", "extended, factor 10", "EM, 10 steps"],
        choices=VARIANTS,
    ),
    "states": ExperimentSetting([1, 2, 3, 5, 7, 9, 12, 15, 20], quick=[1, 5, 9]),
    "em_states": ExperimentSetting([40, 100], quick=[9]),
    "convergence_states": ExperimentSetting([5, 10, 20], quick=[5]),
    "convergence_steps": ExperimentSetting([1, 2, 5, 10, 20, 30, 50, 75, 100], quick=[1, 5, 10]),
    "vertical_states": ExperimentSetting([1, 2, 4, 8, 16], quick=[1, 4]),
    "vertical_method": ExperimentSetting(
        "spectral-cluster", choices=("spectral-cluster", "spectral-moments", "spectral-em", "clustering")
    ),
    "symbols": ExperimentSetting("auto"),
    "single_root": ExperimentSetting(False),
    "train": ExperimentSetting(0, quick=400),
    "test_sentences": ExperimentSetting(0, quick=60),
    "picture": ExperimentSetting("auto"),
    "clusters": ExperimentSetting(10),
    "prefixes": ExperimentSetting(50),
}
RECIPE = Recipe("shag", TITLE, ABOUT, find_dependencies, SETTINGS, cells, measure, sections)
