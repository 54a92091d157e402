"""What is checked before a release."""

import re
import tomllib

import pytest
from tools.release_check import (
    FIRST_HOUR,
    ROOT,
    faults_of_citation,
    faults_of_contents,
    faults_of_metadata,
    is_usable,
    readme_commands,
)

from gramian import __version__


@pytest.mark.parametrize(
    ("name", "size", "is_wrong"),
    [
        ("gramian/trees/labels.glossary", 9_000, False),
        ("gramian/data/train.mrg", 100, True),
        ("gramian-0.1.0/tests/data/everyday/news.mrg", 2_000, False),
        ("gramian-0.1.0/tests/data/wsj.mrg.gz", 900_000, True),
        ("gramian/__pycache__/io.pyc", 10, True),
        ("gramian-0.1.0/.venv/bin/python", 10, True),
        ("gramian-0.1.0/.gitignore", 10, False),
    ],
)
def test_data_and_leftovers_do_not_belong_inside(name, size, is_wrong):
    assert bool(faults_of_contents({name: size})) == is_wrong


def test_the_citation_and_the_changes_name_the_version():
    assert faults_of_citation(__version__) == []
    assert len(faults_of_citation("99.0")) == 2


def test_metadata_that_lack_something():
    faults = faults_of_metadata("Metadata-Version: 2.4\nName: gramian\nVersion: 0.1.0\n")
    assert "License-File is missing from the metadata" in faults
    assert "the classifiers are not those of pyproject.toml" in faults


def test_the_commands_of_the_readme_are_tried():
    commands = readme_commands()
    assert "gramian train train.mrg -o my.grammar --states 8 --quiet" in commands
    assert not any(command.startswith(("make", "pip")) for command in commands)
    assert all(command.split()[0] == "gramian" for command in FIRST_HOUR)


def test_a_python_that_does_not_start_is_not_tried(tmp_path, monkeypatch):
    for name, code in (("python3.98", 0), ("python3.99", 127)):
        (tmp_path / name).write_text(f"#!/bin/sh\nexit {code}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert [is_usable(f"python3.{minor}") for minor in (97, 98, 99)] == [False, True, False]


def test_every_guarantee_names_tests_or_commands_that_exist():
    files: dict[str, str] = {}
    for path in (ROOT / "tests").rglob("test_*.py"):
        files[path.name] = files.get(path.name, "") + path.read_text("utf-8")
    page = (ROOT / "docs" / "reference" / "guarantees.md").read_text("utf-8").partition("\n## ")[0]
    rows = [
        row.split("|")[2] for row in page.splitlines() if row.startswith("| ") and not row.startswith("| **")
    ]
    for row in rows[2:]:
        file = ""
        for name in re.findall(r"`([^`]+)`", row):
            if name.startswith("make "):
                assert name.split()[1] in (ROOT / "Makefile").read_text("utf-8"), name
                continue
            if name.startswith("python -m tools."):
                module = ROOT / name.split()[2].replace(".", "/")
                assert module.is_dir() or module.with_suffix(".py").is_file(), name
                continue
            part, _, test = name.partition("::")
            file = part or file
            assert f"def {test}" in files[file], name
    assert len(rows) > 20


def test_the_conda_recipe_needs_what_the_package_needs():
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    recipe = yaml.safe_load((ROOT / "tools" / "conda-forge" / "recipe.yaml").read_text("utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    wanted = {*project["dependencies"], *project["optional-dependencies"]["train"]}
    renamed = {
        line.replace(" ", "").replace("msgspec-python", "msgspec") for line in recipe["requirements"]["run"]
    }
    assert wanted == {line for line in renamed if not line.startswith("python>")}
