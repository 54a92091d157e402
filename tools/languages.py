"""Models of other languages, each a small package of its own with a model card under models/, built from a folder of treebanks.

    python -m tools.languages DATA [LANGUAGE ...] [--models FOLDER] [--jobs 2]

DATA holds the treebanks under the names below, each with train.mrg and dev.mrg. A package is found by its entry point:
``pip install models/gramian-fr``, then ``gramian parse -m fr`` and ``gramian.load("fr")``. The same data and the same version
of gramian give the same bytes. Prints one JSON object: sizes and scores.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from gramian.parsing.model import Model

ROOT = Path(__file__).parents[1]
LARGEST = 12_000_000  # bytes of a model; a neural expert takes 4 to 5 MB of them
NEGLIGIBLE = 0.03  # weight of a word's feature; nine in ten are smaller where there are many tags


class Language(NamedTuple):
    name: str
    treebank: str
    licence: str  # of the model, as SPDX writes it
    terms: str  # where the licence can be read
    attribution: str
    options: Mapping[str, Any] = {}  # of the training, so that the file is not too large


LANGUAGES = {
    "fr": Language(
        "French",
        "sequoia-fr",
        "LGPLLR",
        "https://spdx.org/licenses/LGPLLR.html",
        "Trees: the Sequoia treebank 6.0, Candito and Seddah, in the scheme of the French Treebank (LGPL-LR).",
        {"expert": "neural", "neural.max_iter": 25},
    ),
    "id": Language(
        "Indonesian",
        "icon-id",
        "CC-BY-SA-4.0",
        "https://creativecommons.org/licenses/by-sa/4.0/",
        "Trees: ICON, Indonesian constituency treebank, AI Singapore (CC BY-SA 4.0).",
        {"expert": "neural", "neural.max_iter": 12},
    ),
    "is": Language(
        "Icelandic",
        "icepahc-is",
        "CC-BY-4.0",
        "https://creativecommons.org/licenses/by/4.0/",
        "Trees: IcePaHC, Icelandic Parsed Historical Corpus, texts of 1830 to 2008, Wallenberg et al. (CC BY 4.0).",
        {"ensemble_size": 1},
    ),
    "ja": Language(
        "Japanese",
        "keyaki-ja",
        "CC-BY-4.0",
        "https://creativecommons.org/licenses/by/4.0/",
        "Trees: Keyaki Treebank 1.1, Butler et al. (annotation CC BY 4.0); texts in the public domain or under Creative Commons licences.",
        {"ensemble_size": 1},
    ),
}

_PROJECT = """\
[build-system]
requires = ["hatchling>=1.26"]
build-backend = "hatchling.build"

[project]
name = "gramian-{code}"
version = "{version}"
description = "A model of {name} for gramian."
readme = "README.md"
license = "{licence}"
license-files = ["LICENSE.md"]
requires-python = ">=3.11"
dependencies = ["gramian>={version}"]

[project.entry-points."gramian.models"]
{code} = "gramian_{code}"

[tool.hatch.build.targets.wheel]
packages = ["gramian_{code}"]
artifacts = ["*.grammar"]
"""

_LICENCE = """\
# Licence of the model

`gramian_{code}/model.grammar` is a work derived from the treebank below, and is under {licence} ({terms}), apart from gramian's own
licence. Whoever passes it on keeps this notice.

{attribution}
"""

_README = """\
# gramian-{code}

A model of {name} for gramian: `gramian parse -m {code}`, `gramian.load("{code}")`.

It was made by `python -m tools.languages DATA {code}`, which trains as `gramian train {treebank}/train.mrg --dev {treebank}/dev.mrg`
does{told}.

{card}"""


def build(code: str, data: Path, models: Path, jobs: int) -> dict[str, object]:
    """Train the model of a language, and write its package."""
    from gramian.parsing.model_store import save_model
    from gramian.training import TrainingRun, TrainingSettings

    language = LANGUAGES[code]
    package = models / f"gramian-{code}"
    module = package / f"gramian_{code}"
    module.mkdir(parents=True, exist_ok=True)
    path = module / "model.grammar"
    settings = TrainingSettings.of(language.options, attribution=language.attribution, language=code)
    folder = data / language.treebank
    model = TrainingRun(
        str(folder / "train.mrg"), settings, dev=str(folder / "dev.mrg"), n_jobs=jobs, checkpoint=path
    ).run()
    # A model says nothing of where a machine keeps its data.
    about = dict(model.data) | {"source": f"{language.treebank}/train.mrg"}
    metrics = dict(model.metrics) | {"dev": f"{language.treebank}/dev.mrg"}
    model = replace(model, data=about, metrics=metrics)
    save_model(model, path, half=True)
    size = path.stat().st_size
    if size > LARGEST:
        model = lightened(model, str(folder / "dev.mrg"))
        metrics = dict(model.metrics)
        save_model(model, path, half=True)
        size = path.stat().st_size
    if size > LARGEST:
        path.unlink()
        raise SystemExit(
            f"the model of {language.name} has {size:,} bytes, and at most {LARGEST:,} are allowed"
        )
    describe(code, package, model)
    tokenizer = None if model.text is None else model.text.tokenizer
    return {
        "bytes": size,
        "f1": metrics["f1"],
        "words cut as in the treebank": None if tokenizer is None else tokenizer.f1,
    }


def lightened(model: Model, dev: str) -> Model:
    """Return a model whose negligible weights of words' features are zero, which takes a bit each, scored again."""
    from gramian.parsing.parser import Parser

    grammars = []
    for grammar in model.grammars:
        weights = grammar.lexicon.feature_weights
        kept = np.where(np.abs(weights) < NEGLIGIBLE, 0, weights).astype(weights.dtype)
        grammars.append(replace(grammar, lexicon=replace(grammar.lexicon, feature_weights=kept)))
    model = replace(model, grammars=tuple(grammars))
    scores = Parser(model).evaluate(dev)
    found = {name: round(value, 3) for name, value in scores.as_dict().items()}
    return replace(model, metrics=dict(model.metrics) | found)


def describe(code: str, package: Path, model: Model) -> None:
    """Write what a package has beside its model: its card is the README."""
    from gramian import __version__
    from gramian.interop.hub import model_facts
    from gramian.io.output import writing

    options = ", ".join(f"{name} {value}" for name, value in LANGUAGES[code].options.items())
    told = f" ({options})" if options else ""
    facts = {"code": code, "version": __version__, "told": told, **LANGUAGES[code]._asdict()}
    facts["card"] = model_facts(model, LANGUAGES[code].licence)
    texts = {"pyproject.toml": _PROJECT, "README.md": _README, "LICENSE.md": _LICENCE}
    texts[f"gramian_{code}/__init__.py"] = '"""A model of {name} for gramian."""\n'
    for name, text in texts.items():
        with writing(package / name) as file:
            file.write(text.format(**facts))


def main() -> int:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("data", type=Path)
    options.add_argument("languages", nargs="*", metavar="LANGUAGE", help=f"of {', '.join(LANGUAGES)}")
    options.add_argument("--models", type=Path, default=ROOT / "models")
    options.add_argument("--jobs", type=int, default=1)
    chosen = options.parse_args()
    if unknown := set(chosen.languages) - LANGUAGES.keys():
        options.error(f"there is no recipe for {min(unknown)}; try: {', '.join(LANGUAGES)}")
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    found = {
        code: build(code, chosen.data, chosen.models, chosen.jobs) for code in chosen.languages or LANGUAGES
    }
    print(json.dumps(found, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
