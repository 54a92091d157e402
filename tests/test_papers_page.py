"""The page of the source papers is what papers.toml says, and its commands have settings that their recipes know."""

import re
import shlex
import sys
import tomllib
from pathlib import Path

import pytest

from gramian.experiments import recipe
from gramian.settings import find_setting

DOCS = Path(__file__).parents[1] / "docs"
if not DOCS.is_dir():
    pytest.skip("the documentation is not here", allow_module_level=True)
sys.path.insert(0, str(DOCS))
import paper_pages  # noqa: E402

DATA = tomllib.loads((DOCS / "papers.toml").read_text("utf-8"))
TABLES = [table for paper in DATA["papers"] for table in paper["tables"]]


def test_the_page_is_made_from_its_source():
    page = (DOCS / "papers.md").read_text("utf-8")
    assert page == paper_pages.page(), "run: python docs/paper_pages.py"


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table["title"])
def test_a_table_has_figures_in_every_column(table):
    assert {len(row) for row in table["rows"]} == {len(table["columns"])}


@pytest.mark.parametrize("paper", DATA["papers"], ids=lambda paper: paper["title"])
def test_commands_have_settings_of_their_recipes(paper):
    settings = None
    for table in paper["tables"]:
        settings = tomllib.loads(table["settings"]) if "settings" in table else settings
        if "command" in table:
            gramian, experiment, name, *options = shlex.split(table["command"])
            assert (gramian, experiment) == ("gramian", "experiment")
            assert re.fullmatch(r"2\d{3}-\d\d-\d\d", table["date"])
            declared = recipe(name).declared()
            for key, value in settings.items() if "few.toml" in options else ():
                find_setting(key, declared, name).checked(value)


def test_published_figures_stand_in_the_row_they_belong_to():
    table = {"published": "thesis.figure-17", "published_columns": {"F1": 1}}
    columns, rows = paper_pages.with_published(table, ["states", "ours"], [["8", "80.0"], ["9", "80.1"]])
    assert columns == ["states", "published: F1", "ours"]
    assert rows == [["8", 78.52, "80.0"], ["9", None, "80.1"]]


def test_every_audited_row_is_ok_or_has_a_reason():
    for paper in DATA["papers"]:
        assert paper["audit"]
        for item, where, status in paper["audit"]:
            assert item
            assert status == "ok" or len(status) > 4
            assert where or "not built" in status or "other" in status
