"""Many models from one treebank: how many, made different by which noise, combined how (Narayan and Cohen 2015)."""

from __future__ import annotations

from typing import Any

from gramian.chart.combine import COMBINATIONS
from gramian.experiments.data import Data, find_treebank, split_trees
from gramian.experiments.measure import expected_seconds, parse_and_score, recipe_of, trained
from gramian.experiments.plan import Cell, Options, Recipe, Task
from gramian.experiments.results import Entry, Figure, Line, Results, Section, Spread, Table
from gramian.parsing.model import Model

__all__ = ["RECIPE"]

NAMES = {
    "seeds": "seeds alone",
    "binarisation": "either binarisation",
    "dropout": "dropout",
    "additive": "additive noise",
    "multiplicative": "multiplicative noise",
}


def cells(data: Data, options: Options) -> list[Cell]:
    """Return a cell for each scheme of noise."""
    train, test = (len(part) for part in split_trees(data.files, options["preset"]))
    size, tested = min(train, options["train"] or train), min(test, options["test_sentences"])
    models = options["models"]
    seconds = max(models) * expected_seconds("spectral-em", options["states"], size, 0)
    seconds += sum(models) * len(options["combinations"]) * 5e-3 * tested
    return [
        Cell(
            scheme,
            {"scheme": scheme, "models": models, "combinations": options["combinations"], "states": options["states"],
             "level": options["level"], "train": size, "test": tested, "preset": options["preset"]},
            seconds,
        )
        for scheme in options["schemes"]
    ]  # fmt: skip


def measure(task: Task) -> dict[str, Any]:
    """Learn models, and parse with more and more of them."""
    settings = task["settings"]
    train, test = split_trees(task["files"], settings["preset"])
    test = test[: settings["test"]]
    train = train[: settings["train"]]
    scheme = settings["scheme"]
    noise = (
        {}
        if scheme in ("seeds", "binarisation")
        else {"clustering__noise": scheme, "clustering__noise_level": settings["level"]}
    )
    most = max(settings["models"])
    learnt = {"method": "spectral-em", "states": settings["states"], "models": most, "options": noise}
    shape = {} if scheme == "binarisation" else {"shape": ["right"]}
    many, seconds = trained(train, recipe_of(learnt | shape, task["seed"]))
    grammars = many.grammars
    found: dict[str, Any] = {"training_seconds": round(seconds, 1), "sentences": {}}
    for models in settings["models"]:
        for combination in settings["combinations"] if models > 1 else settings["combinations"][:1]:
            model = Model(grammars[0], others=tuple(grammars[1:models]))
            scored = parse_and_score(model, test, scheme=settings["preset"], combination=combination)
            name = f"{models} {combination}"
            found |= {
                f"f1 {name}": scored["f1"],
                f"milliseconds {name}": scored["milliseconds"],
                "signature": scored["signature"],
            }
            found["sentences"][f"f1 {name}"] = scored["sentences"]["f1"]
    return found


def sections(results: Results) -> list[Section]:
    """Return F1 by number of models."""
    models, combinations = results.options["models"], results.options["combinations"]
    schemes = [scheme for scheme in NAMES if results.runs(scheme)]
    first = combinations[0]

    def metric(number: int, combination: str) -> str:
        return f"{number} {combination if number > 1 else first}"

    parts: list[Table | Figure] = []
    for combination in combinations:
        rows: list[list[Entry]] = [
            [
                number,
                *(
                    results.against(scheme, "seeds", f"f1 {metric(number, combination)}")
                    for scheme in schemes
                ),
                results.value(schemes[0], f"milliseconds {metric(number, combination)}", 1),
            ]
            for number in models
        ]
        columns = ["models", *(NAMES[scheme] for scheme in schemes), "milliseconds per sentence"]
        parts.append(Table(f"f1-{combination}", f"F1, models combined by {combination}", columns, rows))
        lines = []
        for scheme in schemes:
            points: list[tuple[float, Spread]] = []
            for number in models:
                spread = results.value(scheme, f"f1 {metric(number, combination)}")
                points += [] if spread is None else [(number, spread)]
            lines.append(Line(NAMES[scheme], points))
        parts.append(
            Figure(
                f"f1-{combination}", f"Models against F1, by {combination}", "models", "F1", lines, log_x=True
            )
        )
    return [
        Section(
            "Models against F1",
            "Each further model is learnt with another seed, and with noise or from the other binarisation. Marks tell what differs from"
            " seeds alone."
            " The paper has 90.18 on WSJ with 80 models of each scheme and a reranker, where single models have 86 to 88.",
            parts,
        )
    ]


OPTIONS = {
    "preset": "auto", "schemes": list(NAMES), "level": 0.1, "models": [1, 2, 4, 8, 16], "combinations": ["product", "sum", "coverage"],
    "states": 16, "train": 0, "test_sentences": 500,
}  # fmt: skip
QUICK = {"models": [1, 2, 4], "combinations": ["product"], "states": 8, "train": 600, "test_sentences": 60}

RECIPE = Recipe(
    "noise", "Noise: models against F1",
    "Many models of one treebank, made different by seeds and noise, combined as one (Narayan and Cohen 2015, Diversity in "
    "spectral learning for natural language parsing).",
    find_treebank, OPTIONS, QUICK, cells, measure, sections, {"schemes": NAMES, "combinations": COMBINATIONS},
)  # fmt: skip
