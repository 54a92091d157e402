"""The page of labels, made from the glossary that the page and the command line use."""

from __future__ import annotations

from pathlib import Path

from gramian.trees import SCHEMES
from gramian.trees.glossary import entries

TITLES = {"ud": "Universal Dependencies"}
TITLES |= {scheme.name: scheme.treebanks for scheme in SCHEMES.values()}
TITLES |= {
    language.glossary: language.treebank for scheme in SCHEMES.values() for language in scheme.languages
}
KINDS = {"phrase": "Phrases", "tag": "Tags", "relation": "Relations", "part": "Behind a label"}


def page() -> str:
    """Return the text of the page."""
    text = "# Labels\n\n`gramian inspect --explain LABEL` says the same; a label that ends in `*` stands for all that begin so.\n"
    sections = dict.fromkeys((one.scheme, one.kind) for one in entries())
    last = ""
    for scheme, kind in sections:
        if scheme != last:
            text += f"\n## {TITLES[scheme]}\n"
            last = scheme
        rows = [one for one in entries() if (one.scheme, one.kind) == (scheme, kind)]
        text += f"\n### {KINDS[kind]} of {TITLES[scheme]}\n\n| label | meaning |\n| --- | --- |\n"
        text += "".join(
            f"| `` {one.label} `` | {one.words} |\n"
            if "`" not in one.label
            else f"| {one.label} | {one.words} |\n"
            for one in rows
        )
    return text


def write(path: Path) -> None:
    """Write the page, unless it would not change."""
    text = page()
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
