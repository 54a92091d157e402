"""Settings for all tests: no deadline for hypothesis, since compilation counts as time.

The examples drawn are the same in every run; ``pytest --hypothesis-profile=search`` draws new ones.
"""

from collections import Counter

from hypothesis import settings

settings.register_profile("gramian", deadline=None, derandomize=True)
settings.register_profile("search", deadline=None)
settings.load_profile("gramian")


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
