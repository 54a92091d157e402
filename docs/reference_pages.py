"""Pages of the reference, one a topic, made from the names that ``gramian`` and its packages list in ``__all__``."""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path

import gramian

FIRST = ("load", "Parser", "ParseResult", "train")
"""Names that begin their pages."""
# Title, the packages whose names the page lists, and further names.
TOPICS = {
    "parsing": (
        "Parsing", ("parsing", "chart"),
        ("gramian.parsing.model_store.load_model", "gramian.parsing.model_store.save_model", "gramian.interop.spacy.GramianComponent",
         "gramian.interop.hub.save_to_hub", "gramian.interop.hub.load_from_hub", "gramian.interop.hub.model_card"),
    ),
    "trees": ("Trees and treebanks", ("trees", "treebank"), ()),
    "learning": (
        "Learning grammars", ("api", "training", "learn", "experts"),
        ("gramian.learn.state_search.search_states", "gramian.tasks.task_runner.run_tasks"),
    ),
    "grammars": (
        "Grammars", ("grammar",),
        ("gramian.grammar.describe.Describer", "gramian.grammar.tree_sampling.TreeSampler"),
    ),
    "corpora": (
        "Corpora and searches", ("pipelines", "search", "editing", "complexity"),
        (
            "gramian.pipelines.corpus_run.parse_corpus", "gramian.pipelines.corpus_status.corpus_status",
            "gramian.pipelines.corpus_status.CorpusStatus", "gramian.search.pattern_parser.parse_pattern",
            "gramian.search.tree_match.matches",
            "gramian.search.tree_search.SearchMatch", "gramian.search.tree_search.count",
        ),
    ),
    "scores": ("Scores", ("evaluate",), ()),
    "sequences": ("Models of sequences", ("automata",), ("gramian.automata.dfa.dfa_approximation",)),
    "dependencies": ("Dependencies", ("dependency",), ()),
    "experiments": ("Experiments", ("experiments",), ()),
}  # fmt: skip


def entry(path: str) -> str:
    """Return the directive that documents a class or a function; nothing for a constant."""
    module, _, name = path.rpartition(".")
    value = getattr(importlib.import_module(module), name)
    if inspect.isclass(value):
        parents = "   :inherited-members: BaseEstimator\n" if hasattr(value, "get_params") else ""
        return f".. autoclass:: {path}\n   :members:\n{parents}"
    return f".. autofunction:: {path}\n" if inspect.isroutine(value) else ""


def pages() -> dict[str, str]:
    """Return the text of each page by its name."""
    homes = {name: getattr(gramian, name).__module__ for name in gramian.__all__}
    found = {}
    seen: set[int] = set()
    for page, (title, packages, further) in TOPICS.items():
        front = [name for name, home in homes.items() if home.split(".")[1] in packages]
        front.sort(key=lambda name: FIRST.index(name) if name in FIRST else len(FIRST))
        listed = {
            f"gramian.{package}.{name}"
            for package in packages
            for name in getattr(importlib.import_module(f"gramian.{package}"), "__all__", ())
            if name not in homes and _is_new(f"gramian.{package}", name, seen)
        }
        sections = {
            "From `gramian` itself": [f"gramian.{name}" for name in front],
            "More": sorted(listed) + list(further),
        }
        text = f"# {title}\n"
        for heading, paths in sections.items():
            if paths:
                body = "\n".join(entry(path) for path in paths)
                text += f"\n## {heading}\n\n```{{eval-rst}}\n{body}```\n"
        found[page] = text
    return found


def _is_new(module: str, name: str, seen: set[int]) -> bool:
    """Tell whether a class or function stands on no page yet; two packages may list the same."""
    value = getattr(importlib.import_module(module), name)
    if not callable(value):
        return True
    is_new = id(value) not in seen
    seen.add(id(value))
    return is_new


def write(folder: Path) -> None:
    """Write the pages; those that would not change are left alone, so that nothing is built anew for them."""
    folder.mkdir(exist_ok=True)
    for page, text in pages().items():
        path = folder / f"{page}.md"
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
