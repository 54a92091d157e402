"""Settings for all tests: no deadline for hypothesis, since compilation counts as time.

The examples drawn are the same in every run; ``pytest --hypothesis-profile=search`` draws new ones.
"""

import sys
from collections import Counter

import pytest
from hypothesis import settings

settings.register_profile("gramian", deadline=None, derandomize=True)
settings.register_profile("search", deadline=None)
settings.load_profile("gramian")


@pytest.fixture
def gramian(capsys, monkeypatch):
    """Run a command in this process; return its exit code, and what it writes on stdout and stderr."""

    def call(*arguments):
        from gramian.cli import main

        monkeypatch.setattr(sys, "argv", ["gramian", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            main()
        return int(stop.value.code or 0), *capsys.readouterr()

    return call


def pytest_terminal_summary(terminalreporter):
    """Say at the end which kinds of tests were left out, and what they need."""
    skipped = Counter(
        str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr).removeprefix(
            "Skipped: "
        )
        for report in terminalreporter.stats.get("skipped", [])
    )
    for reason, count in skipped.items():
        terminalreporter.write_line(f"{count} {'test' if count == 1 else 'tests'} left out: {reason}")
    if skipped:
        terminalreporter.write_line("'make test-all' installs what they need, except a GPU, and runs them")
