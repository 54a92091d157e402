"""The page of the source papers, made from papers.toml: measured tables, published figures beside them, and the audit.

``python docs/paper_pages.py`` writes papers.md. ``python docs/paper_pages.py FOLDER TABLE`` prints a table of an experiment's folder as
papers.toml holds it, with the date of the run.
"""

from __future__ import annotations

import csv
import json
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

from gramian.experiments.published import published_table

HERE = Path(__file__).parent


def page() -> str:
    """Return the text of the page."""
    data = tomllib.loads((HERE / "papers.toml").read_text("utf-8"))
    parts = [f"# {data['title']}", data["introduction"]]
    for paper in data["papers"]:
        parts += [f"## {paper['title']}", paper["introduction"]]
        for table in paper["tables"]:
            parts += [f"### {table['title']}", *measured(table), table["difference"]]
    parts += ["## Audit", data["audit"]]
    for paper in data["papers"]:
        parts += [f"### Audit: {paper['title']}", *audited(paper["audit"])]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def measured(table: dict[str, Any]) -> list[str]:
    """Return the command of a table, its settings and date, and its rows, with published figures behind the first column.

    A table without a command comes from the runs of the one before it, and a command without settings that has ``few.toml`` uses those of
    the one before it.
    """
    columns, rows = list(table["columns"]), [list(row) for row in table["rows"]]
    if "published" in table:
        columns, rows = with_published(table, columns, rows)
    if "command" not in table:
        return [f"From the same runs: {table['data']}.", markdown(columns, rows)]
    lines = [table["command"]]
    if "settings" in table:
        lines = ["cat > few.toml <<END", *table["settings"].strip().splitlines(), "END", *lines]
    block = "\n".join(["```sh", *lines, "```"])
    return [block, f"Run on {table['date']}: {table['data']}.", markdown(columns, rows)]


def audited(rows: list[list[str]]) -> list[str]:
    """Return what is available as published, by section of the paper and then by where it is, and a table of what has a remark."""
    sections: dict[str, dict[str, list[str]]] = {}
    for item, where, status in rows:
        section, name = re.fullmatch(r"(?:(§\S+|appendix A|(?:figure|table) \d+):? )?(.+)", item).groups()
        if status == "ok":
            sections.setdefault(section or "figures and tables", {}).setdefault(where, []).append(name)
    lines = []
    for section in sorted(sections, key=lambda name: (not name.startswith("§"), name)):
        available = [f"{', '.join(names)} ({where})" for where, names in sections[section].items()]
        lines.append(f"- {section}: {'; '.join(available)}")
    remarks = [row for row in rows if row[2] != "ok"]
    return ["\n".join(lines), markdown(["with a remark", "in gramian", "status"], remarks)]


def with_published(
    table: dict[str, Any], columns: list[str], rows: list[list[Any]]
) -> tuple[list[str], list[list[Any]]]:
    """Put chosen columns of a published table behind the first column, where its first column names the same row."""
    source, chosen = table["published"].split("."), table["published_columns"]
    printed = {str(row[0]): row for row in published_table(*source, "", []).rows}
    found = []
    for name, *ours in rows:
        row = printed.get(str(name), {})
        found.append([name, *(row[column] if row else None for column in chosen.values()), *ours])
    return [columns[0], *(f"published: {name}" for name in chosen), *columns[1:]], found


def markdown(columns: list[str], rows: list[list[Any]]) -> str:
    """Return a table."""
    lines = [columns, ["---"] * len(columns), *rows]
    cells = [["" if cell is None else str(cell).replace("|", "\\|") for cell in line] for line in lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in cells)


def from_experiment(folder: Path, name: str) -> str:
    """Return a table of an experiment, its date and its number of seeds as TOML."""
    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    with open(folder / "tables" / f"{name}.csv", encoding="utf-8", newline="") as file:
        columns, *rows = csv.reader(file)
    lines = [
        f'date = "{manifest["written"][:10]}"  # {len(manifest["seeds"])} seeds, {manifest["runs"]["finished"]} runs'
    ]
    lines += [f"columns = {json.dumps(columns, ensure_ascii=False)}", "rows = ["]
    lines += [f"    {json.dumps(row, ensure_ascii=False)}," for row in rows]
    return "\n".join([*lines, "]"])


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(from_experiment(Path(sys.argv[1]), sys.argv[2]))
    else:
        (HERE / "papers.md").write_text(page(), encoding="utf-8")
