"""The report: one HTML file that needs nothing else, readable on a desk and on a phone."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from gramian.errors import counted
from gramian.experiments.results import Entry, Figure, Picture, Section, Spread, Table

if TYPE_CHECKING:
    from gramian.experiments.run import Experiment


def page(experiment: Experiment, manifest: Mapping[str, Any], drawn: Mapping[str, str]) -> str:
    """Return the report as HTML; `manifest` is the manifest, `drawn` has the figures as SVG, by name."""
    recipe, runs = experiment.plan.recipe, manifest["runs"]
    links = body = ""
    for number, section in enumerate(experiment.sections, start=1):
        links += f'<a href="#part-{number}">{escape(section.title)}</a>'
        body += _section(section, number, drawn)
    missing = runs["planned"] - runs["finished"]
    state = f"{runs['finished']} of {runs['planned']} runs" if missing else f"all {runs['planned']} runs"
    return _resource("report.html").format(
        title=escape(recipe.title),
        style=_resource("report.css"),
        about=escape(recipe.about),
        data=escape(manifest["data"]["name"]),
        sha256=manifest["data"]["sha256"],
        state=state.capitalize(),
        seeds=counted(len(manifest["seeds"]), "seed"),
        version=escape(manifest["gramian"]),
        links=links,
        failures=_failures(experiment),
        body=body,
        settings=escape(experiment.plan.toml),
        signatures=_signatures(manifest),
        manifest=escape(json.dumps(manifest, indent=2, ensure_ascii=False)),
    )


def _resource(name: str) -> str:
    return (files("gramian.experiments") / name).read_text(encoding="utf-8")


def _section(section: Section, number: int, drawn: Mapping[str, str]) -> str:
    parts = "".join(_part(part, drawn) for part in section.parts)
    return f"""<h2 id="part-{number}">{escape(section.title)}</h2>
<p>{escape(section.text)}</p>
<div class="parts">{parts}</div>
"""


def _part(part: Table | Figure | Picture, drawn: Mapping[str, str]) -> str:
    if isinstance(part, Table):
        published = part.published and f'<div class="published">{_table(part.published)}</div>\n'
        return f"<div>{_table(part)}</div>\n{published or ''}"
    caption = escape(part.caption)
    if isinstance(part, Figure):
        wide, image = bool(part.categories), drawn.get(part.name, "")
    else:  # as an image of its own, so that its styles and names do not reach the rest of the page
        content = base64.b64encode(part.svg.encode()).decode()
        wide, image = True, f'<img src="data:image/svg+xml;base64,{content}" alt="{caption}">'
    kind = ' class="wide"' if wide else ""
    return f"<figure{kind}>{image}<figcaption>{caption}</figcaption></figure>\n"


def _table(table: Table) -> str:
    head = "".join(f'<th scope="col">{escape(column)}</th>' for column in table.columns)
    rows = "".join(
        f"<tr>{''.join(f'<td>{_entry(entry)}</td>' for entry in row)}</tr>\n" for row in table.rows
    )
    label = escape(table.caption)
    return (
        f'<div class="caption">{label}</div><div class="scroll"><table aria-label="{label}">'
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _entry(entry: Entry) -> str:
    if entry is None:
        return "–"
    if isinstance(entry, Spread):
        return escape(str(entry)).replace(" ", "&nbsp;")
    if isinstance(entry, float):
        return f"{entry:,.2f}"
    return f"{entry:,}" if isinstance(entry, int) else escape(entry)


def _failures(experiment: Experiment) -> str:
    if not experiment.failures:
        return ""
    items = "".join(
        f"<details><summary>{escape(failure.task['cell'])}, seed {failure.task['seed']}</summary>"
        f"<pre>{escape(failure.error)}</pre></details>"
        for failure in experiment.failures
    )
    return f'<div class="failed"><p>Failed, and tried again by the same command: {len(experiment.failures)} of the runs.</p>{items}</div>\n'


def _signatures(facts: Mapping[str, Any]) -> str:
    lines = "".join(f"<li><code>{escape(signature)}</code></li>" for signature in facts["signatures"])
    note = (
        "± is the standard deviation over seeds. * marks a difference at p &lt; 0.05, ** at p &lt; 0.01, by approximate randomisation "
        "over the sentences of all seeds; what is compared with what is said above each table."
    )
    return f'<p class="note">{note}</p>' + (f"<p>Scores are signed:</p><ul>{lines}</ul>" if lines else "")
